package refine

import (
	"math"

	"jmpi/dist/matrix"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

const (
	vectors  = 4   // random ones, of an estimate
	rounds   = 4   // of the power method
	caution  = 1.3 // times what it tells
	sound    = 1   // the largest OrthV and Residual
	seed     = 5
	seedNorm = 6
)

// estimate estimates the 2-norm of an antisymmetric matrix, or of its transpose, by the power method, on the
// safe side.
func (s *state) estimate(e *matrix.Matrix) (norm float64, err error) {
	x := matrix.RandomNormal(e.N, vectors, seedNorm, 0)
	for range rounds {
		for k := range vectors {
			dense.Normalize(x[k*e.N : (k+1)*e.N])
		}
		if x, err = e.Times(true, x, vectors); err != nil {
			return 0, err
		}
	}
	for k := range vectors {
		norm = max(norm, kernels.Norm2(x[k*e.N:(k+1)*e.N]))
	}
	return caution * norm, nil
}

// random returns the random vectors of all estimates of Frobenius norms, which are made once.
func (s *state) random() []float64 {
	if s.z == nil {
		s.z = matrix.RandomNormal(s.x.N, vectors, seed, 0)
	}
	return s.z
}

// departure estimates ‖xᵀx − I‖_F, of V or U, by what is made of random vectors z: the mean square of ‖A·z‖
// is ‖A‖_F².
func (s *state) departure(x *matrix.Matrix) (float64, error) {
	z := s.random()
	xz, err := x.Times(false, z, vectors)
	if err != nil {
		return 0, err
	}
	back, err := x.Times(true, xz, vectors)
	if err != nil {
		return 0, err
	}
	for i := range back {
		back[i] -= z[i]
	}
	return kernels.Norm2(back) / math.Sqrt(vectors), nil
}

// verify tells whether V is orthonormal, and X·V is U·diag(norms), by what they make of random vectors z: the
// mean square of ‖A·z‖ is ‖A‖_F².
func (s *state) verify() (ok bool, err error) {
	err = s.timed(Step{What: "verify"}, func(*Step) error {
		n := s.x.N
		z := s.random()
		vz, err := s.v.Times(false, z, vectors)
		if err != nil {
			return err
		}
		back, err := s.v.Times(true, vz, vectors)
		if err != nil {
			return err
		}
		xvz, err := s.x.Times(false, vz, vectors)
		if err != nil {
			return err
		}
		gz, err := s.u.Times(false, matrix.ScaledBy(z, s.norms), vectors)
		if err != nil {
			return err
		}
		for i := range back {
			back[i] -= z[i]
		}
		for i := range xvz {
			xvz[i] -= gz[i]
		}
		unit := float64(n) * kernels.Epsilon * math.Sqrt(vectors)
		s.orthV = kernels.Norm2(back) / unit
		s.residual = kernels.Norm2(xvz) / kernels.Norm2(s.norms) / unit
		ok = s.orthV <= sound && s.residual <= sound
		return nil
	})
	return ok, err
}
