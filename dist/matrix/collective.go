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
	return s.exchangeAll(from, func(c Columns, id int) error { return s.exchange(c, id, true, nil) })
}

// Give copies columns of the matrix to panels: column k of a panel becomes column To[k] of the matrix,
// divided by over[To[k]]; nil stands for ones. Every rank names all of them, in one order. Panels may be
// float32. It is collective.
func (s *Matrix) Give(to []Columns, over []float64) error {
	return s.exchangeAll(to, func(c Columns, id int) error { return s.exchange(c, id, false, over) })
}

// exchangeAll calls f for all columns, and all devices that may have some of them.
func (s *Matrix) exchangeAll(all []Columns, f func(c Columns, id int) error) error {
	for _, c := range all {
		for id := range s.ranks {
			if err := f(c, id); err != nil {
				return err
			}
		}
	}
	return nil
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

// exchange copies those columns that device id has of the matrix: into the matrix, or from it, divided.
func (s *Matrix) exchange(c Columns, id int, into bool, over []float64) error {
	var outside, inside []int // where they are in the panel, and in the share
	var divisors []float64
	for k, j := range c.To {
		if home, at := s.home(j); home == id && j < s.N {
			outside, inside = append(outside, k), append(inside, at)
			if over != nil {
				divisors = append(divisors, over[j])
			}
		}
	}
	there, here := s.here(c.Device), s.here(id)
	if len(inside) == 0 || there == nil && here == nil {
		return nil
	}
	share := kernels.Panel{M: s.M, N: len(inside)}
	if here != nil {
		share = s.shares[id-s.first]
	}
	from, to, source, target := c.Device, id, end{there, c.Panel, outside}, end{here, share, inside}
	if !into {
		from, to, source, target = to, from, target, source
	}
	if from == to && over == nil {
		return here.MoveColumns(target.panel, target.at, source.panel, source.at)
	}
	for first := 0; first < len(inside); first += s.tile {
		last := min(first+s.tile, len(inside))
		var some []float64
		if over != nil {
			some = divisors[first:last]
		}
		if err := s.carry(from, source.some(first, last), to, target.some(first, last), some); err != nil {
			return err
		}
	}
	return nil
}

// end is where some columns come from, or go to.
type end struct {
	dev   *device // nil: of another rank
	panel kernels.Panel
	at    []int // the columns in it
}

func (e end) some(first, last int) end { return end{e.dev, e.panel, e.at[first:last]} }

// carry copies columns from one device to another, or to the same. On the way they lie side by side, and are
// divided.
func (s *Matrix) carry(from int, source end, to int, target end, divisors []float64) error {
	count := len(target.at)
	f := flight{from: from, to: to, m: s.M, n: count, pack: func(dev *device, p kernels.Panel) error {
		err := dev.MoveColumns(p, Natural(count), source.panel, source.at)
		if err == nil && divisors != nil {
			err = dev.Divide(p, nil, divisors)
		}
		return err
	}}
	return s.land(f, target.dev, target.panel, target.at)
}

// land lets a panel fly to a device, nil if that is another rank's, and takes its columns apart there: column
// k becomes column at[k] of p.
func (d *Devices) land(f flight, dev *device, p kernels.Panel, at []int) (err error) {
	if dev != nil {
		if f.dst, f.free, err = dev.inbox.next(dev, f.m, f.n); err != nil {
			return err
		}
	}
	if f.from == f.to {
		err = f.pack(dev, f.dst)
	} else {
		err = d.fly(f)
	}
	if err != nil || dev == nil {
		return err
	}
	return dev.MoveColumns(p, at, f.dst, Natural(f.n))
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
