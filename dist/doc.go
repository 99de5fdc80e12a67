// Package dist decomposes a matrix that all ranks of a job share. Decompose reads it onto the devices of all
// ranks, prepares it, runs the one-sided Jacobi method ([Nov15, §5]), and forms the singular vectors.
//
// Programs that have a matrix and want its SVD import jmpi/dist/svd, which starts the ranks, opens their
// devices and takes matrices of gonum. This package is for those who bring their own: ranks (package comm),
// devices (package devices), and functions that read the matrix and store U and V part by part, as the
// command does with files:
//
//	d, err := dist.Decompose(ctx, world, devices, dist.Task{
//		M: m, N: n, Load: read,                            // m ≥ n; else the transpose
//		Wanted:   dist.Wanted{Left: true, Right: true},
//		Settings: jacobi.Settings{Strategy: jacobi.AutoStrategy, MaxSweeps: 30},
//		Host:     dist.ThisHost(threads),
//	})
//	err = d.Vectors(storeU, storeV)                            // d.Sigma[k] belongs to column k of both
//	d.Free()
//
// All of it is column-major and float64, and every rank makes the same calls. The rest of this page is about
// how a decomposition goes.
//
// # From the file to the vectors
//
// Decompose takes A, m×n with m ≥ n, through these steps. Each has a value as its result, which the next
// takes.
//
//	read       input       A, scaled by a power of two, which is exact. A tall A (m ≥ 4n) becomes its
//	                       triangular factor (read.go, tall.go)
//	prepare    prepared    X, which takes the place of A: it has the same singular values, and columns that
//	                       are easier to make orthogonal (precondition.go)
//	iterate    outcome     X·V = U·Σ by the Jacobi method (package jacobi). V may be left out (iterate.go)
//	undo       undone      V is formed if it was left out. Then the steps from A to X are undone, the last one
//	                       first (undo.go)
//	Vectors                gives each rank what it has of U and V, to write it (output.go)
//
// What leads from A to X is a list of steps. A step has one method, Back. It turns the singular vectors of
// what the step has made into those of what the step was given (steps.go, deflation.go, signature.go).
//
// From the file to the files the matrix lies on the devices (package matrix). The Jacobi method has it in
// block-columns of its own, which it takes from there and gives back. The memory of the hosts has what is on
// its way, the slabs of a tall matrix, and the symmetric matrix of bySVD while that is factored. Everything
// is done in the same way on CPUs and GPUs. The bits of the results do not depend on how the devices are
// split into ranks.
//
// # Preconditioning
//
// If X = B·D with a diagonal D, the Jacobi method finds every σ to a relative error of the order of ε·κ(B),
// however D grades the columns: the errors of a rotation are small relative to each of its two columns, and D
// does not change such errors ([DV92]). A grading of the rows, A = D·B, does harm. Three factorizations bring
// it to the columns, and none of them loses the small rows ([DV08]):
//
//	rows of A sorted by decreasing max-norm
//	A·P = Q·R       Householder QR with column pivoting
//	R = X·Q₂ᵀ       LQ, that is QR of Rᵀ; X is lower triangular
//
// A reflector adds multiples of rows to each other. If a small row stands first, it takes up multiples of
// large ones, and its own digits are rounded away. With sorted rows, pivoted columns, and the sign of the
// reflectors that avoids cancellation, the backward error of each row is of the order of ε times its own
// largest element ([CH98]; package dense). Without the sort a grading to 1e-12 has cost all but 5 digits of
// the smallest σ, and one to 1e-20 all digits (docs/numerics.md §4). R has large rows above small ones: R =
// D₁·R₁ with R₁ well conditioned. So the columns of Rᵀ = R₁ᵀ·D₁ are graded, which the method can bear. The LQ
// factorization goes one step further: XᵀX is nearer to a diagonal matrix than R·Rᵀ. Columns that are nearly
// orthogonal at the start need fewer sweeps: 4 instead of 15 for rows graded to 1e-12, n = 512. So this is
// also done to matrices that are not graded but whose singular values decay. The cosines between some columns
// tell these (matrix.Parallelism). They need neither the sort nor the pivoting, which costs most of the time
// on a GPU (qr-lq), unless the diagonal of R shows that columns depend on each other.
//
// Nor do matrices whose columns alone are graded, B·D with an even B: the errors of each column of R are of
// the order of ε times that column, pivoted or not. The columns are sorted by their norms, so that R has
// large rows above small ones. Of a square matrix whose rows alone are graded the transpose is factored in
// this way (method.turned). Whether B is even is measured too (sidesOf).
//
// If the rank is r < n, the rows of R from r on are zero. They are left out, and X is of order r. The other
// columns of U and V are columns of Q and of Q₂ (leftFactor, rightFactor).
//
// A matrix that has been taken for one that needs nothing of this may depend on its columns all the same.
// Then pivots break down in the first sweep. The method ends there, X is preconditioned, and the method
// starts again (solveOrRestart).
//
// The preconditioner QR gives X = Rᵀ with column pivoting, without the sort of the rows. It is for tall
// matrices, which have been reduced to a triangular factor anyway. QRCP sorts the rows too. Function choose
// decides, and docs/decisions/010-precondition-auto.md says why.
//
// # Tall matrices
//
// A is cut into slabs of rows, and reduced to its triangular factor by Cholesky-QR or, where columns are
// nearly dependent, by a tree of QR factorizations (matrix.Slabs). The rows of different slabs cannot be
// sorted. So a matrix whose rows differ by more than 128 in size (gradedRatio) is read as a whole.
//
// # The first sweeps in float32
//
// An SVD begins in float32 where the devices are faster so (kernels.Float32Limits.Order), or where it is
// asked for (Task.Precision). Sweeps on the columns of Xᵀ accumulate nothing: Xᵀ·W = V·Σ, so the directions
// of the columns that they end with are V of X to some digits (low). Package refine makes an SVD of full
// accuracy of X and that V, by products (climb). Where these come to no end, because angles are too large for
// them, sweeps in float64 on G = X·V finish it, and accumulate in V (finish). Where V does not serve at all,
// sweeps in float64 begin with X (descend). Float32 has the norms of columns apart, so a grading is no harm;
// but X must have been preconditioned if it is graded or its singular values decay, as for float64. X is
// square: a matrix with m > n is factored first.
//
// # V from U
//
// Where all sweeps are in float64 V may come from U.
//
// A device that carries V multiplies it by every transformation, 4·n³ of the 10·n³ operations of a sweep for
// m = n, and sends it along with G. V can be had for less: Xᵀ·U = V·Σ + E, with ‖E‖ of the order of ε·‖X‖.
// To divide column j by σ_j would leave an error of ε·σ₁/σ_j. But the large columns are accurate. The small
// ones are wrong in the directions of still smaller ones, or a little in those of the large ones, and against
// these they can be made orthogonal: by QR from the largest σ to the smallest, Xᵀ·U = V·R. Then
//
//	X = U·Rᵀ·Vᵀ, so ‖X − U·Σ·Vᵀ‖_F = ‖R − Σ‖_F
//
// V is orthonormal whatever E is, and the residual can be read off R (orthonormalRight). On CPUs, where
// the columns of Xᵀ·U·Σ⁻¹ are nearly orthonormal, R follows from their Gram matrix, and V is a
// correction of them by products alone (corrected). All of this is done on the devices, so it is the
// default on GPUs too. After an LQ the matrix from which V is formed is the R of A·P = Q·R, not X. So Q₂
// need not be applied (prepared.kept). Were the residual above 1 (residualLimit) in units of ε·n·‖X‖_F,
// V would be accumulated in a second run. Every such V is as good as X determines it in norm. For small
// σ of a graded X an accumulated V is better, column by column.
//
// # Numerical rank
//
// The pivoted factorization reveals the rank: the rank is reached where nothing but rounding errors is left
// of any column. The factorization ends there, or some columns later if what is left still has singular
// values that count (package matrix). How large rounding errors are follows the grading (rankNoise,
// dense.Noise): an element is known to ε times a size of its row and of its column, and errors go with the
// elimination. So diag(1, 1e-20) has rank 2, and [1 1; 1 1+ε] has rank 1. Where there was no pivoted
// factorization the rank is the number of σ > n·ε·σ₁, the grading included (values).
//
// # The hyperbolic SVD
//
// With J = diag(I_P, −I), A·W = U·Σ and WᵀJW = J. Rotations of two columns of different signs are hyperbolic
// ([Nov15, (2.10), (4.2)], [OSB91]; package kernels). J is its own inverse, so W⁻¹ = J·WᵀJ and
//
//	A = U·Σ·Vᵀ, V = W⁻ᵀ = J·W·J, VᵀJV = J, A·J·Aᵀ = U·Σ²J·Uᵀ
//
// Columns with mixed signs are read in the order in which those with +1 come first, and the rows of V are put
// back in the end (signature). If all signs are equal it is the SVD; if all are −1, in the order of
// increasing σ. Factors from the left keep J: A = Q·R and A·J·Aᵀ = Q·(R·J·Rᵀ)·Qᵀ. So X = R serves where A has
// more rows than columns, or graded ones. X is not transposed, and V, whose columns are not orthonormal, is
// accumulated.
//
// The hyperbolic SVD exists if and only if A·J·Aᵀ has the rank of A ([Zha96]), so always for a matrix of full
// column rank. Then no column of A·W is zero, and none is set to zero for being small
// (jacobi.Problem.Independent). For a rank r < n the null space is split off (deflation): with [Y N]
// orthonormal, A = Q·[L 0; 0 0]·[Y N]ᵀ, and YᵀJY = Z·Λ·Zᵀ not singular,
//
//	G = L·Z·|Λ|^½ = U₁·Σ·V₁ᵀ is r×r of full rank, with the signs of Λ,
//	A = Q·U₁ · Σ · (Y·Z·|Λ|^−½·V₁)ᵀ
//
// For A·Wᵣ = Q·G·sgn Λ with Wᵣ = J·Y·Z·|Λ|^−½, WᵣᵀJWᵣ = sgn Λ. An eigenvalue 0 of YᵀJY belongs to a vector in
// the range of Aᵀ that is J-orthogonal to all of it, and then there is no decomposition. YᵀJY = 2·Y₊ᵀY₊ − I,
// where Y₊ has the rows of Y with sign +1. So Λ = 2·σ² − 1 and Z come from an SVD of Y₊
// (rowsAndNull.inertia).
//
// Near a matrix without a decomposition W and V are large, and rounding A alone moves S by up to ε·‖V‖² of
// itself. The method may do worse: many columns become large by hyperbolic rotations and cancel later. So the
// result is measured with random vectors (Fidelity). If it does not hold it is computed by way of the SVD and
// of a symmetric indefinite factorization ([Sla98]; bySVD), where all rotations are small. Two kinds of
// matrices go this way too: those with steeply graded rows (steepRatio) at once, and those of which columns
// of different signs stay parallel for 8 sweeps (jacobi.Solution.Stalled). On GPUs the method may begin
// before the rank is known (trusting). If it then finds no decomposition, or cannot show that the rank is
// full, the rank is found and the method runs anew (iterateRanked).
//
// # Memory
//
// There is one estimate of the memory that a Task takes (Footprint, Task.Estimate). Matrices count as memory
// of the devices, which on CPUs is that of the host. A run that does not fit is refused by the estimate,
// before the matrix is read and again when more is known of it (site.fits). Where the matrix needs no
// preconditioning, two ways that need less are tried first (site.affordable). V is carried instead of formed
// at the end. Then the matrix that was measured is given up, and is read again for the Jacobi method
// (method.reread).
//
// # Symbols
//
//	A, m, n       Task.Load, .M, .N                  the matrix
//	J, I_P        Task.Signs, signature.positive     the signs of its columns, those with +1 first
//	X             prepared.x, .positive              what the Jacobi method works on, and its columns with +1
//	row sort      rowSort                            of the rows of A
//	Q             leftFactor, origin.slabs           of A·P = Q·R; of a tall A
//	P             columnOrder                        of A·P = Q·R
//	Rᵀ            prepared.kept                      if V comes from it
//	Q₂            rightFactor                        of R = X·Q₂ᵀ
//	[Y N]         rowsAndNull                        the columns of P·Q₂ in a deflation
//	Λ, Z          inertia.lambda, .z                 of YᵀJY, and of NᵀJN
//	Σ, σ          Decomposition.Sigma                of A; jacobi.Solution.Sigma is that of the scaled X
//	U, V          Decomposition.Vectors
//
// The keys in brackets are those of docs/REFERENCES.md.
package dist
