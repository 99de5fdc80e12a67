package cpu

// #include "kernels.h"
//
// static void multiply(const struct jmpi_kernels *s, struct jmpi_pivot g, const double *t, int64_t ldt,
//		double *work)
// {
//	s->multiply(g, t, ldt, work);
// }
import "C"

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas"

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
	}
	if err != nil {
		return fmt.Errorf("cpu: Multiply: %w", err)
	}
	return nil
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
					err := do(w, piece, b.T[i])
					for _, j := range null {
						clear(pivotColumn(piece, j))
					}
					return err
				})
			}
		}
	}
	return tasks
}

// zeroColumns returns the indices of the columns of r that are zero.
func zeroColumns(r kernels.Panel) (zero []int) {
	for j := range r.N {
		if !slices.ContainsFunc(column(r, j), func(x float64) bool { return x != 0 }) {
			zero = append(zero, j)
		}
	}
	return zero
}

func (d *device) multiply(w *workspace, g kernels.Pivot, t kernels.Panel) error {
	k := t.N
	work, err := w.floats(k * (k + lanes + C.JMPI_MULTIPLY_ROWS))
	if err != nil {
		return err
	}
	C.multiply(d.kernels, cPivot(g), doubles(t.Data), C.int64_t(t.Ld), scratch(work))
	return nil
}

// largeMultiply does [P Q] ← [P Q]·T through OpenBLAS; row-major, [P Q]ᵀ ← Tᵀ·[P Q]ᵀ.
func largeMultiply(w *workspace, g kernels.Pivot, t kernels.Panel) error {
	m, k := g.P.M, t.N
	a, err := w.floats(m * k)
	if err != nil {
		return err
	}
	for j := range k {
		copy(a[j*m:], pivotColumn(g, j))
	}
	for _, c := range []struct{ t, dst kernels.Panel }{{t.Columns(0, g.P.N), g.P}, {t.Columns(g.P.N, k), g.Q}} {
		if c.dst.N > 0 {
			openblas.Dgemm(blas.NoTrans, blas.NoTrans, c.dst.N, m, k, 1, elements(c.t), t.Ld, a, m, 0, elements(c.dst),
				c.dst.Ld)
		}
	}
	return nil
}
