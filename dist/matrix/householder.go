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

// Factor computes the QR factorization of a matrix, A·P = Q·R, by Householder reflectors, and overwrites it
// by R: column j becomes column place[j] of R. The columns are taken in the given order or, if it is nil, by
// decreasing norm of what remains of them, up to kernels.PanelThreshold (column pivoting). It is collective.
func Factor(s *Matrix, order []int) (q *Orthogonal, place []int, err error) {
	f, err := factorize(s, order, dense.Noise{}, false)
	return f.q, f.place, err
}

// FactorPivoted is Factor with column pivoting that tells the rank: how many columns were more than noise
// when they were taken. Of columns that are noise, all become zero, or those that do not count in the
// singular values (remainder.go). Noise is that of s, and is changed. It also returns by how much noise may
// rotate the space of the rows of R, in radians or so.
func FactorPivoted(s *Matrix, noise dense.Noise,
	all bool) (q *Orthogonal, place []int, rank int, doubt float64, err error) {
	f, err := factorize(s, nil, noise, all)
	return f.q, f.place, f.rank, f.doubt, err
}

func factorize(s *Matrix, order []int, noise dense.Noise, all bool) (*factorization, error) {
	f := &factorization{moving: unsettled(s), remainder: remainder{all: all}, order: order,
		least: math.Inf(1), q: &Orthogonal{Devices: s.Devices, M: s.M}}
	err := f.follow(&f.moving, noise)
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
		return f, fmt.Errorf("matrix: QR factorization: %w", err)
	}
	return f, nil
}

// factorization is the state of Factor.
type factorization struct {
	moving
	remainder
	order []int // in which the columns are taken, nil: pivoting
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
	all, err := f.q.shown(r)
	if err != nil {
		return false, err
	}
	if err := f.settle(chosen, p); err != nil {
		return false, err
	}
	err = f.each(func(i int, dev *device) error { return dev.Reflect(all[i], true, f.live(i, f.done, f.M)) })
	if err == nil {
		var doubt float64
		doubt, err = f.advance(p)
		f.doubt = max(f.doubt, doubt)
	}
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
	if f.order != nil {
		return f.order[f.done:min(f.N, f.done+kernels.PanelWidth)], 0, nil
	}
	all, err := f.liveLengths() // of what is left of the columns that are not done
	if err != nil {
		return nil, 0, err
	}
	if f.done == 0 {
		f.norms, f.lost.longest = all, slices.Max(all)
	}
	for j := range all {
		if f.place[j] < 0 && all[j] >= kernels.NegligibleLength {
			columns = append(columns, j)
		}
	}
	slices.SortFunc(columns, func(a, b int) int {
		return cmp.Or(cmp.Compare(all[b], all[a]), cmp.Compare(a, b))
	})
	if columns, err = f.denoise(columns, all); err != nil {
		return nil, 0, err
	}
	if len(columns) > kernels.PivotedWidth {
		bound = all[columns[kernels.PivotedWidth]]
		columns = columns[:kernels.PivotedWidth]
	}
	return columns, bound, nil
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
		if f.order == nil {
			p, err = dev.FactorPivoted(a, q, kernels.PanelOptions{Bound: bound, Noise: noise, Drop: f.dropping()})
		} else {
			p, err = f.factorNatural(dev, a, q)
		}
		if err != nil {
			return memory, p, err
		}
	}
	if f.Comm.Size() == 1 {
		return memory, p, nil
	}
	message, err := comm.FromRank(f.Comm, f.ranks[lead], pack(p))
	return memory, unpack(message), err
}

// factorNatural factors a panel in the order of its columns.
func (f *factorization) factorNatural(dev *device, a kernels.Panel,
	q kernels.Reflectors) (p kernels.PanelResult, err error) {
	p.Count = q.T.N
	r, err := f.factor[f.indexOf(dev)].need(dev, p.Count, p.Count)
	if err != nil {
		return p, err
	}
	if err := dev.FactorPanel(a, q, r); err != nil {
		return p, err
	}
	p.R = make([]float64, p.Count*p.Count)
	p.Pivots = Natural(p.Count)
	return p, dev.Read(p.R, p.Count, r)
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
