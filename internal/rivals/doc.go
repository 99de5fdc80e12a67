// Package rivals runs the singular value decompositions of other libraries, for comparisons in the same
// process, on the same matrix and the same cores: LAPACK's dgesdd, dgesvd (bidiagonalisation) and dgejsv,
// dgesvj (one-sided Jacobi), ScaLAPACK's pdgesvd over all MPI ranks, and on a GPU cuSOLVER's gesvd (QR
// iteration), gesvdj (Jacobi) and gesvdp (polar decomposition). Dgemm and DeviceDgemm measure what their
// speed can be compared with.
//
// The libraries are opened at run time; one that is not there is an error (ErrMissing), not a failure to
// start. Every driver computes all singular triplets that the shape has: with k = min(m,n),
//
//	A = U·diag(σ)·Vᵀ,  A m×n,  U m×k,  V n×k,  σ₁ ≥ σ₂ ≥ … ≥ σ_k
//
// Matrices are column-major and without gaps between the columns. Times cover the call of the driver alone:
// not the workspace query, copies, transpositions, or the distribution of a matrix.
//
// On a GPU they are measured there, by events. Not every library takes 64-bit integers; what does not fit
// into 32 bits is refused before the call.
package rivals

import "jmpi/internal/nvidia"

// ErrMissing is wrapped by the errors about a library or a routine that this machine does not have.
var ErrMissing = nvidia.ErrMissing

// Result is a singular value decomposition.
type Result struct {
	Sigma   []float64 // k, non-increasing
	U       []float64 // m×k, column-major
	V       []float64 // n×k, column-major; V, not its transpose
	Seconds float64   // time of the driver
	// of copying the matrix to the GPU, and U and V from it; 0 where there is none
	Upload, Download float64
}
