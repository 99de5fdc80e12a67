package kerneltest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"jmpi/kernels"
)

// mostBias bounds the mean of the relative errors of the squared norms of thousands of columns, in units of
// ε. What has a bias is as many times wrong as there are steps; errors of both signs are not.
const mostBias = 0.05

// Bias tests that T does not make columns longer or shorter on average, and that products with it do not.
func Bias(t *testing.T, b kernels.Backend) {
	const columns = 2048
	for _, k := range []int{32, 64, 128} {
		for i, c := range []struct {
			shortest, angle float64 // see turned
			sorted          bool
			sweeps          int
		}{
			{0.5, 1, false, 1}, {1e-3, 1e-2, false, 1}, {1e-3, 1e-2, true, 1}, // early sweeps
			{0.5, 1e-6, true, 20}, {1e-3, 1e-7, true, 20}, // late ones: T is near the identity
			{0.5, 1e-8, false, 20}, {1e-3, 1e-7, false, 20}, // but for a permutation
		} {
			factors := turned(k, columns/k, c.shortest, c.angle, c.sorted)
			_, _, x := jacobi(t, b, factors, nil, kernels.JacobiOptions{Schedule: schedules(k)[i%2],
				MaxSweeps: c.sweeps})
			var sum float64
			for _, x := range x {
				for j := range k {
					sum += normExcess(x.column(j))
				}
			}
			what := fmt.Sprintf("k = %d, %+v", k, c)
			if mean := sum / columns / kernels.Epsilon; !(math.Abs(mean) <= mostBias) {
				t.Errorf("%s: the mean of ‖t_j‖² − 1 is %+.3f ε, more than %g ε", what, mean, mostBias)
			}
			if mean := productError(t, b, x) / kernels.Epsilon; !(math.Abs(mean) <= mostBias) {
				t.Errorf("%s: squared norms of products are off by %+.3f ε on average, more than %g ε", what, mean,
					mostBias)
			}
		}
	}
}

// turned returns upper triangular factors of order k. The norms of the columns are from 1 down to about
// `shortest`, the angles by which rotations turn them are about `angle` and more.
func turned(k, count int, shortest, angle float64, sorted bool) []matrix {
	rnd := newRand(k)
	factors := make([]matrix, count)
	for i := range factors {
		factors[i] = newMatrix(k, k)
		exponents := make([]float64, k)
		for j := range exponents {
			exponents[j] = rnd.Float64()
		}
		if sorted {
			slices.Sort(exponents)
		}
		for j := range k {
			for l := range j {
				factors[i].set(l, j, angle*rnd.NormFloat64())
			}
			factors[i].set(j, j, 1)
			factors[i].scaleColumn(j, math.Pow(shortest, exponents[j]))
		}
	}
	return factors
}

// normExcess returns ‖x‖² − 1, right to far more than ε.
func normExcess(x []float64) float64 {
	high, low := []float64{-1}, []float64{0}
	for _, e := range x {
		kernels.AddTwice(high, low, e, []float64{e})
	}
	return high[0] + low[0]
}

// productError returns the mean of the relative errors of the squared norms of the columns of products with
// x. The factors have elements near 1, and columns of several sizes.
func productError(t *testing.T, b kernels.Backend, x []matrix) float64 {
	t.Helper()
	const m = 200
	k := x[0].n
	rnd := newRand(k)
	var g []pivot
	for range x {
		a := newMatrix(m, k)
		for j := range k {
			for i := range m {
				a.set(i, j, 1+rnd.NormFloat64()/8)
			}
			a.scaleColumn(j, math.Pow(10, -3*rnd.Float64()))
		}
		g = append(g, split(a, k/2))
	}
	s := newBatch(t, b, g, nil)
	s.setT(t, b, x)
	for i := range s.Tally {
		s.Tally[i].Changed = 1
	}
	must(t, b.Multiply(&s.Batch))
	var sum float64
	for i := range g {
		a, got := g[i].join(), pivot{s.p[i].download(), s.q[i].download()}.join()
		for j := range k {
			high, low := make([]float64, m), make([]float64, m)
			for l := range k {
				kernels.AddTwice(high, low, x[i].at(l, j), a.column(l))
			}
			sum += squareError(got.column(j), high, low)
		}
	}
	return sum / float64(k*len(x))
}

// squareError returns the relative error of ‖y‖², where y is high + low but for rounding errors.
func squareError(y, high, low []float64) float64 {
	var square, e float64
	for i := range y {
		square += high[i] * high[i]
		e += 2 * high[i] * (y[i] - high[i] - low[i])
	}
	return e / square
}
