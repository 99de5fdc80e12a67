package jacobi

import (
	"slices"

	"jmpi/dist/matrix"
)

// Collect brings the singular vectors from the devices into the memory of the hosts, in the order of Sigma; v is nil if V was not accumulated. It is
// collective.
func (s *Solution) Collect(threads int) (u, v *matrix.Matrix, err error) {
	left, right := map[int][]float64{}, map[int][]float64{}
	err = s.Columns(false, func(k int, x, y []float64) error {
		left[k] = slices.Clone(x)
		if y != nil {
			right[k] = slices.Clone(y)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if u, err = matrix.Scatter(s.comm, threads, s.config.M, s.config.N, left); err != nil || !s.config.Vectors {
		return u, nil, err
	}
	v, err = matrix.Scatter(s.comm, threads, s.config.N, s.config.N, right)
	return u, v, err
}
