package matrix

import (
	"unsafe"

	"jmpi/dist/checkpoint"
	"jmpi/dist/comm"
	"jmpi/kernels"
)

// Describe describes a matrix for a checkpoint, nil for none: a file of its columns. What is written must not
// change meanwhile.
func Describe(c *checkpoint.Codec, d *Devices, name string, x **Matrix) {
	var shape []int
	if *x != nil && !c.Loading() {
		shape = []int{(*x).M, (*x).N}
	}
	checkpoint.Fact(c, name+".shape", &shape)
	if len(shape) != 2 {
		return
	}
	m, n := shape[0], shape[1]
	stored := *x
	c.Array(name, checkpoint.Shape{Count: n, Bytes: int64(m) * kernels.WordBytes}, checkpoint.Array{
		Store: func(put checkpoint.Move) error { return stored.store(put) },
		Load: func(get checkpoint.Move) (err error) {
			*x, err = d.Load(m, n, Source{Reading: Reading{Whole: true}, Read: func(p Part) error {
				if p.Ld == p.M {
					return get(p.Column, bytesOf(p.Data[:p.M*p.N]))
				}
				for k := range p.N {
					if err := get(p.Column+k, bytesOf(p.Data[k*p.Ld:][:p.M])); err != nil {
						return err
					}
				}
				return nil
			}})
			return err
		},
	})
}

// storedBytes is how much of a matrix passes at a time to a file, but for columns that are longer.
const storedBytes = 8 << 20

// store writes the columns of this rank. Where the devices have memory of their own they come by way of
// pinned memory, beside whatever is computed.
func (s *Matrix) store(put checkpoint.Move) error {
	for i, share := range s.shares {
		if share.M == 0 || share.N == 0 {
			continue
		}
		width := max(1, storedBytes/(share.Ld*kernels.WordBytes))
		some := share.Columns(0, min(width, share.N))
		dev, fetch := s.own[i], func(p kernels.Panel) (kernels.Address, error) { return p.Data, nil }
		if !dev.Limits().HostMemory {
			host, err := dev.AllocHost(extent(some))
			if err != nil {
				return err
			}
			defer func() { _ = dev.FreeHost(host) }()
			// Read waits for what makes the matrix, Fetch for nothing.
			if err := dev.Read(make([]float64, 1), 1, share.Rows(0, 1).Columns(0, 1)); err != nil {
				return err
			}
			fetch = func(p kernels.Panel) (kernels.Address, error) { return host, dev.Fetch(host, p.Data, extent(p)) }
		}
		for b := range s.blocksOf(s.first + i) {
			j0, _ := s.span(b)
			p := s.block(b)
			for j := 0; j < p.N; j += width {
				part := p.Columns(j, min(j+width, p.N))
				at, err := fetch(part)
				if err == nil {
					err = putColumns(put, j0+j, part, comm.HostFloats(at, int(extent(part)/kernels.WordBytes)))
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// putColumns puts the columns of a panel, x in the memory of a host, of which the first has this number.
func putColumns(put checkpoint.Move, first int, p kernels.Panel, x []float64) error {
	if p.Ld == p.M {
		return put(first, bytesOf(x))
	}
	for k := range p.N {
		if err := put(first+k, bytesOf(x[k*p.Ld:][:p.M])); err != nil {
			return err
		}
	}
	return nil
}

// DescribeOrthogonal describes Q of a factorization for a checkpoint: a file of the reflectors of its panels.
func DescribeOrthogonal(c *checkpoint.Codec, d *Devices, name string, q **Orthogonal) {
	var m int
	var shapes []panelShape
	if !c.Loading() {
		m, shapes = (*q).M, (*q).shapes()
	}
	checkpoint.Fact(c, name+".m", &m)
	checkpoint.Fact(c, name+".panels", &shapes)
	stored := *q
	c.Array(name, checkpoint.Shape{Count: len(shapes), Sizes: panelBytes(m, shapes)}, checkpoint.Array{
		Store: func(put checkpoint.Move) error {
			return stored.eachPanel(func(k int, x []float64) error { return put(k, bytesOf(x)) })
		},
		Load: func(get checkpoint.Move) (err error) {
			*q, err = d.loadOrthogonal(m, shapes, func(k int, x []float64) error { return get(k, bytesOf(x)) })
			return err
		},
	})
}

// bytesOf views numbers as bytes. Files are little endian, as are all hosts that jmpi has back ends for.
func bytesOf(x []float64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*kernels.WordBytes)
}

// panelShape tells of the reflectors of one panel: on which rows they act, from Row on, and how many there
// are.
type panelShape struct{ Row, Count int }

// shapes tells of all panels, in order.
func (q *Orthogonal) shapes() (all []panelShape) {
	for _, p := range q.panels {
		all = append(all, panelShape{p.row, p.count})
	}
	return all
}

// numbers returns of how many numbers the reflectors of a panel of Q, m×m, consist, with their triangle.
func (s panelShape) numbers(m int) int { return (m - s.Row + s.Count) * s.Count }

// panelBytes returns the bytes of the reflectors of each panel of Q, m×m.
func panelBytes(m int, shapes []panelShape) []int64 {
	bytes := make([]int64, len(shapes))
	for k, s := range shapes {
		bytes[k] = int64(s.numbers(m)) * kernels.WordBytes
	}
	return bytes
}

// eachPanel calls f with the reflectors of the panels that this rank has, by number. x is a copy, which f may
// keep until it returns.
func (q *Orthogonal) eachPanel(f func(k int, x []float64) error) error {
	for k, p := range q.panels {
		dev := q.here(p.owner)
		if dev == nil {
			continue
		}
		x := make([]float64, panelShape{p.row, p.count}.numbers(q.M))
		rows := q.M - p.row + p.count
		if err := dev.Read(x, rows, p.memory.Rows(0, rows).Columns(0, p.count)); err != nil {
			return err
		}
		if err := f(k, x); err != nil {
			return err
		}
	}
	return nil
}

// loadOrthogonal returns Q, m×m, from the reflectors of its panels. read fills x with those of one that is to
// lie on this rank.
func (d *Devices) loadOrthogonal(m int, shapes []panelShape, read func(k int, x []float64) error) (
	*Orthogonal, error) {
	q := &Orthogonal{Devices: d, M: m}
	for k, s := range shapes {
		r := reflectors{row: s.Row, count: s.Count, owner: k % len(d.ranks)}
		if dev := d.here(r.owner); dev != nil {
			x := make([]float64, s.numbers(m))
			err := read(k, x)
			if err == nil {
				r.memory, err = q.reserve(dev, m-s.Row, s.Count)
			}
			if err == nil {
				err = dev.Write(r.memory, x, r.memory.M)
			}
			if err != nil {
				return q, err
			}
		}
		q.panels = append(q.panels, r)
	}
	return q, nil
}
