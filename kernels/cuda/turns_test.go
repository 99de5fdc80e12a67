package cuda

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"jmpi/kernels"
)

// pairsOf returns the pairs of p-step j of the default strategy.
func pairsOf(columns, j int) (pairs [][2]int) {
	for i := range columns {
		if i < i^j {
			pairs = append(pairs, [2]int{i, i ^ j})
		}
	}
	return pairs
}

// Whatever is queued, what touches memory comes after what touched it before, and nothing is queued twice or
// never.
func TestTurnsKeepTheOrder(t *testing.T) {
	const columns = 72
	turns := 0
	for seed := range uint64(60) {
		rnd, d, want := rand.New(rand.NewPCG(seed, 2)), openTraced(t), 0
		queue := func(b *kernels.Batch) {
			names := tracedSteps
			if rnd.IntN(4) == 0 { // any primitives
				names = nil
				for range rnd.IntN(4) {
					names = append(names, tracedSteps[rnd.IntN(len(tracedSteps))])
				}
			}
			for _, name := range names {
				must(t, d.run(name, b))
				want += len(d.queue.parts)
				if name == "Multiply" {
					want += len(d.queue.parts)
				}
				if d.turns.held != nil {
					turns++
				}
			}
		}
		var before *kernels.Batch
		for range 12 {
			width, order, n := 64, rnd.Perm(columns), 32
			switch rnd.IntN(6) {
			case 0:
				width = 48
			case 1:
				width = 32 // no turns
			}
			if rnd.IntN(4) == 0 {
				n = 1 + rnd.IntN(columns/2)
			}
			pairs := pairsOf(columns-columns%64, 1+rnd.IntN(63))[:min(n, 32)]
			if rnd.IntN(2) == 0 {
				pairs = nil
				for i := range n {
					pairs = append(pairs, [2]int{order[2*i], order[2*i+1]})
				}
			}
			b := tracedBatch(pairs, width)
			b.Quiet = rnd.IntN(6) == 0
			if before != nil && rnd.IntN(6) == 0 {
				b = before
			}
			queue(b)
			before = b
			switch rnd.IntN(12) {
			case 0:
				must(t, d.Sync())
			case 1:
				_, err := d.Mark()
				must(t, err)
			}
		}
		must(t, d.Sync())
		d.check(t, want)
	}
	if turns < 60 {
		t.Errorf("products were held %d times", turns)
	}
}

// check compares the order of all that was queued with that of the calls. want: runs of primitives.
func (d *traced) check(t *testing.T, want int) {
	t.Helper()
	var all []*traceOp
	for i := range d.done {
		if d.done[i].name != "copy" {
			all = append(all, &d.done[i])
		}
	}
	if len(all) != want {
		t.Fatalf("%d parts were queued, want %d", len(all), want)
	}
	for _, x := range all {
		for _, y := range all {
			if y.call < x.call && !x.follows(y) && x.pages.touch(&y.pages) {
				t.Fatalf("%s of call %d on lane %d does not wait for %s of call %d on lane %d", x.name, x.call, x.lane,
					y.name, y.call, y.lane)
			}
		}
	}
}

// Where lanes stay among themselves products follow each other, beside Jacobi of the other lane. Where they
// meet, and where lanes take no turns, all is as it is without turns.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		problems int
		none     bool
		turns    bool
	}{{32, false, true}, {32, true, false}, {64, false, false}} {
		d := openTraced(t)
		d.turns.none = c.none
		const steps = 6
		for j := range steps {
			must(t, d.step(tracedBatch(pairsOf(2*c.problems, 1+j), 64)))
		}
		must(t, d.Sync())
		at := map[string]*traceOp{}
		for i, x := range d.done {
			if x.name != "copy" {
				at[fmt.Sprint(x.name, x.call/len(tracedSteps), x.lane)] = &d.done[i]
			}
		}
		for j := 1; j < steps-1; j++ {
			of := func(name string, step, lane int) *traceOp {
				x := at[fmt.Sprint(name, step, lane)]
				if x == nil {
					t.Fatalf("%s of p-step %d is not on lane %d", name, step, lane)
				}
				return x
			}
			first, second, next := of("Multiply", j, 0), of("Multiply", j, 1), of("Multiply", j+1, 0)
			for _, x := range [][2]*traceOp{{second, first}, {next, second}} {
				if x[0].follows(x[1]) != c.turns {
					t.Errorf("%+v: p-step %d: %s on lane %d follows %s on lane %d: %t", c, j, x[0].name, x[0].lane,
						x[1].name, x[1].lane, !c.turns)
				}
			}
			// The device is told of the Gram matrices first.
			if gram := of("Gram", j+1, 0); (gram.order < second.order) != c.turns ||
				first.order < of("Gram", j, 1).order {
				t.Errorf("%+v: p-step %d: products are queued before the other lane's Gram matrices", c, j)
			}
			for _, x := range [][2]*traceOp{{second, of("Jacobi", j+1, 0)}, {first, of("Jacobi", j, 1)},
				{of("weigh", j, 0), of("Gram", j, 1)}, {of("weigh", j, 1), of("Gram", j+1, 0)},
				{first, of("Gram", j, 1)}} {
				if x[0].follows(x[1]) || x[1].follows(x[0]) {
					t.Errorf("%+v: p-step %d: %s is not beside %s of the other lane", c, j, x[0].name, x[1].name)
				}
			}
		}
	}
}

// What is held is queued by whatever comes next, and by whatever waits.
func TestHeldIsQueued(t *testing.T) {
	small := kernels.Panel{M: 16, N: 1, Ld: 16, Data: pageBase}
	for _, c := range []struct {
		name string
		run  func(d *traced, a kernels.Address) error
	}{
		{"Sync", func(d *traced, _ kernels.Address) error { return d.Sync() }},
		{"Mark", func(d *traced, _ kernels.Address) error { _, err := d.Mark(); return err }},
		{"Follow", func(d *traced, _ kernels.Address) error { return d.Follow() }},
		{"Alloc", func(d *traced, _ kernels.Address) error { _, err := d.Alloc(1); return err }},
		{"Free", func(d *traced, a kernels.Address) error { return d.Free(a) }},
		{"Read", func(d *traced, _ kernels.Address) error { return d.Read(make([]float64, 16), 16, small) }},
		{"Write", func(d *traced, _ kernels.Address) error { return d.Write(small, make([]float64, 16), 16) }},
		{"Jacobi", func(d *traced, _ kernels.Address) error { return d.run("Jacobi", d.queue.last) }},
		{"Gram of a small batch", func(d *traced, _ kernels.Address) error {
			return d.run("Gram", tracedBatch(pairsOf(8, 1), 64))
		}},
		{"Gram of small pivots", func(d *traced, _ kernels.Address) error {
			return d.run("Gram", tracedBatch(pairsOf(64, 1), 32))
		}},
		{"Gram of a quiet batch", func(d *traced, _ kernels.Address) error {
			b := tracedBatch(pairsOf(64, 1), 64)
			b.Quiet = true
			return d.run("Gram", b)
		}},
		{"the next Gram", func(d *traced, _ kernels.Address) error {
			return d.run("Gram", tracedBatch(pairsOf(64, 2), 64))
		}},
		{"Gram where lanes meet", func(d *traced, _ kernels.Address) error {
			return d.run("Gram", tracedBatch(pairsOf(64, 32), 64))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := openTraced(t)
			a, err := d.Alloc(1)
			must(t, err)
			must(t, d.step(tracedBatch(pairsOf(64, 1), 64)))
			before := len(d.done)
			if d.turns.held == nil {
				t.Fatal("nothing is held")
			}
			must(t, c.run(d, a))
			var product *traceOp
			for i, x := range d.done[before:] {
				switch {
				case x.name == "Multiply":
					if product != nil || x.lane != 1 {
						t.Errorf("queued again, or on lane %d", x.lane)
					}
					product = &d.done[before+i]
				case x.stream == tracedMover && (product == nil || !x.follows(product)):
					t.Error("the copy does not wait for it")
				}
			}
			if product == nil || d.turns.held != nil {
				t.Error("still held")
			}
			if d.lane != &d.lanes[0] || d.urgent {
				t.Error("the next kernel would be queued on the second lane, or with priority")
			}
		})
	}
}

// Products that cannot be queued when it is their turn fail the call that queues them, which says so. Then
// they are gone.
func TestHeldFails(t *testing.T) {
	wrong := errors.New("wrong")
	for name, run := range map[string]func(d *traced) error{
		"Sync": func(d *traced) error { return d.Sync() },
		"Gram": func(d *traced) error { return d.run("Gram", d.queue.last) },
		"Read": func(d *traced) error {
			return d.Read(make([]float64, 1), 1, kernels.Panel{M: 1, N: 1, Ld: 1, Data: pageBase})
		},
	} {
		d := openTraced(t)
		must(t, d.step(tracedBatch(pairsOf(64, 1), 64)))
		d.turns.held = func() error { return wrong }
		err := run(d)
		if !errors.Is(err, wrong) || !strings.Contains(err.Error(), "cuda: "+name) ||
			!strings.Contains(err.Error(), "Multiply") {
			t.Errorf("%s: error %v", name, err)
		}
		if err := run(d); err != nil {
			t.Errorf("%s again: %v", name, err)
		}
	}
}

// How many parts a batch has, whether they take turns, and how many blocks form their products.
func TestWhoTakesTurns(t *testing.T) {
	for _, c := range []struct {
		name          string
		problems      int
		width         int
		change        func(*device, *kernels.Batch)
		parts, blocks int // blocks of the products of the first part
	}{
		{"two GPUs, n = 8192", 32, 64, nil, 2, 100},
		{"one GPU, n = 8192", 64, 64, nil, 2, 132},
		{"n = 4096 on two GPUs", 16, 64, nil, 1, 132},
		{"one problem too many", 33, 64, nil, 2, 132},
		{"other widths", 32, 40, nil, 2, 100},
		{"products of short blocks", 32, 32, nil, 2, 132},
		{"quiet", 32, 64, func(_ *device, b *kernels.Batch) { b.Quiet = true }, 1, 132},
		{"float32", 32, 64, toSingle, 2, 100},
		{"float32, small", 32, 32, toSingle, 2, 100},
		{"many, quiet", 64, 64, func(_ *device, b *kernels.Batch) { b.Quiet = true }, 2, 132},
		{"float32, quiet", 63, 64, func(d *device, b *kernels.Batch) {
			toSingle(d, b)
			b.Quiet = true
		}, 1, 132},
		{"float32 without tensor cores", 32, 64, func(d *device, b *kernels.Batch) {
			toSingle(d, b)
			d.plain = true
		}, 2, 132},
		{"few multiprocessors", 32, 64, func(d *device, _ *kernels.Batch) { d.processors = 108 }, 2, 108},
		{"no turns", 32, 64, func(d *device, _ *kernels.Batch) { d.turns.none = true }, 2, 132},
	} {
		d := openTraced(t)
		b := tracedBatch(pairsOf(2*((c.problems+31)/32*32), 1)[:c.problems], c.width)
		if c.change != nil {
			c.change(d.device, b)
		}
		parts, err := d.send(b, true, true)
		must(t, err)
		if got := d.productBlocks(parts[0], 1<<20); len(parts) != c.parts || got != c.blocks {
			t.Errorf("%s: %d parts, products of %d blocks, want %d and %d", c.name, len(parts), got, c.parts, c.blocks)
		}
		if got := d.productBlocks(parts[0], 7); got != 7 {
			t.Errorf("%s: %d blocks for 7 tiles", c.name, got)
		}
	}
}

func toSingle(_ *device, b *kernels.Batch) {
	b.Type, b.Single = kernels.Float32, &kernels.Single{Cosine: 3e-6}
}

// A batch that is like the one before but for what is expected of it is cut anew.
func TestQuietBatchIsCutAnew(t *testing.T) {
	d := openTraced(t)
	b := tracedBatch(pairsOf(64, 1), 64)
	for _, quiet := range []bool{false, true, false} {
		b.Quiet = quiet
		parts, err := d.send(b, false, false)
		must(t, err)
		if want := map[bool]int{false: 2, true: 1}[quiet]; len(parts) != want {
			t.Errorf("quiet %t: %d parts, want %d", quiet, len(parts), want)
		}
	}
}
