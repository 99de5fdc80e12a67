package gen

import (
	"math/bits"

	"jmpi/internal/dd"
	"jmpi/internal/parallel"
)

// walk is a random orthogonal matrix of order n: a product of layers of plane rotations, each
// layer over a random perfect matching of the coordinates (one is left out if n is odd), the
// angles uniformly distributed.
type walk struct{ layers []layer }

type layer struct {
	coordinates []int      // a permutation; the rotations act on (0,1), (2,3), … of it
	cos, sin    []dd.Float // of the rotations' angles
}

// newWalk draws a walk with ⌈lg n⌉ + 4 layers: a unit vector is spread over 16·n places, with
// repetition, so that practically no entry of the matrix is zero.
func newWalk(seed uint64, purpose string, n int) walk {
	layers := make([]layer, bits.Len(uint(max(n-1, 0)))+4)
	parallel.Chunks(len(layers), 1, func(lo, hi int) {
		for l := lo; l < hi; l++ {
			r := stream(seed, purpose, l)
			layers[l] = layer{r.Perm(n), make([]dd.Float, n/2), make([]dd.Float, n/2)}
			for i := range n / 2 {
				layers[l].cos[i], layers[l].sin[i] = unit(r.NormFloat64(), r.NormFloat64())
			}
		}
	})
	return walk{layers}
}

// unit returns (x,y)/√(x²+y²), and (1,0) for the zero vector.
func unit(x, y float64) (c, s dd.Float) {
	a, b := dd.From(x), dd.From(y)
	norm := a.Mul(a).Add(b.Mul(b)).Sqrt()
	if norm.Hi == 0 {
		return dd.From(1), dd.From(0)
	}
	return a.Div(norm), b.Div(norm)
}

// apply replaces x, of length n, by its product with the matrix.
func (w walk) apply(x []dd.Float) {
	for _, l := range w.layers {
		for i, c := range l.cos {
			s := l.sin[i]
			p, q := l.coordinates[2*i], l.coordinates[2*i+1]
			a, b := x[p], x[q]
			x[p] = c.Mul(a).Sub(s.Mul(b))
			x[q] = s.Mul(a).Add(c.Mul(b))
		}
	}
}
