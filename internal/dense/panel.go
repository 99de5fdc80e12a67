package dense

import (
	"math"

	"gonum.org/v1/gonum/blas"
)

// Threshold is how much smaller than the longest column that was left out of a panel a pivot of it may be.
const Threshold = 0.5

// Negligible is the length below which a column counts as zero where columns are pivoted. What is left of dependent columns are rounding errors,
// then the errors of those, and so on: at the end of the range of float64 their reflectors would not be orthogonal any more.
const Negligible = 0x1p-900

// Reflectors is the product I − Y·T·Yᵀ of Count Householder reflectors of length M.
type Reflectors struct {
	M, Count int
	Y        []float64 // M×Count, unit lower trapezoidal, leading dimension M
	T        []float64 // Count×Count, upper triangular
}

// Panel is the QR factorization of some columns of a panel.
type Panel struct {
	Reflectors
	Pivots []int     // Pivots[j]: the column of the panel that was taken j-th
	R      []float64 // Count×Count, upper triangular, of the columns Pivots
	Noise  []float64 // Noise.Width×Count: the samples of the columns Pivots when they were taken; nil where no noise is followed
	Noisy  [][2]int  // columns of the panel that were nothing but noise when so many others had been taken
}

// Factor factors min(m,n) columns of the m×n panel a, leading dimension m, in their order. It overwrites a.
func Factor(m, n int, a []float64) (Panel, error) {
	r := min(m, n)
	t, err := qrt(m, r, a[:m*r])
	if err != nil {
		return Panel{}, err
	}
	p := split(m, r, a)
	for j := range r {
		p.Pivots = append(p.Pivots, j)
	}
	p.form(func(j int) float64 { return t[j+j*r] })
	return p, nil
}

// FactorPivoted factors columns of the m×n panel a, leading dimension m, which it overwrites: in every step the longest of those that are
// more than noise. It ends with the first that is shorter than Threshold·bound, but takes one at least unless all are noise. It keeps the noise up to date.
func FactorPivoted(m, n int, a []float64, bound float64, noise Noise) Panel {
	f := factoring{m: m, n: n, a: a, noise: noise, columns: make([]int, n), work: make([]float64, n)}
	for j := range f.columns {
		f.columns[j] = j
	}
	for j := range min(m, n) {
		if !f.pivot(j, bound) {
			break
		}
		f.step(j)
	}
	return f.panel()
}

// split takes Y and R apart, which a factorization has left in a, with r columns.
func split(m, r int, a []float64) Panel {
	p := Panel{R: make([]float64, r*r)}
	p.M, p.Count, p.Y = m, r, a[:m*r]
	for j := range r {
		y := p.Y[j*m : (j+1)*m]
		copy(p.R[j*r:j*r+j+1], y[:j+1])
		clear(y[:j])
		y[j] = 1
	}
	return p
}

// factoring is a panel on its way.
type factoring struct {
	m, n    int
	a       []float64
	noise   Noise
	columns []int // of the panel, in their present order
	tau     []float64
	work    []float64
	pivots  []float64 // noise of those that were taken
	noisy   [][2]int
}

func (f *factoring) column(j int) []float64 { return f.a[j*f.m : (j+1)*f.m] }

// pivot brings the longest of the columns from j on that are not noise to place j. It tells whether it may be taken.
func (f *factoring) pivot(j int, bound float64) bool {
	var best int
	var longest float64
	from := f.noise.From(j)
	for noisy := true; noisy; {
		best, longest = j, -1.0
		for c := j; c < f.n; c++ {
			if x := Length(f.column(c)[j:]); x > longest {
				best, longest = c, x
			}
		}
		if longest < Negligible || j > 0 && longest < Threshold*bound {
			return false
		}
		// Only the longest is judged: while there are longer ones, rows of large errors may be left that have nothing to do with a short one.
		if noisy = !f.noise.None() && longest <= NoiseOf(f.noise.Column(f.columns[best]), from); noisy {
			f.noisy = append(f.noisy, [2]int{f.columns[best], j})
			clear(f.column(best)[j:])
		}
	}
	if best != j {
		openblas.Dswap(f.m, f.column(best), 1, f.column(j), 1)
		f.columns[best], f.columns[j] = f.columns[j], f.columns[best]
	}
	return true
}

// step makes column j's reflector and applies it to the columns behind it.
func (f *factoring) step(j int) {
	x := f.column(j)[j:]
	beta, tau := reflector(x)
	f.tau = append(f.tau, tau)
	x[0] = 1
	if rest := f.n - j - 1; rest > 0 && tau != 0 {
		c := f.a[(j+1)*f.m+j:]
		w := f.work[:rest]
		clear(w)
		if len(x) > 1 { // the first row, the largest, is added to the sum of the others: see Apply
			openblas.Dgemv(blas.NoTrans, rest, len(x)-1, 1, c[1:], f.m, x[1:], 1, 0, w, 1)
		}
		openblas.Daxpy(rest, 1, c, f.m, w, 1)
		openblas.Dger(rest, len(x), -tau, w, 1, x, 1, c, f.m)
	}
	if !f.noise.None() {
		f.noise.Reflect(j, x, tau)
		f.subtract(j, beta)
	}
	x[0] = beta
}

// subtract notes that multiples of column j, with beta on the diagonal of R, were subtracted from those behind it.
func (f *factoring) subtract(j int, beta float64) {
	pivot := f.noise.Column(f.columns[j])
	f.pivots = append(f.pivots, pivot...)
	for c := j + 1; c < f.n; c++ {
		f.noise.Subtract(f.columns[c], f.column(c)[j]/beta, pivot)
	}
}

// reflector overwrites x by the vector v of its Householder reflector (v₁ = 1 is not stored), and returns β and τ; τ = 0 stands for the identity.
func reflector(x []float64) (beta, tau float64) {
	alpha, rest := x[0], Norm(x[1:])
	if rest == 0 {
		return alpha, 0
	}
	beta = -math.Copysign(math.Hypot(alpha, rest), alpha)
	for i := range x[1:] {
		x[1+i] /= alpha - beta
	}
	return beta, (beta - alpha) / beta
}

// panel returns Y, T and R of the steps.
func (f *factoring) panel() Panel {
	m, r := f.m, len(f.tau)
	p := split(m, r, f.a)
	p.Pivots, p.Noise, p.Noisy = f.columns[:r], f.pivots, f.noisy
	p.form(func(j int) float64 { return f.tau[j] })
	return p
}

// form computes T from Y and τ: its column j is −τ·T·(Yᵀ·y) above the diagonal, and τ on it.
func (q *Reflectors) form(tau func(j int) float64) {
	r := q.Count
	q.T = make([]float64, r*r)
	g, top := gram(q.M-r, r, q.Y[r:], q.M), gram(r, r, q.Y, q.M)
	for i, x := range top { // apart: see Apply
		g[i] += x
	}
	for j := range r {
		t := q.T[j*r : j*r+j+1]
		for i := range j {
			sum := 0.0
			for l := i; l < j; l++ {
				sum += q.T[i+l*r] * g[l+j*r]
			}
			t[i] = -tau(j) * sum
		}
		t[j] = tau(j)
	}
}

// gramRows is how many rows of a product are summed one after the other.
const gramRows = 32

// gram returns yᵀ·y for the m×n matrix y with leading dimension ld. Pieces of the rows are summed pairwise, for the sums of a matrix of few different
// numbers are rounded in one direction, and Q would be as far from orthogonal as they are wrong.
func gram(m, n int, y []float64, ld int) []float64 {
	if m > gramRows {
		half := m / 2
		g := gram(half, n, y, ld)
		for i, x := range gram(m-half, n, y[half:], ld) {
			g[i] += x
		}
		return g
	}
	g := make([]float64, n*n)
	if m > 0 {
		Product(true, false, n, n, m, 1, y, ld, y, ld, 0, g, n)
	}
	return g
}

// Apply does c ← Q·c, or Qᵀ·c, for Q = I − Y·T·Yᵀ and the M×n matrix c with leading dimension ld.
func (q *Reflectors) Apply(transposed bool, n int, c []float64, ld int) {
	if n == 0 || q.Count == 0 {
		return
	}
	r := q.Count
	w, tw := make([]float64, r*n), make([]float64, r*n)
	// The first rows of Y are the large ones, and are summed apart: a sum that is large at once would round many small terms in one direction.
	if rest := q.M - r; rest > 0 {
		Product(true, false, r, n, rest, 1, q.Y[r:], q.M, c[r:], ld, 0, w, r)
	}
	Product(true, false, r, n, r, 1, q.Y, q.M, c, ld, 1, w, r)
	Product(transposed, false, r, n, r, 1, q.T, r, w, r, 0, tw, r)
	Product(false, false, q.M, n, r, -1, q.Y, q.M, tw, r, 1, c, ld)
}
