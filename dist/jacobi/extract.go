package jacobi

import (
	"sort"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// extract forms the singular values, the norms of the columns of G·V ([Nov15, (2.5)]), unscaled by 2^e, and
// their order: non-increasing where the sign is +1, non-decreasing where it is −1.
func extract(s *spread, p Problem, e int) (sigma []float64, at columns, err error) {
	norm, err := s.norms(false)
	if err := comm.Agree(s.comm, comm.BadResource, err); err != nil {
		return nil, at, err
	}
	unscaled := append([]float64(nil), norm...)
	dense.Ldexp(unscaled, e)
	if err := matrix.InRange(unscaled, e); err != nil {
		return nil, at, err
	}
	positive := p.positive()
	if p.Rising {
		positive = 0
	}
	order := matrix.Natural(len(norm)) // order[k]: column of G·V that holds Sigma[k]
	copy(order, matrix.Decreasing(unscaled[:positive]))
	rest := order[positive:]
	sort.SliceStable(rest, func(a, b int) bool { return unscaled[rest[a]] < unscaled[rest[b]] })
	at = columns{norm: norm, position: make([]int, len(norm)), scale: e}
	sigma = make([]float64, len(norm))
	for k, j := range order {
		at.position[j] = k
		sigma[k] = unscaled[j]
	}
	return sigma, at, nil
}

// normOfV returns ‖V‖_F of a hyperbolic SVD whose V was accumulated, else 0.
func normOfV(s *spread, p Problem) (float64, error) {
	if !p.Vectors || p.positive() == p.N {
		return 0, nil
	}
	v, err := s.norms(true)
	if err := comm.Agree(s.comm, comm.BadResource, err); err != nil {
		return 0, err
	}
	return kernels.Norm2(v), nil
}
