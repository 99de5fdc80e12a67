package rivals

import "fmt"

// distributed is an m×n matrix that is dealt out to a grid in blocks, cyclically in both directions: the
// block (I, J) is on the rank at row I mod rows and column J mod cols of the grid.
type distributed struct {
	g           *grid
	m, n, block int
	desc        []int32   // ScaLAPACK's descriptor
	local       []float64 // this rank's blocks, column-major
	ld          int       // rows of local, at least 1
}

// matrix returns the zero m×n matrix in blocks of the given order.
func (g *grid) matrix(m, n, block int) (*distributed, error) {
	return g.describe(m, n, block, block)
}

// describe returns the zero m×n matrix in mb×nb blocks.
func (g *grid) describe(m, n, mb, nb int) (*distributed, error) {
	d := &distributed{g: g, m: m, n: n, block: nb, desc: make([]int32, 9)}
	rows := call(g.s.numroc, num(int32(m)), num(int32(mb)), num(g.row), num(0), num(g.rows))
	cols := call(g.s.numroc, num(int32(n)), num(int32(nb)), num(g.col), num(0), num(g.cols))
	d.ld = max(int(rows), 1)
	d.local = make([]float64, d.ld*max(int(cols), 1))
	var info int32
	call(g.s.descInit, ints(d.desc), num(int32(m)), num(int32(n)), num(int32(mb)), num(int32(nb)),
		num(0), num(0), num(g.context), num(int32(d.ld)), numTo(&info))
	if info != 0 {
		return nil, fmt.Errorf("descinit of a %d×%d matrix in %d×%d blocks: INFO = %d", m, n, mb, nb, info)
	}
	return d, nil
}

// fill sets this rank's part from the columns of the whole matrix.
func (d *distributed) fill(columns func(j0, j1 int, dst []float64, ld int)) {
	whole := make([]float64, d.m*min(d.block, d.n))
	rowStride, colStride := d.block*int(d.g.rows), d.block*int(d.g.cols)
	to := 0 // local column
	for j0 := int(d.g.col) * d.block; j0 < d.n; j0 += colStride {
		j1 := min(j0+d.block, d.n)
		columns(j0, j1, whole, d.m)
		for j := range j1 - j0 {
			from, local := whole[j*d.m:][:d.m], d.local[to*d.ld:][:d.ld]
			for i0 := int(d.g.row) * d.block; i0 < d.m; i0 += rowStride {
				local = local[copy(local, from[i0:min(i0+d.block, d.m)]):]
			}
			to++
		}
	}
}

// gather returns the whole matrix on rank 0 and nil on the others. Collective.
func (d *distributed) gather() ([]float64, error) {
	whole, err := d.g.describe(d.m, d.n, d.m, d.n)
	if err != nil {
		return nil, err
	}
	call(d.g.s.redistribute, num(int32(d.m)), num(int32(d.n)), floats(d.local), num(1), num(1), ints(d.desc),
		floats(whole.local), num(1), num(1), ints(whole.desc), num(d.g.context))
	if d.g.row != 0 || d.g.col != 0 {
		return nil, nil
	}
	return whole.local, nil
}
