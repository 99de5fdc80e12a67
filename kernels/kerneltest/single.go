package kerneltest

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"jmpi/kernels"
)

// Single tests batches of float32 (kernels.Single). A device that does not take them must say so.
func Single(t *testing.T, b kernels.Backend) {
	if !b.Limits().Float32.Pivots {
		singleRefused(t, b)
		return
	}
	for _, body := range []struct {
		name string
		run  func(*testing.T, kernels.Backend)
	}{
		{"Panels", singlePanels}, {"Gram", SingleGram}, {"Cholesky", singleCholesky}, {"QR", singleQR},
		{"Jacobi", singleJacobi}, {"Sweep", singleSweep}, {"Multiply", SingleMultiply}, {"Nested", singleNested},
		{"Parallel", singleParallel}, {"Sweeps", singleSweeps}, {"Refusals", singleRefusals},
	} {
		t.Run(body.name, func(t *testing.T) { body.run(t, b) })
	}
}

// roundoff32 is the unit roundoff of float32; cosine32 is the largest cosine that passes for orthogonal.
const (
	roundoff32 = kernels.UnitRoundoff32
	cosine32   = 3e-6
)

// singles is a batch of float32, or of float64 (newDoubles), with its panels, amid NaN on all sides.
type singles struct {
	kernels.Batch
	p, q, vp, vq, r, tr, np, nq, f []window
}

// newSingles puts a batch of pivots g on the device, whose columns times norms are those of the matrix, and v
// where it is not nil. R, T and Factors are NaN.
func newSingles(t *testing.T, b kernels.Backend, g []pivot, norms [][]float64, v []pivot) *singles {
	t.Helper()
	s := &singles{}
	s.Type, s.Single = kernels.Float32, &kernels.Single{Cosine: cosine32}
	for i := range g {
		s.p = append(s.p, place(t, b, g[i].p, kernels.Float32))
		s.q = append(s.q, place(t, b, g[i].q, kernels.Float32))
		s.G = append(s.G, kernels.Pivot{P: s.p[i].Panel, Q: s.q[i].Panel})
		n := split(matrix{1, len(norms[i]), norms[i]}, g[i].p.n)
		s.np = append(s.np, place(t, b, n.p.transpose(), kernels.Float64))
		s.nq = append(s.nq, place(t, b, n.q.transpose(), kernels.Float64))
		s.Single.Norms = append(s.Single.Norms, kernels.Pivot{P: s.np[i].Panel, Q: s.nq[i].Panel})
		if v != nil {
			s.vp = append(s.vp, place(t, b, v[i].p, kernels.Float32))
			s.vq = append(s.vq, place(t, b, v[i].q, kernels.Float32))
			s.V = append(s.V, kernels.Pivot{P: s.vp[i].Panel, Q: s.vq[i].Panel})
		}
		k := g[i].p.n + g[i].q.n
		s.addFactor(t, b, nan(k, k), nan(k, 1).a)
	}
	return s
}

// newDoubles is newSingles for pivots of float64, without V.
func newDoubles(t *testing.T, b kernels.Backend, g []pivot) *singles {
	t.Helper()
	s := &singles{}
	for i := range g {
		s.p = append(s.p, place(t, b, g[i].p, kernels.Float64))
		s.q = append(s.q, place(t, b, g[i].q, kernels.Float64))
		s.G = append(s.G, kernels.Pivot{P: s.p[i].Panel, Q: s.q[i].Panel})
		k := g[i].p.n + g[i].q.n
		s.addFactor(t, b, nan(k, k), nil)
	}
	return s
}

// newSingleFactors puts a batch of factors only on the device, with the norms of their columns.
func newSingleFactors(t *testing.T, b kernels.Backend, r []matrix, norms [][]float64) *singles {
	t.Helper()
	s := &singles{}
	s.Type, s.Single = kernels.Float32, &kernels.Single{Cosine: cosine32}
	for i := range r {
		s.addFactor(t, b, r[i], norms[i])
	}
	return s
}

func (s *singles) addFactor(t *testing.T, b kernels.Backend, r matrix, norms []float64) {
	t.Helper()
	i := len(s.r)
	s.r = append(s.r, place(t, b, r, s.Type))
	s.tr = append(s.tr, place(t, b, nan(r.n, r.n), s.Type))
	s.R, s.T = append(s.R, s.r[i].Panel), append(s.T, s.tr[i].Panel)
	if s.Single != nil {
		s.f = append(s.f, place(t, b, matrix{r.n, 1, norms}, kernels.Float64))
		s.Single.Factors = append(s.Single.Factors, s.f[i].Panel)
	}
	s.Tally = append(s.Tally, kernels.Tally{})
}

// norms reads the norms of the columns of G of problem i.
func (s *singles) norms(i int) []float64 {
	return append(append([]float64(nil), s.np[i].read().a...), s.nq[i].read().a...)
}

// normed returns the columns of a divided by their norms, rounded to float32, and the norms.
func normed(a matrix) (unit matrix, norms []float64) {
	unit = a.clone()
	for j := range a.n {
		d := kernels.Norm2(a.column(j))
		for i := range a.m {
			if d > 0 {
				unit.set(i, j, a.at(i, j)/d)
			}
		}
		norms = append(norms, d)
	}
	return round(unit, kernels.Float32), norms
}

// gradings are ways to scale the columns of a matrix.
var gradings = []struct {
	name  string
	scale func(j, n int) float64
}{
	{"even", func(int, int) float64 { return 1 }},
	{"falling from 1e30 to 1e-30", func(j, n int) float64 {
		return math.Pow(10, 30-60*float64(j)/float64(max(n-1, 1)))
	}},
	{"1e-30 and 1e30 in turn", func(j, _ int) float64 { return math.Pow(10, float64(60*(j%2)-30)) }},
	{"1e-150 to 1e150", func(j, n int) float64 { return math.Pow(10, float64(j*37%n)/float64(n)*300-150) }},
}

// singlePanels tests what takes panels of float32 besides batches.
func singlePanels(t *testing.T, b kernels.Backend) {
	for _, s := range []struct{ m, n int }{{1, 1}, {7, 3}, {300, 20}} {
		a := round(random(newRand(s.m), s.m, s.n), kernels.Float32)
		p, q := place(t, b, a, kernels.Float32), place(t, b, nan(s.m, s.n), kernels.Float32)
		must(t, b.Copy(q.Panel, p.Panel))
		equal(t, q.read(), a)
		norms, err := b.ColumnNorms(p.Panel)
		must(t, err)
		for j := range s.n {
			if want := exactNorm(a.column(j)); math.Abs(norms[j]-want) > 4*float64(s.m)*roundoff*want {
				t.Errorf("norm of column %d is %g, want %g", j, norms[j], want)
			}
		}
		for _, row0 := range []int{0, 2, -1} {
			must(t, b.Identity(q.Panel, row0))
			want := newMatrix(s.m, s.n)
			for j := range s.n {
				if i := j + row0; i >= 0 && i < s.m {
					want.set(i, j, 1)
				}
			}
			equal(t, q.read(), want)
		}
		if err := b.Copy(p.Panel, place(t, b, a, kernels.Float64).Panel); !errors.Is(err, kernels.ErrShape) {
			t.Errorf("Copy from float64 to float32: %v, want ErrShape", err)
		}
	}
}

// eachSingle calls f with batches of every shape. Among the problems are some with a zero column, and with
// equal columns.
func eachSingle(t *testing.T, f func(t *testing.T, g []pivot, norms [][]float64)) {
	for n, s := range append(shapes, struct{ m, p, q int }{300, 140, 141}) {
		for _, size := range batchSizes {
			if size == 7 && s.m > 259 {
				continue
			}
			t.Run(shapeName(s.m, s.p, s.q), func(t *testing.T) {
				rnd := newRand(200*n + size)
				var g []pivot
				var norms [][]float64
				for i := range size {
					a := random(rnd, s.m, s.p+s.q-i%2*min(1, s.q))
					switch i {
					case 2:
						a.scaleColumn(a.n/2, 0)
					case 3:
						copy(a.column(a.n-1), a.column(0))
					}
					for j := range a.n {
						a.scaleColumn(j, gradings[i%len(gradings)].scale(j, a.n))
					}
					unit, d := normed(a)
					g, norms = append(g, split(unit, s.p)), append(norms, d)
				}
				f(t, g, norms)
			})
		}
	}
}

// SingleGram tests Gram matrices as Gram does, and the norms that they come with.
func SingleGram(t *testing.T, b kernels.Backend) {
	eachSingle(t, func(t *testing.T, g []pivot, norms [][]float64) {
		s := newSingles(t, b, g, norms, nil)
		must(t, b.Gram(&s.Batch))
		for i := range g {
			a := g[i].join()
			h := s.r[i].read()
			near(t, "Gram matrix", h, a.gram(), a.abs().gram(), 2*float64(a.m)*roundoff32)
			equal(t, h, h.transpose())
			sameNumbers(t, "Factors", s.f[i].read().a, norms[i])
			sameNumbers(t, "Norms", s.norms(i), norms[i])
			equal(t, s.p[i].read(), g[i].p)
			equal(t, s.q[i].read(), g[i].q)
		}
	})
}

// singleCholesky tests the factor, |RᵀR − H| ≤ 2(k+1)·u·√hᵢᵢ√hⱼⱼ, when it breaks down, and which matrices are
// those of orthogonal columns.
func singleCholesky(t *testing.T, b kernels.Backend) {
	rnd := newRand(3)
	active, inactive, broken := kernels.Tally{}, kernels.Tally{Inactive: 1}, kernels.Tally{Broken: 1}
	for _, k := range []int{2, 7, 16, 33, 64, 95} {
		unit, _ := normed(random(rnd, 3*k+2, k))
		h := round(unit.gram(), kernels.Float32)
		spoiled := func(i, j int, x float64) matrix {
			a := h.clone()
			a.set(i, j, x)
			a.set(j, i, x)
			return a
		}
		even := func(c float64) matrix { // all columns of the same cosine
			a := identity(k)
			for i := range a.a {
				if a.a[i] == 0 {
					a.a[i] = c
				}
			}
			return a
		}
		zero, double := h.clone(), h.clone()
		for i := range k {
			zero.set(i, k/2, 0)
			zero.set(k/2, i, 0)
			double.set(i, k-1, h.at(i, 0))
			double.set(k-1, i, h.at(i, 0))
		}
		double.set(k-1, k-1, h.at(0, 0))
		double.set(0, k-1, h.at(0, 0))
		double.set(k-1, 0, h.at(0, 0))
		last := even(0)
		last.set(k-2, k-1, 1.01*cosine32)
		last.set(k-1, k-2, 1.01*cosine32)
		nothing := even(0)
		nothing.set(0, 0, 0)
		cases := []struct {
			name string
			h    matrix
			want kernels.Tally
		}{
			{"random", h, active}, {"zero column", zero, active}, {"duplicate column", double, broken},
			{"tiny column", spoiled(0, 0, 0x1p-61), broken}, {"infinite", spoiled(k-1, k-1, math.Inf(1)), broken},
			{"NaN", spoiled(0, 0, math.NaN()), broken},
			{"NaN beside the diagonal", spoiled(0, k-1, math.NaN()), broken},
			{"below the bound", even(0.99 * cosine32), inactive}, {"above the bound", even(1.01 * cosine32), active},
			{"last pair above", last, active}, {"orthogonal and zero", nothing, inactive},
		}
		if k == 2 {
			cases[1].want = inactive
		}
		var hs []matrix
		var norms [][]float64
		for _, c := range cases {
			hs, norms = append(hs, c.h), append(norms, make([]float64, k))
		}
		s := newSingleFactors(t, b, hs, norms)
		for i := range s.Tally {
			s.Tally[i] = kernels.Tally{Rotations: 3, Changed: 1, Broken: 1}
		}
		must(t, b.Cholesky(&s.Batch))
		must(t, b.Sync())
		for i, c := range cases {
			if counters(s.Tally[i]) != c.want {
				t.Errorf("k = %d, %s: tally %+v, want %+v", k, c.name, s.Tally[i], c.want)
			}
			r := s.r[i].read()
			switch want := round(c.h, kernels.Float32); {
			case c.want == inactive:
				equal(t, r, want)
			case c.name == "zero column":
				sameNumbers(t, "column of R for one of zeros", r.column(k/2), make([]float64, k))
				near(t, c.name, r.gram(), want, ones(k), 2*float64(k+1)*roundoff32)
			case c.want == active:
				isFactor(t, c.name, r, want, 2*float64(k+1)*roundoff32)
			}
		}
	}
}

// singleQR tests the factor of broken problems, |RᵀR − AᵀA| ≤ 8(m+k)·u.
func singleQR(t *testing.T, b kernels.Backend) {
	eachSingle(t, func(t *testing.T, g []pivot, norms [][]float64) {
		s := newSingles(t, b, g, norms, nil)
		for i := range s.Tally {
			s.Tally[i].Broken = 1
		}
		must(t, b.QR(&s.Batch))
		for i := range g {
			a, r := g[i].join(), s.r[i].read()
			for j := range r.n {
				for l := min(j+1, a.m); l < r.m; l++ {
					if r.at(l, j) != 0 {
						t.Fatalf("r(%d,%d) = %g below the diagonal or row m", l, j, r.at(l, j))
					}
				}
			}
			near(t, "RᵀR", r.gram(), a.gram(), ones(r.n), 8*float64(a.m+a.n)*roundoff32)
		}
	})
}

// singleRefused tests that a device without float32 refuses every primitive with ErrType.
func singleRefused(t *testing.T, b kernels.Backend) {
	t.Helper()
	unit, norms := normed(random(newRand(1), 9, 4))
	s := newSingles(t, b, []pivot{split(unit, 2)}, [][]float64{norms}, nil)
	for name, err := range singleCalls(b, &s.Batch) {
		if !errors.Is(err, kernels.ErrType) {
			t.Errorf("%s of a batch of float32: %v, want ErrType", name, err)
		}
	}
}

// singleCalls runs all primitives on a batch of order 4.
func singleCalls(b kernels.Backend, s *kernels.Batch) map[string]error {
	o := kernels.JacobiOptions{Schedule: RoundRobin(4), MaxSweeps: 1}
	return map[string]error{"Gram": b.Gram(s), "Cholesky": b.Cholesky(s), "QR": b.QR(s),
		"Jacobi": b.Jacobi(s, o), "Multiply": b.Multiply(s)}
}

// singleRefusals tests that batches that lack something are refused.
func singleRefusals(t *testing.T, b kernels.Backend) {
	for i, spoil := range []func(s *singles){
		func(s *singles) { s.Single = nil },
		func(s *singles) { s.Type = kernels.Float64 },
		func(s *singles) { s.Positive = []int{2} },
		func(s *singles) { s.Single.Cosine = 0 },
		func(s *singles) { s.Single.Factors[0] = s.Single.Factors[0].Rows(0, 3) },
		func(s *singles) { s.R[0].Type = kernels.Float64 },
		func(s *singles) { s.Single.Factors = nil },
	} {
		unit, norms := normed(random(newRand(1), 9, 4))
		s := newSingles(t, b, []pivot{split(unit, 2)}, [][]float64{norms}, nil)
		spoil(s)
		for name, err := range singleCalls(b, &s.Batch) {
			if !errors.Is(err, kernels.ErrShape) {
				t.Errorf("case %d, %s: %v, want ErrShape", i, name, err)
			}
		}
	}
	unit, norms := normed(random(newRand(1), 9, 4))
	for i, spoil := range []func(s *singles){
		func(s *singles) { s.Single.Norms = nil },
		func(s *singles) { s.Single.Norms[0].P = s.Single.Norms[0].P.Rows(0, 1) },
		func(s *singles) { s.Single.Norms[0].Q.Type = kernels.Float32 },
		func(s *singles) { s.G[0].P.Type = kernels.Float64 },
	} {
		s := newSingles(t, b, []pivot{split(unit, 2)}, [][]float64{norms}, nil)
		spoil(s)
		if err := b.Gram(&s.Batch); !errors.Is(err, kernels.ErrShape) {
			t.Errorf("Gram, case %d: %v, want ErrShape", i, err)
		}
	}
}

// unscaled returns T' = D⁻¹·T·D', D and D' the norms before and after.
func unscaled(tr matrix, before, after []float64) matrix {
	x := tr.clone()
	for j := range x.n {
		for i := range x.m {
			if x.at(i, j) != 0 && before[i] > 0 {
				x.set(i, j, x.at(i, j)/before[i]*after[j])
			}
		}
	}
	return x
}

// worstCosine returns the largest cosine of an angle between two columns.
func worstCosine(a matrix) (worst float64) {
	norms := make([]float64, a.n)
	for j := range norms {
		norms[j] = kernels.Norm2(a.column(j))
		for i := range j {
			if norms[i] > 0 && norms[j] > 0 {
				worst = math.Max(worst, math.Abs(dotScaled(a.column(i), a.column(j), norms[i], norms[j])))
			}
		}
	}
	return worst
}

func singleName(k int, grading string) string { return fmt.Sprintf("%d, %s", k, grading) }
