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
		err = d.each(len(b.R), func(w *workspace, i int) error {
			ok, err := cholesky(w, b.R[i])
			b.Tally[i] = kernels.Tally{}
			if !ok {
				b.Tally[i].Broken = 1
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("cpu: Cholesky: %w", err)
	}
	return nil
}

// cholesky overwrites the Gram matrix h by its upper triangular factor; !ok if the factorization breaks down.
func cholesky(w *workspace, h kernels.Panel) (ok bool, err error) {
	k := h.N
	if k == 0 {
		return true, nil
	}
	a := elements(h)
	diagonal, err := w.floats(k)
	if err != nil {
		return false, err
	}
	for j := range diagonal {
		diagonal[j] = a[j+j*h.Ld]
		if !(diagonal[j] >= smallestDiagonal && diagonal[j] <= math.MaxFloat64) {
			return false, nil
		}
	}
	if potrf(h) != 0 {
		return false, nil
	}
	for j, hjj := range diagonal {
		r := a[j+j*h.Ld]
		if !(r*r > float64(k)*kernels.UnitRoundoff*hjj) {
			return false, nil
		}
		clear(a[j*h.Ld+j+1 : j*h.Ld+k])
	}
	return true, nil
}

// potrf overwrites the upper triangle of a by that of its factor. It returns the number of the first column,
// from 1, whose pivot is not positive, 0 if there is none.
func potrf(a kernels.Panel) int {
	uplo, n, ld, info := C.char('U'), C.int(a.N), C.int(a.Ld), C.int(0)
	C.dpotrf_(&uplo, &n, doubles(a.Data), &ld, &info, 1)
	return int(info)
}
