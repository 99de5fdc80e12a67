package dense

import (
	"math"
	"math/rand/v2"

	"jmpi/internal/parallel"
	"jmpi/kernels"
)

// Noise follows rounding errors through a QR factorization with column pivoting, A·P = Q·R. An element of
// the matrix is known to about a tolerance times any bound of it that is a product of a size of its row and
// one of its column, r_i·c_j, and no column better than in proportion to its norm. Reflectors spread the
// errors of the rows. What is left of a column, with all that was subtracted from it, is a combination
// a − Σ x_k·a_k of it and the pivots, and so are its errors: the same is done to some rows of random
// numbers of the size of the columns, which follow the elimination as if they were rows of A. This tells
// dependent columns from small ones.
type Noise struct {
	Rows [][]float64 // r, of what is left, times the tolerance; m for each bound
	// column-major, Width numbers a column: Samples of size c_j for each bound, then Samples of the
	// tolerance times the column's norm
	Columns []float64
}

// Bound says that the elements of a matrix are at most Rows[i]·Columns[j] in size.
type Bound struct{ Rows, Columns []float64 }

// NewNoise returns the noise of a matrix whose columns have the given norms and whose elements have
// these bounds.
func NewNoise(tol float64, norms []float64, bounds ...Bound) Noise {
	n := Noise{Rows: make([][]float64, len(bounds))}
	for b := range bounds {
		for _, x := range bounds[b].Rows {
			n.Rows[b] = append(n.Rows[b], tol*x)
		}
	}
	n.Columns = make([]float64, n.Width()*len(norms))
	const errors = 0x6e6f697365 // so that no other numbers are the same
	parallel.All(len(norms), 256, func(j int) {
		var sample [kernels.Samples]float64
		random := rand.New(rand.NewPCG(uint64(j), errors))
		for i := range sample {
			sample[i] = random.NormFloat64()
		}
		length, x := Length(sample[:]), n.Column(j)
		for b := range len(bounds) + 1 {
			size := tol * norms[j]
			if b < len(bounds) {
				size = bounds[b].Columns[j]
			}
			for i, e := range sample {
				x[b*kernels.Samples+i] = e * (size / length)
			}
		}
	})
	return n
}

// None tells whether no noise is followed.
func (n Noise) None() bool { return len(n.Rows) == 0 }

// Width is the number of samples of a column.
func (n Noise) Width() int { return (len(n.Rows) + 1) * kernels.Samples }

// Column returns the samples of column j.
func (n Noise) Column(j int) []float64 { return n.Columns[j*n.Width() : (j+1)*n.Width()] }

// From returns the lengths of the errors in rows i, i+1, … of a column of size 1, one for each bound.
func (n Noise) From(i int) (from []float64) {
	for _, rows := range n.Rows {
		from = append(from, Length(rows[i:]))
	}
	return from
}

// NoiseOf returns the length of the errors in what is left of a column with these samples, in rows of
// which the errors are From.
func NoiseOf(samples, from []float64) float64 {
	least := Length(samples[len(from)*kernels.Samples:])
	for b, x := range from {
		least = min(least, x*Length(samples[b*kernels.Samples:(b+1)*kernels.Samples]))
	}
	return least
}

// Covers tells whether the noise of column j reaches least, and x, what is left of the column from
// row i on, with the given length, is nothing else, as a whole and element by element. From(i) has
// the errors of the rows.
func (n Noise) Covers(j, i int, x []float64, length float64, from []float64, least float64) bool {
	if !n.Reaches(j, length, from, least) {
		return false
	}
	samples := n.Column(j)
	for b, rows := range n.Rows {
		size := Length(samples[b*kernels.Samples : (b+1)*kernels.Samples])
		for l, e := range x {
			if math.Abs(e) > rows[i+l]*size {
				return false
			}
		}
	}
	return true
}

// Reaches tells whether the noise of column j reaches least, and what is left of the column, with the given
// length, is nothing else as a whole.
func (n Noise) Reaches(j int, length float64, from []float64, least float64) bool {
	samples := n.Column(j)
	square := 0.0 // of most columns this is enough, and it costs little
	for _, e := range samples[len(from)*kernels.Samples:] {
		square += e * e
	}
	if length*length > square || square < least*least {
		return false
	}
	noise := NoiseOf(samples, from)
	return length <= noise && noise >= least
}

// Subtract does to the errors of column j what makes f times a pivot, with the given samples, go from it.
func (n Noise) Subtract(j int, f float64, pivot []float64) {
	x := n.Column(j)
	for i, e := range pivot {
		x[i] -= f * e
	}
}

// Reflect spreads the errors as the reflector I − τ·v·vᵀ does, which acts on the rows from i on, as
// if they were independent.
func (n Noise) Reflect(i int, v []float64, tau float64) {
	products := make([]float64, len(v))
	for _, rows := range n.Rows {
		rows = rows[i:]
		for l, x := range v {
			products[l] = x * rows[l]
		}
		all := Length(products)
		if all == 0 {
			continue
		}
		for l, x := range v {
			share := products[l] / all
			rows[l] = hypot((1-tau*x*x)*rows[l], tau*x*all*math.Sqrt(max(0, 1-share*share)))
		}
	}
}

// hypot is math.Hypot, faster for ordinary numbers.
func hypot(x, y float64) float64 {
	if s := x*x + y*y; s > 0x1p-900 && s < 0x1p1000 {
		return math.Sqrt(s)
	}
	return math.Hypot(x, y)
}
