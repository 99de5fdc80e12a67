package cpu

// #include "kernels.h"
//
// static struct jmpi_tally jacobi(const struct jmpi_kernels *s, int64_t k, int64_t positive, void *r,
//		int64_t ldr, void *t, int64_t ldt, const int32_t *pairs, int64_t steps, int64_t half, int64_t max_sweeps,
//		int64_t left, double tol, double null, double cosine, double *norms, void *work)
// {
//	return s->jacobi((struct jmpi_jacobi){k, positive, max_sweeps, tol, null, cosine, norms}, r, ldr, t, ldt,
//			 (struct jmpi_schedule){pairs, steps, half, left}, work);
// }
// static int64_t jacobi_work(const struct jmpi_kernels *s, int64_t k) { return s->jacobi_work(k); }
import "C"

import (
	"unsafe"

	"jmpi/kernels"
)

func (d *device) Jacobi(b *kernels.Batch, o kernels.JacobiOptions) error {
	err := b.Check(kernels.Needs{R: true, T: true, Tally: true})
	if err == nil {
		err = o.Schedule.Check(b, maxOrder)
	}
	if err == nil {
		err = o.Schedule.Disjoint()
	}
	if err == nil {
		err = d.each(len(b.R), func(w *workspace, i int) error {
			if b.Tally[i].Inactive != 0 {
				return nil
			}
			return d.jacobi(w, b, i, o)
		})
	}
	return named("Jacobi", err)
}

func (d *device) jacobi(w *workspace, b *kernels.Batch, i int, o kernels.JacobiOptions) error {
	r, t, s, set := b.R[i], b.T[i], o.Schedule, d.kernels[b.Type]
	k := r.N
	work, err := scratchOf[byte](w, int(C.jacobi_work(set, C.int64_t(k)))*b.Type.Bytes())
	if err != nil {
		return err
	}
	tol, null, cosine, norms := kernels.Tolerance(k), kernels.Tolerance(k), 0.0, unsafe.Pointer(nil)
	switch {
	case b.Single != nil:
		tol, cosine, norms = kernels.Tolerance32(k), b.Single.Cosine, pointer(b.Single.Factors[i].Data)
	case o.Independent:
		null = -1
	}
	done := C.jacobi(set, C.int64_t(k), C.int64_t(b.Ones(i, k)), pointer(r.Data), C.int64_t(r.Ld),
		pointer(t.Data), C.int64_t(t.Ld), (*C.int32_t)(unsafe.SliceData(s.Pairs)),
		C.int64_t(len(s.Pairs)/max(s.Order, 1)), C.int64_t(s.Order/2), C.int64_t(o.MaxSweeps),
		C.int64_t(b.Left(i)), C.double(tol), C.double(null), C.double(cosine), (*C.double)(norms), scratch(work))
	b.Tally[i].Add(kernels.Tally{
		Rotations: int64(done.rotations), Proper: int64(done.proper), Open: int64(done.open),
		Idle: int64(done.idle), Degenerate: int64(done.degenerate),
	})
	b.Tally[i].Changed = int64(done.changed)
	return nil
}
