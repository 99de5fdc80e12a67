package node

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"jmpi/kernels"
	"jmpi/strategy"
)

// Slots is the number of macro block-columns that a device has room for: two to work on, one landing.
const Slots = 3

// Config says what a device of a solver computes.
type Config struct {
	M      int    // rows of G
	Layout Layout // of the columns
	// hyperbolic SVD: so many leading columns of the matrix have sign +1, the others −1; Layout.N for the SVD
	Positive int
	Vectors  bool // V is carried
	// Independent: the columns of G have full rank, see kernels.JacobiOptions
	Independent bool
	Strategy    string // of the inner orderings
	Widths      []int  // preferred widths of the block-columns of the inner levels, outermost first
	Sweeps      int    // inner sweeps: 1 (block-oriented), FewSweeps or FullSweeps (full block)
	Precision   Precision
	Exchanges   bool // more than one device: a landing slot is needed
	Profile     bool // the phases are timed one by one, with a Sync after each
	// Trace, if not nil, is called with every pivot pair that is executed: level 0 and indices of
	// narrow block-columns of the matrix, or an inner level, the number of the parent problem in its
	// batch, and indices within it.
	Trace func(level, problem, p, q int)
}

// Precision says what numbers the block-columns of G and V consist of. The zero value is float64.
type Precision struct {
	Type kernels.Element // float32: the norms of the columns of G lie apart (kernels.Single); the SVD only
	// with float32: the largest cosine of an angle between two columns that pass for orthogonal
	Cosine float64
}

// check tells whether a device can do what is asked.
func (p Precision) check(c Config, be kernels.Backend) error {
	switch {
	case p.Type != kernels.Float32:
		return nil
	case !be.Limits().Float32.Pivots:
		return fmt.Errorf("node: %w: %s does not run the Jacobi method in float32, take float64", kernels.ErrType,
			be.Describe().Name)
	case c.Positive < c.Layout.N:
		return fmt.Errorf("node: %w: the hyperbolic SVD is not done in float32, take float64", kernels.ErrType)
	case !(p.Cosine > 0):
		return fmt.Errorf("node: float32 needs a cosine above 0 of columns that pass for orthogonal, not %g",
			p.Cosine)
	}
	return nil
}

// Outlook is what is known beforehand of the pairs that Run is given next.
type Outlook struct {
	// Afresh says that Run does not trust what is known of Gram matrices of block-columns: it has the rounding
	// errors of all pivots since it was formed.
	Afresh bool
	// Quiet says that few of the pairs are expected to need work (kernels.Batch).
	Quiet bool
	// Inner is how many inner sweeps their factors have, in place of Config.Sweeps; 0: those.
	Inner int
}

// Device holds macro block-columns of G, and of V, and runs the recursion on their pairs.
type Device struct {
	Backend kernels.Backend
	Phases  Phases
	// of the sweep, after Sync; reset by the caller
	Tally    kernels.Tally
	Problems int64
	Outlook

	c      Config
	memory kernels.Address // one block, cut into slots and the workspace of rec
	slots  [Slots]slot
	rec    recursion

	queued   []*kernels.Batch // whose tallies are not added up yet
	problems int              // in them
	single   bool             // pairs are taken one by one
}

// mostQueued bounds the problems whose tallies are kept until they are added up.
const mostQueued = 1 << 15

// NewDevice allocates the device's memory, Demand(c, be.Limits()) bytes. Every slot starts empty.
func NewDevice(be kernels.Backend, c Config) (*Device, error) {
	if err := c.Precision.check(c, be); err != nil {
		return nil, err
	}
	limits := be.Limits()
	a := arrange(c, limits)
	if last := a.levels[len(a.levels)-1].order; last > limits.PointwiseOrder {
		return nil, fmt.Errorf("node: factors of order %d, this device takes at most %d: give a narrower block "+
			"or inner block", last, limits.PointwiseOrder)
	}
	base, err := be.Alloc(a.bytes)
	if err == nil {
		err = be.Sync() // messages that come to it are not queued
	}
	if err != nil {
		return nil, fmt.Errorf("node: block-columns of %d rows and %d columns, and their factors: %w", c.M,
			c.Layout.MacroWidth(), err)
	}
	a.move(base)
	d := &Device{Backend: be, c: c, memory: base, slots: a.slots}
	// A single thread on a host takes pairs one by one: the columns of a pair come from memory once, and are
	// still in the cache of the core when they are multiplied.
	d.single = limits.HostMemory && be.Describe().Threads == 1
	d.rec = recursion{
		be: be, levels: a.levels, sweeps: c.Sweeps, precision: c.Precision, independent: c.Independent,
		mixed: c.Positive < c.Layout.N, schedules: newSchedules(c.Strategy), profile: c.Profile, trace: c.Trace,
		phases: &d.Phases,
	}
	return d, nil
}

// Free gives the device's memory back. A device that cannot do so gives it back when it is closed.
func (d *Device) Free() {
	if d.memory != 0 {
		_ = d.Backend.Free(d.memory)
	}
	d.memory = 0
}

// SetColumn says that macro block-column column now lies in slot s; column -1 empties it.
func (d *Device) SetColumn(s, column int) { d.slots[s].column = column }

// Column returns the macro block-column that lies in slot s, -1 for none.
func (d *Device) Column(s int) int { return d.slots[s].column }

// Slot returns where a macro block-column lies, -1 if it is not here; Slot(-1) finds an empty slot.
func (d *Device) Slot(column int) int {
	for i, s := range d.slots {
		if s.column == column && (i < Slots-1 || d.c.Exchanges) {
			return i
		}
	}
	return -1
}

// Panels returns the memory of narrow block-columns i0 ≤ i < i1 (counted within the macro block-column
// column) in slot s.
func (d *Device) Panels(s, column, i0, i1 int) Block {
	l := d.c.Layout
	base := column * l.PerMacro
	return d.slots[s].columns(l.Start(base+i0)-l.Start(base), l.Start(base+i1)-l.Start(base))
}

// Run orthogonalizes pairs of narrow block-columns of the matrix, which must be disjoint and lie on
// this device. They are some of a sub-step, which has its number in the sweep, from 0. Run may return before
// the work is done, and can be called again at once: see Sync.
func (d *Device) Run(step int, pairs []strategy.Pair) error {
	size := max(1, len(pairs))
	if d.single {
		size = 1
	}
	for group := range slices.Chunk(pairs, size) {
		if err := d.run(step, group); err != nil {
			return err
		}
	}
	return nil
}

// run is Run for the pairs of a batch.
func (d *Device) run(step int, pairs []strategy.Pair) error {
	l := d.c.Layout
	x := newPivots(len(pairs), d.slots[0].Block)
	for _, p := range pairs {
		if l.Order(p) < 2 {
			continue
		}
		left, err := d.narrow(p.P)
		if err != nil {
			return err
		}
		right, err := d.narrow(p.Q)
		if err != nil {
			return err
		}
		x.add(left, right, l.ones(p, d.c.Positive))
		if d.c.Trace != nil {
			d.c.Trace(0, 0, p.P, p.Q)
		}
	}
	d.rec.present = cmp.Or(d.Inner, d.c.Sweeps)
	b, err := d.rec.batch(0, step, x)
	if err != nil {
		return err
	}
	b.Afresh, b.Quiet = d.Afresh, d.Quiet
	start := time.Now()
	if err := d.rec.step(0, b); err != nil {
		return fmt.Errorf("node: %s: %w", d.Backend.Describe().Name, err)
	}
	d.Phases.Compute += time.Since(start).Seconds()
	d.queued = append(d.queued, b)
	if d.problems += len(b.G); d.problems >= mostQueued {
		return d.Sync()
	}
	return nil
}

// Sync waits until everything that Run has queued is done, and adds it up in Phases, Tally and Problems.
func (d *Device) Sync() error {
	start := time.Now()
	if err := d.Backend.Sync(); err != nil {
		return fmt.Errorf("node: %s: %w", d.Backend.Describe().Name, err)
	}
	d.Phases.Compute += time.Since(start).Seconds()
	for _, b := range d.queued {
		d.Phases.count(b)
		d.Problems += int64(len(b.G))
		for _, t := range b.Tally {
			d.Tally.Add(t)
			d.Tally.Broken += t.Broken
			d.Tally.Inactive += t.Inactive
			d.Tally.Cosine = max(d.Tally.Cosine, t.Cosine)
		}
	}
	clear(d.queued)
	d.queued, d.problems = d.queued[:0], 0
	return nil
}

// narrow returns narrow block-column j of the matrix.
func (d *Device) narrow(j int) (Block, error) {
	column, i := j/d.c.Layout.PerMacro, j%d.c.Layout.PerMacro
	s := d.Slot(column)
	if s < 0 {
		return Block{}, fmt.Errorf("node: macro block-column %d is not on this device", column)
	}
	return d.Panels(s, column, i, i+1), nil
}
