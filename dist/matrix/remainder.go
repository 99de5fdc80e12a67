package matrix

import (
	"math"

	"jmpi/internal/dense"
	"jmpi/kernels"
)

// What a pivoted factorization leaves of dependent columns is noise. Where the rank is what counts,
// all noise becomes zero.
//
// For the singular values that is too much. The errors that are followed are bounds, 4√n·ε and more, and
// where the spectrum decays, what is left of columns that count as noise may still hold singular values of
// 100·ε·σ₁. So noise becomes zero only if that changes no singular value by more than lossLimit·ε·σ₁. Other
// noise is factored as any column, and another panel makes it smaller.
//
// With A·P = Q·[R; 0 E], E being the noise, the change has two parts. ‖E‖ bounds both, but may be many times
// too large: columns that depend on a short pivot all have the pivot's errors, and these add up. What E is in
// the space of the rows of R is no loss by itself. It belongs to the singular values σ of R, and changes them
// by ‖E‖²/2σ. The rest of E is what A has beyond R.

// Noise in the way of small columns becomes zero at once, whatever its size. While what is left of a
// dependent column waits to be taken, its errors stand in the rows of R that are done meanwhile, and where
// the columns are graded, these rows belong to small singular values: a column of errors e adds e²/2σ to one.
// The loss does not count there: small singular values would have no digit ([docs/numerics.md §10]).

// lossLimit is how much of a matrix may become zero, in units of ε times its norm.
const lossLimit = 1.5

// smallReach is how much longer than noise a column must be for the noise not to be in its way.
const smallReach = 1 << 16

// remainder is what a pivoted factorization knows of what is left.
type remainder struct {
	noise
	all   bool      // all columns that are noise become zero
	norms []float64 // of the columns of the matrix
	lost  losses    // of the noise that does not count, unless all of it becomes zero
	doubt float64   // largest ratio of noise to what was taken
}

// losses is what a factorization has set to zero of its matrix.
type losses struct {
	longest float64 // column of the matrix, a lower bound of its norm
	norm    float64 // of the matrix, estimated; 0: not yet
	squares float64 // sum of the squares of the losses
	tried   float64 // Frobenius norm of noise that was too large to become zero, 0: none was
	retain  bool    // the next panel takes noise as any column
	reach   float64 // noise of this size or more is in the way of small columns
}

// allows tells whether so much more may be lost, and counts it if so.
func (l *losses) allows(loss float64) bool {
	squares, limit := l.squares+loss*loss, lossLimit*kernels.Epsilon*max(l.longest, l.norm)
	if !(squares <= limit*limit) {
		return false
	}
	l.squares, l.tried = squares, 0
	return true
}

// dropping says which noise a panel sets to zero by itself: columns of which n together are no longer than
// ε/4 times the longest of the matrix.
func (f *factorization) dropping() kernels.Dropping {
	if f.all {
		return kernels.Dropping{Longest: math.Inf(1)}
	}
	return kernels.Dropping{Longest: 0x1p-54 * f.lost.longest / math.Sqrt(float64(f.N)), Retain: f.lost.retain,
		Reach: f.lost.reach}
}

// denoise sets the longest of the columns to zero as long as they are noise, if it may, and returns the
// others. Shorter ones are not judged: while there are longer ones, rows of large errors may be left that
// have nothing to do with them.
func (f *factorization) denoise(columns []int, lengths, bounds []float64) ([]int, error) {
	if !f.following() {
		return columns, nil
	}
	columns, some, err := f.makeWay(columns, lengths, bounds)
	if err != nil || !some {
		return columns, err
	}
	first := -1 // the longest of those that are more than noise
	for _, j := range columns {
		if lengths[j] > bounds[j] && (first < 0 || lengths[j] > lengths[first]) {
			first = j
		}
	}
	var noisy, others []int
	for _, j := range columns {
		if first < 0 || lengths[j] > lengths[first] || lengths[j] == lengths[first] && j < first {
			noisy = append(noisy, j)
		} else {
			others = append(others, j)
		}
	}
	if !f.all && len(noisy) > 0 {
		negligible, err := f.negligible(noisy, lengths)
		if f.lost.retain = !negligible; err != nil || !negligible {
			return columns, err
		}
	}
	return others, f.drop(noisy)
}

// makeWay sets those of the columns to zero that are noise in the way of small ones, and returns the others,
// and whether some column was noise. A column is small if it was so from the beginning: not one of which
// little is left. It is collective.
func (f *factorization) makeWay(columns []int, lengths, bounds []float64) (left []int, some bool, err error) {
	small, most := math.Inf(1), 0.0
	for _, j := range columns {
		if lengths[j] > bounds[j] {
			small = min(small, f.norms[j])
		} else {
			most, some = max(most, bounds[j]), true
		}
	}
	if f.all {
		return columns, some, nil
	}
	if f.lost.reach = small / smallReach; most < f.lost.reach {
		return columns, some, nil
	}
	covered, err := f.covered(columns, lengths)
	if err != nil {
		return nil, some, err
	}
	var others, dropped []int
	for _, j := range columns {
		if covered[j] == 0 {
			others = append(others, j)
		} else {
			dropped = append(dropped, j)
		}
	}
	return others, some, f.drop(dropped)
}

// covered tells, by 1, of which columns nothing is left but noise that reaches as far as counts. It is
// collective.
func (f *factorization) covered(columns []int, lengths []float64) ([]float64, error) {
	samples, err := f.samplesOf(columns)
	if err != nil {
		return nil, err
	}
	rows, err := f.errorsOfRows()
	if err != nil {
		return nil, err
	}
	noise := dense.Noise{Rows: rows, Columns: samples}
	covered := make([]float64, f.N)
	for k, j := range columns {
		if !f.mine(j) || !noise.Reaches(k, lengths[j], f.errors[f.done], f.lost.reach) {
			continue
		}
		x, err := f.read(j, f.done)
		if err != nil {
			return nil, err
		}
		if noise.Covers(k, f.done, x, lengths[j], f.errors[f.done], f.lost.reach) {
			covered[j] = 1
		}
	}
	return f.gatherEach(covered)
}

// negligible tells whether what is left of some columns may become zero, and counts the loss if so.
// It is collective.
func (f *factorization) negligible(columns []int, lengths []float64) (bool, error) {
	e := region{rows: f.done, columns: make([]bool, f.N)}
	var left []float64
	for _, j := range columns {
		e.columns[j] = true
		left = append(left, lengths[j])
	}
	l, frobenius := &f.lost, kernels.Norm2(left)
	if l.allows(frobenius) {
		return true, nil
	}
	if l.tried > 0 && frobenius > l.tried/2 { // an estimate costs about as much as a panel
		return false, nil
	}
	var err error
	if l.norm == 0 {
		if l.norm, err = f.norm2(region{}, nil); err != nil {
			return false, err
		}
	}
	norm, err := f.norm2(e, nil)
	if err != nil || l.allows(norm) {
		return err == nil, err
	}
	if within := norm * norm / (2 * f.least); within <= lossLimit*kernels.Epsilon*l.norm {
		rows, err := f.rowSpace(e.columns)
		if err != nil {
			return false, err
		}
		beyond, err := f.norm2(e, rows)
		rows.free()
		if err != nil || l.allows(math.Hypot(beyond, within)) {
			return err == nil, err
		}
	}
	l.tried = frobenius
	return false, nil
}

// drop sets what is left of some columns, which are noise, to zero. Where the rank is what counts, so does
// what was noise already in the last panel, which has mixed it with other rows. It is collective.
func (f *factorization) drop(columns []int) error {
	if len(columns) == 0 {
		return nil
	}
	if !f.all {
		for _, j := range columns {
			if err := f.zero(j, f.done); err != nil {
				return err
			}
		}
		return nil
	}
	samples, err := f.samplesOf(columns)
	if err != nil {
		return err
	}
	for k, j := range columns {
		if !f.mine(j) {
			continue
		}
		x, err := f.read(j, f.begun)
		if err != nil {
			return err
		}
		from, length := f.done, dense.Length(x[f.done-f.begun:])
		for row := f.done - 1; row >= f.begun; row-- {
			length = math.Hypot(length, x[row-f.begun])
			if length <= dense.NoiseOf(samples[k*f.width():(k+1)*f.width()], f.errors[row]) {
				from = row
			}
		}
		if err := f.zero(j, from); err != nil {
			return err
		}
	}
	return nil
}
