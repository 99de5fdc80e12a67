package gen

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// gradedCols is B·D: the singular values are determined by the data to high relative accuracy,
// however large cond is, because those of B are close together.
func gradedCols(o Options) (*Matrix, error) {
	d := grading(o, "graded-cols D", o.Cols)
	return &Matrix{Rows: o.Rows, Cols: o.Cols, column: func(j int, dst []float64) {
		unitColumn(o.Seed, "graded-cols", j, dst)
		floats.Scale(d[j], dst)
	}}, nil
}

// gradedRows is D·B.
func gradedRows(o Options) (*Matrix, error) {
	d := grading(o, "graded-rows D", o.Rows)
	scale := 1 / math.Sqrt(float64(o.Cols))
	return &Matrix{Rows: o.Rows, Cols: o.Cols, column: func(j int, dst []float64) {
		r := stream(o.Seed, "graded-rows", j)
		for i := range dst {
			dst[i] = r.NormFloat64() * scale * d[i]
		}
	}}, nil
}

// gradedBoth is D₁·B·D₂, each grading from 1 to 1/cond.
func gradedBoth(o Options) (*Matrix, error) {
	rows := grading(o, "graded-both D1", o.Rows)
	cols := grading(o, "graded-both D2", o.Cols)
	return &Matrix{Rows: o.Rows, Cols: o.Cols, column: func(j int, dst []float64) {
		unitColumn(o.Seed, "graded-both", j, dst)
		floats.Scale(cols[j], dst)
		floats.Mul(dst, rows)
	}}, nil
}

// grading returns n numbers from 1 to 1/cond in geometric progression, in random order unless
// they are to be sorted.
func grading(o Options, purpose string, n int64) []float64 {
	d := progression(n, o.Cond)
	if !o.Sorted {
		stream(o.Seed, purpose, 0).Shuffle(len(d), func(i, j int) { d[i], d[j] = d[j], d[i] })
	}
	return d
}

// progression returns n numbers from 1 to 1/cond in geometric progression.
func progression(n int64, cond float64) []float64 {
	d := make([]float64, n)
	for i := range d {
		d[i] = math.Pow(cond, -float64(i)/float64(max(n-1, 1)))
	}
	return d
}

// unitColumn writes a random direction to dst.
func unitColumn(seed uint64, purpose string, j int, dst []float64) {
	r := stream(seed, purpose, j)
	for i := range dst {
		dst[i] = r.NormFloat64()
	}
	if norm := floats.Norm(dst, 2); norm > 0 {
		floats.Scale(1/norm, dst)
	}
}
