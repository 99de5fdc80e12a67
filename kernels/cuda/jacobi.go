package cuda

import (
	"fmt"

	"jmpi/kernels"
)

const (
	stateBytes  = (3 + 2*pointwiseOrder) * kernels.WordBytes // State of sweep.cuh
	letterBytes = 2 * kernels.WordBytes
	columnPad   = 4 // Columns of columns.cuh
)

func (d *device) Jacobi(b *kernels.Batch, o kernels.JacobiOptions) error {
	n := kernels.Needs{R: true, T: true, Tally: true}
	err := b.Check(n)
	if err == nil {
		err = d.checkSchedule(b, o)
	}
	if err != nil {
		return fmt.Errorf("cuda: Jacobi: %w", err)
	}
	return d.primitive("Jacobi", b, n, false, func(s *batch) error { return d.jacobi(s, o) })
}

// jacobi launches the sweeps. The last launch also sets columns of R that cancel to zero, unless they are
// independent, and makes T orthogonal.
func (d *device) jacobi(s *batch, o kernels.JacobiOptions) error {
	size := smallestSize
	for size < s.order {
		size *= 2
	}
	if err := d.schedule.send(d, o.Schedule, size); err != nil {
		return err
	}
	n, plan := s.n(), &d.schedule
	states, err := d.need("Jacobi", int64(n)*stateBytes)
	if err != nil {
		return err
	}
	letters, err := d.need("rotations", int64(n)*int64(plan.steps)*int64(size/2)*letterBytes)
	if err != nil {
		return err
	}
	started, err := d.need("blocks", kernels.WordBytes)
	if err != nil {
		return err
	}
	for sweep := range o.MaxSweeps {
		if err := d.launch(fmt.Sprint("jacobi_", size), 2*n, 1, 1, 2*size, columnsShared(size), s.at, word(states),
			word(letters), word(plan.rounds), word(started), uint64(n), uint64(plan.length), uint64(plan.steps),
			uint64(sweep), flag(sweep == o.MaxSweeps-1), flag(!o.Independent)); err != nil {
			return err
		}
	}
	return nil
}

// columnsShared is the shared memory that the columns of a factor of that size take.
func columnsShared(size int) int {
	return (size + 1) * (size + columnPad) * kernels.WordBytes
}

// flag is a truth value as an argument of a kernel.
func flag(x bool) uint64 {
	if x {
		return 1
	}
	return 0
}
