// Package dist runs the one-sided Jacobi method on the devices of all ranks ([Nov15, §5]).
//
// # The outermost level
//
// The columns of G are cut into 2g macro block-columns, two on each of g devices. In a macro step every device orthogonalizes the pairs
// of narrow block-columns across its two macro block-columns (package node); then each device keeps one of them and sends the other
// one to the device that needs it next, as an exchange plan says (package topology). A sweep is as many macro steps as the outer
// pivot strategy has p-steps; V moves with G.
//
//  1. Census: who has which devices; ChooseTransport: how messages travel between ranks.
//  2. Load: G is scaled by a power of two, V ← I.
//  3. Sweeps, until one has no proper rotation. The ranks agree on its counters, which are integers: the only collective
//     operation of a sweep, and no floating-point number is summed in an order that depends on the ranks.
//  4. Extraction: σ_j = ‖g_j‖₂, u_j = g_j/σ_j; columns of U for σ_j = 0 are completed to an orthonormal set.
//
// # Exchange
//
// A macro block-column travels in at most four pieces of narrow block-columns, G and V apart. It lands in a third slot, whose
// receives are posted before the macro step, so that a device waits for nothing but the pieces that it works on next. Between the devices of a rank pieces are
// copied; between ranks they are messages:
//
//	host      the devices' memory is host memory: the library reads and writes it
//	direct    so it does with device memory: an MPI library that takes it, proved by a test at the start
//	staged    in chunks through a few pinned buffers of each device and direction (lane)
//
// A library that cannot follow an address of device memory dies of a segmentation fault, and some that cannot say that they can. So the
// test (Probe) runs between ranks, in short and in long messages, with the signals of its thread caught, and one failure
// makes all ranks stage.
//
// # Symbols
//
//	g       Layout.Macros/2       devices of all ranks
//	p-step  topology.Step         a macro step with its moves
//	G, V    part.kind 0, 1        what a message carries
//	σ       Solution.Sigma
package dist
