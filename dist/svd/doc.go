// Package svd is for Go programs that want a decomposition of their own matrices: it runs jmpi on the ranks
// of the program, with matrices of gonum/mat in and out.
//
//	world, err := svd.Start(svd.Options{})            // the ranks, and their devices
//	defer world.Close()
//	var a *mat.Dense                                  // the matrix, on rank 0
//	if world.Rank() == 0 {
//		a = …
//	}
//	r, err := world.SVD(ctx, svd.Columns(a), svd.Settings{})
//	defer r.Free()
//	u, v, err := r.Gather(0)                          // A = U·diag(r.S)·Vᵀ, on rank 0
//
// The program is started as jmpi is, by mpirun or srun, or alone: then it is the only rank. All ranks call
// the same functions in the same order. examples/go has a whole program.
//
// # The matrix
//
// Columns takes a matrix whose columns the ranks have, for example all of them on rank 0. Func takes a
// function that writes any part on any rank, for matrices that are computed, or too large for one rank. A
// matrix is read once, twice where memory is short.
//
// # The result
//
// S is a slice on every rank. U (m×k) and V (n×k; V, not its transpose) lie on the devices of all ranks:
//
//	Gather(root)  both on one rank
//	Columns       each rank its share of the columns
//	Parts         a function gets what this rank has, without messages
//
// With the same ranks, devices and settings, S, U and V have the bits that jmpi svd writes. On CPUs every
// split of the same devices into ranks gives them (docs/design.md).
//
// # Ranks that fail
//
// No function panics. None ends the process, unless this package has a fault that would let other ranks wait
// for ever. A *comm.Failure is known to all ranks. With any other error
// of a collective function the program must end, see SVD. A signal ends a program as it does any Go program.
// Ranks do not watch each other unless the program asks for it:
//
//	if w, ok := world.Comm.(comm.Watcher); ok {
//		err = w.Watch(time.Minute, func(err error) { log.Fatal(err) })
//	}
//
// The program must not call MPI by other ways while a World is open: MPI is called from one thread, which is
// not that of the program. World.Comm sends its messages, with tags below 32764.
//
// Checkpoints, traces, pivot strategies and other back ends are those of package dist, which takes
// World.Comm and World.Devices.
package svd
