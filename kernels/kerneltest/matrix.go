package kerneltest

import (
	"math"
	"math/rand/v2"
	"testing"

	"jmpi/kernels"
)

// roundoff is u in the comments.
const roundoff = kernels.UnitRoundoff

// matrix is an m×n matrix on the host, column-major, without padding.
type matrix struct {
	m, n int
	a    []float64
}

func newMatrix(m, n int) matrix { return matrix{m, n, make([]float64, m*n)} }

func nan(m, n int) matrix {
	x := newMatrix(m, n)
	for i := range x.a {
		x.a[i] = math.NaN()
	}
	return x
}

func identity(n int) matrix {
	x := newMatrix(n, n)
	for i := range n {
		x.set(i, i, 1)
	}
	return x
}

// ones returns the n×n matrix of ones.
func ones(n int) matrix {
	x := newMatrix(n, n)
	for i := range x.a {
		x.a[i] = 1
	}
	return x
}

// random returns a matrix of normally distributed elements.
func random(rnd *rand.Rand, m, n int) matrix {
	x := newMatrix(m, n)
	for i := range x.a {
		x.a[i] = rnd.NormFloat64()
	}
	return x
}

// randomUpper returns a well-conditioned upper triangular matrix.
func randomUpper(rnd *rand.Rand, n int) matrix {
	x := newMatrix(n, n)
	for j := range n {
		for i := range j {
			x.set(i, j, rnd.NormFloat64()/math.Sqrt(float64(n)))
		}
		x.set(j, j, 1+rnd.Float64())
	}
	return x
}

func newRand(seed int) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 1)) }

func (x matrix) at(i, j int) float64       { return x.a[i+j*x.m] }
func (x matrix) set(i, j int, v float64)   { x.a[i+j*x.m] = v }
func (x matrix) column(j int) []float64    { return x.a[j*x.m : (j+1)*x.m] }
func (x matrix) columns(j0, j1 int) matrix { return matrix{x.m, j1 - j0, x.a[j0*x.m : j1*x.m]} }
func (x matrix) clone() matrix             { return matrix{x.m, x.n, append([]float64(nil), x.a...)} }

// scaleColumn multiplies column j by c.
func (x matrix) scaleColumn(j int, c float64) {
	for i := range x.m {
		x.set(i, j, c*x.at(i, j))
	}
}

// times returns x·y.
func (x matrix) times(y matrix) matrix {
	z := newMatrix(x.m, y.n)
	for j := range y.n {
		for l := range x.n {
			for i := range x.m {
				z.a[i+j*z.m] += x.at(i, l) * y.at(l, j)
			}
		}
	}
	return z
}

// transpose returns xᵀ.
func (x matrix) transpose() matrix {
	y := newMatrix(x.n, x.m)
	for j := range x.n {
		for i := range x.m {
			y.set(j, i, x.at(i, j))
		}
	}
	return y
}

// abs returns the matrix of the |xᵢⱼ|.
func (x matrix) abs() matrix {
	y := x.clone()
	for i, v := range y.a {
		y.a[i] = math.Abs(v)
	}
	return y
}

// gram returns xᵀx.
func (x matrix) gram() matrix {
	z := newMatrix(x.n, x.n)
	for j := range x.n {
		for i := range x.n {
			z.set(i, j, dot(x.column(i), x.column(j)))
		}
	}
	return z
}

func dot(x, y []float64) float64 {
	var s float64
	for i := range x {
		s += float64(x[i] * y[i]) // rounded, also where the compiler could fuse
	}
	return s
}

// pivot is a block-pair [p q] on the host.
type pivot struct{ p, q matrix }

// join returns [p q] as one matrix.
func (g pivot) join() matrix {
	return matrix{g.p.m, g.p.n + g.q.n, append(append([]float64(nil), g.p.a...), g.q.a...)}
}

// split cuts x after p columns.
func split(x matrix, p int) pivot {
	return pivot{matrix{x.m, p, x.a[:x.m*p]}, matrix{x.m, x.n - p, x.a[x.m*p:]}}
}

// same tells whether two numbers are equal bit by bit.
func same(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }

// SameBits compares the numbers of some problems bit by bit.
func SameBits(t *testing.T, what string, got, want [][]float64) {
	t.Helper()
	for i := range want {
		for j := range want[i] {
			if math.Float64bits(got[i][j]) != math.Float64bits(want[i][j]) {
				t.Fatalf("%s: problem %d, number %d is %v, want %v", what, i, j, got[i][j], want[i][j])
			}
		}
	}
}
