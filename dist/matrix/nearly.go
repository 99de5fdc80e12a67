package matrix

import (
	"fmt"
	"slices"

	"jmpi/kernels"
)

// Departure returns the upper triangular S with S + Sᵀ = vᵀ·v − I, which tells how far the columns of v are
// from orthonormal ones. If S is small, v·(I − S) is nearer to them by a product of two such S, and is the
// orthonormal factor of a QR factorization. It is collective.
func Departure(v *Matrix) (*Matrix, error) { return departure(v, v.N) }

// NearDeparture is Departure, but on hosts 0 where ZeroFar makes it so; the other elements have the same
// bits. It is collective.
func NearDeparture(v *Matrix) (*Matrix, error) { return departure(v, v.Reach()) }

func departure(v *Matrix, reach int) (*Matrix, error) {
	s, err := v.New(v.N, v.N)
	if err != nil {
		return nil, err
	}
	if err = s.square(v, true, reach); err != nil {
		return nil, err
	}
	return s, s.departures()
}

// departures does Departures for the blocks on the diagonal of a square matrix.
func (s *Matrix) departures() error {
	return s.each(func(i int, dev *device) error {
		var diagonal []kernels.Panel
		for b := range s.blocksOf(s.first + i) {
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
				C: v.same(i, c), Of: c.of})
		}
		return products
	})
	if err != nil {
		return fmt.Errorf("matrix: correction of nearly orthonormal columns: %w", err)
	}
	return nil
}

// secondOrder makes I − R⁻¹ to second order of S of Departure, for the factor R of VᵀV = RᵀR: it does
// S ← S − U − S², where U is upper triangular, and U + Uᵀ = SᵀS. It is collective.
func secondOrder(s *Matrix) error {
	c, err := s.UnitColumns(s.N, 0, s.N)
	if err != nil {
		return err
	}
	defer c.Free()
	err = pass(s, func(i, i0, i1 int, a kernels.Panel) (products []kernels.Gemm) {
		for _, to := range c.above(i, i0, i1, true) {
			products = append(products, kernels.Gemm{TransA: true, Alpha: 1, A: a.Columns(0, to.M).Rows(0, i1),
				B: s.same(i, to).Rows(0, i1), Beta: 1, C: to.Panel, Of: to.of})
		}
		return products
	})
	if err == nil {
		err = c.departures()
	}
	if err == nil {
		err = pass(s, func(i, i0, i1 int, a kernels.Panel) (products []kernels.Gemm) {
			for _, from := range s.above(i, i0, i1, true) {
				products = append(products, kernels.Gemm{Alpha: 1, A: a.Columns(0, from.M).Rows(0, i1), B: from.Panel,
					Beta: 1, C: c.same(i, from).Rows(0, i1), Of: from.of})
			}
			return products
		})
	}
	if err == nil {
		err = c.Scale(nil, slices.Repeat([]float64{-1}, c.N))
	}
	if err == nil {
		err = s.Add(c)
	}
	if err != nil {
		return fmt.Errorf("matrix: correction of second order: %w", err)
	}
	return nil
}

// Correct makes columns that are nearly orthonormal more so: v ← v·(I − S) with S of Departure. If that
// would leave more than enough, it takes a term more, which needs one square matrix more. On hosts blocks of
// S with a norm of `rough` at most are multiplied in float32, see AddProduct. It returns the norms of the
// columns of S, a bound of ‖S + Sᵀ‖_F, and one of what is left of that, rounding errors apart. Where the
// bound is over the limit off is nil, and v is as it was. It is collective.
func Correct(v *Matrix, limit, enough, rough float64) (off []float64, size, left float64, err error) {
	s, err := Departure(v)
	if err != nil {
		return nil, 0, 0, err
	}
	defer s.Free()
	if off, err = s.Norms(); err != nil {
		return nil, 0, 0, err
	}
	if size = 2 * kernels.Norm2(off); !(size <= limit) {
		return nil, size, size, nil
	}
	if left = 3 * size * size; left > enough {
		left = 3 * size * size * size
		if err := secondOrder(s); err != nil {
			return nil, 0, 0, err
		}
	}
	if rough <= 0 || !v.HostMemory() {
		return off, size, left, SubtractTriangular(v, s)
	}
	_, err = AddProduct(v, v, s, -1, rough)
	return off, size, left, err
}
