package kerneltest

import (
	"fmt"
	"testing"

	"jmpi/kernels"
)

// some are columns of a matrix: the first, and the one behind the last.
type some struct{ from, to int }

// cuts are what devices may have of a matrix of so many columns.
func cuts(n int) []some {
	return []some{{0, n}, {0, n / 2}, {n / 2, n}, {0, 1}, {n / 3, n/3 + 1}, {1, n}, {n / 4, n/4 + min(n, 256)/2},
		{n - 1, n}}
}

// Columns tests products of some columns of a matrix (kernels.Gemm, Of) and Q·C of some (Reflect): on GPUs
// they have the bits of the product of all, and everywhere they are right.
func Columns(t *testing.T, b kernels.Backend) {
	for _, e := range elements {
		for _, s := range []struct{ m, n, k int }{{256, 700, 300}, {64, 530, 2000}, {300, 600, 256}, {33, 270, 17},
			{1, 20, 300}} {
			gemmColumns(t, b, e, s.m, s.n, s.k)
		}
	}
	for _, s := range []struct{ m, n, k int }{{500, 600, 256}, {300, 530, 100}, {512, 300, 64},
		{500, 200, 150}} {
		reflectColumns(t, b, s.m, s.n, s.k)
	}
}

// lowered is a matrix with some rows of zeros above it. With three of these its columns are aligned, where
// the number of rows is a multiple of four.
type lowered struct {
	kernels.Panel
	all  window
	rows int
}

func lower(t *testing.T, b kernels.Backend, x matrix, e kernels.Element, rows int) lowered {
	t.Helper()
	all := newMatrix(rows+x.m, x.n)
	for j := range x.n {
		copy(all.column(j)[rows:], x.column(j))
	}
	w := place(t, b, all, e)
	return lowered{w.Rows(rows, rows+x.m), w, rows}
}

func (l lowered) read() matrix {
	all, x := l.all.read(), newMatrix(l.M, l.N)
	for j := range x.n {
		copy(x.column(j), all.column(j)[l.rows:])
	}
	return x
}

func gemmColumns(t *testing.T, b kernels.Backend, e kernels.Element, m, n, k int) {
	t.Helper()
	rnd := newRand(m)
	x, y, z := round(random(rnd, m, k), e), round(random(rnd, k, n), e), round(random(rnd, m, n), e)
	want, bound := combine(-1, x.times(y), 1, z), combine(1, x.abs().times(y.abs()), 1, z.abs())
	for mode := range 4 {
		g, rows := kernels.Gemm{TransA: mode%2 > 0, Alpha: -1, Beta: 1, Of: n}, mode/2*3
		left := x
		if g.TransA {
			left = x.transpose()
		}
		g.A = lower(t, b, left, e, rows).Panel
		all := lower(t, b, y, e, rows)
		var whole matrix
		for _, c := range cuts(n) {
			to := lower(t, b, z.columns(c.from, c.to), e, rows)
			g.B, g.C = all.Columns(c.from, c.to), to.Panel
			must(t, b.Gemm([]kernels.Gemm{g}))
			got := to.read()
			name := fmt.Sprintf("columns %d to %d of %s, %d×%d and %d×%d, A transposed %t, %d rows down", c.from, c.to,
				e, m, k, k, n, g.TransA, rows)
			if whole.a == nil {
				whole = got
				near(t, name, got, want, bound, 2*float64(k+2)*unit(e))
			}
			sameColumns(t, b, name, got, whole, c, bound, 4*float64(k+2)*unit(e))
		}
	}
}

func reflectColumns(t *testing.T, b kernels.Backend, m, n, k int) {
	t.Helper()
	rnd := newRand(m)
	y, tr := reflectors(rnd, m, k)
	q, z := placeReflectors(t, b, y, tr), random(rnd, m, n)
	bound := newMatrix(m, n)
	for i := range bound.a {
		bound.a[i] = 1
	}
	for _, transposed := range []bool{false, true} {
		var whole matrix
		for _, c := range cuts(n) {
			p, half := lower(t, b, z.columns(c.from, c.to), kernels.Float64, 3), (c.to-c.from)/2
			must(t, b.Reflect(q, transposed, []kernels.Panel{p.Columns(0, half), p.Columns(half, p.N)}, n))
			got := p.read()
			if whole.a == nil {
				whole = got
				closeColumns(t, fmt.Sprintf("%d reflectors, %d×%d", k, m, n), got, reflected(y, tr, transposed, z),
					reflectorError(k))
			}
			name := fmt.Sprintf("columns %d to %d by %d reflectors, %d×%d, transposed %t", c.from, c.to, k, m, n,
				transposed)
			sameColumns(t, b, name, got, whole, c, bound, 1e-12)
		}
	}
}

// sameColumns tests that columns have the bits that they have in the whole, on hosts that they are near.
func sameColumns(t *testing.T, b kernels.Backend, name string, got, whole matrix, c some, bound matrix,
	tolerance float64) {
	t.Helper()
	want := whole.columns(c.from, c.to)
	if b.Limits().HostMemory {
		near(t, name, got, want, bound.columns(c.from, c.to), tolerance)
		return
	}
	sameNumbers(t, name, got.a, want.a)
}
