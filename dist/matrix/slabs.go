package matrix

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

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
	m          int
	shares     []kernels.Panel // of this rank's devices: room for a slab, and their slabs, side by side
	expanded   bool            // the slabs are those of U; each has moved to the room before it
	reflectors *tsqr           // that Reduce found; nil if the slabs are those of Q
}

// stripRows is the number of rows of which the slabs have some multiple.
func stripRows(n int) int { return max(TallRatio*n, 1024) }

// slabCount returns the number of slabs of an m×n matrix: a power of two where there is a limit, so that they
// are shared evenly.
func slabCount(m, n int, limits kernels.Limits) int {
	count := max(1, m/stripRows(n))
	if limits.Slabs == 0 {
		return count
	}
	return 1 << (bits.Len(uint(min(count, limits.Slabs))) - 1)
}

// SlabBytes returns what the slabs of an m×n matrix take of each of so many devices; what there is besides
// while they are read or reduced, which is most where it is by reflectors; and what is on its way between a
// host and a device.
func SlabBytes(m, n, devices int, limits kernels.Limits) (slabs, work, moving int64) {
	const word = int64(kernels.WordBytes)
	s := Slabs{tree: tree{count: slabCount(m, n, limits), n: n}, m: m}
	own := int64((s.count + devices - 1) / devices)
	order, width := int64(n), int64(min(n, kernels.PanelWidth))
	moving = word * int64(s.longestStrip()) * order
	reduction := word * order * (own*width + min(own, int64(s.count-1))*(2*order+width))
	reduction += word * order * order * int64(3*bits.Len(uint(s.count))+1)
	return (own + 1) * word * int64(s.tallest()) * order, max(moving, reduction), moving
}

// NewSlabs cuts an m×n matrix, which is zero.
func NewSlabs(d *Devices, m, n int) (*Slabs, error) {
	count := slabCount(m, n, d.own[0].Limits())
	s := &Slabs{tree: tree{d, count, n}, m: m, shares: make([]kernels.Panel, len(d.own))}
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
		return s.room(slab, 0)
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

// Slabs pass between a host and a device in strips of equal height, each shorter than twice stripRows.
func (s *Slabs) strips() int { return max(1, (s.tallest()+2*stripRows(s.n)-1)/(2*stripRows(s.n))) }

// longestStrip returns the largest number of rows of a strip.
func (s *Slabs) longestStrip() int { return (s.tallest() + s.strips() - 1) / s.strips() }

// throughHost calls f for the strips of the slabs of this rank, one after the other: rows i0 ≤ i < i1 of the
// matrix, which are the panel a, with memory of the host for their elements.
func (s *Slabs) throughHost(f func(dev *device, i0, i1 int, a kernels.Panel, x []float64) error) error {
	for i, dev := range s.own {
		from, to := s.slabsOf(s.first + i)
		if from == to {
			continue
		}
		err := s.withHost(dev, kernels.Panel{M: s.longestStrip(), N: s.n}, func(x []float64, _ []byte) error {
			for slab := from; slab < to; slab++ {
				i0, i1 := s.span(slab)
				for k := range s.strips() {
					j0, j1 := k*(i1-i0)/s.strips(), (k+1)*(i1-i0)/s.strips()
					if err := f(dev, i0+j0, i0+j1, s.slab(slab).Rows(j0, j1), x[:(j1-j0)*s.n]); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Read fills this rank's slabs; rows writes rows, row-major, and column j is taken from column columns[j] of
// them (nil: j). It returns the largest magnitude, and the smallest max-norm of the rows that are not zero.
func (s *Slabs) Read(rows func(i0, i1 int, dst []float64) error,
	columns []int) (largest, smallest float64, err error) {
	smallest = math.Inf(1)
	turned := make([]buffer, len(s.own))
	err = s.throughHost(func(dev *device, i0, i1 int, a kernels.Panel, x []float64) error {
		if err := rows(i0, i1, x); err != nil {
			return err
		}
		p, err := turned[s.indexOf(dev)].need(dev, s.n, s.longestStrip())
		if err != nil {
			return err
		}
		sizes, err := write(dev, a, p.Columns(0, i1-i0), x, columns)
		for _, size := range sizes {
			if size > 0 {
				largest, smallest = max(largest, size), min(smallest, size)
			}
		}
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	return largest, smallest, s.drop(turned)
}

// write brings some rows of row-major elements to their device, by way of a panel of as many columns as there
// are rows, and returns the max-norms of the rows.
func write(dev *device, a, turned kernels.Panel, x []float64, columns []int) ([]float64, error) {
	if err := dev.Write(turned, x, turned.M); err != nil {
		return nil, err
	}
	sizes, err := dev.ColumnMaxima(turned, nil)
	if err != nil {
		return nil, err
	}
	if err := dev.Transpose(a, turned); err != nil || columns == nil {
		return sizes, err
	}
	return sizes, dev.MoveColumns(a, Natural(a.N), a, columns)
}

// EachStrip calls f with the rows of this rank, in order, some at a time: rows i0 ≤ i < i1, column-major.
// After Expand they are those of U. f may change a, which is a copy, and keep it until it returns.
func (s *Slabs) EachStrip(f func(i0, i1 int, a []float64) error) error {
	return s.throughHost(func(dev *device, i0, i1 int, a kernels.Panel, x []float64) error {
		if err := dev.Read(x, a.M, a); err != nil {
			return err
		}
		return f(i0, i1, x)
	})
}

// Leads returns, for each column, its first entry of largest magnitude. It is collective.
func (s *Slabs) Leads() ([]float64, error) {
	lead := make([]float64, s.n)
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
	return slices.Collect(slices.Chunk(slices.Concat(ranks...), s.n)), nil
}
