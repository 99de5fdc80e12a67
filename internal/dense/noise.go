package dense

import (
	"math"
	"math/rand/v2"
)

// Samples is the number of random errors that are followed for each column.
const Samples = 8

// Noise follows rounding errors through a QR factorization with column pivoting, A·P = Q·R. The elements in row i of column j are known to
// about Rows[i]·‖column j of Columns‖. Reflectors spread the errors of the rows. What is left of a column, with all that was subtracted from it, is a
// combination a − Σ x_k·a_k of it and the pivots, and so are its errors: the same is done to some rows of random numbers of the size of
// the columns, which follow the elimination as if they were rows of A. This tells dependent columns from small ones.
type Noise struct {
	Rows    []float64 // of what is left, m
	Columns []float64 // Samples×n, column-major
}

// NewNoise returns the noise of a matrix whose element i, j is known to about rows[i]·columns[j].
func NewNoise(rows, columns []float64) Noise {
	n := Noise{Rows: rows, Columns: make([]float64, Samples*len(columns))}
	const errors = 0x6e6f697365 // so that no other numbers are the same
	for j, size := range columns {
		random, x := rand.New(rand.NewPCG(uint64(j), errors)), n.Column(j)
		for i := range x {
			x[i] = random.NormFloat64()
		}
		f := size / Length(x)
		for i := range x {
			x[i] *= f
		}
	}
	return n
}

// None tells whether no noise is followed.
func (n Noise) None() bool { return n.Rows == nil }

// Column returns the samples of column j.
func (n Noise) Column(j int) []float64 { return n.Columns[j*Samples : (j+1)*Samples] }

// From returns the length of the errors in rows i, i+1, … of a column whose samples have length 1.
func (n Noise) From(i int) float64 { return Length(n.Rows[i:]) }

// Subtract does to the errors of column j what makes f times a pivot, with the given samples, go from it.
func (n Noise) Subtract(j int, f float64, pivot []float64) {
	x := n.Column(j)
	for i, e := range pivot {
		x[i] -= f * e
	}
}

// Reflect spreads the errors as the reflector I − τ·v·vᵀ does, which acts on the rows from i on, as if they were independent.
func (n Noise) Reflect(i int, v []float64, tau float64) {
	rows, all := n.Rows[i:], 0.0
	for l, x := range v {
		all = math.Hypot(all, x*rows[l])
	}
	for l, x := range v {
		own := x * rows[l]
		others := all * math.Sqrt(max(0, 1-own/all*(own/all)))
		if all == 0 {
			others = 0
		}
		rows[l] = math.Hypot((1-tau*x*x)*rows[l], tau*x*others)
	}
}
