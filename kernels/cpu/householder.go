package cpu

import (
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
	if r.Data == a.Data {
		for j := range r.N {
			clear(column(a, j)[r.M:])
		}
	}
	unpack(r, p.R)
	return nil
}

func (d *device) FactorPivoted(a kernels.Panel, q kernels.Reflectors, r kernels.Panel,
	o kernels.PanelOptions) (kernels.Found, error) {
	if err := kernels.CheckFactorPivoted(a, q, r, o); err != nil {
		return nil, named("FactorPivoted", err)
	}
	var noise dense.Noise
	var drop kernels.Dropping
	if o.Noise != nil {
		drop, noise.Columns = o.Drop, packed(o.Noise.Samples)
		for b := range o.Noise.Rows.N {
			noise.Rows = append(noise.Rows, column(o.Noise.Rows, b))
		}
	}
	p := dense.FactorPivoted(a.M, a.N, packed(a), o.Bound, noise, drop)
	for _, x := range []struct {
		panel kernels.Panel
		rows  int
		part  []float64
	}{{q.Y, a.M, p.Y}, {q.T, p.Count, p.T}, {r, p.Count, p.R}} {
		for j := range x.panel.N {
			clear(column(x.panel, j))
		}
		unpack(x.panel.Columns(0, p.Count).Rows(0, x.rows), x.part)
	}
	found := kernels.PanelResult{Count: p.Count, Rank: p.Rank, Pivots: p.Pivots, R: p.R, Noisy: p.Noisy,
		Columns: p.Noise, From: make([][]float64, len(noise.Rows))}
	for j := range p.Count {
		found.Tau = append(found.Tau, p.T[j+j*p.Count])
	}
	for j := 0; o.Noise != nil && j < q.Y.N; j++ {
		ratios := column(o.Noise.Ratios, j)
		if clear(ratios); j < p.Count {
			for i, x := range p.Noise[j*len(ratios):][:len(ratios)] {
				ratios[i] = x / p.R[j+j*p.Count]
			}
		}
	}
	for b := range found.From {
		for _, from := range p.From {
			found.From[b] = append(found.From[b], from[b])
		}
	}
	return func() (kernels.PanelResult, error) { return found, nil }, nil
}

func (d *device) Join(q kernels.Reflectors) error {
	err := q.Check(nil, 0)
	if err == nil {
		dense.Join(q.Y.M, q.Y.N, kernels.PanelWidth, elements(q.Y), q.Y.Ld, elements(q.T), q.T.Ld)
	}
	return named("Join", err)
}

func (d *device) Reflect(q kernels.Reflectors, transposed bool, c []kernels.Panel, of int) error {
	err := q.Check(c, of)
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
