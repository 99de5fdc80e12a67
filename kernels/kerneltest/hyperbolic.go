package kerneltest

import (
	"math"
	"testing"

	"jmpi/kernels"
)

// positives are the numbers of columns with sign +1, of k, that are tried.
func positives(k int) []int {
	p := []int{0, 1, k / 2, k - 1}
	if k == 1 {
		return p[:1]
	}
	return p
}

// HyperbolicRotations tests single rotations bit by bit against kernels.Kind.Rotation. The factor has blocks
// [a b; 0 c] in rows and columns (i, i + k/2), whose Gram matrices [a² ab; ab b²+c²] are rounded in one way
// only, and the only p-step meets each block once: hyperbolic, trigonometric or with both signs −1.
func HyperbolicRotations(t *testing.T, b kernels.Backend) {
	rnd := newRand(11)
	for _, blocks := range []int{1, 3, 7, 9, 13} {
		k := 2 * blocks
		s := &kernels.Schedule{Order: k}
		for p := range int32(blocks) {
			s.Pairs = append(s.Pairs, p, p+int32(blocks))
		}
		var degenerate int64
		for round := range 40 {
			r := newMatrix(k, k)
			for p := range blocks {
				x, y, z := 1+rnd.Float64(), rnd.NormFloat64()*math.Pow(2, -40*rnd.Float64()),
					math.Pow(2, 20*(rnd.Float64()-0.5))
				switch rnd.IntN(8) {
				case 0:
					y = 0 // orthogonal columns
				case 1:
					y, z = x*0.75, x*0.5 // coth 2φ near 1
				case 2:
					y, z = -x, math.Pow(2, -30) // z² is lost beside y²: degenerate
				}
				r.set(p, p, x)
				r.set(p, p+blocks, y)
				r.set(p+blocks, p+blocks, z)
			}
			positive := blocks
			if round%2 == 1 {
				positive = rnd.IntN(k)
			}
			rotated, want := r.clone(), identity(k)
			tally := oneSweep(rotated, want, s, positive)
			o := kernels.JacobiOptions{Schedule: s, MaxSweeps: 1, Independent: round%4 < 2}
			if !o.Independent {
				cancel(r, want, rotated)
			}
			degenerate += tally.Degenerate
			got, rt, tr := jacobi(t, b, []matrix{r}, []int{positive}, o)
			if got[0] != tally {
				t.Fatalf("%d blocks: tally %+v, want %+v", blocks, got[0], tally)
			}
			for i, v := range rotated.a {
				if v != rt[0].a[i] { // equal, but for the sign of zeros
					t.Fatalf("%d blocks: element %d of R·T is %v, want %v", blocks, i, rt[0].a[i], v)
				}
			}
			for i, v := range want.a { // T is made J-orthogonal after the rotations
				c := kernels.Norm2(want.column(i / k))
				if math.Abs(v-tr[0].a[i]) > 8*kernels.UnitRoundoff*c*c*c {
					t.Fatalf("%d blocks: element %d of T is %v, want %v", blocks, i, tr[0].a[i], v)
				}
			}
		}
		if degenerate == 0 {
			t.Errorf("%d blocks: no degenerate rotation was tried", blocks)
		}
	}
}

// HyperbolicJacobi tests full sweeps: T J-orthogonal, R·T right, its columns orthogonal and sorted within
// each sign, and R·J·Rᵀ what it was. A batch has problems with all the numbers of positive columns,
// trigonometric ones among them.
func HyperbolicJacobi(t *testing.T, b kernels.Backend) {
	rnd := newRand(12)
	for _, k := range []int{1, 2, 3, 8, 15, 16, 31, 33, 64, 95, 128} {
		if k > b.Limits().PointwiseOrder {
			continue
		}
		var factors []matrix
		var positive []int
		for _, p := range append(positives(k), k) {
			random, graded, zero, double, half := randomUpper(rnd, k), randomUpper(rnd, k), randomUpper(rnd, k),
				randomUpper(rnd, k), randomUpper(rnd, k)
			for j := range k {
				graded.scaleColumn(j, math.Pow(10, -150*rnd.Float64()))
			}
			zero.scaleColumn(k/2, 0)
			for _, x := range []matrix{double, half} { // parallel columns, of the same sign unless p = k−1
				copy(x.column(k-1), x.column(max(k-2, 0)))
			}
			half.scaleColumn(k-1, 0.5)
			factors = append(factors, random, graded, zero, identity(k), newMatrix(k, k), double, half)
			positive = append(positive, p, p, p, p, p, p, p)
		}
		for _, s := range schedules(k) {
			tally, r, tr := jacobi(t, b, factors, positive, kernels.JacobiOptions{Schedule: s, MaxSweeps: 30})
			for i, x := range factors {
				checkHyperbolic(t, x, positive[i], i%7, r[i], tr[i], tally[i])
			}
		}
	}
}

// checkHyperbolic tests what has become of a factor of HyperbolicJacobi.
func checkHyperbolic(t *testing.T, x matrix, positive, which int, r, tr matrix, tally kernels.Tally) {
	t.Helper()
	k := x.n
	switch only := positive == k-1 && k > 1; {
	case which == 3 || which == 4: // I and 0: nothing to do
		if tally != (kernels.Tally{}) {
			t.Errorf("k = %d, %d positive: tally %+v, want none", k, positive, tally)
		}
		equal(t, tr, identity(k))
		equal(t, r, x)
	case which == 5 && only:
		checkNone(t, r, tr, tally)
	default:
		checkJacobi(t, x, positive, r, tr, tally, which > 4)
		checkSignedGram(t, x, r, tr, positive)
		if last := kernels.Norm2(r.column(k - 1)); which == 6 && only && last != 0 {
			t.Errorf("k = %d: the only column with sign −1, half of another, becomes one of norm %g, want 0", k, last)
		}
		if tally.Degenerate != 0 {
			t.Errorf("k = %d, %d positive: tally %+v", k, positive, tally)
		}
	}
}

// checkNone tests what becomes of two equal columns with different signs: there is no hyperbolic SVD. Either
// the two meet unchanged, and their rotation is degenerate, or they are all but equal after other rotations,
// and become shorter and shorter while T grows, until they are nothing but rounding errors.
func checkNone(t *testing.T, r, tr matrix, tally kernels.Tally) {
	t.Helper()
	k := r.n
	var growth float64
	for j := range k {
		growth = math.Max(growth, kernels.Norm2(tr.column(j)))
	}
	small := math.Max(kernels.Norm2(r.column(k-2)), kernels.Norm2(r.column(k-1)))
	if !(small < 1e-6 && growth > 1e6) || k == 2 && tally.Degenerate == 0 {
		t.Errorf("k = %d: equal columns with different signs have the norm %g, T the norm %g: tally %+v", k, small,
			growth, tally)
	}
}

// checkSignedGram tests that |R'·J·R'ᵀ − R·J·Rᵀ| ≤ 40k·u·(|R|·|T|)·(|R|·|T|)ᵀ for R' = R·T, which holds if
// T·J·Tᵀ = J, so if TᵀJT = J.
func checkSignedGram(t *testing.T, x, r, tr matrix, positive int) {
	t.Helper()
	k := x.n
	signed := func(a matrix) matrix {
		b := a.clone()
		for j := positive; j < k; j++ {
			b.scaleColumn(j, -1)
		}
		return b.times(a.transpose())
	}
	got, want, size := signed(r), signed(x), x.abs().times(tr.abs())
	bound := size.times(size.transpose())
	for i := range got.a {
		if e := math.Abs(got.a[i] - want.a[i]); !(e <= 40*float64(k)*roundoff*bound.a[i]) {
			t.Fatalf("k = %d, %d positive: element %d of R·J·Rᵀ is %g after the rotations, %g before", k, positive, i,
				got.a[i], want.a[i])
		}
	}
}

// HyperbolicSweep tests one sweep against the same sweep in plain Go: the same rotations, T equal
// up to rounding errors.
func HyperbolicSweep(t *testing.T, b kernels.Backend) {
	rnd := newRand(13)
	for _, k := range []int{2, 5, 16, 32, 63, 64} {
		for _, s := range schedules(k) {
			for _, p := range positives(k) {
				x := randomUpper(rnd, k)
				r, tr := x.clone(), identity(k)
				want := oneSweep(r, tr, s, p)
				tally, gotR, got := jacobi(t, b, []matrix{x}, []int{p},
					kernels.JacobiOptions{Schedule: s, MaxSweeps: 1})
				if tally[0] != want {
					t.Errorf("k = %d, %d positive: tally %+v, want %+v", k, p, tally[0], want)
				}
				for i := range tr.a {
					if math.Abs(got[0].a[i]-tr.a[i]) > 1e-11 || math.Abs(gotR[0].a[i]-r.a[i]) > 1e-11 {
						t.Fatalf("k = %d, %d positive: element %d: T %g, R·T %g, want %g, %g", k, p, i, got[0].a[i],
							gotR[0].a[i], tr.a[i], r.a[i])
					}
				}
			}
		}
	}
}

// HyperbolicAccuracy tests that the hyperbolic singular values of a factor with graded columns are right to
// their last digits, but for the condition of V, however small they are.
func HyperbolicAccuracy(t *testing.T, b kernels.Backend) {
	const k = 16
	rnd := newRand(14)
	for _, decades := range []float64{0, 12, 30, 150, 250} {
		for _, p := range positives(k) {
			x := randomUpper(rnd, k)
			for j := range k {
				x.scaleColumn(j, math.Pow(10, -decades*rnd.Float64()))
			}
			want := singularValues(x, p)
			for _, s := range schedules(k) {
				_, r, tr := jacobi(t, b, []matrix{x}, []int{p}, kernels.JacobiOptions{Schedule: s, MaxSweeps: 30})
				norms := make([]float64, k)
				for j := range k {
					norms[j] = kernels.Norm2(r[0].column(j))
				}
				sortSigned(norms, p)
				var worst, v float64
				for j := range k {
					worst = math.Max(worst, math.Abs(norms[j]/want[j]-1))
					v = math.Max(v, kernels.Norm2(tr[0].column(j)))
				}
				if !(worst <= 100*v*v*roundoff) {
					t.Errorf("%g decades, %d positive: relative error %g", decades, p, worst)
				}
			}
		}
	}
}
