package cuda

import (
	"fmt"

	"jmpi/kernels"
)

const (
	stateBytes  = (4 + 2*pointwiseOrder) * kernels.WordBytes // State of sweep.cuh
	letterBytes = 2 * kernels.WordBytes

	singleLetters = 64   // LETTERS of single_jacobi.cu
	singleSpare   = 2048 // SPARE
)

// epoch counts what the Jacobi kernels tell launches apart by.
type epoch struct {
	ticket   kernels.Address // counter on the device: blocks that have started
	blocks   uint64          // blocks of all launches
	launches uint64
}

func (e *epoch) open(d *device) (err error) {
	e.ticket, err = d.allocZero(kernels.WordBytes)
	return err
}

func (e *epoch) close(d *device) error {
	if e.ticket == 0 {
		return nil
	}
	defer func() { *e = epoch{} }()
	return d.heap.Return(e.ticket)
}

func (d *device) Jacobi(b *kernels.Batch, o kernels.JacobiOptions) error {
	n := kernels.Needs{R: true, T: true, Tally: true}
	place, err := 0, b.Check(n)
	if err == nil {
		place, err = d.checkSchedule(b, o)
	}
	if err != nil {
		return fmt.Errorf("cuda: Jacobi: %w", err)
	}
	return d.primitive("Jacobi", b, n, false, func(s *batch) error { return d.jacobi(s, o, place) })
}

// jacobi launches the sweeps. The last launch also sets columns of R that cancel to zero, unless they are
// independent, and makes T orthogonal.
func (d *device) jacobi(s *batch, o kernels.JacobiOptions, place int) error {
	order := s.order
	if s.Across != nil || s.Single != nil { // float32: else bits would depend on the other problems of the batch
		order = max(order, min(o.Schedule.Order, d.order()))
	}
	size := smallestSize
	for size < order {
		size *= 2
	}
	plan, err := d.sendSchedule(place, size)
	if err != nil {
		return err
	}
	n := s.n()
	states, err := d.need("Jacobi", int64(n)*stateBytes)
	if err != nil {
		return err
	}
	each, shared := plan.steps*size/2, columnsShared(size, s.Type)
	if s.Single != nil {
		each, shared = plan.length*size/(2*warpPairs)*singleLetters, 2*shared+singleSpare
	}
	letters, err := d.need("rotations", int64(n)*int64(each)*letterBytes)
	if err != nil {
		return err
	}
	name := fmt.Sprint(s.kernel("jacobi_"), size)
	cancels := flag(!o.Independent)
	for sweep := range o.MaxSweeps {
		d.epoch.launches++
		err := d.launch(name, 2*n, 1, 1, 2*size, shared, s.at, word(states), word(letters),
			word(plan.rounds), word(d.epoch.ticket), d.epoch.blocks, d.epoch.launches, uint64(n), uint64(plan.length),
			uint64(plan.steps), uint64(sweep), flag(sweep == o.MaxSweeps-1), cancels,
			uint64(o.Schedule.Order/2))
		if err != nil {
			return err
		}
		d.epoch.blocks += uint64(2 * n)
	}
	return nil
}

// columnsShared is the shared memory that the columns of a factor of that size take.
func columnsShared(size int, e kernels.Element) int {
	return (size + 1) * (size + pad) * e.Bytes()
}

// flag is a truth value as an argument of a kernel.
func flag(x bool) uint64 {
	if x {
		return 1
	}
	return 0
}
