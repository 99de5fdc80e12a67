package dense

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const eps = 0x1p-52

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

// testFactor compares Q·R with the columns that were taken, row by row where the rows are graded, and column by column.
func testFactor(t *testing.T, m, n int, a []float64, pivot bool) {
	p := FactorPivoted(m, n, slices.Clone(a), 0)
	if !pivot {
		var err error
		if p, err = Factor(m, n, slices.Clone(a)); err != nil {
			t.Fatal(err)
		}
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
	p := FactorPivoted(50, 8, slices.Clone(a), longest/10)
	if p.Count != 3 { // lengths 1, 1/4, 1/16; 1/64 is less than 1/20
		t.Errorf("%d columns were taken, want 3", p.Count)
	}
	if p := FactorPivoted(50, 8, a, 4*longest); p.Count != 1 {
		t.Errorf("%d columns were taken, want the first alone", p.Count)
	}
	if p := FactorPivoted(6, 3, make([]float64, 18), 0); p.Count != 0 {
		t.Errorf("%d columns of a zero panel were taken", p.Count)
	}
}

func TestQR(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {6, 4}, {200, 30}, {3, 5}} {
		m, n := shape[0], shape[1]
		a := graded(7, m, n, nil, nil)
		f := slices.Clone(a)
		tau, err := QR(m, n, f, m)
		if err != nil {
			t.Fatal(err)
		}
		r := make([]float64, m*n)
		for j := range n {
			copy(r[j*m:j*m+min(j+1, m)], f[j*m:])
		}
		if err := ApplyQ(m, n, f, m, tau, r, m); err != nil {
			t.Fatal(err)
		}
		for i := range a {
			if d := math.Abs(r[i] - a[i]); d > 1e-13 {
				t.Fatalf("%d×%d: Q·R is off by %g", m, n, d)
			}
		}
	}
}
