package cuda

import (
	"fmt"

	"jmpi/kernels"
)

const (
	stateBytes   = (3 + pointwiseOrder) * kernels.WordBytes // State of sweep.cuh
	slicesLimit  = 4                                        // most blocks of threads that share the rows of a T
	turnBytes    = 2 * kernels.WordBytes
	closeBytes   = kernels.WordBytes
	smallestSize = 16 // order of the smallest Jacobi kernel
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
	return d.free(e.ticket)
}

func (d *device) Jacobi(b *kernels.Batch, o kernels.JacobiOptions) error {
	n := kernels.Needs{R: true, T: true, Tally: true}
	err := checkBatch(b, n)
	if err == nil {
		err = d.checkSchedule(b, o)
	}
	if err != nil {
		return fmt.Errorf("cuda: Jacobi: %w", err)
	}
	return d.primitive("Jacobi", b, n, false, func(s *batch) error { return d.jacobi(s, o) })
}

func (d *device) jacobi(s *batch, o kernels.JacobiOptions) error {
	size := smallestSize
	for size < s.order {
		size *= 2
	}
	pairs, steps, err := d.schedule.send(d, o.Schedule, s.order, size/2)
	if err != nil {
		return err
	}
	n := s.n()
	states, err := d.need("Jacobi", int64(n)*stateBytes)
	if err != nil {
		return err
	}
	turns, err := d.need("rotations", int64(n)*int64(steps)*int64(size/2)*turnBytes)
	if err != nil {
		return err
	}
	name := fmt.Sprint("jacobi_", size)
	if s.signed {
		name = fmt.Sprint("jacobi_signed_", size)
	}
	slices := max(1, min(slicesLimit, d.processors/n-1))
	for sweep := range o.MaxSweeps {
		blocks := n * (1 + slices)
		d.epoch.launches++
		err := d.launch(name, blocks, 1, 1, size/2*32/warpSlots, (size+1)*size*kernels.WordBytes, s.at,
			word(states), word(turns), word(pairs), word(d.epoch.ticket), d.epoch.blocks, d.epoch.launches, uint64(n),
			uint64(steps), uint64(slices), uint64(sweep))
		if err != nil {
			return err
		}
		d.epoch.blocks += uint64(blocks)
	}
	return d.finishJacobi(s, states, o.Independent)
}

// finishJacobi sets columns of R that cancel to zero, unless they are independent, and makes T orthogonal:
// E ← (I − TᵀT)/2, T ← T + T·E; or J-orthogonal, with E ← (I − J·TᵀJT)/2, where columns have sign −1.
func (d *device) finishJacobi(s *batch, states kernels.Address, independent bool) error {
	near, err := d.need("T near I", int64(s.n())*closeBytes)
	if err != nil {
		return err
	}
	departures, err := d.need("departures", int64(s.n())*int64(s.order)*int64(s.order)*kernels.WordBytes)
	if err != nil {
		return err
	}
	cancels := uint64(1)
	if independent {
		cancels = 0
	}
	if err := d.launch("jacobi_cancel", s.n(), 1, 1, 1024, 0, s.at, word(states), word(near),
		cancels); err != nil {
		return err
	}
	if err := d.gram(s, gramCall{purpose: purposeDeparture, order: s.order, chunks: 1, close: near,
		departures: departures}); err != nil {
		return err
	}
	if s.signed {
		tiles := ceil(s.order, 32)
		if err := d.launch("jacobi_departure", tiles, tiles, s.n(), 256, 0, s.at, word(near), word(departures),
			uint64(s.order)); err != nil {
			return err
		}
	}
	return d.launch("newton_schulz", ceil(s.order, productRows), s.n(), 1, 256, d.productShared(128), s.at,
		word(departures), uint64(s.order))
}
