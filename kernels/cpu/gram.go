package cpu

// #include "kernels.h"
//
// static void gram(const struct jmpi_kernels *s, struct jmpi_pivot g, void *h, int64_t ldh,
//		int64_t i1, int64_t j0, int64_t j1)
// {
//	s->gram(g, h, ldh, i1, j0, j1);
// }
import "C"

import (
	"fmt"

	"jmpi/kernels"
)

// gramColumns is the number of columns of a Gram matrix that one task forms where there are few problems.
// The result does not depend on it.
const gramColumns = 32

func (d *device) Gram(b *kernels.Batch) error {
	err := b.Check(kernels.Needs{G: true, R: true})
	if err == nil {
		tasks := d.gramTasks(b)
		err = d.each(len(tasks), func(_ *workspace, i int) error { tasks[i](); return nil })
		if b.Single != nil {
			for i, x := range b.Single.Norms {
				f := column(b.Single.Factors[i], 0)
				copy(f[copy(f, column(x.P, 0)):], column(x.Q, 0))
			}
		}
	}
	if err != nil {
		return fmt.Errorf("cpu: Gram: %w", err)
	}
	return nil
}

// gramTasks cuts the Gram matrices of a batch into independent pieces.
func (d *device) gramTasks(b *kernels.Batch) []func() {
	var tasks []func()
	for i, g := range b.G {
		h, k := b.R[i], b.G[i].Order()
		if k > maxOrder {
			tasks = append(tasks, largeGram(g, h)...)
			continue
		}
		columns := k
		if d.threads > 1 && len(b.G) < 2*d.threads {
			columns = gramColumns
		}
		if b.Grams != nil {
			tasks = append(tasks, d.knownGram(g, h, b.Grams[i], b.Afresh, columns)...)
			continue
		}
		for j := 0; j < k; j += columns {
			tasks = append(tasks, func() { d.gram(g, h, k, j, min(j+columns, k)) })
		}
	}
	return tasks
}

// gram forms rows i < i1 of columns j0 ≤ j < j1 of the upper triangle of h, and what mirrors them.
func (d *device) gram(g kernels.Pivot, h kernels.Panel, i1, j0, j1 int) {
	C.gram(d.kernels[h.Type], cPivot(g), pointer(h.Data), C.int64_t(h.Ld), C.int64_t(i1), C.int64_t(j0),
		C.int64_t(j1))
}

// knownGram returns the tasks that form h where the products of the columns of P, and those of Q, are known
// or are to be: what is not known, or all, is formed, and noted.
func (d *device) knownGram(g kernels.Pivot, h kernels.Panel, known kernels.Pivot, afresh bool,
	columns int) []func() {
	k, np := g.Order(), g.P.N
	var tasks []func()
	for _, s := range []struct {
		side, known kernels.Panel
		at          int
	}{{g.P, known.P, 0}, {g.Q, known.Q, np}} {
		tasks = append(tasks, func() {
			if s.side.N == 0 {
				return
			}
			if x := columnOf[float32](s.known, 0); afresh || x[0] == 0 {
				d.gramOf(s.side, s.known)
			}
			assign[float32](h.Columns(s.at, s.at+s.side.N).Rows(s.at, s.at+s.side.N), s.known)
		})
	}
	for j := np; j < k; j += columns {
		tasks = append(tasks, func() { d.gram(g, h, np, j, min(j+columns, k)) })
	}
	return tasks
}

// gramOf forms pᵀ·p.
func (d *device) gramOf(p, h kernels.Panel) {
	none := p
	none.N = 0
	d.gram(kernels.Pivot{P: p, Q: none}, h, p.N, 0, p.N)
}

func assign[T real](dst, src kernels.Panel) {
	for j := range dst.N {
		copy(columnOf[T](dst, j), columnOf[T](src, j))
	}
}

// gramBlock is the width of the block-columns into which a large pivot is cut.
const gramBlock = 256

// largeGram returns the tasks that form h ← [P Q]ᵀ[P Q] block by block through OpenBLAS.
func largeGram(g kernels.Pivot, h kernels.Panel) []func() {
	var blocks []kernels.Panel
	for _, side := range []kernels.Panel{g.P, g.Q} {
		for j := 0; j < side.N; j += gramBlock {
			blocks = append(blocks, side.Columns(j, min(j+gramBlock, side.N)))
		}
	}
	var tasks []func()
	column := 0
	for j, right := range blocks {
		row := 0
		for _, left := range blocks[:j+1] {
			upper := h.Columns(column, column+right.N).Rows(row, row+left.N)
			lower := h.Columns(row, row+left.N).Rows(column, column+right.N)
			tasks = append(tasks, func() {
				gemm(kernels.Gemm{TransA: true, Alpha: 1, A: left, B: right, C: upper})
				turn(lower, upper)
			})
			row += left.N
		}
		column += right.N
	}
	return tasks
}

// turn is transpose for elements of any type.
func turn(dst, src kernels.Panel) {
	if dst.Type == kernels.Float32 {
		transpose[float32](dst, src)
	} else {
		transpose[float64](dst, src)
	}
}

// transpose sets dst ← srcᵀ. If they are the same block, its upper triangle counts.
func transpose[T real](dst, src kernels.Panel) {
	d, s := elementsOf[T](dst), elementsOf[T](src)
	for j := range src.N {
		last := src.M
		if dst.Data == src.Data {
			last = j
		}
		for i := range last {
			d[j+i*dst.Ld] = s[i+j*src.Ld]
		}
	}
}
