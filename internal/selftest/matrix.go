package selftest

import (
	"math"
	"math/rand/v2"

	"jmpi/kernels"
)

// matrix is an m×n matrix on the host, column-major without gaps.
type matrix struct {
	m, n int
	a    []float64
}

func zeros(m, n int) matrix { return matrix{m, n, make([]float64, m*n)} }

// gauss returns a matrix of normally distributed numbers.
func gauss(r *rand.Rand, m, n int) matrix {
	x := zeros(m, n)
	for i := range x.a {
		x.a[i] = r.NormFloat64()
	}
	return x
}

func identity(n int) matrix {
	x := zeros(n, n)
	for j := range n {
		x.a[j+j*n] = 1
	}
	return x
}

func (x matrix) column(j int) []float64 { return x.a[j*x.m : (j+1)*x.m] }
func (x matrix) clone() matrix          { return matrix{x.m, x.n, append([]float64(nil), x.a...)} }

// scale multiplies column j.
func (x matrix) scale(j int, factor float64) {
	for i, v := range x.column(j) {
		x.a[i+j*x.m] = v * factor
	}
}

// norms returns the norms of the columns.
func (x matrix) norms() []float64 {
	norms := make([]float64, x.n)
	for j := range norms {
		norms[j] = kernels.Norm2(x.column(j))
	}
	return norms
}

// gram returns XᵀX, with column j of X divided by scale[j] if that is not 0.
func (x matrix) gram(scale []float64) matrix {
	x = x.clone()
	for j, s := range scale {
		if s != 0 {
			for i := range x.column(j) {
				x.a[i+j*x.m] /= s
			}
		}
	}
	g := zeros(x.n, x.n)
	for j := range x.n {
		for i := range j + 1 {
			var sum float64
			for l, v := range x.column(i) {
				sum += v * x.a[l+j*x.m]
			}
			g.a[i+j*x.n], g.a[j+i*x.n] = sum, sum
		}
	}
	return g
}

// absTimes returns |X|·|Y|.
func (x matrix) absTimes(y matrix) matrix {
	z := zeros(x.m, y.n)
	for j := range y.n {
		for l, factor := range y.column(j) {
			for i, v := range x.column(l) {
				z.a[i+j*z.m] += math.Abs(v) * math.Abs(factor)
			}
		}
	}
	return z
}

// differing counts the elements that are not equal; zeros of either sign are.
func (x matrix) differing(y matrix) (count int) {
	for i, v := range x.a {
		if v != y.a[i] {
			count++
		}
	}
	return count
}
