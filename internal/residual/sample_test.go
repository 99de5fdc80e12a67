package residual

import (
	"math"
	"math/rand/v2"
	"testing"
)

// rotated returns an orthogonal m×n matrix: columns of a product of two reflectors.
func reflected(m, n int, seed uint64) []float64 {
	r, q := rand.New(rand.NewPCG(seed, 0)), make([]float64, m*n)
	for j := range n {
		q[j*m+j] = 1
	}
	for range 2 {
		v, norm := make([]float64, m), 0.0
		for i := range v {
			v[i] = r.NormFloat64()
			norm += v[i] * v[i]
		}
		for j := range n {
			dot := 0.0
			for i, x := range v {
				dot += x * q[j*m+i]
			}
			for i, x := range v {
				q[j*m+i] -= 2 * dot / norm * x
			}
		}
	}
	return q
}

// An exact decomposition passes, and a disturbance of U, of V, or of A is measured to some ten percent.
func TestSample(t *testing.T) {
	const m, n = 90, 60
	for name, size := range map[string]float64{"": 0, "residual": 1e-9, "orthU": 1e-9, "orthV": 1e-9} {
		u, v, sigma, a := reflected(m, n, 1), reflected(n, n, 2), make([]float64, n), make([]float64, m*n)
		for k := range sigma {
			sigma[k] = float64(n - k)
			for j := range n {
				for i := range m {
					a[j*m+i] += u[k*m+i] * sigma[k] * v[k*n+j]
				}
			}
		}
		norm := 0.0
		for _, s := range sigma {
			norm += s * s
		}
		want := 0.0
		switch name {
		case "residual": // in one column, which has no part in the rest
			for i := range m {
				a[3*m+i] += size
			}
			want = size * math.Sqrt(m) / (math.Sqrt(norm) * m * epsilon)
		case "orthU":
			for i := range m {
				u[i] += size * u[m+i] // u₁ᵀ·u₂ becomes size
			}
			want = size * math.Sqrt2 / (n * epsilon)
		case "orthV":
			for i := range n {
				v[i] += size * v[n+i]
			}
			want = size * math.Sqrt2 / (n * epsilon)
		}
		half := n / 2
		f := Factors{M: m, N: n, Sigma: sigma,
			A: []Block{{0, 0, m, n, m, a}},
			U: []Block{{0, 0, 50, n, m, u}, {50, 0, m - 50, n, m, u[50:]}},
			V: []Block{{0, 0, n, half, n, v}, {0, half, n, n - half, n, v[half*n:]}}}
		rows, err := f.Sample()
		if err != nil {
			t.Fatal(err)
		}
		for row, got := range rows {
			switch {
			case row == name && !(got > want/3 && got < 3*want):
				t.Errorf("%s is %g, want about %g", row, got, want)
			case name == "" && !(got < 10):
				t.Errorf("%s of an exact decomposition is %g", row, got)
			}
		}
	}
	if _, err := (Factors{M: 1, N: 1}).Sample(); err == nil {
		t.Error("no singular values, and no error")
	}
}

// What processes have of a decomposition is added up.
func TestSampleOfParts(t *testing.T) {
	const n = 40
	u := reflected(n, n, 3)
	ones := make([]float64, n)
	identity := make([]float64, n*n)
	for i := range ones {
		ones[i], identity[i*(n+1)] = 1, 1
	}
	f := Factors{M: n, N: n, Sigma: ones, A: []Block{{0, 0, n, n, n, u}}, U: []Block{{0, 0, n, n, n, u}},
		V: []Block{{0, 0, n, n, n, identity}}}
	calls := 0
	f.Sum = func(x []float64) error { // the others have nothing
		calls++
		return nil
	}
	rows, err := f.Sample()
	if err != nil || calls == 0 || !(rows["residual"] < 10 && rows["orthU"] < 10 && rows["orthV"] < 10) {
		t.Errorf("%v, %v, %d sums", rows, err, calls)
	}
}
