// Package comm is the ranks of a job: what the solver needs of a message passing library, and how ranks
// agree.
//
// # Communicators
//
// Comm has messages between two ranks and four collective calls: two sums or maxima of integers
// (AllreduceSum, AllreduceMax), Allgather, and Bcast. There is no reduction of floating-point numbers, whose
// bits would depend on the order of the ranks. Messages lie in memory outside the Go heap (NewBuffer), or on
// devices. There are two communicators:
//
//	NewLocal    ranks that are goroutines of one process, for tests and runs without MPI
//	StartMPI    the ranks of an MPI job
//
// DeviceMemory is what a communicator may offer besides: an MPI library that takes device memory in messages.
// Who needs it asks for the interface. Probe tries whether the library really can, and survives it if it
// cannot.
//
// Package commtest has the tests that every communicator must pass.
//
// # MPI
//
// MPI is called from one goroutine on a thread of its own. All other goroutines put operations into its
// queue. It polls what is under way with growing pauses. So ranks that share its core can compute
// (mpi_thread.go). gompi starts and ends MPI; all other calls are C code of this package (mpi_raw.c), which
// cuts long messages into pieces, since MPI counts in a C int. This is the only package that knows gompi and
// MPI.
//
// # Failures
//
// Where one rank can fail alone, an agreement follows (Agree). Every rank gives its own error, or none, and
// all get the same *Failure: the most basic Kind first, then the lowest rank. So all ranks leave by the same
// door, with one exit code. What fails in the library itself is a *CommError. A rank that fails while the
// others are not at an agreement calls Abort.
//
// A Watcher's ranks send beats around a ring. A rank that hears none for too long says so (SilentError). Only
// time in which a process has run itself counts as silence: a job that was suspended as a whole goes on.
package comm
