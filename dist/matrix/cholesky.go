package matrix

import (
	"fmt"
	"math"
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

// reduce factors the matrix and returns R, on device 0. It is not done, and the slabs are as they were, where
// columns are nearly dependent, or so long or short that they are not ordinary. It is collective.
func (s cholesky) reduce() (r kernels.Panel, done, ordinary bool, err error) {
	if r, err = s.gram(); err != nil {
		return r, false, false, err
	}
	sizes, ordinary, err := s.sizes(r)
	if err == nil && ordinary {
		done, err = s.factor(r, sizes)
	}
	if err == nil && done {
		r, err = s.again(r)
	} else if dev := s.here(0); err == nil && dev != nil {
		err = dev.release(r.Data)
	}
	return r, done, ordinary, err
}

// again finishes the first factorization, A = Q₁·R₁, and does the second.
func (s cholesky) again(first kernels.Panel) (kernels.Panel, error) {
	if err := s.divide(first); err != nil {
		return first, err
	}
	second, err := s.gram()
	if err != nil {
		return first, err
	}
	dev, r := s.here(0), first
	if dev != nil {
		if r, err = s.second(dev, second, first); err != nil {
			return r, err
		}
	}
	if err = s.divide(second); err == nil && dev != nil {
		err = dev.release(second.Data)
	}
	return r, err
}

// gram returns the Gram matrix, on device 0. It is collective.
func (s cholesky) gram() (kernels.Panel, error) {
	squares := make([]buffer, len(s.own))
	g, err := s.climb(func(dev *device, slab int, x kernels.Panel) error {
		return s.square(dev, slab, x, &squares[s.indexOf(dev)])
	}, func(dev *device, _ subtree, x, y kernels.Panel) error { return dev.Add(x, y) })
	if err != nil {
		return g, err
	}
	return g, s.drop(squares)
}

// square gives x the Gram matrix of a slab. Where there is a limit to the number of slabs, those of all slabs
// of the device are formed with that of the first, and kept.
func (s cholesky) square(dev *device, slab int, x kernels.Panel, squares *buffer) error {
	from, to := s.slabsOf(s.first + s.indexOf(dev))
	together := min(max(1, dev.Limits().Slabs), to-from)
	all, err := squares.need(dev, s.n, s.n*together)
	if err != nil {
		return err
	}
	var a, c []kernels.Panel
	for k := range together {
		c = append(c, all.Columns(k*s.n, (k+1)*s.n))
	}
	kept := (slab - from) % together
	if kept == 0 {
		for k := range min(together, to-slab) {
			a = append(a, s.slab(slab+k))
		}
		if err := dev.Syrk(a, c[:len(a)]); err != nil {
			return err
		}
	}
	return dev.Convert(x, c[kept])
}

// ordinaryExponent is that of the longest column that is ordinary; the shortest has the negative one. Squares
// of these, and products with columns of lengths of about 1, are far from the ends of the range.
const ordinaryExponent = 400

// sizes returns the powers of two that divide the columns into ones of lengths of ½ to 1, if all are
// ordinary, by the Gram matrix, on device 0. It is collective.
func (s cholesky) sizes(g kernels.Panel) (sizes []float64, ordinary bool, err error) {
	var squares []float64
	if dev := s.here(0); dev != nil {
		squares = make([]float64, s.n)
		diagonal := kernels.Panel{M: 1, N: s.n, Ld: g.Ld + 1, Data: g.Data}
		if err = dev.Read(squares, 1, diagonal); err != nil {
			return nil, false, err
		}
	}
	if squares, err = comm.FromRank(s.Comm, s.ranks[0], squares); err != nil {
		return nil, false, err
	}
	for _, x := range squares {
		_, e := math.Frexp(math.Sqrt(x))
		if !(x > 0) || math.IsInf(x, 1) || max(e, -e) > ordinaryExponent {
			return nil, false, nil
		}
		sizes = append(sizes, math.Ldexp(1, e))
	}
	return sizes, true, nil
}

// factor overwrites the Gram matrix, on device 0, by its triangular factor, and tells whether all columns are
// far enough from the space of the others when they are divided by their sizes. It is collective.
func (s cholesky) factor(g kernels.Panel, sizes []float64) (done bool, err error) {
	var far []float64
	if dev := s.here(0); dev != nil {
		inverse := make([]float64, s.n)
		for j, x := range sizes {
			inverse[j] = 1 / x
		}
		if err = dev.Scale(g, inverse, inverse); err == nil {
			done, err = distant(dev, g)
		}
		if err == nil {
			err = dev.Scale(g, nil, sizes)
		}
		if err != nil {
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
		err = dev.Trsm([]kernels.Panel{rows}, g, true)
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
	all, err := s.oneToAll(0, r)
	if err != nil {
		return err
	}
	return s.each(func(i int, dev *device) error {
		var slabs []kernels.Panel
		from, to := s.slabsOf(s.first + i)
		for slab := from; slab < to; slab++ {
			slabs = append(slabs, s.slab(slab))
		}
		return dev.Trsm(slabs, all[i], false)
	})
}

// expand multiplies Q, in the slabs, by u, on device 0. It is collective.
func (s cholesky) expand(u kernels.Panel) error {
	all, err := s.oneToAll(0, u)
	if err != nil {
		return err
	}
	return s.eachSlab(func(i int, dev *device, slab int) error {
		return dev.Gemm(s.tiledProduct(s.slab(slab), all[i], s.room(slab, 0).Columns(0, s.width)))
	})
}

// tiledProduct is c ← a·b, in tiles of columns.
func (s cholesky) tiledProduct(a, b, c kernels.Panel) (all []kernels.Gemm) {
	tiles := s.tiled(c)
	for k, columns := range s.tiled(b) {
		all = append(all, kernels.Gemm{Alpha: 1, A: a, B: columns, C: tiles[k]})
	}
	return all
}
