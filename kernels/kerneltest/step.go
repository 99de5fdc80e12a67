package kerneltest

import (
	"errors"
	"math"
	"testing"

	"jmpi/kernels"
)

// Step runs the primitives one after the other as a solver does ([Nov15, §4]), on single pivots, until
// a step has no proper rotation: the columns of [P Q] become orthogonal, and the carried V is
// orthogonal with A·V = [P Q].
func Step(t *testing.T, b kernels.Backend) {
	eachBatch(t, func(t *testing.T, g []pivot) {
		var v []pivot
		for i := range g {
			v = append(v, split(identity(g[i].p.n+g[i].q.n), g[i].p.n))
		}
		s := newBatch(t, b, g, v)
		k := g[0].p.n + g[0].q.n
		o := kernels.JacobiOptions{Schedule: RoundRobin(k + k%2), MaxSweeps: 30}
		const limit = 10
		for step := 0; ; step++ {
			must(t, b.Gram(&s.Batch))
			must(t, b.Cholesky(&s.Batch))
			must(t, b.QR(&s.Batch))
			must(t, b.Jacobi(&s.Batch, o))
			must(t, b.Multiply(&s.Batch))
			must(t, b.Sync())
			var proper int64
			for _, tally := range s.Tally {
				proper += tally.Proper
			}
			// more columns than rows: some have no direction but that of rounding errors
			if proper == 0 || g[0].p.m < k {
				break
			}
			if step == limit {
				t.Fatalf("%d proper rotations after %d steps", proper, limit)
			}
		}
		for i := range g {
			got := pivot{s.p[i].download(), s.q[i].download()}.join()
			turned := pivot{s.vp[i].download(), s.vq[i].download()}.join()
			checkSolved(t, g[i].join(), got, turned)
		}
	})
}

func checkSolved(t *testing.T, a, got, v matrix) {
	t.Helper()
	k := float64(a.n)
	if e := orthogonality(v, v.n); !(e <= 40*math.Sqrt(k)*roundoff) {
		t.Errorf("max|VᵀV − I| = %g", e)
	}
	want, bound := a.times(v), a.abs().times(ones(a.n))
	norms := make([]float64, a.n)
	for j := range a.n {
		norms[j] = kernels.Norm2(got.column(j))
		for i := range a.m {
			if e := math.Abs(got.at(i, j) - want.at(i, j)); !(e <= 40*k*roundoff*(bound.at(i, j)+norms[j])) {
				t.Fatalf("A·V(%d,%d) = %g, want %g", i, j, got.at(i, j), want.at(i, j))
			}
		}
	}
	for j := range a.n {
		for i := range j {
			if a.m < a.n || norms[i] == 0 || norms[j] == 0 {
				continue
			}
			c := math.Abs(dotScaled(got.column(i), got.column(j), norms[i], norms[j]))
			if !(c <= 10*(math.Sqrt(k)+math.Sqrt(float64(a.m)))*roundoff) {
				t.Fatalf("cosine of columns %d and %d is %g", i, j, c)
			}
		}
	}
}

// Refusals tests that shapes that do not fit are refused with ErrShape, before anything is computed.
func Refusals(t *testing.T, b kernels.Backend) {
	rnd := newRand(10)
	one := func() *batch {
		g := []pivot{split(random(rnd, 9, 5), 3)}
		return newBatch(t, b, g, []pivot{split(random(rnd, 4, 5), 3)})
	}
	options := kernels.JacobiOptions{Schedule: RoundRobin(6), MaxSweeps: 1}
	for _, c := range []struct {
		name  string
		spoil func(s *batch)
		run   func(s *batch) error
	}{
		{"Gram: too few factors", func(s *batch) { s.R = nil }, func(s *batch) error { return b.Gram(&s.Batch) }},
		{"Gram: factor too small", func(s *batch) { s.R[0] = s.R[0].Columns(0, 4) },
			func(s *batch) error { return b.Gram(&s.Batch) }},
		{"Gram: P and Q differ in rows", func(s *batch) { s.G[0].Q.M-- },
			func(s *batch) error { return b.Gram(&s.Batch) }},
		{"Cholesky: no tally", func(s *batch) { s.Tally = nil },
			func(s *batch) error { return b.Cholesky(&s.Batch) }},
		{"QR: Ld below M", func(s *batch) { s.G[0].P.Ld = 3 }, func(s *batch) error { return b.QR(&s.Batch) }},
		{"Jacobi: T missing", func(s *batch) { s.T = nil },
			func(s *batch) error { return b.Jacobi(&s.Batch, options) }},
		{"Jacobi: schedule too short", nil, func(s *batch) error {
			return b.Jacobi(&s.Batch, kernels.JacobiOptions{Schedule: RoundRobin(4), MaxSweeps: 1})
		}},
		{"Jacobi: no schedule", nil, func(s *batch) error {
			return b.Jacobi(&s.Batch, kernels.JacobiOptions{MaxSweeps: 1})
		}},
		{"Jacobi: pairs not disjoint", nil, func(s *batch) error {
			return b.Jacobi(&s.Batch, kernels.JacobiOptions{Schedule: &kernels.Schedule{Order: 6,
				Pairs: []int32{0, 1, 1, 2, 4, 5}}, MaxSweeps: 1})
		}},
		{"Jacobi: too few signs", func(s *batch) { s.Positive = []int{} },
			func(s *batch) error { return b.Jacobi(&s.Batch, options) }},
		{"Jacobi: more signs than columns", func(s *batch) { s.Positive = []int{6} },
			func(s *batch) error { return b.Jacobi(&s.Batch, options) }},
		{"Multiply: V of another order", func(s *batch) { s.V[0].P.N-- },
			func(s *batch) error { return b.Multiply(&s.Batch) }},
		{"Copy: shapes differ", nil, func(s *batch) error { return b.Copy(s.G[0].P, s.G[0].Q) }},
		{"Read: host too short", nil, func(s *batch) error { return b.Read(make([]float64, 26), 9, s.G[0].P) }},
	} {
		s := one()
		if c.spoil != nil {
			c.spoil(s)
		}
		if err := c.run(s); !errors.Is(err, kernels.ErrShape) {
			t.Errorf("%s: %v, want ErrShape", c.name, err)
		}
	}
}
