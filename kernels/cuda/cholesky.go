package cuda

import (
	"fmt"

	"jmpi/kernels"
)

func (d *device) Cholesky(b *kernels.Batch) error {
	return d.primitive("Cholesky", b, kernels.Needs{R: true, Tally: true}, true, d.cholesky)
}

// cholesky factors by block-rows of the order that one block of threads can take.
func (d *device) cholesky(s *batch) error {
	size := s.Type.Bytes()
	diagonal, err := d.need("diagonals", 2*int64(s.n())*int64(s.order)*int64(size))
	if err != nil {
		return err
	}
	width := min(d.order(), s.order)
	for j0, j1 := 0, width; ; j0, j1 = j1, min(j1+width, s.order) {
		rows := ceil(j1-j0, 16) * 16
		if err := d.launch(s.kernel("cholesky_block"), s.n(), 1, 1, 512, rows*choleskyLeading(s.Type, rows)*size,
			s.at, uint64(j0), uint64(j1), word(diagonal), uint64(s.order)); err != nil {
			return err
		}
		if j1 == s.order {
			return nil
		}
		if err := d.launch(fmt.Sprint(s.kernel("cholesky_row_"), width), ceil(s.order-j1, 16), s.n(), 1, 256,
			width*(width+1)*size, s.at, uint64(j0), uint64(j1)); err != nil {
			return err
		}
		if s.Single != nil {
			err = d.singleUpdate(s, j0, j1)
		} else {
			err = d.gram(s, gramCall{purpose: purposeUpdate, order: s.order - j1, chunks: 1, j0: j0, j1: j1})
		}
		if err != nil {
			return err
		}
	}
}

// choleskyLeading is the leading dimension of a block in shared memory (Trust of cholesky.cu).
func choleskyLeading(e kernels.Element, rows int) int {
	if e == kernels.Float32 {
		return ceil(rows, 32)*32 + 8
	}
	return rows + pad
}
