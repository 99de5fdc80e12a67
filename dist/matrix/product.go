package matrix

import (
	"fmt"

	"jmpi/internal/dense"
)

// TransposedProduct returns xᵀ·u. It is collective.
func TransposedProduct(x, u *Matrix) (*Matrix, error) {
	w := New(x.Comm, x.Threads, x.N, u.N)
	return w, pass(x, func(i0, i1 int, a []float64) {
		w.Each(func(c int, y []float64) {
			j0, j1 := w.Span(c)
			dense.Product(true, false, i1-i0, j1-j0, x.M, 1, a, x.M, u.Own[c], x.M, 0, y[i0:], w.M)
		})
	})
}

// Product returns x·u; x may be lower triangular. It is collective.
func Product(x, u *Matrix, lower bool) (*Matrix, error) {
	w := New(x.Comm, x.Threads, x.M, u.N)
	return w, pass(x, func(i0, i1 int, a []float64) {
		first := 0 // row of a that is not zero
		if lower {
			first = i0
		}
		w.Each(func(c int, y []float64) {
			j0, j1 := w.Span(c)
			dense.Product(false, false, x.M-first, j1-j0, i1-i0, 1, a[first:], x.M, u.Own[c][i0:], u.M, 1, y[first:],
				w.M)
		})
	})
}

// pass calls f with every block, its columns i0 ≤ i < i1, one after the other on all ranks.
func pass(s *Matrix, f func(i0, i1 int, a []float64)) error {
	for b := range s.Blocks() {
		a, err := s.Broadcast(b)
		if err != nil {
			return fmt.Errorf("matrix: product: %w", err)
		}
		i0, i1 := s.Span(b)
		f(i0, i1, a)
	}
	return nil
}
