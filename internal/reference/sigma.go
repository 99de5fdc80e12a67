package reference

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"jmpi/internal/dd"
)

const (
	MaxOrder   = 512     // the largest min(m,n): a matter of time, some seconds on two cores
	maxEntries = 1 << 26 // the largest m·n: a matter of memory, 1 GiB
)

// ErrTooLarge is wrapped by the errors of Fits.
var ErrTooLarge = errors.New("too large for the reference solver")

// Fits tells by an error, which wraps ErrTooLarge, whether an m×n matrix is too large for Sigma.
func Fits(m, n int64) error {
	switch small, large := min(m, n), max(m, n); {
	case small > MaxOrder:
		return fmt.Errorf("a %d×%d matrix is %w: min(m,n) may be at most %d", m, n, ErrTooLarge, MaxOrder)
	case small > 0 && large > maxEntries/small:
		return fmt.Errorf("a %d×%d matrix is %w: it may have at most %d entries", m, n, ErrTooLarge, maxEntries)
	}
	return nil
}

// Sigma returns the min(m,n) singular values, non-increasing, of the m×n matrix a, column-major
// with leading dimension ld ≥ m, which it does not change; how accurate they are is told in the
// comment of the package. It works on all cores, with the same bits for any number of them.
//
// It fails if a is too large (Fits), has a NaN or an Inf, or is so ill-conditioned after the best
// scaling of rows and columns that double-double does not determine its σ to float64.
func Sigma(a []float64, m, n, ld int) ([]float64, error) {
	values, err := values(a, m, n, ld)
	sigma := make([]float64, len(values))
	for i, v := range values {
		sigma[i] = math.Ldexp(v.Hi, v.exponent)
	}
	return sigma, err
}

// value is the singular value Float·2^exponent; Hi is 0 or in [½,1).
type value struct {
	dd.Float
	exponent int
}

// values computes the singular values of Sigma, non-increasing.
func values(a []float64, m, n, ld int) ([]value, error) {
	if err := Fits(int64(m), int64(n)); err != nil {
		return nil, err
	}
	at := func(i, j int) float64 { return a[i+j*ld] }
	if m < n {
		m, n = n, m
		at = func(i, j int) float64 { return a[j+i*ld] }
	}
	for j := range n {
		for i := range m {
			if x := at(i, j); math.IsNaN(x - x) {
				return nil, fmt.Errorf("a matrix with an entry %g has no singular values", x)
			}
		}
	}
	if n == 0 {
		return nil, nil
	}
	x := widen(at, m, n)
	rows, exponents, err := x.rowsOfR()
	var l *scaled
	if err == nil {
		l, err = lowerFactor(rows, exponents)
	}
	if err == nil {
		err = l.orthogonalize()
	}
	if err != nil {
		return nil, fmt.Errorf("the singular values of a %d×%d matrix: %w", m, n, err)
	}
	sigma := make([]value, n) // zeros beyond the rank
	for j, x := range l.columns {
		norm := dd.Dot(x, x).Sqrt()
		_, e := math.Frexp(norm.Hi)
		sigma[j] = value{norm.Ldexp(-e), l.exponents[j] + e}
	}
	slices.SortStableFunc(sigma, func(x, y value) int {
		if x.Hi == 0 || y.Hi == 0 {
			return y.Cmp(x.Float)
		}
		return cmp.Or(cmp.Compare(y.exponent, x.exponent), y.Cmp(x.Float))
	})
	return sigma, nil
}

// scaled is a matrix whose column j is columns[j]·2^exponents[j].
type scaled struct {
	columns   [][]dd.Float
	exponents []int
}

// newScaled returns the m×n matrix 0, its columns one behind the other in memory.
func newScaled(m, n int) *scaled {
	x := &scaled{make([][]dd.Float, n), make([]int, n)}
	all := make([]dd.Float, m*n)
	for j := range x.columns {
		x.columns[j] = all[j*m : (j+1)*m : (j+1)*m]
	}
	return x
}

func (x *scaled) swap(p, q int) {
	x.columns[p], x.columns[q] = x.columns[q], x.columns[p]
	x.exponents[p], x.exponents[q] = x.exponents[q], x.exponents[p]
}

// The largest entry of each widened column is about 2^top, so that sums of products do not
// overflow; entries below 2^bottom become 0, because their low parts would underflow.
const top, bottom = 450, -850

// widen returns the m×n matrix at with its rows in decreasing order of their largest entries.
func widen(at func(i, j int) float64, m, n int) *scaled {
	largest, order := make([]float64, m), make([]int, m)
	for i := range order {
		order[i] = i
		for j := range n {
			largest[i] = max(largest[i], math.Abs(at(i, j)))
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(largest[j], largest[i]) })
	smallest := math.Ldexp(1, bottom)
	x := newScaled(m, n)
	for j, column := range x.columns {
		size := 0.0
		for i := range m {
			size = max(size, math.Abs(at(i, j)))
		}
		_, e := math.Frexp(size)
		x.exponents[j] = e - top
		for i, from := range order {
			if v := math.Ldexp(at(from, j), top-e); math.Abs(v) >= smallest {
				column[i] = dd.From(v)
			}
		}
	}
	return x
}
