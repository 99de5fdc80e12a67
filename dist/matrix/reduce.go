package matrix

import (
	"fmt"
	"math"

	"jmpi/kernels"
)

// Reduce factors the matrix, A = Q·R, and returns 2^e·R, by its Gram matrix, or by reflectors where columns
// are nearly dependent. The largest element of 2^e·A is just below 2^Top. It is collective.
func (s *Slabs) Reduce(e int) (*Matrix, error) {
	r, err := s.reduce(e)
	if err != nil {
		return nil, fmt.Errorf("matrix: QR factorization of slabs: %w", err)
	}
	return r, nil
}

func (s *Slabs) reduce(e int) (*Matrix, error) {
	root, done, ordinary, err := cholesky{s}.reduce()
	if err != nil {
		return nil, err
	}
	var sizes []float64 // by which the columns were divided
	if !done {
		if root, sizes, err = s.reduceScaled(e, ordinary); err != nil {
			return nil, err
		}
	}
	r, err := s.New(s.n, s.n)
	if err != nil {
		return nil, err
	}
	if err := r.Take(onDevice(0, root)); err != nil {
		return nil, err
	}
	if dev := s.here(0); dev != nil {
		if err := dev.release(root.Data); err != nil {
			return nil, err
		}
	}
	if sizes == nil {
		return r, r.Ldexp(e)
	}
	return r, r.Scale(nil, sizes)
}

// reduceScaled factors 2^e·A, its columns divided by their sizes: by reflectors where the columns are
// ordinary, so that Gram matrices have been tried. It is collective.
func (s *Slabs) reduceScaled(e int, ordinary bool) (root kernels.Panel, sizes []float64, err error) {
	err = s.each(func(i int, dev *device) error { return dev.Ldexp(s.shares[i], e) })
	if err == nil {
		sizes, err = s.equalize()
	}
	done := false
	if err == nil && !ordinary {
		root, done, _, err = cholesky{s}.reduce()
	}
	if err != nil || done {
		return root, sizes, err
	}
	s.byReflectors = true
	s.reflectors = &tsqr{Slabs: s, of: map[subtree]factored{}}
	root, err = s.reflectors.reduce()
	return root, sizes, err
}

// onDevice names all columns of a panel.
func onDevice(id int, p kernels.Panel) []Columns { return []Columns{{id, p, Natural(p.N)}} }

// equalize divides each column by a power of two, so that its length is ½ to 1 unless it is nearly zero, and
// returns these. It is collective.
func (s *Slabs) equalize() ([]float64, error) {
	lengths, err := s.perSlab(func(dev *device, a kernels.Panel) ([]float64, error) {
		return dev.Lengths([]kernels.Panel{a})
	})
	if err != nil {
		return nil, err
	}
	sizes, inverse := make([]float64, s.n), make([]float64, s.n)
	column := make([]float64, s.count)
	for j := range s.n {
		for slab := range lengths {
			column[slab] = lengths[slab][j]
		}
		_, e := math.Frexp(kernels.Norm2(column))
		e = max(e, -1000) // both are in the range of float64
		sizes[j], inverse[j] = math.Ldexp(1, e), math.Ldexp(1, -e)
	}
	return sizes, s.eachSlab(func(_ int, dev *device, slab int) error {
		return dev.Scale(s.slab(slab), nil, inverse)
	})
}

// Expand turns the left singular vectors of R into those of the matrix, in the slabs, and forgets Q. It is
// collective.
func (s *Slabs) Expand(u *Matrix) error {
	s.width = u.N
	all := kernels.Panel{M: s.n, N: u.N}
	dev := s.here(0)
	var err error
	if dev != nil {
		all, err = dev.panel(s.n, u.N)
	}
	if err == nil {
		err = u.Give(onDevice(0, all), nil)
	}
	if err == nil {
		err = s.multiply(all)
	}
	if err == nil && dev != nil {
		err = dev.release(all.Data)
	}
	if err != nil {
		return fmt.Errorf("matrix: vectors of slabs: %w", err)
	}
	return nil
}

// multiply multiplies Q by u, on device 0, into the slabs, and forgets Q. It is collective.
func (s *Slabs) multiply(u kernels.Panel) (err error) {
	if s.reflectors == nil {
		err = cholesky{s}.expand(u)
	} else if err = s.reflectors.expand(u); err == nil {
		err = s.reflectors.free()
		s.reflectors = nil
	}
	s.expanded = err == nil
	return err
}
