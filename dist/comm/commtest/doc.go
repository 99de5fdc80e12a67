// Package commtest is the test of comm.Comm: one body for every implementation, so that what the solver
// relies on is written once. Each case is what one rank does; Run starts it on all the ranks that this
// process has (all of NewLocal, one under MPI). Every message's bytes depend on its sender, receiver, tag and
// number, so that one that is lost, cut, mixed up or delivered twice shows.
package commtest
