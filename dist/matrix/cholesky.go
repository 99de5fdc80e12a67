package matrix

import (
	"fmt"
	"slices"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

// cholesky is the QR factorization of a tall matrix by Gram matrices ([YNYF15]): A = Q₁·R₁ with R₁ᵀ·R₁ =
// AᵀA, and in the same way Q₁ = Q·R₂. Then Q is as orthogonal as one of reflectors. The slabs become those
// of Q.
type cholesky struct{ *Slabs }

// leastDistance is how far a column of length ½ to 1 must be from the space of all others. Then the condition
// of n columns is 10·n at most, Q₁ is orthogonal to many digits, and no column is near rounding errors.
const leastDistance = 0.1

// reduce factors the matrix, whose columns have lengths of ½ to 1, and returns R, on device 0. Where columns
// are nearly dependent it is not done, and the slabs are as they were. It is collective.
func (s cholesky) reduce() (r kernels.Panel, done bool, err error) {
	r, err = s.gram()
	if err != nil {
		return r, false, err
	}
	if done, err = s.factor(r); !done || err != nil {
		return r, false, err
	}
	if err := s.divide(r); err != nil {
		return r, false, err
	}
	second, err := s.gram()
	if err != nil {
		return r, false, err
	}
	dev := s.here(0)
	if dev != nil {
		if r, err = s.second(dev, second, r); err != nil {
			return r, false, err
		}
	}
	if err := s.divide(second); err != nil {
		return r, false, err
	}
	if dev != nil {
		err = dev.release(second.Data)
	}
	return r, true, err
}

// gram returns the Gram matrix, on device 0. It is collective.
func (s cholesky) gram() (kernels.Panel, error) {
	ones := make([]buffer, len(s.own))
	g, err := s.climb(func(dev *device, slab int, x kernels.Panel) error {
		return dev.Syrk(1, s.slab(slab), 0, x)
	}, func(dev *device, _ subtree, x, y kernels.Panel) error {
		return add(dev, x, y, &ones[s.indexOf(dev)])
	})
	if err != nil {
		return g, err
	}
	return g, s.drop(ones)
}

// addWidth is the width of the columns that are added at a time.
const addWidth = 32

// add does x ← x + y, by products with an identity matrix.
func add(dev *device, x, y kernels.Panel, ones *buffer) error {
	one, err := ones.need(dev, addWidth, addWidth)
	if err == nil {
		err = dev.Identity(one, 0)
	}
	if err != nil {
		return err
	}
	var all []kernels.Gemm
	for j0 := 0; j0 < x.N; j0 += addWidth {
		j1 := min(j0+addWidth, x.N)
		all = append(all, kernels.Gemm{Alpha: 1, A: y.Columns(j0, j1), B: one.Rows(0, j1-j0).Columns(0, j1-j0),
			Beta: 1, C: x.Columns(j0, j1)})
	}
	return dev.Gemm(all)
}

// factor overwrites the Gram matrix, on device 0, by its triangular factor, and tells whether all columns are
// far enough from the space of the others. It is collective.
func (s cholesky) factor(g kernels.Panel) (done bool, err error) {
	var far []float64
	if dev := s.here(0); dev != nil {
		if done, err = distant(dev, g); err != nil {
			return false, err
		}
		if far = []float64{0}; done {
			far[0] = 1
		}
	}
	if far, err = comm.FromRank(s.Comm, s.ranks[0], far); err != nil {
		return false, err
	}
	return far[0] == 1, nil
}

// distant is factor on the device. The length of a row of R⁻¹ is one over the distance of that column.
func distant(dev *device, g kernels.Panel) (bool, error) {
	if done, err := dev.Potrf(g); done < g.N || err != nil {
		return false, err
	}
	rows, err := dev.panel(g.M, g.N)
	if err == nil {
		err = dev.Identity(rows, 0)
	}
	if err == nil {
		err = dev.Trsm(rows, g, true)
	}
	if err != nil {
		return false, err
	}
	lengths, err := dev.Lengths([]kernels.Panel{rows})
	if err != nil {
		return false, err
	}
	near := slices.ContainsFunc(lengths, func(x float64) bool { return !(x <= 1/leastDistance) })
	return !near, dev.release(rows.Data)
}

// second overwrites the second Gram matrix by its triangular factor, and returns the product with the first
// one, which it frees.
func (s cholesky) second(dev *device, g, first kernels.Panel) (r kernels.Panel, err error) {
	done, err := dev.Potrf(g)
	if err == nil && done < s.n {
		err = fmt.Errorf("the pivot of column %d is not positive after orthogonalization", done)
	}
	if err == nil {
		r, err = dev.panel(s.n, s.n)
	}
	if err == nil {
		err = dev.Gemm(s.tiledProduct(g, first, r))
	}
	if err != nil {
		return r, err
	}
	return r, dev.release(first.Data)
}

// divide multiplies the slabs by the inverse of a triangular factor, on device 0. It is collective.
func (s cholesky) divide(r kernels.Panel) error {
	all, err := s.toAll(0, r)
	if err != nil {
		return err
	}
	return s.eachSlab(func(i int, dev *device, a kernels.Panel) error { return dev.Trsm(a, all[i], false) })
}

// expand multiplies Q, in the slabs, by u, on device 0. It is collective.
func (s cholesky) expand(u kernels.Panel) error {
	all, err := s.toAll(0, u)
	if err != nil {
		return err
	}
	work := make([]buffer, len(s.own))
	err = s.eachSlab(func(i int, dev *device, a kernels.Panel) error {
		c, err := work[i].need(dev, s.tallest(), s.n)
		if err != nil {
			return err
		}
		c = c.Rows(0, a.M)
		if err := dev.Gemm(s.tiledProduct(a, all[i], c)); err != nil {
			return err
		}
		return dev.Convert(a, c)
	})
	if err != nil {
		return err
	}
	return s.drop(work)
}

// tiledProduct is c ← a·b, in tiles of columns.
func (s cholesky) tiledProduct(a, b, c kernels.Panel) (all []kernels.Gemm) {
	tiles := s.tiled(c)
	for k, columns := range s.tiled(b) {
		all = append(all, kernels.Gemm{Alpha: 1, A: a, B: columns, C: tiles[k]})
	}
	return all
}
