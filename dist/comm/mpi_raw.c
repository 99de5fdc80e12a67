#include "mpi_raw.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "mpi.h"
#if defined(OPEN_MPI) && defined(__has_include) // the Debian paths offer Open MPI's file to MPICH too
#if __has_include("mpi-ext.h")
#include "mpi-ext.h"
#endif
#endif

static MPI_Comm comm = MPI_COMM_NULL;

// The requests under way: parallel arrays of `capacity` entries, the first `used` of them valid.
static int used, capacity;
static MPI_Request *requests;
static int64_t *ids;
static char *receives; // 1: a receive, whose length is asked for
static int *indices;   // of the requests that one MPI_Testsome has found done
static MPI_Status *statuses;
static raw_completion *completions;

static pthread_mutex_t bell_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell_cond;
static int bell_rung;

int64_t raw_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int raw_start(void) {
#if defined(__linux__)
  prctl(PR_SET_TIMERSLACK, 1000); // of this thread: pauses of 20 µs instead of the usual 70
#endif
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&bell_cond, &attr);
  pthread_condattr_destroy(&attr);
  int code = MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (code != MPI_SUCCESS) return code;
  // calls without a communicator, MPI_Testsome among them, report to the world's handler in MPICH
  code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (code != MPI_SUCCESS) return code;
  return MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

int raw_finish(void) { return MPI_Comm_free(&comm); }

int raw_linger(int64_t ns) {
  int flag, code = MPI_SUCCESS;
  for (int64_t end = raw_now() + ns; code == MPI_SUCCESS && raw_now() < end;) {
    code = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
    struct timespec pause = {.tv_nsec = 500000};
    nanosleep(&pause, NULL);
  }
  return code;
}

void raw_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

// grown returns p with room for n entries of this size; without memory it returns p as it is and clears *ok.
static void *grown(void *p, int n, size_t size, int *ok) {
  void *q = realloc(p, (size_t)n * size);
  if (q != NULL) return q;
  *ok = 0;
  return p;
}

// reserve makes room for one more request.
static int reserve(void) {
  if (used < capacity) return MPI_SUCCESS;
  int n = capacity ? 2 * capacity : 64, ok = 1;
  requests = grown(requests, n, sizeof *requests, &ok);
  ids = grown(ids, n, sizeof *ids, &ok);
  receives = grown(receives, n, sizeof *receives, &ok);
  indices = grown(indices, n, sizeof *indices, &ok);
  statuses = grown(statuses, n, sizeof *statuses, &ok);
  completions = grown(completions, n, sizeof *completions, &ok);
  if (!ok) return MPI_ERR_NO_MEM;
  capacity = n;
  return MPI_SUCCESS;
}

// POST starts a request by an MPI call that writes it to &requests[used].
#define POST(call, id, receive)               \
  do {                                        \
    int code_ = reserve();                    \
    if (code_ == MPI_SUCCESS) code_ = (call); \
    if (code_ != MPI_SUCCESS) return code_;   \
    ids[used] = (id);                         \
    receives[used] = (receive);               \
    used++;                                   \
    return MPI_SUCCESS;                       \
  } while (0)

int raw_isend(uintptr_t a, int bytes, int to, int tag, int64_t id) {
  POST(MPI_Isend((void *)a, bytes, MPI_BYTE, to, tag, comm, &requests[used]), id, 0);
}

int raw_irecv(uintptr_t a, int bytes, int from, int tag, int64_t id) {
  POST(MPI_Irecv((void *)a, bytes, MPI_BYTE, from, tag, comm, &requests[used]), id, 1);
}

int raw_iallreduce(const int64_t *in, int64_t *out, int count, int maximum, int64_t id) {
  MPI_Op op = maximum ? MPI_MAX : MPI_SUM;
  POST(MPI_Iallreduce(in, out, count, MPI_INT64_T, op, comm, &requests[used]), id, 0);
}

int raw_ibcast(void *both, int bytes, int root, int64_t id) {
  POST(MPI_Ibcast(both, bytes, MPI_BYTE, root, comm, &requests[used]), id, 0);
}

int raw_iallgather(const int64_t *in, int64_t *out, int64_t id) {
  POST(MPI_Iallgather(in, 1, MPI_INT64_T, out, 1, MPI_INT64_T, comm, &requests[used]), id, 0);
}

int raw_iallgatherv(const void *in, int bytes, void *out, const int *lengths, const int *offsets,
                    int64_t id) {
  POST(MPI_Iallgatherv(in, bytes, MPI_BYTE, out, lengths, offsets, MPI_BYTE, comm, &requests[used]), id, 0);
}

int raw_ibarrier(int64_t id) { POST(MPI_Ibarrier(comm, &requests[used]), id, 0); }

// collect turns the n requests that MPI_Testsome found done into completions and closes the gaps.
static void collect(int code, int n) {
  for (int i = 0; i < n; i++) {
    int k = indices[i];
    raw_completion *c = &completions[i];
    c->id = ids[k];
    c->bytes = 0;
    c->code = code == MPI_ERR_IN_STATUS ? statuses[i].MPI_ERROR : MPI_SUCCESS;
    if (receives[k] && c->code == MPI_SUCCESS) {
      int bytes = 0;
      MPI_Get_count(&statuses[i], MPI_BYTE, &bytes);
      c->bytes = bytes;
    }
    ids[k] = -1;
  }
  int kept = 0;
  for (int k = 0; k < used; k++) {
    if (ids[k] < 0) continue;
    requests[kept] = requests[k];
    ids[kept] = ids[k];
    receives[kept] = receives[k];
    kept++;
  }
  used = kept;
}

void raw_ring(void) {
  pthread_mutex_lock(&bell_lock);
  __atomic_store_n(&bell_rung, 1, __ATOMIC_RELAXED);
  pthread_cond_signal(&bell_cond);
  pthread_mutex_unlock(&bell_lock);
}

// await_bell waits until the bell has rung, and stills it.
static void await_bell(void) {
  pthread_mutex_lock(&bell_lock);
  while (!bell_rung) pthread_cond_wait(&bell_cond, &bell_lock);
  bell_rung = 0;
  pthread_mutex_unlock(&bell_lock);
}

// bell returns whether the bell has rung, after at most ns, and stills it.
static int bell(int64_t ns) {
  if (ns == 0 && !__atomic_load_n(&bell_rung, __ATOMIC_RELAXED)) return 0;
  int64_t end = raw_now() + ns;
  struct timespec t = {.tv_sec = end / 1000000000, .tv_nsec = end % 1000000000};
  pthread_mutex_lock(&bell_lock);
  while (!bell_rung && pthread_cond_timedwait(&bell_cond, &bell_lock, &t) != ETIMEDOUT) {
  }
  int rung = bell_rung;
  bell_rung = 0;
  pthread_mutex_unlock(&bell_lock);
  return rung;
}

// How MPI is polled. A message moves only inside MPI calls, yet the core is wanted for computing.
// A call that takes longer than MOVED has moved bytes, and the next one will find more: no pause. After SPIN
// without that come pauses of an eighth of the time waited so far, within bounds, so that waiting
// takes an eighth longer at most, and a long wait costs next to nothing.
enum { MOVED_NS = 3000, SPIN_NS = 20000, PAUSE_MIN_NS = 20000, PAUSE_MAX_NS = 500000 };

int raw_wait(int64_t busy_ns, int spin, raw_completion **done, int *n) {
  int64_t start = raw_now(), moved = start;
  *done = NULL;
  *n = 0;
  if (used == 0) {
    await_bell();
    return MPI_SUCCESS;
  }
  for (;;) {
    int64_t before = raw_now();
    int code = MPI_Testsome(used, requests, n, indices, statuses);
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
      *n = used = 0; // nothing is known of them any more
      return code;
    }
    if (*n > 0) {
      collect(code, *n);
      *done = completions;
      return MPI_SUCCESS;
    }
    int64_t after = raw_now();
    if (after - before > MOVED_NS && after - start < busy_ns) moved = after;
    int64_t waited = after - moved, pause = waited / 8;
    if (pause < PAUSE_MIN_NS) pause = waited < SPIN_NS ? 0 : PAUSE_MIN_NS;
    if (pause > PAUSE_MAX_NS) pause = PAUSE_MAX_NS;
    if (spin) pause = 0;
    if (bell(pause)) return MPI_SUCCESS;
  }
}

void raw_error_text(int code, char *text, int size) {
  char full[MPI_MAX_ERROR_STRING + 1];
  int length = 0;
  if (MPI_Error_string(code, full, &length) != MPI_SUCCESS) snprintf(full, sizeof full, "MPI error %d", code);
  snprintf(text, size, "%s", full);
}

void raw_library(char *text, int size) {
  char full[MPI_MAX_LIBRARY_VERSION_STRING + 1];
  int length = 0;
  if (MPI_Get_library_version(full, &length) != MPI_SUCCESS)
    snprintf(full, sizeof full, "MPI of unknown version");
  snprintf(text, size, "%s", full);
}

void raw_node(char *text, int size) {
  char full[MPI_MAX_PROCESSOR_NAME + 1];
  int length = 0;
  if (MPI_Get_processor_name(full, &length) != MPI_SUCCESS) snprintf(full, sizeof full, "localhost");
  snprintf(text, size, "%s", full);
}

int raw_cuda(void) {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() ? 1 : 0;
#else
  return -1;
#endif
}
