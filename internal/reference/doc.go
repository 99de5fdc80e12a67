// Package reference computes all singular values of a matrix to nearly full relative accuracy in
// double-double arithmetic (package dd): what the values of the solver are judged by where the
// truth is not known. It shares no code with the solver.
//
// # Method
//
// The order of docs/numerics.md §4, for A with m ≥ n (else for Aᵀ):
//
//	P·A          rows in decreasing order of their largest entries
//	P·A·Π = Q·R  Householder QR with column pivoting
//	R = L·Z      Householder LQ, that is QR of Rᵀ
//	L·V = U·Σ    one-sided Jacobi on the columns of the lower triangular L
//
// For A = D₁·B·D₂ with diagonal D₁ and D₂ the backward error of the first three is small in each
// entry against |D₁|·|B|·|D₂|, that of the last in each column ([CH98], [Hig00], [DV08]). So if
// one of the two gradings is I, every σ has a relative error of about 1e-31 times the condition of
// B. If both rows and columns are graded, the bounds have more factors; there it was compared with
// 256-bit arithmetic, at n = 32 and down to 1e-20 on each side: the error was at most 6e-30, in
// random order of the gradings too.
//
// # Range
//
// Double-double has the exponent range of float64. Columns carry an exponent of their own, and
// powers of two are taken out of the rows of R. So gradings of the columns cost no accuracy over
// the whole range of float64, nor do those of the rows over 390 decimal orders; entries that are
// smaller than that against the largest one of their column count as 0.
//
// # Rank
//
// A column that QR has reduced to nothing but rounding errors, in every row small against the
// largest entry that the row began with, becomes zero; the σ that correspond are returned as 0.
//
// Sources, beside those in docs/REFERENCES.md: [CH98] A. J. Cox, N. J. Higham, Stability of
// Householder QR factorization for weighted least squares problems, in Numerical Analysis 1997,
// Longman (1998) 57–73; [Hig00] N. J. Higham, QR factorization with complete pivoting and accurate
// computation of the SVD, Linear Algebra Appl. 309 (2000) 153–174.
package reference
