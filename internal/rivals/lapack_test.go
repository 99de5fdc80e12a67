package rivals

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// eps is the distance of 1 to the next larger number.
const eps = 0x1p-52

func openOrSkip(t *testing.T) *LAPACK {
	t.Helper()
	l, err := OpenLAPACK()
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	return l
}

// gauss returns a reproducible m×n matrix.
func gauss(m, n int) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	a := make([]float64, m*n)
	for i := range a {
		a[i] = r.NormFloat64()
	}
	return a
}

// checkSVD is checkWithin for tol = 10·max(m,n)·ε.
func checkSVD(t *testing.T, m, n int, a []float64, r Result) {
	t.Helper()
	checkWithin(t, 10*float64(max(m, n))*eps, m, n, a, r)
}

// checkWithin tests shapes, order, ‖A − UΣVᵀ‖_F ≤ tol·‖A‖_F and ‖UᵀU − I‖_F, ‖VᵀV − I‖_F ≤ tol.
func checkWithin(t *testing.T, tol float64, m, n int, a []float64, r Result) {
	t.Helper()
	k := min(m, n)
	if len(r.Sigma) != k || len(r.U) != m*k || len(r.V) != n*k {
		t.Fatalf("lengths of σ, U, V are %d, %d, %d; want %d, %d, %d", len(r.Sigma), len(r.U), len(r.V), k, m*k,
			n*k)
	}
	if !slices.IsSortedFunc(r.Sigma, func(x, y float64) int { return cmp.Compare(y, x) }) {
		t.Errorf("σ is not in descending order: %v", r.Sigma)
	}
	var residual, norm float64
	for j := range n {
		for i := range m {
			x := a[i+j*m]
			norm += x * x
			for l := range k {
				x -= r.U[i+l*m] * r.Sigma[l] * r.V[j+l*n]
			}
			residual += x * x
		}
	}
	if residual, norm = math.Sqrt(residual), math.Sqrt(norm); !(residual <= tol*norm) {
		t.Errorf("‖A − UΣVᵀ‖ = %g, want ≤ %g", residual, tol*norm)
	}
	for name, q := range map[string][]float64{"U": r.U, "V": r.V} {
		if d := departure(len(q)/max(k, 1), k, q); !(d <= tol) {
			t.Errorf("‖%sᵀ%s − I‖ = %g, want ≤ %g", name, name, d, tol)
		}
	}
}

// departure returns ‖QᵀQ − I‖_F of the m×k matrix q.
func departure(m, k int, q []float64) float64 {
	var sum float64
	for i := range k {
		for j := range k {
			var dot float64
			for l := range m {
				dot += q[l+i*m] * q[l+j*m]
			}
			if i == j {
				dot--
			}
			sum += dot * dot
		}
	}
	return math.Sqrt(sum)
}

// testDrivers decomposes matrices of some shapes by all drivers, and checks what comes of it.
func testDrivers(t *testing.T, drivers []string,
	svd func(driver string, m, n int, a []float64) (Result, error),
	check func(t *testing.T, m, n int, a []float64, r Result)) {
	for _, driver := range drivers {
		for _, shape := range [][2]int{{1, 1}, {1, 5}, {5, 1}, {40, 40}, {41, 23}, {23, 41}, {100, 65}} {
			m, n := shape[0], shape[1]
			t.Run(fmt.Sprintf("%s %d×%d", driver, m, n), func(t *testing.T) {
				a := gauss(m, n)
				given := slices.Clone(a)
				r, err := svd(driver, m, n, a)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(a, given) {
					t.Error("the input was changed")
				}
				if r.Seconds <= 0 {
					t.Errorf("%g seconds", r.Seconds)
				}
				check(t, m, n, a, r)
			})
		}
	}
}

func TestLAPACKDrivers(t *testing.T) {
	l := openOrSkip(t)
	l.Threads = 2
	testDrivers(t, l.Drivers(), l.SVD, checkSVD)
}

// A = H·diag(1, 1e-5, 1e-10, 1e-15)·1e200 with H = the orthogonal 4×4 Hadamard matrix / 2: σ is known. The
// Jacobi drivers find every σ to full relative accuracy; the others only relative to σ₁.
func TestLAPACKKnownSigma(t *testing.T) {
	l := openOrSkip(t)
	sigma := []float64{1e200, 1e195, 1e190, 1e185}
	signs := []float64{1, 1, 1, 1, 1, -1, 1, -1, 1, 1, -1, -1, 1, -1, -1, 1}
	a := make([]float64, 16)
	for i := range a {
		a[i] = signs[i] / 2 * sigma[i/4]
	}
	for _, driver := range l.Drivers() {
		r, err := l.SVD(driver, 4, 4, a)
		if err != nil {
			t.Fatal(err)
		}
		jacobi := driver == "dgejsv" || driver == "dgesvj"
		for i, want := range sigma {
			scale := sigma[0]
			if jacobi {
				scale = want
			}
			if e := math.Abs(r.Sigma[i]-want) / scale; !(e <= 100*eps) {
				t.Errorf("%s: σ%d = %g, want %g: error %g", driver, i+1, r.Sigma[i], want, e)
			}
		}
	}
}

func TestLAPACKThreadsAreRestored(t *testing.T) {
	l := openOrSkip(t)
	if l.blas.get == nil {
		t.Skipf("skipped: %v", l)
	}
	l.blas.set(1)
	var inside int32
	l.Threads = 2
	l.blas.with(l.Threads, func() { inside = l.blas.get() })
	if inside != 2 || l.blas.get() != 1 {
		t.Errorf("%d threads inside, %d after; want 2, 1", inside, l.blas.get())
	}
	if !strings.Contains(l.String(), "OpenBLAS") {
		t.Errorf("name %q does not say OpenBLAS", l)
	}
}

func TestLAPACKErrors(t *testing.T) {
	l := openOrSkip(t)
	if _, err := l.SVD("dgesdd", 2, 2, make([]float64, 3)); err == nil {
		t.Error("3 numbers for a 2×2 matrix: no error")
	}
	if _, err := l.SVD("dnone", 1, 1, make([]float64, 1)); err == nil ||
		!strings.Contains(err.Error(), "dnone") {
		t.Errorf("unknown driver: error %v", err)
	}
	r, err := l.SVD("dgejsv", 0, 3, nil)
	if err != nil || len(r.Sigma) != 0 {
		t.Errorf("0×3: %v, %v", r, err)
	}
	if _, _, err := workspace(1 << 31); err == nil {
		t.Error("a workspace of 2³¹ numbers: no error")
	}
}

func TestMissing(t *testing.T) {
	_, err := open("libnone.so.7", "libnone.so")
	if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "libnone.so.7") {
		t.Errorf("missing library: %v", err)
	}
	l := openOrSkip(t).library
	if _, err := l.symbol("dnone_"); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "dnone_") {
		t.Errorf("missing routine: %v", err)
	}
}

func TestTranspose(t *testing.T) {
	const m, n = 67, 35
	a := gauss(m, n)
	at := transpose(m, n, a)
	for i := range m {
		for j := range n {
			if at[j+i*n] != a[i+j*m] {
				t.Fatalf("entry (%d, %d)", i, j)
			}
		}
	}
}
