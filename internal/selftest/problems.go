package selftest

import (
	"fmt"
	"slices"

	"jmpi/kernels"
)

// problems is the data of a batch on the host: pivots [P Q] of G and V, split after p[i] columns, factors,
// transformations and counters. Slices that are nil stand for what a primitive does not use.
type problems struct {
	g, v, r, t []matrix
	p          []int
	tally      []kernels.Tally
}

// padding is the number of rows below each matrix on the device.
const padding = 3

// memory is what was allocated on a device.
type memory struct {
	be   kernels.Backend
	held []kernels.Address
}

// free gives all of it back; err is what went wrong before.
func (m *memory) free(err error) error {
	for _, a := range m.held {
		if e := m.be.Free(a); err == nil {
			err = e
		}
	}
	m.held = nil
	return err
}

// panel allocates an m×n panel.
func (m *memory) panel(rows, cols int) (kernels.Panel, error) {
	p := kernels.Panel{M: rows, N: cols, Ld: rows + padding}
	data, err := m.be.Alloc(p.Bytes())
	if err != nil {
		return p, err
	}
	m.held = append(m.held, data)
	p.Data = data
	return p, nil
}

// upload puts a matrix on the device.
func (m *memory) upload(x matrix) (kernels.Panel, error) {
	p, err := m.panel(x.m, x.n)
	if err != nil {
		return p, err
	}
	return p, m.be.Write(p, x.a, max(x.m, 1))
}

// download reads a panel back, after all that was started.
func (m *memory) download(p kernels.Panel) (matrix, error) {
	x := zeros(p.M, p.N)
	return x, m.be.Read(x.a, max(p.M, 1), p)
}

// uploads puts matrices on the device; nil stays nil.
func (m *memory) uploads(xs []matrix) (panels []kernels.Panel, err error) {
	for _, x := range xs {
		p, err := m.upload(x)
		if err != nil {
			return nil, err
		}
		panels = append(panels, p)
	}
	return panels, nil
}

func (m *memory) downloads(panels []kernels.Panel) (xs []matrix, err error) {
	for _, p := range panels {
		x, err := m.download(p)
		if err != nil {
			return nil, err
		}
		xs = append(xs, x)
	}
	return xs, nil
}

// pivots splits panels into their left and right block-columns.
func pivots(panels []kernels.Panel, p []int) (list []kernels.Pivot) {
	for i, x := range panels {
		list = append(list, kernels.Pivot{P: x.Columns(0, p[i]), Q: x.Columns(p[i], x.N)})
	}
	return list
}

// on puts the problems on a device, runs a primitive, and returns what is there then.
func (x problems) on(be kernels.Backend, primitive func(b *kernels.Batch) error) (after problems, err error) {
	m := &memory{be: be}
	defer func() { err = m.free(err) }()
	var panels [4][]kernels.Panel
	for i, list := range [][]matrix{x.g, x.v, x.r, x.t} {
		if panels[i], err = m.uploads(list); err != nil {
			return after, err
		}
	}
	b := &kernels.Batch{G: pivots(panels[0], x.p), V: pivots(panels[1], x.p), R: panels[2], T: panels[3],
		Tally: slices.Clone(x.tally)}
	if err := primitive(b); err != nil {
		return after, err
	}
	if err := be.Sync(); err != nil {
		return after, err
	}
	after = problems{p: x.p, tally: b.Tally}
	for i, to := range []*[]matrix{&after.g, &after.v, &after.r, &after.t} {
		if *to, err = m.downloads(panels[i]); err != nil {
			return after, err
		}
	}
	return after, nil
}

// onBoth runs a primitive on the device and on the reference.
func (x problems) onBoth(device, reference kernels.Backend,
	primitive func(be kernels.Backend, b *kernels.Batch) error) (got, want problems, err error) {
	if want, err = x.on(reference, func(b *kernels.Batch) error { return primitive(reference, b) }); err != nil {
		return got, want, fmt.Errorf("reference: %w", err)
	}
	got, err = x.on(device, func(b *kernels.Batch) error { return primitive(device, b) })
	return got, want, err
}

// differingTallies counts the problems whose counters differ.
func differingTallies(got, want problems) (count int) {
	for i := range want.tally {
		g, w := got.tally[i], want.tally[i]
		g.Cosine, w.Cosine = 0, 0 // which are rounded
		if g != w {
			count++
		}
	}
	return count
}
