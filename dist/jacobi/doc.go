// Package jacobi is the outermost level of the one-sided Jacobi method ([Nov15, §5]): it makes the columns of
// a matrix orthogonal, on the devices of all ranks. Solve does all of it.
//
// # Macro steps
//
// The columns of G, which begins as the matrix, are cut into 2g macro block-columns, two on each of g
// devices. In a macro step every device orthogonalizes the pairs of narrow block-columns across its two macro
// block-columns (package node). Then it keeps one of them and sends the other one to the device that needs it
// next, as an exchange plan says (package topology). A sweep has as many macro steps as the outer pivot
// strategy has p-steps. V moves with G.
//
// With Scheme Nested a device runs a Jacobi method of its own on its two macro block-columns instead, as in
// [Nov15]. A Variant says how many sweeps the factors get inside: one (block-oriented), two, or as many as
// they need (full block, [Nov15, §4]).
//
//  1. Start: exchange.Census tells every rank of all devices, exchange.ChooseTransport how messages travel.
//     The program of the levels (node.NewProgram) and the first exchange plan (planner) follow.
//  2. Distribute: the columns of a matrix on the devices (Problem.Source), or of one that is read
//     (Problem.Load), become the block-columns of G. G is scaled by a power of two. V ← I, or what is given
//     (Problem.Right; distributor).
//  3. Sweeps, until one has no proper rotation (kernels.Tally, Settled), there were MaxSweeps, or the caller
//     has enough (Problem.Enough). The ranks agree on its counters, which are integers. This is the only
//     collective operation of a sweep, and no floating-point number is summed in an order that depends on
//     the ranks (run.count).
//  4. Extraction: σ_j = ‖g_j‖₂, u_j = g_j/σ_j ([Nov15, (2.5)]; extract). The vectors become matrices on the
//     same devices (Solution.Collect), or are written from the block-columns as they lie (Solution.Columns).
//
// With Problem.StopBroken the method ends after the first sweep if Cholesky factorizations broke down in it:
// then columns depend on each other, and the caller may know a better way (Solution.Broken).
//
// # A device in a macro step
//
// A runner drives one device, and waits only for its own messages. The receives of a macro block-column are
// posted before the macro step, into a third slot. A macro block-column travels in pieces of narrow
// block-columns. In a sub-step across two macro block-columns every pair joins the narrow block-columns i and
// i xor x, or one of the i-th Parts of them and one of the (i xor x)-th. So pieces that begin and end at the
// same i stay together, and the piece that leaves is finished and sent while the next one is computed. A
// device that receives begins with the piece that has arrived.
//
// The best exchange plans do not repeat in every sweep. So 12 sweeps (planHorizon) are planned together, and
// more when the run needs them.
//
// # Columns that become zero
//
// Dependent columns end as rounding errors. The pointwise method sets them to zero where one factor has all
// of them (kernels.Pivots, Jacobi). Where it has not, columns shorter than floorOf, which is u times the
// shortest column of the matrix, become zero after a sweep (clearDependent; u = 2⁻⁵³). In a matrix whose
// columns are known to be independent none does (Problem.Independent).
//
// Columns of U for σ = 0, and for columns of G·V too short to keep their digits (tiny), are completed to an
// orthonormal set: they are columns of Q in the QR factorization of the others, followed by the short ones
// (Solution.complete).
//
// # Float32
//
// The block-columns of G and V may be float32 (Problem.Precision), for an SVD that somebody refines. The
// columns of G are those of the matrix over their norms. The norms are float64, move with G, and become Σ. So
// neither Σ nor the rotations mind how the columns are graded. Columns are orthogonal when no cosine is above
// Problem.Cosine. They are rounded on their way in, and Collect makes their lengths 1 in float64. In such a
// method 2⁻²⁴ takes the place of 2⁻⁵³ in floorOf, no column is tiny, and columns of V for σ = 0 are completed
// as those of U are.
//
// # The hyperbolic SVD
//
// The leading columns, Problem.Positive of them, have the sign +1, the others −1 ([Nov15, (2.10)]). A·W = U·Σ
// with WᵀJW = J, and V = W⁻ᵀ = J·W·J (invert). The method accumulates W. If columns of different signs are
// parallel and of the same norm in each of 8 sweeps (degenerateSweeps), there is no decomposition:
// rank(A·J·Aᵀ) < rank(A) ([Zha96]; Solution.Stalled, NoDecomposition).
//
// # Symbols
//
//	g           node.Layout.Macros/2        devices of all ranks
//	G, V        spread.panels               block-columns on a device; W in the hyperbolic SVD
//	p-step      topology.Step               a macro step with its moves
//	D           node.Block.Norms            the norms of G's columns, with float32
//	J           Problem.Positive            diag(I, −I)
//	Σ, σ        Solution.Sigma              not scaled; columns.position has the order
//	2^-e        columns.scale               the devices hold 2^-e·G
//
// The keys in brackets are those of docs/REFERENCES.md.
package jacobi
