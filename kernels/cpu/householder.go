package cpu

import (
	"slices"

	"jmpi/internal/dense"
	"jmpi/kernels"
)

func (d *device) FactorPanel(a kernels.Panel, q kernels.Reflectors, r kernels.Panel) error {
	if err := kernels.CheckFactorPanel(a, q, r); err != nil {
		return named("FactorPanel", err)
	}
	p := dense.Factor(a.M, q.Y.N, packed(a.Columns(0, q.Y.N)))
	unpack(q.Y, p.Y)
	unpack(q.T, p.T)
	unpack(r, p.R)
	return nil
}

func (d *device) FactorPivoted(a kernels.Panel, q kernels.Reflectors,
	o kernels.PanelOptions) (r kernels.PanelResult, err error) {
	if err := kernels.CheckFactorPivoted(a, q, o); err != nil {
		return r, named("FactorPivoted", err)
	}
	var noise dense.Noise
	var drop kernels.Dropping
	if o.Noise != nil {
		drop, noise.Columns = o.Drop, slices.Clone(o.Noise.Columns)
		for _, rows := range o.Noise.Rows {
			noise.Rows = append(noise.Rows, slices.Clone(rows))
		}
	}
	p := dense.FactorPivoted(a.M, a.N, packed(a), o.Bound, noise, drop)
	unpack(q.Y.Columns(0, p.Count), p.Y)
	unpack(q.T.Columns(0, p.Count).Rows(0, p.Count), p.T)
	r = kernels.PanelResult{Count: p.Count, Rank: p.Rank, Pivots: p.Pivots, R: p.R, Noisy: p.Noisy,
		Rows: noise.Rows, Columns: p.Noise, From: make([][]float64, len(noise.Rows))}
	for j := range p.Count {
		r.Tau = append(r.Tau, p.T[j+j*p.Count])
	}
	for b := range r.From {
		for _, from := range p.From {
			r.From[b] = append(r.From[b], from[b])
		}
	}
	return r, nil
}

func (d *device) Reflect(q kernels.Reflectors, transposed bool, c []kernels.Panel) error {
	err := q.Check(c)
	if err == nil {
		m, r, y, t := q.Y.M, q.Y.N, elements(q.Y), elements(q.T)
		err = d.eachPiece(c, tiled, func(i, j0, j1 int) {
			x := c[i].Columns(j0, j1)
			dense.Reflect(transposed, m, r, y, q.Y.Ld, t, q.T.Ld, x.N, elements(x), x.Ld)
		})
	}
	return named("Reflect", err)
}

// packed returns a copy of the panel without padding.
func packed(p kernels.Panel) []float64 {
	x := make([]float64, 0, p.M*p.N)
	for j := range p.N {
		x = append(x, column(p, j)...)
	}
	return x
}

// unpack writes a matrix without padding to the panel.
func unpack(p kernels.Panel, x []float64) {
	for j := range p.N {
		copy(column(p, j), x[j*p.M:(j+1)*p.M])
	}
}
