// Package gen makes test matrices, with known singular values where there are any to know.
//
// Every matrix is a pure function of its kind, its options and the seed: the random numbers of
// column j come from a generator seeded with (seed, purpose, j), so any block of columns can be
// produced alone, by any number of threads or ranks, with the same bits.
//
//	kind           matrix                                            what is known
//	gauss          entries N(0,1)                                    –
//	uniform        entries uniform in [−1,1)                         –
//	geometric      U·Σ·Vᵀ, σᵢ = cond^(−i/(k−1)), i = 0 … k−1         σ
//	arithmetic     U·Σ·Vᵀ, σᵢ = 1 − i/(k−1)·(1 − 1/cond)             σ
//	graded-cols    B·D, columns of B random of norm 1                –
//	graded-rows    D·B, entries of B N(0,1/n)                        –
//	graded-both    D₁·B·D₂, B as for graded-cols                     –
//	hilbert        1/(i+j+1), 0-based                                –
//	kahan          diag(1,s,s²,…)·(unit upper triangle of −c)        –
//	lowrank        B·C, an exact product of order (m×r)·(r×n)        the rank r
//	spectrum1, 3   factor G of a symmetric A = G·J·Gᵀ, indefinite    λ of A, J
//	spectrum2, 4   factor G of a symmetric A = G·Gᵀ, definite        λ of A, J = I, σ = √λ
//
// k = min(m,n); D is diagonal with entries from 1 to 1/cond in geometric progression.
//
// # Prescribed singular values
//
// U and V are products of random plane rotations in layers, each layer a random perfect matching
// of the coordinates (Kac's walk), enough layers to fill the matrix. A column costs O(n·log n)
// operations, in double-double (package dd), and is rounded once. So the matrix A that is written
// differs from one with exactly the σ that are told by δA with ‖δA‖_F ≤ u·‖A‖_F, u = 2⁻⁵³, and
// by Weyl's theorem each σ by no more than that: an *absolute* error. Relative to the smallest σ
// it is at most u·‖A‖_F/σ_min; the σ are told (Matrix.Sigma) only where this is ≤ 5e-11, half of
// what the sigma row of "jmpi check" allows. Else they are known to that absolute accuracy, by
// the formula in the table.
//
// # Spectra
//
// As in [Nov15, §6]: Λ is drawn; A = U·Λ·Uᵀ with U a product of n − 1 random Householder
// reflectors, as LAPACK's xLAGSY does it; then P·A·Pᵀ = G·J·Gᵀ by the symmetric indefinite
// factorization with complete pivoting (for a definite A, Cholesky with diagonal pivoting), the
// columns of G permuted so that J = diag(I,−I). All of it in double-double, where the paper has
// quadruple precision; G is then rounded to double. The eigenvalues of G·J·Gᵀ are Λ, and for
// J = I the singular values of G are √Λ, known subject to the same rule as above.
package gen
