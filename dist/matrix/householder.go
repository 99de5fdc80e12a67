package matrix

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"jmpi/dist/comm"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// The largest numbers of columns that are factored at a time: with pivoting more would cost more
// than they save.
const (
	panelWidth   = 64
	pivotedWidth = 32
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
	f := &factorization{moving: settled(s), remainder: remainder{noise: noise, all: all}, order: order,
		least: math.Inf(1), q: &Orthogonal{comm: s.Comm, M: s.M}}
	if !noise.None() {
		f.errors = make([][]float64, s.M+1)
		f.errors[0] = noise.From(0)
	}
	for f.done < min(s.M, s.N) {
		more, err := f.panel()
		if err != nil {
			return f, fmt.Errorf("matrix: QR factorization: %w", err)
		}
		if !more {
			break
		}
	}
	f.finish()
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
	a, noise, err := f.assemble(chosen)
	if err != nil {
		return false, err
	}
	lead := f.owner(chosen[0])
	var p dense.Panel
	if f.Comm.Rank() == lead {
		if f.order == nil {
			p = dense.FactorPivoted(f.M-f.done, len(chosen), a, bound, noise, f.dropping())
		} else {
			p = dense.Factor(f.M-f.done, len(chosen), a)
		}
	}
	if f.Comm.Size() > 1 {
		message, err := comm.FromRank(f.Comm, lead, pack(p))
		if err != nil {
			return false, err
		}
		p = unpack(f.M-f.done, message)
	}
	if p.Count == 0 {
		return false, nil
	}
	for i, c := range p.Pivots {
		f.settle(chosen[c], p.R[i*p.Count:i*p.Count+i+1])
	}
	f.Each(func(b int, x []float64) {
		p.Apply(true, f.live[b], x[f.done:], f.M)
	})
	f.spread(&p)
	for _, x := range p.Noisy {
		f.zero(chosen[x[0]], f.done+x[1])
	}
	f.q.keep(f.done, p.Reflectors)
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
		return f.order[f.done:min(f.N, f.done+panelWidth)], 0, nil
	}
	norms := make([]float64, f.N) // of what is left of the columns of this rank that are not done
	f.Each(func(b int, x []float64) {
		for slot, j := range f.slots[b][:f.live[b]] {
			norms[j] = dense.Length(x[slot*f.M+f.done : (slot+1)*f.M])
		}
	})
	all, err := f.GatherColumns(func(j int) float64 { return norms[j] })
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
	sort.SliceStable(columns, func(a, b int) bool { return all[columns[a]] > all[columns[b]] })
	if columns, err = f.denoise(columns, all); err != nil {
		return nil, 0, err
	}
	if len(columns) > pivotedWidth {
		bound = all[columns[pivotedWidth]]
		columns = columns[:pivotedWidth]
	}
	return columns, bound, nil
}

// assemble gives every rank, or the only owner, what remains of the chosen columns, side by side,
// and their noise.
func (f *factorization) assemble(chosen []int) (a []float64, noise dense.Noise, err error) {
	rank, alone := f.Comm.Rank(), true
	var mine []float64
	for _, j := range chosen {
		alone = alone && f.owner(j) == f.owner(chosen[0])
		if f.owner(j) == rank {
			mine = append(mine, f.current(j)[f.done:]...)
			if !f.noise.None() {
				mine = append(mine, f.noise.Column(j)...)
			}
		}
	}
	all := make([][]float64, f.Comm.Size())
	if all[rank] = mine; !alone {
		if all, err = comm.Gather(f.Comm, mine); err != nil {
			return nil, noise, err
		}
	} else if f.owner(chosen[0]) != rank {
		return nil, noise, nil
	}
	if !f.noise.None() {
		for _, rows := range f.noise.Rows {
			noise.Rows = append(noise.Rows, slices.Clone(rows[f.done:]))
		}
	}
	rows := f.M - f.done
	a = make([]float64, 0, rows*len(chosen))
	for _, j := range chosen {
		next := func(n int) (x []float64) {
			part := &all[f.owner(j)]
			x, *part = (*part)[:n], (*part)[n:]
			return x
		}
		a = append(a, next(rows)...)
		if !f.noise.None() {
			noise.Columns = append(noise.Columns, next(f.noise.Width())...)
		}
	}
	return a, noise, nil
}

// pack writes a panel's factorization as one sequence of numbers; unpack reads it again, the
// reflectors having m rows.
func pack(p dense.Panel) []float64 {
	message := []float64{float64(p.Count), float64(len(p.Noise)), float64(len(p.Noisy)), float64(p.Rank)}
	for _, c := range p.Pivots {
		message = append(message, float64(c))
	}
	for _, x := range p.Noisy {
		message = append(message, float64(x[0]), float64(x[1]))
	}
	for _, x := range [][]float64{p.R, p.T, p.Noise, p.Y} {
		message = append(message, x...)
	}
	return message
}

func unpack(m int, message []float64) (p dense.Panel) {
	next := func(n int) (x []float64) {
		x, message = message[:n:n], message[n:]
		return x
	}
	head := next(4)
	r := int(head[0])
	for _, c := range next(r) {
		p.Pivots = append(p.Pivots, int(c))
	}
	for range int(head[2]) {
		x := next(2)
		p.Noisy = append(p.Noisy, [2]int{int(x[0]), int(x[1])})
	}
	p.R, p.T, p.Noise, p.Y = next(r*r), next(r*r), next(int(head[1])), next(r*m)
	p.M, p.Count, p.Rank = m, r, int(head[3])
	return p
}
