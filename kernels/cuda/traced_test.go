package cuda

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"jmpi/kernels"

	"github.com/ebitengine/purego"
)

// traced is a device without a GPU: its driver only notes what is queued, and what waits for what. So the
// order is known that a GPU would have to keep.
type traced struct {
	*device
	clocks map[uintptr]clock // of streams: what is done before whatever is queued on them next
	events map[uintptr]clock
	host   clock   // what it has waited for
	last   uintptr // event that was created
	done   []traceOp
	call   int // of a primitive
}

// clock is how many operations of each stream are done.
type clock map[uintptr]int

func (c clock) join(other clock) {
	for stream, n := range other {
		c[stream] = max(c[stream], n)
	}
}

// traceOp is an operation on a stream.
type traceOp struct {
	name   string
	order  int // among all that was queued
	call   int // of the primitive
	lane   int
	stream uintptr
	number int   // on the stream
	before clock // what is done before it starts
	pages  pages // that it touches
}

// pages are a set of pieces of memory.
type pages [140]uint64

const (
	page     = 2048    // bytes
	pageBase = 1 << 20 // the first
)

func (s *pages) add(p kernels.Panel) {
	for at := (int64(p.Data) - pageBase) / page; at*page+pageBase < int64(p.Data)+p.Bytes(); at++ {
		s[at/64] |= 1 << (at % 64)
	}
}

func (s *pages) touch(t *pages) bool {
	for i := range s {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

// follows tells whether x starts when y is done.
func (x *traceOp) follows(y *traceOp) bool { return x.before[y.stream] > y.number }

const (
	tracedUpload, tracedMover = 90, 91 // streams; those of lanes are 1, 2, …
	tracedEvents              = 100    // of lanes, and of the mover
)

// tracer is what the driver's calls go to. There is one driver, since callbacks are never given back.
var tracer *traced

var tracedDriver = sync.OnceValue(func() *driver {
	nothing := purego.NewCallback(func() uintptr { return 0 })
	d := &driver{cuCtxSetCurrent: nothing, cuMemsetD8Async: nothing}
	d.cuEventCreate = purego.NewCallback(func(to *uintptr) uintptr {
		tracer.last++
		*to = tracer.last
		return 0
	})
	d.cuEventRecord = purego.NewCallback(func(event, stream uintptr) uintptr {
		tracer.events[event] = tracer.clock(stream)
		return 0
	})
	d.cuStreamWaitEvent = purego.NewCallback(func(stream, event uintptr) uintptr {
		c := tracer.clock(stream)
		c.join(tracer.events[event])
		tracer.clocks[stream] = c
		return 0
	})
	d.cuStreamSynchronize = purego.NewCallback(func(stream uintptr) uintptr {
		tracer.host.join(tracer.clock(stream))
		return 0
	})
	d.cuMemcpyAsync = purego.NewCallback(func(_, _, _, stream uintptr) uintptr {
		tracer.add(stream, traceOp{name: "copy", call: tracer.call})
		return 0
	})
	return d
})

// clock returns a copy of a stream's clock.
func (d *traced) clock(stream uintptr) clock {
	c := clock{}
	c.join(d.clocks[stream])
	c.join(d.host)
	return c
}

func (d *traced) add(stream uintptr, x traceOp) {
	x.stream, x.before, x.order = stream, d.clock(stream), len(d.done)
	x.number = x.before[stream]
	c := d.clock(stream)
	c[stream]++
	d.clocks[stream] = c
	d.done = append(d.done, x)
}

// openTraced returns a device like an H200.
func openTraced(t testing.TB) *traced {
	t.Helper()
	d := &traced{clocks: map[uintptr]clock{}, events: map[uintptr]clock{}, host: clock{},
		last: 2 * tracedEvents}
	d.device = &device{driver: tracedDriver(), target: "sm_90a", processors: 132, shared: 227 << 10}
	var err error
	d.tiling, err = tilingOf("sm_90")
	must(t, err)
	var pin runtime.Pinner
	host := func(bytes int) kernels.Address {
		x := make([]uint64, bytes/kernels.WordBytes)
		pin.Pin(&x[0])
		return kernels.Address(uintptr(unsafe.Pointer(&x[0])))
	}
	for i := range d.lanes {
		d.lanes[i].stream, d.lanes[i].event = uintptr(1+i), uintptr(tracedEvents+i)
		d.lanes[i].lists = &d.queue.staging
	}
	d.lane = &d.lanes[0]
	d.queue = queue{problems: host(tallyLimit * problemBytes), image: 1 << 50, upload: tracedUpload,
		staging: staging{at: host(stagingBytes), bytes: stagingBytes}, tallies: 1 << 51,
		tallyMirror: host(tallyLimit * tallyBytes)}
	d.movers.free = []mover{{stream: tracedMover, event: tracedEvents - 1, pinned: host(1 << 16)}}
	next := kernels.Address(1 << 52)
	d.heap = &kernels.Heap{Get: func(bytes int64) (kernels.Address, error) {
		next += kernels.Address(bytes)
		return next, nil
	}, Put: func(kernels.Address, int64) error { return nil }}
	tracer = d
	t.Cleanup(func() {
		tracer = nil
		pin.Unpin()
	})
	return d
}

// run queues a primitive that does nothing but touch what the batch has.
func (d *traced) run(name string, b *kernels.Batch) error {
	call := d.call
	d.call++
	needs := kernels.Needs{G: true, R: true, T: true, Tally: name != "Gram"}
	note := func(name string, panels []kernels.Panel) {
		x := traceOp{name: name, call: call}
		for x.lane < len(d.lanes)-1 && d.lane != &d.lanes[x.lane] {
			x.lane++
		}
		for _, p := range panels {
			x.pages.add(p)
		}
		d.add(d.stream, x)
	}
	run := func(s *batch) error {
		note(name, s.panels())
		return nil
	}
	if name != "Multiply" {
		return d.primitive(name, b, needs, name == "Cholesky", run)
	}
	return d.primitive(name, b, needs, false, run, func(s *batch) error {
		note("weigh", append(slices.Clone(s.R), s.T...))
		return nil
	})
}

// step queues the primitives of a p-step.
func (d *traced) step(b *kernels.Batch) error {
	for _, name := range tracedSteps {
		if err := d.run(name, b); err != nil {
			return err
		}
	}
	return nil
}

var tracedSteps = []string{"Gram", "Cholesky", "QR", "Jacobi", "Multiply"}

// tracedBatch makes a batch of pairs of block-columns of some width.
func tracedBatch(pairs [][2]int, width int) *kernels.Batch {
	b := &kernels.Batch{Tally: make([]kernels.Tally, len(pairs))}
	column := func(j int) kernels.Panel {
		p := kernels.Panel{M: 16, N: width, Ld: 16}
		p.Data = pageBase + kernels.Address(int64(j)*p.Bytes())
		return p
	}
	for i, p := range pairs {
		r := kernels.Panel{M: 2 * width, N: 2 * width, Ld: 2 * width}
		r.Data = pageBase + 1<<20 + kernels.Address(64*page*2*i)
		b.G = append(b.G, kernels.Pivot{P: column(p[0]), Q: column(p[1])})
		b.R, r.Data = append(b.R, r), r.Data+64*page
		b.T = append(b.T, r)
	}
	return b
}
