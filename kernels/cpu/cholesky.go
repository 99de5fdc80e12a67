package cpu

// #include "kernels.h"
//
// static struct jmpi_screening screen(const struct jmpi_kernels *s, int64_t k, const void *h, int64_t ldh,
//		const void *scales, double limit, int64_t left)
// {
//	return s->screen(k, h, ldh, scales, limit, left);
// }
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
	left      int     // kernels.Batch, Left
}

func (d *device) Cholesky(b *kernels.Batch) error {
	err := b.Check(kernels.Needs{R: true, Tally: true})
	if err == nil {
		err = d.each(len(b.R), func(w *workspace, i int) (err error) {
			if r := b.R[i]; b.Single != nil {
				b.Tally[i], err = cholesky[float32](d, w, r, trust{0x1p-60, math.MaxFloat32, kernels.UnitRoundoff32, true,
					b.Single.Cosine, b.Left(i)})
			} else {
				b.Tally[i], err = cholesky[float64](d, w, r, trust{0x1p-900, math.MaxFloat64, kernels.UnitRoundoff, false,
					kernels.ScreenTolerance(r.N, b.Ones(i, r.N)), b.Left(i)})
			}
			return err
		})
	}
	return named("Cholesky", err)
}

// cholesky overwrites the Gram matrix h by its upper triangular factor, unless no cosine exceeds the
// tolerance.
func cholesky[T real](d *device, w *workspace, h kernels.Panel, o trust) (kernels.Tally, error) {
	k := h.N
	if k == 0 {
		return kernels.Tally{Inactive: 1}, nil
	}
	work, err := scratchOf[T](w, 2*k)
	if err != nil {
		return kernels.Tally{Broken: 1}, err
	}
	a, diagonal, scales, trusted := elementsOf[T](h), work[:k], work[k:], true
	for j := range diagonal {
		x := float64(a[j+j*h.Ld])
		diagonal[j], scales[j] = T(x), 0
		if x >= o.smallest && x <= o.largest {
			scales[j] = T(1 / math.Sqrt(x))
		} else if x != 0 || !o.zero {
			trusted = false
		}
	}
	seen := C.screen(d.kernels[h.Type], C.int64_t(k), pointer(h.Data), C.int64_t(h.Ld), scratch(scales),
		C.double(o.tolerance), C.int64_t(o.left))
	tally := kernels.Tally{Cosine: float64(seen.cosine)}
	switch {
	case trusted && seen.within != 0:
		tally.Inactive = 1
	case !trusted || !factor[T](h, diagonal, o.roundoff):
		tally.Broken = 1
	}
	return tally, nil
}

// factor overwrites the Gram matrix h by its factor, and tells whether that can be trusted.
func factor[T real](h kernels.Panel, diagonal []T, roundoff float64) bool {
	a, k := elementsOf[T](h), h.N
	for j, hjj := range diagonal {
		if hjj == 0 {
			a[j+j*h.Ld] = 1 // for a while
		}
	}
	if potrf(h) != 0 {
		return false
	}
	for j, hjj := range diagonal {
		r := &a[j+j*h.Ld]
		switch x := float64(*r); {
		case hjj == 0:
			*r = 0
		case !(x*x > float64(k)*roundoff*float64(hjj)):
			return false
		}
		clear(a[j*h.Ld+j+1 : j*h.Ld+k])
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
