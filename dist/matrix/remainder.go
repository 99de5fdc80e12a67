package matrix

import (
	"math"
	"slices"

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
	noise dense.Noise
	// for each number of rows of R that are done so far: how long the errors of what is left are, of a
	// column whose noise is 1
	errors [][]float64
	all    bool      // all columns that are noise become zero
	norms  []float64 // of the columns of the matrix
	lost   losses    // of the noise that does not count, unless all of it becomes zero
	doubt  float64   // largest ratio of noise to what was taken
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

// denoise sets the longest of the columns, in the order of decreasing length, to zero as long as they are
// noise, if it may, and returns the others. Shorter ones are not judged: while there are longer ones, rows of
// large errors may be left that have nothing to do with them.
func (f *factorization) denoise(columns []int, lengths []float64) ([]int, error) {
	if f.noise.None() {
		return columns, nil
	}
	bounds, err := f.GatherColumns(func(j int) float64 {
		if f.place[j] >= 0 {
			return 0
		}
		return dense.NoiseOf(f.noise.Column(j), f.errors[f.done])
	})
	if err != nil {
		return nil, err
	}
	if columns, err = f.makeWay(columns, lengths, bounds); err != nil {
		return nil, err
	}
	noisy := columns
	if i := slices.IndexFunc(columns, func(j int) bool { return lengths[j] > bounds[j] }); i >= 0 {
		noisy = columns[:i]
	}
	if !f.all && len(noisy) > 0 {
		negligible, err := f.negligible(noisy, lengths)
		if f.lost.retain = !negligible; err != nil || !negligible {
			return columns, err
		}
	}
	for _, j := range noisy {
		if f.owner(j) == f.Comm.Rank() {
			f.drop(j, f.current(j))
		}
	}
	return columns[len(noisy):], nil
}

// makeWay sets those of the columns to zero that are noise in the way of small ones, and returns the others.
// A column is small if it was so from the beginning: not one of which little is left. It is collective.
func (f *factorization) makeWay(columns []int, lengths, bounds []float64) ([]int, error) {
	if f.all {
		return columns, nil
	}
	small, most := math.Inf(1), 0.0
	for _, j := range columns {
		if lengths[j] > bounds[j] {
			small = min(small, f.norms[j])
		} else {
			most = max(most, bounds[j])
		}
	}
	if f.lost.reach = small / smallReach; most < f.lost.reach {
		return columns, nil
	}
	covered, err := f.GatherColumns(func(j int) float64 {
		if f.place[j] < 0 && f.noise.Covers(j, f.done, f.current(j)[f.done:], lengths[j], f.errors[f.done],
			f.lost.reach) {
			return 1
		}
		return 0
	})
	if err != nil {
		return nil, err
	}
	var others []int
	for _, j := range columns {
		if covered[j] == 0 {
			others = append(others, j)
		} else if f.owner(j) == f.Comm.Rank() {
			f.drop(j, f.current(j))
		}
	}
	return others, nil
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
		if err != nil || l.allows(math.Hypot(beyond, within)) {
			return err == nil, err
		}
	}
	l.tried = frobenius
	return false, nil
}

// drop sets what is left of column j, which is noise, to zero. Where the rank is what counts, so does what
// was noise already in the last panel, which has mixed it with other rows.
func (f *factorization) drop(j int, x []float64) {
	from, length := f.done, dense.Length(x[f.done:])
	for k := f.done - 1; f.all && k >= f.begun; k-- {
		if length = math.Hypot(length, x[k]); length <= dense.NoiseOf(f.noise.Column(j), f.errors[k]) {
			from = k
		}
	}
	clear(x[from:])
}

// zero clears column j, if it is this rank's, from a row on.
func (f *factorization) zero(j, row int) {
	if f.owner(j) == f.Comm.Rank() {
		clear(f.current(j)[row:])
	}
}

// spread keeps the noise up to date with the reflectors of a panel.
func (f *factorization) spread(p *dense.Panel) {
	if f.noise.None() {
		return
	}
	width := f.noise.Width()
	for i := range p.Count {
		noise := dense.NoiseOf(p.Noise[i*width:(i+1)*width], f.errors[f.done+i])
		f.doubt = max(f.doubt, noise/math.Abs(p.R[i+i*p.Count]))
		f.noise.Reflect(f.done+i, p.Y[i*p.M+i:(i+1)*p.M], p.T[i+i*p.Count])
		if f.done+i+1 < f.M {
			f.errors[f.done+i+1] = f.noise.From(f.done + i + 1)
		}
	}
	for b, x := range f.Own {
		for slot, j := range f.slots[b][:f.live[b]] {
			for i := range p.Count {
				f.noise.Subtract(j, x[slot*f.M+f.done+i]/p.R[i+i*p.Count], p.Noise[i*width:(i+1)*width])
			}
		}
	}
}
