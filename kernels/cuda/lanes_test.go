package cuda

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"jmpi/kernels"
	"jmpi/kernels/kerneltest"
)

// queued is a part of a batch on a lane, and how many parts of each lane are done before it starts.
type queued struct {
	lane, number int
	before       [laneCount]int
	panels       []kernels.Panel
}

// history follows what claims lets the lanes wait for.
type history struct {
	claims claims
	known  [laneCount][laneCount]int // of each lane, what is done before its next part
	count  [laneCount]int
	all    []queued
	waits  int
}

func (h *history) add(t *testing.T, parts []*batch) {
	t.Helper()
	w, known := h.claims.claim(parts), h.known
	for i := range w {
		for j, waits := range w[i] {
			if !waits {
				continue
			}
			h.waits++
			known[i][j] = max(known[i][j], h.count[j])
			for k, done := range h.known[j] {
				known[i][k] = max(known[i][k], done)
			}
		}
	}
	h.known = known
	for i, p := range parts {
		x := queued{lane: i, number: h.count[i], before: h.known[i], panels: p.panels()}
		h.count[i]++
		h.known[i][i] = h.count[i]
		for _, y := range h.all {
			if y.lane != i && x.before[y.lane] <= y.number && touch(x.panels, y.panels) {
				t.Fatalf("part %d of lane %d does not wait for part %d of lane %d", x.number, i, y.number, y.lane)
			}
		}
		h.all = append(h.all, x)
	}
}

func touch(a, b []kernels.Panel) bool {
	return slices.ContainsFunc(a, func(x kernels.Panel) bool {
		return slices.ContainsFunc(b, func(y kernels.Panel) bool { return overlap(x, y) })
	})
}

// columns returns block-column j of a matrix at some address.
func columns(at kernels.Address, width, j int) kernels.Panel {
	p := kernels.Panel{M: 10, N: width, Ld: 12}
	p.Data = at + kernels.Address(int64(j)*p.Bytes())
	return p
}

// cutBatch makes a batch of pairs of block-columns, in parts.
func cutBatch(pairs [][2]int, width, parts int) (list []*batch) {
	b := &kernels.Batch{}
	for i, p := range pairs {
		b.G = append(b.G, kernels.Pivot{P: columns(1<<20, width, p[0]), Q: columns(1<<20, width, p[1])})
		b.R = append(b.R, columns(1<<30, 4, i))
	}
	n := len(pairs)
	for i := range parts {
		list = append(list, &batch{Batch: part(b, n*i/parts, n*(i+1)/parts)})
	}
	return list
}

// Whatever the batches are, what has a panel comes after what had it before, also where the panels are of
// other widths than before.
func TestLanesWaitForPanels(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		h := &history{}
		for range 30 {
			width := 4
			if rnd.IntN(8) == 0 {
				width = 6
			}
			order, n := rnd.Perm(16), 1+rnd.IntN(8)
			var pairs [][2]int
			for i := range n {
				pairs = append(pairs, [2]int{order[2*i], order[2*i+1]})
			}
			h.add(t, cutBatch(pairs, width, 1+rnd.IntN(min(n, laneCount))))
		}
	}
}

// In a sweep of the default strategy lanes meet twice, and once before the next, not in every p-step.
func TestLanesMeetSeldom(t *testing.T) {
	const columns = 64
	h := &history{}
	for sweep := range 2 {
		h.waits = 0
		for j := columns - 1; j > 0; j-- {
			h.add(t, cutBatch(pairsOf(columns, j), 4, 2))
		}
		if want := 4 + 2*sweep; h.waits != want {
			t.Errorf("sweep %d: %d waits of a lane in %d p-steps, want %d", sweep, h.waits, columns-1, want)
		}
	}
}

// A sweep in which the host never waits gives the bits of one in which it waits after each p-step, and of one
// with other work between the primitives.
func TestLanesSameBits(t *testing.T) {
	d := mustOpen(t, 0)
	const m, width, columns = 300, 12, 128
	if d.parts(columns/2, 2*width, false) < 2 {
		t.Fatal("too few problems to be spread over lanes")
	}
	s := newBlocks(t, d, kernels.Float64, width, columns, m, width*columns)
	s.option.Schedule = kerneltest.RoundRobin(2 * width)
	other := s.panel(t, 50, 50)
	sweep := func(between func()) [][]float64 {
		must(t, d.Write(s.g, normal(m, width*columns), m))
		must(t, d.Identity(s.v, 0))
		counts := s.steps(t, never, between)
		return [][]float64{counts, download(t, d, s.g), download(t, d, s.v)}
	}
	want := sweep(func() { must(t, d.Sync()) })
	for run := range 3 {
		kerneltest.SameBits(t, fmt.Sprint("run ", run), sweep(func() {}), want)
	}
	kerneltest.SameBits(t, "other work between", sweep(func() { must(t, d.Identity(other, 0)) }), want)
}

// countsOf returns what the problems of batches have counted.
func countsOf(batches []*kernels.Batch) (counts []float64) {
	for _, b := range batches {
		for _, x := range b.Tally {
			counts = append(counts, float64(x.Rotations), float64(x.Proper), float64(x.Changed))
		}
	}
	return counts
}

// blocks are a matrix on a GPU as block-columns, with some rows of V, and what a sweep over them needs.
type blocks struct {
	pivots
	element             kernels.Element
	width, columns, all int           // of a block-column; block-columns; all columns
	g, v, factors       kernels.Panel // R and T of each problem
	norms, after        kernels.Panel // with float32
}

func newBlocks(t *testing.T, d *device, e kernels.Element, width, columns, m, rows int) *blocks {
	s := &blocks{pivots: pivots{d: d}, element: e, width: width, columns: columns, all: width * columns}
	s.option = kernels.JacobiOptions{Schedule: kerneltest.ReverseRowCyclic(2 * width), MaxSweeps: 1}
	s.g, s.v = s.panelOf(t, m, s.all, e), s.panelOf(t, rows, s.all, e)
	s.factors = s.panelOf(t, 2*width, 2*s.all, e)
	s.norms, s.after = s.panel(t, s.all, 1), s.panel(t, s.all, 1)
	return s
}

// batch is p-step j of a sweep.
func (s *blocks) batch(j int, quiet bool) *kernels.Batch {
	b := &kernels.Batch{Type: s.element, Quiet: quiet, Tally: make([]kernels.Tally, s.columns/2)}
	if s.element == kernels.Float32 {
		b.Single = &kernels.Single{Cosine: 3e-6}
	}
	w := s.width
	for l, p := range pairsOf(s.columns, j) {
		pair := func(part func(int, int) kernels.Panel) kernels.Pivot {
			return kernels.Pivot{P: part(w*p[0], w*(p[0]+1)), Q: part(w*p[1], w*(p[1]+1))}
		}
		b.G, b.V = append(b.G, pair(s.g.Columns)), append(b.V, pair(s.v.Columns))
		b.R = append(b.R, s.factors.Columns(4*w*l, 4*w*l+2*w))
		b.T = append(b.T, s.factors.Columns(4*w*l+2*w, 4*w*l+4*w))
		if b.Single != nil {
			b.Single.Norms = append(b.Single.Norms, pair(s.norms.Rows))
			b.Single.Factors = append(b.Single.Factors, s.after.Rows(2*w*l, 2*w*(l+1)))
		}
	}
	return b
}

// fill sets G, V and the norms.
func (s *blocks) fill(t *testing.T) {
	x, norms := normal(s.g.M, s.all), make([]float64, s.all)
	for j := range norms {
		norms[j] = 1
		if c := x[j*s.g.M : (j+1)*s.g.M]; s.element == kernels.Float32 {
			norms[j] = kernels.Norm2(c)
			for i := range c {
				c[i] /= norms[j]
			}
		}
	}
	wide := s.panel(t, s.g.M, s.all)
	must(t, s.d.Write(wide, x, s.g.M))
	must(t, s.d.Convert(s.g, wide))
	must(t, s.d.Convert(s.v, wide.Rows(0, s.v.M)))
	must(t, s.d.Write(s.norms, norms, s.all))
}

// steps queues a sweep, waits for it and returns what it has counted. between is called after each primitive.
func (s *blocks) steps(t *testing.T, quiet func(step int) bool, between func()) []float64 {
	var batches []*kernels.Batch
	for j := s.columns - 1; j > 0; j-- {
		b := s.batch(j, quiet(j))
		for _, f := range s.primitives() {
			must(t, f(b))
			between()
		}
		batches = append(batches, b)
	}
	must(t, s.d.Sync())
	return countsOf(batches)
}

func never(int) bool { return false }

// sweep fills the matrix and returns what a sweep makes of it.
func (s *blocks) sweep(t *testing.T, quiet func(step int) bool, between func()) [][]float64 {
	s.fill(t)
	counts := s.steps(t, quiet, between)
	return [][]float64{counts, s.wide(t, s.g), s.wide(t, s.v), download(t, s.d, s.norms)}
}

// openTurning opens a GPU on which the lanes of such batches take turns, or skips the test.
func openTurning(t *testing.T, e kernels.Element) *blocks {
	s := newBlocks(t, mustOpen(t, 0), e, 64, 64, 700, 300)
	var parts []*batch
	must(t, s.d.bound("send", func() (err error) {
		parts, err = s.d.send(s.batch(1, false), true, true)
		return err
	}))
	must(t, s.d.Sync())
	if len(parts) != 2 || parts[0].spared == 0 {
		t.Skipf("lanes of a batch in %s take no turns on %s", e, s.d.Describe().Name)
	}
	return s
}

// A sweep in which lanes take turns, and meet, gives the bits of one in which they take none, of one in which
// the host waits after each primitive, and of one of which some p-steps are quiet.
func TestTurnsSameBits(t *testing.T) {
	for _, e := range []kernels.Element{kernels.Float64, kernels.Float32} {
		t.Run(e.String(), func(t *testing.T) {
			s := openTurning(t, e)
			nothing := func() {}
			want := s.sweep(t, never, func() { must(t, s.d.Sync()) })
			for run := range 3 {
				kerneltest.SameBits(t, fmt.Sprint("turns, run ", run), s.sweep(t, never, nothing), want)
			}
			kerneltest.SameBits(t, "some quiet", s.sweep(t, func(step int) bool { return step%3 == 0 }, nothing), want)
			kerneltest.SameBits(t, "quiet", s.sweep(t, func(int) bool { return true }, nothing), want)
			s.d.turns.none = true
			kerneltest.SameBits(t, "no turns", s.sweep(t, never, nothing), want)
		})
	}
}

// What comes after a p-step finds its products, also those that are held.
func TestHeldIsFound(t *testing.T) {
	for _, e := range []kernels.Element{kernels.Float64, kernels.Float32} {
		t.Run(e.String(), func(t *testing.T) {
			s := openTurning(t, e)
			last := s.norms.Rows(s.all-s.width, s.all) // of the last problem, Multiply sets it with float32
			g := s.g.Columns(s.all-s.width, s.all)
			if e == kernels.Float64 {
				last = g
			}
			steps := func() {
				s.fill(t)
				for _, j := range []int{3, 2} {
					b := s.batch(j, false)
					for _, f := range s.primitives() {
						must(t, f(b))
					}
				}
			}
			steps()
			must(t, s.d.Sync())
			want := [][]float64{download(t, s.d, last), s.wide(t, g)}
			steps()
			if s.d.turns.held == nil {
				t.Fatal("nothing is held")
			}
			kerneltest.SameBits(t, "Read", [][]float64{download(t, s.d, last)}, want[:1])
			steps()
			kerneltest.SameBits(t, "another primitive", [][]float64{s.wide(t, g)}, want[1:])
			other := s.panelOf(t, g.M, g.N, e)
			steps()
			m, err := s.d.Mark()
			must(t, err)
			m, err = s.d.Bring([]kernels.Panel{other}, []kernels.Panel{g}, m)
			must(t, err)
			must(t, s.d.Follow(m))
			kerneltest.SameBits(t, "Bring", [][]float64{s.wide(t, other)}, want[1:])
			steps()
			must(t, s.d.Copy(other, g))
			kerneltest.SameBits(t, "Copy", [][]float64{s.wide(t, other)}, want[1:])
		})
	}
}
