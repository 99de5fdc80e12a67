package matrix

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"jmpi/dist/comm"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// FactorPivoted computes the QR factorization of a matrix with column pivoting, A·P = Q·R, and overwrites it
// by R: column j becomes column place[j] of R. The columns are taken by decreasing norm of what remains of
// them, up to kernels.PanelThreshold. It tells the rank: how many columns were more than noise when they were
// taken. Of columns that are noise, all become zero, or those that do not count in the singular values
// (remainder.go). Noise is that of s, and is changed. It also returns by how much noise may rotate the space
// of the rows of R, in radians or so. It is collective.
func FactorPivoted(s *Matrix, noise dense.Noise,
	all bool) (q *Orthogonal, place []int, rank int, doubt float64, err error) {
	f := &factorization{moving: unsettled(s), remainder: remainder{all: all}, least: math.Inf(1),
		q: &Orthogonal{Devices: s.Devices, M: s.M}}
	err = f.follow(&f.moving, noise)
	for err == nil && f.done < min(s.M, s.N) {
		var more bool
		if more, err = f.panel(); !more {
			break
		}
	}
	if err == nil {
		err = f.finish()
	}
	f.free()
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
	begun int     // row where the last panel began
	rank  int     // how many columns were more than noise
}

// panel does the next panel. It returns false if what remains is negligible.
func (f *factorization) panel() (bool, error) {
	chosen, bound, err := f.choose()
	if err != nil || len(chosen) == 0 {
		return false, err
	}
	lead, _ := f.home(chosen[0])
	noise, err := f.noiseOf(chosen)
	if err != nil {
		return false, err
	}
	memory, p, err := f.factorOn(lead, chosen, bound, noise)
	if err != nil || p.Count == 0 {
		return false, err
	}
	r := reflectors{row: f.done, count: p.Count, owner: lead, memory: memory}
	f.q.panels = append(f.q.panels, r)
	ready, err := f.ready()
	if err != nil {
		return false, err
	}
	all, err := f.q.shown([]reflectors{r}, ready)
	if err != nil {
		return false, err
	}
	if err := f.settle(chosen, p); err != nil {
		return false, err
	}
	doubt, err := f.advance(p, func() error {
		return f.each(func(i int, dev *device) error {
			return dev.Reflect(all[0][i], true, f.live(i, f.done, f.M))
		})
	})
	f.doubt = max(f.doubt, doubt)
	for _, x := range p.Noisy {
		if err == nil {
			err = f.zero(chosen[x[0]], f.done+x[1])
		}
	}
	f.begun = f.done
	for i := range p.Count {
		f.least = min(f.least, math.Abs(p.R[i+i*p.Count]))
	}
	f.done += p.Count
	f.rank += p.Rank
	return true, err
}

// choose returns the columns of the next panel, and the norm of the longest one that is not in it.
func (f *factorization) choose() (columns []int, bound float64, err error) {
	lengths, noise, err := f.measure()
	if err != nil {
		return nil, 0, err
	}
	if f.done == 0 {
		f.norms, f.lost.longest = lengths, slices.Max(lengths)
	}
	for j, x := range lengths {
		if f.place[j] < 0 && x >= kernels.NegligibleLength {
			columns = append(columns, j)
		}
	}
	longer := func(a, b int) int { return cmp.Or(cmp.Compare(lengths[b], lengths[a]), cmp.Compare(a, b)) }
	if columns, err = f.denoise(columns, lengths, noise, longer); err != nil {
		return nil, 0, err
	}
	columns = foremost(columns, kernels.PivotedWidth+1, longer)
	if len(columns) > kernels.PivotedWidth {
		bound = lengths[columns[kernels.PivotedWidth]]
		columns = columns[:kernels.PivotedWidth]
	}
	return columns, bound, nil
}

// foremost returns the first `most` of x in the given order, sorted.
func foremost(x []int, most int, compare func(a, b int) int) []int {
	first := make([]int, 0, most+1)
	for _, e := range x {
		if len(first) == most && compare(first[most-1], e) < 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(first, e, compare)
		first = slices.Insert(first, at, e)
		first = first[:min(len(first), most)]
	}
	return first
}

// factorOn factors what remains of the chosen columns on one device. It returns the memory of the reflectors
// there, and to every rank what was found.
func (f *factorization) factorOn(lead int, chosen []int, bound float64,
	noise *kernels.PanelNoise) (memory kernels.Panel, p kernels.PanelResult, err error) {
	rows, n := f.M-f.done, len(chosen)
	dev := f.here(lead)
	a := kernels.Panel{M: rows, N: n}
	if dev != nil {
		if a, err = f.work[lead-f.first].need(dev, rows, n); err != nil {
			return memory, p, err
		}
	}
	if err = f.gatherRest(lead, chosen, a); err != nil {
		return memory, p, err
	}
	if dev != nil {
		if memory, err = f.q.reserve(dev, rows, min(rows, n)); err != nil {
			return memory, p, err
		}
		q := reflectors{row: f.done, count: min(rows, n)}.of(f.M, memory)
		p, err = dev.FactorPivoted(a, q, kernels.PanelOptions{Bound: bound, Noise: noise, Drop: f.dropping()})
		if err != nil {
			return memory, p, err
		}
	}
	if f.Comm.Size() == 1 {
		return memory, p, nil
	}
	message, err := comm.FromRank(f.Comm, f.ranks[lead], pack(p))
	if err != nil {
		return memory, p, err
	}
	return memory, unpack(message), nil
}

// pack writes what was found of a panel as one sequence of numbers; unpack reads it again.
func pack(p kernels.PanelResult) []float64 {
	message := []float64{float64(p.Count), float64(p.Rank), float64(len(p.Noisy)), float64(len(p.Columns)),
		float64(len(p.Rows))}
	if len(p.Rows) > 0 {
		message = append(message, float64(len(p.Rows[0])))
	}
	for _, c := range p.Pivots {
		message = append(message, float64(c))
	}
	for _, x := range p.Noisy {
		message = append(message, float64(x[0]), float64(x[1]))
	}
	message = append(append(append(message, p.R...), p.Tau...), p.Columns...)
	for b := range p.Rows {
		message = append(append(message, p.Rows[b]...), p.From[b]...)
	}
	return message
}

func unpack(message []float64) (p kernels.PanelResult) {
	next := func(n int) (x []float64) {
		x, message = message[:n:n], message[n:]
		return x
	}
	head := next(5)
	p.Count, p.Rank = int(head[0]), int(head[1])
	long := 0
	if head[4] > 0 {
		long = int(next(1)[0])
	}
	for _, c := range next(p.Count) {
		p.Pivots = append(p.Pivots, int(c))
	}
	for range int(head[2]) {
		x := next(2)
		p.Noisy = append(p.Noisy, [2]int{int(x[0]), int(x[1])})
	}
	p.R = next(p.Count * p.Count)
	if len(message) >= p.Count {
		p.Tau = next(min(p.Count, len(message)))
	}
	p.Columns = next(int(head[3]))
	for range int(head[4]) {
		p.Rows = append(p.Rows, next(long))
		p.From = append(p.From, next(p.Count+1))
	}
	return p
}
