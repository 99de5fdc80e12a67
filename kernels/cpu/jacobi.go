package cpu

// #include "kernels.h"
//
// static struct jmpi_tally jacobi(const struct jmpi_kernels *s, int64_t k, int64_t positive, double *r,
//		int64_t ldr, double *t, int64_t ldt, const int32_t *pairs, int64_t steps, int64_t half,
//		int64_t max_sweeps, double tol, double null, double *work)
// {
//	return s->jacobi(k, positive, r, ldr, t, ldt, (struct jmpi_schedule){pairs, steps, half}, max_sweeps, tol,
//			 null, work);
// }
import "C"

import (
	"fmt"
	"unsafe"

	"jmpi/kernels"
)

func (d *device) Jacobi(b *kernels.Batch, o kernels.JacobiOptions) error {
	err := b.Check(kernels.Needs{R: true, T: true, Tally: true})
	if err == nil {
		err = o.Schedule.Check(b.R, maxOrder)
	}
	if err == nil {
		err = o.Schedule.Disjoint()
	}
	if err == nil {
		err = d.each(len(b.R), func(w *workspace, i int) error {
			if b.Tally[i].Inactive != 0 {
				return nil
			}
			return d.jacobi(w, b.R[i], b.T[i], b.Ones(i, b.R[i].N), o, &b.Tally[i])
		})
	}
	if err != nil {
		return fmt.Errorf("cpu: Jacobi: %w", err)
	}
	return nil
}

func (d *device) jacobi(w *workspace, r, t kernels.Panel, positive int, o kernels.JacobiOptions,
	tally *kernels.Tally) error {
	k := r.N
	work, err := w.floats(int(C.jmpi_jacobi_work(C.int64_t(k))))
	if err != nil {
		return err
	}
	s, tol := o.Schedule, kernels.Tolerance(k)
	null := tol
	if o.Independent {
		null = -1
	}
	done := C.jacobi(d.kernels, C.int64_t(k), C.int64_t(positive), doubles(r.Data), C.int64_t(r.Ld),
		doubles(t.Data), C.int64_t(t.Ld), (*C.int32_t)(unsafe.SliceData(s.Pairs)),
		C.int64_t(len(s.Pairs)/max(s.Order, 1)), C.int64_t(s.Order/2),
		C.int64_t(o.MaxSweeps), C.double(tol), C.double(null), scratch(work))
	tally.Add(kernels.Tally{
		Rotations: int64(done.rotations), Proper: int64(done.proper), Open: int64(done.open),
		Idle: int64(done.idle), Degenerate: int64(done.degenerate),
	})
	tally.Changed = int64(done.changed)
	return nil
}
