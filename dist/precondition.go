package dist

import (
	"context"
	"errors"
	"fmt"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
)

// gradedRatio is the ratio of the largest to the smallest of the rows' max-norms, or of the columns' norms,
// from which a matrix counts as graded.
const gradedRatio = 128

// steepRatio is the ratio of the rows' max-norms from which on a hyperbolic SVD goes by way of the
// SVD: hyperbolic rotations of columns whose rows are graded leave V less J-orthogonal, and take more
// than twice as many sweeps.
const steepRatio = 1 << 14

// decayingParallelism is the parallelism of the columns from which the singular values of a matrix
// count as decaying.
const decayingParallelism = 4

// prepared is X, what the Jacobi method works on, and how it came from the matrix that was read.
type prepared struct {
	origin
	x        *matrix.Matrix
	positive int    // columns of X with sign +1
	rising   bool   // all have −1, for which the singular values of its SVD are sorted the other way round
	steps    []step // that were done, in order
	needs    sides  // the vectors of A that are needed
	method   method
	// Rᵀ, if V is to come from it: R = X·Q₂ᵀ has the left vectors of X, and Q₂ need not be applied
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
	v            RightVectors
	// there is no room for X beside the block-columns of the Jacobi method, which reads it again from the file
	reread bool
	reason [2]string // for the preconditioner and for V
}

// used returns the choices, as info.json tells them.
func (m method) used() (precondition, v Choice) {
	precondition = Choice{m.precondition.String(), m.reason[0]}
	if m.bySVD {
		precondition.Used = "svd"
	}
	return precondition, Choice{m.v.String(), m.reason[1]}
}

// prepare makes X from the matrix. It is collective.
func prepare(ctx context.Context, s site, t Task, in input) (p prepared, err error) {
	err = s.timed("precondition", func() error {
		g, err := matrix.Measure(in.x)
		if err != nil {
			return err
		}
		parallelism, err := matrix.Parallelism(in.x)
		if err != nil {
			return err
		}
		m, err := affordable(s, t, in.origin, choose(t, in, g, parallelism))
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
	m := p.method.precondition
	if m == NoPreconditioner {
		return p, nil
	}
	rows := matrix.Natural(p.x.M)
	if m != QR {
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
	if m == QRCPLQ && !p.rising && q.Count() > 0 {
		order = q.Count() // the other rows of R are zero
		p.positive = order
	}
	p.steps = append(p.steps, leftFactor{q, n}, columnOrder(place))
	if !p.needs.left {
		q.Free()
	}
	transposed, err := p.x.Transpose(place, order)
	if err != nil {
		return p, err
	}
	p.x.Free()
	p.x = transposed
	if m != QRCPLQ {
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
	q2, x, err := lower(p.x)
	if !p.needs.right {
		q2.Free()
	}
	p.x, p.steps = x, append(p.steps, rightFactor{q2})
	return p, err
}

// lower factors Rᵀ = Q₂·Xᵀ, which it uses up, and returns Q₂ and the lower triangular X. It is collective.
func lower(transposed *matrix.Matrix) (q2 *matrix.Orthogonal, x *matrix.Matrix, err error) {
	if q2, _, err = matrix.Factor(transposed, matrix.Natural(transposed.N)); err == nil {
		x, err = transposed.Transpose(nil, transposed.N)
	}
	transposed.Free()
	return q2, x, err
}

// choose decides what to do, from the sizes of rows and columns and the parallelism of the columns.
func choose(t Task, in input, g matrix.Grading, parallelism float64) method {
	rows, columns := matrix.Ratio(g.Rows), matrix.Ratio(g.Columns)
	m := method{graded: rows >= gradedRatio || columns >= gradedRatio}
	because := func(p Preconditioner, format string, a ...any) {
		m.precondition, m.reason[0] = p, fmt.Sprintf(format, a...)
	}
	both := in.hyperbolic()
	switch {
	case t.Precondition != AutoPreconditioner:
		because(t.Precondition, "as asked for")
	case both && rows >= steepRatio:
		m.bySVD = true
		because(QR, "graded: the max-norms of the rows differ by a factor of %.2g", rows)
	case both && (rows >= gradedRatio || in.x.M > in.x.N):
		because(QR, "the hyperbolic SVD of the triangular factor is that of the matrix")
	case both:
		because(NoPreconditioner, "the columns keep their signs in the hyperbolic SVD")
	case m.graded:
		because(QRCPLQ, "graded: the max-norms of the rows differ by a factor of %.2g, the norms of the "+
			"columns by %.2g", rows, columns)
	case parallelism >= decayingParallelism:
		because(QRCPLQ, "the singular values decay: the mean square of the cosines between columns is %.2g times "+
			"that of random ones; so there are fewer sweeps", parallelism)
	case in.slabs != nil:
		because(QR, "the triangular factor of a tall matrix, transposed")
	default:
		because(NoPreconditioner, "rows and columns are of about the same size and in all directions")
	}
	m.v, m.reason[1] = chooseRight(t, both, m)
	return m
}

// chooseRight decides how the right singular vectors of X are found.
func chooseRight(t Task, hyperbolic bool, m method) (RightVectors, string) {
	needed := t.needs().right
	if transposes(m.precondition, hyperbolic) {
		needed = t.needs().left
	}
	switch {
	case hyperbolic:
		return Accumulate, "it shows whether a hyperbolic SVD is right"
	case !needed:
		return noRight, "not needed for the vectors that are wanted"
	case t.V != AutoRight:
		return t.V, "as asked for"
	case m.graded:
		return Accumulate, "the matrix is graded: so the vectors of small singular values are accurate too"
	}
	return FromLeft, "faster, and as small a residual"
}

// affordable returns the method if there is memory for it. Otherwise it returns one that needs less for the
// same singular values: V is carried instead of formed at the end, then the matrix is read again instead of
// kept. If there is no room for these either, the failure tells what the first needs. It is collective.
func affordable(s site, t Task, o origin, m method) (method, error) {
	less := []method{m}
	if m.precondition == NoPreconditioner && !o.hyperbolic() && o.slabs == nil {
		if m.v == FromLeft && t.V == AutoRight {
			m.v, m.reason[1] = Accumulate, "there is no room to form them at the end"
			less = append(less, m)
		}
		if m.v != FromLeft {
			m.reread = true
			m.reason[0] += "; the matrix is read twice, since there is no room to keep it"
			less = append(less, m)
		}
	}
	var first error
	for _, m := range less {
		err := s.fits(t, m.ways(t, o), true)
		var refused *comm.Failure
		if err == nil || !errors.As(err, &refused) {
			return m, err
		}
		if first == nil {
			first = err
		}
	}
	return less[0], first
}

// transposes tells whether the Jacobi method works on the transpose of a triangular factor, so that its left
// vectors are on the right side of A.
func transposes(p Preconditioner, hyperbolic bool) bool { return !hyperbolic && (p == QR || p == QRCP) }
