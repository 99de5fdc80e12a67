package kerneltest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"jmpi/kernels"
)

// unitUpper returns a well-conditioned upper triangular matrix of float32 with columns of length 1, and norms
// for them.
func unitUpper(rnd *rand.Rand, k, grading int) (r matrix, norms []float64) {
	r, _ = normed(randomUpper(rnd, k))
	for j := range k {
		norms = append(norms, gradings[grading].scale(j, k)*(1+rnd.Float64()))
	}
	return r, norms
}

// singleJacobi tests full sweeps, however the columns are graded: R·T as it should be and of columns of
// length 1 that are orthogonal, T' orthogonal, the norms right to some ε of float32 and sorted.
func singleJacobi(t *testing.T, b kernels.Backend) {
	rnd := newRand(16)
	for _, k := range []int{1, 2, 3, 8, 16, 31, 64, 95} {
		for g, grading := range gradings {
			t.Run(singleName(k, grading.name), func(t *testing.T) {
				x, before := unitUpper(rnd, k, g)
				s := newSingleFactors(t, b, []matrix{x}, [][]float64{before})
				must(t, b.Jacobi(&s.Batch, kernels.JacobiOptions{Schedule: RoundRobin(k + k%2), MaxSweeps: 30}))
				r, tr, after, tally := s.r[0].read(), s.tr[0].read(), s.f[0].read().a, s.Tally[0]
				near(t, "R·T", r, x.times(tr), x.abs().times(tr.abs()).plus(1), 40*float64(k)*roundoff32)
				if e := orthogonality(unscaled(tr, before, after), k); !(e <= 40*math.Sqrt(float64(k))*roundoff32) {
					t.Errorf("max|T'ᵀT' − I| = %g", e)
				}
				if c := worstCosine(r); !(c <= 8*kernels.Tolerance32(k)) {
					t.Errorf("cosine %g", c)
				}
				for j := range k {
					if l := kernels.Norm2(r.column(j)); math.Abs(l-1) > 4*float64(k)*roundoff32 {
						t.Fatalf("column %d of R·T has the length %g", j, l)
					}
				}
				if tally.Proper > tally.Rotations || tally.Open != tally.Proper || tally.Idle != 0 ||
					k > 1 && tally.Changed != 1 {
					t.Errorf("tally %+v", tally)
				}
				if k == 16 {
					singularNorms(t, x, before, after, 100)
				}
			})
		}
	}
	zero, norms := unitUpper(rnd, 9, 1)
	zero.scaleColumn(4, 0)
	norms[4] = 0
	double, alike := unitUpper(rnd, 9, 0)
	copy(double.column(8), double.column(0))
	s := newSingleFactors(t, b, []matrix{zero, double, identity(9)}, [][]float64{norms, alike, alike})
	must(t, b.Jacobi(&s.Batch, kernels.JacobiOptions{Schedule: RoundRobin(10), MaxSweeps: 30}))
	if r, f := s.r[0].read(), s.f[0].read().a; f[4] != 0 || !slices.Equal(r.column(4), make([]float64, 9)) {
		t.Errorf("a zero column becomes %v times %g", r.column(4), f[4])
	}
	equal(t, matrix{9, 1, s.tr[0].read().column(4)}, matrix{9, 1, identity(9).column(4)})
	if f := s.f[1].read().a; !(slices.Min(f) < 1e-6 && slices.Min(f) > 0) {
		t.Errorf("of two equal columns none is nearly zero: norms %v", f)
	}
	equal(t, s.tr[2].read(), identity(9))
	if s.Tally[2] != (kernels.Tally{}) {
		t.Errorf("nothing to rotate: tally %+v", s.Tally[2])
	}
}

// singleParallel tests factors whose columns are all parallel, so that what is left of them are errors of
// errors of errors.
func singleParallel(t *testing.T, b kernels.Backend) {
	for k := 2; k <= 32; k++ {
		x := newMatrix(k, k)
		for j := range k {
			x.set(0, j, 1)
		}
		for _, sweeps := range []int{1, 30} {
			s := newSingleFactors(t, b, []matrix{x}, [][]float64{slices.Repeat([]float64{1}, k)})
			must(t, b.Jacobi(&s.Batch, kernels.JacobiOptions{Schedule: RoundRobin(k + k%2), MaxSweeps: sweeps}))
			r, tr, norms := s.r[0].read(), s.tr[0].read(), s.f[0].read().a
			largest := slices.Max(norms) / math.Sqrt(float64(k)) // of the only singular value that is not 0
			if !r.finite() || !tr.finite() || !(largest < 1+1e-5) ||
				sweeps > 1 && !(largest > 1-1e-5) {
				t.Errorf("k = %d, %d sweeps: R·T %v, T %v, norms %v", k, sweeps, r, tr, norms)
			}
		}
	}
}

// finite tells whether all elements are.
func (x matrix) finite() bool {
	return !slices.ContainsFunc(x.a, func(e float64) bool { return math.IsNaN(e) || math.IsInf(e, 0) })
}

// singularNorms tests that the norms are the singular values of x·diag(before) to so many u of float32.
func singularNorms(t *testing.T, x matrix, before, after []float64, tolerance float64) {
	t.Helper()
	full := x.clone()
	for j, d := range before {
		full.scaleColumn(j, d)
	}
	got, want := slices.Clone(after), singularValues(full, x.n)
	sortSigned(got, len(got))
	for j := range want {
		if e := math.Abs(got[j]/want[j] - 1); !(e <= tolerance*roundoff32) {
			t.Fatalf("norm %d is %g, want %g, off by %.1f u", j, got[j], want[j], e/roundoff32)
		}
	}
}

// singleSweep tests one sweep against the same sweep of the whole columns in float64: the same norms, in the
// same order, but for rounding errors, and almost the same rotations.
func singleSweep(t *testing.T, b kernels.Backend) {
	rnd := newRand(17)
	for _, k := range []int{2, 5, 16, 32} { // of more columns some turn as rounding errors will have it
		for g := range gradings[:3] {
			x, norms := unitUpper(rnd, k, g)
			full, tr := x.clone(), identity(k)
			for j, d := range norms {
				full.scaleColumn(j, d)
			}
			s := newSingleFactors(t, b, []matrix{x}, [][]float64{norms})
			o := kernels.JacobiOptions{Schedule: RoundRobin(k + k%2), MaxSweeps: 1}
			must(t, b.Jacobi(&s.Batch, o))
			want := oneSweep(full, tr, o.Schedule, k)
			got, after := s.r[0].read(), s.f[0].read().a
			if n := s.Tally[0].Rotations; n > want.Rotations || n < want.Rotations*9/10 {
				t.Errorf("k = %d, %s: %d rotations, want about %d", k, gradings[g].name, n, want.Rotations)
			}
			for j := range k {
				d := kernels.Norm2(full.column(j))
				if e := math.Abs(after[j]/d - 1); !(e <= 1e-3) {
					t.Fatalf("k = %d, %s: norm %d is %g, want %g", k, gradings[g].name, j, after[j], d)
				}
				for i := range k {
					if e := math.Abs(got.at(i, j) - full.at(i, j)/d); !(e <= 5e-3) {
						t.Fatalf("k = %d, %s: element (%d,%d) is %g, want %g", k, gradings[g].name, i, j, got.at(i, j),
							full.at(i, j)/d)
					}
				}
			}
		}
	}
}

// SingleMultiply tests G·T, V·D⁻¹·T·D' or V·T, |error| ≤ 2k·u·|G||T|, that the norms are replaced, and that
// problems with Changed = 0 are left alone.
func SingleMultiply(t *testing.T, b kernels.Backend) {
	eachSingle(t, func(t *testing.T, g []pivot, norms [][]float64) {
		rnd := newRand(len(g))
		for _, scaled := range []bool{false, true} {
			var v []pivot
			for i := range g {
				k := g[i].p.n + g[i].q.n
				v = append(v, split(round(random(rnd, g[i].p.m/2+1, k), kernels.Float32), g[i].p.n))
			}
			s := newSingles(t, b, g, norms, v)
			s.Single.Scaled = scaled
			var x []matrix
			var after [][]float64
			for i := range g {
				k := g[i].p.n + g[i].q.n
				tr, d := random(rnd, k, k), slices.Clone(norms[i])
				for j := range k {
					d[j] *= 0.5 + rnd.Float64()
					tr.set(j, j, 1) // near the identity
					if norms[i][j] == 0 {
						clear(tr.column(j))
						for l := range k {
							tr.set(j, l, 0)
						}
						tr.set(j, j, 1)
					}
				}
				x, after = append(x, round(tr, kernels.Float32)), append(after, d)
				for j := range k { // T' must be within the range
					for l := range k {
						if r := d[j] / norms[i][l]; r > 1e30 || r < 1e-30 {
							x[i].set(l, j, 0)
						}
					}
				}
				s.tr[i] = place(t, b, x[i], kernels.Float32)
				s.f[i] = place(t, b, matrix{k, 1, d}, kernels.Float64)
				s.r[i] = place(t, b, identity(k), kernels.Float32)
				s.T[i], s.Single.Factors[i], s.R[i] = s.tr[i].Panel, s.f[i].Panel, s.r[i].Panel
				s.Tally[i].Changed = int64(1 - i%3%2)
			}
			must(t, b.Multiply(&s.Batch))
			for i := range g {
				want, forV := after[i], x[i]
				if s.Tally[i].Changed == 0 {
					want = norms[i]
				}
				if !scaled {
					forV = unscaled(x[i], norms[i], after[i])
					for j, d := range norms[i] {
						if d == 0 {
							forV.set(j, j, 1)
						}
					}
				}
				sameNumbers(t, "norms", s.norms(i), want)
				productOf(t, g[i], x[i], s.p[i], s.q[i], s.Tally[i].Changed)
				productOf(t, v[i], forV, s.vp[i], s.vq[i], s.Tally[i].Changed)
				equal(t, s.tr[i].read(), x[i])
			}
		}
	})
}

// productOf compares [p q], which was g, with g·x if it was changed.
func productOf(t *testing.T, g pivot, x matrix, p, q window, changed int64) {
	t.Helper()
	got, want := pivot{p.read(), q.read()}.join(), g.join()
	if changed == 0 {
		equal(t, got, want)
		return
	}
	near(t, "product", got, want.times(x), want.abs().times(x.abs()).plus(2e-38), 2*float64(x.n+1)*roundoff32)
}

// plus returns the matrix of the x_ij + c.
func (x matrix) plus(c float64) matrix {
	y := x.clone()
	for i := range y.a {
		y.a[i] += c
	}
	return y
}

// singleNested runs a sweep over the block-columns of a factor that is the G of an inner level, and its T the
// V (Scaled): T is the same as if it were found at once, R·T = R'.
func singleNested(t *testing.T, b kernels.Backend) {
	const k = 24
	for g, grading := range gradings {
		x, norms := unitUpper(newRand(g), k, g)
		s := newSingles(t, b, []pivot{split(x, k/2)}, [][]float64{norms}, []pivot{split(identity(k), k/2)})
		s.Single.Scaled = true
		o := kernels.JacobiOptions{Schedule: RoundRobin(k), MaxSweeps: 30}
		step(t, b, &s.Batch, o)
		got, tr := pivot{s.p[0].read(), s.q[0].read()}.join(), pivot{s.vp[0].read(), s.vq[0].read()}.join()
		near(t, grading.name, got, x.times(tr), x.abs().times(tr.abs()).plus(1), 40*k*roundoff32)
		if c := worstCosine(got); !(c <= 4*cosine32) {
			t.Errorf("%s: cosine %g", grading.name, c)
		}
	}
}

// step runs the primitives on a batch, one after the other.
func step(t *testing.T, b kernels.Backend, s *kernels.Batch, o kernels.JacobiOptions) {
	t.Helper()
	must(t, b.Gram(s))
	must(t, b.Cholesky(s))
	must(t, b.QR(s))
	must(t, b.Jacobi(s, o))
	must(t, b.Multiply(s))
	must(t, b.Sync())
}

// singleSweeps runs block sweeps on a matrix until all pivots are inactive: no cosine is above the limit, V
// is orthogonal with A·V = G·D, and the norms are the singular values.
func singleSweeps(t *testing.T, b kernels.Backend) {
	const n, width = 96, 8
	for _, m := range []int{n, 3*n + 5} {
		for _, kind := range []string{"even", "1e30 to 1e-30", "1e-30 and 1e30 in turn", "zero columns",
			"dependent"} {
			for _, inner := range []int{1, 30} {
				t.Run(kind, func(t *testing.T) {
					a := random(newRand(m), m, n)
					for j := range n {
						switch kind {
						case "1e30 to 1e-30":
							a.scaleColumn(j, gradings[1].scale(j, n))
						case "1e-30 and 1e30 in turn":
							a.scaleColumn(j, gradings[2].scale(j, n))
						case "zero columns":
							a.scaleColumn(j, float64(min(j%5, 1)))
						case "dependent":
							if j%7 == 6 {
								copy(a.column(j), a.column(j-3))
							}
						}
					}
					sweepSingles(t, b, a, kind, width, inner)
				})
			}
		}
	}
}

func sweepSingles(t *testing.T, b kernels.Backend, a matrix, kind string, width, inner int) {
	t.Helper()
	unit, norms := normed(a)
	g, v := place(t, b, unit, kernels.Float32), place(t, b, identity(a.n), kernels.Float32)
	d := place(t, b, matrix{a.n, 1, norms}, kernels.Float64)
	blocks := a.n / width
	outer, o := RoundRobin(blocks), kernels.JacobiOptions{Schedule: RoundRobin(2 * width), MaxSweeps: inner}
	nothing := func(n int) (p []matrix, d [][]float64) {
		for range n {
			p, d = append(p, nan(2*width, 2*width)), append(d, nan(2*width, 1).a)
		}
		return p, d
	}
	s := newSingleFactors(t, b, firstOf(nothing(blocks/2)), secondOf(nothing(blocks/2)))
	s.G, s.V = make([]kernels.Pivot, blocks/2), make([]kernels.Pivot, blocks/2)
	s.Single.Norms = make([]kernels.Pivot, blocks/2)
	pair := func(p kernels.Panel, i, j int) kernels.Pivot {
		return kernels.Pivot{P: p.Columns(i, i+width), Q: p.Columns(j, j+width)}
	}
	limit := 12
	if kind == "dependent" {
		limit = 24 // what is left of the columns are rounding errors, which become orthogonal late
	}
	done := false
	for sweep := 0; !done; sweep++ {
		if sweep == limit {
			t.Fatalf("some pivots are active in sweep %d", sweep)
		}
		done = true
		for at := 0; at < len(outer.Pairs); at += blocks {
			for l := range s.G {
				i, j := width*int(outer.Pairs[at+2*l]), width*int(outer.Pairs[at+2*l+1])
				s.G[l], s.V[l] = pair(g.Panel, i, j), pair(v.Panel, i, j)
				s.Single.Norms[l] = kernels.Pivot{P: d.Panel.Rows(i, i+width), Q: d.Panel.Rows(j, j+width)}
			}
			step(t, b, &s.Batch, o)
			for _, tally := range s.Tally {
				done = done && tally.Inactive != 0
			}
		}
	}
	got, turned, after := g.read(), v.read(), d.read().a
	if c := worstCosine(got); !(c <= cosine32+4*math.Sqrt(float64(a.m))*roundoff32) {
		t.Errorf("cosine %g", c)
	}
	if e := orthogonality(turned, a.n); !(e <= 1e-4) {
		t.Errorf("max|VᵀV − I| = %g", e)
	}
	want := a.times(turned)
	full, size := got.clone(), a.abs().times(turned.abs().plus(0x1p-126/1e-3)) // what is below becomes zero
	for j := range a.n {
		full.scaleColumn(j, after[j])
		if norms[j] == 0 != (after[j] == 0) && kind == "zero columns" {
			t.Errorf("norm %d was %g, is %g", j, norms[j], after[j])
		}
	}
	near(t, "A·V", full, want, size, 1e-3)
	if kind == "dependent" {
		slices.Sort(after)
		if zero := a.n / 7; !(after[zero-1] < 1e-5*after[a.n-1]) || after[zero] < 1e-3*after[a.n-1] {
			t.Errorf("%d dependent columns: norms %g, %g of %g", zero, after[zero-1], after[zero], after[a.n-1])
		}
	}
}

func firstOf[A, B any](a A, _ B) A  { return a }
func secondOf[A, B any](_ A, b B) B { return b }
