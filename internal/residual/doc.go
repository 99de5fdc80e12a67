// Package residual judges a computed singular value decomposition A ≈ U·diag(S)·Vᵀ, or a
// hyperbolic one, by the files of its factors alone. It shares no code with the solver.
//
// With A m×n, k = min(m,n), U m×k, V n×k, ε = 2⁻⁵², the rows of the verdict are
//
//	residual  ‖A − U·diag(S)·Vᵀ‖_F / (‖A‖_F·max(m,n)·ε)                          below 10
//	orthU     ‖UᵀU − I‖_F / (k·ε)                                                below 10
//	orthV     ‖VᵀV − I‖_F / (k·ε)                                                below 10
//	order     how many of S are negative, not finite or larger than the one before    0
//	sign      how many columns of U have a largest entry that is not positive         0
//	sigma     max |Sᵢ − σᵢ|/σᵢ against the true singular values, if they are there    below 1e-10
//	reference  the same against singular values that were computed for the check
//
// The first two can fail alone: a decomposition of another matrix has orthonormal factors, and
// one with factors that are not orthonormal can reproduce A. A residual of exactly 0 passes, also
// for A = 0; whatever is NaN fails. Of the entries of largest magnitude in a column the first
// one counts for the sign. Where σᵢ = 0, Sᵢ is right up to the rounding errors k·ε·σ₁.
//
// # The hyperbolic SVD
//
// With the signature D = diag(±1), P times +1, that info.json tells (report.Signature), and m ≥ n, the decomposition is
// A = U·diag(S)·Vᵀ with UᵀU = I, VᵀDV = J = diag(I_P, −I), so that S²·J are the eigenvalues of A·D·Aᵀ. Then
//
//	residual  ‖A − U·diag(S)·Vᵀ‖_F / (‖U·diag(S)‖_F·‖V‖_F·max(m,n)·ε)             below 10
//	orthV     ‖VᵀDV − J‖_F / (‖V‖_F²·ε)                                          below 10
//	order     how many of S are negative, not finite, or out of order: non-increasing
//	          over the first P entries, non-decreasing over the rest                  0
//	lambda    max |(S²·J)ᵢ − λᵢ|/|λᵢ|, both non-increasing [Nov15, (6.1)]            below 1e-10
//
// and orthU and sign are as above. The row sigma is skipped: the singular values are not S. With P = n all is as for the SVD.
//
// Λ is what "jmpi gen" prescribes for the spectra of [Nov15, §6], together with a D beside the input; lambda is skipped for a
// decomposition with another D, the SVD (D = I) of an indefinite spectrum included. A·D·Aᵀ has these eigenvalues in
// double-double precision; then A is rounded to double, |δA| ≤ u·|A|, u = 2⁻⁵³, which moves λᵢ relative to itself, to first
// order, by at most 2u·‖|A|·|vᵢ|‖₂/σᵢ with column vᵢ of V. For the four spectra of orders 48, 256 and 768 the largest of these bounds are
// 9e-15, 5e-14 and 2e-13, whatever κ(A·D·Aᵀ), which went up to 5e3: they grow with n and ‖V‖. So far below the tolerance the row
// judges S. The paper measures (6.1) in the same way and keeps to such "modestly conditioned" matrices, because for κ ≥ 1e24 and
// n = 4096 it saw the rounding take "at least 4–5" of the last digits; that is what --sigma-tol is for.
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
