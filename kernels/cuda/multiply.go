package cuda

import "jmpi/kernels"

// largeBytes bounds the copies of rows that products with large T are formed from.
const largeBytes = 256 << 20

// productShared is the shared memory of a product of 64 rows by so many columns.
func (d *device) productShared(columns int) int {
	chunk := d.tiling.chunk
	return d.tiling.stages * (chunk*(productRows+pad) + columns*(chunk+pad)) * kernels.WordBytes
}

func (d *device) Multiply(b *kernels.Batch) error {
	return d.primitive("Multiply", b, kernels.Needs{G: true, V: b.V != nil, R: true, T: true, Tally: true},
		false, d.yielding(d.multiply), d.weigh)
}

// weigh queues what the products need of R and T, in the form in which they need it.
func (d *device) weigh(s *batch) error {
	if s.Single != nil {
		return d.singleWeigh(s)
	}
	flags, err := d.flags(s)
	if err != nil {
		return err
	}
	return d.launch("mark_columns", s.n(), 1, 1, 1024, 0, s.at, word(flags), uint64(s.order))
}

// flags is where mark_columns puts the flags of the columns of T.
func (d *device) flags(s *batch) (kernels.Address, error) {
	return d.need("flags of columns", 2*int64(s.n())*int64(s.order))
}

// multiply forms the products, of what weigh has found, in place where one block of threads has all columns
// of T, else from copies of rows.
func (d *device) multiply(s *batch) error {
	if s.Single != nil {
		return d.singleMultiply(s)
	}
	flags, err := d.flags(s)
	if err != nil {
		return err
	}
	if d.streams(s.order) {
		return d.multiplyStream(s, flags)
	}
	g, v := ceil(s.rows, productRows), ceil(s.vRows, productRows)
	for _, k := range []struct {
		name           string
		columns, block int
	}{{"multiply_64", 64, 128}, {"multiply_128", 128, 256}, {"multiply_256", 256, 512}} {
		if shared := d.productShared(k.columns); s.order <= k.columns && shared < d.shared {
			return d.launch(k.name, g+v, s.n(), 1, k.block, shared, s.at, word(flags), uint64(s.order), uint64(g))
		}
	}
	if err := d.multiplyLarge(s, flags, 0, s.rows); err != nil {
		return err
	}
	return d.multiplyLarge(s, flags, 1, s.vRows)
}

// multiplyLarge multiplies G (v = 0) or V (v = 1), some rows after the other.
func (d *device) multiplyLarge(s *batch, flags kernels.Address, v uint64, rows int) error {
	if rows == 0 {
		return nil
	}
	row := int64(s.n()) * int64(s.order) * kernels.WordBytes
	count := min(ceil(rows, productRows), max(1, int(largeBytes/row/productRows))) * productRows
	work, err := d.need("copies of rows", int64(count)*row)
	if err != nil {
		return err
	}
	for first := 0; first < rows; first += count {
		place := []uint64{s.at, uint64(s.order), v, uint64(first), uint64(count), word(work), uint64(count)}
		if err := d.launch("copy_rows", s.order, s.n(), 1, 256, 0, place...); err != nil {
			return err
		}
		place = append([]uint64{s.at, word(flags)}, place[1:]...)
		if err := d.launch("multiply_large", count/productRows, s.n(), ceil(s.order, 128), 256,
			d.productShared(128), place...); err != nil {
			return err
		}
	}
	return nil
}
