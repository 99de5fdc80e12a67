package matrix

import (
	"fmt"

	"jmpi/kernels"
)

// Departure returns the upper triangular S with S + Sᵀ = vᵀ·v − I, which tells how far the columns of v are
// from orthonormal ones. If S is small, v·(I − S) is nearer to them by a product of two such S, and is the
// orthonormal factor of a QR factorization. It is collective.
func Departure(v *Matrix) (*Matrix, error) {
	s, err := v.New(v.N, v.N)
	if err != nil {
		return nil, err
	}
	err = pass(v, func(i, i0, i1 int, a kernels.Panel) (products []kernels.Gemm) {
		for _, c := range s.above(i, i0, i1, true) {
			products = append(products, kernels.Gemm{TransA: true, Alpha: 1, A: a.Columns(0, c.M), B: v.same(i, c),
				C: c.Panel})
		}
		return products
	})
	if err != nil {
		return nil, err
	}
	return s, s.each(func(i int, dev *device) error {
		var diagonal []kernels.Panel
		for b := s.first + i; b < s.blocks(); b += len(s.ranks) {
			diagonal = append(diagonal, s.diagonalBlock(b))
		}
		return dev.Departures(diagonal)
	})
}

// SubtractTriangular does v ← v − v·s, with an upper triangular s. It is collective.
func SubtractTriangular(v, s *Matrix) error {
	err := passBack(v, func(i, i0, i1 int, a kernels.Panel) (products []kernels.Gemm) {
		for _, c := range s.above(i, i0, i1, true) {
			products = append(products, kernels.Gemm{Alpha: -1, A: a.Columns(0, c.M), B: c.Panel, Beta: 1,
				C: v.same(i, c)})
		}
		return products
	})
	if err != nil {
		return fmt.Errorf("matrix: correction of nearly orthonormal columns: %w", err)
	}
	return nil
}

// Correct does v ← v·(I − S) with S of Departure, and returns the norms of the columns of S, and a bound of
// ‖S + Sᵀ‖_F. Where that is over the limit it returns nil, and v is as it was. It is collective.
func Correct(v *Matrix, limit float64) (off []float64, size float64, err error) {
	s, err := Departure(v)
	if err != nil {
		return nil, 0, err
	}
	defer s.Free()
	if off, err = s.Norms(); err != nil {
		return nil, 0, err
	}
	if size = 2 * kernels.Norm2(off); !(size <= limit) {
		return nil, size, nil
	}
	return off, size, SubtractTriangular(v, s)
}
