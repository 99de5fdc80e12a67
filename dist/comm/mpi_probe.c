#include "mpi_probe.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "mpi.h"
#include "mpi_raw.h"

int probe_flag(const char *name) {
  int provided, index, count = 0, flag = -1;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return -1;
  MPI_T_cvar_handle handle;
  if (MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
      MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS) {
    char value[64] = {0}; // a flag is a number of at most 8 bytes
    if (count == 1 && MPI_T_cvar_read(handle, value) == MPI_SUCCESS) {
      flag = 0;
      for (size_t i = 0; i < sizeof value; i++) flag |= value[i] != 0;
    }
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
  return flag;
}

static MPI_Comm comm = MPI_COMM_NULL;

int probe_start(void) {
  int code = MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (code != MPI_SUCCESS) return code;
  return MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

// exchange may not return: on_fault leaves it.
static int exchange(uintptr_t send, int to, uintptr_t receive, int from, int bytes, int64_t limit_ns) {
  int64_t end = raw_now() + limit_ns;
  MPI_Request r[2];
  MPI_Status unused[2]; // gcc warns of MPICH's MPI_STATUSES_IGNORE
  int code = MPI_Irecv((void *)receive, bytes, MPI_BYTE, from, 0, comm, &r[0]);
  if (code != MPI_SUCCESS) return code;
  code = MPI_Isend((void *)send, bytes, MPI_BYTE, to, 0, comm, &r[1]);
  for (int done = 0; code == MPI_SUCCESS; sched_yield()) {
    code = MPI_Testall(2, r, &done, unused);
    if (done) return code;
    if (raw_now() > end) code = PROBE_LATE;
  }
  MPI_Cancel(&r[0]); // nothing may land any more
  return code;
}

// The guard: while a probe runs, faults of its thread end in on_fault. The handlers that were there before,
// of Go's run-time system, get those of all other threads.
static sigjmp_buf escape;
static pthread_t prober;
static struct sigaction segv_before, bus_before;

static void on_fault(int signal, siginfo_t *info, void *context) {
  if (pthread_equal(pthread_self(), prober)) siglongjmp(escape, 1);
  struct sigaction *before = signal == SIGSEGV ? &segv_before : &bus_before;
  if (before->sa_flags & SA_SIGINFO) {
    before->sa_sigaction(signal, info, context);
  } else if (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN) {
    sigaction(signal, before, NULL); // the fault comes again
  } else {
    before->sa_handler(signal);
  }
}

int probe_exchange(uintptr_t send, int to, uintptr_t receive, int from, int bytes, int64_t limit_ns) {
  sigaction(SIGSEGV, NULL, &segv_before);
  sigaction(SIGBUS, NULL, &bus_before);
  prober = pthread_self();
  struct sigaction guard;
  memset(&guard, 0, sizeof guard);
  guard.sa_sigaction = on_fault;
  guard.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&guard.sa_mask);
  volatile int code = PROBE_FAULT;
  if (sigsetjmp(escape, 1) == 0) {
    sigaction(SIGSEGV, &guard, NULL);
    sigaction(SIGBUS, &guard, NULL);
    code = exchange(send, to, receive, from, bytes, limit_ns);
  }
  sigaction(SIGSEGV, &segv_before, NULL);
  sigaction(SIGBUS, &bus_before, NULL);
  return code;
}
