package dense

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"jmpi/kernels"
)

const eps = kernels.Epsilon

// graded returns a random m×n matrix with row i scaled by rows[i] and column j by columns[j]; nil for 1.
func graded(seed uint64, m, n int, rows, columns func(int) float64) []float64 {
	random := rand.New(rand.NewPCG(seed, 1))
	a := make([]float64, m*n)
	for j := range n {
		for i := range m {
			x := random.NormFloat64()
			if rows != nil {
				x *= rows(i)
			}
			if columns != nil {
				x *= columns(j)
			}
			a[i+j*m] = x
		}
	}
	return a
}

func TestFactor(t *testing.T) {
	falling := func(i int) float64 { return math.Pow(10, -float64(i)/2) }
	rising := func(i int) float64 { return math.Pow(10, float64(i)/2-260) }
	for _, shape := range [][2]int{{1, 1}, {5, 1}, {7, 7}, {40, 13}, {300, 32}, {9, 20}} {
		for name, scale := range map[string][2]func(int) float64{
			"plain": {}, "rows": {falling, nil}, "columns": {nil, rising}, "both": {falling, falling},
		} {
			for _, pivot := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d×%d/%s/%t", shape[0], shape[1], name, pivot), func(t *testing.T) {
					testFactor(t, shape[0], shape[1], graded(3, shape[0], shape[1], scale[0], scale[1]), pivot)
				})
			}
		}
	}
}

// testFactor compares Q·R with the columns that were taken, row by row where the rows are graded,
// and column by column.
func testFactor(t *testing.T, m, n int, a []float64, pivot bool) {
	p := FactorPivoted(m, n, slices.Clone(a), 0, Noise{}, kernels.Dropping{})
	if !pivot {
		p = Factor(m, n, slices.Clone(a))
	}
	if p.Count != min(m, n) {
		t.Fatalf("%d columns were taken, want %d", p.Count, min(m, n))
	}
	r := p.Count
	qr := make([]float64, m*r)
	for j := range r {
		copy(qr[j*m:], p.R[j*r:j*r+j+1])
	}
	p.Apply(false, r, qr, m)
	row := make([]float64, m)
	for i := range m {
		for j := range n {
			row[i] = max(row[i], math.Abs(a[i+j*m]))
		}
	}
	for j, c := range p.Pivots {
		length := Norm(a[c*m : (c+1)*m])
		for i := range m {
			bound := float64(20*m) * eps * length
			if pivot { // the rows are sorted
				bound = min(bound, float64(100*m)*eps*row[i])
			}
			if d := math.Abs(qr[i+j*m] - a[i+c*m]); !(d <= bound) {
				t.Fatalf("row %d, column %d: Q·R is off by %g, bound %g", i, c, d, bound)
			}
		}
	}
	if pivot {
		for j := 1; j < r; j++ {
			if x, y := math.Abs(p.R[j-1+(j-1)*r]), math.Abs(p.R[j+j*r]); y > x*(1+1e-12) {
				t.Errorf("the diagonal of R rises from %g to %g at %d", x, y, j)
			}
		}
	}
	q := make([]float64, m*m)
	for i := range m {
		q[i+i*m] = 1
	}
	p.Apply(false, m, q, m)
	p.Apply(true, m, q, m)
	for j := range m {
		for i := range m {
			want := 0.0
			if i == j {
				want = 1
			}
			if d := math.Abs(q[i+j*m] - want); d > float64(10*r)*eps {
				t.Fatalf("Qᵀ·Q is off by %g at (%d,%d)", d, i, j)
			}
		}
	}
}

// A panel ends before a pivot that the columns outside could beat.
func TestFactorStops(t *testing.T) {
	a := graded(5, 50, 8, nil, func(j int) float64 { return math.Pow(4, -float64(j)) })
	longest := Norm(a[:50])
	p := FactorPivoted(50, 8, slices.Clone(a), longest/10, Noise{}, kernels.Dropping{})
	if p.Count != 3 { // lengths 1, 1/4, 1/16; 1/64 is less than 1/20
		t.Errorf("%d columns were taken, want 3", p.Count)
	}
	if p := FactorPivoted(50, 8, a, 4*longest, Noise{}, kernels.Dropping{}); p.Count != 1 {
		t.Errorf("%d columns were taken, want the first alone", p.Count)
	}
	for _, m := range []int{6, 600} {
		if p := FactorPivoted(m, 3, make([]float64, 3*m), 0, Noise{}, kernels.Dropping{}); p.Count != 0 {
			t.Errorf("%d columns of a zero panel of %d rows were taken", p.Count, m)
		}
	}
}

// Sums of a few large terms and many equal small ones are rounded in one direction if they are formed one
// after the other; Q must be orthogonal anyway.
func TestApplyToEqualRows(t *testing.T) {
	for _, m := range []int{100, 310, 1000, 5000} {
		a := make([]float64, 2*m)
		for i := range m {
			a[i], a[m+i] = 1, 1e5
		}
		a[m] = 3 // the remainder of column 2 is that of a unit vector
		p := FactorPivoted(m, 2, a, 0, Noise{}, kernels.Dropping{})
		if p.Count != 2 {
			t.Fatalf("%d rows: rank %d", m, p.Count)
		}
		c := make([]float64, m) // a unit vector, but for rounding errors
		c[0] = math.Sqrt(0.75)
		for i := 1; i < m; i++ {
			c[i] = 0.5 / math.Sqrt(float64(m-1)) * 1e-10
		}
		c[1] = 0.5
		square := func() *big.Float {
			s := new(big.Float).SetPrec(200)
			for _, x := range c {
				b := new(big.Float).SetPrec(200).SetFloat64(x)
				s.Add(s, b.Mul(b, b))
			}
			return s
		}
		before := square()
		for _, transposed := range []bool{false, true, false} {
			p.Apply(transposed, 1, c, m)
			if d, _ := new(big.Float).Sub(square(), before).Float64(); math.Abs(d) > 30*eps {
				t.Errorf("%d rows: Q changes the square of a norm by %g", m, d)
			}
		}
	}
}
