package residual

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"

	"jmpi/internal/matio"
)

// disorder counts the singular values that are negative, NaN, Inf or larger than the one before; those with
// the sign −1 must not be smaller than the one before. What was cut counts as one more, the largest of it.
func (d *factors) disorder() float64 {
	wrong, all := 0, d.s
	if d.cut != nil {
		all = append(slices.Clip(all), d.cut.Next)
	}
	for j, x := range all {
		low, high := 0.0, math.MaxFloat64
		if j > 0 && d.signature.column(j) == d.signature.column(j-1) {
			if before := all[j-1]; d.signature.column(j) > 0 {
				high = before
			} else {
				low = max(low, before)
			}
		}
		if !(low <= x && x <= high) {
			wrong++
		}
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

// reference is something that is known of the input beside what S says of it, both non-increasing.
type reference struct {
	name      string
	want, got []float64
	told      bool // S says something of it
}

// references reads what is known of the input. The singular values are not those of a hyperbolic
// decomposition, and the eigenvalues belong to one signature. Where the smallest were cut, nothing is known
// of eigenvalues.
func (d *factors) references(o Options) (all []reference, err error) {
	sigma, ok, err := vector(o.SigmaFile, "true singular values", d.order())
	if err != nil {
		return nil, err
	} else if ok {
		all = append(all, reference{"sigma", sigma[:d.k], d.s, d.signature == nil})
	}
	if o.Reference != nil {
		all = append(all, reference{"reference", o.Reference[:d.k], d.s, d.signature == nil})
	}
	lambda, ok, err := vector(o.LambdaFile, "eigenvalues", d.order())
	if err != nil || !ok {
		return all, err
	}
	signs, ok, err := vector(o.SignatureFile, "signs", d.n)
	return append(all, reference{"lambda", lambda, d.signature.eigenvalues(d.s), ok && d.cut == nil &&
		d.signature.equals(signs)}), err
}

// vector reads the k numbers that are known of the input, called what; ok is false if there is no
// such file or name.
func vector(path, what string, k int64) (x []float64, ok bool, err error) {
	if path == "" {
		return nil, false, nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if x, err = matio.ReadVector(path); err != nil {
		return nil, false, err
	}
	if int64(len(x)) != k {
		return nil, false, fmt.Errorf("%s has %d %s, the input has %d; remove the file if it belongs to another "+
			"matrix", path, len(x), what, k)
	}
	return x, true, nil
}

// RelativeError returns max |gotᵢ − wantᵢ|/|wantᵢ|. Where wantᵢ is 0, |gotᵢ| may be as large as the rounding
// errors n·ε·max|want|, n = len(want).
func RelativeError(got, want []float64) float64 {
	worst, rounding := 0.0, float64(len(want))*epsilon*largest(want)
	for i, x := range want {
		if got[i] != x && !(x == 0 && math.Abs(got[i]) <= rounding) {
			worst = max(worst, math.Abs(got[i]-x)/math.Abs(x)) // max keeps a NaN
		}
	}
	return worst
}
