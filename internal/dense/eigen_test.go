package dense

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestEigenvectors tests that Q is orthogonal, QᵀA·Q diagonal, and that its elements rise.
func TestEigenvectors(t *testing.T) {
	for _, k := range []int{0, 1, 2, 3, 17, 64, 100} {
		random := rand.New(rand.NewPCG(1, uint64(k)))
		a := make([]float64, k*k)
		for j := range k {
			for i := range j + 1 {
				a[i+j*k] = random.NormFloat64()
				a[j+i*k] = a[i+j*k]
			}
		}
		q := make([]float64, k*k)
		copy(q, a)
		for j := range k {
			for i := j + 1; i < k; i++ {
				q[i+j*k] = math.NaN() // is not read
			}
		}
		if !Eigenvectors(k, q) {
			t.Fatalf("order %d: it has not converged", k)
		}
		aq, square, inner := make([]float64, k*k), make([]float64, k*k), make([]float64, k*k)
		Product(false, false, k, k, k, 1, a, k, q, k, 0, aq, k)
		Product(true, false, k, k, k, 1, q, k, aq, k, 0, square, k)
		Product(true, false, k, k, k, 1, q, k, q, k, 0, inner, k)
		bound := 0x1p-52 * float64(20+10*k)
		for j := range k {
			for i := range k {
				one := 0.0
				if i == j {
					one = 1
				} else if !(math.Abs(square[i+j*k]) <= bound) {
					t.Errorf("order %d: QᵀA·Q is %g at (%d,%d)", k, square[i+j*k], i, j)
				}
				if !(math.Abs(inner[i+j*k]-one) <= bound) {
					t.Errorf("order %d: QᵀQ is %g at (%d,%d)", k, inner[i+j*k], i, j)
				}
			}
			if j > 0 && !(square[j+j*k] >= square[j-1+(j-1)*k]-bound) {
				t.Errorf("order %d: eigenvalue %d is less than the one before", k, j)
			}
		}
	}
}
