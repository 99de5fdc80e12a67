package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
)

// A part of a batch costs the host as many launches as the whole. See docs/decisions/031-lanes.md.
const (
	laneCount    = 2  // parts that a batch is cut into, at most
	laneProblems = 16 // problems of a part, at least

	quietProblems = 64 // Gram matrices of so many keep the device busy
)

// lane is a stream, and what the primitives that are queued on it have for themselves. The parts of a batch
// are queued on several lanes, so that one part's factors are worked on beside another part's products. All
// else is queued on the first lane when the others are done.
type lane struct {
	stream  uintptr
	event   uintptr // what is queued now, for others to wait for
	queued  marks   // of it
	lists   *staging
	scratch scratch
	sent    [keptSchedules]schedule
	epoch   epoch
	busy    bool // has had parts of batches that the first lane has not waited for
	behind  bool // has not waited for what else the first lane has had
}

// open makes the stream, whose blocks of threads go before those of a higher number.
func (l *lane) open(d *device, priority int32, lists *staging) error {
	l.lists = lists
	if err := d.check("cuStreamCreateWithPriority", nvidia.Invoke(d.cuStreamCreateWithPriority,
		uintptr(unsafe.Pointer(&l.stream)), streamNonBlocking, uintptr(priority))); err != nil {
		return err
	}
	if err := d.check("cuEventCreate", nvidia.Invoke(d.cuEventCreate, uintptr(unsafe.Pointer(&l.event)),
		eventDisableTiming)); err != nil {
		return err
	}
	d.lane = l
	return l.epoch.open(d)
}

// wait waits for everything on the lane.
func (l *lane) wait(d *device) error {
	if l.stream == 0 {
		return nil
	}
	return d.check("cuStreamSynchronize", nvidia.Invoke(d.cuStreamSynchronize, l.stream))
}

func (l *lane) close(d *device) error {
	err := errors.Join(l.scratch.close(d), l.epoch.close(d), l.queued.close(d))
	if l.event != 0 {
		err = errors.Join(err, d.check("cuEventDestroy", nvidia.Invoke(d.cuEventDestroy, l.event)))
	}
	if l.stream != 0 {
		err = errors.Join(err, d.check("cuStreamDestroy", nvidia.Invoke(d.cuStreamDestroy, l.stream)))
	}
	*l = lane{}
	return err
}

// record notes what is queued on the lane, for follow.
func (l *lane) record(d *device) error {
	return d.check("cuEventRecord", nvidia.Invoke(d.cuEventRecord, l.event, l.stream))
}

// follow lets what is queued on a stream from now on wait for what another lane has recorded.
func (d *device) follow(stream uintptr, other *lane) error {
	return d.check("cuStreamWaitEvent", nvidia.Invoke(d.cuStreamWaitEvent, stream, other.event, 0))
}

// meet lets the first lane wait for the others, and these for it before they go on.
func (d *device) meet() error {
	if err := d.release(); err != nil {
		return err
	}
	first := &d.lanes[0]
	for i := range d.lanes[1:] {
		l := &d.lanes[1+i]
		if l.busy {
			if err := errors.Join(l.record(d), d.follow(first.stream, l)); err != nil {
				return err
			}
		}
		l.busy, l.behind = false, true
	}
	d.claims.clear()
	d.queue.last = nil // its lanes must wait again
	return nil
}

// parts returns how many parts a batch of so many problems is cut into. The bits do not depend on it.
func (d *device) parts(problems, order int, quiet bool) int {
	if order > d.order() { // cuSOLVER has one stream, and there are levels below
		return 1
	}
	if quiet && problems < quietProblems { // the device has less to do than the host
		return 1
	}
	return max(1, min(len(d.lanes), problems/laneProblems))
}

// claims are the panels that batches have had since the lanes met, and the lane of the last.
type claims struct {
	list []claim
	at   map[kernels.Address]int // the number in list, by the start
}

type claim struct {
	from, to kernels.Address
	lane     int
}

func (c *claims) clear() {
	c.list = c.list[:0]
	clear(c.at)
}

// waits says which lane must wait for which other.
type waits [laneCount][laneCount]bool

// claim gives the panels of a batch to the lanes of its parts. Where another lane had one before, the lane
// must wait for it. Where panels overlap that are not the same, all lanes must wait for all others.
func (c *claims) claim(parts []*batch) (w waits) {
	if c.at == nil {
		c.at = map[kernels.Address]int{}
	}
	before := len(c.list)
	for i, part := range parts {
		for _, p := range part.panels() {
			x := claim{p.Data, p.Data + kernels.Address(p.Bytes()), i}
			if x.from == x.to {
				continue
			}
			if at, ok := c.at[x.from]; ok && c.list[at].to == x.to {
				if other := &c.list[at].lane; *other != i {
					w[i][*other] = true
					*other = i
				}
				continue
			}
			if c.overlaps(x, before) {
				c.clear()
				c.claim(parts)
				return everyone()
			}
			c.at[x.from] = len(c.list)
			c.list = append(c.list, x)
		}
	}
	return w
}

// overlaps tells whether a claim overlaps one of the first so many.
func (c *claims) overlaps(x claim, count int) bool {
	for _, y := range c.list[:count] {
		if x.from < y.to && y.from < x.to {
			return true
		}
	}
	return false
}

func everyone() (w waits) {
	for i := range w {
		for j := range w[i] {
			w[i][j] = i != j
		}
	}
	return w
}

// panels returns the panels that the primitives read or write.
func (b *batch) panels() []kernels.Panel {
	var s kernels.Single
	if b.Single != nil {
		s = *b.Single
	}
	p := make([]kernels.Panel, 0, 9*len(b.R)) // three factors, two panels of each of three pivots
	p = append(append(append(p, b.R...), b.T...), s.Factors...)
	for _, list := range [...][]kernels.Pivot{b.G, b.V, s.Norms} {
		for _, x := range list {
			p = append(p, x.P, x.Q)
		}
	}
	return p
}

// part returns problems i ≤ p < j of a batch.
func part(b *kernels.Batch, i, j int) *kernels.Batch {
	c := &kernels.Batch{Type: b.Type, R: b.R[i:j], Afresh: b.Afresh, Quiet: b.Quiet}
	if len(b.G) == len(b.R) {
		c.G = b.G[i:j]
	}
	if len(b.V) == len(b.R) {
		c.V = b.V[i:j]
	}
	if len(b.T) == len(b.R) {
		c.T = b.T[i:j]
	}
	if len(b.Tally) == len(b.R) {
		c.Tally = b.Tally[i:j]
	}
	if b.Positive != nil {
		c.Positive = b.Positive[i:j]
	}
	if b.Across != nil {
		c.Across = b.Across[i:j]
	}
	if len(b.Grams) == len(b.R) {
		c.Grams = b.Grams[i:j]
	}
	if s := b.Single; s != nil {
		c.Single = &kernels.Single{Cosine: s.Cosine, Scaled: s.Scaled}
		if len(s.Norms) == len(b.R) {
			c.Single.Norms = s.Norms[i:j]
		}
		if len(s.Factors) == len(b.R) {
			c.Single.Factors = s.Factors[i:j]
		}
	}
	return c
}

// yielding makes a primitive's kernels let those of other lanes go first. It is for products, whose blocks
// would otherwise all start before one of the other lanes does.
func (d *device) yielding(run func(*batch) error) func(*batch) error {
	return func(s *batch) error {
		urgent := d.urgent
		d.urgent = false
		defer func() { d.urgent = urgent }()
		return run(s)
	}
}

// arrange lets the lanes wait for each other before the parts of a new batch.
func (d *device) arrange(parts []*batch) error {
	w := d.claims.claim(parts)
	for i := range parts {
		l := &d.lanes[i]
		if l.behind {
			w[i][0] = true
		}
		l.behind, l.busy = false, true
	}
	if w != (waits{}) { // what a lane waits for must be queued
		if err := d.release(); err != nil {
			return err
		}
	}
	for j := range d.lanes {
		for i := range d.lanes {
			if w[i][j] {
				if err := d.lanes[j].record(d); err != nil {
					return err
				}
				break
			}
		}
	}
	for i := range d.lanes {
		for j := range d.lanes {
			if w[i][j] {
				if err := d.follow(d.lanes[i].stream, &d.lanes[j]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// primitive checks a batch, sends it to the device and runs a primitive on its parts, each on its lane.
// fresh: the primitive sets the tally. What is ahead of it is queued before, and waits for no turn.
func (d *device) primitive(name string, b *kernels.Batch, n kernels.Needs, fresh bool,
	run func(*batch) error, ahead ...func(*batch) error) error {
	if err := b.Check(n); err != nil {
		return fmt.Errorf("cuda: %s: %w", name, err)
	}
	if len(b.R) == 0 {
		return nil
	}
	return d.bound(name, func() error {
		d.turns.mu.Lock()
		defer d.turns.mu.Unlock()
		parts, err := d.send(b, n.Tally, fresh)
		if err == nil {
			err = d.onLanes(name, parts, run, ahead)
		}
		if err != nil {
			d.turns.held = nil // nothing but Free and Close follows
		}
		return err
	})
}

// onLanes runs a primitive on the parts of a batch.
func (d *device) onLanes(name string, parts []*batch, run func(*batch) error,
	ahead []func(*batch) error) error {
	if name != "Gram" || parts[0].spared == 0 {
		if err := d.release(); err != nil {
			return err
		}
	}
	d.urgent = len(parts) > 1
	defer func() { d.lane, d.urgent = &d.lanes[0], false }()
	for i, s := range parts {
		d.lane = &d.lanes[i]
		for _, f := range ahead {
			if err := f(s); err != nil {
				return err
			}
		}
		if err := d.take(name, s, run); err != nil {
			return err
		}
	}
	return nil
}
