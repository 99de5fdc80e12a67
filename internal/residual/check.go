package residual

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"jmpi/internal/gen"
	"jmpi/internal/matio"
	"jmpi/internal/report"
)

const (
	epsilon  = 0x1p-52
	limit    = 10    // of the values that are measured in units of ε
	sigmaTol = 1e-10 // default of Options.SigmaTol
)

// Options are the choices of a check. The zero value is a good one. If there is no file of a name, or no
// name, its row is not in the report.
type Options struct {
	// SigmaFile is a file with the min(m,n) true singular values, non-increasing: the row sigma.
	SigmaFile string
	// Reference has the min(m,n) true singular values, non-increasing, if they were computed: the row reference.
	Reference []float64
	// LambdaFile is a file with the eigenvalues of A·D·Aᵀ, non-increasing, and SignatureFile one with the
	// diagonal of this J: the row lambda.
	LambdaFile, SignatureFile string
	// SigmaTol is what the relative errors of these rows must stay below; 0 means 1e-10.
	SigmaTol float64
}

// Beside returns the options with the files that "jmpi gen" writes beside the matrix file input.
func Beside(input string) Options {
	return Options{SigmaFile: gen.Sidecar(input, "sigma"), LambdaFile: gen.Sidecar(input, "lambda"),
		SignatureFile: gen.Sidecar(input, "signature")}
}

// Check judges the files S.npy, U.npy and V.npy in dir as a decomposition of the matrix input: the
// SVD, or the hyperbolic one with the signature in info.json, if that is there and has one.
// Where U or V is missing, the rows that need it are skipped. An error means that there is
// nothing to judge: input or dir cannot be read, or their shapes do not fit. NaN or Inf in S, U
// or V is no error but a failed row.
func Check(input *matio.File, dir string, o Options) (Report, error) {
	return check(input, dir, o, defaultBudget)
}

// check is Check with a choice of the memory, in numbers, that each of its few buffers may take.
func check(input *matio.File, dir string, o Options, budget int64) (r Report, err error) {
	useOwnThreads()
	d, err := openFactors(input, dir)
	if err != nil {
		return r, err
	}
	defer d.close()
	d.budget = budget

	measure := func(name string, limit float64, value func() (float64, error), needs ...*matio.File) {
		if err != nil {
			return
		}
		for _, f := range needs {
			if f == nil {
				r.skip(name)
				return
			}
		}
		var x float64
		if x, err = value(); isNotFinite(err) {
			x, err = math.NaN(), nil
		}
		r.add(name, x, limit)
	}
	scale, err := d.scale()
	if err != nil {
		return r, fmt.Errorf("cannot check against this input: %w", err)
	}
	measure("residual", limit, func() (float64, error) { return d.residual(scale) }, d.u, d.v)
	if d.cut != nil {
		measure("pairsU", limit, func() (float64, error) { return d.pairs(scale, true) }, d.u, d.v)
		measure("pairsV", limit, func() (float64, error) { return d.pairs(scale, false) }, d.u, d.v)
		measure("leading", limit, func() (float64, error) { return d.leading(scale) }, d.eitherSide())
	}
	if d.u == nil || d.v == nil {
		readings, e := d.half(scale)
		for _, x := range readings {
			r.add(x.name, x.value, limit)
		}
		err = errors.Join(err, e)
	}
	measure("orthU", limit, func() (float64, error) { return d.orthogonality(d.u, nil) }, d.u)
	measure("orthV", limit, func() (float64, error) { return d.orthogonality(d.v, d.signature) }, d.v)
	measure("order", 1, func() (float64, error) { return d.disorder(), nil })
	measure("sign", 1, func() (float64, error) { return d.wrongSigns() }, d.u)
	references, e := d.references(o)
	err = errors.Join(err, e)
	for _, known := range references {
		if !known.told {
			r.skip(known.name)
			continue
		}
		measure(known.name, o.tolerance(), func() (float64, error) {
			return RelativeError(known.got, known.want), nil
		})
	}
	if err != nil {
		return Report{}, fmt.Errorf("check %s: %w", dir, err)
	}
	return r, nil
}

func (o Options) tolerance() float64 {
	if o.SigmaTol == 0 {
		return sigmaTol
	}
	return o.SigmaTol
}

// order is min(m,n), the number of singular values that A has.
func (d *factors) order() int64 { return min(d.m, d.n) }

// factors are the open files of a decomposition.
type factors struct {
	a, u, v   *matio.File // u or v nil: missing
	s         []float64   // all NaN if one of them is not finite
	signature *signature  // nil: the SVD
	cut       *report.Cut // nil: all singular values are there
	m, n      int64
	k         int64 // singular values in S: min(m,n), or fewer where the others were cut
	budget    int64 // numbers that a buffer may take
}

func (d *factors) close() {
	for _, f := range []*matio.File{d.u, d.v} {
		if f != nil {
			f.Close()
		}
	}
}

// openFactors opens the files in dir and compares their shapes with that of input.
func openFactors(input *matio.File, dir string) (*factors, error) {
	d := &factors{a: input, m: input.Rows, n: input.Cols, k: min(input.Rows, input.Cols)}
	if info, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder; name the folder that holds S.npy, U.npy and V.npy", dir)
	}
	path := matio.Result(dir, "S")
	var err error
	if d.s, err = matio.ReadVector(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no S.npy; name a folder that jmpi svd has written", dir)
	} else if isNotFinite(err) {
		for i := range d.s {
			d.s[i] = math.NaN()
		}
	} else if err != nil {
		return nil, err
	}
	told, err := report.Read(filepath.Join(dir, "info.json"))
	if err != nil {
		return nil, err
	}
	if k := int64(len(d.s)); told.Cut != nil && told.Cut.Of == d.k && told.Signature == nil && k < d.k {
		d.cut, d.k = told.Cut, k
	}
	if int64(len(d.s)) != d.k {
		return nil, fmt.Errorf("%s has %d singular values, a %d×%d matrix has %d; was it made from another input?",
			path, len(d.s), d.m, d.n, d.k)
	}
	if d.signature, err = newSignature(told, filepath.Join(dir, "info.json"), d.m, d.n); err != nil {
		return nil, err
	}
	if d.u, err = openFactor(matio.Result(dir, "U"), d.m, d.k); err == nil {
		d.v, err = openFactor(matio.Result(dir, "V"), d.n, d.k)
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// openFactor opens a matrix that must be rows×cols, and returns nil if there is no such file.
func openFactor(path string, rows, cols int64) (*matio.File, error) {
	f, err := matio.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if f.Rows != rows || f.Cols != cols {
		f.Close()
		return nil, fmt.Errorf("%s is %d×%d instead of %d×%d; was it made from another input?", path, f.Rows,
			f.Cols, rows, cols)
	}
	return f, nil
}

// isNotFinite tells whether the reason of an error is a NaN or an Inf in a file.
func isNotFinite(err error) bool {
	var notFinite *matio.NotFiniteError
	return errors.As(err, &notFinite)
}
