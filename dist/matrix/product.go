package matrix

import (
	"fmt"

	"jmpi/kernels"
)

// TransposedProduct returns xᵀ·u. It is collective.
func TransposedProduct(x, u *Matrix) (*Matrix, error) {
	w, err := x.New(x.N, u.N)
	if err != nil {
		return nil, err
	}
	return w, transposedProduct(w, x, u, 0)
}

// AddTransposedProduct does w ← w + xᵀ·u. It is collective.
func AddTransposedProduct(w, x, u *Matrix) error { return transposedProduct(w, x, u, 1) }

// transposedProduct does w ← β·w + xᵀ·u. It is collective.
func transposedProduct(w, x, u *Matrix, beta float64) error {
	return pass(x, func(i, i0, i1 int, a kernels.Panel) (products []kernels.Gemm) {
		right := u.tiles(i, 0, u.M)
		for b, c := range w.tiles(i, i0, i1) {
			products = append(products, kernels.Gemm{TransA: true, Alpha: 1, A: a, B: right[b], Beta: beta, C: c})
		}
		return products
	})
}

// Product returns x·u; x may be lower triangular. It is collective.
func Product(x, u *Matrix, lower bool) (*Matrix, error) {
	w, err := x.New(x.M, u.N)
	if err != nil {
		return nil, err
	}
	return w, pass(x, func(i, i0, i1 int, a kernels.Panel) (products []kernels.Gemm) {
		first := 0 // row of a that is not zero
		if lower {
			first = i0
		}
		right := u.tiles(i, i0, i1)
		for b, c := range w.tiles(i, first, w.M) {
			products = append(products, kernels.Gemm{Alpha: 1, A: a.Rows(first, a.M), B: right[b], Beta: 1, C: c})
		}
		return products
	})
}

// SubtractProduct does w ← w − α·x·u. It is collective.
func SubtractProduct(w, x, u *Matrix, alpha float64) error {
	return pass(x, func(i, i0, i1 int, a kernels.Panel) (products []kernels.Gemm) {
		right := u.tiles(i, i0, i1)
		for b, c := range w.tiles(i, 0, w.M) {
			products = append(products, kernels.Gemm{Alpha: -alpha, A: a, B: right[b], Beta: 1, C: c})
		}
		return products
	})
}

// pass shows every block, its columns i0 ≤ i < i1, to all devices, one block after the other, and does the
// products that device i of this rank has for it.
func pass(s *Matrix, products func(i, i0, i1 int, a kernels.Panel) []kernels.Gemm) error {
	for b := range s.blocks() {
		i0, i1 := s.span(b)
		a := kernels.Panel{M: s.M, N: i1 - i0}
		if s.here(s.owner(b)) != nil {
			a = s.block(b)
		}
		all, err := s.toAll(s.owner(b), a)
		if err == nil {
			err = s.each(func(i int, dev *device) error { return dev.Gemm(products(i, i0, i1, all[i])) })
		}
		if err != nil {
			return fmt.Errorf("matrix: product: %w", err)
		}
	}
	return nil
}
