package cuda

import (
	"fmt"
	"sync"
)

const (
	jacobiBlocks = 2 // of a problem
	turnShare    = 4 // the Jacobi blocks of a lane may take 1/turnShare of the multiprocessors
)

// turns let two lanes take turns. Products whose blocks stay on their multiprocessors (stays) fill the device
// until they end. So what the other lane has to do waits for that, and then both lanes would do the same at
// the same time. In turns the products of a lane come behind those of the other, and behind the blocks of its
// next Gram matrices, which have priority and begin at once. They leave multiprocessors to the other lane's
// Jacobi. See docs/decisions/069-lanes-take-turns.md.
type turns struct {
	mu   sync.Mutex   // of whatever is queued on the lanes: Read, Write and Copy may come from any goroutine
	held func() error // queues products of the second lane, which are to come after Gram matrices; or nil
	none bool         // in tests: lanes take no turns
}

// stays tells whether the products of a part are formed by blocks that stay on their multiprocessors.
func (d *device) stays(s *batch) bool {
	if s.Single != nil {
		return d.wgmma() && s.order <= pointwiseOrder
	}
	return d.streams(s.order)
}

// takeTurns decides whether the lanes of the parts of a batch take turns. Then their products leave
// multiprocessors alone.
func (d *device) takeTurns(parts []*batch) {
	if len(parts) != 2 || d.turns.none {
		return
	}
	for _, s := range parts {
		if !d.stays(s) || jacobiBlocks*s.n() > d.processors/turnShare {
			return
		}
	}
	parts[0].spared, parts[1].spared = jacobiBlocks*parts[1].n(), jacobiBlocks*parts[0].n()
}

// productBlocks returns how many blocks that stay share so many tiles of the products of a part.
func (d *device) productBlocks(s *batch, tiles int) int {
	return min(d.processors-s.spared, tiles)
}

// take runs a primitive on a part whose lane is d.lane, when it is the turn of this lane. The event of a lane
// stands before its Gram matrices, which begin some microseconds before whatever waits for the event.
func (d *device) take(name string, s *batch, run func(*batch) error) error {
	first, second := &d.lanes[0], &d.lanes[1]
	switch {
	case s.spared == 0: // no turns
	case name == "Gram":
		if d.lane == second {
			if err := d.releaseBehind(first); err != nil {
				return err
			}
		}
		if err := d.lane.record(d); err != nil {
			return err
		}
	case name == "Multiply" && d.lane == first:
		// without a Gram in turn the event is an older one, or none
		if err := d.follow(first.stream, second); err != nil {
			return err
		}
	case name == "Multiply":
		d.turns.held = func() error { return run(s) }
		return nil
	}
	return run(s)
}

// releaseBehind queues what is held behind the event of another lane.
func (d *device) releaseBehind(other *lane) error {
	if d.turns.held == nil {
		return nil
	}
	if err := d.follow(d.lanes[1].stream, other); err != nil {
		return err
	}
	return d.release()
}

// release queues what is held. Only Gram may come before it.
func (d *device) release() error {
	held := d.turns.held
	if held == nil {
		return nil
	}
	d.turns.held = nil
	lane, urgent := d.lane, d.urgent
	defer func() { d.lane, d.urgent = lane, urgent }()
	d.lane, d.urgent = &d.lanes[1], true
	if err := held(); err != nil {
		return fmt.Errorf("Multiply of the second half of a batch: %w", err)
	}
	return nil
}

// flush is release for what is not queued on the lanes itself.
func (d *device) flush() error {
	d.turns.mu.Lock()
	defer d.turns.mu.Unlock()
	if d.turns.held == nil {
		return nil
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	return d.release()
}
