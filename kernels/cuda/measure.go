package cuda

import "jmpi/kernels"

// results returns n numbers that queue makes the device put at an address, unless something is wrong.
func (d *device) results(operation string, wrong error, n int,
	queue func(out kernels.Address) error) ([]float64, error) {
	if wrong == nil && n == 0 {
		return []float64{}, nil
	}
	out := kernels.Panel{M: n, N: 1, Ld: n}
	err := d.checked(operation, wrong, func() (err error) {
		if out.Data, err = d.need("results", out.Bytes()); err != nil {
			return err
		}
		return queue(out.Data)
	})
	if err != nil {
		return nil, err
	}
	x := make([]float64, n)
	if err := d.Read(x, n, out); err != nil {
		return nil, err
	}
	return x, nil
}

// Elements gathers those of all panels in one launch.
func (d *device) Elements(p []kernels.Panel) ([]float64, error) {
	n, start := 0, make([]int, len(p))
	for i := range p {
		start[i] = n
		n += p[i].M * p[i].N
	}
	return d.results("Elements", kernels.CheckList(p), n, func(out kernels.Address) error {
		list, err := d.members("panels to read", p)
		if err != nil {
			return err
		}
		at, err := d.integers("starts of panels", start)
		if err != nil {
			return err
		}
		return d.launch("elements", min(list.widest, gridLimit), min(len(p), gridLimit), 1, 64, 0, word(list.at),
			word(at), uint64(len(p)), word(out))
	})
}

// Lengths measures all panels in one launch.
func (d *device) Lengths(p []kernels.Panel) ([]float64, error) {
	n := 0
	for i := range p {
		n += p[i].N
	}
	return d.results("Lengths", kernels.CheckList(p), n, func(out kernels.Address) error {
		list, err := d.members("panels to measure", p)
		if err != nil {
			return err
		}
		return d.launch("lengths", min(list.widest, gridLimit), min(len(p), gridLimit), 1, 256, 0, word(list.at),
			uint64(len(p)), word(out))
	})
}

const (
	maximaColumns = 64 // in a chunk that a block of row_maxima takes,
	maximaChunks  = 64 // at least; so many chunks at most
)

// RowMaxima takes the maxima of chunks of columns, then those of the chunks.
func (d *device) RowMaxima(p kernels.Panel, columns []float64) ([]float64, error) {
	return d.results("RowMaxima", p.CheckFactors(nil, columns), p.M, func(out kernels.Address) error {
		sizes, err := d.numbers("sizes", columns)
		if err != nil {
			return err
		}
		chunk := max(maximaColumns, ceil(p.N, maximaChunks))
		parts := kernels.Panel{M: p.M, N: max(1, ceil(p.N, chunk)), Ld: p.M}
		if parts.Data, err = d.need("maxima of chunks", parts.Bytes()); err != nil {
			return err
		}
		maxima := func(p kernels.Panel, sizes kernels.Address, chunk, chunks int, out kernels.Address) error {
			return d.launch("row_maxima", ceil(p.M, 256), chunks, 1, 256, 0, word(p.Data), uint64(p.M), uint64(p.N),
				uint64(p.Ld), word(sizes), uint64(chunk), word(out))
		}
		if err := maxima(p, sizes, chunk, parts.N, parts.Data); err != nil {
			return err
		}
		return maxima(parts, 0, parts.N, 1, out)
	})
}

func (d *device) ColumnMaxima(p kernels.Panel, rows []float64) ([]float64, error) {
	return d.results("ColumnMaxima", p.CheckFactors(rows, nil), p.N, func(out kernels.Address) error {
		sizes, err := d.numbers("sizes", rows)
		if err != nil {
			return err
		}
		return d.launch("column_maxima", min(p.N, gridLimit), 1, 1, 256, 0, word(p.Data), uint64(p.M), uint64(p.N),
			uint64(p.Ld), word(sizes), word(out))
	})
}

func (d *device) Leads(p kernels.Panel) ([]float64, error) {
	return d.results("Leads", p.Check("panel"), p.N, func(out kernels.Address) error {
		return d.launch("leads", min(p.N, gridLimit), 1, 1, 256, 0, word(p.Data), uint64(p.M), uint64(p.N),
			uint64(p.Ld), word(out))
	})
}
