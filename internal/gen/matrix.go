package gen

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"jmpi/internal/parallel"
)

// ErrOptions is wrapped by every error of [New] that the caller can avoid: an unknown kind, or
// options that the kind does not have or that contradict each other.
var ErrOptions = errors.New("impossible test matrix")

// Options say which matrix of a kind is wanted. The zero value of a field other than Rows and
// Cols means the kind's default.
type Options struct {
	Rows, Cols int64   // the shape m×n
	Seed       uint64  // of the random numbers
	Cond       float64 // ratio of the largest to the smallest σ, or of the grading, ≥ 1
	Rank       int64   // of lowrank, 1 ≤ Rank ≤ min(m,n); default a quarter of min(m,n)
	Positive   *int64  // number of positive λ of spectra 1 and 3; nil: each sign by chance
	Sorted     bool    // gradings in decreasing order instead of a random one
}

// Matrix is a test matrix, whose columns can be produced in any order.
type Matrix struct {
	Rows, Cols int64
	// Sigma has the min(m,n) singular values, non-increasing, where they are known to 5e-11
	// relative accuracy; nil elsewhere.
	Sigma []float64
	// Lambda and Signature have, for the spectra, the eigenvalues of A = G·J·Gᵀ, non-increasing,
	// and the diagonal of J = diag(I,−I).
	Lambda, Signature []float64

	column func(j int, dst []float64) // writes column j; safe for concurrent use
}

// kind describes one kind of test matrix.
type kind struct {
	name     string
	square   bool
	cond     float64 // default of Options.Cond, 0 if the kind has no condition
	maxCond  float64 // beyond it the entries would underflow
	rank     bool    // has Options.Rank
	positive bool    // has Options.Positive
	sorted   bool    // has Options.Sorted
	build    func(o Options) (*Matrix, error)
}

var kinds = []kind{
	{name: "gauss", build: gauss},
	{name: "uniform", build: uniform},
	{name: "geometric", cond: 1e4, maxCond: 1e300, build: geometric},
	{name: "arithmetic", cond: 1e4, maxCond: 1e300, build: arithmetic},
	{name: "graded-cols", cond: 1e12, maxCond: 1e300, sorted: true, build: gradedCols},
	{name: "graded-rows", cond: 1e12, maxCond: 1e300, sorted: true, build: gradedRows},
	{name: "graded-both", cond: 1e12, maxCond: 1e150, sorted: true, build: gradedBoth},
	{name: "hilbert", square: true, build: hilbert},
	{name: "kahan", square: true, build: kahan},
	{name: "lowrank", rank: true, build: lowRank},
	{name: "spectrum1", square: true, positive: true, build: spectrum1},
	{name: "spectrum2", square: true, build: spectrum2},
	{name: "spectrum3", square: true, positive: true, build: spectrum3},
	{name: "spectrum4", square: true, build: spectrum4},
}

// Kinds returns the names of all kinds.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// Cond returns the condition number, or grading, of a matrix of this kind for which cond is asked, 0 for the
// default; 0 if the kind has none.
func Cond(name string, cond float64) float64 {
	k, _ := kindOf(name)
	return cmp.Or(cond, k.cond)
}

// kindOf returns the kind of this name, if there is one.
func kindOf(name string) (kind, bool) {
	for _, k := range kinds {
		if k.name == name {
			return k, true
		}
	}
	return kind{}, false
}

// New prepares a test matrix of the kind. For the spectra it computes the whole matrix, which
// takes O(n³) operations and 16·n² bytes; for the other kinds little is done and held here (for
// lowrank the m×r left factor). Errors wrap [ErrOptions].
func New(name string, o Options) (*Matrix, error) {
	k, ok := kindOf(name)
	if !ok {
		return nil, fmt.Errorf("%w: there is no kind %q; the kinds are %s", ErrOptions, name,
			strings.Join(Kinds(), ", "))
	}
	if err := k.check(&o); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrOptions, name, err)
	}
	return k.build(o)
}

// check finds contradictions in o and fills in the defaults.
func (k kind) check(o *Options) error {
	small := min(o.Rows, o.Cols)
	switch {
	case o.Rows < 0 || o.Cols < 0:
		return fmt.Errorf("the shape %d×%d is negative", o.Rows, o.Cols)
	case k.square && o.Rows != o.Cols:
		const text = "the shape %d×%d is not square, and this kind exists only square: type --shape %dx%d"
		return fmt.Errorf(text, o.Rows, o.Cols, small, small)
	case o.Cond != 0 && k.cond == 0:
		return errors.New("this kind has no condition number to choose: leave --cond out")
	case o.Rank != 0 && !k.rank:
		return errors.New("only lowrank has a rank to choose: leave --rank out")
	case o.Positive != nil && !k.positive:
		return errors.New("only spectrum1 and spectrum3 have signs to choose: leave --positive out")
	case o.Sorted && !k.sorted:
		return errors.New("only the graded kinds can be sorted: leave --sorted out")
	case o.Cond != 0 && !(o.Cond >= 1 && o.Cond <= k.maxCond):
		return fmt.Errorf("--cond %g must be between 1 and %g", o.Cond, k.maxCond)
	case o.Rank < 0 || o.Rank > small:
		return fmt.Errorf("--rank %d must be between 1 and min(m,n) = %d", o.Rank, small)
	case o.Rank > maxExactRank:
		return fmt.Errorf("--rank %d must be at most %d, where products stop being exact", o.Rank, maxExactRank)
	case o.Positive != nil && (*o.Positive < 0 || *o.Positive > small):
		return fmt.Errorf("--positive %d must be between 0 and the order, %d", *o.Positive, small)
	}
	o.Cond = cmp.Or(o.Cond, k.cond)
	if o.Rank == 0 {
		o.Rank = min((small+3)/4, maxExactRank)
	}
	return nil
}

// Columns writes the columns j0 ≤ j < j1 to dst, column-major with leading dimension ld ≥ Rows:
// element (i,j) to dst[i + (j−j0)·ld]. Rows beyond Rows are left alone. It works on all cores,
// and gives the same bits however the columns are cut into blocks.
func (a *Matrix) Columns(j0, j1 int64, dst []float64, ld int) error {
	m, n := int(a.Rows), int(j1-j0)
	if j0 < 0 || j1 < j0 || j1 > a.Cols {
		return fmt.Errorf("gen: columns %d to %d of a matrix with %d", j0, j1, a.Cols)
	}
	if m == 0 {
		return nil
	}
	if ld < m || n > 0 && len(dst) < ld*(n-1)+m {
		return fmt.Errorf("gen: %d columns of %d rows do not fit in %d numbers with leading dimension %d", n, m,
			len(dst), ld)
	}
	parallel.Chunks(n, 1, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			a.column(int(j0)+j, dst[j*ld:j*ld+m])
		}
	})
	return nil
}

// known tells whether the singular values sigma, non-increasing, of a matrix that was rounded to
// double are known to relative 5e-11: u·‖A‖_F ≤ 5e-11·σ_min bounds Weyl's perturbation.
func known(sigma []float64) bool {
	if len(sigma) == 0 {
		return true
	}
	squares := 0.0
	for _, s := range sigma {
		squares += s * s
	}
	return 0x1p-53*math.Sqrt(squares) <= 5e-11*sigma[len(sigma)-1]
}
