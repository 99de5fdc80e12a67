package dense

import (
	"math"

	"jmpi/kernels"
)

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
	// Noise.Width×Count: the samples of the columns Pivots when they were taken; nil where no noise is followed
	Noise []float64
	From  [][]float64 // From[j]: Noise.From(j) when j columns had been taken, 0 ≤ j ≤ Count
	Rank  int         // how many of them were more than noise
	// columns of the panel that became zero because they were nothing but noise when so many others
	// had been taken
	Noisy [][2]int
}

// Factor factors min(m,n) columns of the m×n panel a, leading dimension m, in their order. It overwrites a.
func Factor(m, n int, a []float64) Panel {
	r := min(m, n)
	p := natural(m, r, a[:m*r])
	p.Pivots = make([]int, r)
	for j := range p.Pivots {
		p.Pivots[j] = j
	}
	return p
}

// narrow is the largest number of columns that are factored one by one.
const narrow = 8

// natural factors the m×n panel a, m ≥ n: the left half, then what is left of the right one, so that
// most of the work is products.
func natural(m, n int, a []float64) Panel {
	if n <= narrow {
		f := factoring{m: m, n: n, a: a, columns: make([]int, n)}
		for j := range n {
			f.step(j)
		}
		return f.panel()
	}
	h := n / 2
	left := natural(m, h, a[:m*h])
	c := a[m*h:]
	left.Apply(true, n-h, c, m)
	rest := make([]float64, (m-h)*(n-h))
	for j := range n - h {
		copy(rest[j*(m-h):(j+1)*(m-h)], c[j*m+h:(j+1)*m])
	}
	right := natural(m-h, n-h, rest)
	return join(left, right, a)
}

// join returns the panel whose columns are those of left, and those of right behind it below its rows. a has
// the reflectors of left, and above those of right the rows of R; Y takes its memory.
func join(left, right Panel, a []float64) Panel {
	m, h, k := left.M, left.Count, right.Count
	n := h + k
	p := Panel{R: make([]float64, n*n)}
	p.M, p.Count, p.Y, p.T = m, n, a, make([]float64, n*n)
	for j := range h {
		copy(p.R[j*n:j*n+h], left.R[j*h:(j+1)*h])
		copy(p.T[j*n:j*n+h], left.T[j*h:(j+1)*h])
	}
	for j := range k {
		y := a[(h+j)*m : (h+j+1)*m]
		copy(p.R[(h+j)*n:], y[:h])
		copy(p.R[(h+j)*n+h:], right.R[j*k:(j+1)*k])
		copy(p.T[(h+j)*n+h:], right.T[j*k:(j+1)*k])
		clear(y[:h])
		copy(y[h:], right.Y[j*right.M:(j+1)*right.M])
	}
	couple(m, h, n, p.Y, m, p.T, n)
	return p
}

// FactorPivoted factors columns of the m×n panel a, leading dimension m, which it overwrites: in every step
// the longest of those that are more than noise, or that drop retains. It ends with the first that is shorter
// than kernels.PanelThreshold·bound, but takes one at least unless all are noise. It keeps the noise up to
// date.
func FactorPivoted(m, n int, a []float64, bound float64, noise Noise, drop kernels.Dropping) Panel {
	f := factoring{m: m, n: n, a: a, noise: noise, drop: drop, columns: make([]int, n), zeroed: make([]bool, n)}
	for j := range f.columns {
		f.columns[j] = j
	}
	f.from = [][]float64{noise.From(0)}
	for j := range min(m, n) {
		if !f.pivot(j, bound) {
			break
		}
		f.step(j)
		f.from = append(f.from, noise.From(j+1))
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
	drop    kernels.Dropping
	rank    int
	columns []int // of the panel, in their present order
	tau     []float64
	pivots  []float64   // noise of those that were taken
	from    [][]float64 // see Panel
	noisy   [][2]int
	zeroed  []bool // columns that are in noisy
}

func (f *factoring) column(j int) []float64 { return f.a[j*f.m : (j+1)*f.m] }

// pivot brings the longest of the columns from j on that are not noise to number j. It tells whether
// it may be taken.
func (f *factoring) pivot(j int, bound float64) bool {
	var best int
	var longest float64
	from := f.from[j]
	for {
		best, longest = j, -1.0
		for c := j; c < f.n; c++ {
			x := Length(f.column(c)[j:])
			if f.drop.Reach > 0 && !f.zeroed[f.columns[c]] &&
				f.noise.Covers(f.columns[c], j, f.column(c)[j:], x, from, f.drop.Reach) {
				f.zero(c, j)
				x = 0
			}
			if x > longest {
				best, longest = c, x
			}
		}
		if longest < kernels.NegligibleLength || j > 0 && longest < kernels.PanelThreshold*bound {
			return false
		}
		// Only the longest is judged by its length: while there are longer ones, rows of large errors may be left
		// that have nothing to do with a short one.
		if f.noise.None() || longest > NoiseOf(f.noise.Column(f.columns[best]), from) {
			f.rank++
			break
		}
		if longest > f.drop.Longest {
			if !f.drop.Retain && j > 0 {
				return false
			}
			break
		}
		f.zero(best, j)
	}
	if best != j {
		openblas.Dswap(f.m, f.column(best), 1, f.column(j), 1)
		f.columns[best], f.columns[j] = f.columns[j], f.columns[best]
	}
	return true
}

// zero sets column c, which is noise, to zero from row j on.
func (f *factoring) zero(c, j int) {
	f.noisy, f.zeroed[f.columns[c]] = append(f.noisy, [2]int{f.columns[c], j}), true
	clear(f.column(c)[j:])
}

// step makes column j's reflector and applies it to the columns behind it.
func (f *factoring) step(j int) {
	x := f.column(j)[j:]
	beta, tau := reflector(x)
	f.tau = append(f.tau, tau)
	x[0] = 1
	if rest := f.n - j - 1; rest > 0 && tau != 0 {
		c := f.a[(j+1)*f.m+j:]
		w := project(len(x)-1, rest, c[1:], f.m, x[1:])
		// the first row, the largest, is added to the sum of the others: see Reflect
		openblas.Daxpy(rest, 1, c, f.m, w, 1)
		openblas.Dger(rest, len(x), -tau, w, 1, x, 1, c, f.m)
	}
	if !f.noise.None() {
		f.noise.Reflect(j, x, tau)
		f.subtract(j, beta)
	}
	x[0] = beta
}

// subtract notes that multiples of column j, with beta on the diagonal of R, were subtracted from
// those behind it.
func (f *factoring) subtract(j int, beta float64) {
	pivot := f.noise.Column(f.columns[j])
	f.pivots = append(f.pivots, pivot...)
	for c := j + 1; c < f.n; c++ {
		f.noise.Subtract(f.columns[c], f.column(c)[j]/beta, pivot)
	}
}

// reflector overwrites x by the vector v of its Householder reflector (v₁ = 1 is not stored), and returns β
// and τ; τ = 0 stands for the identity.
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
	p.Pivots, p.Rank, p.Noise, p.From, p.Noisy = f.columns[:r], f.rank, f.pivots, f.from, f.noisy
	p.form(func(j int) float64 { return f.tau[j] })
	return p
}

// form computes T from Y and τ: its column j is −τ·T·(Yᵀ·y) above the diagonal, and τ on it.
func (q *Reflectors) form(tau func(j int) float64) {
	r := q.Count
	q.T = make([]float64, r*r)
	if r == 0 {
		return
	}
	g := inner(q.M-r, r, r, q.Y[r:], q.M, q.Y[r:], q.M)
	for i, x := range inner(r, r, r, q.Y, q.M, q.Y, q.M) { // apart: see Reflect
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

// Join completes the r×r matrix T of r reflectors of length m, of which those of panels of some width lie on
// its diagonal.
func Join(m, r, width int, y []float64, ldy int, t []float64, ldt int) {
	for at := width; at < r; at += width {
		couple(m, at, min(at+width, r), y, ldy, t, ldt)
	}
}

// couple sets T = [T₁ −T₁·Y₁ᵀ·Y₂·T₂; 0 T₂] above the diagonal block of the reflectors at ≤ j < to, Y₂ and T₂,
// those before being Y₁ and T₁.
func couple(m, at, to int, y []float64, ldy int, t []float64, ldt int) {
	k, second := to-at, y[at*ldy:]
	g, gt := inner(m-at, at, k, y[at:], ldy, second[at:], ldy), make([]float64, at*k)
	Product(false, false, at, k, k, 1, g, at, t[at+at*ldt:], ldt, 0, gt, at)
	Product(false, false, at, k, at, -1, t, ldt, gt, at, 0, t[at*ldt:], ldt)
}

// Apply does c ← Q·c, or Qᵀ·c, for the M×n matrix c with leading dimension ld.
func (q *Reflectors) Apply(transposed bool, n int, c []float64, ld int) {
	Reflect(transposed, q.M, q.Count, q.Y, q.M, q.T, q.Count, n, c, ld)
}

// Reflect does c ← Q·c, or Qᵀ·c, for Q = I − Y·T·Yᵀ, Y being m×r and T r×r, and the m×n matrix c.
func Reflect(transposed bool, m, r int, y []float64, ldy int, t []float64, ldt int, n int, c []float64,
	ldc int) {
	if n == 0 || r == 0 {
		return
	}
	tw := make([]float64, r*n)
	// The first rows of Y are the large ones, and are summed apart: a sum that is large at once would round many
	// small terms in one direction.
	w := inner(m-r, r, n, y[r:], ldy, c[r:], ldc)
	Product(true, false, r, n, r, 1, y, ldy, c, ldc, 1, w, r)
	Product(transposed, false, r, n, r, 1, t, ldt, w, r, 0, tw, r)
	Product(false, false, m, n, r, -1, y, ldy, tw, r, 1, c, ldc)
}
