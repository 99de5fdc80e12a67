package reference

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"jmpi/internal/parallel"
)

const (
	MaxOrder   = 512     // the largest min(m,n): a matter of time, half a minute on two cores
	maxEntries = 1 << 26 // the largest m·n: a matter of the caller's memory
	maxWork    = 1 << 30 // the largest m·n·min(m,n): some minutes
)

// ErrTooLarge is wrapped by the errors of Fits.
var ErrTooLarge = errors.New("too large for the reference solver")

// Fits tells by an error, which wraps ErrTooLarge, whether an m×n matrix is too large for Sigma.
func Fits(m, n int64) error {
	small, large := min(m, n), max(m, n)
	if small > MaxOrder {
		return fmt.Errorf("a %d×%d matrix is %w: min(m,n) may be at most %d", m, n, ErrTooLarge, MaxOrder)
	}
	if small == 0 {
		return nil
	}
	if most := min(maxEntries/small, maxWork/(small*small)); large > most {
		return fmt.Errorf("a %d×%d matrix is %w: max(m,n) may be at most %d beside %d",
			m, n, ErrTooLarge, most, small)
	}
	return nil
}

const (
	accuracy = 64    // bits that are right in each singular value
	first    = 176   // digits of the first attempt: three words
	lowest   = -1075 // numbers below 2^lowest are 0 in float64
)

// Sigma returns the min(m,n) singular values, non-increasing, of the m×n matrix a, column-major with leading
// dimension ld, correct to the last bit but for the rounding of a few. Those below the range of float64 are
// 0.
func Sigma(a []float64, m, n, ld int) ([]float64, error) {
	if err := Fits(int64(m), int64(n)); err != nil {
		return nil, err
	}
	at := func(i, j int) float64 { return a[i+j*ld] }
	if m < n {
		m, n = n, m
		at = func(i, j int) float64 { return a[j+i*ld] }
	}
	size := 0.0
	for j := range n {
		for i := range m {
			x := at(i, j)
			if math.IsNaN(x - x) {
				return nil, fmt.Errorf("a matrix with an entry %g has no singular values", x)
			}
			size = max(size, math.Abs(x))
		}
	}
	sigma := make([]float64, n)
	if size == 0 {
		return sigma, nil
	}
	_, exponent := math.Frexp(size)
	// The singular values are known to 2^margin units of the last digit.
	margin := 4 + 3*bits.Len(uint(m+n))
	enough := max(1, exponent-lowest+margin+accuracy) // digits, whatever the matrix
	for digits := min(first, enough); ; digits = min(3*digits, enough) {
		b := bidiagonalize(at, m, n, fixed{uint(digits), exponent})
		if digits == enough || b.atLeast(power(margin+accuracy)) == n {
			r := b.rough()
			parallel.All(n, 1, func(i int) { sigma[i] = b.value(i, margin, r) })
			return sigma, nil
		}
	}
}
