package cpu

import (
	"gonum.org/v1/gonum/blas"

	"jmpi/kernels"
)

// reorthogonalize does one Newton–Schulz step, t ← t + t·E with E = (I − tᵀt)/2, which takes what thousands of rotations have lost
// of the orthogonality of t. If no column of t has moved far, as in the late sweeps, E is formed from d = t − I, which is exact, as
// −(d + dᵀ + dᵀd)/2, so that small deviations are not lost beside the ones of the diagonal. Both ways keep the graded structure
// that t has for graded columns: E_ij is small where t_ij is.
func reorthogonalize(w *workspace, t kernels.Panel) error {
	k := t.N
	work, err := w.floats(3 * k * k)
	if err != nil {
		return err
	}
	copied, d, e := work[:k*k], work[k*k:2*k*k], work[2*k*k:3*k*k]
	near := true
	for j := range k {
		copy(copied[j*k:(j+1)*k], column(t, j))
		near = near && copied[j*k+j] >= 0.5
	}
	copy(d, copied)
	clear(e)
	for j := range k {
		if near {
			d[j*k+j]--
		} else {
			e[j*k+j] = 0.5
		}
	}
	if near {
		for j := range k {
			for i := range j + 1 {
				x := -0.5 * (d[i*k+j] + d[j*k+i])
				e[i*k+j], e[j*k+i] = x, x
			}
		}
	}
	// Row-major, d is dᵀ (or tᵀ) and the copy is tᵀ; E is symmetric.
	openblas.Dgemm(blas.NoTrans, blas.Trans, k, k, k, -0.5, d, k, d, k, 1, e, k)
	openblas.Dgemm(blas.NoTrans, blas.NoTrans, k, k, k, 1, e, k, copied, k, 1, elements(t), t.Ld)
	return nil
}
