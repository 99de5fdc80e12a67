// Package dist decomposes a matrix that is spread over ranks: it prepares the matrix on the hosts, runs the
// one-sided Jacobi method on the devices of all ranks ([Nov15, §5]), and forms the singular vectors.
//
// # From the file to the vectors
//
// Decompose takes A, m×n with m ≥ n, through four steps. Solve is the third of them alone.
//
//  1. Read A, scaled by a power of two, which is exact. A tall A (m ≥ 4n) becomes its triangular factor.
//  2. Precondition: X takes the place of A, with the same singular values and columns that are
//     easier to make orthogonal.
//  3. Iterate: X·V = U·Σ by the Jacobi method. V may be left out.
//  4. Vectors: V is formed if it was left out, and what was done in 1 and 2 is undone on U and V.
//
// Steps 1, 2 and 4 work on sheets: matrices in the memory of the hosts, whose blocks of 64 columns are dealt
// out to the ranks in turn. Panels of reflectors, or blocks, pass by on every rank, and nothing is gathered
// on one. They are pieces of fixed width, so the bits of the results do not depend on the number of ranks.
//
// # Preconditioning
//
// If X = B·D with a diagonal D, the Jacobi method finds every σ to a relative error of the order of ε·κ(B),
// however D grades the columns: a rotation's errors are small beside each of its two columns, and D is
// harmless to such errors ([DV92]). Grading of the rows, A = D·B, is not. Three factorizations bring it to
// the columns, and none of them loses the small rows ([DV08]):
//
//	rows of A sorted by decreasing max-norm
//	A·P = Q·R       Householder QR with column pivoting
//	R = X·Q₂ᵀ       LQ, that is QR of Rᵀ; X is lower triangular
//
// A reflector adds multiples of rows to each other. If a small row stands first, it takes up multiples of
// large ones, and its own digits are rounded away. With sorted rows, pivoted columns, and the sign of the
// reflectors that avoids cancellation, the backward error of each row is of the order of ε times its own
// largest element ([CH98]; package dense). Without the sort a grading to 1e-12 has cost all but 5 digits of
// the smallest σ, one to 1e-20 all (docs/numerics.md §4). Now R has large rows above small ones: R = D₁·R₁
// with R₁ well conditioned, so the columns of Rᵀ = R₁ᵀ·D₁ are graded, as the method likes it. The LQ
// factorization is one step further: XᵀX is nearer to diagonal than R·Rᵀ. Columns that are nearly orthogonal
// at the start need fewer sweeps (4 instead of 15 for rows graded to 1e-12, n = 512), so this is done as well
// to matrices that are not graded but whose singular values decay; on CPU devices these are told by the
// cosines between some columns (parallelism).
//
// The preconditioner qr, X = Rᵀ without sort of rows and pivoting, is for tall matrices, which have
// been reduced to R anyway.
//
// # Tall matrices
//
// A is cut into slabs of rows. Each is factored by itself; then two triangular factors, one above the other,
// are factored again, and so on up a binary tree (TSQR, [DGHL12]):
//
//	[A₁; A₂; A₃; A₄] → R₁ R₂ R₃ R₄ → [R₁; R₂] = Q₁₂·R₁₂, [R₃; R₄] = Q₃₄·R₃₄ → [R₁₂; R₃₄] = Q·R
//
// All that travels is one n×n triangle along each edge of the tree. U = Q·U_R is multiplied out down the
// same tree and lies in the slabs again. Slabs (at least max(4n, 1024) rows) and tree follow from m and n
// alone. The rows of different slabs cannot be sorted, so a matrix whose rows differ by more than 128 in
// size takes the other way.
//
// # V from U
//
// A device that carries V multiplies it by every transformation, 4·n³ of the 10·n³ operations of a sweep
// for m = n, and sends it along with G. It can be had for less: Xᵀ·U = V·Σ + E, ‖E‖ of the order of
// ε·‖X‖. Dividing column j by σ_j would leave an error of ε·σ₁/σ_j. But the large columns are accurate,
// and where the small ones are wrong they are so in the directions of still smaller ones, or a little in
// those of the large ones, against which they can be made orthogonal: by QR from the largest σ to the
// smallest, Xᵀ·U = V·R. Then
//
//	X = U·Rᵀ·Vᵀ, so ‖X − U·Σ·Vᵀ‖_F = ‖R − Σ‖_F
//
// with V orthonormal whatever E is, and the residual can be read off R. After an LQ it is R, not X, from
// which V is formed, so that Q₂ need not be applied. Were the residual above 1 in units of ε·n·‖X‖_F, V would
// be accumulated in a second run. Every such V is as good as X determines it in norm; for small σ of a graded
// X an accumulated V is better, column by column.
//
// # Numerical rank
//
// The pivoted factorization reveals the rank: the rank is reached where nothing but rounding errors is left
// of any column. The factorization ends there, or some columns later if what is left still has singular
// values that count (remainder.go). What rounding errors are follows the grading, Decomposition.rankNoise and
// dense.Noise: an element is known to ε times a size of its row and of its column, and errors go with the
// elimination. So diag(1, 1e-20) has rank 2, and [1 1; 1 1+ε] has rank 1. Without a pivoted R what counts is
// σ > n·ε·σ₁, the grading included.
//
// # The hyperbolic SVD
//
// With J = diag(I_P, −I), A·W = U·Σ with WᵀJW = J: rotations of two columns of different sign are hyperbolic
// ([Nov15, (2.10), (4.2)], [OSB91]; package kernels). J is its own inverse, so W⁻¹ = J·WᵀJ and
//
//	A = U·Σ·Vᵀ, V = W⁻ᵀ = J·W·J, VᵀJV = J, A·J·Aᵀ = U·Σ²J·Uᵀ
//
// Columns with mixed signs are read in the order in which those with +1 come first, and rows of V go back to
// their places. If all signs are equal it is the SVD; for −1 in the order of increasing σ. Factors from the
// left keep J: A = Q·R and A·J·Aᵀ = Q·(R·J·Rᵀ)·Qᵀ, so X = R serves where A has more rows than columns, or
// graded ones. X is not transposed, and V, whose columns are not orthonormal, is accumulated.
//
// It exists if and only if A·J·Aᵀ has the rank of A ([Zha96]), always for a matrix of full column rank; then
// no column of A·W is zero, and none is set to zero for being small. For a rank r < n the null space is split
// off (deflation): with [Y N] orthonormal, A = Q·[L 0; 0 0]·[Y N]ᵀ, and YᵀJY = Z·Λ·Zᵀ not singular,
//
//	G = L·Z·|Λ|^½ = U₁·Σ·V₁ᵀ is r×r of full rank, with the signs of Λ,
//	A = Q·U₁ · Σ · (Y·Z·|Λ|^−½·V₁)ᵀ
//
// For A·Wᵣ = Q·G·sgn Λ with Wᵣ = J·Y·Z·|Λ|^−½, WᵣᵀJWᵣ = sgn Λ. An eigenvalue 0 of YᵀJY is a vector in the
// range of Aᵀ that is J-orthogonal to all of it, and there is no decomposition. YᵀJY = 2·Y₊ᵀY₊ − I, Y₊ being
// the rows of Y with sign +1, so Λ = 2·σ² − 1 and Z come from an SVD of Y₊.
//
// Near a matrix without a decomposition W and V are large, and rounding A alone moves S by up to ε·‖V‖² of
// itself. The method may do worse: many columns become large by hyperbolic rotations and cancel later. So the
// result is measured with random vectors (Fidelity), and if it does not hold it is computed by way of the SVD
// and of a symmetric indefinite factorization (bySVD), where all rotations are small. So are matrices with
// steeply graded rows at once, and those with two columns of different sign that are equal in each of 8
// sweeps (Solution.exists; if the rank was not looked at, on GPUs, there may be such).
//
// # The outermost level of the method
//
// The columns of G, which begins as X, are cut into 2g macro block-columns, two on each of g devices. In a
// macro step every device orthogonalizes the pairs of narrow block-columns across its two macro block-columns
// (package node); then each device keeps one of them and sends the other one to the device that needs it
// next, as an exchange plan says (package topology). A sweep is as many macro steps as the outer pivot
// strategy has p-steps; V moves with G.
//
//  1. Census: who has which devices; ChooseTransport: how messages travel between ranks.
//  2. Load: G is scaled by a power of two, V ← I.
//  3. Sweeps, until one has no proper rotation (kernels.Tally, Settled). The ranks agree on its counters,
//     which are integers: the only collective operation of a sweep, and no floating-point number is summed in
//     an order that depends on the ranks.
//  4. Extraction: σ_j = ‖g_j‖₂, u_j = g_j/σ_j; columns of U for σ_j = 0 are completed to an orthonormal set.
//
// # Exchange
//
// A macro block-column travels in at most four pieces of narrow block-columns, G and V apart. It
// lands in a third slot, whose receives are posted before the macro step, so that a device waits for
// nothing but the pieces that it works on next. Between the devices of a rank pieces are copied;
// between ranks they are messages:
//
//	host      the devices' memory is host memory: the library reads and writes it
//	direct    so it does with device memory: an MPI library that takes it, proved by a test at the start
//	staged    in chunks through a few pinned buffers of each device and direction (lane)
//
// A library that cannot follow an address of device memory dies of a segmentation fault, and some that cannot
// say that they can. So the test (Probe) runs between ranks, in short and in long messages, with the signals
// of its thread caught, and one failure makes all ranks stage.
//
// # Symbols
//
//	A, D        Task.Load, .Signs     the matrix, m×n, and the signs of its columns
//	X           Decomposition.a       what the Jacobi method works on
//	Q, P, Q₂    preconditioner        q, place, second; the sort of the rows is sorted
//	J           Config.Positive       diag(I_P, −I)
//	g           Layout.Macros/2       devices of all ranks
//	p-step      topology.Step         a macro step with its moves
//	G, V        part.kind 0, 1        what a message carries
//	Σ, σ        Solution.Sigma        of the scaled X
//
// The keys in brackets are those of docs/REFERENCES.md.
package dist
