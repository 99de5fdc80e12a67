package cpu

// void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info,
//		unsigned long uplo_length);
// void spotrf_(const char *uplo, const int *n, float *a, const int *lda, int *info,
//		unsigned long uplo_length);
import "C"

import (
	"math"

	"jmpi/kernels"
)

// trust says which Gram matrices are factored.
type trust struct {
	// squared norms of columns: the products that make up smaller ones may have underflowed
	smallest, largest float64

	roundoff  float64 // of an element
	zero      bool    // a column may be zero
	tolerance float64 // cosine of columns that pass for orthogonal
}

func (d *device) Cholesky(b *kernels.Batch) error {
	err := b.Check(kernels.Needs{R: true, Tally: true})
	if err == nil {
		err = d.each(len(b.R), func(w *workspace, i int) (err error) {
			if r := b.R[i]; b.Single != nil {
				b.Tally[i], err = cholesky[float32](w, r, trust{0x1p-60, math.MaxFloat32, kernels.UnitRoundoff32, true,
					b.Single.Cosine})
			} else {
				b.Tally[i], err = cholesky[float64](w, r, trust{0x1p-900, math.MaxFloat64, kernels.UnitRoundoff, false,
					kernels.ScreenTolerance(r.N, b.Ones(i, r.N))})
			}
			return err
		})
	}
	return named("Cholesky", err)
}

// cholesky overwrites the Gram matrix h by its upper triangular factor, unless no cosine exceeds the
// tolerance.
func cholesky[T real](w *workspace, h kernels.Panel, o trust) (kernels.Tally, error) {
	broken, k := kernels.Tally{Broken: 1}, h.N
	if k == 0 {
		return kernels.Tally{Inactive: 1}, nil
	}
	work, err := w.floats(2 * k)
	if err != nil {
		return broken, err
	}
	a, diagonal, norms := elementsOf[T](h), work[:k], work[k:]
	for j := range diagonal {
		x := float64(a[j+j*h.Ld])
		if !(x >= o.smallest && x <= o.largest || x == 0 && o.zero) {
			return broken, nil
		}
		diagonal[j], norms[j] = x, math.Sqrt(x)
	}
	if orthogonal[T](h, norms, o.tolerance) {
		return kernels.Tally{Inactive: 1}, nil
	}
	for j, hjj := range diagonal {
		if hjj == 0 {
			a[j+j*h.Ld] = 1 // for a while
		}
	}
	if potrf(h) != 0 {
		return broken, nil
	}
	for j, hjj := range diagonal {
		r := &a[j+j*h.Ld]
		switch x := float64(*r); {
		case hjj == 0:
			*r = 0
		case !(x*x > float64(k)*o.roundoff*hjj):
			return broken, nil
		}
		clear(a[j*h.Ld+j+1 : j*h.Ld+k])
	}
	return kernels.Tally{}, nil
}

// orthogonal tells whether no cosine of an angle between two columns exceeds tolerance. h is their Gram
// matrix.
func orthogonal[T real](h kernels.Panel, norms []float64, tolerance float64) bool {
	for j := range norms {
		for i, x := range columnOf[T](h, j)[:j] {
			if !(math.Abs(float64(x)) <= tolerance*norms[i]*norms[j]) {
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
	if x := pointer(a.Data); a.Type == kernels.Float32 {
		C.spotrf_(&uplo, &n, (*C.float)(x), &ld, &info, 1)
	} else {
		C.dpotrf_(&uplo, &n, (*C.double)(x), &ld, &info, 1)
	}
	return int(info)
}
