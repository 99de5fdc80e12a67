package cpu

import "jmpi/kernels"

func (d *device) Convert(dst, src kernels.Panel) error {
	err := kernels.CheckConvert(dst, src)
	if err == nil {
		convert := convertTo(dst.Type, src.Type)
		err = d.eachColumns(dst, func(j0, j1 int) { convert(dst.Columns(j0, j1), src.Columns(j0, j1)) })
	}
	return named("Convert", err)
}

// convertTo returns the conversion of panels from a type of elements to another.
func convertTo(to, from kernels.Element) func(dst, src kernels.Panel) {
	switch {
	case to == from && to == kernels.Float64:
		return copied[float64]
	case to == from:
		return copied[float32]
	case to == kernels.Float32:
		return convert[float32, float64]
	}
	return convert[float64, float32]
}

func copied[T real](dst, src kernels.Panel) {
	for j := range dst.N {
		copy(columnOf[T](dst, j), columnOf[T](src, j))
	}
}

func convert[D, S real](dst, src kernels.Panel) {
	for j := range dst.N {
		rounded(columnOf[D](dst, j), columnOf[S](src, j))
	}
}

// rounded copies numbers to those of another type.
func rounded[D, S real](dst []D, src []S) {
	for i, x := range src {
		dst[i] = D(x)
	}
}

func (d *device) Zero(all ...kernels.Panel) error {
	for _, p := range all {
		err := p.CheckAny("panel")
		if err == nil {
			err = d.eachColumns(p, func(j0, j1 int) {
				for j := j0; j < j1; j++ {
					if p.Type == kernels.Float32 {
						clear(columnOf[float32](p, j))
					} else {
						clear(column(p, j))
					}
				}
			})
		}
		if err != nil {
			return named("Zero", err)
		}
	}
	return nil
}

func (d *device) Elements(p []kernels.Panel) ([]float64, error) {
	if err := kernels.CheckList(p); err != nil {
		return nil, named("Elements", err)
	}
	n := 0
	for i := range p {
		n += p[i].M * p[i].N
	}
	x := make([]float64, 0, n)
	for i := range p {
		for j := range p[i].N {
			x = append(x, column(p[i], j)...)
		}
	}
	return x, nil
}

// transposeTile is the order of the pieces in which a panel is transposed: two of them fit into the cache.
const transposeTile = 32

func (d *device) Transpose(dst, src []kernels.Panel) error {
	err := kernels.CheckTranspose(dst, src)
	for k := 0; k < len(dst) && err == nil; k++ {
		err = d.eachRows(src[k].M, transposeTile, func(_ *workspace, i0, i1 int) error {
			to, from := dst[k].Columns(i0, i1), src[k].Rows(i0, i1)
			for j0 := 0; j0 < from.N; j0 += transposeTile {
				j1 := min(j0+transposeTile, from.N)
				transpose[float64](to.Rows(j0, j1), from.Columns(j0, j1))
			}
			return nil
		})
	}
	return named("Transpose", err)
}

func (d *device) GatherRows(dst, src kernels.Panel, from []int) error {
	err := kernels.CheckGather(dst, src, from)
	if err == nil {
		err = d.eachColumns(dst, func(j0, j1 int) {
			for j := j0; j < j1; j++ {
				c, x := column(dst, j), column(src, j)
				for i, l := range from {
					if c[i] = 0; l >= 0 {
						c[i] = x[l]
					}
				}
			}
		})
	}
	return named("GatherRows", err)
}

// MoveColumns moves some rows at a time, through scratch memory: dst may be src.
func (d *device) MoveColumns(dst kernels.Panel, to []int, src kernels.Panel, from []int) error {
	err := kernels.CheckMove(dst, to, src, from)
	if err == nil {
		rows := max(64, pieceBytes/kernels.WordBytes/max(len(to), 1))
		err = d.eachRows(dst.M, rows, func(w *workspace, i0, i1 int) error {
			n := i1 - i0
			x, err := w.floats(n * len(to))
			if err != nil {
				return err
			}
			for k, j := range from {
				if part := x[k*n : (k+1)*n]; src.Type == kernels.Float32 {
					rounded(part, columnOf[float32](src, j)[i0:i1])
				} else {
					copy(part, column(src, j)[i0:i1])
				}
			}
			for k, j := range to {
				if part := x[k*n : (k+1)*n]; dst.Type == kernels.Float32 {
					rounded(columnOf[float32](dst, j)[i0:i1], part)
				} else {
					copy(column(dst, j)[i0:i1], part)
				}
			}
			return nil
		})
	}
	return named("MoveColumns", err)
}
