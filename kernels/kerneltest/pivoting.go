package kerneltest

import (
	"math"

	"jmpi/kernels"
)

// pivoting is the factorization of a panel with pivots in plain Go, column by column, as kernels.Dense
// describes it.
type pivoting struct {
	panelOptions
	x       matrix // what is left; the rows of R above
	order   []int  // columns of the panel, as they stand in x
	zeroed  map[int]bool
	rows    [][]float64 // noise
	samples [][]float64 // of column j of the panel
	result  panelResult
	sure    int // how many columns were taken before the first that is noise
}

// factorized factors a.
func factorized(a matrix, o panelOptions) *pivoting {
	f := &pivoting{panelOptions: o, x: a.clone(), zeroed: map[int]bool{}, sure: -1}
	for j := range a.n {
		f.order = append(f.order, j)
	}
	if o.errors != nil {
		for _, rows := range o.errors.rows {
			f.rows = append(f.rows, append([]float64(nil), rows...))
		}
		width := (len(f.rows) + 1) * kernels.Samples
		for j := range a.n {
			f.samples = append(f.samples, append([]float64(nil), o.errors.columns[j*width:(j+1)*width]...))
		}
	}
	f.result.rows, f.result.From = f.rows, make([][]float64, len(f.rows))
	f.addFrom(0)
	for j := 0; j < min(a.m, a.n) && f.choose(j); j++ {
		f.step(j)
		f.addFrom(j + 1)
	}
	if f.sure < 0 {
		f.sure = f.result.Count
	}
	return f
}

func (f *pivoting) addFrom(j int) {
	for b, rows := range f.rows {
		f.result.From[b] = append(f.result.From[b], kernels.Norm2(rows[j:]))
	}
}

// choose brings the next pivot to column j, if there is one.
func (f *pivoting) choose(j int) bool {
	for {
		best, longest := -1, -1.0
		for c := j; c < f.x.n; c++ {
			if f.covered(c, j) {
				f.zero(c, j)
			}
			if length := kernels.Norm2(f.x.column(c)[j:]); length > longest {
				best, longest = c, length
			}
		}
		if longest < kernels.NegligibleLength || j > 0 && longest < kernels.PanelThreshold*f.Bound {
			return false
		}
		switch {
		case f.errors == nil || longest > f.noise(best, j):
			f.result.Rank++
		case longest <= f.Drop.Longest:
			f.zero(best, j)
			continue
		case j > 0 && !f.Drop.Retain:
			return false
		case f.sure < 0:
			f.sure = j
		}
		for i := range f.x.m {
			x := f.x.at(i, j)
			f.x.set(i, j, f.x.at(i, best))
			f.x.set(i, best, x)
		}
		f.order[j], f.order[best] = f.order[best], f.order[j]
		return true
	}
}

// parts returns the samples of column c for each bound, and the last ones.
func (f *pivoting) parts(c int) (bounds [][]float64, last []float64) {
	s := f.samples[f.order[c]]
	for range f.rows {
		bounds, s = append(bounds, s[:kernels.Samples]), s[kernels.Samples:]
	}
	return bounds, s
}

// noise returns the noise of column c from row j on.
func (f *pivoting) noise(c, j int) float64 {
	bounds, last := f.parts(c)
	least := kernels.Norm2(last)
	for b, s := range bounds {
		least = math.Min(least, f.result.From[b][j]*kernels.Norm2(s))
	}
	return least
}

// covered tells whether column c becomes zero at once.
func (f *pivoting) covered(c, j int) bool {
	if f.errors == nil || f.Drop.Reach <= 0 || f.zeroed[f.order[c]] {
		return false
	}
	x, noise := f.x.column(c)[j:], f.noise(c, j)
	if noise < f.Drop.Reach || kernels.Norm2(x) > noise {
		return false
	}
	bounds, _ := f.parts(c)
	for b, s := range bounds {
		for l, e := range x {
			if math.Abs(e) > f.rows[b][j+l]*kernels.Norm2(s) {
				return false
			}
		}
	}
	return true
}

func (f *pivoting) zero(c, j int) {
	f.zeroed[f.order[c]] = true
	f.result.Noisy = append(f.result.Noisy, [2]int{f.order[c], j})
	clear(f.x.column(c)[j:])
}

// step makes the reflector of column j and applies it.
func (f *pivoting) step(j int) {
	v := append([]float64(nil), f.x.column(j)[j:]...)
	beta, tau := v[0], 0.0
	if kernels.Norm2(v[1:]) > 0 {
		beta = -math.Copysign(kernels.Norm2(v), v[0])
		tau = (beta - v[0]) / beta
		for i := range v[1:] {
			v[1+i] /= v[0] - beta
		}
	}
	v[0] = 1
	for c := j; c < f.x.n; c++ {
		x := f.x.column(c)[j:]
		w := tau * dot(v, x)
		for i := range x {
			x[i] -= w * v[i]
		}
	}
	clear(f.x.column(j)[j+1:])
	f.x.set(j, j, beta)
	r := &f.result
	r.Count, r.Pivots, r.Tau = j+1, append(r.Pivots, f.order[j]), append(r.Tau, tau)
	if f.errors == nil {
		return
	}
	r.Columns = append(r.Columns, f.samples[f.order[j]]...)
	for c := j + 1; c < f.x.n; c++ {
		for i, e := range f.samples[f.order[j]] {
			f.samples[f.order[c]][i] -= f.x.at(j, c) / beta * e
		}
	}
	for _, rows := range f.rows {
		mix(rows[j:], v, tau)
	}
}

// mix makes the sizes of the rows those after a reflector.
func mix(rows, v []float64, tau float64) {
	below := make([]float64, len(v)+1) // lengths of v_i·r_i for i ≥ l
	for l := len(v) - 1; l >= 0; l-- {
		below[l] = math.Hypot(v[l]*rows[l], below[l+1])
	}
	above := 0.0
	for l, r := range rows {
		rows[l] = math.Hypot((1-tau*v[l]*v[l])*r, tau*v[l]*math.Hypot(above, below[l+1]))
		above = math.Hypot(above, v[l]*r)
	}
}
