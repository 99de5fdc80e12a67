package cuda

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
	"unsafe"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
	"jmpi/kernels/kerneltest"
)

// event marks a place in the device's queue.
type event uintptr

func (d *device) mark(t testing.TB) event {
	t.Helper()
	must(t, d.enter())
	defer d.leave()
	must(t, d.meet())
	var e event
	must(t, d.check("cuEventCreate", nvidia.Invoke(d.cuEventCreate, uintptr(unsafe.Pointer(&e)), 0)))
	must(t, d.check("cuEventRecord", nvidia.Invoke(d.cuEventRecord, uintptr(e), d.stream)))
	return e
}

// between returns the seconds between two events that the device has passed.
func (d *device) between(t testing.TB, from, to event) float64 {
	t.Helper()
	must(t, d.enter())
	defer d.leave()
	var ms float32
	must(t, d.check("cuEventElapsedTime", nvidia.Invoke(d.cuEventElapsedTime, uintptr(unsafe.Pointer(&ms)),
		uintptr(from), uintptr(to))))
	return float64(ms) / 1e3
}

// phases are the primitives of a step, in their order.
var phases = []string{"gram", "cholesky", "qr", "jacobi", "multiply"}

// primitives are those of a step, in their order.
func (p *pivots) primitives() []func(*kernels.Batch) error {
	d := p.d
	return []func(*kernels.Batch) error{d.Gram, d.Cholesky, d.QR,
		func(b *kernels.Batch) error { return d.Jacobi(b, p.option) }, d.Multiply}
}

// run queues a step with marks between the primitives, waits for it, and adds the seconds of each.
func (p *pivots) run(t testing.TB, seconds []float64) {
	d, b := p.d, &p.batch
	marks := []event{d.mark(t)}
	for i, f := range p.primitives() {
		if i == 3 && b.R[0].N > d.order() {
			must(t, d.Sync()) // instead of one level down, which this package knows nothing of
			for l := range b.Tally {
				b.Tally[l].Changed = 1
			}
			marks = append(marks, d.mark(t))
			continue
		}
		must(t, f(b))
		marks = append(marks, d.mark(t))
	}
	must(t, d.Sync())
	for i := range phases {
		seconds[i] += d.between(t, marks[i], marks[i+1])
	}
	must(t, d.enter())
	defer d.leave()
	for _, e := range marks {
		must(t, d.check("cuEventDestroy", nvidia.Invoke(d.cuEventDestroy, uintptr(e))))
	}
}

// square is an n×n matrix with V on a device, as pivots of narrow block-columns of width w.
type square struct {
	pivots
	n, w int
	g, v kernels.Panel
	// the Gram matrices of the block-columns, where they are kept
	grams kernels.Panel
}

func newSquare(t testing.TB, d *device, n, w int) *square {
	s := &square{pivots: pivots{d: d}, n: n, w: w}
	s.g, s.v = s.panel(t, n, n), s.panel(t, n, n)
	s.fill(t)
	problems := n / w / 2
	factors := s.panel(t, 2*w, problems*4*w)
	for i := range problems {
		f := factors.Columns(4*w*i, 4*w*(i+1))
		s.batch.R = append(s.batch.R, f.Columns(0, 2*w))
		s.batch.T = append(s.batch.T, f.Columns(2*w, 4*w))
	}
	s.batch.G, s.batch.V = make([]kernels.Pivot, problems), make([]kernels.Pivot, problems)
	s.batch.Tally = make([]kernels.Tally, problems)
	s.option = kernels.JacobiOptions{Schedule: kerneltest.ReverseRowCyclic(2 * w), MaxSweeps: 1}
	return s
}

func (s *square) fill(t testing.TB) {
	must(t, s.d.Write(s.g, normal(s.n, s.n), s.n))
	must(t, s.d.Identity(s.v, 0))
}

// perturb makes every T a matrix near the identity.
func (s *square) perturb(t testing.TB) {
	k := 2 * s.w
	x := normal(k, k)
	for i := range x {
		x[i] *= 1e-3
		if i%(k+1) == 0 {
			x[i] = 1
		}
	}
	for _, p := range s.batch.T {
		must(t, s.d.Write(p, x, k))
	}
}

// keep keeps the Gram matrices of block-columns from now on, and visits pairs across alone.
func (s *square) keep(t testing.TB) {
	s.grams = s.panel(t, s.w, s.n)
	s.batch.Grams = make([]kernels.Pivot, len(s.batch.G))
	s.batch.Across = slices.Repeat([]int{s.w}, len(s.batch.G))
	schedule := *s.option.Schedule // whose first w p-steps have these pairs
	schedule.Pairs = schedule.Pairs[:s.w*2*s.w]
	s.option.Schedule = &schedule
}

// choose makes the batch that of the p-step with distance j: block-columns i and i⊕j.
func (s *square) choose(j int) {
	at := 0
	for i := range s.n / s.w {
		if l, r := i*s.w, (i^j)*s.w; l < r {
			s.batch.G[at] = kernels.Pivot{P: s.g.Columns(l, l+s.w), Q: s.g.Columns(r, r+s.w)}
			s.batch.V[at] = kernels.Pivot{P: s.v.Columns(l, l+s.w), Q: s.v.Columns(r, r+s.w)}
			if s.batch.Grams != nil {
				s.batch.Grams[at] = kernels.Pivot{P: s.grams.Columns(l, l+s.w), Q: s.grams.Columns(r, r+s.w)}
			}
			at++
		}
	}
}

// BenchmarkStep times the primitives of the first p-steps of an n×n matrix with V, by events, as milliseconds
// a step and as TFLOP/s: a Gram matrix is m·k² operations, a product with G and V 4·m·k². As in most p-steps
// of a sweep, what is known of Gram matrices is kept, and pairs across are visited alone; or, with `all`,
// neither. Run it with -test.benchtime 20x or so.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{2048, 4096, 8192} {
		for _, c := range []struct {
			name string
			w    int
			keep bool
		}{{"w=32/all", 32, false}, {"w=64/all", 64, false}, {"w=64", 64, true}, {"w=128/all", 128, false}} {
			b.Run(fmt.Sprintf("n=%d/%s", n, c.name), func(b *testing.B) {
				d, w := mustOpen(b, 0), c.w
				s := newSquare(b, d, n, w)
				if c.keep {
					s.keep(b)
				}
				seconds := make([]float64, len(phases))
				if 2*w > d.order() {
					s.perturb(b)
				}
				s.choose(n/w - 1)
				s.run(b, make([]float64, len(phases)))
				steps := 0
				for b.Loop() {
					steps++
					s.choose(n/w - 1 - steps%(n/w-1))
					s.run(b, seconds)
				}
				for i, name := range phases {
					b.ReportMetric(seconds[i]/float64(steps)*1e3, name+"-ms")
				}
				k, m := float64(2*w), float64(n)
				problems := float64(n / w / 2)
				b.ReportMetric(problems*m*k*k/(seconds[0]/float64(steps))/1e12, "gram-TFLOP/s")
				b.ReportMetric(problems*4*m*k*k/(seconds[4]/float64(steps))/1e12, "multiply-TFLOP/s")
			})
		}
	}
}

// BenchmarkQR times the primitive QR with every problem, and with one problem, broken.
func BenchmarkQR(b *testing.B) {
	for _, broken := range []int{1, 64} {
		b.Run(fmt.Sprintf("n=8192/w=64/broken=%d", broken), func(b *testing.B) {
			d := mustOpen(b, 0)
			s := newSquare(b, d, 8192, 64)
			s.choose(127)
			var seconds float64
			for b.Loop() {
				for i := range broken {
					s.batch.Tally[i].Broken = 1
				}
				from := d.mark(b)
				must(b, d.QR(&s.batch))
				to := d.mark(b)
				must(b, d.Sync())
				seconds += d.between(b, from, to)
			}
			b.ReportMetric(seconds/float64(b.N)*1e3, "qr-ms")
		})
	}
}

// BenchmarkSVD runs the block-oriented method with V on a Gaussian matrix until a sweep has no proper
// rotation. It reports the seconds of the whole, those of each primitive (by events), the sweeps, and the
// departures from orthogonality ‖UᵀU − I‖_F/(n·2⁻⁵²) and the same of V.
func BenchmarkSVD(b *testing.B) {
	for _, n := range []int{1024, 2048, 4096, 8192} {
		for _, w := range []int{32, 64} {
			b.Run(fmt.Sprintf("n=%d/w=%d", n, w), func(b *testing.B) {
				d := mustOpen(b, 0)
				s := newSquare(b, d, n, w)
				seconds := make([]float64, len(phases))
				var wall float64
				var sweeps int
				for b.Loop() {
					s.fill(b)
					start := time.Now()
					sweeps = s.solve(b, seconds)
					wall += time.Since(start).Seconds()
				}
				b.ReportMetric(wall/float64(b.N), "s")
				for i, name := range phases {
					b.ReportMetric(seconds[i]/float64(b.N), name+"-s")
				}
				b.ReportMetric(float64(sweeps), "sweeps")
				b.ReportMetric(s.departure(b, s.g), "orthU")
				b.ReportMetric(s.departure(b, s.v), "orthV")
			})
		}
	}
}

// solve runs sweeps until one has no proper rotation, and returns their number.
func (s *square) solve(b *testing.B, seconds []float64) (sweeps int) {
	for proper := int64(1); proper > 0; sweeps++ {
		if sweeps == 30 {
			b.Fatalf("%d proper rotations in sweep 30", proper)
		}
		proper = 0
		for j := s.n/s.w - 1; j > 0; j-- {
			s.choose(j)
			s.run(b, seconds)
			for _, t := range s.batch.Tally {
				proper += t.Proper
			}
		}
	}
	return sweeps
}

// departure returns ‖XᵀX − I‖_F/(n·2⁻⁵²) for a panel whose columns are normalised before.
func (s *square) departure(b *testing.B, x kernels.Panel) float64 {
	n := s.n
	r := s.panel(b, n, n)
	one := &kernels.Batch{G: []kernels.Pivot{{P: x.Columns(0, n/2), Q: x.Columns(n/2, n)}},
		R: []kernels.Panel{r}}
	must(b, s.d.Gram(one))
	h := download(b, s.d, r)
	var sum float64
	for j := range n {
		for i := range j {
			c := h[i+j*n] / math.Sqrt(h[i+i*n]) / math.Sqrt(h[j+j*n])
			sum += 2 * c * c
		}
		if x == s.v {
			sum += (h[j+j*n] - 1) * (h[j+j*n] - 1)
		}
	}
	return math.Sqrt(sum) / (float64(n) * 0x1p-52)
}

// BenchmarkProducts times Gram and Multiply of pivots of 128 columns, without V and with it, as milliseconds
// and TFLOP/s: a Gram matrix is m·k² operations, a product with G or V 2·m·k². changed=1:8 means that an
// eighth of the problems is multiplied.
func BenchmarkProducts(b *testing.B) {
	for _, n := range []int{2048, 4096, 8192} {
		for _, c := range []struct {
			name string
			v    bool
			each int
		}{{"g", false, 1}, {"gv", true, 1}, {"g/changed=1:8", false, 8}} {
			b.Run(fmt.Sprintf("n=%d/%s", n, c.name), func(b *testing.B) {
				d := mustOpen(b, 0)
				s := newSquare(b, d, n, 64)
				s.perturb(b)
				s.choose(n/s.w - 1)
				if !c.v {
					s.batch.V = nil
				}
				changed := 0
				for i := range s.batch.Tally {
					if i%c.each == 0 {
						s.batch.Tally[i].Changed = 1
						changed++
					}
				}
				var gram, multiply float64
				for b.Loop() {
					g, m := s.products(b)
					gram, multiply = gram+g, multiply+m
				}
				work := 1e-12 * float64(b.N) * float64(n) * 128 * 128
				b.ReportMetric(gram/float64(b.N)*1e3, "gram-ms")
				b.ReportMetric(multiply/float64(b.N)*1e3, "multiply-ms")
				b.ReportMetric(float64(len(s.batch.R))*work/gram, "gram-TFLOP/s")
				if c.v {
					work *= 2
				}
				b.ReportMetric(float64(changed)*2*work/multiply, "multiply-TFLOP/s")
			})
		}
	}
}

// products returns the seconds of Gram and of Multiply. Some work goes before, so that the device does not
// wait for the host.
func (s *pivots) products(t testing.TB) (gram, multiply float64) {
	d := s.d
	for range 3 {
		must(t, d.Multiply(&s.batch))
		must(t, d.Gram(&s.batch))
	}
	from := d.mark(t)
	must(t, d.Multiply(&s.batch))
	middle := d.mark(t)
	must(t, d.Gram(&s.batch))
	to := d.mark(t)
	must(t, d.Sync())
	gram, multiply = d.between(t, middle, to), d.between(t, from, middle)
	must(t, d.enter())
	defer d.leave()
	for _, e := range []event{from, middle, to} {
		must(t, d.check("cuEventDestroy", nvidia.Invoke(d.cuEventDestroy, uintptr(e))))
	}
	return gram, multiply
}
