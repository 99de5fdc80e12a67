package matrix

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"jmpi/kernels"
)

// RoughError bounds the rounding errors of a product x·u in float32 as AddProduct forms it:
// ‖errors‖_F ≤ RoughError·‖u‖_F if x has orthonormal columns, or nearly so. The largest ones that were seen
// are 0.6 of that.
const RoughError = 8 * kernels.UnitRoundoff32

// RoughBlocks returns how many blocks of a matrix with so many rows and columns as s has columns AddProduct
// tells apart.
func (s *Matrix) RoughBlocks() int { return s.blocks() * ((s.N + passColumns - 1) / passColumns) }

// AddProduct does w ← w + α·x·u; w may be x, and must not be u. On hosts, blocks of u with a norm of `rough`
// at most are multiplied in float32, which takes half the time. Other blocks are multiplied in float64, and
// all are on GPUs, where that is as fast. Where a bound is given blocks of zeros are left out. It returns the
// share of u's elements that float32 had, or that were left out. It is collective.
func AddProduct(w, x, u *Matrix, alpha, rough float64) (share float64, err error) {
	if !x.HostMemory() {
		rough = 0
	}
	low := newSingles(w)
	defer func() { err = errors.Join(err, low.free()) }()
	sums := w
	if w == x {
		if sums, err = x.New(x.M, u.N); err != nil {
			return 0, err
		}
		defer sums.Free()
	}
	elements := make([]int64, len(x.own)) // of u, that float32 had
	err = x.visit(false, func(i, i0, i1 int, a kernels.Panel) error {
		left, err := low.factor(i, a, rough)
		if err != nil {
			return err
		}
		var products []kernels.Gemm
		right, to := u.broad(i, i0, i1), sums.broad(i, 0, x.M)
		for b, c := range to {
			g := kernels.Gemm{Alpha: alpha, A: a, B: right[b], Beta: 1, C: c, Of: u.N}
			norm, err := low.norm(i, g.B, rough)
			if err == nil && norm > rough {
				products = append(products, g)
				continue
			}
			elements[i] += int64(g.B.M) * int64(g.B.N)
			if g.A, g.C = left, low.place(i, columnsAt{Panel: c, at: b * x.tile}, 0); err == nil && norm > 0 {
				err = low.add(i, g)
			}
			if err != nil {
				return err
			}
		}
		return x.own[i].Gemm(products)
	})
	if err == nil && sums != w {
		err = w.Add(sums)
	}
	if err == nil {
		err = low.addTo(w)
	}
	sum := []int64{0}
	for _, x := range elements {
		sum[0] += x
	}
	if err == nil && rough > 0 {
		err = x.Comm.AllreduceSum(sum)
	}
	if err != nil {
		return 0, fmt.Errorf("matrix: product that is added: %w", err)
	}
	return float64(sum[0]) / max(1, float64(u.M)*float64(u.N)), nil
}

// AddIdentity does s ← s + α·I, for a square matrix.
func (s *Matrix) AddIdentity(alpha float64) error {
	return s.each(func(i int, dev *device) error {
		var b buffer
		unit, err := b.need(dev, s.tile, s.tile)
		if err == nil {
			err = dev.Identity(unit, 0)
		}
		if err == nil {
			err = dev.Scale(unit, nil, slices.Repeat([]float64{alpha}, s.tile))
		}
		for k := s.first + i; k < s.blocks() && err == nil; k += len(s.ranks) {
			p := s.diagonalBlock(k)
			err = dev.Add(p, unit.Columns(0, p.N).Rows(0, p.N))
		}
		return errors.Join(err, dev.release(b.at))
	})
}

// RoughGram is Gram, but hosts form what is above the diagonal blocks in float32. It is collective.
func RoughGram(x *Matrix) (*Matrix, error) { return gram(x, x.HostMemory(), x.N) }

// roughSquare does square in float32, without the diagonal. It is collective.
func (s *Matrix) roughSquare(x *Matrix) (err error) {
	low := newSingles(s)
	defer func() { err = errors.Join(err, low.free()) }()
	err = x.visit(false, func(i, i0, i1 int, a kernels.Panel) error {
		left, err := low.factor(i, a, math.Inf(1))
		for _, c := range s.above(i, i0, i1, false) {
			if err == nil {
				err = low.add(i, kernels.Gemm{TransA: true, Alpha: 1, A: left.Columns(0, c.M), B: x.same(i, c),
					Beta: 1, C: low.place(i, c, i0), Of: c.of})
			}
		}
		return err
	})
	if err == nil {
		err = low.addTo(s)
	}
	return err
}

// singles are sums of products in float32, in the places that they have in a matrix.
type singles struct {
	of          *Matrix
	sums        []kernels.Panel // of each device of this rank; the zero panel before there are any
	left, right []buffer        // factors
}

func newSingles(s *Matrix) *singles {
	count := len(s.own)
	return &singles{s, make([]kernels.Panel, count), make([]buffer, count), make([]buffer, count)}
}

// free gives the memory back.
func (r *singles) free() error {
	return r.of.each(func(i int, dev *device) error {
		return errors.Join(dev.release(r.sums[i].Data), dev.release(r.left[i].at), dev.release(r.right[i].at))
	})
}

// norm returns the norm of a block of a device where that is to be compared with a bound.
func (r *singles) norm(i int, block kernels.Panel, most float64) (float64, error) {
	switch {
	case most <= 0:
		return math.Inf(1), nil
	case math.IsInf(most, 1):
		return 1, nil
	}
	lengths, err := r.of.own[i].Lengths([]kernels.Panel{block})
	return kernels.Norm2(lengths), err
}

// factor returns the left factor of products of a device in float32, if there are any.
func (r *singles) factor(i int, a kernels.Panel, most float64) (kernels.Panel, error) {
	dev := r.of.own[i]
	if most <= 0 {
		return a, nil
	}
	if r.sums[i].Data == 0 {
		p := kernels.Panel{M: r.of.M, N: r.of.shares[i].N, Ld: dev.leading(r.of.M), Type: kernels.Float32}
		var err error
		if p.Data, err = dev.alloc(p.Bytes()); err != nil {
			return a, err
		}
		r.sums[i] = p
	}
	return r.left[i].rounded(dev, a)
}

// add adds the product of a left factor and one of float64 to sums.
func (r *singles) add(i int, g kernels.Gemm) (err error) {
	dev := r.of.own[i]
	if g.B, err = r.right[i].rounded(dev, g.B); err != nil {
		return err
	}
	return dev.Gemm([]kernels.Gemm{g})
}

// place returns the sums in the place of c, whose first row is `row`.
func (r *singles) place(i int, c columnsAt, row int) kernels.Panel {
	return r.sums[i].Columns(c.at, c.at+c.N).Rows(row, row+c.M)
}

// rounded returns a copy in float32.
func (b *buffer) rounded(dev *device, p kernels.Panel) (kernels.Panel, error) {
	q, err := b.need(dev, p.M, (p.N+1)/2) // elements are half as long
	if err != nil {
		return q, err
	}
	q.N, q.Type = p.N, kernels.Float32
	return q, dev.Convert(q, p)
}

// addTo adds the sums to a matrix, in pieces.
func (r *singles) addTo(w *Matrix) error {
	return w.each(func(i int, dev *device) error {
		var piece buffer
		for j := 0; j < r.sums[i].N; j += w.tile {
			p := r.sums[i].Columns(j, min(j+w.tile, r.sums[i].N))
			q, err := piece.need(dev, p.M, p.N)
			if err == nil {
				err = dev.Convert(q, p)
			}
			if err == nil {
				err = dev.Add(w.shares[i].Columns(j, j+p.N), q)
			}
			if err != nil {
				return errors.Join(err, dev.release(piece.at))
			}
		}
		return dev.release(piece.at)
	})
}
