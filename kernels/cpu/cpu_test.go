package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"jmpi/internal/parallel"
	"jmpi/kernels"
	"jmpi/kernels/kerneltest"
)

// instructions are the sets of kernels; those that this processor cannot run are replaced by the next best.
var instructions = []string{"avx512", "avx2", "generic"}

func mustOpen(t testing.TB, threads int, instructions string) *device {
	t.Helper()
	b, err := open(threads, instructions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b.(*device)
}

func TestPrimitives(t *testing.T) {
	for _, set := range instructions {
		t.Run(set, func(t *testing.T) { kerneltest.All(t, mustOpen(t, 2, set)) })
	}
}

// TestSameBits runs a step of pivots of several orders, some of them large, and compares all results bit by
// bit: for 1, 2 and 3 threads, for every set of kernels, and for each problem alone instead of all in one
// batch; without and with columns of sign −1.
func TestSameBits(t *testing.T) {
	small := []shape{{300, 16, 16}, {1500, 17, 16}, {40, 30, 31}, {700, 1, 0}}
	large := []shape{{600, 150, 140}}
	for _, set := range instructions {
		for _, threads := range []int{1, 2, 3} {
			d := mustOpen(t, threads, set)
			kerneltest.SameBits(t, "large", step(t, d, large, false), step(t, mustOpen(t, 1, "avx512"), large, false))
			kerneltest.SameBits(t, "large, float32", singleStep(t, d, large),
				singleStep(t, mustOpen(t, 1, "avx512"), large))
			kerneltest.SameBits(t, "float32", singleStep(t, d, small), singleStep(t, mustOpen(t, 1, "avx512"), small))
			for _, mixed := range []bool{false, true} {
				want := step(t, mustOpen(t, 1, "avx512"), small, mixed)
				kerneltest.SameBits(t, fmt.Sprint(set, threads, mixed), step(t, d, small, mixed), want)
				for i := range small {
					kerneltest.SameBits(t, fmt.Sprint(set, threads, mixed, " alone"),
						step(t, d, small[i:i+1], mixed), want[i:i+1])
				}
			}
		}
	}
}

// TestFailures tests that Open refuses no threads, and that a panic in a task goes on in the caller.
func TestFailures(t *testing.T) {
	if _, err := Open(0); err == nil {
		t.Error("Open(0) succeeded")
	}
	for threads := 1; threads <= 3; threads++ {
		d := mustOpen(t, threads, instructions[0])
		func() {
			defer func() {
				if p, ok := recover().(*parallel.Panic); !ok || p.Value != "task 4" {
					t.Errorf("%d threads: the panic of task 4 comes as %v", threads, p)
				}
			}()
			err := d.each(10, func(_ *workspace, i int) error {
				if i == 4 {
					panic("task 4")
				}
				return nil
			})
			t.Errorf("%d threads: error %v", threads, err)
		}()
	}
}

// shape is the shape of a pivot: m×(p+q).
type shape struct{ m, p, q int }

// problem is a batch with carried V on a device.
type problem struct {
	d      *device
	batch  kernels.Batch
	option kernels.JacobiOptions
}

// newProblem fills pivots of the given shapes, of that order at most, with numbers that depend on
// the shape alone.
func newProblem(t testing.TB, d *device, order int, shapes []shape) *problem {
	t.Helper()
	p := &problem{d: d}
	rows, columns := 0, 0
	for _, s := range shapes {
		rows, columns = max(rows, s.m), columns+s.p+s.q
	}
	all := p.panel(t, rows, columns)
	for _, s := range shapes {
		k := s.p + s.q
		rnd := rand.New(rand.NewPCG(uint64(s.m), uint64(k)))
		g, v := all.Columns(0, k).Rows(0, s.m), p.panel(t, k, k)
		all = all.Columns(k, all.N)
		for j := range k {
			for i, c := 0, column(g, j); i < s.m; i++ {
				c[i] = rnd.NormFloat64()
			}
		}
		must(t, d.Identity(v, 0))
		p.batch.G = append(p.batch.G, kernels.Pivot{P: g.Columns(0, s.p), Q: g.Columns(s.p, k)})
		p.batch.V = append(p.batch.V, kernels.Pivot{P: v.Columns(0, s.p), Q: v.Columns(s.p, k)})
		p.batch.R = append(p.batch.R, p.panel(t, k, k))
		p.batch.T = append(p.batch.T, p.panel(t, k, k))
	}
	p.batch.Tally = make([]kernels.Tally, len(shapes))
	p.option = kernels.JacobiOptions{Schedule: kerneltest.RoundRobin(order + order%2), MaxSweeps: 1}
	return p
}

// panel allocates a panel of columns aligned to vectors.
func (p *problem) panel(t testing.TB, m, n int) kernels.Panel {
	t.Helper()
	return p.panelOf(t, m, n, kernels.Float64)
}

func (p *problem) panelOf(t testing.TB, m, n int, e kernels.Element) kernels.Panel {
	t.Helper()
	width := lanes * kernels.WordBytes / e.Bytes()
	a := kernels.Panel{M: m, N: n, Ld: (m + width - 1) / width * width, Type: e}
	data, err := p.d.Alloc(a.Bytes())
	must(t, err)
	a.Data = data
	return a
}

// transform does what follows Cholesky in a step. Factors too large for pointwise Jacobi get another
// transformation, the factor itself.
func (p *problem) transform(t testing.TB) {
	t.Helper()
	b := &p.batch
	must(t, p.d.QR(b))
	if b.R[0].N <= maxOrder {
		must(t, p.d.Jacobi(b, p.option))
	} else {
		must(t, p.d.Copy(b.T[0], b.R[0]))
		b.Tally[0].Changed = 1
	}
	must(t, p.d.Multiply(b))
}

// step does one step of the method and returns all that it has computed, one slice a problem. mixed: a third
// of the columns of factors of odd order have sign −1.
func step(t testing.TB, d *device, shapes []shape, mixed bool) [][]float64 {
	t.Helper()
	p := newProblem(t, d, maxOrder, shapes)
	b := &p.batch
	must(t, d.Gram(b))
	must(t, d.Cholesky(b))
	for i := range b.Tally {
		k := b.R[i].N
		b.Tally[i].Broken = int64(k % 2) // some factors from QR
		if mixed {
			b.Positive = append(b.Positive, k-k%2*(k/3))
		}
	}
	p.transform(t)
	var out [][]float64
	for i := range b.G {
		tally := b.Tally[i]
		x := []float64{float64(tally.Rotations), float64(tally.Proper), float64(tally.Changed), tally.Cosine}
		for _, a := range []kernels.Panel{b.G[i].P, b.G[i].Q, b.V[i].P, b.V[i].Q, b.R[i], b.T[i]} {
			for j := range a.N {
				x = append(x, column(a, j)...)
			}
		}
		out = append(out, x)
	}
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
