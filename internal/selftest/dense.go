package selftest

import (
	"fmt"
	"math/rand/v2"

	"jmpi/kernels"
)

// elementsTest transposes, scales and divides, and takes rows and columns in another order.
func elementsTest(device, reference kernels.Backend) (float64, error) {
	r := rand.New(rand.NewPCG(6, 6))
	x, rows := gauss(r, 213, 67), gauss(r, 67, 1).a
	columns := r.Perm(x.m)
	var got [2]matrix
	for i, be := range []kernels.Backend{device, reference} {
		var err error
		if got[i], err = elementsOn(be, x, rows, columns); err != nil {
			return 0, err
		}
	}
	return float64(got[1].differing(got[0])), nil
}

// elementsOn does it on one device.
func elementsOn(be kernels.Backend, x matrix, rows []float64, columns []int) (_ matrix, err error) {
	m := &memory{be: be}
	defer func() { err = m.free(err) }()
	p, err := m.upload(x)
	if err != nil {
		return x, err
	}
	t, err := m.panel(x.n, x.m)
	if err != nil {
		return x, err
	}
	gathered, err := m.panel(x.n, x.m)
	if err != nil {
		return x, err
	}
	natural, reversed := make([]int, x.m), make([]int, x.n)
	for j := range natural {
		natural[j] = j
	}
	for i := range reversed {
		reversed[i] = x.n - 1 - i
	}
	for _, step := range []func() error{
		func() error { return be.Transpose([]kernels.Panel{t}, []kernels.Panel{p}) },
		func() error { return be.Scale(t, rows, nil) },
		func() error { return be.Divide(t, nil, x.column(0)) },
		func() error { return be.Ldexp(t, -3) },
		func() error { return be.GatherRows(gathered, t, reversed) },
		func() error { return be.MoveColumns(gathered, natural, gathered, columns) },
	} {
		if err := step(); err != nil {
			return x, err
		}
	}
	return m.download(gathered)
}

// gemmTest compares a product.
func gemmTest(device, reference kernels.Backend) (float64, error) {
	r := rand.New(rand.NewPCG(7, 7))
	a, b := gauss(r, 517, 70), gauss(r, 517, 45)
	var got [2]matrix
	for i, be := range []kernels.Backend{device, reference} {
		m := &memory{be: be}
		err := func() error {
			p, err := m.uploads([]matrix{a, b, zeros(a.n, b.n)})
			if err == nil {
				err = be.Gemm([]kernels.Gemm{{TransA: true, Alpha: 1, A: p[0], B: p[1], C: p[2]}})
			}
			if err == nil {
				got[i], err = m.download(p[2])
			}
			return err
		}()
		if err := m.free(err); err != nil {
			return 0, err
		}
	}
	var w worst
	x, y := a.norms(), b.norms()
	for j := range b.n {
		for i := range a.n {
			w.add(abs(got[0].a[i+j*a.n]-got[1].a[i+j*a.n]), 4*float64(a.m)*kernels.UnitRoundoff*x[i]*y[j])
		}
	}
	return float64(w), nil
}

// panelTest factors a panel with and without pivoting, and multiplies R by Q again.
func panelTest(device, reference kernels.Backend) (float64, error) {
	x := gauss(rand.New(rand.NewPCG(8, 8)), 517, 2*kernels.PivotedWidth)
	for j := range x.n {
		x.scale(j, pow10(j%7))
	}
	var w worst
	for _, pivoted := range []bool{false, true} {
		if pivoted {
			x = matrix{x.m, kernels.PivotedWidth, x.a[:x.m*kernels.PivotedWidth]}
		}
		var pivots [2][]int
		for i, be := range []kernels.Backend{device, reference} {
			back, order, err := factoredOn(be, x, pivoted)
			if err != nil {
				return 0, err
			}
			pivots[i] = order
			norms := x.norms()
			for k, j := range order {
				for l, v := range x.column(j) {
					w.add(abs(back.a[l+k*x.m]-v), 60*kernels.UnitRoundoff*norms[j])
				}
			}
		}
		if fmt.Sprint(pivots[0]) != fmt.Sprint(pivots[1]) {
			return 0, fmt.Errorf("pivots %v, want %v", pivots[0], pivots[1])
		}
	}
	return float64(w), nil
}

// factoredOn returns Q·R of the columns of x in the order in which they were taken.
func factoredOn(be kernels.Backend, x matrix, pivoted bool) (back matrix, order []int, err error) {
	m := &memory{be: be}
	defer func() { err = m.free(err) }()
	p, err := m.uploads([]matrix{x, zeros(x.m, x.n), zeros(x.n, x.n), zeros(x.n, x.n)})
	if err != nil {
		return x, nil, err
	}
	q := kernels.Reflectors{Y: p[1], T: p[2]}
	r := zeros(x.n, x.n)
	if pivoted {
		factored, err := be.FactorPivoted(p[0], q, p[3], kernels.PanelOptions{})
		if err != nil {
			return x, nil, err
		}
		found, err := factored()
		if err != nil {
			return x, nil, err
		}
		if found.Count != x.n {
			return x, nil, fmt.Errorf("%d of %d columns were taken", found.Count, x.n)
		}
		r.a, order = found.R, found.Pivots
	} else {
		if err := be.FactorPanel(p[0], q, p[3]); err != nil {
			return x, nil, err
		}
		if r, err = m.download(p[3]); err != nil {
			return x, nil, err
		}
		for j := range x.n {
			order = append(order, j)
		}
	}
	tall := zeros(x.m, x.n)
	for j := range x.n {
		copy(tall.column(j), r.column(j))
	}
	c, err := m.upload(tall)
	if err == nil {
		err = be.Reflect(q, false, []kernels.Panel{c}, 0)
	}
	if err != nil {
		return x, nil, err
	}
	back, err = m.download(c)
	return back, order, err
}
