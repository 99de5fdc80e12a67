package refine

import (
	"math"
	"slices"
	"sync"

	"jmpi/dist/matrix"
	"jmpi/internal/dense"
	"jmpi/internal/parallel"
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
	_, start := s.random()
	x := slices.Clone(start)
	for range rounds {
		parallel.All(vectors, 1, func(k int) { dense.Normalize(x[k*e.N : (k+1)*e.N]) })
		if x, err = e.Times(true, x, vectors); err != nil {
			return 0, err
		}
	}
	for k := range vectors {
		norm = max(norm, kernels.Norm2(x[k*e.N:(k+1)*e.N]))
	}
	return caution * norm, nil
}

// ahead returns what returns the random vectors of all estimates of Frobenius norms, and those that estimates
// of 2-norms begin with. They are made while devices compute.
func ahead(n int) func() (z, start []float64) {
	made := sync.OnceValues(func() (z, start []float64) {
		return matrix.RandomNormal(n, vectors, seed, 0), matrix.RandomNormal(n, vectors, seedNorm, 0)
	})
	go parallel.Guard(func() { made() }, func(error) {}) // whoever asks for them has the panic too
	return made
}

// distance returns the Frobenius norm of a difference, and uses x up.
func distance(x, y []float64) float64 {
	for i := range x {
		x[i] -= y[i]
	}
	return kernels.Norm2(x)
}

// departure estimates ‖xᵀx − I‖_F, of V or U, by what is made of random vectors z: the mean square of ‖A·z‖
// is ‖A‖_F².
func (s *state) departure(x *matrix.Matrix) (float64, error) {
	off, err := s.off(x)
	return kernels.Norm2(off) / math.Sqrt(vectors), err
}

// off returns (xᵀx − I)·z for random vectors z.
func (s *state) off(x *matrix.Matrix) ([]float64, error) {
	z, _ := s.random()
	xz, err := x.Times(false, z, vectors)
	if err != nil {
		return nil, err
	}
	off, err := x.Times(true, xz, vectors)
	for i := range off {
		off[i] -= z[i]
	}
	return off, err
}

// orthogonal tells whether I + F is, by random vectors: its departure, F + Fᵀ + FᵀF, is an error of V and G
// that nothing else would see.
func (s *state) orthogonal(f *matrix.Matrix) (bool, error) {
	z, _ := s.random()
	fz, err := f.Times(false, z, vectors)
	if err != nil {
		return false, err
	}
	both := slices.Clone(z)
	for i, x := range fz {
		both[i] += x
	}
	off, err := f.Times(true, both, vectors)
	if err != nil {
		return false, err
	}
	for i, x := range fz {
		off[i] += x
	}
	return kernels.Norm2(off)/math.Sqrt(vectors) <= sound*float64(f.N)*kernels.Epsilon, nil
}

// verify tells whether V is orthonormal, and X·V is U·diag(norms), by what they make of random vectors z: the
// mean square of ‖A·z‖ is ‖A‖_F².
func (s *state) verify() (ok bool, err error) {
	err = s.timed(Step{What: "verify"}, func(*Step) error {
		n := s.x.N
		z, _ := s.random()
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
		pairs, norms := [][2][]float64{{back, z}, {xvz, gz}}, make([]float64, 2)
		parallel.All(len(pairs), 1, func(i int) { norms[i] = distance(pairs[i][0], pairs[i][1]) })
		unit := float64(n) * kernels.Epsilon * math.Sqrt(vectors)
		s.orthV, s.residual = norms[0]/unit, norms[1]/kernels.Norm2(s.norms)/unit
		ok = s.orthV <= sound && s.residual <= sound
		return nil
	})
	return ok, err
}
