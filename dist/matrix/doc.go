// Package matrix has matrices on the devices of all ranks, and what is done to them before and after the
// Jacobi method: norms, scaling, permutation, transposition, products, QR factorizations.
//
// # Storage
//
// A Matrix is cut into blocks of kernels.Limits.Tile columns: 64 on CPUs, 256 on GPUs. The blocks are dealt
// out to the devices of all ranks one after the other (Devices). What a device has of a matrix is its share:
// its blocks side by side. Blocks and panels have a fixed width. So the shapes of the calls to a device, and
// with them the bits of the results, do not depend on the number of devices. Sums over the columns of several
// devices are formed in twice the working precision and rounded once (SumTwice, [Knu97], [ORO05]).
//
// In an operation on two matrices the blocks of one pass by on every device (visit), and so do panels of
// reflectors (Devices.spread). Nothing is gathered on one device. The devices of a rank copy from each other,
// and ranks send messages, which are direct or pass through the memory of the hosts (flight.go). What arrives
// lies in one of two slots (landing), while the devices still work on the other. Marks keep the order
// (kernels.Memory): work is queued, and no host waits for it, but before a message and where numbers come to
// it. A thread queues the work of a device; all meet after each operation (Devices.each, parallel.Crew).
//
// Memory on the devices is not left to the garbage collector. Who has no more use for a matrix frees it, and
// Devices.Free gives back what is left in the end.
//
// One thing is in the memory of the hosts: what FactorIndefinite works on.
//
// Matrices are scaled by a power of two, so that their largest element is just below 2^Top. Then squares and
// products neither overflow nor lose what counts (CommonExponent).
//
// # QR factorization
//
// Factor and FactorPivoted compute A = Q·R and A·P = Q·R panel by panel. The device that has the first column
// of a panel factors it (kernels.Dense, FactorPanel and FactorPivoted). All devices apply its reflectors to
// their own blocks (Reflect). In the given order a panel has 64 columns, and no number comes to the hosts.
// The panels of a block are factored before the other blocks have what came before (stepping): they look
// ahead. On GPUs their reflectors are joined, and applied to other columns together (Together). With pivoting
// a panel has the 32 longest columns at most; it ends before the first pivot that is shorter than
// kernels.PanelThreshold times the longest column left out. Q is kept as reflectors, each panel of them on
// the device that made it (Orthogonal). FactorIndependent stops where columns seem to depend on each other.
//
// On GPUs one device factors panel after panel of a lot, the Tile longest columns, before the other columns
// have its reflectors (lot). There the host waits twice a panel, for the lengths of what is left of the lot
// and for the pivots; for all columns it waits once a lot. On hosts a lot is one panel.
//
// While it is pivoted a column moves within its block: the columns that are not done come first, so that
// reflectors are applied to one piece of memory (moving).
//
// # What is left of dependent columns
//
// With pivoting, what is left of dependent columns is noise: rounding errors. How large they are is followed
// from panel to panel (dense.Noise), and inside a panel by the device (kernels.PanelNoise). A column that is
// longer than its noise counts in the rank. In the rank alone, all noise becomes zero.
//
// For the singular values that is too much. With A·P = Q·[R; 0 E], where E is noise, ‖E‖ bounds the change of
// every singular value, but it may be many times too large. What E is in the space of the rows of R belongs
// to the singular values σ of R, and changes them by ‖E‖²/2σ only. So E becomes zero if its norm, or what it
// has beyond that space together with this change, is no more than lossLimit·ε·σ₁. The norms are estimated by
// the power method (moving.norm2). Noise that may not become zero is factored as any column. Noise in the way
// of small columns becomes zero at once: it would stand in rows of R that belong to small singular values
// (makeWay; docs/numerics.md §10).
//
// # Tall matrices
//
// Slabs are a tall matrix in slabs of rows, on the device that has read them. On CPUs a slab has max(4n,
// 1024) rows or a little more. On GPUs there are at most 16, a power of two, since each call takes a time of
// its own (kernels.Limits.Slabs). A = Q·R is found in one of two ways.
//
// Cholesky-QR twice ([YNYF15]): AᵀA = R₁ᵀ·R₁, Q₁ = A·R₁⁻¹, and the same with Q₁. All is products, and Q
// takes the place of A. It serves where all columns are far from the space of the others: the rows of R₁⁻¹
// tell these distances (leastDistance). For that the columns have lengths of ½ to 1. The powers of two that
// give them these lengths go to the Gram matrix and to R₁ alone, which changes no bit: A is not scaled. Where
// the squares of columns leave the range, A is scaled first (ordinaryExponent).
//
// TSQR ([DGHL12]) serves any matrix. Each slab is factored by itself, by Householder reflectors. Then two
// triangular factors, one above the other, are factored again, and so on up a binary tree:
//
//	[A₁; A₂; A₃; A₄] → R₁ R₂ R₃ R₄ → [R₁; R₂] = Q₁₂·R₁₂, [R₃; R₄] = Q₃₄·R₃₄ → [R₁₂; R₃₄] = Q·R
//
// U = Q·U_R is multiplied out down the same tree (Slabs.Expand). There is room for one slab more before the
// first one, and each slab of U takes the place of the slab before.
//
// The Gram matrices of the slabs are summed up that tree too. It follows from the number of slabs, whatever
// devices have them. A subtree that lies on one device is done there; then one n×n matrix travels along each
// edge between devices (tree).
//
// # Symmetric indefinite factorization
//
// FactorIndefinite computes M = G·J·Gᵀ by elimination with complete pivoting ([BP71], [Sla98]). A pivot is of
// order 1, or of order 2 and then taken apart by its eigenvectors. So G is as well conditioned, but for the
// scale of its columns, as a factor of M can be expected to be. It goes column by column and looks at every
// element after each pivot. So it works on a copy in the memory of the hosts (hosted), and gives G back to
// the devices (Devices.Scatter).
//
// # How a matrix is measured
//
// Measure returns the sizes of rows and columns (Grading). Parallelism is the mean square of the cosines
// between some columns, times the number of rows: about 1 for random columns, more where the singular values
// decay.
//
// # Symbols
//
//	A, then R    Matrix                       Factor overwrites the first by the second
//	P            place                        column j of A is column place[j] of R
//	Q            Orthogonal                   I − Y·T·Yᵀ of each panel ([SVL89], kernels.Reflectors)
//	E            region                       what is left below the rows of R, in some columns
//	Rᵢ, Qᵢⱼ      values, tsqr.of              while the tree is climbed
//	R₁, R₂       cholesky.reduce              of A and of Q₁
//	M·x          Operator.Times               the product with a few vectors
//
// The keys in brackets are those of docs/REFERENCES.md.
package matrix
