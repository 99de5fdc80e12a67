package svd

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"jmpi/dist"
	"jmpi/dist/comm"
)

// Result is a decomposition A = U·diag(S)·Vᵀ of an m×n matrix. U (m×k) and V (n×k) lie on the devices of all
// ranks until Free; Gather, Columns and Parts bring them to the hosts.
type Result struct {
	// S are the k singular values: k = min(m, n), or fewer by Settings.K and RTol. Every rank has them. They are
	// non-increasing; of a hyperbolic SVD the first Positive ones are, and the others are non-decreasing.
	S []float64
	// Positive is the P of J = diag(I_P, −I) of a hyperbolic SVD, how many signs are +1; of an SVD it is k.
	Positive int
	// Rank is the numerical rank of A.
	Rank int
	// Converged is false where MaxSweeps did not suffice. S, U and V are then less accurate.
	Converged bool

	m, n  int
	world *World
	wide  bool // m < n: the transpose was decomposed
	wants Vectors
	d     *dist.Decomposition // nil for a matrix without elements
}

// SVD computes A = U·diag(S)·Vᵀ, UᵀU = VᵀV = I. In each column of U the entry of largest magnitude is
// positive. The bits are those that the command jmpi svd writes, for the same ranks, devices and settings. A
// program must Free the result. SVD is collective: every rank calls it, with the same settings.
//
// A *comm.Failure is an error that all ranks know; the world can be used further. Its Kind tells what failed:
//
//	comm.BadUse           settings, shapes or signs that do not fit, or differ among the ranks
//	comm.BadInput         the function of Func has failed, or an entry is NaN or infinite
//	comm.BadResource      memory, or a device
//	comm.NoDecomposition  the hyperbolic SVD does not exist, or float64 cannot hold it
//
// Any other error, also where ctx has ended, is of this rank alone, and the others may wait for it: the
// program must end. Where it ends with an exit code other than 0 (log.Fatal), the launcher ends all ranks;
// so does World.Comm.Abort.
func (w *World) SVD(ctx context.Context, a Source, s Settings) (*Result, error) {
	return w.guardedly(ctx, a, nil, false, s)
}

// HSVD computes the hyperbolic SVD A = U·diag(S)·Vᵀ, UᵀU = I, Vᵀ·D·V = J = diag(I_P, −I), of a matrix with
// m ≥ n, where D has the n signs, +1 or −1, on its diagonal, and P of them are +1. So A·D·Aᵀ =
// U·diag(S²)·J·Uᵀ: eigenvalues and eigenvectors of a symmetric indefinite matrix. The rows of V are in the
// order of the columns of A. All else is as for SVD.
func (w *World) HSVD(ctx context.Context, a Source, signs []float64, s Settings) (*Result, error) {
	return w.guardedly(ctx, a, signs, true, s)
}

func (w *World) guardedly(ctx context.Context, a Source, signs []float64, hyperbolic bool,
	s Settings) (r *Result, err error) {
	err = w.collective(func() error {
		r, err = w.decompose(ctx, a, signs, hyperbolic, s)
		return err
	})
	return r, err
}

// decompose is SVD and HSVD.
func (w *World) decompose(ctx context.Context, a Source, signs []float64, hyperbolic bool,
	s Settings) (*Result, error) {
	sum := fnv.New64a()
	_, _ = sum.Write(comm.BytesOf(signs)) // a hash has no errors
	options := fmt.Sprintf("%d %d %g %v %v %v %d hyperbolic %t %d signs %x", s.Vectors, s.K, s.RTol,
		s.Precondition, s.V, s.Precision, s.MaxSweeps, hyperbolic, len(signs), sum.Sum64())
	in, err := w.join(a, options, s.check())
	if err != nil {
		return nil, err
	}
	if hyperbolic {
		if err := s.checkSigns(signs, in.m, in.n); err != nil {
			return nil, &comm.Failure{Kind: comm.BadUse, Text: err.Error()}
		}
	}
	r := &Result{m: in.m, n: in.n, world: w, wide: in.m < in.n, wants: s.Vectors}
	if min(r.m, r.n) == 0 {
		r.Converged = true
		return r, nil
	}
	t := w.task(in.m, in.n, signs, s)
	t.Load = in.load
	in.serve()
	r.d, err = dist.Decompose(ctx, w.Comm, w.Devices, t)
	if known := (*comm.Failure)(nil); err != nil && !errors.As(err, &known) {
		return nil, err // the others do not come to the end
	}
	if e := in.end(); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	r.S, r.Rank, r.Converged = r.d.Sigma[:r.d.Count], r.d.Rank.Value, r.d.Converged
	r.Positive = len(r.S)
	if hyperbolic {
		r.Positive = 0
		for _, sign := range signs {
			if sign > 0 {
				r.Positive++
			}
		}
	}
	return r, nil
}

// Details has all that is known of the decomposition: what was chosen and why, sweeps, times, memory. Its
// vectors are those of Aᵀ where m < n. It is nil for a matrix without elements.
func (r *Result) Details() *dist.Decomposition { return r.d }

// Free gives the memory of the devices back. S, and what Gather and Columns have returned, stay.
func (r *Result) Free() {
	if r != nil {
		r.d.Free()
	}
}
