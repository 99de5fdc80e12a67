// The beats by which the ranks watch each other: empty messages around a ring, on a communicator of
// their own. For the thread that started MPI.
#ifndef JMPI_MPI_WATCH_H
#define JMPI_MPI_WATCH_H
#include <stdint.h>

// What watch_stop returns besides MPI_SUCCESS and MPI's error codes, which are positive.
enum { WATCH_LATE = -1 };

// watch_start makes the communicator. It is collective.
int watch_start(void);

// watch_beat sends a beat to the next rank, unless its last one has not left yet. *heard is how many beats
// have come from the rank before. It does not wait.
int watch_beat(int *heard);

// watch_stop ends the beats so that no message is left. It waits for the rank before to do the
// same, limit_ns at most.
int watch_stop(int64_t limit_ns);

#endif
