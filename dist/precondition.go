package dist

import (
	"context"
	"errors"
	"fmt"

	"jmpi/dist/comm"
	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// gradedRatio is the ratio of the largest to the smallest of the rows' max-norms, or of the columns' norms,
// from which a matrix counts as graded.
const gradedRatio = 128

// steepRatio is the ratio of the rows' max-norms from which on a hyperbolic SVD goes by way of the
// SVD: hyperbolic rotations of columns whose rows are graded leave V less J-orthogonal, and take more
// than twice as many sweeps.
const steepRatio = 1 << 14

// evenRatio is the ratio of the columns' norms up to which pivoting saves a sweep at most, where no column is
// near the space of the others.
const evenRatio = 16

// extremeRatio is the product of the ratios of rows and of columns from which on float32 does not serve:
// columns are nearly parallel after its sweeps, and those in float64 that follow take longer than without
// them. So it was for Kahan's matrix of orders 1000 to 2048, 3e30 to 4e62, which took up to 3.5 times as
// long, and for both rows and columns graded to 1e-16, 1e-20 and 1e-24, 1.03, 2.1 and 1.9 times. For 1e-12
// they took 0.88, and Kahan's of order 900, 3e27, had 4 sweeps. Beyond 1e38 digits are lost as well: elements
// of vectors are as small as ratios of singular values, and leave the range of float32.
const extremeRatio = 1e28

// decayingParallelism is the parallelism of the columns from which the singular values of a matrix count as
// decaying, or the rank as low. It is 1.3 for geometric ones with κ = 10, and 3 for products of random
// matrices of rank n/2. From there on a preconditioner costs no more than it saves.
const decayingParallelism = 1.3

// Where columns have the same norm but for evenNorms, and their parallelism is below closeParallelism·n², the
// singular values are so close to each other that float32 does not tell their vectors apart.
const evenNorms, closeParallelism = 1.1, 2e-10

// prepared is X, what the Jacobi method works on, and how it came from the matrix that was read.
type prepared struct {
	origin
	x        *matrix.Matrix
	positive int    // columns of X with sign +1
	rising   bool   // all have −1, for which the singular values of its SVD are sorted the other way round
	steps    []step // that were done, in order
	needs    sides  // the vectors of A that are needed
	method   method
	// Rᵀ, if V is to come from it: R = X·Q₂ᵀ has the left vectors of X, and Q₂ need not be applied; or Xᵀ, if
	// the first sweeps are in float32
	kept     *matrix.Matrix
	deflated *deflation // of a hyperbolic SVD of lower rank, nil otherwise
	rank     Rank
	// unranked says that the rank is taken to be full until the decomposition is known; grading is for
	// finding it then.
	unranked bool
	grading  matrix.Grading
}

// step is something that was done to a matrix. Back turns the singular vectors of what it has made into those
// of what it was given; either may be nil if it is not needed. It is collective.
type step interface {
	Back(u, v *matrix.Matrix) (*matrix.Matrix, *matrix.Matrix, error)
}

// method is what was chosen to be done.
type method struct {
	precondition Preconditioner
	bySVD        bool // a hyperbolic SVD by way of the SVD
	graded       bool // rows or columns differ much in size
	decaying     bool // the singular values do, so columns are nearly parallel
	// for QR: X = Rᵀ with the triangular factor R of a tall matrix as it is
	unpivoted bool
	turned    bool // for QRLQ: the transpose of the matrix is factored
	v         RightVectors
	// there is no room for X beside the block-columns of the Jacobi method, which reads it again from the file
	reread bool
	// the first sweeps are in float32, and their result is refined
	ladder bool
	reason reasons
}

// reasons say why what was chosen was chosen.
type reasons struct{ precondition, v, precision string }

// norms says what is known of those of the columns of X of an SVD.
func (m method) norms() jacobi.Norms {
	switch {
	case m.precondition == NoPreconditioner:
		return jacobi.AnyNorms
	case m.graded:
		return jacobi.Graded
	case m.decaying:
		return jacobi.Decaying
	}
	return jacobi.Falling
}

// used returns the choices, as info.json tells them.
func (m method) used() (precondition, v, precision Choice) {
	precondition = Choice{m.precondition.String(), m.reason.precondition}
	if m.bySVD {
		precondition.Used = "svd"
	}
	precision = Choice{"float64", m.reason.precision}
	if m.ladder {
		precision.Used = "float32, refined"
	}
	return precondition, Choice{m.v.String(), m.reason.v}, precision
}

// prepare makes X from the matrix. It is collective.
func prepare(ctx context.Context, s site, t Task, in input) (p prepared, err error) {
	err = s.timed("precondition", func() error {
		g, err := matrix.Measure(in.x)
		if err != nil {
			return err
		}
		in.total = totalOf(g.Columns, in.signature.positive)
		if in.probe, err = probeOf(in.x); err != nil {
			return err
		}
		parallelism, err := matrix.Parallelism(in.x)
		if err != nil {
			return err
		}
		side, err := sidesOf(in, g)
		if err != nil {
			return err
		}
		m, err := affordable(s, t, in.origin, choose(t, in, s.devices[0].Limits(), g, parallelism, side))
		if err != nil {
			return err
		}
		p = prepared{origin: in.origin, x: in.x, positive: in.signature.positive, rising: in.signature.rising,
			needs: t.needs(), method: m, grading: g}
		if in.hyperbolic() {
			p, err = prepareHyperbolic(ctx, s, t, p)
		} else {
			p, err = triangular(p)
		}
		return err
	})
	return p, err
}

// triangular makes X of an SVD, by the QR and LQ factorizations that were chosen. It is collective.
func triangular(p prepared) (prepared, error) {
	switch p.method.precondition {
	case NoPreconditioner:
		return p, nil
	case QR:
		if p.method.unpivoted {
			p.rank = pivotedRank(p.origin.n, p.origin.n)
			return transposed(p, nil, p.x.N)
		}
	case QRLQ:
		q, r, order, err := inOrder(p)
		if err != nil {
			return p, err
		}
		if r != nil {
			p.x.Free()
			p.x = r
			if p.method.turned {
				p.steps = append(p.steps, transposition{})
				p.needs.Left, p.needs.Right = p.needs.Right, p.needs.Left
			}
			p.steps = append(p.steps, leftFactor{q, r.N})
			if p.method.graded {
				p.rank = pivotedRank(r.N, r.N)
				p.steps = append(p.steps, columnOrder(matrix.Inverse(order)))
			}
			if !p.needs.Left {
				q.Free()
			}
			return transposed(p, nil, r.N)
		}
		p.method.turned = false
		p.method.precondition = QRCPLQ
		p.method.reason.precondition += "; some columns depend on others, so they are pivoted"
	}
	return pivoted(p)
}

// pivoted factors X = Q·R, with rows sorted unless R is all that is wanted, and columns pivoted. It is
// collective.
func pivoted(p prepared) (prepared, error) {
	rows := matrix.Natural(p.x.M)
	if p.method.precondition != QR {
		rows = matrix.Decreasing(p.grading.Rows)
		sorted, err := p.x.Rows(rows)
		if err != nil {
			return p, err
		}
		p.x.Free()
		p.x = sorted
		p.steps = append(p.steps, rowSort(rows))
	}
	noise, err := rankNoise(p.origin, p.x, p.grading, rows)
	if err != nil {
		return p, err
	}
	q, place, rank, _, err := matrix.FactorPivoted(p.x, noise, p.orthonormal)
	if err != nil {
		return p, err
	}
	p.rank = pivotedRank(p.x.N, rank)
	n, order := p.x.N, p.x.N
	if p.method.precondition == QRCPLQ && !p.rising && q.Count() > 0 {
		order = q.Count() // the other rows of R are zero
		p.positive = order
	}
	p.steps = append(p.steps, leftFactor{q, n}, columnOrder(place))
	if !p.needs.Left {
		q.Free()
	}
	return transposed(p, place, order)
}

// transposed makes X of the first rows of R, as many as `order`; column j of x is column place[j] of R. It is
// collective.
func transposed(p prepared, place []int, order int) (prepared, error) {
	t, err := p.x.Transpose(place, order)
	if err != nil {
		return p, err
	}
	p.x.Free()
	p.x = t
	if m := p.method.precondition; m != QRCPLQ && m != QRLQ {
		p.steps = append(p.steps, transposition{})
		return p, nil
	}
	if p.method.v == FromLeft {
		if p.kept, err = p.x.Clone(); err != nil {
			return p, err
		}
		q2, x, err := lower(p.x)
		q2.Free() // it is not needed
		p.x = x
		return p, err
	}
	q2, x, err := factored(p.x)
	if !p.needs.Right {
		q2.Free()
	}
	if p.method.ladder && err == nil && p.x.M == p.x.N {
		p.kept = p.x
	} else {
		p.x.Free()
	}
	p.x, p.steps = x, append(p.steps, rightFactor{q2})
	return p, err
}

// factored factors Rᵀ = Q₂·Xᵀ, which it overwrites by Xᵀ, and returns Q₂ and the lower triangular X. It is
// collective.
func factored(transposed *matrix.Matrix) (q2 *matrix.Orthogonal, x *matrix.Matrix, err error) {
	if q2, err = matrix.Factor(transposed); err == nil {
		x, err = transposed.Transpose(nil, transposed.N)
	}
	return q2, x, err
}

// lower is factored, and gives the memory of Xᵀ back. It is collective.
func lower(transposed *matrix.Matrix) (q2 *matrix.Orthogonal, x *matrix.Matrix, err error) {
	q2, x, err = factored(transposed)
	transposed.Free()
	return q2, x, err
}

// choose decides what to do on devices of these limits, from the sizes of rows and columns, the parallelism
// of the columns, and the sides that are graded.
func choose(t Task, in input, limits kernels.Limits, g matrix.Grading, parallelism float64,
	side gradedSides) method {
	rows, columns := matrix.Ratio(g.Rows), matrix.Ratio(g.Columns)
	m := method{graded: rows >= gradedRatio || columns >= gradedRatio,
		decaying: parallelism >= decayingParallelism}
	because := func(p Preconditioner, format string, a ...any) {
		m.precondition, m.reason.precondition = p, fmt.Sprintf(format, a...)
	}
	both := in.hyperbolic()
	switch {
	case t.Precondition == QRLQ && side == bothGraded:
		because(QRCPLQ, "the matrix is graded: qr-lq, which was asked for, would lose digits of small singular "+
			"values")
	case t.Precondition != AutoPreconditioner:
		because(t.Precondition, "as asked for")
	case both && rows >= steepRatio:
		m.bySVD = true
		because(QR, "graded: the max-norms of the rows differ by a factor of %.2g", rows)
	case both && (rows >= gradedRatio || in.x.M > in.x.N):
		because(QR, "the hyperbolic SVD of the triangular factor is that of the matrix")
	case both:
		because(NoPreconditioner, "the columns keep their signs in the hyperbolic SVD")
	case side == columnsGraded:
		because(QRLQ, "graded: the norms of the columns differ by a factor of %.2g; so they are sorted", columns)
	case side == rowsGraded:
		because(QRLQ, "graded: the max-norms of the rows differ by a factor of %.2g; so they are sorted, and the "+
			"transpose is factored", rows)
	case m.graded:
		because(QRCPLQ, "graded: the max-norms of the rows differ by a factor of %.2g, the norms of the "+
			"columns by %.2g", rows, columns)
	case m.decaying:
		because(QRLQ, "the singular values decay: the mean square of the cosines between columns is %.2g times "+
			"that of random ones; so there are fewer sweeps", parallelism)
	case in.slabs != nil:
		m.unpivoted = !in.slabs.ByReflectors() && columns < evenRatio
		because(QR, "the triangular factor of a tall matrix, transposed")
	case in.x.M > in.x.N && t.Low(limits):
		because(QRLQ, "the first sweeps, in float32, take a square matrix")
	default:
		because(NoPreconditioner, "rows and columns are of about the same size and in all directions")
	}
	m.turned = m.precondition == QRLQ && side == rowsGraded
	switch m.reason.precision = t.refused(limits); {
	case m.reason.precision != "":
	case rows*columns >= extremeRatio:
		m.reason.precision = fmt.Sprintf("graded by factors of %.2g (rows) and %.2g (columns): sweeps in float32 "+
			"would not serve", rows, columns)
	case m.precondition == NoPreconditioner && (m.graded || m.decaying || in.x.M > in.x.N):
		m.reason.precision = "the first sweeps would need a preconditioner to be of float32"
	case columns < evenNorms && parallelism < closeParallelism*float64(in.x.N)*float64(in.x.N):
		m.reason.precision = "the singular values are nearly equal: float32 would not tell their vectors apart"
	default:
		m.ladder, m.reason.precision = true, "faster, and as accurate"
	}
	m.v, m.reason.v = chooseRight(t, both, m)
	return m
}

// lowOrder is the order from which on `auto` takes float32 for the first sweeps, 0 for never. Tests
// change it.
var lowOrder = func(limits kernels.Limits) int { return limits.Float32.Order }

// Low tells whether the first sweeps may be in float32 on devices of these limits.
func (t Task) Low(limits kernels.Limits) bool { return t.refused(limits) == "" }

// refused tells why the first sweeps are not to be in float32, "" if they may be.
func (t Task) refused(limits kernels.Limits) string {
	switch {
	case t.Precision == Float64:
		return "as asked for"
	case t.Signs != nil:
		return "hyperbolic rotations need it"
	case t.V != AutoRight:
		return "how V is got was asked for"
	case !limits.Float32.Pivots:
		return "the devices have no sweeps in float32"
	case t.Precision == Float32:
		return ""
	case lowOrder(limits) == 0:
		return "as fast on these devices"
	case t.N < lowOrder(limits):
		return "the matrix is small"
	}
	return ""
}

// chooseRight decides how the right singular vectors of X are found.
func chooseRight(t Task, hyperbolic bool, m method) (RightVectors, string) {
	needed := t.needs().Right
	switch {
	case m.turned: // or not, where columns depend on each other
		needed = t.needs().any()
	case transposes(m.precondition, hyperbolic):
		needed = t.needs().Left
	}
	switch {
	case hyperbolic:
		return Accumulate, "it shows whether a hyperbolic SVD is right"
	case !needed:
		return noRight, "not needed for the vectors that are wanted"
	case m.ladder:
		return Refined, "it is refined with U"
	case t.V != AutoRight:
		return t.V, "as asked for"
	case m.graded:
		return Accumulate, "the matrix is graded: so the vectors of small singular values are accurate too"
	}
	return FromLeft, "faster, and as small a residual"
}

// affordable returns the method if there is memory for it. Otherwise it returns one that needs less for
// the same accuracy: all sweeps are in float64, then V is carried instead of formed at the end, then the
// matrix is read again instead of kept. If there is no room for these either, the failure tells what the
// last needs. It is collective.
func affordable(s site, t Task, o origin, m method) (method, error) {
	less := []method{m}
	if m.ladder {
		m.ladder, m.reason.precision = false, "there is no room to refine what float32 gives"
		m.v, m.reason.v = chooseRight(t, false, m)
		less = append(less, m)
	}
	if m.precondition == NoPreconditioner && !o.hyperbolic() && o.slabs == nil {
		if m.v == FromLeft && t.V == AutoRight {
			m.v, m.reason.v = Accumulate, "there is no room to form them at the end"
			less = append(less, m)
		}
		if m.v != FromLeft {
			m.reread = true
			m.reason.precondition += "; the matrix is read twice, since there is no room to keep it"
			less = append(less, m)
		}
	}
	var last error
	for _, m := range less {
		last = s.fits(t, m.ways(t, o), true)
		var refused *comm.Failure
		if last == nil || !errors.As(last, &refused) {
			return m, last
		}
	}
	return less[0], last
}

// transposes tells whether the Jacobi method works on the transpose of a triangular factor, so that its left
// vectors are on the right side of A.
func transposes(p Preconditioner, hyperbolic bool) bool { return !hyperbolic && (p == QR || p == QRCP) }
