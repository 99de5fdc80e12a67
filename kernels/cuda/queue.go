package cuda

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
)

// pivot and problem are Pivot and Problem of common.cuh.
type pivot struct {
	p, q            kernels.Address
	m, np, ldp, ldq int64
}

type problem struct {
	g, v        pivot
	r, t        kernels.Address
	ldr, ldt, k int64
	chunk       int64
	tol, screen float64
	tally       kernels.Address
	positive    int64
}

const (
	problemBytes = int(unsafe.Sizeof(problem{}))
	tallyBytes   = int(unsafe.Sizeof(kernels.Tally{}))

	stagingBytes = 4 << 20 // of the memory through which problems and tallies go to the device
	tallyLimit   = 1 << 15 // tallies on the device at a time
)

// queue is what lies between the host and the primitives: problems and tallies go up, tallies come down, all
// by asynchronous copies on the device's stream. Everything starts anew with Sync.
type queue struct {
	host, device kernels.Address // staging memory, filled from the start, and its image on the device
	used         int
	last         []problem       // the problems that were sent last,
	lastAt       kernels.Address // and where they are

	tallies     kernels.Address // on the device: tallyLimit of them
	tallyMirror kernels.Address // host memory for what comes back
	tallyCount  int
	pending     []pendingTally
}

// pendingTally is a caller's tally whose values are on the device, where they are valid, from
// number `first` on.
type pendingTally struct {
	host  []kernels.Tally
	first int
}

func (q *queue) open(d *device) error {
	var err error
	if q.host, err = d.allocHost(stagingBytes); err != nil {
		return err
	}
	if q.device, err = d.alloc(stagingBytes); err != nil {
		return err
	}
	if q.tallies, err = d.alloc(int64(tallyLimit * tallyBytes)); err != nil {
		return err
	}
	q.tallyMirror, err = d.allocHost(int64(tallyLimit * tallyBytes))
	return err
}

func (q *queue) close(d *device) error {
	var err error
	for _, a := range []*kernels.Address{&q.host, &q.tallyMirror} {
		if *a != 0 {
			err = errors.Join(err, d.freeHost(*a))
		}
	}
	for _, a := range []*kernels.Address{&q.device, &q.tallies} {
		if *a != 0 {
			err = errors.Join(err, d.free(*a))
		}
	}
	*q = queue{}
	return err
}

// structs returns n elements at an address outside the Go heap.
func structs[T any](a kernels.Address, n int) []T {
	return unsafe.Slice(*(**T)(unsafe.Pointer(&a)), n)
}

// batch is a Batch whose problems are on the device.
type batch struct {
	*kernels.Batch
	problems []problem
	at       uint64 // their address
	order    int    // the largest k
	signed   bool   // some columns have sign −1
	rows     int    // of G and V, the most of any problem
	vRows    int
}

func (b *batch) n() int { return len(b.problems) }

// send brings the problems of a batch to the device; with tally its tallies too, unless the device has them
// already. fresh tallies are not sent: the primitive sets them.
func (d *device) send(b *kernels.Batch, tally, fresh bool) (*batch, error) {
	q, problems := &d.queue, len(b.R)
	bytes := problems * (problemBytes + tallyBytes)
	if bytes > stagingBytes || problems > tallyLimit {
		return nil, fmt.Errorf("%w: %d problems, %d are the limit", kernels.ErrShape, problems,
			min(tallyLimit, stagingBytes/(problemBytes+tallyBytes)))
	}
	if q.used+bytes > stagingBytes || q.tallyCount+problems > tallyLimit {
		if err := d.sync(); err != nil {
			return nil, err
		}
	}
	var tallies kernels.Address
	if tally {
		first, err := q.tally(d, b.Tally, fresh)
		if err != nil {
			return nil, err
		}
		tallies = q.tallies + kernels.Address(first*tallyBytes)
	}
	s := gather(b, tallies)
	if slices.Equal(s.problems, q.last) {
		s.at = uint64(q.lastAt)
		return s, nil
	}
	at, err := q.stage(d, len(s.problems)*problemBytes,
		func(host kernels.Address) { copy(structs[problem](host, problems), s.problems) }, 0)
	if err != nil {
		return nil, err
	}
	s.at, q.last, q.lastAt = uint64(at), s.problems, at
	return s, nil
}

// stage queues the copy of bytes that fill writes to staging memory, to the address `to`, or to the image of
// the staging memory if that is 0, and returns where they go.
func (q *queue) stage(d *device, bytes int, fill func(host kernels.Address),
	to kernels.Address) (kernels.Address, error) {
	host := q.host + kernels.Address(q.used)
	if to == 0 {
		to = q.device + kernels.Address(q.used)
	}
	q.used += bytes
	fill(host)
	return to, d.copyBytes(d.stream, uintptr(to), uintptr(host), int64(bytes))
}

// tally returns the number, on the device, of the first of the caller's tallies.
func (q *queue) tally(d *device, host []kernels.Tally, fresh bool) (int, error) {
	for _, p := range q.pending {
		if len(p.host) == len(host) && &p.host[0] == &host[0] {
			return p.first, nil
		}
	}
	first := q.tallyCount
	q.tallyCount += len(host)
	q.pending = append(q.pending, pendingTally{host, first})
	if fresh {
		return first, nil
	}
	_, err := q.stage(d, len(host)*tallyBytes,
		func(a kernels.Address) { copy(structs[kernels.Tally](a, len(host)), host) },
		q.tallies+kernels.Address(first*tallyBytes))
	return first, err
}

// gather puts a batch, whose factors have been checked, into the form that the kernels take.
func gather(b *kernels.Batch, tallies kernels.Address) *batch {
	n := len(b.R)
	s := &batch{Batch: b, problems: make([]problem, n)}
	for i := range s.problems {
		k := b.R[i].N
		positive := b.Ones(i, k)
		x := problem{r: b.R[i].Data, ldr: int64(b.R[i].Ld), k: int64(k), positive: int64(positive),
			tol: kernels.Tolerance(k), screen: kernels.ScreenTolerance(k, positive)}
		s.signed = s.signed || positive < k
		if len(b.G) == n {
			x.g, x.chunk = pivotOf(b.G[i]), int64(chunkRows(b.G[i].P.M, k))
			s.rows = max(s.rows, b.G[i].P.M)
		}
		if len(b.V) == n {
			x.v = pivotOf(b.V[i])
			s.vRows = max(s.vRows, b.V[i].P.M)
		}
		if len(b.T) == n {
			x.t, x.ldt = b.T[i].Data, int64(b.T[i].Ld)
		}
		if tallies != 0 {
			x.tally = tallies + kernels.Address(i*tallyBytes)
		}
		s.problems[i] = x
		s.order = max(s.order, k)
	}
	return s
}

func pivotOf(p kernels.Pivot) pivot {
	return pivot{p.P.Data, p.Q.Data, int64(p.P.M), int64(p.P.N), int64(p.P.Ld), int64(p.Q.Ld)}
}

// sync waits for everything that is queued and gives the caller's tallies their values.
func (d *device) sync() error {
	q := &d.queue
	if q.tallyCount > 0 {
		if err := d.copyBytes(d.stream, uintptr(q.tallyMirror), uintptr(q.tallies),
			int64(q.tallyCount*tallyBytes)); err != nil {
			return err
		}
	}
	if err := d.check("cuStreamSynchronize", nvidia.Invoke(d.cuStreamSynchronize, d.stream)); err != nil {
		return err
	}
	values := structs[kernels.Tally](q.tallyMirror, q.tallyCount)
	for _, p := range q.pending {
		copy(p.host, values[p.first:])
	}
	clear(q.pending)
	q.pending, q.tallyCount, q.used, q.last = q.pending[:0], 0, 0, nil
	return nil
}

// Sync waits for everything that is queued, and fails if any of it has failed.
func (d *device) Sync() error { return d.entered("Sync", d.sync) }

// checkBatch refuses batches that do not fit, and those of float32.
func checkBatch(b *kernels.Batch, n kernels.Needs) error {
	if b.Type == kernels.Float32 {
		return fmt.Errorf("%w: GPUs take batches of float64 only", kernels.ErrType)
	}
	return b.Check(n)
}

// primitive checks a batch, sends it to the device and runs a primitive on it. fresh: the primitive
// sets the tally.
func (d *device) primitive(name string, b *kernels.Batch, n kernels.Needs, fresh bool,
	run func(*batch) error) error {
	if err := checkBatch(b, n); err != nil {
		return fmt.Errorf("cuda: %s: %w", name, err)
	}
	if len(b.R) == 0 {
		return nil
	}
	return d.entered(name, func() error {
		s, err := d.send(b, n.Tally, fresh)
		if err != nil {
			return err
		}
		return run(s)
	})
}
