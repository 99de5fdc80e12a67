package cuda

import "jmpi/kernels"

func (d *device) GatherRows(dst, src kernels.Panel, from []int) error {
	return d.checked("GatherRows", kernels.CheckGather(dst, src, from), func() error {
		list, err := d.integers("rows", from)
		if err != nil {
			return err
		}
		return d.elementwise("gather_rows", dst.M, dst.N, word(dst.Data), uint64(dst.Ld), word(src.Data),
			uint64(src.Ld), word(list), uint64(dst.M), uint64(dst.N))
	})
}

// MoveColumns reads all columns into scratch before it writes one if dst and src share memory.
func (d *device) MoveColumns(dst kernels.Panel, to []int, src kernels.Panel, from []int) error {
	count := len(to)
	return d.checked("MoveColumns", kernels.CheckMove(dst, to, src, from), func() error {
		targets, err := d.places("target columns", to)
		if err != nil {
			return err
		}
		sources, err := d.places("source columns", from)
		if err != nil {
			return err
		}
		move := func(dst kernels.Panel, to kernels.Address, src kernels.Panel, from kernels.Address) error {
			return d.elementwise("move_columns_"+bits(dst)+"_"+bits(src), dst.M, count, word(dst.Data),
				uint64(dst.Ld), word(to), word(src.Data), uint64(src.Ld), word(from), uint64(dst.M), uint64(count))
		}
		if !overlap(dst, src) {
			return move(dst, targets, src, sources)
		}
		rows := dst.M
		if dst == src { // rows by themselves, some at a time
			rows = min(rows, max(movingRows, movingBytes/kernels.WordBytes/max(1, count)))
		}
		between := kernels.Panel{N: count, Ld: rows}
		if between.Data, err = d.need("moving columns", between.Bytes()); err != nil {
			return err
		}
		for i := 0; i < dst.M; i += rows {
			end := min(i+rows, dst.M)
			between.M = end - i
			if err := move(between, 0, src.Rows(i, end), sources); err != nil {
				return err
			}
			if err := move(dst.Rows(i, end), targets, between, 0); err != nil {
				return err
			}
		}
		return nil
	})
}

// places returns where a list of columns is: 0 for the first ones in their order, which needs no list.
func (d *device) places(what string, columns []int) (kernels.Address, error) {
	for k, j := range columns {
		if j != k {
			return d.integers(what, columns)
		}
	}
	return 0, nil
}

const (
	movingBytes = 64 << 20 // of the columns that are moved within a panel at a time,
	movingRows  = 256      // which has so many rows or all
)

// overlap tells whether the memory of two panels overlaps.
func overlap(a, b kernels.Panel) bool {
	return a.Data < b.Data+kernels.Address(b.Bytes()) && b.Data < a.Data+kernels.Address(a.Bytes())
}
