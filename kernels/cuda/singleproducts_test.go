package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"jmpi/kernels"
	"jmpi/kernels/kerneltest"
)

// TestSingleProducts tests the products of float32, with tensor cores and without.
func TestSingleProducts(t *testing.T) { singleProducts(t, mustOpen(t, 0)) }

func singleProducts(t *testing.T, d *device) {
	for _, d.plain = range []bool{false, true} {
		t.Run(fmt.Sprint("Gram plain=", d.plain), func(t *testing.T) { kerneltest.SingleGram(t, d) })
		t.Run(fmt.Sprint("Multiply plain=", d.plain), func(t *testing.T) { kerneltest.SingleMultiply(t, d) })
	}
	d.plain = false
}

// singles is a batch of float32 on a device, of columns of length 1.
type singles struct {
	pivots
	a [][]float64 // [P Q] of each problem
}

func (p *pivots) singlePanel(t testing.TB, m, n int) kernels.Panel {
	t.Helper()
	a := p.panel(t, m, (n+1)/2)
	a.N, a.Type = n, kernels.Float32
	return a
}

// put fills a panel of float32 with numbers, which it rounds.
func (p *pivots) put(t testing.TB, a kernels.Panel, x []float64) {
	t.Helper()
	for i := range x {
		x[i] = float64(float32(x[i]))
	}
	wide := p.panel(t, a.M, a.N)
	must(t, p.d.Write(wide, x, a.M))
	must(t, p.d.Convert(a, wide))
}

// get returns the elements of a panel of float32.
func (p *pivots) get(t testing.TB, a kernels.Panel) []float64 {
	t.Helper()
	wide := p.panel(t, a.M, a.N)
	must(t, p.d.Convert(wide, a))
	return download(t, p.d, wide)
}

// newSingles makes pivots of given shapes, whose columns lie at multiples of 16 bytes.
func newSingles(t testing.TB, d *device, shapes []shape) *singles {
	t.Helper()
	s := &singles{pivots: pivots{d: d}}
	b := &s.batch
	b.Type, b.Single = kernels.Float32, &kernels.Single{Cosine: 3e-6}
	for _, x := range shapes {
		k := x.p + x.q
		a := normal(x.m, k)
		for j := range k {
			c := a[j*x.m : (j+1)*x.m]
			f := 1 / kernels.Norm2(c)
			for i := range c {
				c[i] *= f
			}
		}
		g, norms := s.singlePanel(t, x.m, k), s.panel(t, k, 1)
		s.put(t, g, a)
		s.a = append(s.a, a)
		must(t, d.Write(norms, normal(k, 1), k))
		b.G = append(b.G, kernels.Pivot{P: g.Columns(0, x.p), Q: g.Columns(x.p, k)})
		b.Single.Norms = append(b.Single.Norms, kernels.Pivot{P: norms.Rows(0, x.p), Q: norms.Rows(x.p, k)})
		b.Single.Factors = append(b.Single.Factors, s.panel(t, k, 1))
		b.R, b.T = append(b.R, s.singlePanel(t, k, k)), append(b.T, s.singlePanel(t, k, k))
	}
	b.Tally = make([]kernels.Tally, len(shapes))
	for i := range b.Tally {
		b.Tally[i].Changed = 1
	}
	return s
}

var singleShapes = []shape{{8192, 64, 64}, {4096, 64, 64}, {5000, 64, 63}, {4096, 32, 32}, {130, 20, 13},
	{2048, 128, 128}, {1777, 100, 101}, {900, 200, 188}}

// TestSingleErrors tests the errors of Gram and Multiply where columns lie at multiples of 16 bytes, for many
// rows, against float64. A Gram element errs by less than a short sum of float32.
func TestSingleErrors(t *testing.T) {
	d := mustOpen(t, 0)
	for _, plain := range []bool{false, true} {
		for _, x := range singleShapes {
			d.plain = plain
			s := newSingles(t, d, []shape{x})
			must(t, d.Gram(&s.batch))
			gram := s.gramErrors(t, x)
			far := s.multiplyErrors(t, x, 1)
			close := s.multiplyErrors(t, x, 1e-3)
			t.Logf("plain=%t, %v, errors in 2⁻²⁴: Gram, mean of the diagonal %.2f, else max %.2f rms %.3f",
				plain, x, gram[0], gram[1], gram[2])
			t.Logf("Multiply max %.2f rms %.3f shorter by %.2f, near the identity max %.2f rms %.3f", far[0], far[1],
				far[2], close[0], close[1])
			if !(math.Abs(gram[0]) < 6 && gram[1] < 2 && far[0] < 64 && far[1] < 5 && close[1] < 1) {
				t.Errorf("plain=%t, %v: errors too large", plain, x)
			}
		}
	}
}

// gramErrors returns the mean error of the diagonal, and the largest and the root mean square beside it.
func (s *singles) gramErrors(t *testing.T, x shape) (e [3]float64) {
	k := x.p + x.q
	h, count := s.get(t, s.batch.R[0]), 0
	for j := range k {
		for i := range j + 1 {
			if h[i+j*k] != h[j+i*k] {
				t.Fatalf("%v: elements (%d,%d) and (%d,%d) differ", x, i, j, j, i)
			}
			if i != j && (i+j)%7 != 0 {
				continue
			}
			err := (h[i+j*k] - dot(s.a[0][i*x.m:(i+1)*x.m], s.a[0][j*x.m:(j+1)*x.m])) * 0x1p24
			if i == j {
				e[0] += err / float64(k)
				continue
			}
			e[1], e[2] = max(e[1], math.Abs(err)), e[2]+err*err
			count++
		}
	}
	e[2] = math.Sqrt(e[2] / float64(max(1, count)))
	return e
}

// multiplyErrors multiplies G by an orthogonal matrix that is so far from the identity, and returns
// the largest error relative to the largest element, its root mean square, and by how much columns
// become shorter.
func (s *singles) multiplyErrors(t *testing.T, x shape, far float64) (e [3]float64) {
	k, d := x.p+x.q, s.d
	tr := rotation(k, far)
	s.put(t, s.batch.T[0], tr)
	id := make([]float64, k*k)
	for i := range k {
		id[i*(k+1)] = 1
	}
	s.put(t, s.batch.R[0], id)
	must(t, d.Sync())
	a := s.whole(t)
	must(t, d.Multiply(&s.batch))
	got := s.whole(t)
	size := 1 / math.Sqrt(float64(x.m))
	count := 0
	for j := 0; j < k; j += 5 {
		var before, after float64
		for i := range x.m {
			var want float64
			for l := range k {
				want += a[i+l*x.m] * tr[l+j*k]
			}
			err := (got[i+j*x.m] - want) / size * 0x1p24
			e[0], e[1] = max(e[0], math.Abs(err)), e[1]+err*err
			before += want * want
			after += got[i+j*x.m] * got[i+j*x.m]
			count++
		}
		e[2] += (1 - math.Sqrt(after/before)) * 0x1p24 / float64((k+4)/5)
	}
	e[1] = math.Sqrt(e[1] / float64(count))
	return e
}

func (s *singles) whole(t testing.TB) []float64 {
	return append(s.get(t, s.batch.G[0].P), s.get(t, s.batch.G[0].Q)...)
}

// rotation returns a product of random plane rotations by angles up to far·π, near the identity if
// far is small.
func rotation(k int, far float64) []float64 {
	rnd := rand.New(rand.NewPCG(1, uint64(k)))
	x := make([]float64, k*k)
	for i := range k {
		x[i*(k+1)] = 1
	}
	for p := range k {
		for q := p + 1; q < k; q++ {
			s, c := math.Sincos(far * math.Pi * (2*rnd.Float64() - 1))
			for i := range k {
				a, b := x[i+p*k], x[i+q*k]
				x[i+p*k], x[i+q*k] = c*a-s*b, s*a+c*b
			}
		}
	}
	return x
}

// TestSingleProductsSameBits compares Gram and Multiply of several problems with those of each
// alone, bit by bit.
func TestSingleProductsSameBits(t *testing.T) {
	d := mustOpen(t, 0)
	shapes := append([]shape{{300, 16, 16}, {1500, 17, 16}, {700, 1, 0}, {900, 50, 51}}, singleShapes[:5]...)
	for len(shapes) < 2*laneProblems { // two lanes
		shapes = append(shapes, shapes[len(shapes)%9])
	}
	run := func(shapes []shape) (out [][]float64) {
		s := newSingles(t, d, shapes)
		must(t, d.Gram(&s.batch))
		for i := range shapes {
			out = append(out, s.get(t, s.batch.R[i]))
			k := shapes[i].p + shapes[i].q
			s.put(t, s.batch.T[i], rotation(k, 1e-2))
		}
		must(t, d.Multiply(&s.batch))
		for i, g := range s.batch.G {
			out[i] = append(append(out[i], s.get(t, g.P)...), s.get(t, g.Q)...)
		}
		return out
	}
	want := run(shapes)
	kerneltest.SameBits(t, "again", run(shapes), want)
	for i := range 9 {
		kerneltest.SameBits(t, fmt.Sprint("problem ", i, " alone"), run(shapes[i:i+1]), want[i:i+1])
	}
}

// singleSquare is an n×n matrix of float32 as pivots of narrow block-columns of width w.
func singleSquare(t testing.TB, d *device, n, w int) *singles {
	t.Helper()
	s := &singles{pivots: pivots{d: d}}
	b, problems, k := &s.batch, n/w/2, 2*w
	g, factors := s.singlePanel(t, n, n), s.singlePanel(t, k, 2*k*problems)
	x := normal(n, w)
	for i := range x {
		x[i] /= math.Sqrt(float64(n))
	}
	wide := s.panel(t, n, w)
	must(t, d.Write(wide, x, n))
	for j := 0; j < n; j += w {
		must(t, d.Convert(g.Columns(j, j+w), wide))
	}
	norms, after := s.panel(t, n, 1), s.panel(t, n, 1)
	b.Type, b.Single = kernels.Float32, &kernels.Single{Cosine: 3e-6}
	tr, id := rotation(k, 1e-3), rotation(k, 0)
	for i := range problems {
		f := factors.Columns(2*k*i, 2*k*(i+1))
		b.R, b.T = append(b.R, f.Columns(0, k)), append(b.T, f.Columns(k, 2*k))
		s.put(t, b.T[i], tr)
		s.put(t, b.R[i], id)
		l, r := i*w, n-(i+1)*w
		b.G = append(b.G, kernels.Pivot{P: g.Columns(l, l+w), Q: g.Columns(r, r+w)})
		b.Single.Norms = append(b.Single.Norms, kernels.Pivot{P: norms.Rows(l, l+w), Q: norms.Rows(r, r+w)})
		b.Single.Factors = append(b.Single.Factors, after.Rows(i*k, (i+1)*k))
	}
	b.Tally = make([]kernels.Tally, problems)
	for i := range b.Tally {
		b.Tally[i].Changed = 1
	}
	return s
}

// BenchmarkSingleProducts is BenchmarkProducts of float32.
func BenchmarkSingleProducts(b *testing.B) {
	for _, x := range []struct{ n, w int }{{2048, 64}, {4096, 64}, {8192, 64}, {16384, 64}, {8192, 32},
		{8192, 128}} {
		b.Run(fmt.Sprintf("n=%d/w=%d", x.n, x.w), func(b *testing.B) {
			d := mustOpen(b, 0)
			s := singleSquare(b, d, x.n, x.w)
			var gram, multiply float64
			for b.Loop() {
				g, m := s.products(b)
				gram, multiply = gram+g, multiply+m
			}
			k := float64(2 * x.w)
			work := 1e-12 * float64(b.N) * float64(x.n) * k * k * float64(len(s.batch.R))
			b.ReportMetric(gram/float64(b.N)*1e3, "gram-ms")
			b.ReportMetric(multiply/float64(b.N)*1e3, "multiply-ms")
			b.ReportMetric(work/gram, "gram-TFLOP/s")
			b.ReportMetric(2*work/multiply, "multiply-TFLOP/s")
		})
	}
}
