// Package matrix has matrices that are spread over all ranks by columns, in the memory of the hosts, and what
// is done to them before and after the Jacobi method: norms, permutation, transposition, products, QR
// factorizations.
//
// # Storage
//
// A Matrix is cut into blocks of 64 columns. The blocks are dealt out to the ranks one after the other. In an
// operation on two matrices blocks, or panels of reflectors, pass by on every rank (Matrix.Broadcast), and
// nothing is gathered on one. Blocks and panels have a fixed width, so the bits of the results do not depend
// on the number of ranks. Sums over the columns of several ranks are formed in twice the working precision
// and rounded once (SumTwice, [Knu97], [ORO05]).
//
// Matrices are scaled by a power of two, so that their largest element is just below 2^Top. Then squares and
// products neither overflow nor lose what counts (CommonExponent).
//
// # QR factorization
//
// Factor and FactorPivoted compute A·P = Q·R panel by panel. One rank factors a panel (package dense); all
// ranks apply its reflectors to their own blocks. In a given order a panel has 64 columns. With pivoting it
// has the 32 longest columns at most; it ends before the first pivot that is shorter than
// kernels.PanelThreshold times the longest column left out. Q is kept as reflectors, whose panels are dealt
// out to the ranks too (Orthogonal).
//
// While it is factored a column moves within its block: the columns that are not done come first, so that
// reflectors are applied to one piece of memory (moving).
//
// # What is left of dependent columns
//
// With pivoting, what is left of dependent columns is noise: rounding errors. dense.Noise follows how large
// they are. A column that is longer than its noise counts in the rank. In the rank alone, all noise becomes
// zero.
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
// Slabs are a tall matrix in slabs of rows. Each is factored by itself. Then two triangular factors, one
// above the other, are factored again, and so on up a binary tree (TSQR, [DGHL12]):
//
//	[A₁; A₂; A₃; A₄] → R₁ R₂ R₃ R₄ → [R₁; R₂] = Q₁₂·R₁₂, [R₃; R₄] = Q₃₄·R₃₄ → [R₁₂; R₃₄] = Q·R
//
// All that travels is one n×n triangle along each edge of the tree (Slabs.Reduce). U = Q·U_R is multiplied
// out down the same tree and lies in the slabs again (Slabs.Expand). Slabs have at least max(4n, 1024) rows.
// Slabs and tree follow from m and n alone.
//
// # Symmetric indefinite factorization
//
// FactorIndefinite computes M = G·J·Gᵀ by elimination with complete pivoting ([BP71], [Sla98]). A pivot is of
// order 1, or of order 2 and then taken apart by its eigenvectors. So G is as well conditioned, but for the
// scale of its columns, as a factor of M can be expected to be.
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
//	Q            Orthogonal                   I − Y·T·Yᵀ of each panel ([SVL89], dense.Reflectors)
//	E            region                       what is left below the rows of R, in some columns
//	Rᵢ, Qᵢⱼ      Slabs.factor, .merged        while the tree is climbed
//	M·x          Operator.Times               the product with a few vectors
//
// The keys in brackets are those of docs/REFERENCES.md.
package matrix
