package dist

import (
	"slices"

	"jmpi/dist/matrix"
)

// signature has the signs of the columns of a matrix, those with +1 first.
type signature struct {
	positive int   // columns with +1, the others have −1; all of them for the SVD
	rising   bool  // all have −1: it is the SVD, with the singular values in the other order
	order    []int // column j is column order[j] of A; nil: they keep their places
}

// Mixed tells whether there are signs of both kinds. If not, the hyperbolic SVD is the SVD.
func Mixed(signs []float64) bool { return slices.Contains(signs, 1) && slices.Contains(signs, -1) }

// partition finds the order of the n columns in which those with sign +1 come first. nil stands for the SVD.
func partition(n int, signs []float64) signature {
	if signs == nil {
		return signature{positive: n}
	}
	var plus, minus []int
	for j, x := range signs {
		if x > 0 {
			plus = append(plus, j)
		} else {
			minus = append(minus, j)
		}
	}
	s := signature{positive: len(plus), order: append(plus, minus...)}
	if s.rising = s.positive == 0; s.rising {
		s.positive = n
	}
	if slices.IsSorted(s.order) {
		s.order = nil
	}
	return s
}

// reordered returns a function that reads columns in this order, by one that reads those of A, in runs that
// are neighbours there.
func (s signature) reordered(load func(Part) error) func(Part) error {
	if s.order == nil {
		return load
	}
	return func(p Part) error {
		for a := p.Column; a < p.Column+p.N; {
			b := a + 1
			for b < p.Column+p.N && s.order[b] == s.order[b-1]+1 {
				b++
			}
			some := p
			some.Column, some.N, some.Data = s.order[a], b-a, p.Data[(a-p.Column)*p.Ld:]
			if err := load(some); err != nil {
				return err
			}
			a = b
		}
		return nil
	}
}

// Back puts the rows of V in the order of A's columns.
func (s signature) Back(u, v *matrix.Matrix) (*matrix.Matrix, *matrix.Matrix, error) {
	if v == nil || s.order == nil {
		return u, v, nil
	}
	v, err := ordered(v, matrix.Inverse(s.order))
	return u, v, err
}
