package measure

import (
	"math"
	"slices"

	"jmpi/dist/matrix"
	"jmpi/internal/dense"
	"jmpi/internal/rates"
	"jmpi/kernels"
)

// Blocks returns how many columns a block of a matrix of n columns has on such devices, and how many pass by
// at a time in a product.
func Blocks(l kernels.Limits, n int) (tile, passing int) {
	l.Tile = matrix.Tile(l, n)
	return l.Tile, matrix.PassColumns(l)
}

// dense measures what is done to whole matrices of order n.
func (m *measurer) dense(n int) error {
	x, err := m.random(n, n)
	if err != nil {
		return err
	}
	defer x.Free()
	f := float64(n)
	square, product, factor := kernels.WordBytes*f*f, 2*f*f*f, rates.FactorWork(f, f)
	q, err := m.factors(x, factor)
	if err != nil {
		return err
	}
	defer q.Free()
	v, err := q.Form(0, n)
	if err != nil {
		return err
	}
	defer func() { v.Free() }()
	order := matrix.Natural(n)
	slices.Reverse(order)
	ones := slices.Repeat([]float64{1}, n)
	vectors := matrix.RandomNormal(n, 4, 1, 0)
	h, err := matrix.Gram(v)
	if err != nil {
		return err
	}
	defer h.Free()
	for _, step := range []struct {
		what string
		work float64
		do   func() error
	}{
		{rates.Form, factor, made(func() (*matrix.Matrix, error) { return q.Form(0, n) })},
		{rates.Apply, product, func() error { return q.Apply(v) }},
		{rates.Product, product, made(func() (*matrix.Matrix, error) { return matrix.Product(x, v, false) })},
		{rates.Rough, product, func() error {
			w, err := x.New(n, n)
			if err == nil {
				_, err = matrix.AddProduct(w, x, v, 1, math.Inf(1))
			}
			w.Free()
			return err
		}},
		{rates.Gram, product / 2, made(func() (*matrix.Matrix, error) { return matrix.Gram(x) })},
		{rates.Correct, product, func() error { _, _, _, err := matrix.Correct(v, 0.25, 1, 0); return err }},
		{rates.Measure, square, func() error {
			if _, err := matrix.Measure(x); err != nil {
				return err
			}
			_, err := matrix.Parallelism(x)
			return err
		}},
		{rates.Transpose, square, made(func() (*matrix.Matrix, error) { return x.Transpose(nil, n) })},
		{rates.Select, square, made(func() (*matrix.Matrix, error) { return matrix.Select(x, order) })},
		{rates.Angles, square, func() error {
			_, _, err := h.Angles(ones, kernels.AngleOptions{Tolerance: 1e-14, Limits: []float64{2e-3}})
			return err
		}},
		{rates.Norms, square, func() error {
			if _, err := v.Norms(); err != nil {
				return err
			}
			return v.Divide(nil, ones)
		}},
		{rates.Add, square, func() error { return x.Add(v) }},
		{rates.Times, square, func() error { _, err := v.Times(true, vectors, 4); return err }},
		{rates.Combine, square, func() error { _, err := v.Times(false, vectors, 4); return err }},
	} {
		if err := m.timed(step.what, step.work, step.do); err != nil {
			return err
		}
	}
	return nil
}

// made is a step that makes a matrix, which is given up.
func made(f func() (*matrix.Matrix, error)) func() error {
	return func() error {
		x, err := f()
		x.Free()
		return err
	}
}

// factors measures QR factorizations of a matrix, and returns one.
func (m *measurer) factors(x *matrix.Matrix, work float64) (*matrix.Orthogonal, error) {
	var q *matrix.Orthogonal
	err := m.timed(rates.Factor, work, func() error {
		q.Free()
		r, err := x.Clone()
		if err != nil {
			return err
		}
		defer r.Free()
		q, err = matrix.Factor(r)
		return err
	})
	if err != nil {
		return q, err
	}
	columns, err := x.Norms()
	if err != nil {
		return q, err
	}
	return q, m.timed(rates.Pivoted, work, func() error {
		r, err := x.Clone()
		if err != nil {
			return err
		}
		defer r.Free()
		even := slices.Repeat([]float64{1 / math.Sqrt(float64(r.M))}, r.M)
		bound := dense.Bound{Rows: even, Columns: columns}
		noise := dense.NewNoise(4*math.Sqrt(float64(r.N))*kernels.Epsilon, columns, bound, bound)
		p, _, _, _, err := matrix.FactorPivoted(r, noise, false)
		p.Free()
		return err
	})
}
