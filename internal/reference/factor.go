package reference

import (
	"fmt"
	"math"

	"jmpi/internal/dd"
)

const (
	// rounding bounds what the operations of one step add to an entry, relative to the size of
	// its row: 2⁻¹⁰⁶ is the unit roundoff.
	rounding = 0x1p-102
	// accuracy is the relative error above which the singular values are refused: a tenth of what
	// `jmpi check` tolerates.
	accuracy = 1e-11
	// grain is the number of columns that one core takes at a time.
	grain = 4
)

// accurate fails if the relative error of the singular values may be above accuracy.
func accurate(relative float64) error {
	if relative <= accuracy {
		return nil
	}
	return fmt.Errorf("double-double arithmetic determines them only to a relative %.1g", relative)
}

// rowsOfR overwrites x, m×n, m ≥ n, by R of its QR factorization with column pivoting and returns
// the r×n upper trapezoidal R, r the rank, by rows: row i is rows[i]·2^exponents[i], n long, with a
// diagonal entry in [½,1) and, thanks to the pivoting, no entry much larger than it.
func (x *scaled) rowsOfR() (rows [][]dd.Float, exponents []int, err error) {
	n := len(x.columns)
	noise := x.noise()
	sizes, clarity := make([]float64, n), make([]float64, n)
	rank, uncertainty := 0, 0.0
	for ; rank < n; rank++ {
		parallel(n-rank, grain, func(j int) { sizes[rank+j], clarity[rank+j] = x.size(rank+j, rank, noise) })
		pivot := rank
		for j := rank; j < n; j++ {
			if sizes[j] > sizes[pivot] {
				pivot = j
			}
		}
		if clarity[pivot] == 0 {
			break
		}
		uncertainty = max(uncertainty, 1/clarity[pivot])
		x.swap(rank, pivot)
		eliminate(x.columns, rank)
	}
	if err := accurate(uncertainty); err != nil {
		return nil, nil, err
	}
	r := newScaled(n, rank)
	for i, row := range r.columns {
		_, e := math.Frexp(x.columns[i][i].Hi)
		r.exponents[i] = x.exponents[i] + e
		for j := i; j < n; j++ {
			row[j] = x.columns[j][i].Ldexp(x.exponents[j] - r.exponents[i])
		}
	}
	return r.columns, r.exponents, nil
}

// noise returns for each row the size below which its entries are nothing but rounding errors. The
// columns are of equal size here, so that it holds for all of them.
func (x *scaled) noise() []float64 {
	m := len(x.columns[0])
	noise := make([]float64, m)
	for _, column := range x.columns {
		for i, v := range column {
			noise[i] = max(noise[i], math.Abs(v.Hi))
		}
	}
	for i := range noise {
		noise[i] *= float64(m) * rounding
	}
	return noise
}

// size returns log₂ of the norm of column j in the rows from k on, and by what factor an entry
// there stands out of the noise. If none does, it clears them and returns −∞ and 0.
func (x *scaled) size(j, k int, noise []float64) (size, clarity float64) {
	column, largest := x.columns[j][k:], 0.0
	for i, v := range column {
		if v := math.Abs(v.Hi); v > 0 {
			largest, clarity = max(largest, v), max(clarity, v/noise[k+i])
		}
	}
	if clarity <= 1 {
		clear(column)
		return math.Inf(-1), 0
	}
	_, e := math.Frexp(largest)
	scale, squares := math.Ldexp(1, -e), 0.0
	for _, v := range column {
		squares += float64(v.Hi * scale * (v.Hi * scale))
	}
	return math.Log2(squares)/2 + float64(e+x.exponents[j]), clarity
}

// eliminate applies the reflection I − v·vᵀ/(α·v₁) to the rows from k on of all columns from k on,
// with v = x + α·e₁, α = sign(x₁)·‖x‖, x being column k, which becomes −α·e₁. An x below 1
// is scaled up to it by a power of two before it is squared.
func eliminate(columns [][]dd.Float, k int) {
	x := columns[k][k:]
	largest := 0.0
	for _, xi := range x {
		largest = max(largest, math.Abs(xi.Hi))
	}
	if largest == 0 {
		return
	}
	_, e := math.Frexp(largest)
	shift := max(0, -e)
	v := make([]dd.Float, len(x))
	for i, xi := range x {
		v[i] = xi.Ldexp(shift)
	}
	alpha := dd.Dot(v, v).Sqrt()
	if v[0].Hi < 0 {
		alpha = alpha.Neg()
	}
	v[0] = v[0].Add(alpha)
	scale := alpha.Mul(v[0]).Neg()
	parallel(len(columns)-k-1, grain, func(j int) {
		y := columns[k+1+j][k:]
		dd.Axpy(dd.Dot(v, y).Div(scale), v, y)
	})
	clear(x)
	x[0] = alpha.Neg().Ldexp(-shift)
}

// lowerFactor returns the r×r lower triangular L = D·S of the LQ factorization of R, whose rows it
// overwrites: D = diag(2^exponents), and Sᵀ is the triangle of the QR factorization of (D⁻¹·R)ᵀ.
func lowerFactor(rows [][]dd.Float, exponents []int) (*scaled, error) {
	for k := range rows {
		eliminate(rows, k)
	}
	if err := accurate(condition(rows) * float64(len(rows)) * rounding); err != nil {
		return nil, err
	}
	l := newScaled(len(rows), len(rows))
	copy(l.exponents, exponents)
	for j, column := range l.columns {
		for i := j; i < len(rows); i++ {
			column[i] = rows[i][j].Ldexp(exponents[i] - exponents[j])
		}
	}
	return l, nil
}

// condition returns ‖S‖_F·‖S⁻¹‖_F of a lower triangular matrix of order r, given by its rows.
func condition(rows [][]dd.Float) float64 {
	squares, inverse := 0.0, make([]float64, len(rows)) // sums of squares in the columns of S⁻¹
	for _, row := range rows {
		for _, x := range row {
			squares += x.Hi * x.Hi
		}
	}
	parallel(len(rows), grain, func(j int) {
		column := make([]float64, len(rows))
		column[j] = 1
		for i := j; i < len(rows); i++ {
			for l := j; l < i; l++ {
				column[i] -= rows[i][l].Hi * column[l]
			}
			column[i] /= rows[i][i].Hi
			inverse[j] += column[i] * column[i]
		}
	})
	total := 0.0
	for _, s := range inverse {
		total += s
	}
	return math.Sqrt(squares) * math.Sqrt(total)
}
