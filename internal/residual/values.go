package residual

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"jmpi/internal/matio"
)

// disorder counts the singular values that are negative, NaN, Inf or larger than the one before.
func disorder(s []float64) float64 {
	wrong, before := 0, math.MaxFloat64
	for _, x := range s {
		if !(x >= 0 && x <= before) {
			wrong++
		}
		before = x
	}
	return float64(wrong)
}

// wrongSigns counts the columns of U whose entry of largest magnitude, the first of equal ones,
// is not positive.
func (d *factors) wrongSigns() (float64, error) {
	largest := make([]float64, d.k) // of each column, with its sign
	err := d.panels(d.u, func(_ int64, p panel) error {
		p.eachColumn(func(j int, column []float64) {
			for _, x := range column {
				if math.Abs(x) > math.Abs(largest[j]) {
					largest[j] = x
				}
			}
		})
		return nil
	})
	wrong := 0
	for _, x := range largest {
		if !(x > 0) {
			wrong++
		}
	}
	return float64(wrong), err
}

// trueSigma reads the k true singular values; ok is false if there is no such file.
func trueSigma(path string, k int64) (sigma []float64, ok bool, err error) {
	if path == "" {
		return nil, false, nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if sigma, err = matio.ReadVector(path); err != nil {
		return nil, false, err
	}
	if int64(len(sigma)) != k {
		return nil, false, fmt.Errorf("%s has %d true singular values, the input has %d; remove the file if it belongs to another matrix", path, len(sigma), k)
	}
	return sigma, true, nil
}

// relativeError returns max |sᵢ − σᵢ|/σᵢ, an exact 0 being right for σᵢ = 0.
func relativeError(s, sigma []float64) float64 {
	worst := 0.0
	for i, want := range sigma {
		if s[i] != want {
			worst = max(worst, math.Abs(s[i]-want)/want) // max keeps a NaN
		}
	}
	return worst
}
