package matrix

import (
	"math"
	"slices"

	"jmpi/dist/comm"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// noise is what a factorization knows of its rounding errors (dense.Noise). The samples of the columns lie on
// the devices, and move with the columns.
type noise struct {
	of   *moving
	rows [][]float64 // the errors of the rows, for each bound; empty: none are followed
	// for each number of rows of R that are done so far: how long the errors of what is left are, of a
	// column whose noise is 1
	errors [][]float64
}

// follow begins to follow the noise of a matrix, if there is some.
func (n *noise) follow(of *moving, start dense.Noise) error {
	n.of, n.rows = of, start.Rows
	if start.None() {
		return nil
	}
	n.errors = make([][]float64, of.M+1)
	n.errors[0] = start.From(0)
	of.samples = make([]kernels.Panel, len(of.own))
	return of.each(func(i int, dev *device) (err error) {
		columns, width := of.columns(i), start.Width()
		if of.samples[i], err = dev.panel(width, len(columns)); err != nil {
			return err
		}
		var host []float64
		for _, j := range columns {
			host = append(host, start.Column(j)...)
		}
		return dev.Write(of.samples[i], host, width)
	})
}

// following tells whether noise is followed.
func (n *noise) following() bool { return len(n.rows) > 0 }

// width is the number of samples of a column.
func (n *noise) width() int { return (len(n.rows) + 1) * kernels.Samples }

// noiseOf returns the noise of what is left of some columns, nil where none is followed. It is collective.
func (n *noise) noiseOf(columns []int) (*kernels.PanelNoise, error) {
	if !n.following() {
		return nil, nil
	}
	samples, err := n.samplesOf(columns)
	if err != nil {
		return nil, err
	}
	panel := &kernels.PanelNoise{Columns: samples}
	for _, rows := range n.rows {
		panel.Rows = append(panel.Rows, slices.Clone(rows[n.of.done:]))
	}
	return panel, nil
}

// samplesOf gives every rank the samples of some columns, one after the other. It is collective.
func (n *noise) samplesOf(columns []int) ([]float64, error) {
	own := make([][]float64, len(n.of.own))
	err := n.of.each(func(i int, dev *device) error {
		var at []int
		for _, j := range columns {
			if id, _ := n.of.home(j); id == n.of.first+i {
				at = append(at, n.of.at(j))
			}
		}
		if len(at) == 0 {
			return nil
		}
		p, err := n.of.factor[i].need(dev, n.width(), len(at))
		if err != nil {
			return err
		}
		if err := dev.MoveColumns(p, Natural(len(at)), n.of.samples[i], at); err != nil {
			return err
		}
		own[i] = make([]float64, n.width()*len(at))
		return dev.Read(own[i], n.width(), p)
	})
	if err != nil {
		return nil, err
	}
	all, err := comm.Gather(n.of.Comm, slices.Concat(own...))
	if err != nil {
		return nil, err
	}
	parts := make([][]float64, len(n.of.ranks)) // of each device
	for id, rank := range n.of.ranks {
		count := 0
		for _, j := range columns {
			if home, _ := n.of.home(j); home == id {
				count += n.width()
			}
		}
		parts[id], all[rank] = all[rank][:count], all[rank][count:]
	}
	samples := make([]float64, 0, n.width()*len(columns))
	for _, j := range columns {
		id, _ := n.of.home(j)
		samples = append(samples, parts[id][:n.width()]...)
		parts[id] = parts[id][n.width():]
	}
	return samples, nil
}

// measure returns the lengths of what is left of the columns, and of the noise in it where noise is followed;
// 0 for columns that are done. It is collective.
func (n *noise) measure() (lengths, noise []float64, err error) {
	columns := func(i int) []kernels.Panel { return n.of.live(i, n.of.done, n.of.M) }
	lists := []func(i int) []kernels.Panel{columns}
	if n.following() {
		for b := range len(n.rows) + 1 { // the samples for each bound, and those by the norm
			lists = append(lists, func(i int) []kernels.Panel {
				return n.liveSamples(i, b*kernels.Samples, (b+1)*kernels.Samples)
			})
		}
	}
	all, err := n.of.lengths(lists...)
	switch {
	case err != nil:
		return nil, nil, err
	case !n.following():
		return all[0], nil, nil
	}
	noise = all[1+len(n.rows)]
	for b, from := range n.errors[n.of.done] {
		for j := range noise {
			noise[j] = min(noise[j], from*all[1+b][j])
		}
	}
	return all[0], noise, nil
}

// liveSamples returns rows r0 ≤ r < r1 of the samples of the columns that are not done, of each block of this
// rank's device i.
func (n *noise) liveSamples(i, r0, r1 int) (all []kernels.Panel) {
	for b := n.of.first + i; b < n.of.blocks(); b += len(n.of.ranks) {
		if n.of.left[b] > 0 {
			j0, _ := n.of.span(b)
			_, at := n.of.home(j0)
			all = append(all, n.of.samples[i].Columns(at, at+n.of.left[b]).Rows(r0, r1))
		}
	}
	return all
}

// advance keeps the noise up to date with the reflectors of a panel, which reflect applies to what is left of
// the matrix. It returns the largest ratio of noise to what was taken.
func (n *noise) advance(p kernels.PanelResult, reflect func() error) (doubt float64, err error) {
	if !n.following() {
		return 0, reflect()
	}
	width, done := n.width(), n.of.done
	subtracted := slices.Clone(p.Columns) // of each pivot, over its diagonal element
	for i := range p.Count {
		samples := subtracted[i*width : (i+1)*width]
		beta := p.R[i+i*p.Count]
		doubt = max(doubt, dense.NoiseOf(samples, n.errors[done+i])/math.Abs(beta))
		for k := range samples {
			samples[k] /= beta
		}
		if done+i+1 < n.of.M {
			n.errors[done+i+1] = nil
			for b := range n.rows {
				n.errors[done+i+1] = append(n.errors[done+i+1], p.From[b][i+1])
			}
		}
	}
	for b := range n.rows {
		copy(n.rows[b][done:], p.Rows[b])
	}
	pivots := make([]kernels.Panel, len(n.of.own)) // brought before the reflectors are applied
	err = n.of.each(func(i int, dev *device) (err error) {
		if pivots[i], err = n.of.factor[i].need(dev, width, p.Count); err == nil {
			err = dev.Write(pivots[i], subtracted, width)
		}
		return err
	})
	if err == nil {
		err = reflect()
	}
	if err != nil {
		return doubt, err
	}
	return doubt, n.of.each(func(i int, dev *device) error {
		// One product for all columns: what is done has zeros in these rows.
		return dev.Gemm([]kernels.Gemm{{Alpha: -1, A: pivots[i], B: n.of.shares[i].Rows(done, done+p.Count),
			Beta: 1, C: n.of.samples[i]}})
	})
}
