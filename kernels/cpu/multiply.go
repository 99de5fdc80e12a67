package cpu

// #include "kernels.h"
//
// static void multiply(const struct jmpi_kernels *s, struct jmpi_pivot g, const void *t, int64_t ldt,
//		const double *rows, const double *columns, void *work)
// {
//	s->multiply(g, t, ldt, rows, columns, work);
// }
// static int64_t multiply_work(const struct jmpi_kernels *s, int64_t k) { return s->multiply_work(k); }
import "C"

import (
	"slices"
	"unsafe"

	"jmpi/kernels"
)

// multiplyRows is the number of rows that one task multiplies where there are few problems; the result does
// not depend on it. largeRows is that of a task that goes to OpenBLAS.
const (
	multiplyRows = 3 * C.JMPI_MULTIPLY_ROWS
	largeRows    = 256
)

func (d *device) Multiply(b *kernels.Batch) error {
	err := b.Check(kernels.Needs{G: true, V: b.V != nil, R: true, T: true, Tally: true})
	if err == nil {
		tasks := d.multiplyTasks(b)
		err = d.each(len(tasks), func(w *workspace, i int) error { return tasks[i](w) })
		if b.Single != nil {
			replaceNorms(b)
			d.replaceGrams(b)
		}
	}
	return named("Multiply", err)
}

// multiplyTasks cuts the products of a batch into independent pieces: rows of one pivot.
func (d *device) multiplyTasks(b *kernels.Batch) []func(*workspace) error {
	var tasks []func(*workspace) error
	for kind, pivots := range [][]kernels.Pivot{b.G, b.V} {
		for i, g := range pivots {
			if b.Tally[i].Changed == 0 {
				continue
			}
			var null []int
			if kind == 0 {
				null = zeroColumns(b.R[i])
			}
			p := product{t: b.T[i]}
			if kind == 1 && b.Single != nil && !b.Single.Scaled {
				p.weigh(b.Single, i)
			}
			rows, do := max(g.P.M, 1), d.multiply
			if d.threads > 1 && len(b.G) < 2*d.threads {
				rows = multiplyRows
			}
			if g.Order() > maxOrder {
				rows, do = largeRows, largeMultiply
			}
			for row := 0; row < g.P.M; row += rows {
				last := min(row+rows, g.P.M)
				piece := kernels.Pivot{P: g.P.Rows(row, last), Q: g.Q.Rows(row, last)}
				tasks = append(tasks, func(w *workspace) error {
					err := do(w, piece, p)
					for _, j := range null {
						clearColumn(piece, j)
					}
					return err
				})
			}
		}
	}
	return tasks
}

// product is the matrix that a pivot is multiplied by: t, or t_ij·rows[i]·columns[j].
type product struct {
	t             kernels.Panel
	rows, columns []float64
}

// weigh makes D⁻¹·T·D' of T. A column that is zero has been left alone. One whose norm has fallen below the
// range has some norm.
func (p *product) weigh(x *kernels.Single, i int) {
	before := append(slices.Clone(column(x.Norms[i].P, 0)), column(x.Norms[i].Q, 0)...)
	p.rows, p.columns = before, slices.Clone(column(x.Factors[i], 0))
	for j, d := range before {
		if d == 0 {
			p.rows[j], p.columns[j] = 1, 1
			continue
		}
		p.rows[j], p.columns[j] = 1/d, max(p.columns[j], 0x1p-1022)
	}
}

// replaceNorms sets the norms of the problems that were changed to those of the factors.
func replaceNorms(b *kernels.Batch) {
	for i, n := range b.Single.Norms {
		if f := column(b.Single.Factors[i], 0); b.Tally[i].Changed != 0 {
			copy(column(n.Q, 0), f[copy(column(n.P, 0), f):])
		}
	}
}

// replaceGrams sets the products of columns of the problems that were changed to those of the columns of R·T.
func (d *device) replaceGrams(b *kernels.Batch) {
	for i, known := range b.Grams {
		if np := b.G[i].P.N; b.Tally[i].Changed != 0 && b.G[i].Order() <= maxOrder {
			d.gramOf(b.R[i].Columns(0, np), known.P)
			d.gramOf(b.R[i].Columns(np, b.R[i].N), known.Q)
		}
	}
}

// zeroColumns returns the indices of the columns of r that are zero.
func zeroColumns(r kernels.Panel) (zero []int) {
	for j := range r.N {
		if c := r.Columns(j, j+1); r.Type == kernels.Float32 && isZero[float32](c) || r.Type == kernels.Float64 &&
			isZero[float64](c) {
			zero = append(zero, j)
		}
	}
	return zero
}

func isZero[T real](c kernels.Panel) bool {
	return !slices.ContainsFunc(columnOf[T](c, 0), func(x T) bool { return x != 0 })
}

func clearColumn(g kernels.Pivot, j int) {
	if g.P.Type == kernels.Float32 {
		clear(pivotColumn[float32](g, j))
	} else {
		clear(pivotColumn[float64](g, j))
	}
}

func (d *device) multiply(w *workspace, g kernels.Pivot, p product) error {
	e := p.t.Type
	work, err := scratchOf[byte](w, int(C.multiply_work(d.kernels[e], C.int64_t(p.t.N)))*e.Bytes())
	if err != nil {
		return err
	}
	C.multiply(d.kernels[e], cPivot(g), pointer(p.t.Data), C.int64_t(p.t.Ld),
		(*C.double)(unsafe.SliceData(p.rows)), (*C.double)(unsafe.SliceData(p.columns)), scratch(work))
	return nil
}

// largeMultiply does [P Q] ← [P Q]·T through OpenBLAS.
func largeMultiply(w *workspace, g kernels.Pivot, p product) error {
	if p.t.Type == kernels.Float32 {
		return largeProduct[float32](w, g, p)
	}
	return largeProduct[float64](w, g, p)
}

func largeProduct[T real](w *workspace, g kernels.Pivot, p product) error {
	m, k := g.P.M, p.t.N
	room := m * k
	if p.rows != nil {
		room += k * k
	}
	a, err := scratchOf[T](w, room)
	if err != nil {
		return err
	}
	for j := range k {
		copy(a[j*m:], pivotColumn[T](g, j))
	}
	t := p.t
	if p.rows != nil {
		t.Ld, t.Data = k, address(a[m*k:])
		for j := range k {
			c := columnOf[T](t, j)
			for i, x := range columnOf[T](p.t, j) {
				if c[i] = x; x != 0 {
					c[i] = T(float64(x) * (p.rows[i] * p.columns[j]))
				}
			}
		}
	}
	all := kernels.Panel{M: m, N: k, Ld: m, Data: address(a), Type: t.Type}
	gemm(kernels.Gemm{Alpha: 1, A: all, B: t.Columns(0, g.P.N), C: g.P})
	gemm(kernels.Gemm{Alpha: 1, A: all, B: t.Columns(g.P.N, k), C: g.Q})
	return nil
}
