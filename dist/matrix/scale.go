package matrix

import (
	"fmt"
	"math"

	"jmpi/dist/comm"
)

// Top is the exponent that the largest entry gets, so that the squares of what is 2⁻⁸⁵⁰ of it are still in
// the normal range, and sums of squares of the largest far from overflow.
const Top = 400

// CommonExponent returns e such that 2^-e brings the largest of the magnitudes given by all ranks to
// [2^(top−1), 2^top), 0 if all are zero. Powers of two are compared, not the numbers: an integer maximum does
// not depend on the order of the ranks.
func CommonExponent(c comm.Comm, largest float64) (int, error) {
	x := []int64{math.MinInt64}
	if largest > 0 {
		_, e := math.Frexp(largest)
		x[0] = int64(e)
	}
	if err := c.AllreduceMax(x); err != nil {
		return 0, fmt.Errorf("matrix: scale: %w", err)
	}
	if x[0] == math.MinInt64 {
		return 0, nil
	}
	return int(x[0]) - Top, nil
}

// InRange refuses singular values, unscaled by 2^e, that float64 cannot hold. Every rank has the same.
func InRange(sigma []float64, e int) error {
	for _, x := range sigma {
		if math.IsInf(x, 0) {
			return &comm.Failure{Kind: comm.BadInput,
				Text: fmt.Sprintf("the largest singular value exceeds the range of float64; divide the matrix by 2^%d",
					e+Top-1000)}
		}
	}
	return nil
}
