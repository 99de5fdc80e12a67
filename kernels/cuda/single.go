package cuda

import "jmpi/kernels"

const singleTile = 64 // TILE of single_products.cu

// singleGram forms the Gram matrices of a batch of float32, and sets Factors.
func (d *device) singleGram(s *batch) error {
	if err := d.launch("single_factors", s.n(), 1, 1, 256, 0, s.at); err != nil {
		return err
	}
	return d.singleProducts(s, s.order, 0, 0, 0)
}

// singleProducts forms Gram matrices, or updates what is left of them (single_gram).
func (d *device) singleProducts(s *batch, order int, update uint64, j0, j1 int) error {
	tiles := ceil(order, singleTile)
	return d.launch("single_gram", tiles, tiles, s.n(), 256, 0, s.at, update, uint64(j0), uint64(j1))
}

// singleMultiply multiplies G by T, V by what it is to be multiplied by, and sets Norms.
func (d *device) singleMultiply(s *batch) error {
	n, order := int64(s.n()), int64(s.order)
	flags, err := d.need("flags of columns", 2*n*order)
	if err != nil {
		return err
	}
	var weights kernels.Address
	if s.vRows > 0 && !s.Single.Scaled {
		if weights, err = d.need("weights", n*order*order*int64(s.Type.Bytes())); err != nil {
			return err
		}
		if err := d.launch("single_weights", s.order, s.n(), 1, 128, 0, s.at, word(weights),
			uint64(order)); err != nil {
			return err
		}
	}
	if err := d.launch("single_mark", s.n(), 1, 1, 1024, 0, s.at, word(weights), word(flags),
		uint64(order)); err != nil {
		return err
	}
	for v, rows := range []int{s.rows, s.vRows} {
		if err := d.singleRows(s, weights, flags, uint64(v), rows); err != nil {
			return err
		}
	}
	return d.launch("single_norms", s.n(), 1, 1, 256, 0, s.at)
}

// singleRows multiplies G (v = 0) or V (v = 1), some rows after the other, from copies of them.
func (d *device) singleRows(s *batch, weights, flags kernels.Address, v uint64, rows int) error {
	if rows == 0 || s.order == 0 {
		return nil
	}
	row := int64(s.n()) * int64(s.order) * int64(s.Type.Bytes())
	count := min(ceil(rows, singleTile), max(1, int(largeBytes/row/singleTile))) * singleTile
	work, err := d.need("copies of rows", int64(count)*row)
	if err != nil {
		return err
	}
	for first := 0; first < rows; first += count {
		if err := d.launch("single_copy_rows", s.order, s.n(), 1, 256, 0, s.at, uint64(s.order), v, uint64(first),
			uint64(count), word(work)); err != nil {
			return err
		}
		if err := d.launch("single_multiply", count/singleTile, s.n(), ceil(s.order, singleTile), 256, 0, s.at,
			word(weights), word(flags), uint64(s.order), v, uint64(first), uint64(count), word(work)); err != nil {
			return err
		}
	}
	return nil
}
