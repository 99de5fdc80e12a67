package gen

import (
	"errors"
	"math"

	"jmpi/internal/dd"
	"jmpi/internal/parallel"
)

// pivotThreshold is (1+√17)/8: a 1×1 pivot is taken if it is at least so large against the
// largest off-diagonal entry, which bounds the growth of the entries best.
var pivotThreshold = (1 + math.Sqrt(17)) / 8

// factorize overwrites the symmetric matrix A, n×n, column-major, of which it reads the lower
// triangle, with G such that P·A·Pᵀ = G·diag(signs)·Gᵀ: the symmetric indefinite factorization
// with complete pivoting. G is lower triangular but for 2×2 blocks on the diagonal; entries
// above are set to 0. For a positive definite A all pivots are 1×1 and on the diagonal, and this
// is the Cholesky factorization with diagonal pivoting. It fails if A is singular.
//
// A pivot block E, moved to the top of what remains, E = Q·D·Qᵀ with D diagonal, gives the
// columns [Q·|D|^½ ; A₂₁·Q·|D|^(−½)·J] of G with J = sign(D).
//
// Sources: J. R. Bunch, B. N. Parlett, Direct methods for solving symmetric indefinite systems of
// linear equations, SIAM J. Numer. Anal. 8 (1971) 639–655; I. Slapničar, Componentwise analysis
// of direct factorization of real symmetric and Hermitian matrices, Linear Algebra Appl. 272
// (1998) 227–275, which is what [Nov15, §6] uses.
func factorize(a []dd.Float, n int) (signs []float64, err error) {
	f := factorization{a: a, n: n, signs: make([]float64, n), largest: make([]entry, n)}
	f.search(0)
	for k := 0; k < n; {
		diagonal, off := f.pivot(k)
		switch {
		case diagonal.size == 0 && off.size == 0:
			return nil, errors.New("the matrix is singular")
		case diagonal.size >= pivotThreshold*off.size:
			f.swap(k, diagonal.row)
			f.single(k)
			k++
		default:
			f.swap(k, off.column)
			f.swap(k+1, off.row)
			f.double(k)
			k += 2
		}
	}
	return f.signs, nil
}

type factorization struct {
	a       []dd.Float
	n       int
	signs   []float64
	largest []entry // of each column below the diagonal
}

// entry is a matrix entry and its magnitude.
type entry struct {
	size        float64
	row, column int
}

// column returns rows i ≥ from of column j.
func (f *factorization) column(j, from int) []dd.Float { return f.a[from+j*f.n : (j+1)*f.n] }

// search finds the largest entry below the diagonal of each column j ≥ k.
func (f *factorization) search(k int) {
	f.eachColumn(k, func(int) {})
}

// eachColumn calls update on every column j ≥ k and then finds the column's largest entry.
func (f *factorization) eachColumn(k int, update func(j int)) {
	parallel.Chunks(f.n-k, grain, func(lo, hi int) {
		for j := k + lo; j < k+hi; j++ {
			update(j)
			best := entry{0, j, j}
			for i, x := range f.column(j, j+1) {
				if size := math.Abs(x.Hi); size > best.size {
					best = entry{size, j + 1 + i, j}
				}
			}
			f.largest[j] = best
		}
	})
}

// pivot returns the largest entries on and below the diagonal of what remains from k on.
func (f *factorization) pivot(k int) (diagonal, off entry) {
	for j := k; j < f.n; j++ {
		if size := math.Abs(f.a[j+j*f.n].Hi); size > diagonal.size {
			diagonal = entry{size, j, j}
		}
		if f.largest[j].size > off.size {
			off = f.largest[j]
		}
	}
	return diagonal, off
}

// swap exchanges the rows and columns p ≤ q of the lower triangle, and the rows of G's columns.
func (f *factorization) swap(p, q int) {
	if p == q {
		return
	}
	a, n := f.a, f.n
	exchange := func(x, y int) { a[x], a[y] = a[y], a[x] }
	for j := range p {
		exchange(p+j*n, q+j*n)
	}
	exchange(p+p*n, q+q*n)
	for i := p + 1; i < q; i++ {
		exchange(i+p*n, q+i*n)
	}
	for i := q + 1; i < n; i++ {
		exchange(i+p*n, i+q*n)
	}
}

// single eliminates with the 1×1 pivot at k.
func (f *factorization) single(k int) {
	g := f.column(k, k)
	f.signs[k] = math.Copysign(1, g[0].Hi)
	root := g[0].Abs().Sqrt()
	for i := range g[1:] {
		g[1+i] = g[1+i].Div(root).Scale(f.signs[k])
	}
	g[0] = root
	clear(f.a[k*f.n : k+k*f.n])
	f.eachColumn(k+1, func(j int) { f.subtract(k, j) })
}

// double eliminates with the 2×2 pivot at k, k+1.
func (f *factorization) double(k int) {
	first, second := f.column(k, k), f.column(k+1, k)
	c, s, d := diagonalize(first[0], first[1], second[1])
	f.signs[k], f.signs[k+1] = math.Copysign(1, d[0].Hi), math.Copysign(1, d[1].Hi)
	root := [2]dd.Float{d[0].Abs().Sqrt(), d[1].Abs().Sqrt()}
	for i := 2; i < len(first); i++ {
		x, y := first[i], second[i]
		first[i] = c.Mul(x).Sub(s.Mul(y)).Div(root[0]).Scale(f.signs[k])
		second[i] = s.Mul(x).Add(c.Mul(y)).Div(root[1]).Scale(f.signs[k+1])
	}
	first[0], first[1] = c.Mul(root[0]), s.Mul(root[0]).Neg()
	second[0], second[1] = s.Mul(root[1]), c.Mul(root[1])
	clear(f.a[k*f.n : k+k*f.n])
	clear(f.a[(k+1)*f.n : k+(k+1)*f.n])
	f.eachColumn(k+2, func(j int) {
		f.subtract(k, j)
		f.subtract(k+1, j)
	})
}

// subtract removes column k of G from column j of what remains: aᵢⱼ −= signₖ·gᵢₖ·gⱼₖ, i ≥ j.
func (f *factorization) subtract(k, j int) {
	factor := f.a[j+k*f.n].Scale(-f.signs[k])
	dd.Axpy(factor, f.column(k, j), f.column(j, j))
}

// diagonalize returns c, s and d with Qᵀ·[a b; b e]·Q = diag(d), Q = [c s; −s c], b ≠ 0.
func diagonalize(a, b, e dd.Float) (c, s dd.Float, d [2]dd.Float) {
	one := dd.From(1)
	cot := e.Sub(a).Div(b.Scale(2)) // of twice the angle
	t := one.Div(cot.Abs().Add(one.Add(cot.Mul(cot)).Sqrt()))
	if cot.Hi < 0 {
		t = t.Neg()
	}
	c = one.Div(one.Add(t.Mul(t)).Sqrt())
	return c, t.Mul(c), [2]dd.Float{a.Sub(t.Mul(b)), e.Add(t.Mul(b))}
}
