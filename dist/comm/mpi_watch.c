#include "mpi_watch.h"

#include <sched.h>

#include "mpi.h"
#include "mpi_raw.h"

// The tags of the beats: the last one says that no other follows.
enum { BEAT, LAST };

static MPI_Comm comm = MPI_COMM_NULL;
static int before, after; // the neighbours in the ring
static MPI_Request sent = MPI_REQUEST_NULL, awaited = MPI_REQUEST_NULL;
// The last beat has come: nothing is awaited any more. The rank before may end its beats while this one still
// sends some, since a rank leaves the barrier of the end when it sees fit.
static int over;

static int await_beat(void) { return MPI_Irecv(NULL, 0, MPI_BYTE, before, MPI_ANY_TAG, comm, &awaited); }

int watch_start(void) {
  int code = MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (code != MPI_SUCCESS) return code;
  code = MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (code != MPI_SUCCESS) return code;
  int rank = 0, size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  over = 0;
  before = (rank + size - 1) % size;
  after = (rank + 1) % size;
  return await_beat();
}

// send sends a beat; *left says whether the one before has left, without which this one is not sent.
static int send(int tag, int *left) {
  int code = MPI_Test(&sent, left, MPI_STATUS_IGNORE); // no request counts as one that is done
  if (code != MPI_SUCCESS || !*left) return code;
  return MPI_Isend(NULL, 0, MPI_BYTE, after, tag, comm, &sent);
}

// listen takes the beats that have come.
static int listen(int *heard) {
  *heard = 0;
  while (!over) {
    int done = 0;
    MPI_Status status;
    int code = MPI_Test(&awaited, &done, &status);
    if (code != MPI_SUCCESS || !done) return code;
    ++*heard;
    over = status.MPI_TAG == LAST;
    if (over) break;
    code = await_beat();
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int watch_beat(int *heard) {
  int left;
  int code = send(BEAT, &left);
  return code != MPI_SUCCESS ? code : listen(heard);
}

int watch_stop(int64_t limit_ns) {
  int64_t end = raw_now() + limit_ns;
  int posted = 0, left = 0;
  for (;; sched_yield()) {
    int code = posted ? MPI_Test(&sent, &left, MPI_STATUS_IGNORE) : send(LAST, &posted);
    if (code != MPI_SUCCESS) return code;
    int heard;
    code = listen(&heard);
    if (code != MPI_SUCCESS) return code;
    if (left && over) return MPI_Comm_free(&comm);
    if (raw_now() > end) return WATCH_LATE;
  }
}
