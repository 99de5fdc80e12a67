package node

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"jmpi/kernels"
	"jmpi/kernels/cpu"
	"jmpi/strategy"

	"pgregory.net/rapid"
)

// The positive columns of a pair are those of its two block-columns that are among the leading ones.
func TestOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		l := NewLayout(n, rapid.IntRange(1, 5).Draw(t, "devices"), rapid.IntRange(1, 90).Draw(t, "width"), 0)
		positive := rapid.IntRange(0, n).Draw(t, "positive")
		p := rapid.IntRange(0, l.Columns-2).Draw(t, "p")
		pair := strategy.Pair{P: p, Q: rapid.IntRange(p+1, l.Columns-1).Draw(t, "q")}
		want := 0
		for _, j := range []int{pair.P, pair.Q} {
			for c := l.Start(j); c < l.Start(j+1); c++ {
				if c < positive {
					want++
				}
			}
		}
		if got := l.ones(pair, positive); got != want {
			t.Fatalf("%d positive columns, want %d", got, want)
		}
	})
}

// signed is a back end that computes nothing and notes the counts of positive columns that Jacobi is given.
type signed struct {
	idle
	counts []string
}

func (b *signed) Jacobi(x *kernels.Batch, _ kernels.JacobiOptions) error {
	b.counts = append(b.counts, fmt.Sprint(x.Positive))
	return nil
}

// Sub-pivots get their counts from those of their parents, and batches say nothing of signs where all are +1.
func TestCountsOfSubPivots(t *testing.T) {
	for _, c := range []struct {
		positive int
		want     string // two pairs of width 16, cut into 4 block-columns each, which meet in 3 p-steps
	}{
		{64, "[[] [] []]"},
		{60, "[[16 16 16 12] [16 16 16 12] [16 16 12 16]]"},
		{20, "[[16 4 0 0] [12 8 0 0] [8 12 0 0]]"},
	} {
		be := &signed{idle: idle{limits: kernels.Limits{PointwiseOrder: 128, Align: 1}}}
		l := Layout{N: 64, Ordering: Ordering{4, 1}, Macros: 2, PerMacro: 2}
		d, err := NewDevice(be, Config{M: 64, Layout: l, Positive: c.positive, Strategy: "rowcyc", Widths: []int{8},
			Sweeps: 1})
		if err != nil {
			t.Fatal(err)
		}
		d.SetColumn(0, 0)
		d.SetColumn(1, 1)
		if err := d.Run(0, []strategy.Pair{{P: 0, Q: 1}, {P: 2, Q: 3}}); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(be.counts); got != c.want {
			t.Errorf("%d positive columns: counts %s, want %s", c.positive, got, c.want)
		}
	}
}

// Hyperbolic SVDs on one device, in one level and in two, in both variants, the boundary of the signs within
// a block-column and between two.
func TestHyperbolicSVD(t *testing.T) {
	be, err := cpu.Open(2)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := be.Close(); err != nil {
			t.Error(err)
		}
	}()
	const m, n = 120, 100
	for _, c := range []struct {
		positive int
		widths   []int
		sweeps   int
	}{{50, nil, 1}, {37, nil, FullSweeps}, {1, nil, FullSweeps}, {99, []int{6}, 1}, {63, []int{6}, FullSweeps}} {
		t.Run(fmt.Sprintf("%d positive, inner widths %v, %d sweeps", c.positive, c.widths, c.sweeps),
			func(t *testing.T) {
				l := NewLayout(n, 1, 13, 0)
				x := newHyperbolic(t, be, Config{M: m, Layout: l, Positive: c.positive, Vectors: true,
					Strategy: "rev-rowcyc", Widths: c.widths, Sweeps: c.sweeps})
				x.solve(t)
				x.check(t)
			})
	}
}

// hyperbolic is a hyperbolic SVD on one device: A·W = G, W the accumulated V.
type hyperbolic struct {
	*Device
	a, g, w []float64 // column-major, m×n, m×n and n×n
}

// newHyperbolic puts a Gaussian matrix on a device.
func newHyperbolic(t *testing.T, be kernels.Backend, c Config) *hyperbolic {
	t.Helper()
	d, err := NewDevice(be, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Free)
	m, n := c.M, c.Layout.N
	x := &hyperbolic{d, make([]float64, m*n), make([]float64, m*n), make([]float64, n*n)}
	rnd := rand.New(rand.NewPCG(uint64(c.Positive), 1))
	for i := range x.a {
		x.a[i] = rnd.NormFloat64()
	}
	for s := range 2 {
		d.SetColumn(s, s)
		j0, j1 := c.Layout.Macro(s)
		b := d.Panels(s, s, 0, c.Layout.PerMacro)
		must(t, be.Write(b.G, x.a[m*j0:m*j1], m))
		must(t, be.Identity(b.V, j0))
	}
	return x
}

// solve sweeps until a sweep has no proper rotation, and reads the result.
func (x *hyperbolic) solve(t *testing.T) {
	t.Helper()
	p, err := NewProgram(x.c.Strategy, x.c.Layout)
	must(t, err)
	sweeps := 0
	for proper := int64(1); proper != 0; sweeps++ {
		if sweeps == 20 {
			t.Fatal("20 sweeps are not enough")
		}
		x.Tally = kernels.Tally{}
		for _, step := range p.Macro {
			for _, pairs := range step.Fine {
				must(t, x.Run(0, pairs))
			}
		}
		must(t, x.Sync())
		proper = x.Tally.Proper
	}
	if x.Tally.Degenerate != 0 {
		t.Errorf("%d degenerate rotations in the last sweep", x.Tally.Degenerate)
	}
	t.Logf("%d sweeps", sweeps)
	for s := range 2 {
		j0, j1 := x.c.Layout.Macro(s)
		b := x.Panels(s, s, 0, x.c.Layout.PerMacro)
		must(t, x.Backend.Read(x.g[b.G.M*j0:b.G.M*j1], b.G.M, b.G))
		must(t, x.Backend.Read(x.w[b.V.M*j0:b.V.M*j1], b.V.M, b.V))
	}
}

// check tests G = A·W, that G has orthogonal columns in the order of the eigenvalues ±σ² of A·J·Aᵀ,
// and WᵀJW = J.
func (x *hyperbolic) check(t *testing.T) {
	t.Helper()
	m, n, positive := x.c.M, x.c.Layout.N, x.c.Positive
	sign := func(j int) float64 { return math.Copysign(1, float64(positive)-0.5-float64(j)) }
	sigma := make([]float64, n)
	var norm float64 // ‖W‖²_F
	for j := range n {
		sigma[j] = kernels.Norm2(x.g[j*m : (j+1)*m])
		w := kernels.Norm2(x.w[j*n : (j+1)*n])
		norm += w * w
	}
	var residual, orthU, orthV float64 // Frobenius norms, squared
	for j := range n {
		for i := range m {
			sum := -x.g[i+j*m]
			for l := range n {
				sum += x.a[i+l*m] * x.w[l+j*n]
			}
			residual += sum * sum
		}
		for i := range n {
			u, v := 0.0, 0.0
			for l := range m {
				u += x.g[l+i*m] / sigma[i] * (x.g[l+j*m] / sigma[j])
			}
			for l := range n {
				v += sign(l) * x.w[l+i*n] * x.w[l+j*n]
			}
			if i == j {
				u--
				v -= sign(j)
			}
			orthU += u * u
			orthV += v * v
		}
		if j > 0 && j != positive && sign(j)*sigma[j-1]*sigma[j-1] < sign(j)*sigma[j]*sigma[j]*(1-100*eps) {
			t.Errorf("columns %d and %d, of sign %g, have the norms %g and %g", j-1, j, sign(j), sigma[j-1], sigma[j])
		}
	}
	unit := float64(n) * eps
	r, u, v := math.Sqrt(residual)/(kernels.Norm2(x.a)*math.Sqrt(norm)*unit), math.Sqrt(orthU)/unit,
		math.Sqrt(orthV)/(norm*eps)
	t.Logf("‖W‖ %.3g; in units of the check: residual %.2g, orthU %.2g, orthV %.2g", math.Sqrt(norm), r, u, v)
	if !(r < 10 && u < 10 && v < 10) {
		t.Errorf("residual %g, orthU %g, orthV %g", r, u, v)
	}
}

// eps is what the program's check counts in.
const eps = kernels.Epsilon

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
