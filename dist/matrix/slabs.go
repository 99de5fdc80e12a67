package matrix

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

// TallRatio is the ratio of rows to columns from which a matrix is reduced to its triangular factor
// before anything else.
const TallRatio = 4

// Slabs is a tall m×n matrix, cut into slabs of rows that lie on the devices in order. The slabs follow from
// the shape and the kind of devices alone.
type Slabs struct {
	tree
	m        int
	shares   []kernels.Panel // of this rank's devices: room for a slab, and their slabs, side by side
	expanded bool            // the slabs are those of U; each has moved to the room before it
	// Reduce took reflectors, not the Gram matrix
	byReflectors bool
	reflectors   *tsqr // that Reduce found; nil if the slabs are those of Q
}

// slabCount returns the number of slabs of an m×n matrix: a power of two where there is a limit, so that they
// are shared evenly.
func slabCount(m, n int, limits kernels.Limits) int {
	count := max(1, m/max(TallRatio*n, 1024))
	if limits.Slabs == 0 {
		return count
	}
	return 1 << (bits.Len(uint(min(count, limits.Slabs))) - 1)
}

// SlabBytes returns what the slabs of an m×n matrix take of each of so many devices, one slab, for which
// there is room besides, and the tree of the reduction where it is by reflectors, with what is there while it
// is climbed.
func SlabBytes(m, n, devices int, limits kernels.Limits) (slabs, one, tree int64) {
	const word = int64(kernels.WordBytes)
	count := slabCount(m, n, limits)
	own := int64((count + devices - 1) / devices)
	one = word * int64((m+count-1)/count) * int64(n)
	order, width := int64(n), int64(min(n, kernels.PanelWidth))
	tree = word * order * (own*width + min(own, int64(count-1))*(2*order+width))
	return own * one, one, tree + word*order*order*int64(3*bits.Len(uint(count))+1)
}

// NewSlabs cuts an m×n matrix, which is zero.
func NewSlabs(d *Devices, m, n int) (*Slabs, error) {
	count := slabCount(m, n, d.own[0].Limits())
	s := &Slabs{tree: tree{d, count, n, n}, m: m, shares: make([]kernels.Panel, len(d.own))}
	err := d.each(func(i int, dev *device) (err error) {
		if from, to := s.slabsOf(d.first + i); from < to {
			s.shares[i], err = dev.panel(s.tallest(), n*(to-from+1))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("matrix: %d×%d in slabs: %w", m, n, err)
	}
	return s, nil
}

// Free gives the memory back.
func (s *Slabs) Free() error {
	for i, p := range s.shares {
		if err := s.own[i].release(p.Data); err != nil {
			return err
		}
	}
	if s.reflectors == nil {
		return nil
	}
	return s.reflectors.free()
}

// span returns the rows i0 ≤ i < i1 of a slab; none has fewer than n.
func (s *Slabs) span(slab int) (i0, i1 int) {
	return int(int64(slab) * int64(s.m) / int64(s.count)), int(int64(slab+1) * int64(s.m) / int64(s.count))
}

// tallest returns the largest number of rows of a slab.
func (s *Slabs) tallest() int { return (s.m + s.count - 1) / s.count }

// slab returns a slab, which must be this rank's.
func (s *Slabs) slab(slab int) kernels.Panel {
	if s.expanded {
		return s.room(slab, 0).Columns(0, s.width)
	}
	return s.room(slab, 1)
}

// room returns where a slab lies: at first in place 1, after the slab before it; then in place 0, which was
// that slab's.
func (s *Slabs) room(slab, place int) kernels.Panel {
	id := s.deviceOf(slab)
	from, _ := s.slabsOf(id)
	i0, i1 := s.span(slab)
	at := (slab - from + place) * s.n
	return s.shares[id-s.first].Columns(at, at+s.n).Rows(0, i1-i0)
}

// eachSlab calls f for the slabs of this rank, those of all its devices at a time.
func (s *Slabs) eachSlab(f func(i int, dev *device, slab int) error) error {
	return s.each(func(i int, dev *device) error {
		from, to := s.slabsOf(s.first + i)
		for slab := from; slab < to; slab++ {
			if err := f(i, dev, slab); err != nil {
				return err
			}
		}
		return nil
	})
}

// Read fills this rank's slabs from a source. It returns the smallest max-norm of the rows that are not zero,
// and the max-norms of the columns, by what this rank has read.
func (s *Slabs) Read(from Source) (smallest float64, columns []float64, err error) {
	var mu sync.Mutex
	smallest, columns = math.Inf(1), make([]float64, s.width)
	read := from.Read
	from.Read = func(x Part) error { // of whole rows
		if err := read(x); err != nil {
			return err
		}
		least, most := x.maxima()
		mu.Lock()
		defer mu.Unlock()
		smallest = min(smallest, least)
		larger(columns, most)
		return nil
	}
	err = s.load(s.pieces(), from)
	return smallest, columns, err
}

// maxima returns the smallest max-norm of the rows that are not zero, and the max-norms of the columns.
func (p Part) maxima() (least float64, columns []float64) {
	rows, columns := make([]float64, p.M), make([]float64, p.N)
	for j := range p.N {
		most := 0.0
		for i, x := range p.Data[j*p.Ld:][:p.M] {
			x = math.Abs(x)
			if x > most {
				most = x
			}
			if x > rows[i] {
				rows[i] = x
			}
		}
		columns[j] = most
	}
	least = math.Inf(1)
	for _, size := range rows {
		if size > 0 {
			least = min(least, size)
		}
	}
	return least, columns
}

// Leads returns, for each column, its first entry of largest magnitude. It is collective.
func (s *Slabs) Leads() ([]float64, error) {
	lead := make([]float64, s.width)
	all, err := s.perSlab(func(dev *device, a kernels.Panel) ([]float64, error) { return dev.Leads(a) })
	for slab := range all {
		for k, x := range all[slab] {
			if math.Abs(x) > math.Abs(lead[k]) {
				lead[k] = x
			}
		}
	}
	return lead, err
}

// perSlab gathers what f finds for each column of each slab. It is collective.
func (s *Slabs) perSlab(f func(dev *device, a kernels.Panel) ([]float64, error)) ([][]float64, error) {
	own := make([][]float64, len(s.own))
	err := s.eachSlab(func(i int, dev *device, slab int) error {
		x, err := f(dev, s.slab(slab))
		own[i] = append(own[i], x...)
		return err
	})
	if err != nil {
		return nil, err
	}
	ranks, err := comm.Gather(s.Comm, slices.Concat(own...))
	if err != nil {
		return nil, err
	}
	// The slabs of the ranks follow one another.
	return slices.Collect(slices.Chunk(slices.Concat(ranks...), s.width)), nil
}
