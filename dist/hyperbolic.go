package dist

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// partition finds the order of the columns in which those with sign +1 come first.
func (d *Decomposition) partition() {
	t := &d.task
	t.Positive = t.N
	if t.Signs == nil {
		return
	}
	var plus, minus []int
	for j, x := range t.Signs {
		if x > 0 {
			plus = append(plus, j)
		} else {
			minus = append(minus, j)
		}
	}
	t.Positive = len(plus)
	if t.Rising = t.Positive == 0; t.Rising {
		t.Positive = t.N // the SVD, in the other order
	}
	if d.order = append(plus, minus...); slices.IsSorted(d.order) {
		d.order = nil
	}
}

// hyperbolic tells whether there are both signs.
func (d *Decomposition) hyperbolic() bool { return d.task.Positive < d.task.N }

// load reads columns of the partitioned matrix, in runs that are neighbours in A.
func (d *Decomposition) load(j0, j1 int, x []float64) error {
	if d.order == nil {
		return d.task.Load(j0, j1, x)
	}
	m := d.task.M
	for a := j0; a < j1; {
		b := a + 1
		for b < j1 && d.order[b] == d.order[b-1]+1 {
			b++
		}
		if err := d.task.Load(d.order[a], d.order[a]+b-a, x[(a-j0)*m:(b-j0)*m]); err != nil {
			return err
		}
		a = b
	}
	return nil
}

// trusting tells of a kind of devices whether a hyperbolic SVD that needs no preconditioning begins without the rank, which is found on the hosts. A
// variable for the tests.
var trusting = func(limits kernels.Limits) bool { return !limits.HostMemory }

// fullRank is the bound from which on σ_min/(‖A‖_F·‖V‖_F) says that A has full rank: for a unit vector x, ‖A·x‖ ≥ σ_min·‖Vᵀ·x‖ ≥ σ_min/‖V‖, since V⁻¹ = J·Vᵀ·D has
// the norm of V.
const fullRank = 1e-10

// confirm tells whether the decomposition shows that the matrix has full rank, as was trusted.
func (d *Decomposition) confirm() (bool, error) {
	norm, err := d.a.Norm()
	if err != nil {
		return false, err
	}
	if !d.Solution.Converged || !(slices.Min(d.Solution.Sigma) > fullRank*norm*d.Solution.VNorm) {
		return false, nil
	}
	d.Rank = Rank{d.task.N, fullRank, "the smallest of S against the norms of A and V"}
	return true, nil
}

// iterateHyperbolic runs the method, and takes the second way if the result is further from a decomposition than rounding errors explain.
func (d *Decomposition) iterateHyperbolic(ctx context.Context) error {
	if d.pre.svd && d.deflated == nil {
		return d.bySVD(ctx, "")
	}
	switch err := d.iterateRanked(ctx); {
	case err != nil && d.Solution != nil && d.Solution.Stalled:
		return d.bySVD(ctx, "columns of different signs stayed parallel")
	case err != nil || !d.Solution.Converged || d.definite():
		return err
	}
	s, begin := d.Solution, time.Now()
	f, err := d.fidelity(matrix.ScaledColumns{Operator: s.G(), Factors: s.Unscaled()}, s.W(), s.Natural(), s.VNorm, false)
	d.Host["verify"] = time.Since(begin).Seconds()
	switch {
	case err != nil:
		return err
	case !f.holds():
		return d.bySVD(ctx, fmt.Sprintf("A·W − U·S, A − U·S·Vᵀ and VᵀDV − J are %.2g, %.2g and %.2g times what rounding errors explain", f.Columns, f.Residual, f.Signs))
	case s.VNorm*s.VNorm > hugeV:
		return d.bySVD(ctx, fmt.Sprintf("‖V‖² = %.2g leaves S without correct digits", s.VNorm*s.VNorm))
	}
	d.Fidelity = &f
	return nil
}

// signs returns how many columns of what the method works on have sign +1, and whether all have −1, for which the singular values of its SVD are sorted
// the other way round.
func (d *Decomposition) signs() (positive int, rising bool) {
	f := d.deflated
	if f == nil {
		return d.task.Positive, false
	}
	if f.positive == 0 {
		return d.a.N, true
	}
	return f.positive, false
}

// definite tells whether all these columns have the same sign.
func (d *Decomposition) definite() bool {
	positive, _ := d.signs()
	return positive == d.a.N
}

// iterateRanked runs the method and, if the rank is not known yet, runs it anew where it turns out not to be full or no decomposition is found.
func (d *Decomposition) iterateRanked(ctx context.Context) error {
	err := d.solve(ctx)
	if !d.trusted {
		return err
	}
	d.trusted = false
	var f *comm.Failure
	if err != nil && !(errors.As(err, &f) && f.Kind == comm.NoDecomposition) {
		return err
	}
	if err == nil {
		if full, err := d.confirm(); full || err != nil {
			return err
		}
	}
	d.Solution.Free()
	d.Solution = nil
	begin := time.Now()
	g, err := d.a.Grading()
	if err != nil {
		return err
	}
	if err := d.reveal(ctx, g); err != nil {
		return err
	}
	d.Host["precondition"] += time.Since(begin).Seconds()
	return d.solve(ctx)
}

// preconditionHyperbolic replaces the matrix by its triangular factor, or by one of full rank, where that serves.
func (d *Decomposition) preconditionHyperbolic(ctx context.Context, g matrix.Grading) error {
	if d.pre.used == "none" && !d.pre.graded && d.V.Used == "accumulate" && trusting(d.devices[0].Limits()) {
		d.trusted = true
		return nil
	}
	return d.reveal(ctx, g)
}

// reveal does so after it has found the rank.
func (d *Decomposition) reveal(ctx context.Context, g matrix.Grading) error {
	p, n := &d.pre, d.a.N
	sorted := matrix.Decreasing(g.Rows)
	r := d.a.Rows(sorted)
	noise, err := d.rankNoise(r, g, sorted)
	if err != nil {
		return err
	}
	q, place, rank, doubt, err := r.FactorPivoted(noise, true)
	if err != nil {
		return err
	}
	d.Rank = pivotedRank(n, rank)
	switch {
	case rank == 0 || rank == n && p.used == "none":
		d.Precondition.Used, p.used = "none", "none"
		return nil
	case rank == n:
		p.sorted, p.q = sorted, q
		d.a = r.Rows(r.Natural())
		return nil
	}
	d.Precondition = Choice{"qrcp-lq", fmt.Sprintf("the matrix has rank %d: its null space is split off", rank)}
	p.used, p.sorted, p.q, p.place = "qrcp-lq", sorted, q, place
	return d.deflate(ctx, r, place, rank, doubt)
}
