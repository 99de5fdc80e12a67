package dist

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"jmpi/dist/comm"
	"jmpi/internal/reference"
	"jmpi/kernels"
)

// anything draws a matrix of several kinds of structure at once: integers of low rank, repeated, zero
// and scaled rows and columns. With exact, they are scaled by powers of two, so that what is
// proportional is exactly so.
func anything(rt *rapid.T, m, n int, exact bool) []float64 {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
	a := make([]float64, m*n)
	switch rapid.SampledFrom([]string{"normal", "integers", "product", "pattern", "sparse"}).Draw(rt, "kind") {
	case "normal":
		for i := range a {
			a[i] = random.NormFloat64()
		}
	case "integers":
		for i := range a {
			a[i] = float64(random.IntN(3) - 1)
		}
	case "product":
		rank := 1 + random.IntN(n)
		for range rank {
			x, y := random.Perm(m), random.Perm(n)
			for j := range n {
				for i := range m {
					a[i+j*m] += float64(x[i]%5) * float64(y[j]%7-3)
				}
			}
		}
	case "pattern":
		p, q := 1+random.IntN(9), 1+random.IntN(9)
		for j := range n {
			for i := range m {
				a[i+j*m] = float64(i % p * (j % q) % 11)
			}
		}
	case "sparse":
		for range m {
			a[random.IntN(m*n)] = 1
		}
	}
	change := func(row bool) {
		count := n
		if row {
			count = m
		}
		from, to, f := random.IntN(count), random.IntN(count), 0.0
		switch random.IntN(3) {
		case 0:
			f = 1 // a copy
		case 1:
			power := float64(random.IntN(40) - 20)
			if f = math.Pow(10, power); exact {
				f = math.Ldexp(1, int(power/4))
			}
		}
		for l := range m * n / count {
			if row {
				a[to+l*m] = f * a[from+l*m]
			} else {
				a[l+to*m] = f * a[l+from*m]
			}
		}
	}
	for range rapid.IntRange(0, 6).Draw(rt, "changes") {
		change(random.IntN(2) == 0)
	}
	return a
}

// Matrices of all kinds, in all modes, pass the check.
func TestDecomposeAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(rt, "n")
		m := n + rapid.SampledFrom([]int{0, 1, 7, 3*n + 2, 1100}).Draw(rt, "m-n")
		a := anything(rt, m, n, false)
		task := both(m, n)
		task.Precondition = rapid.SampledFrom([]Preconditioner{AutoPreconditioner, AutoPreconditioner,
			NoPreconditioner, QR, QRCP, QRCPLQ}).Draw(rt, "precondition")
		task.V = rapid.SampledFrom([]RightVectors{AutoRight, Accumulate, FromLeft}).Draw(rt, "v")
		task.Variant = variantOf(rapid.Bool().Draw(rt, "full"))
		o, err := try(t, a, rapid.IntRange(1, 4).Draw(rt, "ranks"), rapid.IntRange(1, 2).Draw(rt, "devices"), task)
		if err != nil {
			rt.Fatal(err)
		}
		limit := 10.0
		// long sums of few different numbers, in units of n·ε
		if task.Precondition == NoPreconditioner && m > 1000 {
			limit = 50
		}
		o.verify(rt, a, limit)
	})
}

// rankOf returns the rank of a matrix of integers or fractions, m×n by columns, which it overwrites.
func rankOf(m, n int, a []*big.Rat) (rank int) {
	for j := range n {
		pivot := -1
		for i := rank; i < m && pivot < 0; i++ {
			if a[i+j*m].Sign() != 0 {
				pivot = i
			}
		}
		if pivot < 0 {
			continue
		}
		for k := range n {
			a[rank+k*m], a[pivot+k*m] = a[pivot+k*m], a[rank+k*m]
		}
		for i := rank + 1; i < m; i++ {
			f := new(big.Rat).Quo(a[i+j*m], a[rank+j*m])
			if f.Sign() == 0 {
				continue
			}
			for k := j; k < n; k++ {
				a[i+k*m].Sub(a[i+k*m], new(big.Rat).Mul(f, a[rank+k*m]))
			}
		}
		rank++
	}
	return rank
}

// exactRanks returns the ranks of A and of A·D·Aᵀ.
func exactRanks(m, n int, a, signs []float64) (of, indefinite int) {
	rational := func() []*big.Rat {
		x := make([]*big.Rat, len(a))
		for i, e := range a {
			x[i] = new(big.Rat).SetFloat64(e)
		}
		return x
	}
	x, h := rational(), make([]*big.Rat, m*m)
	for i := range m {
		for k := range m {
			h[i+k*m] = new(big.Rat)
			for j := range n {
				e := new(big.Rat).Mul(x[i+j*m], x[k+j*m])
				if signs[j] < 0 {
					e.Neg(e)
				}
				h[i+k*m].Add(h[i+k*m], e)
			}
		}
	}
	return rankOf(m, n, x), rankOf(m, m, h)
}

// The hyperbolic SVD of matrices of all kinds passes the check, or is refused where it does not exist: where
// A·D·Aᵀ has a lower rank than A.
func TestHyperbolicAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 14).Draw(rt, "n")
		m := n + rapid.SampledFrom([]int{0, 0, 1, 4, 3*n + 1}).Draw(rt, "m-n")
		a := anything(rt, m, n, true)
		whole := !slices.ContainsFunc(a, func(x float64) bool { return x != math.Round(x) || math.Abs(x) > 1e6 })
		// a matrix that is not well-conditioned times this one, without rounding
		if rapid.Bool().Draw(rt, "powers") && m < 7 && whole {
			worse := make([]float64, m*n)
			for j := range n {
				for i := range m {
					for k := range m {
						worse[i+j*m] += math.Pow(float64(i+1), float64(k)) * a[k+j*m]
					}
				}
			}
			a = worse
		}
		task := signed(m, n, rapid.IntRange(0, n).Draw(rt, "positive"), rapid.Uint64().Draw(rt, "signs"))
		task.Precondition = rapid.SampledFrom([]Preconditioner{AutoPreconditioner, AutoPreconditioner,
			NoPreconditioner, QR}).Draw(rt, "precondition")
		task.Variant = variantOf(rapid.Bool().Draw(rt, "full"))
		trust := rapid.Bool().Draw(rt, "trust")
		defer func(f func(kernels.Limits) bool) { trusting = f }(trusting)
		trusting = func(kernels.Limits) bool { return trust }
		rt.Logf("A = %d×%d by columns %v, signs %v, precondition %s, variant %v", m, n, a, task.Signs,
			task.Precondition, task.Variant)
		o, err := try(t, a, rapid.IntRange(1, 4).Draw(rt, "ranks"), rapid.IntRange(1, 2).Draw(rt, "devices"), task)
		rank, indefinite := exactRanks(m, n, a, task.Signs)
		if indefinite < rank {
			var f *comm.Failure
			if !errors.As(err, &f) || f.Kind != comm.NoDecomposition {
				rt.Fatalf("A has rank %d, A·D·Aᵀ %d: error %v", rank, indefinite, err)
			}
			return
		}
		if err != nil {
			rt.Fatal(err)
		}
		if o.Rank.Value != rank && Mixed(o.task.Signs) {
			rt.Errorf("rank %+v, not %d", o.Rank, rank)
		}
		o.verify(rt, a, 10)
	})
}

// Well-conditioned matrices of few different numbers with steeply scaled rows or columns: every singular
// value has a small relative error, and the rank is full.
func TestScaledAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(rt, "n")
		m := n + rapid.SampledFrom([]int{0, 0, 1, 2, 3*n + 1}).Draw(rt, "m-n")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		a := make([]float64, m*n)
		for i := range a {
			a[i] = float64(random.IntN(5) - 2)
		}
		if s, err := reference.Sigma(a, m, n, m); err != nil || !(s[n-1] > s[0]/50) {
			return
		}
		// More rows than columns are not determined row by row: those that depend on larger ones carry
		// errors of their size.
		steep, rows := rapid.SampledFrom([]int{12, 25, 40}).Draw(rt, "steep"), m == n &&
			rapid.Bool().Draw(rt, "rows")
		powers := make([]float64, max(m, n))
		for i := range powers {
			powers[i] = math.Ldexp(1, random.IntN(2*steep+1)-steep)
		}
		for j := range n {
			for i := range m {
				if rows {
					a[i+j*m] *= powers[i]
				} else {
					a[i+j*m] *= powers[j]
				}
			}
		}
		sigma, err := reference.Sigma(a, m, n, m)
		if err != nil {
			rt.Fatal(err)
		}
		task := both(m, n)
		task.Precondition = rapid.SampledFrom([]Preconditioner{AutoPreconditioner, QRCP, QRCPLQ}).Draw(rt,
			"precondition")
		rt.Logf("A = %d×%d by columns %v", m, n, a)
		o, err := try(t, a, rapid.IntRange(1, 3).Draw(rt, "ranks"), 1, task)
		if err != nil {
			rt.Fatal(err)
		}
		if o.Rank.Value != n && o.Rank.Of != "sigma against the largest" {
			rt.Errorf("rank %+v", o.Rank)
		}
		for k, want := range sigma {
			if d := math.Abs(o.s[k] - want); !(d <= 1e-12*want) {
				rt.Errorf("sigma %d is %g, not %g", k+1, o.s[k], want)
			}
		}
		o.verify(rt, a, 10)
	})
}
