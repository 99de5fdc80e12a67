package cpu

// void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info,
//		unsigned long uplo_length);
import "C"

import (
	"fmt"
	"math"

	"jmpi/kernels"
)

// smallestDiagonal is the least squared column norm that a Gram matrix is trusted with: the products that
// make up smaller ones may have underflowed.
const smallestDiagonal = 0x1p-900

func (d *device) Cholesky(b *kernels.Batch) error {
	err := b.Check(kernels.Needs{R: true, Tally: true})
	if err == nil {
		err = d.each(len(b.R), func(w *workspace, i int) (err error) {
			b.Tally[i], err = cholesky(w, b.R[i], kernels.ScreenTolerance(b.R[i].N, b.Ones(i, b.R[i].N)))
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("cpu: Cholesky: %w", err)
	}
	return nil
}

// cholesky overwrites the Gram matrix h by its upper triangular factor, unless no cosine exceeds tolerance.
func cholesky(w *workspace, h kernels.Panel, tolerance float64) (kernels.Tally, error) {
	broken, k := kernels.Tally{Broken: 1}, h.N
	if k == 0 {
		return kernels.Tally{Inactive: 1}, nil
	}
	work, err := w.floats(2 * k)
	if err != nil {
		return broken, err
	}
	a, diagonal, norms := elements(h), work[:k], work[k:]
	for j := range diagonal {
		diagonal[j] = a[j+j*h.Ld]
		if !(diagonal[j] >= smallestDiagonal && diagonal[j] <= math.MaxFloat64) {
			return broken, nil
		}
		norms[j] = math.Sqrt(diagonal[j])
	}
	if orthogonal(h, norms, tolerance) {
		return kernels.Tally{Inactive: 1}, nil
	}
	if potrf(h) != 0 {
		return broken, nil
	}
	for j, hjj := range diagonal {
		r := a[j+j*h.Ld]
		if !(r*r > float64(k)*kernels.UnitRoundoff*hjj) {
			return broken, nil
		}
		clear(a[j*h.Ld+j+1 : j*h.Ld+k])
	}
	return kernels.Tally{}, nil
}

// orthogonal tells whether no cosine of an angle between two columns exceeds tolerance. h is their Gram
// matrix.
func orthogonal(h kernels.Panel, norms []float64, tolerance float64) bool {
	for j := range norms {
		for i, x := range column(h, j)[:j] {
			if !(math.Abs(x) <= tolerance*norms[i]*norms[j]) {
				return false
			}
		}
	}
	return true
}

// potrf overwrites the upper triangle of a by that of its factor. It returns the number of the first column,
// from 1, whose pivot is not positive, 0 if there is none.
func potrf(a kernels.Panel) int {
	uplo, n, ld, info := C.char('U'), C.int(a.N), C.int(a.Ld), C.int(0)
	C.dpotrf_(&uplo, &n, doubles(a.Data), &ld, &info, 1)
	return int(info)
}
