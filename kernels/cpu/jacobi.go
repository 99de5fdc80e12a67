package cpu

// #include "kernels.h"
//
// static struct jmpi_tally jacobi(const struct jmpi_kernels *s, int64_t k, double *r, int64_t ldr, double *t, int64_t ldt,
//		const int32_t *pairs, int64_t steps, int64_t half, int64_t max_sweeps, double tol, double *work)
// {
//	return s->jacobi(k, r, ldr, t, ldt, (struct jmpi_schedule){pairs, steps, half}, max_sweeps, tol, work);
// }
import "C"

import (
	"fmt"
	"unsafe"

	"jmpi/kernels"
)

func (d *device) Jacobi(b *kernels.Batch, o kernels.JacobiOptions) error {
	err := checkBatch(b, needs{r: true, t: true, tally: true})
	if err == nil {
		err = checkSchedule(b, o)
	}
	if err == nil {
		err = d.each(len(b.R), func(w *workspace, i int) error {
			return d.jacobi(w, b.R[i], b.T[i], o, &b.Tally[i])
		})
	}
	if err != nil {
		return fmt.Errorf("cpu: Jacobi: %w", err)
	}
	return nil
}

func (d *device) jacobi(w *workspace, r, t kernels.Panel, o kernels.JacobiOptions, tally *kernels.Tally) error {
	k := r.N
	work, err := w.floats(int(C.jmpi_jacobi_work(C.int64_t(k))))
	if err != nil {
		return err
	}
	s := o.Schedule
	done := C.jacobi(d.kernels, C.int64_t(k), doubles(r.Data), C.int64_t(r.Ld), doubles(t.Data), C.int64_t(t.Ld),
		(*C.int32_t)(unsafe.SliceData(s.Pairs)), C.int64_t(len(s.Pairs)/max(s.Order, 1)), C.int64_t(s.Order/2),
		C.int64_t(o.MaxSweeps), C.double(kernels.Tolerance(k)), scratch(work))
	tally.Rotations += int64(done.rotations)
	tally.Proper += int64(done.proper)
	tally.Changed = int64(done.changed)
	return nil
}

// checkSchedule tells whether the schedule is one for all factors of the batch: its pairs are
// disjoint within a p-step, so that they can be processed in any order.
func checkSchedule(b *kernels.Batch, o kernels.JacobiOptions) error {
	s := o.Schedule
	if s == nil || s.Order < 0 || s.Order%2 != 0 || s.Order > 0 && len(s.Pairs)%s.Order != 0 {
		return fmt.Errorf("%w: the schedule must have an even order and order/2 pairs in each p-step", kernels.ErrShape)
	}
	for i, r := range b.R {
		if r.N > s.Order || r.N > maxOrder {
			return fmt.Errorf("%w: problem %d: a factor of order %d, but the schedule is of order %d and %d is the limit",
				kernels.ErrShape, i, r.N, s.Order, maxOrder)
		}
	}
	met := make([]int, s.Order) // the last p-step, from 1, that an index was in
	for i := 0; i < len(s.Pairs); i += 2 {
		p, q, step := int(s.Pairs[i]), int(s.Pairs[i+1]), i/s.Order+1
		if p < 0 || p >= q || q >= s.Order || met[p] == step || met[q] == step {
			return fmt.Errorf("%w: p-step %d: pair (%d,%d) is out of order, out of range or not disjoint from the others",
				kernels.ErrShape, step, p, q)
		}
		met[p], met[q] = step, step
	}
	return nil
}
