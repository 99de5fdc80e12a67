package matrix

import (
	"fmt"

	"jmpi/kernels"
)

// TransposedProduct returns xᵀ·u. It is collective.
func TransposedProduct(x, u *Matrix) (*Matrix, error) {
	w, err := x.New(x.N, u.N)
	if err != nil {
		return nil, err
	}
	return w, transposedProduct(w, x, u, 0)
}

// AddTransposedProduct does w ← w + xᵀ·u. It is collective.
func AddTransposedProduct(w, x, u *Matrix) error { return transposedProduct(w, x, u, 1) }

// transposedProduct does w ← β·w + xᵀ·u. It is collective.
func transposedProduct(w, x, u *Matrix, beta float64) error {
	return pass(x, func(i, i0, i1 int, a kernels.Panel) (products []kernels.Gemm) {
		right := u.tiles(i, 0, u.M)
		for b, c := range w.tiles(i, i0, i1) {
			products = append(products, kernels.Gemm{TransA: true, Alpha: 1, A: a, B: right[b], Beta: beta, C: c})
		}
		return products
	})
}

// Product returns x·u; x may be lower triangular. It is collective.
func Product(x, u *Matrix, lower bool) (*Matrix, error) {
	w, err := x.New(x.M, u.N)
	if err != nil {
		return nil, err
	}
	return w, pass(x, func(i, i0, i1 int, a kernels.Panel) (products []kernels.Gemm) {
		first := 0 // row of a that is not zero
		if lower {
			first = i0
		}
		right := u.broad(i, i0, i1)
		for b, c := range w.broad(i, first, w.M) {
			products = append(products, kernels.Gemm{Alpha: 1, A: a.Rows(first, a.M), B: right[b], Beta: 1, C: c,
				Of: w.N})
		}
		return products
	})
}

// Gram returns xᵀ·x, both triangles, with the same bits in elements i,j and j,i. It is collective.
func Gram(x *Matrix) (*Matrix, error) { return gram(x, false, x.N) }

// NearGram is Gram, but on hosts 0 where ZeroFar makes it so; the other elements have the same bits. It is
// collective.
func NearGram(x *Matrix) (*Matrix, error) { return gram(x, false, x.Reach()) }

func gram(x *Matrix, rough bool, reach int) (*Matrix, error) {
	h, err := x.New(x.N, x.N)
	if err != nil {
		return nil, err
	}
	if rough {
		err = h.roughSquare(x)
	} else {
		err = h.square(x, false, reach)
	}
	if err == nil {
		err = h.each(func(i int, dev *device) error {
			var from, to []kernels.Panel
			for b := range h.blocksOf(h.first + i) {
				from, to = append(from, x.block(b)), append(to, h.diagonalBlock(b))
			}
			return dev.Syrk(from, to)
		})
	}
	if err == nil {
		err = h.mirror()
	}
	if err != nil {
		h.Free()
		return nil, fmt.Errorf("matrix: Gram matrix: %w", err)
	}
	return h, nil
}

// square sets the blocks of s above the diagonal, and with diagonal those on it, to what xᵀ·x has there. On
// hosts it leaves blocks out that are further away than reach. It is collective.
func (s *Matrix) square(x *Matrix, diagonal bool, reach int) error {
	return pass(x, func(i, i0, i1 int, a kernels.Panel) (products []kernels.Gemm) {
		for _, c := range s.above(i, i0, i1, diagonal) {
			if c.first >= i1+reach && s.HostMemory() {
				break
			}
			products = append(products, kernels.Gemm{TransA: true, Alpha: 1, A: a.Columns(0, c.M), B: x.same(i, c),
				C: c.Panel, Of: c.of})
		}
		return products
	})
}

// columnsAt is a panel of some rows of a share, from a column of it on, which is the matrix's column first.
// It has the share's columns of so many of the matrix; 0: it is a block.
type columnsAt struct {
	kernels.Panel
	at, first, of int
}

// Reach is how far a pair of columns may be apart and still be near. Those that are further apart are mostly
// far; it depends on the blocks that they are in.
func (s *Matrix) Reach() int { return s.passWidth() / 2 }

// ZeroFar clears the elements of a square matrix of which row and column are not near, above and below the
// diagonal.
func (s *Matrix) ZeroFar() error {
	width, reach := s.passWidth(), s.Reach()
	return s.eachBlock(func(dev *device, b int, p kernels.Panel) error {
		j0, _ := s.span(b)
		low := max(0, j0-reach) / width * width
		high := ((j0/width+1)*width + reach + s.tile - 1) / s.tile * s.tile
		return dev.Zero(p.Rows(0, low), p.Rows(min(high, s.M), s.M))
	})
}

// same returns the columns of s, on this rank's device i, that are those of a panel of another matrix.
func (s *Matrix) same(i int, c columnsAt) kernels.Panel { return s.shares[i].Columns(c.at, c.at+c.N) }

// above returns rows i0 ≤ i < i1 of the blocks of this rank's device i, as far as they are above the diagonal
// block, or with it: on hosts block by block, on GPUs as many as possible in one.
func (s *Matrix) above(i, i0, i1 int, diagonal bool) (all []columnsAt) {
	for b := range s.blocksOf(s.first + i) {
		j0, j1 := s.span(b)
		_, at := s.home(j0)
		if j0 >= i1 && !s.HostMemory() {
			return append(all, columnsAt{s.shares[i].Columns(at, s.shares[i].N).Rows(i0, i1), at, j0, s.N - i1})
		}
		last := j0
		if diagonal {
			last = j1
		}
		if last > i0 {
			all = append(all, columnsAt{s.shares[i].Columns(at, at+j1-j0).Rows(i0, min(i1, last)), at, j0, 0})
		}
	}
	return all
}

// Add does s ← s + t.
func (s *Matrix) Add(t *Matrix) error {
	return s.each(func(i int, dev *device) error { return dev.Add(s.shares[i], t.shares[i]) })
}

// broad returns rows i0 ≤ i < i1 of what this rank's device i has: block by block on hosts, all in one on
// GPUs, since a product of a single block is too small for them.
func (s *Matrix) broad(i, i0, i1 int) []kernels.Panel {
	if s.HostMemory() {
		return s.tiles(i, i0, i1)
	}
	return []kernels.Panel{s.shares[i].Rows(i0, i1)}
}

// passColumns is how many columns pass by at a time on CPUs, where blocks are narrower, passBlocks how many
// blocks on GPUs: products with few columns are slow.
const passColumns, passBlocks = 256, 4

// PassColumns is how many columns of a matrix pass by at a time on devices of these limits.
func PassColumns(limits kernels.Limits) int {
	if limits.HostMemory {
		return max(passColumns, limits.Tile)
	}
	return passBlocks * limits.Tile
}

// passWidth is how many columns of a matrix pass by at a time.
func (d *Devices) passWidth() int {
	limits := d.own[0].Limits()
	limits.Tile = d.tile // which may have become wider
	return PassColumns(limits)
}

// pass shows some blocks at a time, the columns i0 ≤ i < i1, to all devices, and does the products that
// device i of this rank has for them.
func pass(s *Matrix, products func(i, i0, i1 int, a kernels.Panel) []kernels.Gemm) error {
	return s.pass(false, products)
}

// passBack is pass from the last blocks to the first. What is shown is a copy. So the products may change
// columns from i0 on.
func passBack(s *Matrix, products func(i, i0, i1 int, a kernels.Panel) []kernels.Gemm) error {
	return s.pass(true, products)
}

func (s *Matrix) pass(back bool, products func(i, i0, i1 int, a kernels.Panel) []kernels.Gemm) error {
	err := s.visit(back, func(i, i0, i1 int, a kernels.Panel) error {
		return s.own[i].Gemm(products(i, i0, i1, a))
	})
	if err != nil {
		return fmt.Errorf("matrix: product: %w", err)
	}
	return nil
}
