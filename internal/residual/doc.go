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
// # Without U, V or both
//
// The row residual is then skipped, and these stand for it, all below 10, with μ = max(m,n)·ε:
//
//	norm       |‖A‖_F² − Σσᵢ²| / (‖A‖_F²·μ)
//	norm4      |‖AᵀA‖_F² − Σσᵢ⁴| / (‖A‖_F⁴·μ)              without U and V
//	rayleighU  max |‖Aᵀuᵢ‖ − σᵢ| / (‖A‖_F·μ)               with U
//	eigenU     ‖A·AᵀU − U·S²‖_F / (‖A‖_F²·μ)               with U
//	rangeU     ‖A − U·UᵀA‖_F / (‖A‖_F·μ)                   with U, if m > n
//
// and with V rayleighV, eigenV and, if m < n, rangeV: the same of Aᵀ. U and S determine A·Aᵀ and the range of
// A, and no more. So a matrix passes for U only if it has a decomposition with these U and S. Of S alone,
// norm and norm4 judge two sums: they cannot tell two matrices with the same singular values, as A and A with
// its rows in another order, and fail whatever else has not been made to meet both sums.
//
// The bounds follow from that of the residual. Let A = U·S·Vᵀ + E, ‖E‖_F ≤ τ·‖A‖_F. Then σᵢ and Aᵀuᵢ are
// known to τ·‖A‖_F, and products of two factors A to 2τ·‖A‖_F². As by the residual, a σ that is small beside
// ‖A‖_F is not judged. Results of jmpi stay below 0.2.
//
// # The leading part of an SVD
//
// Of a decomposition that was cut S, U and V have the first k < l = min(m,n) columns alone; info.json tells
// l, the norm c of the singular values that were cut, c² = Σσᵢ² over i > k, and the largest of them, σ. Then
// A − U·diag(S)·Vᵀ is what was cut, and not zero:
//
//	residual  |‖A − U·diag(S)·Vᵀ‖_F − c| / (‖A‖_F·μ)
//	pairsU    ‖Aᵀ·U − V·diag(S)‖_F / (‖A‖_F·μ)
//	pairsV    ‖A·V − U·diag(S)‖_F / (‖A‖_F·μ)
//	leading   max(0, ‖A − U·diag(S)·Vᵀ‖₂ − σ) / (‖A‖_F·μ)
//
// all below 10. If the whole decomposition has A = U·S·Vᵀ + E, the part that was cut has the norm c up to the
// errors of orthonormality, so that each of the four is at most ‖E‖_F: the leading part of a decomposition
// that passes passes. Therefore orthU and orthV are in units of l·ε, as for the whole.
//
// The row residual alone would not do. With U turned by an angle θ its norm is √(c² + O(θ²·σ²)): where c is
// large it sees angles from √ε on. The rows pairsU and pairsV see θ itself. They hold for any singular
// vectors, so residual and leading have to tell whether these are the first: of all decompositions of this
// length, those with the largest σ leave the least norm (Eckart–Young), and no other leaves a 2-norm of the
// largest σ that was cut. The row order has this σ as one more entry of S. The 2-norm is estimated from
// below, by the power method with vectors orthogonal to V, or to U: a right result never fails by it.
//
// Without U or V, norm has c² in its sum. There is no norm4, since nothing tells Σσᵢ⁴ of what was cut, and no
// rangeU or rangeV: norm and rayleighU determine the norm that they would have.
//
// # The hyperbolic SVD
//
// With the signature D = diag(±1), P times +1, that info.json tells (report.Signature), and m ≥ n, the
// decomposition is A = U·diag(S)·Vᵀ with UᵀU = I, VᵀDV = J = diag(I_P, −I), so that S²·J are the
// eigenvalues of A·D·Aᵀ. Then
//
//	residual  ‖A − U·diag(S)·Vᵀ‖_F / (‖U·diag(S)‖_F·‖V‖_F·max(m,n)·ε)             below 10
//	orthV     ‖VᵀDV − J‖_F / (‖V‖_F²·ε)                                          below 10
//	order     how many of S are negative, not finite, or out of order: non-increasing
//	          over the first P entries, non-decreasing over the rest                  0
//	lambda    max |(S²·J)ᵢ − λᵢ|/|λᵢ|, both non-increasing [Nov15, (6.1)]            below 1e-10
//
// With J = diag(jᵢ), H = A·D·Aᵀ, G = AᵀA and M = ‖S‖_F·‖V‖_F the rows without U, V or both are
//
//	norm       |tr H − Σjᵢ·σᵢ²| / (‖A‖_F·M·μ), tr H = Σdᵢ·gᵢᵢ
//	norm4      |tr H² − Σσᵢ⁴| / (‖A‖_F³·M·μ), tr H² = Σdᵢ·dⱼ·gᵢⱼ²
//	rayleighU  max |uᵢᵀ·H·uᵢ − jᵢ·σᵢ²| / ((‖Aᵀuᵢ‖ + σᵢ)·M·μ)
//	eigenU     ‖H·U − U·S²J‖_F / (‖A‖_F·M·μ)
//	rangeU     ‖A − U·UᵀA‖_F / (M·μ)
//	rayleighV  max |‖A·D·vᵢ‖ − σᵢ| / (M·‖V‖_F·μ)
//	eigenV     ‖G·D·V − V·S²J‖_F / (‖A‖_F·M·‖V‖_F·μ)
//
// M takes the place of one ‖A‖_F because ‖E‖_F may be τ·M; D·V multiplies that. The terms of tr H cancel;
// they are bounded by ‖A‖_F², and M ≥ ‖A‖_F. Where V is missing, ‖V‖_F is that of info.json, or √n, the least
// that it can be.
//
// The rows orthU and sign are as above. The row sigma is skipped: the singular values are not S. With P = n
// all is as for the SVD.
//
// Λ is what "jmpi gen" prescribes for the spectra of [Nov15, §6], together with a D beside the input;
// lambda is skipped for a decomposition with another D, the SVD (D = I) of an indefinite spectrum
// included. A·D·Aᵀ has these eigenvalues in double-double precision; then A is rounded to double,
// |δA| ≤ u·|A|, u = 2⁻⁵³, which moves λᵢ relative to itself, to first order, by at most 2u·‖|A|·|vᵢ|‖₂/σᵢ
// with column vᵢ of V. For the four spectra of orders 48, 256 and 768 the largest of these bounds are
// 9e-15, 5e-14 and 2e-13, whatever κ(A·D·Aᵀ), which went up to 5e3: they grow with n and ‖V‖. So far below
// the tolerance the row judges S. The paper measures (6.1) in the same way and keeps to such "modestly
// conditioned" matrices, because for κ ≥ 1e24 and n = 4096 it saw the rounding take "at least 4–5" of the
// last digits; that is what --sigma-tol is for.
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
