package matrix

import (
	"iter"
	"slices"

	"jmpi/kernels"
)

// Matrix is a dense m×n matrix in the memory of the devices. Its blocks of kernels.Limits.Tile columns are
// dealt out to the devices of all ranks one after the other. The width of the blocks, and so of the products
// with them, does not depend on the number of devices, nor do the bits.
type Matrix struct {
	*Devices
	M, N   int
	shares []kernels.Panel // of this rank's devices: their blocks side by side
	view   bool            // of another matrix, which has the memory
}

// Free gives the memory back; the second time it does nothing. A device that cannot do so gives it back when
// it is closed.
func (s *Matrix) Free() {
	if s == nil || s.view {
		return
	}
	for i, p := range s.shares {
		_ = s.own[i].release(p.Data)
	}
	s.shares = nil
}

// blocks returns the number of blocks of all devices.
func (s *Matrix) blocks() int { return (s.N + s.tile - 1) / s.tile }

// span returns the columns j0 ≤ j < j1 of block b.
func (s *Matrix) span(b int) (j0, j1 int) { return b * s.tile, min(s.N, (b+1)*s.tile) }

// block returns block b, which must be this rank's.
func (s *Matrix) block(b int) kernels.Panel {
	j0, j1 := s.span(b)
	id, at := s.home(j0)
	return s.shares[id-s.first].Columns(at, at+j1-j0)
}

// blocksOf are the blocks of a device, in the order of its share.
func (s *Matrix) blocksOf(id int) iter.Seq[int] {
	return func(yield func(b int) bool) {
		for b := id; b < s.blocks() && yield(b); b += len(s.ranks) {
		}
	}
}

// spansOf are the columns j0 ≤ j < j1 of the blocks of a device, in the order of its share.
func (s *Matrix) spansOf(id int) iter.Seq2[int, int] {
	return func(yield func(j0, j1 int) bool) {
		for b := range s.blocksOf(id) {
			if !yield(s.span(b)) {
				return
			}
		}
	}
}

// countOf returns how many columns a device has.
func (s *Matrix) countOf(id int) (n int) {
	for j0, j1 := range s.spansOf(id) {
		n += j1 - j0
	}
	return n
}

// columns returns the columns of this rank's device i, in the order of its share.
func (s *Matrix) columns(i int) []int { return s.columnsOf(s.first + i) }

// columnsOf returns the columns of a device, in the order of its share.
func (s *Matrix) columnsOf(id int) []int {
	columns := make([]int, 0, (s.blocks()/len(s.ranks)+1)*s.tile) // room for all
	for j0, j1 := range s.spansOf(id) {
		for j := j0; j < j1; j++ {
			columns = append(columns, j)
		}
	}
	return columns
}

// tiles returns the blocks of this rank's device i, rows i0 ≤ i < i1.
func (s *Matrix) tiles(i, i0, i1 int) (all []kernels.Panel) {
	for b := range s.blocksOf(s.first + i) {
		all = append(all, s.block(b).Rows(i0, i1))
	}
	return all
}

// eachBlock calls f for the blocks of this rank.
func (s *Matrix) eachBlock(f func(dev *device, b int, p kernels.Panel) error) error {
	return s.each(func(i int, dev *device) error {
		for b := range s.blocksOf(s.first + i) {
			if err := f(dev, b, s.block(b)); err != nil {
				return err
			}
		}
		return nil
	})
}

// part returns rows i0 ≤ i < i1 of s, in its memory.
func (s *Matrix) part(i0, i1 int) *Matrix {
	t := &Matrix{Devices: s.Devices, M: i1 - i0, N: s.N, shares: slices.Clone(s.shares), view: true}
	for i := range t.shares {
		t.shares[i] = t.shares[i].Rows(i0, i1)
	}
	return t
}

// Clone returns a copy.
func (s *Matrix) Clone() (*Matrix, error) { return s.Taller(s.M) }

// Taller returns a copy of s with zero rows added below, m in all.
func (s *Matrix) Taller(m int) (*Matrix, error) {
	t, err := s.New(m, s.N)
	if err != nil {
		return nil, err
	}
	return t, s.each(func(i int, dev *device) error {
		return dev.Convert(t.shares[i].Rows(0, s.M), s.shares[i])
	})
}

// Rows returns the matrix whose row i is row from[i] of s.
func (s *Matrix) Rows(from []int) (*Matrix, error) {
	t, err := s.New(len(from), s.N)
	if err != nil {
		return nil, err
	}
	return t, s.each(func(i int, dev *device) error {
		return dev.GatherRows(t.shares[i], s.shares[i], from)
	})
}

// Ldexp multiplies the matrix by 2^e.
func (s *Matrix) Ldexp(e int) error {
	return s.each(func(i int, dev *device) error { return dev.Ldexp(s.shares[i], e) })
}

// Scale multiplies row i by rows[i], and then column j by columns[j]; nil stands for ones.
func (s *Matrix) Scale(rows, columns []float64) error {
	return s.each(func(i int, dev *device) error {
		return dev.Scale(s.shares[i], rows, s.local(i, columns, 1))
	})
}

// Divide divides row i by rows[i], and then column j by columns[j]; nil stands for ones.
func (s *Matrix) Divide(rows, columns []float64) error {
	return s.each(func(i int, dev *device) error {
		return dev.Divide(s.shares[i], rows, s.local(i, columns, 1))
	})
}

// ScaleRows multiplies row i of the columns j0 ≤ j < j1 by rows[i].
func (s *Matrix) ScaleRows(j0, j1 int, rows []float64) error {
	return s.eachBlock(func(dev *device, b int, p kernels.Panel) error {
		b0, b1 := s.span(b)
		from, to := max(b0, j0), min(b1, j1)
		if from >= to {
			return nil
		}
		return dev.Scale(p.Columns(from-b0, to-b0), rows, nil)
	})
}

// local returns, of so many lists of numbers of all columns, one after the other, those that belong to the
// columns of this rank's device i; nil for nil. What follows in x does not count. It may return a part of x.
func (s *Matrix) local(i int, x []float64, count int) []float64 {
	if x == nil {
		return nil
	}
	if len(s.ranks) == 1 {
		return x[:s.N*count]
	}
	y := make([]float64, 0, s.shares[i].N*count)
	for k := range count {
		for j0, j1 := range s.spansOf(s.first + i) {
			y = append(y, x[k*s.N+j0:k*s.N+j1]...)
		}
	}
	return y
}

// EachBlock calls f for the blocks of this rank, in increasing order: columns j0 ≤ j < j1, column-major, in
// the memory of the host. x is a copy. f may change it, and keep it until it returns.
func (s *Matrix) EachBlock(f func(j0, j1 int, x []float64) error) error {
	host := make([]float64, s.M*min(s.tile, s.N))
	for b := range s.blocks() {
		dev := s.here(s.owner(b))
		if dev == nil {
			continue
		}
		j0, j1 := s.span(b)
		x := host[:s.M*(j1-j0)]
		if err := dev.Read(x, max(1, s.M), s.block(b)); err != nil {
			return err
		}
		if err := f(j0, j1, x); err != nil {
			return err
		}
	}
	return nil
}

// diagonalBlock returns the square part of block b that has the diagonal.
func (s *Matrix) diagonalBlock(b int) kernels.Panel {
	j0, j1 := s.span(b)
	return s.block(b).Rows(j0, j1)
}

// Diagonal returns the elements on the diagonal of a matrix with M ≥ N. It is collective.
func (s *Matrix) Diagonal() ([]float64, error) {
	x := make([]float64, s.N)
	if err := s.eachDiagonal(0, s.N, func(j int, e float64) { x[j] = e }); err != nil {
		return nil, err
	}
	return s.gatherEach(x)
}

// eachDiagonal calls f for the elements on the diagonal that this rank has, in the columns j0 ≤ j < j1.
func (s *Matrix) eachDiagonal(j0, j1 int, f func(j int, x float64)) error {
	for b := j0 / s.tile; b*s.tile < j1; b++ {
		dev := s.here(s.owner(b))
		if dev == nil {
			continue
		}
		b0, b1 := s.span(b)
		from, to := max(b0, j0), min(b1, j1)
		host := make([]float64, to-from)
		p := s.block(b).Columns(from-b0, to-b0).Rows(from, to)
		if err := dev.Read(host, 1, diagonalOf(p)); err != nil {
			return err
		}
		for i, x := range host {
			f(from+i, x)
		}
	}
	return nil
}

// diagonalOf returns the elements on the diagonal of a square panel, as a row.
func diagonalOf(p kernels.Panel) kernels.Panel {
	p.M, p.Ld = 1, p.Ld+1
	return p
}

// Signs returns −1 for each number below 0, and 1 for the others.
func Signs(x []float64) []float64 {
	signs := make([]float64, len(x))
	for j, e := range x {
		if signs[j] = 1; e < 0 {
			signs[j] = -1
		}
	}
	return signs
}

// SetDiagonal writes the elements on the diagonal of a matrix with M ≥ N.
func (s *Matrix) SetDiagonal(x []float64) error {
	return s.eachBlock(func(dev *device, b int, _ kernels.Panel) error {
		j0, j1 := s.span(b)
		return dev.Put(diagonalOf(s.diagonalBlock(b)), x[j0:j1])
	})
}
