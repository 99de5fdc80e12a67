package rivals

import (
	"fmt"
	"time"
)

// Dgemm returns the best speed, in GFLOP/s, of three products of n×n matrices with so many threads of the
// BLAS that LAPACK uses: what a phase of any solver can be measured against.
func Dgemm(n, threads int) (float64, error) {
	l, err := OpenLAPACK()
	if err != nil {
		return 0, err
	}
	routine, err := l.library.symbol("dgemm_")
	if err != nil {
		return 0, fmt.Errorf("rivals: %w", err)
	}
	a, order, err := workspace(n * n)
	if err != nil {
		return 0, err
	}
	order = int32(n)
	b, c := make([]float64, n*n), make([]float64, n*n)
	for i := range a {
		a[i], b[i] = float64(i%7), float64(i%5)
	}
	one, zero := []float64{1}, []float64{0}
	best := 0.0
	l.blas.with(threads, func() {
		for range 3 {
			start := time.Now()
			call(routine, char('N'), char('N'), num(order), num(order), num(order), floats(one), floats(a), num(order),
				floats(b), num(order), floats(zero), floats(c), num(order))
			best = max(best, 2*float64(n)*float64(n)*float64(n)/time.Since(start).Seconds()/1e9)
		}
	})
	return best, nil
}
