package cuda

import (
	"fmt"

	"jmpi/kernels"
)

func (d *device) GatherRows(dst, src kernels.Panel, from []int) error {
	err := checkFloat64(dst, src)
	if err == nil && (dst.N != src.N || len(from) != dst.M) {
		err = fmt.Errorf("%w: dst is %d×%d, src %d×%d, from has %d numbers", kernels.ErrShape, dst.M, dst.N, src.M,
			src.N, len(from))
	}
	for _, i := range from {
		if err == nil && i >= src.M {
			err = fmt.Errorf("%w: from has row %d of %d", kernels.ErrShape, i, src.M)
		}
	}
	if err != nil {
		return fmt.Errorf("cuda: GatherRows: %w", err)
	}
	return d.entered("GatherRows", func() error {
		list, err := d.integers("rows", from)
		if err != nil {
			return err
		}
		return d.elementwise("gather_rows", dst.M, dst.N, word(dst.Data), uint64(dst.Ld), word(src.Data),
			uint64(src.Ld), word(list), uint64(dst.M), uint64(dst.N))
	})
}

func checkFloat64(dst, src kernels.Panel) error {
	if err := dst.Check("dst"); err != nil {
		return err
	}
	return src.Check("src")
}

// MoveColumns reads all columns into scratch before it writes one if dst and src share memory.
func (d *device) MoveColumns(dst kernels.Panel, to []int, src kernels.Panel, from []int) error {
	err := checkFloat64(dst, src)
	if err == nil && (dst.M != src.M || len(to) != len(from)) {
		err = fmt.Errorf("%w: dst has %d rows, src %d, to %d numbers, from %d", kernels.ErrShape, dst.M, src.M,
			len(to), len(from))
	}
	if err == nil {
		err = checkColumns("to", dst, to)
	}
	if err == nil {
		err = checkColumns("from", src, from)
	}
	if err != nil {
		return fmt.Errorf("cuda: MoveColumns: %w", err)
	}
	count := len(to)
	return d.entered("MoveColumns", func() error {
		targets, err := d.integers("target columns", to)
		if err != nil {
			return err
		}
		sources, err := d.integers("source columns", from)
		if err != nil {
			return err
		}
		move := func(dst kernels.Panel, to kernels.Address, src kernels.Panel, from kernels.Address) error {
			return d.elementwise("move_columns", dst.M, count, word(dst.Data), uint64(dst.Ld), word(to),
				word(src.Data), uint64(src.Ld), word(from), uint64(dst.M), uint64(count))
		}
		if !overlap(dst, src) {
			return move(dst, targets, src, sources)
		}
		between := kernels.Panel{M: dst.M, N: count, Ld: dst.M}
		if between.Data, err = d.need("moving columns", between.Bytes()); err != nil {
			return err
		}
		if err := move(between, 0, src, sources); err != nil {
			return err
		}
		return move(dst, targets, between, 0)
	})
}

// overlap tells whether the memory of two panels overlaps.
func overlap(a, b kernels.Panel) bool {
	return a.Data < b.Data+kernels.Address(b.Bytes()) && b.Data < a.Data+kernels.Address(a.Bytes())
}

func checkColumns(name string, p kernels.Panel, columns []int) error {
	for _, j := range columns {
		if j < 0 || j >= p.N {
			return fmt.Errorf("%w: %s has column %d of %d", kernels.ErrShape, name, j, p.N)
		}
	}
	return nil
}
