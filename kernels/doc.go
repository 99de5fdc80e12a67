// Package kernels defines what a device must be able to compute, the Backend, and holds in plain Go the two
// formulas that everything else is tested against: the Jacobi rotation and the norm of a column.
//
// # One step of the method
//
// The one-sided Jacobi method makes the columns of G orthogonal, two block-columns [P Q] at a time ([Nov15, §4]):
//
//  1. Shorten: H = [P Q]ᵀ[P Q] = RᵀR by Gram and Cholesky; where that breaks down, R from QR of [P Q].
//     R has the order k of the pivot instead of its m rows, and the same right singular vectors.
//  2. Orthogonalize: R ← R·T by Jacobi, pairs of columns (p,q) after pairs, in one sweep or until nothing is left to do.
//  3. Postmultiply: [P Q] ← [P Q]·T by Multiply, for G and, if wanted, for the accumulated V.
//
// The singular values are the ColumnNorms of the final G.
//
// # A rotation
//
// For two columns x, y with xᵀx = hpp, yᵀy = hqq, xᵀy = hpq:
//
//	symbol             here                    meaning
//	c(ε) = ε·√min(k,16) Tolerance              rotate where |hpq| > c(ε)·√hpp·√hqq (NeedsRotation)
//	tan φ              Rotation, tan           (4.3)–(4.5)
//	sin φ, tan(φ/2)    Turn                    t/s and t/(1+s) with t = tan φ, s = √(1+t²), instead of (4.6)
//	(4.1)              Turn.Rotate             x' = x − sin φ·(y + tan(φ/2)·x), y' = y + sin φ·(x − tan(φ/2)·y)
//	h'pp, h'qq         Diagonal                the pair is swapped if h'pp < h'qq, the rotation proper
//
// [Nov15, §4.3] prints h'pp with + and h'qq with −; with (4.1) and (4.3) it must be the other way round, as here.
// There is no factor cos φ: near 1, where almost all cosines are, its rounding error, or its being lost beside x, always has the same
// sign and spoils the norms of T by more than chance would. The correction of x is a small number of its own instead ([Rut66]).
// Even so thousands of rotations lose some orthogonality; one Newton–Schulz step on T brings it back to ε.
//
// Storage is column-major everywhere. Package kerneltest has a test for every primitive; packages cpu and cuda are
// the devices. [Nov15] is V. Novaković, A hierarchically blocked Jacobi SVD algorithm for single and multiple graphics
// processing units, SIAM J. Sci. Comput. 37 (2015).
package kernels
