// Package dense has the Householder QR factorizations of one process, on OpenBLAS. The CPU back end factors
// its panels with them. Slabs of tall matrices are factored with them on all kinds of devices. The GPU back
// end has kernels of its own, for which this package says what they must do.
//
//	Factor, FactorPivoted    a panel of columns, in their order or pivoted
//	Reflectors.Apply         Q of a panel times other columns; Reflect for Y and T wherever they lie
//	Noise                    rounding errors, followed through a factorization
//	Product, Norm, Length    BLAS
//
// # Reflectors
//
// A Householder reflector H = I − τ·v·vᵀ, v₁ = 1, maps a column x to (β, 0, …, 0)ᵀ, β = −sgn(x₁)·‖x‖.
// That sign makes v = x − β·e₁ a sum without cancellation, row by row: if the rows of a matrix are
// sorted by decreasing size and its columns pivoted, row i keeps a backward error of the order of ε
// times its own largest element, not the matrix's ([CH98]). It is what high relative accuracy of
// row-graded matrices rests on.
//
// r reflectors of one panel are applied together, in the compact form H₁·H₂·…·H_r = I − Y·T·Yᵀ with
// Y m×r unit lower trapezoidal and T r×r upper triangular ([SVL89]), so that nearly all of the work
// is matrix products.
//
// # Pivoting by panels
//
// QR with column pivoting takes in each step the column of largest norm below the rows that are done. A
// panel is the set of the largest columns at its start, so most of the next pivots are among them. They are
// factored by themselves with exact pivoting, for as long as the next pivot is at least half as long as the
// longest column that was left out; what does not pass waits for the next panel. Thus every diagonal
// element of R is at least half as large as any column norm below it (threshold pivoting), and the update
// of the rest is a matrix product. LAPACK's dgeqp3 pivots exactly instead ([QSB98]): it updates one row of
// all columns at every step, so half of its work is no matrix product, and on many ranks every step would
// be a collective operation.
//
// # Rounding errors
//
// Columns that depend on others end as rounding errors, and how large these are is what tells them from small
// columns (Noise). The errors of the elements are taken as independent, of size r_i·c_j. A reflector mixes
// the rows, so r becomes √Σ(H_il·r_l)². What is left of column j after k steps is below the k-th row of
// Qᵀ·(a_j − Σ x_l·a_l), x = R₁₁⁻¹·r_j, and has the errors of that combination: bounds of x from one step to
// the next would double at every step, so the combination itself is followed, for a few rows of random
// numbers of size c. They are what rows of A would be that are eliminated but not rotated:
// e_j ← e_j − (R_kj/R_kk)·e_k at step k.
//
// # Sums
//
// The elements of YᵀC are sums over the rows, formed in pieces (inner). Of columns that are nearly the same
// all terms have one sign, and then the errors of long sums are what decides how orthogonal Q is.
//
// All matrices are column-major with a leading dimension. The keys in brackets are those of
// docs/REFERENCES.md.
package dense
