package matrix

import (
	"slices"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

// gather gives every rank one number for each column, or count lists of them, one after the other. Of each
// device of this rank, own has those of the first list for its columns, then those of the second one, and so
// on. It may return that. It is collective.
func gather[T comm.Word](s *Matrix, count int, own [][]T) ([]T, error) {
	if len(s.ranks) == 1 {
		return own[0], nil
	}
	if s.Comm.Size() > 1 {
		all, err := comm.Gather(s.Comm, slices.Concat(own...))
		if err != nil {
			return nil, err
		}
		own = nil
		for id, rank := range s.ranks {
			length := count * s.countOf(id)
			own, all[rank] = append(own, all[rank][:length]), all[rank][length:]
		}
	}
	x := make([]T, count*s.N)
	for id, part := range own {
		for l := range count {
			for j0, j1 := range s.spansOf(id) {
				copy(x[l*s.N+j0:l*s.N+j1], part)
				part = part[j1-j0:]
			}
		}
	}
	return x, nil
}

// perColumn gathers what f finds for each column of a device. It is collective.
func (s *Matrix) perColumn(f func(i int, dev *device) ([]float64, error)) ([]float64, error) {
	own := make([][]float64, len(s.own))
	err := s.each(func(i int, dev *device) (err error) {
		own[i], err = f(i, dev)
		return err
	})
	if err != nil {
		return nil, err
	}
	return gather(s, 1, own)
}

// Norms returns the 2-norms of the columns. It is collective.
func (s *Matrix) Norms() ([]float64, error) {
	return s.perColumn(func(i int, dev *device) ([]float64, error) { return dev.ColumnNorms(s.shares[i]) })
}

// Normalize divides the columns by their norms, and returns these. It is collective.
func (s *Matrix) Normalize() ([]float64, error) {
	return s.perColumn(func(i int, dev *device) ([]float64, error) {
		norms, err := dev.ColumnNorms(s.shares[i])
		if err == nil {
			err = dev.Divide(s.shares[i], nil, norms)
		}
		return norms, err
	})
}

// Norm returns the Frobenius norm. It is collective.
func (s *Matrix) Norm() (float64, error) {
	norms, err := s.Norms()
	return kernels.Norm2(norms), err
}

// Leads returns of each column the first element of largest magnitude. It is collective.
func (s *Matrix) Leads() ([]float64, error) {
	return s.perColumn(func(i int, dev *device) ([]float64, error) { return dev.Leads(s.shares[i]) })
}

// Largest returns the largest magnitude of the elements of this rank.
func (s *Matrix) Largest() (largest float64, err error) {
	for i, dev := range s.own {
		most, err := dev.ColumnMaxima(s.shares[i], nil)
		if err != nil {
			return 0, err
		}
		for _, x := range most {
			largest = max(largest, x)
		}
	}
	return largest, nil
}

// Columns are columns in a panel of a device: column k of the panel belongs to column To[k] of a matrix. The
// panel counts on the rank of the device alone.
type Columns struct {
	Device int
	Panel  kernels.Panel
	To     []int
}

// Take copies columns into the matrix, but for those that belong beyond its last one. Every rank names all of
// them, in one order. Panels may be float32. It is collective.
func (s *Matrix) Take(from []Columns) error {
	return s.exchange(from, true, nil)
}

// Give copies columns of the matrix to panels: column k of a panel becomes column To[k] of the matrix,
// divided by over[To[k]]; nil stands for ones. Every rank names all of them, in one order. Panels may be
// float32. It is collective.
func (s *Matrix) Give(to []Columns, over []float64) error {
	return s.exchange(to, false, over)
}

// Direct returns the direct sum [X 0; 0 Y] with the columns in another order: column j of it becomes column
// to(j). It is collective.
func Direct(x, y *Matrix, to func(j int) int) (*Matrix, error) {
	t, err := x.New(x.M+y.M, x.N+y.N)
	if err != nil {
		return nil, err
	}
	if err := t.part(0, x.M).Take(x.all(func(j int) int { return to(j) })); err != nil {
		return nil, err
	}
	return t, t.part(x.M, t.M).Take(y.all(func(j int) int { return to(x.N + j) }))
}

// all names the columns of a matrix, column j to become column to(j) of another one.
func (s *Matrix) all(to func(j int) int) (all []Columns) {
	for id := range s.ranks {
		c := Columns{Device: id}
		for _, j := range s.columnsOf(id) {
			c.To = append(c.To, to(j))
		}
		if s.here(id) != nil {
			c.Panel = s.shares[id-s.first]
		}
		all = append(all, c)
	}
	return all
}

// Times is that of Operator.
func (s *Matrix) Times(transposed bool, x []float64, count int) ([]float64, error) {
	if transposed {
		own := make([][]float64, len(s.own))
		err := s.each(func(i int, dev *device) (err error) {
			own[i], err = dev.Product(s.shares[i], true, x, count)
			return err
		})
		if err != nil {
			return nil, err
		}
		return gather(s, count, own)
	}
	parts := make([][]float64, len(s.own))
	err := s.each(func(i int, dev *device) (err error) {
		parts[i], err = dev.Product(s.shares[i], false, s.local(i, x, count), count)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.sumTwice(parts)
}

// gatherEach gathers numbers of the columns, of which this rank has those of its own in x. It may return x.
// It is collective.
func (s *Matrix) gatherEach(x []float64) ([]float64, error) {
	if s.Comm.Size() == 1 {
		return x, nil
	}
	own := make([][]float64, len(s.own))
	for i := range own {
		own[i] = s.local(i, x, 1)
	}
	return gather(s, 1, own)
}

// sumTwice adds the products of all devices, high parts first and then low ones, which it uses up. It is
// collective.
func (d *Devices) sumTwice(parts [][]float64) ([]float64, error) {
	for _, p := range parts[1:] {
		AddPair(parts[0], p)
	}
	return SumTwice(d.Comm, parts[0])
}
