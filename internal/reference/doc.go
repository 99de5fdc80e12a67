// Package reference computes all singular values of a matrix to the last bit of float64, whatever their size.
// The values of the solver are judged by them where the truth is not known. It shares no code with the
// solver.
//
// # Method
//
// With enough digits the simplest method serves [GK65]. Householder's reflections from the left and the right
// make the matrix bidiagonal, and bisection finds the singular values of that.
//
// The reflections are computed with integers, which stand for multiples of one unit: 2^−p times the power of
// two above the largest entry (type fixed). Wider matrices are transposed; of a tall one the triangular
// factor is computed first, block by block of its rows.
//
// The bidiagonal matrix determines its singular values to the relative error of its entries [DK90], and
// bisection by counting changes of sign finds them to that error (type bidiagonal). 128 bits are enough
// there.
//
// # Accuracy
//
// Let A be m×n, m ≥ n, N = m+n. An entry of w is wrong by one unit, so a reflection of length l is orthogonal
// to 4√l·2^−p. The rounding of products adds two units to each entry. ‖A‖_F is at most √(mn)·2^p units, and
// there are at most 3n + m/4 reflections, of length 5n+64 or less. So all errors together are below 16·N³
// units in the norm, and so is the error of each singular value.
//
// If that is less than 2⁻⁶⁴ of the smallest singular value, all are right. Otherwise it is done again with
// three times as many digits, and at the end with so many that 16·N³ units are less than 2⁻⁶⁴ times the
// smallest number of float64. No decision about the rank is made: what is returned as 0 is below the range of
// float64.
//
// A result is the truth rounded to float64. Where the truth lies within 2⁻¹¹ of the middle between two
// numbers it may be the other one.
//
// Sources, beside those in docs/REFERENCES.md: [GK65] G. Golub, W. Kahan, Calculating the singular values and
// pseudo-inverse of a matrix, SIAM J. Numer. Anal. Ser. B 2 (1965) 205–224; [DK90] J. Demmel, W. Kahan,
// Accurate singular values of bidiagonal matrices, SIAM J. Sci. Stat. Comput. 11 (1990) 873–912.
package reference
