package gen

import "jmpi/internal/dd"

func geometric(o Options) (*Matrix, error) {
	return prescribed(o, "geometric", progression(min(o.Rows, o.Cols), o.Cond)), nil
}

func arithmetic(o Options) (*Matrix, error) {
	sigma := make([]float64, min(o.Rows, o.Cols))
	for i := range sigma {
		t := float64(i) / float64(max(len(sigma)-1, 1))
		sigma[i] = (1 - t) + t/o.Cond
	}
	return prescribed(o, "arithmetic", sigma), nil
}

// prescribed is U·Σ·Vᵀ with random orthogonal U and V, formed in double-double and rounded.
func prescribed(o Options, purpose string, sigma []float64) *Matrix {
	u := newWalk(o.Seed, purpose+" U", int(o.Rows))
	v := newWalk(o.Seed, purpose+" V", int(o.Cols))
	a := &Matrix{Rows: o.Rows, Cols: o.Cols}
	a.column = func(j int, dst []float64) {
		x := make([]dd.Float, max(o.Rows, o.Cols))
		x[j] = dd.From(1)
		v.apply(x[:o.Cols]) // column j of Vᵀ
		for i, s := range sigma {
			x[i] = x[i].Scale(s)
		}
		clear(x[len(sigma):])
		u.apply(x[:o.Rows])
		for i := range dst {
			dst[i] = x[i].Float64()
		}
	}
	if known(sigma) {
		a.Sigma = sigma
	}
	return a
}
