package dist

import (
	"context"
	"fmt"

	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// trusting tells of a kind of devices whether a hyperbolic SVD that needs no preconditioning begins without
// the rank, which takes a pivoted factorization to find. A variable for the tests.
var trusting = func(limits kernels.Limits) bool { return !limits.HostMemory }

// prepareHyperbolic replaces the matrix by its triangular factor, or by one of full rank, where that
// serves. It is collective.
func prepareHyperbolic(ctx context.Context, s site, t Task, p prepared) (prepared, error) {
	if p.method.precondition == NoPreconditioner && !p.method.graded && trusting(s.devices[0].Limits()) {
		p.unranked = true
		return p, nil
	}
	return reveal(ctx, s, t, p)
}

// reveal finds the rank first. Then it replaces the matrix by its triangular factor, or splits off the
// null space. It is collective.
func reveal(ctx context.Context, s site, t Task, p prepared) (prepared, error) {
	p.unranked = false
	n := p.x.N
	sorted := matrix.Decreasing(p.grading.Rows)
	r, err := p.x.Rows(sorted)
	if err != nil {
		return p, err
	}
	noise, err := rankNoise(p.origin, r, p.grading, sorted)
	if err != nil {
		return p, err
	}
	q, place, rank, doubt, err := matrix.FactorPivoted(r, noise, true)
	if err != nil {
		return p, err
	}
	p.rank = pivotedRank(n, rank)
	if rank == 0 || rank == n && p.method.precondition == NoPreconditioner {
		p.method.precondition = NoPreconditioner
		r.Free()
		q.Free()
		return p, nil
	}
	p.x.Free()
	steps := append(p.steps, rowSort(sorted), leftFactor{q, n})
	if rank == n {
		p.steps = steps
		p.x, err = ordered(r, matrix.Natural(r.N))
		return p, err
	}
	p.method.precondition, p.method.bySVD = QRCPLQ, false
	p.method.reason.precondition = fmt.Sprintf("the matrix has rank %d: its null space is split off", rank)
	return deflate(ctx, s, t, p, triangle{r: r, place: place, rank: rank, doubt: doubt, above: steps})
}
