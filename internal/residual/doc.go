// Package residual judges a computed singular value decomposition A ≈ U·diag(S)·Vᵀ by the files
// of its factors alone. It shares no code with the solver.
//
// With A m×n, k = min(m,n), U m×k, V n×k, ε = 2⁻⁵², the rows of the verdict are
//
//	residual  ‖A − U·diag(S)·Vᵀ‖_F / (‖A‖_F·max(m,n)·ε)                          below 10
//	orthU     ‖UᵀU − I‖_F / (k·ε)                                                below 10
//	orthV     ‖VᵀV − I‖_F / (k·ε)                                                below 10
//	order     how many of S are negative, not finite or larger than the one before    0
//	sign      how many columns of U have a largest entry that is not positive         0
//	sigma     max |Sᵢ − σᵢ|/σᵢ against the true singular values, if they are there    below 1e-10
//
// The first two can fail alone: a decomposition of another matrix has orthonormal factors, and
// one with factors that are not orthonormal can reproduce A. A residual of exactly 0 passes, also
// for A = 0; whatever is NaN fails. Of the entries of largest magnitude in a column the first
// one counts for the sign.
//
// # How it is computed
//
// A and S are first divided by the power of two next to max|A| (for A = 0, to max S), which is
// exact and keeps squares from overflow and underflow. The matrices are read in panels of rows,
// so memory stays below about 1 GiB as long as one row and one column of Gram matrix are small
// against that. Products are OpenBLAS's, over tiles that all cores share; sums over tiles are
// taken in a fixed order, so the verdict does not depend on the number of cores. The Gram matrix
// is summed over chunks of rows with compensation (TwoSum): the check's own rounding must not
// grow with m, because k·ε does not.
package residual
