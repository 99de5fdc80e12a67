package jacobi

import (
	"fmt"
	"math"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/kernels"
	"jmpi/node"
)

// shortest is the least norm of a column of float32 that is not zero: below, its inverse leaves the range.
const shortest = 0x1p-1022

// check refuses what the method cannot do.
func (c Config) check() error {
	switch {
	case c.Right != nil && (!c.Vectors || c.positive() < c.N || c.Precision != kernels.Float64):
		return fmt.Errorf("a V to begin with is for the SVD with V, in float64")
	case c.Right != nil && (c.Right.M != c.N || c.Right.N != c.N):
		return fmt.Errorf("the V to begin with is %d×%d, must be %d×%d", c.Right.M, c.Right.N, c.N, c.N)
	case c.Precision != kernels.Float32:
		return nil
	case c.Source == nil:
		return fmt.Errorf("the Jacobi method in float32 takes a matrix on the devices, and does not load one")
	case c.positive() < c.N:
		return fmt.Errorf("the Jacobi method in float32 is for the SVD, not for the hyperbolic one")
	case !(c.Cosine > 0):
		return fmt.Errorf("the Jacobi method in float32 needs a cosine above 0 of columns that pass for orthogonal")
	}
	return nil
}

// takeSingle makes float32 block-columns of Source, scaled: the columns over their norms, and the norms.
// Columns that are too short become zero, and so do their norms. It is collective.
func (l distributor) takeSingle(at map[int][2]int) (e int, err error) {
	largest, err := l.Source.Largest()
	if err := comm.Agree(l.comm, comm.BadResource, err); err != nil {
		return 0, err
	}
	if e, err = matrix.CommonExponent(l.comm, largest); err != nil {
		return 0, err
	}
	length, err := l.Source.Norms()
	norms := make([]float64, len(length))
	for j, d := range length {
		if norms[j] = math.Ldexp(d, -e); norms[j] < shortest {
			norms[j], length[j] = 0, math.Inf(1)
		}
	}
	if err == nil {
		err = l.Source.Give(l.targets(at, func(b node.Block) kernels.Panel { return b.G }), length)
	}
	l.done()
	if err == nil {
		err = l.each(func(r *runner, slot, column int) error {
			j0, j1 := l.layout.Macro(column)
			return r.dev.Backend.Write(l.panels(r, slot, column).Norms, norms[j0:j1], max(1, j1-j0))
		})
	}
	if err != nil { // nothing is agreed upon: others may wait for columns of this rank
		err = fmt.Errorf("jacobi: columns over their norms: %w", err)
	}
	return e, err
}

// normalizeSingle is normalize for what comes from float32, columns of about length 1 however small their
// norms are, and does the same to V, nil for none: where a norm has become zero, that of V is lost. It is
// collective.
func (s *Solution) normalizeSingle(u, v *matrix.Matrix) error {
	for _, x := range []*matrix.Matrix{u, v} {
		if x == nil {
			continue
		}
		length, err := unit(x)
		if err != nil {
			return err
		}
		for j, k := range s.at.position {
			if length[k] > 0 && s.at.norm[j] > 0 {
				length[k] = 1
			} else {
				length[k] = 0
			}
		}
		if err := complete(x, length); err != nil {
			return fmt.Errorf("jacobi: completing U and V: %w", err)
		}
	}
	return nil
}

// unit divides the columns of x by their lengths, but for those of zeros, and returns the lengths. It is
// collective.
func unit(x *matrix.Matrix) ([]float64, error) {
	length, err := x.Norms()
	if err != nil {
		return nil, err
	}
	divisors := make([]float64, len(length))
	for k, d := range length {
		if divisors[k] = d; d == 0 {
			divisors[k] = 1
		}
	}
	return length, x.Divide(nil, divisors)
}
