package dist

import (
	"fmt"
	"math"
	"testing"

	"jmpi/dist/disttest"
	"jmpi/dist/jacobi"
	"jmpi/internal/gen"
	"jmpi/internal/reference"
	"jmpi/kernels"
)

// A kernel gives the elements of matrices of which the spectrum decays; n is the number of columns,
// and m = n·tall that of rows.
type kernel struct {
	name string
	tall int
	at   func(i, j, n float64) float64
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// decaying are kernels of many kinds: bandlimited or not, positive or not, symmetric or not, of
// every speed of decay.
var decaying = []kernel{
	{"gauss-20", 1, func(i, j, n float64) float64 { return math.Exp(-(i - j) * (i - j) / 400) }},
	{"gauss-n", 1, func(i, j, n float64) float64 { return math.Exp(-(i - j) * (i - j) / (n * n)) }},
	{"gauss-wide", 1, func(i, j, n float64) float64 { return math.Exp(-(i - j) * (i - j) / (900 * n * n)) }},
	{"gauss-tall", 2, func(i, j, n float64) float64 { return math.Exp(-(i/2 - j) * (i/2 - j) / 400) }},
	{"gauss-slabs", 5, func(i, j, n float64) float64 { return math.Exp(-(i/5 - j) * (i/5 - j) / 400) }},
	{"derivative", 1, func(i, j, n float64) float64 { return (i - j) * math.Exp(-(i-j)*(i-j)/400) }},
	{"sinc-0.1", 1, func(i, j, n float64) float64 { return 0.1 * sinc(0.1*(i-j)) }},
	{"sinc-0.5", 1, func(i, j, n float64) float64 { return 0.5 * sinc(0.5*(i-j)) }},
	{"sinc-tall", 2, func(i, j, n float64) float64 { return 0.5 * sinc(0.5*(i/2-j)) }},
	{"exponential", 1, func(i, j, n float64) float64 { return math.Exp(-math.Abs(i-j) / 20) }},
	{"matern", 1, func(i, j, n float64) float64 {
		r := math.Sqrt(5) * math.Abs(i-j) / 20
		return (1 + r + r*r/3) * math.Exp(-r)
	}},
	{"lorentz", 1, func(i, j, n float64) float64 { return 1 / (1 + (i-j)*(i-j)/(n*n/4)) }},
	{"multiquadric", 1, func(i, j, n float64) float64 { return math.Sqrt(1 + (i-j)*(i-j)/400) }},
	{"cauchy", 1, func(i, j, n float64) float64 { return 1 / (i + j + 0.5) }},
	{"hilbert-tall", 3, func(i, j, n float64) float64 { return 1 / (i + j + 1) }},
	{"loewner", 1, func(i, j, n float64) float64 { return 1 / (1 + (i+1)/(j+1)) }},
	{"laplace", 1, func(i, j, n float64) float64 { return math.Exp(-(i + 1) * (j + 1) / n) }},
	{"logistic", 1, func(i, j, n float64) float64 { return 1 / (1 + math.Exp((i-j)/5)) }},
	{"vandermonde", 2, func(i, j, n float64) float64 { return math.Cos(j * i / (2 * n)) }},
}

// matrix returns the elements, by columns.
func (k kernel) matrix(n int) (m int, a []float64) {
	m = k.tall * n
	for j := range n {
		for i := range m {
			a = append(a, k.at(float64(i), float64(j), float64(n)))
		}
	}
	return m, a
}

// sigmaOf returns the singular values of an m×n matrix, right to an eighth of ε times the largest. The
// smallest ones of some kernels are too small for the reference; below the matrix with δ·I under it they are
// not, and the others, √(σ² + δ²), are the same.
func sigmaOf(t *testing.T, m, n int, a []float64) []float64 {
	t.Helper()
	longest := 0.0
	for j := range n {
		longest = max(longest, kernels.Norm2(a[j*m:(j+1)*m]))
	}
	rows := m + n
	x := make([]float64, rows*n)
	for j := range n {
		copy(x[j*rows:], a[j*m:(j+1)*m])
		x[j*rows+m+j] = kernels.Epsilon / 8 * longest
	}
	sigma, err := reference.Sigma(x, rows, n, rows)
	if err != nil {
		t.Fatal(err)
	}
	return sigma
}

// sigmaLimit bounds the errors of singular values, in units of ε times the largest. Without a preconditioner
// there are more sweeps, and where half of the singular values are about the largest, some of them come to 4;
// a preconditioner that is asked for adds its own errors.
func sigmaLimit(asked Preconditioner, used string) float64 {
	switch {
	case used == "none":
		return 5
	case asked != AutoPreconditioner:
		return 4
	}
	return 3
}

// sigmaError returns the largest error, and which singular value has it.
func sigmaError(got, want []float64) (largest float64, at int) {
	for k, x := range want {
		if e := math.Abs(got[k]-x) / (kernels.Epsilon * want[0]); !(e <= largest) {
			largest, at = e, k
		}
	}
	return largest, at
}

// testDecaying is a test of all kinds of devices: where the spectrum decays, all singular values are right to
// some units of the rounding error.
func testDecaying(t *testing.T, run runTask, n int, numbersOfRanks ...int) {
	for _, k := range decaying {
		m, a := k.matrix(n)
		want := sigmaOf(t, m, n, a)
		for _, ranks := range numbersOfRanks {
			for _, precondition := range []Preconditioner{AutoPreconditioner, NoPreconditioner, QR, QRCP, QRCPLQ} {
				task := Task{M: m, N: n, Precondition: precondition, Settings: jacobi.Settings{Variant: jacobi.Full}}
				o, err := run(t, a, ranks, task)
				if err != nil {
					t.Fatal(err)
				}
				e, at := sigmaError(o.s, want)
				if !(e <= sigmaLimit(precondition, o.Precondition.Used)) {
					t.Errorf("%s %d×%d, %s on %d: σ_%d of rank %d is off by %.1f ε·σ₁", k.name, m, n, precondition,
						ranks, at+1, o.Rank.Value, e)
				}
			}
		}
	}
}

func TestDecaying(t *testing.T) {
	if testing.Short() {
		t.Skip("compares with many digits, which takes minutes with the race detector")
	}
	for _, n := range []int{32, 64} {
		testDecaying(t, onCPUs, n, 1, 3)
	}
	testDecaying(t, onCPUs, 150, 2)
}

// The retained noise of kernels does not depend on how the devices are split into ranks.
func TestDecayingBits(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute with the race detector")
	}
	for i, k := range decaying {
		if i%3 != 0 {
			continue
		}
		m, a := k.matrix(150)
		for _, precondition := range []Preconditioner{QR, QRCPLQ} {
			task := both(m, 150)
			task.Precondition = precondition
			one := find(t, a, 1, 1, task)
			one.verify(t, a, 4)
			for _, grid := range [][2]int{{2, 1}, {1, 2}, {4, 1}} {
				find(t, a, grid[0], grid[1], task).sameBits(t, one, fmt.Sprintf("%s %d×%d", k.name, grid[0], grid[1]))
			}
		}
	}
}

// Dependent columns of exact products become zero, however many there are: the rounding errors of a pivot add
// up in all that depend on it, but they lie in the space of the rows of R.
func TestDependentColumnsBecomeZero(t *testing.T) {
	for _, c := range [][2]int{{64, 16}, {128, 4}, {128, 32}, {256, 1}, {256, 64}, {300, 150}} {
		n, rank := c[0], c[1]
		a := disttest.Generate(t, "lowrank", gen.Options{Rows: int64(n), Cols: int64(n), Seed: 1,
			Rank: int64(rank)})
		task := both(n, n)
		task.Precondition = QRCPLQ
		o := find(t, a, 2, 1, task)
		if o.Rank.Value != rank || o.s[rank-1] == 0 || o.s[rank] != 0 {
			t.Errorf("%d columns of rank %d: rank %+v, σ = … %g, %g …", n, rank, o.Rank, o.s[rank-1], o.s[rank])
		}
		o.verify(t, a, 4)
	}
}
