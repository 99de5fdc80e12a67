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
	diagonal, err := d.need("diagonals", int64(s.n())*int64(s.order)*kernels.WordBytes)
	if err != nil {
		return err
	}
	width := min(d.order(), s.order)
	for j0, j1 := 0, width; ; j0, j1 = j1, min(j1+width, s.order) {
		rows := ceil(j1-j0, 16) * 16
		shared := rows * (rows + pad) * kernels.WordBytes
		if err := d.launch("cholesky_block", s.n(), 1, 1, 512, shared, s.at, uint64(j0), uint64(j1), word(diagonal),
			uint64(s.order)); err != nil {
			return err
		}
		if j1 == s.order {
			return nil
		}
		shared = width * (width + 1) * kernels.WordBytes
		if err := d.launch(fmt.Sprint("cholesky_row_", width), ceil(s.order-j1, 16), s.n(), 1, 256, shared, s.at,
			uint64(j0), uint64(j1)); err != nil {
			return err
		}
		if err := d.gram(s, gramCall{purpose: purposeUpdate, order: s.order - j1, chunks: 1, j0: j0,
			j1: j1}); err != nil {
			return err
		}
	}
}
