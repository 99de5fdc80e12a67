package matrix

import (
	"sync"

	"jmpi/kernels"
)

// tsqr is the QR factorization of a tall matrix by Householder reflectors (TSQR, [DGHL12]): of each slab, and
// up the tree of the triangular factors of two subtrees, one above the other.
type tsqr struct {
	*Slabs
	mu sync.Mutex
	of map[subtree]factored // of the subtrees whose first slab is this rank's
}

// factored is the QR factorization of a matrix with at least as many rows as columns. On and below its
// diagonal are the Y of the reflectors, for kernels.PanelWidth columns at a time. t has their T side by
// side.
type factored struct{ a, t kernels.Panel }

// reduce factors the matrix and returns R, on device 0. It is collective.
func (s *tsqr) reduce() (r kernels.Panel, err error) {
	return s.climb(func(dev *device, slab int, r kernels.Panel) error {
		return s.factor(dev, subtree{slab, slab + 1}, s.slab(slab), r)
	}, func(dev *device, v subtree, r, lower kernels.Panel) error {
		a, err := dev.panel(2*s.n, s.n)
		if err == nil {
			err = dev.Convert(a.Rows(0, s.n), r)
		}
		if err == nil {
			err = dev.Convert(a.Rows(s.n, 2*s.n), lower)
		}
		if err != nil {
			return err
		}
		return s.factor(dev, v, a, r)
	})
}

// factor factors the matrix a of a subtree, and writes its triangular factor to r.
func (s *tsqr) factor(dev *device, v subtree, a, r kernels.Panel) error {
	t, err := dev.panel(min(kernels.PanelWidth, s.n), s.n)
	if err != nil {
		return err
	}
	f := factored{a, t}
	s.mu.Lock()
	s.of[v] = f
	s.mu.Unlock()
	if err := dev.Zero(r); err != nil {
		return err
	}
	for j0 := 0; j0 < s.n; j0 += kernels.PanelWidth {
		q := f.reflectors(j0)
		j1 := j0 + q.T.N
		if err := dev.Convert(r.Rows(0, j0).Columns(j0, j1), a.Rows(0, j0).Columns(j0, j1)); err != nil {
			return err
		}
		if err := dev.FactorPanel(q.Y, q, r.Rows(j0, j1).Columns(j0, j1)); err != nil {
			return err
		}
		if err := dev.Reflect(q, true, s.tiled(a.Rows(j0, a.M).Columns(j1, s.n)), 0); err != nil {
			return err
		}
	}
	return nil
}

// reflectors returns those of the columns from j on.
func (f factored) reflectors(j int) kernels.Reflectors {
	to := min(j+kernels.PanelWidth, f.a.N)
	return kernels.Reflectors{Y: f.a.Rows(j, f.a.M).Columns(j, to), T: f.t.Rows(0, to-j).Columns(j, to)}
}

// expand multiplies Q by u, on device 0, into the slabs. It is collective.
func (s *tsqr) expand(u kernels.Panel) error {
	return s.descend(u, func(dev *device, v subtree, x, y kernels.Panel) error {
		c, err := dev.panel(2*s.n, s.width)
		if err == nil {
			err = s.times(dev, v, x, c)
		}
		if err == nil {
			err = dev.Convert(x, c.Rows(0, s.n))
		}
		if err == nil {
			err = dev.Convert(y, c.Rows(s.n, 2*s.n))
		}
		if err != nil {
			return err
		}
		return dev.release(c.Data)
	}, func(dev *device, slab int, x kernels.Panel) error {
		return s.times(dev, subtree{slab, slab + 1}, x, s.room(slab, 0).Columns(0, s.width))
	})
}

// times makes c the first columns of the matrix Q of a subtree times x.
func (s *tsqr) times(dev *device, v subtree, x, c kernels.Panel) error {
	s.mu.Lock()
	f := s.of[v]
	s.mu.Unlock()
	err := dev.Convert(c.Rows(0, s.n), x)
	if err == nil {
		err = dev.Zero(c.Rows(s.n, c.M))
	}
	for j := (s.n - 1) / kernels.PanelWidth * kernels.PanelWidth; j >= 0 && err == nil; j -= kernels.PanelWidth {
		err = dev.Reflect(f.reflectors(j), false, s.tiled(c.Rows(j, c.M)), 0)
	}
	return err
}

// free gives the memory back, but for that of the slabs.
func (s *tsqr) free() error {
	for v, f := range s.of {
		dev := s.here(s.deviceOf(v.from))
		if err := dev.release(f.t.Data); err != nil {
			return err
		}
		if v.to-v.from > 1 {
			if err := dev.release(f.a.Data); err != nil {
				return err
			}
		}
	}
	return nil
}
