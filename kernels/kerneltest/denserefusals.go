package kerneltest

import (
	"errors"
	"strings"
	"testing"

	"jmpi/kernels"
)

// DenseRefusals tests that shapes and types that do not fit are refused with ErrShape, and that the error
// names the primitive.
func DenseRefusals(t *testing.T, b kernels.Backend) {
	panel := func(m, n int) kernels.Panel { return place(t, b, newMatrix(m, n), kernels.Float64).Panel }
	p, q, square := panel(5, 3), panel(3, 5), panel(3, 3)
	single := place(t, b, newMatrix(5, 3), kernels.Float32).Panel
	short := p
	short.Ld = 4
	negative := p
	negative.N = -1
	three, five := make([]float64, 3), make([]float64, 5)
	reflectors := kernels.Reflectors{Y: p, T: square}
	wide := panel(70, 65)
	many := kernels.Reflectors{Y: panel(70, 65), T: panel(65, 65)}
	list := func(p ...kernels.Panel) []kernels.Panel { return p }
	gemm := func(g kernels.Gemm) error { return b.Gemm([]kernels.Gemm{{A: p, B: square, C: panel(5, 3)}, g}) }
	numbers := func(_ []float64, err error) error { return err }
	anglesUpTo := func(limits int, norms []float64, first int, h ...kernels.Panel) error {
		_, err := b.Angles(h, []int{first}, norms, kernels.AngleOptions{Limits: make([]float64, limits)})
		return err
	}
	angles := func(norms []float64, first int, h ...kernels.Panel) error {
		return anglesUpTo(1, norms, first, h...)
	}
	pivoted := func(a kernels.Panel, q kernels.Reflectors, r kernels.Panel, noise *kernels.PanelNoise) error {
		_, err := b.FactorPivoted(a, q, r, kernels.PanelOptions{Noise: noise})
		return err
	}
	noise := func(rows, bounds, samples, ratios int) *kernels.PanelNoise {
		return &kernels.PanelNoise{Rows: panel(rows, bounds), Samples: panel(samples, 3), Ratios: panel(ratios, 3)}
	}
	done := func(_ int, err error) error { return err }
	for _, c := range []struct {
		name string
		err  error
	}{
		{"Convert: another shape", b.Convert(single, q)}, {"Convert: Ld below M", b.Convert(single, short)},
		{"Zero: Ld below M", b.Zero(short)}, {"Zero: −1 columns", b.Zero(negative)},
		{"Transpose: another shape", b.Transpose(list(square), list(p))},
		{"Transpose: float32", b.Transpose(list(q), list(single))},
		{"Transpose: one more", b.Transpose(list(q, q), list(p))},
		{"GatherRows: another width", b.GatherRows(panel(5, 4), p, make([]int, 5))},
		{"GatherRows: too few", b.GatherRows(p, square, make([]int, 4))},
		{"GatherRows: row 3 of 3", b.GatherRows(p, square, []int{0, 1, 2, 3, 0})},
		{"GatherRows: float32", b.GatherRows(p, single, make([]int, 5))},
		{"MoveColumns: other rows", b.MoveColumns(p, nil, q, nil)},
		{"MoveColumns: one more", b.MoveColumns(p, []int{0, 1}, p, []int{0})},
		{"MoveColumns: to column 3 of 3", b.MoveColumns(p, []int{3}, p, []int{0})},
		{"MoveColumns: from column −1", b.MoveColumns(p, []int{0}, p, []int{-1})},
		{"MoveColumns: twice", b.MoveColumns(p, []int{1, 1}, p, []int{0, 2})},
		{"Scale: rows", b.Scale(p, three, three)}, {"Scale: columns", b.Scale(p, five, five)},
		{"Scale: no columns", b.Scale(p, nil, []float64{})}, {"Scale: float32", b.Scale(single, nil, nil)},
		{"Ldexp: float32", b.Ldexp(single, 1)},
		{"Add: another shape", b.Add(p, q)}, {"Add: float32", b.Add(p, single)},
		{"Put: float32", b.Put(single, make([]float64, 1000))},
		{"Put: too few numbers", b.Put(p, nil)},
		{"Elements: float32", numbers(b.Elements(list(p, single)))},
		{"Lengths: float32", numbers(b.Lengths(list(p, single)))},
		{"Lengths: Ld", numbers(b.Lengths(list(p, short)))},
		{"RowMaxima: too many", numbers(b.RowMaxima(p, five))},
		{"RowMaxima: float32", numbers(b.RowMaxima(single, nil))},
		{"ColumnMaxima: too few", numbers(b.ColumnMaxima(p, three))},
		{"Leads: float32", numbers(b.Leads(single))},
		{"Angles: three norms for five rows", angles(three, 0, p)},
		{"Angles: columns from 1 to 4 of 3", angles(three, 1, square)},
		{"Angles: column −1", angles(three, -1, square)}, {"Angles: float32", angles(five, 0, single)},
		{"Angles: no number", angles(three, 0, square, square)},
		{"Angles: no limit", anglesUpTo(0, three, 0, square)},
		{"Angles: too many limits", anglesUpTo(kernels.MaxLimits+1, three, 0, square)},
		{"Departures: not square", b.Departures(list(square, p))},
		{"Departures: float32", b.Departures(list(single.Rows(0, 3)))},
		{"Gemm: inner", gemm(kernels.Gemm{A: p, B: panel(5, 3), C: panel(5, 3)})},
		{"Gemm: transposed", gemm(kernels.Gemm{TransA: true, A: p, B: square, C: panel(5, 3)})},
		{"Gemm: C", gemm(kernels.Gemm{A: p, B: square, C: q})},
		{"Gemm: 3 of 2 columns", gemm(kernels.Gemm{A: p, B: square, C: panel(5, 3), Of: 2})},
		{"Gemm: some columns of Bᵀ", gemm(kernels.Gemm{TransB: true, A: p, B: square, C: panel(5, 3), Of: 4})},
		{"Gemm: type of B", gemm(kernels.Gemm{TransA: true, A: p, B: single, C: square})},
		{"Gemm: type of C", gemm(kernels.Gemm{A: p, B: square, C: single})},
		{"TurnColumns: no Q", b.TurnColumns(list(p, panel(4, 3)), list(square))},
		{"TurnColumns: not square", b.TurnColumns(list(p), list(p))},
		{"TurnColumns: another order", b.TurnColumns(list(p), list(panel(4, 4)))},
		{"TurnColumns: too wide", b.TurnColumns(list(panel(5, kernels.TurnWidth+1)),
			list(panel(kernels.TurnWidth+1, kernels.TurnWidth+1)))},
		{"TurnColumns: Ld below M", b.TurnColumns(list(short), list(square))},
		{"TurnColumns: float32", b.TurnColumns(list(single), list(square))},
		{"TurnColumns: type of Q", b.TurnColumns(list(p), list(single.Rows(0, 3)))},
		{"Syrk: C", b.Syrk(list(p, p), list(square, panel(5, 5)))},
		{"Syrk: type", b.Syrk(list(single), list(square))}, {"Syrk: no C", b.Syrk(list(p), nil)},
		{"Potrf: not square", done(b.Potrf(p))}, {"Potrf: float32", done(b.Potrf(single.Rows(0, 3)))},
		{"Trsm: R", b.Trsm(list(p, q), square, false)}, {"Trsm: type", b.Trsm(list(single), square, true)},
		{"FactorPanel: too wide", b.FactorPanel(wide, many, panel(65, 65))},
		{"FactorPanel: Y", b.FactorPanel(p, kernels.Reflectors{Y: q, T: square}, square)},
		{"FactorPanel: T", b.FactorPanel(p, kernels.Reflectors{Y: p, T: panel(2, 2)}, square)},
		{"FactorPanel: R", b.FactorPanel(p, reflectors, q)},
		{"FactorPivoted: too wide", pivoted(wide.Columns(0, 33), kernels.Reflectors{Y: wide.Columns(0, 33),
			T: panel(33, 33)}, panel(33, 33), nil)},
		{"FactorPivoted: Y", pivoted(q, reflectors, square, nil)},
		{"FactorPivoted: R", pivoted(panel(5, 3), reflectors, q, nil)},
		{"FactorPivoted: rows of the noise", pivoted(panel(5, 3), reflectors, square,
			noise(3, 1, 2*kernels.Samples, 2*kernels.Samples))},
		{"FactorPivoted: samples", pivoted(panel(5, 3), reflectors, square,
			noise(5, 1, kernels.Samples, 2*kernels.Samples))},
		{"FactorPivoted: ratios", pivoted(panel(5, 3), reflectors, square,
			noise(5, 1, 2*kernels.Samples, kernels.Samples))},
		{"FactorPivoted: no bounds", pivoted(panel(5, 3), reflectors, square,
			noise(5, 0, kernels.Samples, kernels.Samples))},
		{"Join: T", b.Join(kernels.Reflectors{Y: p, T: p})},
		{"Reflect: C", b.Reflect(reflectors, false, list(panel(5, 2), q), 0)},
		{"Reflect: 4 of 3 columns", b.Reflect(reflectors, false, list(panel(5, 2), panel(5, 2)), 3)},
		{"Reflect: T", b.Reflect(kernels.Reflectors{Y: p, T: p}, false, nil, 0)},
		{"Reflect: more reflectors than rows", b.Reflect(kernels.Reflectors{Y: q, T: panel(5, 5)}, false, nil, 0)},
	} {
		primitive, _, _ := strings.Cut(c.name, ":")
		if !errors.Is(c.err, kernels.ErrShape) || !strings.Contains(c.err.Error(), primitive+": ") {
			t.Errorf("%s: %v, want an error that names the primitive and wraps ErrShape", c.name, c.err)
		}
	}
}
