package kerneltest

import (
	"fmt"
	"testing"

	"jmpi/kernels"
)

// All runs every test body on the device, each as a subtest.
func All(t *testing.T, b kernels.Backend) {
	for _, body := range []struct {
		name string
		run  func(*testing.T, kernels.Backend)
	}{
		{"Memory", Memory}, {"Move", Move}, {"Marks", func(t *testing.T, b kernels.Backend) { Marks(t, b, b) }},
		{"Again", func(t *testing.T, b kernels.Backend) { Again(t, b, b) }},
		{"Identity", Identity}, {"ColumnNorms", ColumnNorms},
		{"Product", Product},
		{"Gram", Gram}, {"Cholesky", Cholesky}, {"QR", QR}, {"Multiply", Multiply},
		{"Screen", Screen}, {"Cosines", Cosines}, {"Inactive", Inactive}, {"Across", Across},
		{"Rotations", Rotations}, {"Jacobi", Jacobi}, {"JacobiSweep", JacobiSweep},
		{"JacobiAccuracy", JacobiAccuracy},
		{"JacobiScale", JacobiScale},
		{"HyperbolicRotations", HyperbolicRotations}, {"HyperbolicJacobi", HyperbolicJacobi},
		{"HyperbolicSweep", HyperbolicSweep},
		{"HyperbolicAccuracy", HyperbolicAccuracy}, {"Bias", Bias}, {"Step", Step}, {"Grams", Grams},
		{"Refusals", Refusals}, {"Single", Single},
	} {
		t.Run(body.name, func(t *testing.T) { body.run(t, b) })
	}
}

// padding is the number of rows below a matrix in its panel.
const padding = 3

// panel is a matrix on the device with its padding: rows from M on to Ld.
type panel struct {
	kernels.Panel
	t *testing.T
	b kernels.Backend
}

// upload puts a on the device, in memory of its own that is freed with the test.
func upload(t *testing.T, b kernels.Backend, a matrix) panel {
	t.Helper()
	p := panel{kernels.Panel{M: a.m, N: a.n, Ld: a.m + padding}, t, b}
	data, err := b.Alloc(p.Bytes())
	must(t, err)
	t.Cleanup(func() { must(t, b.Free(data)) })
	p.Data = data
	host := nan(p.Ld, a.n)
	for j := range a.n {
		copy(host.column(j), a.column(j))
	}
	must(t, b.Write(p.whole(), host.a, max(p.Ld, 1)))
	return p
}

// whole returns the panel with its padding rows.
func (p panel) whole() kernels.Panel {
	w := p.Panel
	w.M = w.Ld
	return w
}

// download reads the matrix back and checks that its padding is still there.
func (p panel) download() matrix {
	p.t.Helper()
	must(p.t, p.b.Sync())
	host := newMatrix(p.Ld, p.N)
	must(p.t, p.b.Read(host.a, max(p.Ld, 1), p.whole()))
	a := newMatrix(p.M, p.N)
	for j := range p.N {
		copy(a.column(j), host.column(j))
		for i := p.M; i < p.Ld; i++ {
			if x := host.at(i, j); x == x {
				p.t.Fatalf("padding row %d of column %d was overwritten by %g", i-p.M, j, x)
			}
		}
	}
	return a
}

// batch is a batch with its panels.
type batch struct {
	kernels.Batch
	p, q, vp, vq, r, tr []panel
}

// newBatch uploads a batch of pivots g, and v where it is not nil. R and T are NaN, the tallies have any
// numbers.
func newBatch(t *testing.T, b kernels.Backend, g, v []pivot) *batch {
	t.Helper()
	s := &batch{}
	for i := range g {
		s.p, s.q = append(s.p, upload(t, b, g[i].p)), append(s.q, upload(t, b, g[i].q))
		s.G = append(s.G, kernels.Pivot{P: s.p[i].Panel, Q: s.q[i].Panel})
		if v != nil {
			s.vp, s.vq = append(s.vp, upload(t, b, v[i].p)), append(s.vq, upload(t, b, v[i].q))
			s.V = append(s.V, kernels.Pivot{P: s.vp[i].Panel, Q: s.vq[i].Panel})
		}
		k := g[i].p.n + g[i].q.n
		s.addFactor(t, b, nan(k, k))
	}
	return s
}

// newFactors uploads a batch of factors only.
func newFactors(t *testing.T, b kernels.Backend, factors []matrix) *batch {
	t.Helper()
	s := &batch{}
	for _, r := range factors {
		s.addFactor(t, b, r)
	}
	return s
}

func (s *batch) addFactor(t *testing.T, b kernels.Backend, r matrix) {
	s.r, s.tr = append(s.r, upload(t, b, r)), append(s.tr, upload(t, b, nan(r.n, r.n)))
	s.R, s.T = append(s.R, s.r[len(s.r)-1].Panel), append(s.T, s.tr[len(s.tr)-1].Panel)
	s.Tally = append(s.Tally, kernels.Tally{})
}

// setT uploads the transformations anew.
func (s *batch) setT(t *testing.T, b kernels.Backend, x []matrix) {
	for i := range x {
		s.tr[i] = upload(t, b, x[i])
		s.T[i] = s.tr[i].Panel
	}
}

// counters returns a tally without what is not counted.
func counters(t kernels.Tally) kernels.Tally {
	t.Cosine = 0
	return t
}

// batchSizes are the numbers of problems in a batch that are tried.
var batchSizes = []int{1, 2, 7}

// shapes are m and the widths of P and Q: odd sizes, widths differing by one, k = 1, m < k.
var shapes = []struct{ m, p, q int }{
	{1, 1, 0}, {1, 1, 1}, {5, 1, 2}, {3, 3, 4}, {37, 5, 4}, {64, 8, 8}, {101, 17, 16}, {259, 16, 17},
	{300, 32, 32}, {25, 20, 21}, {523, 48, 47},
}

func shapeName(m, p, q int) string { return fmt.Sprintf("%dx(%d+%d)", m, p, q) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
