package dist

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"jmpi/internal/dense"
	"jmpi/kernels"
)

// preconditioner is what was done to the matrix A before the Jacobi method works on X in its place, [docs/numerics.md §4]:
//
//	none     X = A
//	qr       A·P = Q·R, columns sorted by norm, X = Rᵀ
//	qrcp     the same with rows sorted by decreasing max-norm before, and column pivoting
//	qrcp-lq  further R = X·Q₂ᵀ, X lower triangular
//
// For the hyperbolic SVD, whose columns keep their signs, qr is A = Q·R with the rows sorted, and X = R.
type preconditioner struct {
	used       string
	graded     bool        // chosen because rows or columns differ much in size
	sorted     []int       // row i of the sorted matrix is row sorted[i] of A; nil: not sorted
	q          *orthogonal // Q
	place      []int       // column j of A is column place[j] of R
	transposed bool        // X = Rᵀ: its left vectors belong to the right side of A
	second     *orthogonal // Q₂
	kept       *sheet      // Rᵀ, if V is to come from it: R = X·Q₂ᵀ has the left vectors of X, and Q₂ need not be applied
}

// gradedRatio is the ratio of the largest to the smallest of the rows' max-norms, or of the columns' norms, from which a matrix counts as graded.
const gradedRatio = 128

// precondition replaces the matrix by what the Jacobi method works on.
func (d *Decomposition) precondition() error {
	g, err := d.a.grading()
	if err != nil {
		return err
	}
	parallelism := 0.0
	if d.devices[0].Limits().HostMemory { // otherwise it does not count
		if parallelism, err = d.a.parallelism(); err != nil {
			return err
		}
	}
	d.choosePreconditioner(g, parallelism)
	d.chooseV()
	if err := d.fitsChosen(); err != nil {
		return err
	}
	if d.noise = g.rows; d.slabs != nil { // they have spread the errors of the largest rows over all
		d.noise = slices.Repeat([]float64{slices.Max(g.columns) / math.Sqrt(float64(d.a.n))}, len(g.rows))
	}
	p := &d.pre
	switch p.used {
	case "none":
		return nil
	case "qr":
		if d.hyperbolic() {
			return d.preconditionHyperbolic(g)
		}
		p.q, p.place, err = d.a.factor(decreasing(g.columns))
	default:
		p.sorted = decreasing(g.rows)
		d.a = d.a.rows(p.sorted)
		p.q, p.place, err = d.a.factor(nil)
		if err == nil {
			d.Rank, err = d.a.rank(d.noise, g.columns, p.sorted, p.place)
		}
	}
	if err != nil {
		return err
	}
	if d.a, err = d.a.transpose(p.place, d.a.n); err != nil || p.used != "qrcp-lq" {
		return err
	}
	if d.V.Used != "solve" {
		p.second, err = d.lower(d.a)
		return err
	}
	p.kept = d.a
	_, err = d.lower(d.a.clone()) // Q₂ is not needed
	return err
}

// lower factors Rᵀ = Q₂·Xᵀ, which it overwrites, and makes the lower triangular X the matrix to work on.
func (d *Decomposition) lower(transposed *sheet) (second *orthogonal, err error) {
	if second, _, err = transposed.factor(transposed.natural()); err == nil {
		d.a, err = transposed.transpose(nil, transposed.n)
	}
	return second, err
}

// preconditionHyperbolic replaces the matrix by its triangular factor.
func (d *Decomposition) preconditionHyperbolic(g grading) (err error) {
	p := &d.pre
	p.sorted = decreasing(g.rows)
	d.a = d.a.rows(p.sorted)
	if p.q, _, err = d.a.factor(d.a.natural()); err != nil {
		return err
	}
	d.a = d.a.rows(d.a.natural()) // as many rows as columns
	noise := d.noise
	d.noise = nil
	for _, i := range p.sorted[:d.a.m] {
		d.noise = append(d.noise, noise[i])
	}
	return nil
}

// decayingParallelism is the parallelism of the columns from which the singular values of a matrix count as decaying.
const decayingParallelism = 4

// choosePreconditioner decides what to do, from the sizes of rows and columns and the parallelism of the columns.
func (d *Decomposition) choosePreconditioner(g grading, parallelism float64) {
	rows, columns := ratio(g.rows), ratio(g.columns)
	graded := rows >= gradedRatio || columns >= gradedRatio
	c := Choice{d.task.Precondition, "as asked for"}
	if c.Used == "" || c.Used == "auto" {
		switch {
		case d.hyperbolic() && (rows >= gradedRatio || d.a.m > d.a.n):
			c = Choice{"qr", "the hyperbolic SVD of the triangular factor is that of the matrix"}
		case d.hyperbolic():
			c = Choice{"none", "the columns keep their signs in the hyperbolic SVD"}
		case graded:
			c = Choice{"qrcp-lq", fmt.Sprintf("graded: the max-norms of the rows differ by a factor of %.2g, the norms of the columns by %.2g", rows, columns)}
		case parallelism >= decayingParallelism:
			c = Choice{"qrcp-lq", fmt.Sprintf("the singular values decay: the mean square of the cosines between columns is %.2g times that of random ones; so there are fewer sweeps", parallelism)}
		case d.slabs != nil:
			c = Choice{"qr", "the triangular factor of a tall matrix, transposed"}
		default:
			c = Choice{"none", "rows and columns are of about the same size and in all directions"}
		}
	}
	d.Precondition = c
	d.pre = preconditioner{used: c.Used, graded: graded, transposed: !d.hyperbolic() && (c.Used == "qr" || c.Used == "qrcp")}
}

// parallelismSample is how many columns the parallelism is estimated from.
const parallelismSample = 128

// parallelism estimates how much faster than a random matrix's the singular values decay: the mean square of the cosines between some
// columns, times the number of rows. It is about 1 for independent random columns; for orthogonally invariant matrices, m·Σσᵢ⁴/(Σσᵢ²)²,
// so 18 if σ falls geometrically to 1e-8 of the largest. It is collective.
func (s *sheet) parallelism() (float64, error) {
	count := min(s.n, parallelismSample)
	var mine []float64
	for i := range count {
		if j := i * s.n / count; s.owner(j) == s.comm.Rank() {
			mine = append(mine, s.column(j)...)
		}
	}
	all, err := gather(s.comm, mine)
	if err != nil {
		return 0, err
	}
	// One rank computes what all decide by.
	var answer []float64
	if s.comm.Rank() == 0 {
		a := make([]float64, 0, count*s.m)
		for i := range count {
			from := s.owner(i * s.n / count)
			a = append(a, all[from][:s.m]...)
			all[from] = all[from][s.m:]
		}
		answer = []float64{float64(s.m) * meanSquareCosine(s.m, count, a)}
	}
	if answer, err = fromRank(s.comm, 0, answer); err != nil {
		return 0, err
	}
	return answer[0], nil
}

// meanSquareCosine returns the mean of the squares of the cosines between the n columns of a, which it scales, m×n; 0 for fewer than two columns.
func meanSquareCosine(m, n int, a []float64) float64 {
	for j := range n {
		x := a[j*m : (j+1)*m]
		if norm := kernels.Norm2(x); norm > 0 {
			for i := range x {
				x[i] /= norm
			}
		}
	}
	if n < 2 {
		return 0
	}
	h := make([]float64, n*n)
	dense.Product(true, false, n, n, m, 1, a, m, a, m, 0, h, n)
	sum := 0.0
	for j := range n {
		for i := range j {
			sum += h[i+j*n] * h[i+j*n]
		}
	}
	return sum / float64(n*(n-1)/2)
}

// grading has the sizes of the rows and columns of a matrix.
type grading struct {
	rows    []float64 // max-norms
	columns []float64 // 2-norms
}

// grading measures the rows and columns. It is collective.
func (s *sheet) grading() (g grading, err error) {
	norms := make([]float64, s.n)
	rows := make([]float64, s.m) // of the blocks of this rank
	var mu sync.Mutex
	err = s.each(func(b int, x []float64) error {
		j0, j1 := s.span(b)
		most := make([]float64, s.m)
		for j := j0; j < j1; j++ {
			column := x[(j-j0)*s.m : (j-j0+1)*s.m]
			norms[j] = dense.Norm(column)
			for i, e := range column {
				most[i] = max(most[i], math.Abs(e))
			}
		}
		mu.Lock()
		defer mu.Unlock()
		larger(rows, most)
		return nil
	})
	if err != nil {
		return g, err
	}
	all, err := gather(s.comm, rows)
	if err != nil {
		return g, err
	}
	g.rows = make([]float64, s.m)
	for _, part := range all {
		larger(g.rows, part)
	}
	g.columns, err = s.gatherColumns(func(j int) float64 { return norms[j] })
	return g, err
}

// larger does x ← max(x, y), element by element.
func larger(x, y []float64) {
	for i, e := range y {
		x[i] = max(x[i], e)
	}
}

// ratio returns the ratio of the largest to the smallest number that is not zero, 1 if there is none.
func ratio(x []float64) float64 {
	largest, smallest := 0.0, math.Inf(1)
	for _, e := range x {
		if e > 0 {
			largest, smallest = max(largest, e), min(smallest, e)
		}
	}
	if largest == 0 {
		return 1
	}
	return largest / smallest
}

// decreasing returns the indices of x by decreasing x.
func decreasing(x []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return x[order[a]] > x[order[b]] })
	return order
}

// rank counts the diagonal elements of R, the pivoted QR factorization of a matrix with rows sorted, that are more than rounding errors.
// Element k is as exact as ε times the size of what it was computed from: of row k, as given by noise, of the matrix whose columns are
// scaled to norm 1, and of its own column. So a grading of rows or columns, however steep, does not count as a lack of rank. It is
// collective.
func (s *sheet) rank(noise, columns []float64, sorted, place []int) (Rank, error) {
	r := Rank{Tol: float64(s.n) * 0x1p-52, Of: "the diagonal of R against the rows and columns scaled to the same size"}
	diagonal, err := s.gatherColumns(func(j int) float64 {
		if k := place[j]; k < s.m {
			return math.Abs(s.column(j)[k])
		}
		return 0
	})
	if err != nil {
		return r, err
	}
	largest := slices.Max(columns)
	for j, k := range place {
		if k >= s.m {
			continue
		}
		rows := math.Sqrt(float64(s.m - k)) // an error in each adds to the norm that became the element
		if diagonal[j] > r.Tol*rows*noise[sorted[k]]*(columns[j]/largest) {
			r.Value++
		}
	}
	return r, nil
}

// back turns the vectors of X, of which v or u may be nil where it is not needed, into those of A.
func (p *preconditioner) back(u, v *sheet, left, right bool) (*sheet, *sheet, error) {
	if p.used == "none" {
		return u, v, nil
	}
	if p.transposed {
		u, v = v, u
	}
	if p.second != nil && p.kept == nil && right {
		if err := p.second.apply(v); err != nil {
			return nil, nil, err
		}
	}
	if right {
		v = v.rows(p.place)
	}
	if left {
		u = u.taller(p.q.m)
		if err := p.q.apply(u); err != nil {
			return nil, nil, err
		}
		u = u.rows(inverse(p.sorted))
	}
	return u, v, nil
}
