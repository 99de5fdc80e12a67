package matrix

import (
	"errors"
	"fmt"
	"math"

	"jmpi/dist/comm"
)

// bunchParlett is the ratio of the largest diagonal element to the largest element from which on
// the first is the pivot: the growth of the elements is then the same by one pivot of order 2 as by
// two of order 1, [BP71].
var bunchParlett = (1 + math.Sqrt(17)) / 8

// ErrSingular says that a symmetric matrix cannot be factored.
var ErrSingular = errors.New("the symmetric matrix is singular")

// indefinite is the state of FactorIndefinite: what is left of the matrix, rows and columns
// that are done being zero.
type indefinite struct {
	*hosted
	done []bool
	// of each column of this rank that is not done: the diagonal element, and the largest off the diagonal
	largest []element
	kept    map[int][]float64
	signs   []float64
}

// element is the diagonal element of a column, and the largest magnitude off the diagonal, in row `row`.
type element struct {
	diagonal, off float64
	row           int
}

// FactorIndefinite returns G and signs with M = G·diag(signs)·Gᵀ for a symmetric matrix M of order n, which
// it overwrites, by elimination with complete pivoting ([BP71], [Sla98]): pivots of order 1, and of order 2
// by their eigenvectors. The columns of G with sign +1 come first. So G is as well conditioned, but for the
// scale of its columns, as a factor of M can be expected to be. It goes column by column, on a copy in the
// memory of the hosts, with so many threads of each. It is collective.
func FactorIndefinite(s *Matrix, threads int) (g *Matrix, signs []float64, err error) {
	h, err := hostedOf(s, threads)
	if err != nil {
		return nil, nil, fmt.Errorf("matrix: symmetric indefinite factorization: %w", err)
	}
	f := &indefinite{hosted: h, done: make([]bool, s.N), largest: make([]element, s.N),
		kept: map[int][]float64{}}
	f.each(func(j int, x []float64) {
		f.look(j, x)
	})
	for err == nil && len(f.signs) < s.N {
		err = f.step()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("matrix: symmetric indefinite factorization: %w", err)
	}
	order := Decreasing(f.signs) // stable
	signs = make([]float64, s.N)
	columns := map[int][]float64{}
	for j, c := range order {
		signs[j] = f.signs[c]
		if x := f.kept[c]; x != nil {
			columns[j] = x
		}
	}
	g, err = s.Scatter(s.N, s.N, columns)
	return g, signs, err
}

// look finds the largest elements of column j.
func (f *indefinite) look(j int, x []float64) {
	e := element{diagonal: x[j], row: -1}
	for i, v := range x {
		if v = math.Abs(v); v > e.off && i != j {
			e.off, e.row = v, i
		}
	}
	f.largest[j] = e
}

// step takes the next pivot.
func (f *indefinite) step() error {
	pivot, c, err := f.choose()
	if err != nil {
		return err
	}
	var g [][]float64
	var signs []float64
	if len(pivot) == 1 {
		d := c[0][pivot[0]]
		g = [][]float64{combination(1/math.Sqrt(math.Abs(d)), c[0], 0, c[0])}
		signs = []float64{math.Copysign(1, d)}
	} else {
		p, q := pivot[0], pivot[1]
		l, cos, sin := symmetric2(c[0][p], c[1][p], c[1][q])
		r0, r1 := math.Sqrt(math.Abs(l[0])), math.Sqrt(math.Abs(l[1]))
		g = [][]float64{combination(cos/r0, c[0], -sin/r0, c[1]), combination(sin/r1, c[0], cos/r1, c[1])}
		signs = []float64{math.Copysign(1, l[0]), math.Copysign(1, l[1])}
	}
	for _, j := range pivot {
		f.done[j] = true
	}
	for i, x := range g {
		if k := len(f.signs); k%f.Comm.Size() == f.Comm.Rank() {
			f.kept[k] = x
		}
		f.signs = append(f.signs, signs[i])
	}
	f.each(func(j int, x []float64) {
		if f.done[j] {
			return
		}
		for k, y := range g {
			factor := signs[k] * y[j]
			for i, v := range y {
				x[i] -= factor * v
			}
		}
		for _, p := range pivot {
			x[p] = 0
		}
		f.look(j, x)
	})
	return nil
}

// candidate is what one rank offers as the next pivot.
type candidate struct {
	diagonal float64   // the largest magnitude on the diagonal
	j        int       // its column
	x        []float64 // the column itself
	off      float64   // the largest magnitude off the diagonal
	p, q     int       // its column, and its row
	y        []float64 // column p itself
}

// candidate finds that of this rank.
func (f *indefinite) candidate() candidate {
	c := candidate{diagonal: -1, off: -1}
	for _, j := range f.order {
		e := f.largest[j]
		if f.done[j] {
			continue
		}
		if d := math.Abs(e.diagonal); d > c.diagonal {
			c.diagonal, c.j, c.x = d, j, f.own[j]
		}
		if e.off > c.off {
			c.off, c.p, c.q, c.y = e.off, j, e.row, f.own[j]
		}
	}
	return c
}

// choose returns the next pivot, one column or two, the same on every rank, and these columns.
func (f *indefinite) choose() (pivot []int, columns [][]float64, err error) {
	c, n := f.candidate(), f.n
	message := []float64{c.diagonal, float64(c.j), c.off, float64(c.p), float64(c.q)}
	const head = 5
	if f.Comm.Size() > 1 && c.x != nil {
		message = append(append(message, c.x...), c.y...)
	}
	all, err := comm.Gather(f.Comm, message)
	if err != nil {
		return nil, nil, err
	}
	best := c
	for _, x := range all {
		if d, j := x[0], int(x[1]); d > best.diagonal || d == best.diagonal && j < best.j {
			best.diagonal, best.j, best.x = d, j, x[head:head+n]
		}
		if d, j := x[2], int(x[3]); d > best.off || d == best.off && j < best.p {
			best.off, best.p, best.q, best.y = d, j, int(x[4]), x[head+n:]
		}
	}
	switch largest := max(best.diagonal, best.off); {
	case !(largest > 0) || math.IsInf(largest, 0):
		return nil, nil, ErrSingular
	case best.diagonal >= bunchParlett*best.off:
		return []int{best.j}, [][]float64{best.x}, nil
	}
	x, err := comm.FromRank(f.Comm, f.rankOf(best.q), f.own[best.q])
	if err != nil {
		return nil, nil, err
	}
	return []int{best.p, best.q}, [][]float64{best.y, x}, nil
}

// combination returns a·x + b·y.
func combination(a float64, x []float64, b float64, y []float64) []float64 {
	z := make([]float64, len(x))
	for i := range z {
		z[i] = a*x[i] + b*y[i]
	}
	return z
}

// symmetric2 returns the eigenvalues of [a b; b c], b ≠ 0, and cos, sin of the angle of their vectors
// [cos −sin]ᵀ and [sin cos]ᵀ.
func symmetric2(a, b, c float64) (l [2]float64, cos, sin float64) {
	cot2 := (c - a) / (2 * b)
	tan := math.Copysign(1/(math.Abs(cot2)+math.Hypot(1, cot2)), cot2)
	cos = 1 / math.Hypot(1, tan)
	return [2]float64{a - tan*b, c + tan*b}, cos, tan * cos
}
