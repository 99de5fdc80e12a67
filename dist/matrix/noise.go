package matrix

import (
	"slices"

	"jmpi/dist/comm"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// noise is what a factorization knows of its rounding errors (dense.Noise). They lie on the devices: the
// samples of the columns move with these, and each device has the errors of the rows.
type noise struct {
	of     *moving
	bounds int             // 0: no errors are followed
	rows   []kernels.Panel // of each device of this rank: the errors of the rows, a column for each bound
	// for each number of rows of R that are done so far: how long the errors of what is left are, of a
	// column whose noise is 1
	errors [][]float64
}

// follow begins to follow the noise of a matrix, if there is some.
func (n *noise) follow(of *moving, start dense.Noise) error {
	n.of, n.bounds = of, len(start.Rows)
	if start.None() {
		return nil
	}
	n.errors = make([][]float64, of.M+1)
	n.errors[0] = start.From(0)
	n.rows, of.samples = make([]kernels.Panel, len(of.own)), make([]kernels.Panel, len(of.own))
	return of.each(func(i int, dev *device) (err error) {
		if n.rows[i], err = dev.panel(of.M, n.bounds); err != nil {
			return err
		}
		for b, rows := range start.Rows {
			if err := dev.Write(n.rows[i].Columns(b, b+1), rows, of.M); err != nil {
				return err
			}
		}
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
func (n *noise) following() bool { return n.bounds > 0 }

// width is the number of samples of a column, 0 where no errors are followed.
func (n *noise) width() int {
	if !n.following() {
		return 0
	}
	return (n.bounds + 1) * kernels.Samples
}

// free gives the memory back.
func (n *noise) free() {
	for i, p := range n.rows {
		_ = n.of.own[i].release(p.Data)
	}
}

// errorsOfRows returns the errors of the rows, of which those that are not done count.
func (n *noise) errorsOfRows() ([][]float64, error) {
	rows := make([][]float64, n.bounds)
	for b := range rows {
		rows[b] = make([]float64, n.of.M)
		if err := n.of.own[0].Read(rows[b], n.of.M, n.rows[0].Columns(b, b+1)); err != nil {
			return nil, err
		}
	}
	return rows, nil
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
	lists := []func(i int) []kernels.Panel{
		func(i int) []kernels.Panel { return n.of.live(i, n.of.done, n.of.M) }}
	if !n.following() {
		all, err := n.of.lengths(func([]float64, int) int { return 1 }, lists...)
		if err != nil {
			return nil, nil, err
		}
		return all[0], nil, nil
	}
	lists = append(lists, func(i int) []kernels.Panel { // the samples by the norm, then those for each bound
		return n.liveSamples(i, n.bounds*kernels.Samples, n.width())
	})
	for b := range n.bounds {
		lists = append(lists, func(i int) []kernels.Panel {
			return n.liveSamples(i, b*kernels.Samples, (b+1)*kernels.Samples)
		})
	}
	all, err := n.of.lengths(func(all []float64, count int) int {
		noise := all[count:][:count]
		for b, from := range n.errors[n.of.done] {
			for k, x := range all[(2+b)*count:][:count] {
				noise[k] = min(noise[k], from*x)
			}
		}
		return 2
	}, lists...)
	if err != nil {
		return nil, nil, err
	}
	return all[0], all[1], nil
}

// liveSamples returns rows r0 ≤ r < r1 of the samples of the columns that are not done, of each block of this
// rank's device i.
func (n *noise) liveSamples(i, r0, r1 int) (all []kernels.Panel) {
	for b := range n.of.blocksOf(n.of.first + i) {
		if n.of.left[b] > 0 {
			j0, _ := n.of.span(b)
			_, at := n.of.home(j0)
			all = append(all, n.of.samples[i].Columns(at, at+n.of.left[b]).Rows(r0, r1))
		}
	}
	return all
}

// subtract does to the samples of this rank's device i what a lot, whose reflectors have been applied, has
// done to the columns. ratios are those of its pivots.
func (n *noise) subtract(i int, dev *device, ratios kernels.Panel) error {
	// One product for all columns: what is done has zeros in these rows.
	return dev.Gemm([]kernels.Gemm{{Alpha: -1, A: ratios,
		B: n.of.shares[i].Rows(n.of.done, n.of.done+ratios.N), Beta: 1, C: n.of.samples[i], Of: n.of.N}})
}
