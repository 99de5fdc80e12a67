// Package kernels defines what a device must be able to compute, the Backend, and holds in plain Go the two
// formulas that everything else is tested against: the Jacobi rotation and the norm of a column.
//
// # What a device does
//
//	Memory    allocates, reads, writes and copies: for those who only move data
//	Pivots    the batched primitives of the Jacobi method, on pivot problems; norms and products with vectors
//	Dense     what is done to a matrix before and after the method, on panels: products, triangular solves,
//	          Cholesky, QR of a panel with and without pivoting, reflectors, permutation, transposition,
//	          scaling, sizes
//	Limits    which widths suit it
//
// A Backend is all four. A matrix on several devices is the matter of package dist/matrix, which calls Dense
// for each device's part.
//
// # One step of the method
//
// The one-sided Jacobi method makes the columns of G orthogonal, two block-columns [P Q] at a time
// ([Nov15, §4]):
//
//  1. Shorten: H = [P Q]ᵀ[P Q] = RᵀR by Gram and Cholesky; where that breaks down, R from QR of [P Q].
//     R has the order k of the pivot instead of its m rows, and the same right singular vectors.
//     Where H shows that all columns are orthogonal, that was all (ScreenTolerance).
//  2. Orthogonalize: R ← R·T by Jacobi, pairs of columns (p,q) after pairs, in one sweep or until
//     nothing is left to do. It may visit pairs of a column of P with one of Q alone (Batch.Across).
//  3. Postmultiply: [P Q] ← [P Q]·T by Multiply, for G and, if wanted, for the accumulated V.
//
// The singular values are the ColumnNorms of the final G.
//
// # A rotation
//
// ε is 2⁻⁵² (Epsilon), and u = ε/2 the unit roundoff (UnitRoundoff). [Nov15] writes ε for u: its c(ε) is c(u)
// here. For two columns x, y with xᵀx = hpp, yᵀy = hqq, xᵀy = hpq:
//
//	symbol             here                    meaning
//	c(u) = u·√min(k,16) Tolerance              rotate where |hpq| > c(u)·√hpp·√hqq (NeedsRotation)
//	2·c(u)             ScreenTolerance         leave the whole pivot alone up to there; c(u) for J ≠ I
//	tan φ              Kind.Rotation, tan      (4.3)–(4.5)
//	sin φ, tan(φ/2)    Turn                    t/s and t/(1+s) with t = tan φ, s = √(1+t²), instead of (4.6)
//	(4.1)              Turn.Rotate             x' = x − sin φ·(y + tan(φ/2)·x), y' = y + sin φ·(x − tan(φ/2)·y)
//	h'pp, h'qq         Diagonal                the pair is swapped if h'pp < h'qq, the rotation proper
//
// [Nov15, §4.3] prints h'pp with + and h'qq with −; with (4.1) and (4.3) it must be the other way round, as
// here. There is no factor cos φ: near 1, where almost all cosines are, its rounding error, or its being lost
// against x, always has the same sign and spoils the norms of T by more than chance would. The correction of
// x is a small number of its own instead ([Rut66]). Even so thousands of rotations lose some orthogonality;
// one Newton–Schulz step on T brings it back to ε.
//
// # Hyperbolic rotations
//
// In the hyperbolic SVD G·W = U·Σ with WᵀJW = J, J = diag(I, −I), a number of leading columns has sign +1,
// the others −1 ([Nov15, (2.10)], [Ves93]). P lies left of Q, so the signs of any pivot are + … + − … − too,
// and one number a problem says all (Batch.Positive). Columns of equal sign are rotated as above. A pair p, q
// of different signs takes the hyperbolic rotation (4.2):
//
//	symbol             here               meaning
//	𝔱                  Kind, KindOf       1 trigonometric, −1 hyperbolic; formulas (4.3)–(4.5) serve both
//	tanh φ             Kind.Rotation      coth 2φ = −(hpp + hqq)/(2·hpq); where that is not above 1,
//	                                      5/4 (Tally.Degenerate)
//	sinh φ, tanh(φ/2)  Turn               t/s and t/(1+s) with t = tanh φ, s = √(1−t²)
//	(4.2)              Turn.Rotate        x' = x + sinh φ·(y + tanh(φ/2)·x), y' = y + sinh φ·(x + tanh(φ/2)·y)
//	order                                 + columns by non-increasing, − columns by non-decreasing norm,
//	                                      never across the signs
//
// Given the computed t, sinh φ and tanh(φ/2) are right to some ε however near t is to 1, since 1−t² is
// rounded once. The half-angle form loses less J-orthogonality than cosh φ as a factor at small angles,
// where it is a matter of bias, and at large ones (docs/numerics.md §8). The Newton–Schulz step becomes
// T ← T + T·E with E = (I − J·TᵀJT)/2.
//
// T need not be small: its norm is that of cosh φ. Errors of R·T and of TᵀJT − J are relative to ‖R‖·‖T‖ and
// ‖T‖². So two rules for T with |T_ij| ≤ 1 are kept from going wrong: no |T_ij| counts for more than 1 where
// it is told what is rounding errors in R·T, and elements of E beyond √ε, which are rounding errors of long
// columns, are left out. Columns that are known to be independent never count as rounding
// errors (JacobiOptions.Independent).
//
// If rank(G·J·Gᵀ) < rank(G) there is no hyperbolic SVD: a + column and a − column become parallel and of the
// same norm. Their rotation is degenerate only if they meet exactly so; mostly they have been rotated with
// others before, shrink to about √ε of what they were, and W grows to 1/√ε.
//
// # Float32
//
// A batch of float32 has the norms of its columns apart, in float64: X = X̂·D with unit columns x̂_j
// (Single). A rotation of d_p·x̂ and d_q·ŷ is then, with ρ = d_q/d_p ≤ 1 and w = tan φ/ρ,
//
//	x̂' = x̂ − ρ·sin φ·(ŷ + tan(φ/2)/ρ·x̂),  ŷ' = ŷ + sin φ/ρ·(x̂ − ρ·tan(φ/2)·ŷ),
//	w = ±2·ĥpq/(|δ| + √(δ² + (2·ρ·ĥpq)²)),  δ = ρ²·ĥqq − ĥpp.
//
// All quotients by ρ are w over something near 1, so they are there where ρ itself underflows: a column
// however small is made orthogonal to a large one. T has the same form, D·T'·D'⁻¹.
//
// Storage is column-major everywhere. A panel says the type of its elements (Element); all is float64 but for
// batches of float32 and those primitives of Dense that say that they take float32 too. Package kerneltest
// has a test for every primitive; packages cpu and cuda are the devices. [Nov15] is V. Novaković, A
// hierarchically blocked Jacobi SVD algorithm for single and multiple graphics processing units, SIAM J. Sci.
// Comput. 37 (2015).
package kernels
