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
	if err := s.each(func(i int, dev *device) error { return dev.Zero(s.shares[i]) }); err != nil {
		return nil, err
	}
	err = pass(v, func(i, i0, i1 int, a kernels.Panel) (products []kernels.Gemm) {
		for b := s.first + i; b < s.blocks(); b += len(s.ranks) {
			if _, j1 := s.span(b); j1 > i0 {
				end := min(i1, j1)
				products = append(products, kernels.Gemm{TransA: true, Alpha: 1, A: a.Columns(0, end-i0),
					B: v.block(b), C: s.block(b).Rows(i0, end)})
			}
		}
		return products
	})
	if err != nil {
		return nil, err
	}
	return s, s.eachBlock(func(dev *device, b int, _ kernels.Panel) error {
		p := s.diagonalBlock(b)
		host := make([]float64, p.M*p.N)
		if err := dev.Read(host, p.M, p); err != nil {
			return err
		}
		for j := range p.N {
			host[j*(p.M+1)] = (host[j*(p.M+1)] - 1) / 2
			clear(host[j*(p.M+1)+1 : (j+1)*p.M])
		}
		return dev.Write(p, host, p.M)
	})
}

// SubtractTriangular does v ← v − v·s, with an upper triangular s. It is collective.
func SubtractTriangular(v, s *Matrix) error {
	err := passBack(v, func(i, i0, i1 int, a kernels.Panel) (products []kernels.Gemm) {
		for b := v.first + i; b < v.blocks(); b += len(v.ranks) {
			if _, j1 := v.span(b); j1 > i0 {
				end := min(i1, j1)
				products = append(products, kernels.Gemm{Alpha: -1, A: a.Columns(0, end-i0),
					B: s.block(b).Rows(i0, end), Beta: 1, C: v.block(b)})
			}
		}
		return products
	})
	if err != nil {
		return fmt.Errorf("matrix: correction of nearly orthonormal columns: %w", err)
	}
	return nil
}
