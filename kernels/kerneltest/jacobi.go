package kerneltest

import (
	"math"
	"slices"
	"testing"

	"jmpi/kernels"
)

// jacobi runs the method on copies of the factors and returns the tallies, R·T and T. positive: see
// kernels.Batch.
func jacobi(t *testing.T, b kernels.Backend, factors []matrix, positive []int,
	o kernels.JacobiOptions) (tally []kernels.Tally, r, tr []matrix) {
	t.Helper()
	s := newFactors(t, b, factors)
	s.Positive = positive
	must(t, b.Jacobi(&s.Batch, o))
	for i := range factors {
		r, tr = append(r, s.r[i].download()), append(tr, s.tr[i].download())
	}
	return s.Tally, r, tr
}

// Rotations tests single rotations bit by bit against kernels.Kind.Rotation. The factor is block-diagonal
// with blocks [a b; 0 c], whose Gram matrices [a² ab; ab b²+c²] are rounded in one way only, and the only
// p-step meets each block once.
func Rotations(t *testing.T, b kernels.Backend) {
	rnd := newRand(5)
	for _, blocks := range []int{1, 3, 8, 9, 13} {
		k := 2 * blocks
		s := &kernels.Schedule{Order: k}
		for p := int32(0); int(p) < k; p += 2 {
			s.Pairs = append(s.Pairs, p, p+1)
		}
		for range 40 {
			r := newMatrix(k, k)
			for p := 0; p < k; p += 2 {
				x, y, z := 1+rnd.Float64(), rnd.NormFloat64()*math.Pow(2, -40*rnd.Float64()),
					math.Pow(2, 20*(rnd.Float64()-0.5))
				switch rnd.IntN(8) {
				case 0:
					y = 0 // orthogonal columns
				case 1:
					z = math.Sqrt(math.Abs(x*x - y*y)) // nearly equal norms: cot 2φ ≈ 0
				case 2:
					z = math.Pow(2, 250*(rnd.Float64()-1)) // cot 2φ up to 2²⁹⁰
				}
				r.set(p, p, x)
				r.set(p, p+1, y)
				r.set(p+1, p+1, z)
			}
			rotated, want := r.clone(), identity(k)
			tally := oneSweep(rotated, want, s, k)
			cancel(r, want, rotated)
			got, rt, tr := jacobi(t, b, []matrix{r}, nil, kernels.JacobiOptions{Schedule: s, MaxSweeps: 1})
			if got[0] != tally {
				t.Fatalf("%d blocks: tally %+v, want %+v", blocks, got[0], tally)
			}
			for i, v := range rotated.a {
				if v != rt[0].a[i] { // equal, but for the sign of zeros
					t.Fatalf("%d blocks: element %d of R·T is %v, want %v", blocks, i, rt[0].a[i], v)
				}
			}
			for i, v := range want.a { // T is made orthogonal after the rotations
				if math.Abs(v-tr[0].a[i]) > 4*kernels.UnitRoundoff {
					t.Fatalf("%d blocks: element %d of T is %v, want %v", blocks, i, tr[0].a[i], v)
				}
			}
		}
	}
}

// Jacobi tests full sweeps: T orthogonal, R·T right, its columns orthogonal and sorted.
func Jacobi(t *testing.T, b kernels.Backend) {
	rnd := newRand(6)
	for _, k := range []int{1, 2, 3, 8, 15, 16, 31, 33, 64, 95, 128} {
		if k > b.Limits().PointwiseOrder {
			continue
		}
		random, graded, zero, double := randomUpper(rnd, k), randomUpper(rnd, k), randomUpper(rnd, k),
			randomUpper(rnd, k)
		for j := range k {
			graded.scaleColumn(j, math.Pow(10, -150*rnd.Float64()))
		}
		zero.scaleColumn(k/2, 0)
		copy(double.column(k-1), double.column(0))
		names := []string{"random", "graded", "zero column", "duplicate column", "identity", "zero", "smaller"}
		factors := []matrix{random, graded, zero, double, identity(k), newMatrix(k, k),
			randomUpper(rnd, max(k-1, 1))}
		for _, s := range append(schedules(k)[1:], RoundRobin(k+k%2+4)) { // a longer one than needed
			tally, r, tr := jacobi(t, b, factors, nil, kernels.JacobiOptions{Schedule: s, MaxSweeps: 30})
			for i, x := range factors {
				t.Run(names[i], func(t *testing.T) { checkJacobi(t, x, k, r[i], tr[i], tally[i], i == 3) })
			}
			for _, i := range []int{4, 5} { // I and 0: nothing to do
				if tally[i] != (kernels.Tally{}) {
					t.Errorf("k = %d, factor %d: tally %+v, want none", k, i, tally[i])
				}
				equal(t, tr[i], identity(k))
				equal(t, r[i], factors[i])
			}
		}
	}
	cancelling(t, b)
	rising := newMatrix(9, 9) // orthogonal, in the wrong order: without a proper rotation nothing is sorted
	for j := range 9 {
		rising.set(j, j, float64(j+1))
	}
	tally, r, tr := jacobi(t, b, []matrix{rising}, nil,
		kernels.JacobiOptions{Schedule: RoundRobin(10), MaxSweeps: 1})
	if tally[0] != (kernels.Tally{}) {
		t.Errorf("nothing to rotate: tally %+v", tally[0])
	}
	equal(t, tr[0], identity(9))
	equal(t, r[0], rising)
}

// cancelling tests what becomes of columns that differ in a tiny row alone: the shorter one is rounding
// errors but for that row, and becomes zero unless the columns are said to be independent.
func cancelling(t *testing.T, b kernels.Backend) {
	t.Helper()
	const tiny = 1e-20
	for _, positive := range []int{1, 2} {
		x := newMatrix(2, 2)
		x.set(0, 0, 1)
		x.set(0, 1, 0.5)
		x.set(1, 1, tiny)
		for _, independent := range []bool{false, true} {
			o := kernels.JacobiOptions{Schedule: RoundRobin(2), MaxSweeps: 1, Independent: independent}
			_, r, tr := jacobi(t, b, []matrix{x}, []int{positive}, o)
			want := tiny * math.Abs(tr[0].at(1, 1))
			if !independent {
				want = 0
			}
			if got := math.Abs(r[0].at(1, 1)); math.Abs(got-want) > 1e-14*want {
				t.Errorf("%d positive, independent %t: the tiny row of the shorter column is %g, want %g", positive,
					independent, got, want)
			}
		}
	}
}

// checkJacobi tests T and R·T for the factor x, the leading `positive` columns with sign +1. Where
// columns of x are dependent, elements of T that ought to be zero are as large as rounding errors of 1,
// so R·T is compared less strictly.
func checkJacobi(t *testing.T, x matrix, positive int, r, tr matrix, tally kernels.Tally, dependent bool) {
	t.Helper()
	k := x.n
	if e := orthogonality(tr, positive); !(e <= 8*math.Sqrt(float64(k))*2*roundoff) {
		t.Errorf("k = %d: max|TᵀJT − J| = %g", k, e)
	}
	want, bound := x.times(tr), x.abs().times(tr.abs())
	if dependent {
		bound = x.abs().times(ones(k))
	}
	norms := make([]float64, k)
	for j := range k {
		norms[j] = kernels.Norm2(r.column(j))
		for i := range k {
			if e := math.Abs(r.at(i, j) - want.at(i, j)); !(e <= 40*float64(k)*roundoff*(bound.at(i, j)+norms[j])) {
				t.Fatalf("k = %d: R·T(%d,%d) = %g, want %g", k, i, j, r.at(i, j), want.at(i, j))
			}
		}
	}
	largest := slices.Max(norms)
	before := make([]float64, k)
	for j := range k {
		before[j] = kernels.Norm2(x.column(j))
	}
	// Columns of very different norms may not meet in a proper rotation, and then stay where they are.
	graded := slices.Min(before) < 1e-3*slices.Max(before)
	for j := 1; j < k && !graded; j++ {
		larger, smaller := norms[j-1], norms[j]
		if j > positive {
			larger, smaller = smaller, larger
		}
		// equal norms may be computed as if out of order
		if j != positive && smaller > larger*(1+8*float64(k)*roundoff) {
			t.Errorf("k = %d: columns %d, %d not sorted: norms %g, %g", k, j-1, j, norms[j-1], norms[j])
		}
	}
	for j := range k {
		for i := range j {
			if min(norms[i], norms[j]) <= 0x1p-950*largest { // zero, or what rotations leave of a dependent column
				continue
			}
			c := math.Abs(dotScaled(r.column(i), r.column(j), norms[i], norms[j]))
			if !(c <= 4*kernels.Tolerance(k)) {
				t.Fatalf("k = %d: cosine of columns %d, %d is %g", k, i, j, c)
			}
		}
	}
	if tally.Proper > tally.Rotations || tally.Rotations > 0 && tally.Changed != 1 {
		t.Errorf("k = %d: tally %+v", k, tally)
	}
}

// dotScaled returns Σ(xᵢ/a)(yᵢ/b).
func dotScaled(x, y []float64, a, b float64) float64 {
	var s float64
	for i := range x {
		s += x[i] / a * (y[i] / b)
	}
	return s
}

// JacobiSweep tests one sweep against the same sweep in plain Go: the same rotations, T equal up to
// rounding errors, tallies added to what was there.
func JacobiSweep(t *testing.T, b kernels.Backend) {
	rnd := newRand(7)
	for _, k := range []int{2, 5, 16, 32, 63, 64} {
		for _, s := range schedules(k) {
			x := randomUpper(rnd, k)
			r, tr := x.clone(), identity(k)
			want := oneSweep(r, tr, s, k)
			f := newFactors(t, b, []matrix{x})
			f.Tally[0] = kernels.Tally{Rotations: 100, Proper: 10, Changed: 0, Broken: 1}
			must(t, b.Jacobi(&f.Batch, kernels.JacobiOptions{Schedule: s, MaxSweeps: 1}))
			got, gotR := f.tr[0].download(), f.r[0].download()
			want.Rotations += 100
			want.Proper += 10
			want.Broken = 1
			if f.Tally[0] != want {
				t.Errorf("k = %d: tally %+v, want %+v", k, f.Tally[0], want)
			}
			for i := range tr.a {
				if math.Abs(got.a[i]-tr.a[i]) > 1e-12 || math.Abs(gotR.a[i]-r.a[i]) > 1e-12 {
					t.Fatalf("k = %d: element %d: T %g, R·T %g, want %g, %g", k, i, got.a[i], gotR.a[i], tr.a[i],
						r.a[i])
				}
			}
		}
	}
}

// JacobiAccuracy tests that the singular values of a factor with graded columns are right to their last
// digits, however small they are.
func JacobiAccuracy(t *testing.T, b kernels.Backend) {
	const k = 16
	rnd := newRand(8)
	for _, decades := range []float64{0, 12, 30, 150, 250} {
		for _, sorted := range []bool{true, false} {
			x := randomUpper(rnd, k)
			for j := range k {
				at := float64(j) / (k - 1)
				if !sorted {
					at = rnd.Float64()
				}
				x.scaleColumn(j, math.Pow(10, -decades*at))
			}
			want := singularValues(x, k)
			for _, s := range schedules(k) {
				_, r, _ := jacobi(t, b, []matrix{x}, nil, kernels.JacobiOptions{Schedule: s, MaxSweeps: 30})
				var worst float64
				for j := range k {
					worst = math.Max(worst, math.Abs(kernels.Norm2(r[0].column(j))/want[j]-1))
				}
				if !(worst <= 100*roundoff) {
					t.Errorf("%g decades, sorted %t: relative error %g", decades, sorted, worst)
				}
			}
		}
	}
}

// JacobiScale tests that a factor times 2^e has the same T, bit by bit, and R·T times 2^e.
func JacobiScale(t *testing.T, b kernels.Backend) {
	const k = 31
	x := randomUpper(newRand(9), k)
	o := kernels.JacobiOptions{Schedule: RoundRobin(k + 1), MaxSweeps: 30}
	tally, r, tr := jacobi(t, b, []matrix{x}, nil, o)
	for _, e := range []int{-900, -600, 300, 1000} {
		y, want := x.clone(), r[0].clone()
		for j := range k {
			y.scaleColumn(j, math.Ldexp(1, e))
			want.scaleColumn(j, math.Ldexp(1, e))
		}
		gotTally, gotR, gotT := jacobi(t, b, []matrix{y}, nil, o)
		if gotTally[0] != tally[0] {
			t.Errorf("2^%d: tally %+v, want %+v", e, gotTally[0], tally[0])
		}
		equal(t, gotT[0], tr[0])
		equal(t, gotR[0], want)
	}
}
