// What the MPI library thinks, and does, of device memory. For the thread that started MPI.
#ifndef JMPI_MPI_PROBE_H
#define JMPI_MPI_PROBE_H
#include <stdint.h>

// probe_start makes the communicator of the probes: what one that has failed leaves behind meets no
// other message.
int probe_start(void);

// probe_flag returns whether a control variable of the library (MPI_T) is true, -1 if there is none
// of this name.
int probe_flag(const char *name);

// What probe_exchange returns besides MPI_SUCCESS and MPI's error codes, which are positive.
enum { PROBE_FAULT = -1, PROBE_LATE = -2 };

// probe_exchange sends bytes from one address to rank `to` and receives as many from rank `from` into
// another, within limit_ns. A segmentation fault or bus error in MPI ends it with PROBE_FAULT.
int probe_exchange(uintptr_t send, int to, uintptr_t receive, int from, int bytes, int64_t limit_ns);

#endif
