package matrix

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"jmpi/internal/dense"
	"jmpi/kernels"
)

// FactorPivoted computes the QR factorization of a matrix with column pivoting, A·P = Q·R, and overwrites it
// by R: column j becomes column place[j] of R. The columns are taken by decreasing norm of what remains of
// them, up to kernels.PanelThreshold. It tells the rank: how many columns were more than noise when they were
// taken. Of columns that are noise, all become zero, or those that do not count in the singular values
// (remainder.go). Noise is that of s. It also returns by how much noise may rotate the space of the rows of
// R, in radians or so. It is collective.
func FactorPivoted(s *Matrix, noise dense.Noise,
	all bool) (q *Orthogonal, place []int, rank int, doubt float64, err error) {
	f := &factorization{moving: unsettled(s), remainder: remainder{all: all}, least: math.Inf(1),
		q: &Orthogonal{Devices: s.Devices, M: s.M}, wide: widest(s.Devices)}
	err = f.follow(&f.moving, noise)
	for err == nil && f.done < min(s.M, s.N) {
		var more bool
		if more, err = f.lot(); !more {
			break
		}
	}
	if err == nil {
		err = f.finish()
	}
	f.moving.free()
	f.noise.free()
	if err != nil {
		err = fmt.Errorf("matrix: pivoted QR factorization: %w", err)
	}
	return f.q, f.place, f.rank, f.doubt, err
}

// factorization is the state of FactorPivoted.
type factorization struct {
	moving
	remainder
	q     *Orthogonal
	least float64 // of the magnitudes on the diagonal of R so far
	begun int     // row where the last lot began
	rank  int     // how many columns were more than noise
	lots  int     // that were factored
	wide  int     // columns of the next lot, at most
}

// lot takes the next columns. It returns false if what remains is negligible.
func (f *factorization) lot() (bool, error) {
	chosen, lengths, bound, err := f.choose()
	if err != nil || len(chosen) == 0 {
		return false, err
	}
	l, err := f.factorLot(f.lots%len(f.ranks), chosen, lengths, bound)
	if err != nil || len(l.pivots) == 0 {
		return false, err
	}
	f.doubt, f.least = max(f.doubt, l.doubt), min(f.least, l.least)
	for i, from := range l.from {
		if f.done+i+1 < f.M {
			f.errors[f.done+i+1] = from
		}
	}
	err = f.apply(l)
	for _, x := range l.noisy {
		if err == nil {
			err = f.zero(chosen[x[0]], f.done+x[1])
		}
	}
	f.begun = f.done
	f.done += len(l.pivots)
	f.rank += l.rank
	f.lots++
	// Where the columns soon fall behind others a smaller lot does.
	f.wide = widest(f.Devices)
	if k := len(l.pivots); k < len(chosen) {
		f.wide = min(f.wide, max(1, (2*k+kernels.PivotedWidth-1)/kernels.PivotedWidth)*kernels.PivotedWidth)
	}
	return true, err
}

// widest returns how many columns a lot has at most. On hosts, where all columns are measured at once, it is
// one panel.
func widest(d *Devices) int {
	if d.HostMemory() {
		return kernels.PivotedWidth
	}
	return max(kernels.PivotedWidth, d.tile)
}

// choose returns the columns of the next lot, the lengths of all columns, and that of the longest one that is
// not in it.
func (f *factorization) choose() (columns []int, lengths []float64, bound float64, err error) {
	lengths, noise, err := f.measure()
	if err != nil {
		return nil, nil, 0, err
	}
	if f.done == 0 {
		f.norms, f.lost.longest = lengths, slices.Max(lengths)
	}
	columns = make([]int, 0, f.N-f.done)
	for j, x := range lengths {
		if f.place[j] < 0 && x >= kernels.NegligibleLength {
			columns = append(columns, j)
		}
	}
	if columns, err = f.denoise(columns, lengths, noise); err != nil {
		return nil, nil, 0, err
	}
	columns, bound = foremost(columns, lengths, f.wide)
	return columns, lengths, bound, nil
}

// foremost returns the longest of some columns, and the length of the longest that is left out.
func foremost(columns []int, lengths []float64, most int) ([]int, float64) {
	columns = longest(columns, lengths, most+1)
	if len(columns) <= most {
		return columns, 0
	}
	return columns[:most], lengths[columns[most]]
}

// longest returns the longest of some columns, which are sorted, by decreasing length, and of one length in
// their order; no more than `most`.
func longest(columns []int, lengths []float64, most int) []int {
	first := make([]int, 0, most+1)
	for _, j := range columns {
		if n := len(first); n == most && !(lengths[first[n-1]] < lengths[j]) {
			continue
		}
		at := sort.Search(len(first), func(i int) bool { return lengths[first[i]] < lengths[j] })
		first = slices.Insert(first, at, j)
		first = first[:min(len(first), most)]
	}
	return first
}
