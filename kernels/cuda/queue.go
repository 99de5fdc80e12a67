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
	left        int64

	gramP, gramQ     kernels.Address
	ldGramP, ldGramQ int64
	afresh           uint64 // 0 or 1

	single singleProblem
}

// singleProblem is what comes to a problem of float32.
type singleProblem struct {
	normsP, normsQ, factors kernels.Address
	scaled                  uint64 // 0 or 1
}

const (
	problemBytes = int(unsafe.Sizeof(problem{}))
	tallyBytes   = int(unsafe.Sizeof(kernels.Tally{}))

	tallyLimit   = 1 << 15 // problems, and tallies, on the device at a time
	stagingBytes = 4 << 20 // of the memory through which lists and tallies go to the device
)

// queue is what lies between the host and the primitives: problems and tallies go up, tallies come down, all
// by asynchronous copies. Everything starts anew with Sync.
type queue struct {
	// Problems are written to host memory, one batch after the other, and copied to its image on the device. A
	// sweep is like the one before: what lies in both already is not copied again.
	problems, image kernels.Address
	upload          uintptr // the stream of their copies, which do not wait for the batches before
	uploaded        marks
	count, mirrored int            // problems now, and problems that are in both
	last            *kernels.Batch // the batch that was sent last,
	parts           []*batch       // and its parts

	staging staging // for lists and tallies

	tallies     kernels.Address // on the device: tallyLimit of them
	tallyMirror kernels.Address // host memory for what comes back
	tallyCount  int
	pending     []pendingTally
}

// staging is memory of the host through which something goes to the device. It is filled from the start.
type staging struct {
	at          kernels.Address
	bytes, used int
}

// take returns so much of it, for which there is room.
func (s *staging) take(bytes int) kernels.Address {
	at := s.at + kernels.Address(s.used)
	s.used += bytes
	return at
}

// place copies words, for which there is room, to it.
func (s *staging) place(x []uint64) kernels.Address {
	at := s.take(len(x) * kernels.WordBytes)
	copy(structs[uint64](at, len(x)), x)
	return at
}

// room is how many bytes are left.
func (s *staging) room() int { return s.bytes - s.used }

// pendingTally is a caller's tally whose values are on the device from number `first` on, if they are there.
type pendingTally struct {
	host  []kernels.Tally
	first int
	there bool
}

func (q *queue) open(d *device) error {
	for _, x := range []struct {
		to       *kernels.Address
		allocate func(int64) (kernels.Address, error)
		bytes    int
	}{
		{&q.problems, d.allocHost, tallyLimit * problemBytes}, {&q.image, d.heap.New, tallyLimit * problemBytes},
		{&q.staging.at, d.allocHost, stagingBytes}, {&q.tallies, d.heap.New, tallyLimit * tallyBytes},
		{&q.tallyMirror, d.allocHost, tallyLimit * tallyBytes},
	} {
		a, err := x.allocate(int64(x.bytes))
		if err != nil {
			return err
		}
		*x.to = a
	}
	q.staging.bytes = stagingBytes
	return d.check("cuStreamCreate", nvidia.Invoke(d.cuStreamCreate, uintptr(unsafe.Pointer(&q.upload)),
		streamNonBlocking))
}

func (q *queue) close(d *device) error {
	err := q.uploaded.close(d)
	if q.upload != 0 {
		err = errors.Join(err, d.check("cuStreamDestroy", nvidia.Invoke(d.cuStreamDestroy, q.upload)))
	}
	for _, a := range []kernels.Address{q.problems, q.staging.at, q.tallyMirror} {
		if a != 0 {
			err = errors.Join(err, d.freeHost(a))
		}
	}
	for _, a := range []kernels.Address{q.image, q.tallies} {
		if a != 0 {
			err = errors.Join(err, d.heap.Return(a))
		}
	}
	*q = queue{}
	return err
}

// structs returns n elements at an address outside the Go heap.
func structs[T any](a kernels.Address, n int) []T {
	return unsafe.Slice(*(**T)(unsafe.Pointer(&a)), n)
}

// batch is a part of a Batch whose problems are on the device.
type batch struct {
	*kernels.Batch
	problems []problem
	at       uint64 // their address
	tallies  kernels.Address
	order    int // the largest k of the whole Batch
	rows     int // of G and V, the most of any problem
	vRows    int
	spared   int // multiprocessors that products leave to the other lane; 0 where lanes take no turns
}

func (b *batch) n() int { return len(b.problems) }

// kernel returns the name of a kernel that there is for both element types.
func (b *batch) kernel(name string) string {
	if b.Type == kernels.Float32 {
		return "single_" + name
	}
	return name
}

// send brings the problems of a batch to the device, in parts for the lanes; with tally its tallies too,
// unless the device has them already. fresh tallies are not sent: the primitive sets them.
func (d *device) send(b *kernels.Batch, tally, fresh bool) ([]*batch, error) {
	q := &d.queue
	if len(b.R) > tallyLimit {
		return nil, fmt.Errorf("%w: %d problems, %d are the limit", kernels.ErrShape, len(b.R), tallyLimit)
	}
	if q.count+len(b.R) > tallyLimit || q.tallyCount+len(b.R) > tallyLimit ||
		len(b.R)*tallyBytes > q.staging.room() {
		if err := d.sync(); err != nil {
			return nil, err
		}
	}
	if q.last == nil || !alike(q.last, b) {
		if err := d.sendProblems(b); err != nil {
			return nil, err
		}
	}
	if !tally {
		return q.parts, nil
	}
	if p := q.tally(b.Tally); !p.there {
		p.there = true
		for i, s := range q.parts {
			if fresh {
				break
			}
			if err := d.stage(&d.lanes[i], words(s.Tally), s.tallies); err != nil {
				return nil, err
			}
		}
	}
	return q.parts, nil
}

// alike tells whether two batches are the same problems. A Batch that has been sent stays as it is
// until Sync.
func alike(a, b *kernels.Batch) bool {
	return sameMemory(a.G, b.G) && sameMemory(a.V, b.V) && sameMemory(a.R, b.R) && sameMemory(a.T, b.T) &&
		sameMemory(a.Positive, b.Positive) && sameMemory(a.Across, b.Across) && sameMemory(a.Tally, b.Tally) &&
		sameMemory(a.Grams, b.Grams) && a.Afresh == b.Afresh &&
		a.Quiet == b.Quiet && alikeSingle(a.Single, b.Single)
}

func alikeSingle(a, b *kernels.Single) bool {
	if a == nil || b == nil {
		return a == b
	}
	return sameMemory(a.Norms, b.Norms) && sameMemory(a.Factors, b.Factors) &&
		a.Cosine == b.Cosine && a.Scaled == b.Scaled
}

// sameMemory tells whether two slices are the same memory.
func sameMemory[T any](a, b []T) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// sendProblems queues the copies of the parts of a batch, for which their lanes wait.
func (d *device) sendProblems(b *kernels.Batch) error {
	q, n, order := &d.queue, len(b.R), 0
	var tallies kernels.Address
	if len(b.Tally) == n {
		tallies = q.tallies + kernels.Address(q.tally(b.Tally).first*tallyBytes)
	}
	for _, r := range b.R {
		order = max(order, r.N)
	}
	q.last, q.parts = nil, nil
	parts := make([]*batch, d.parts(n, order, b.Quiet))
	for i := range parts {
		first, end := n*i/len(parts), n*(i+1)/len(parts)
		s := gather(part(b, first, end), tallies)
		s.order, s.tallies = order, tallies
		if tallies != 0 {
			tallies += kernels.Address(s.n() * tallyBytes)
		}
		parts[i] = s
	}
	d.takeTurns(parts)
	if err := d.arrange(parts); err != nil {
		return err
	}
	for i, s := range parts {
		place := kernels.Address(q.count * problemBytes)
		host := structs[problem](q.problems+place, s.n())
		s.at = uint64(q.image + place)
		q.count += s.n()
		if q.count <= q.mirrored && slices.Equal(host, s.problems) {
			continue
		}
		copy(host, s.problems)
		if err := d.uploadTo(d.lanes[i].stream, uintptr(s.at), uintptr(q.problems+place),
			int64(s.n()*problemBytes)); err != nil {
			return err
		}
		q.mirrored = max(q.mirrored, q.count)
	}
	header := *b
	if b.Single != nil {
		single := *b.Single
		header.Single = &single
	}
	q.last, q.parts = &header, parts
	return nil
}

// uploadTo copies bytes of the host, beside what is queued, for what is queued on a stream from now on.
func (d *device) uploadTo(stream, to, from uintptr, bytes int64) error {
	q := &d.queue
	if err := d.copyBytes(q.upload, to, from, bytes); err != nil {
		return err
	}
	m, err := q.uploaded.record(d, q.upload)
	if err != nil {
		return err
	}
	return d.after(stream, []kernels.Mark{m})
}

// stage queues the copy of words for which there is room, on a lane.
func (d *device) stage(l *lane, x []uint64, to kernels.Address) error {
	return d.copyBytes(l.stream, uintptr(to), uintptr(l.lists.place(x)), int64(len(x)*kernels.WordBytes))
}

// tally returns the place of the caller's tallies on the device.
func (q *queue) tally(host []kernels.Tally) *pendingTally {
	for i := len(q.pending) - 1; i >= 0; i-- {
		if sameMemory(q.pending[i].host, host) {
			return &q.pending[i]
		}
	}
	q.pending = append(q.pending, pendingTally{host: host, first: q.tallyCount})
	q.tallyCount += len(host)
	return &q.pending[len(q.pending)-1]
}

// gather puts a batch, whose factors have been checked, into the form that the kernels take.
func gather(b *kernels.Batch, tallies kernels.Address) *batch {
	n := len(b.R)
	s := &batch{Batch: b, problems: make([]problem, n)}
	for i := range s.problems {
		k := b.R[i].N
		positive := b.Ones(i, k)
		x := problem{r: b.R[i].Data, ldr: int64(b.R[i].Ld), k: int64(k), positive: int64(positive),
			left: int64(b.Left(i)), afresh: flag(b.Afresh), tol: kernels.Tolerance(k),
			screen: kernels.ScreenTolerance(k, positive)}
		if len(b.G) == n {
			x.g, x.chunk = pivotOf(b.G[i]), int64(chunkRows(b.G[i].P.M, k))
			if b.Type == kernels.Float32 {
				x.chunk = int64(singleChunk(b.G[i].P.M, k))
			}
			s.rows = max(s.rows, b.G[i].P.M)
		}
		if len(b.V) == n {
			x.v = pivotOf(b.V[i])
			s.vRows = max(s.vRows, b.V[i].P.M)
		}
		if len(b.T) == n {
			x.t, x.ldt = b.T[i].Data, int64(b.T[i].Ld)
		}
		if len(b.Grams) == n && keeps(b.G[i], b.Type) {
			p, q := b.Grams[i].P, b.Grams[i].Q
			x.gramP, x.gramQ, x.ldGramP, x.ldGramQ = p.Data, q.Data, int64(p.Ld), int64(q.Ld)
		}
		if b.Single != nil {
			x.ofSingle(b.Single, i)
		}
		if tallies != 0 {
			x.tally = tallies + kernels.Address(i*tallyBytes)
		}
		s.problems[i] = x
	}
	return s
}

// ofSingle adds what problem i of a batch of float32 has besides.
func (p *problem) ofSingle(s *kernels.Single, i int) {
	p.tol, p.screen = kernels.Tolerance32(int(p.k)), s.Cosine
	x := &p.single
	if len(s.Norms) > i {
		x.normsP, x.normsQ = s.Norms[i].P.Data, s.Norms[i].Q.Data
	}
	if len(s.Factors) > i {
		x.factors = s.Factors[i].Data
	}
	x.scaled = flag(s.Scaled)
}

func pivotOf(p kernels.Pivot) pivot {
	return pivot{p.P.Data, p.Q.Data, int64(p.P.M), int64(p.P.N), int64(p.P.Ld), int64(p.Q.Ld)}
}

// sync waits for everything that is queued and gives the caller's tallies their values.
func (d *device) sync() error {
	q := &d.queue
	if err := d.meet(); err != nil {
		return err
	}
	first := &d.lanes[0]
	if q.tallyCount > 0 {
		if err := d.copyBytes(first.stream, uintptr(q.tallyMirror), uintptr(q.tallies),
			int64(q.tallyCount*tallyBytes)); err != nil {
			return err
		}
	}
	if err := first.wait(d); err != nil {
		return err
	}
	values := structs[kernels.Tally](q.tallyMirror, q.tallyCount)
	for _, p := range q.pending {
		if p.there {
			copy(p.host, values[p.first:])
		}
	}
	for i := range d.lanes {
		d.lanes[i].behind = false
	}
	clear(q.pending)
	q.pending, q.tallyCount, q.staging.used, q.count, q.last, q.parts = q.pending[:0], 0, 0, 0, nil, nil
	return nil
}

// Sync waits for everything that is queued, and fails if any of it has failed.
func (d *device) Sync() error {
	return d.entered("Sync", func() error { return errors.Join(d.sync(), d.beside.clear(d)) })
}
