package dist

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/dist/matrix"
	"jmpi/internal/dense"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

var (
	hyperbolicCases = flag.Int("hyperbolic", 150, "how many random matrices TestHyperbolicPairs decomposes")
	hyperbolicSeed  = flag.Uint64("hyperbolicseed", 6, "of these matrices")
)

// isotropic is the matrix of a row of ones above μ·I: its columns nearly agree, and those of different
// signs are nearly J-isotropic.
func isotropic(n int, mu float64) []float64 {
	a := make([]float64, (n+1)*n)
	for j := range n {
		a[j*(n+1)], a[j*(n+1)+1+j] = 1, mu
	}
	return a
}

// isotropicValues are its hyperbolic singular values where p of the n signs are +1: those of D·(μ²I + eeᵀ),
// which is ±μ² on vectors that are orthogonal to e within the columns of one sign, and [μ²+p q; −p −μ²−q] on
// the sums of the columns of either sign.
func isotropicValues(n, p int, mu float64) []float64 {
	s := slices.Repeat([]float64{mu}, n)
	trace, det := float64(2*p-n), -mu*mu*(mu*mu+float64(n))
	large := (trace + math.Copysign(math.Sqrt(trace*trace-4*det), trace)) / 2
	small := det / large
	s[0], s[n-1] = math.Sqrt(max(large, small)), math.Sqrt(-min(large, small))
	slices.SortFunc(s[:p], func(x, y float64) int { return -cmp.Compare(x, y) })
	slices.SortFunc(s[p:], cmp.Compare[float64])
	return s
}

// rotatedRows returns Q·A for a random orthogonal Q of order m.
func rotatedRows(a []float64, m, n int, r *rand.Rand) []float64 {
	b := slices.Clone(a)
	for range m {
		w := make([]float64, m)
		for i := range w {
			w[i] = r.NormFloat64()
		}
		dense.Normalize(w)
		for j := range n {
			c := b[j*m : (j+1)*m]
			d := 2 * disttest.Dot(0, w, c)
			for i := range c {
				c[i] -= d * w[i]
			}
		}
	}
	return b
}

// signPatterns are signs of n columns.
func signPatterns(n int, r *rand.Rand) map[string][]float64 {
	alternating, halved, random := make([]float64, n), make([]float64, n), make([]float64, n)
	for j := range n {
		alternating[j] = float64(2*(j%2) - 1)
		halved[j] = 1 - 2*float64(2*j/n)
		random[j] = float64(1 - 2*r.IntN(2))
	}
	random[0], random[n-1] = 1, -1
	return map[string][]float64{"alternating": alternating, "halved": halved, "random": random}
}

func testIsotropic(t *testing.T, run runTask, orders []int) {
	r := rand.New(rand.NewPCG(5, 5))
	cases, again := 0, 0
	for _, n := range orders {
		for _, mu := range []float64{1e-2, 1e-4, 1e-6, 0x1p-26} {
			a := isotropic(n, mu)
			for _, rotated := range []bool{false, true} {
				if rotated {
					a = rotatedRows(a, n+1, n, r)
				}
				patterns := signPatterns(n, r)
				for _, name := range slices.Sorted(maps.Keys(patterns)) { // the same matrices in every run
					signs := patterns[name]
					ranks := 1 + cases%4
					what := fmt.Sprintf("n = %d, μ = %.2g, signs %s, rotated %t, %d ranks", n, mu, name, rotated, ranks)
					task := both(n+1, n)
					task.Signs = signs
					o, err := run(t, a, ranks, task)
					if err != nil {
						t.Errorf("%s: %v", what, err)
						continue
					}
					cases++
					if o.Fidelity.Again != "" {
						again++
					}
					o.verify(t, a, 10)
					positive, square := partition(n, o.task.Signs).positive, o.VNorm*o.VNorm
					for k, want := range isotropicValues(n, positive, mu) {
						bound := 100 * kernels.Epsilon * square * want
						if rotated { // the rotation's own errors move the singular values by ε·‖A‖·‖v‖
							bound = max(bound, 100*kernels.Epsilon*math.Sqrt(float64(n))*o.VNorm)
						}
						if e := math.Abs(o.s[k] - want); !(e <= bound) {
							t.Fatalf("%s: σ_%d = %g, want %g, off by %.2g·ε·‖V‖² of it", what, k+1, o.s[k], want,
								e/want/(kernels.Epsilon*square))
						}
					}
				}
			}
		}
	}
	t.Logf("%d matrices, %d by way of the SVD after the first way", cases, again)
	if again == 0 {
		t.Error("none took the second way")
	}
}

// Where columns of different signs nearly agree, S is as good as ε·‖V‖² allows, on any number of ranks.
func TestHyperbolicIsotropic(t *testing.T) { testIsotropic(t, onCPUs, []int{4, 9, 20, 50, 64}) }

// testHyperbolicPairs decomposes [B B+δR] with both signs, and matrices with rows graded over 20
// and 60 binary digits.
func testHyperbolicPairs(t *testing.T, run runTask, count int) {
	r := rand.New(rand.NewPCG(*hyperbolicSeed, 6))
	again := 0
	for c := range count {
		n := 2 * (1 + r.IntN(24))
		m := n + r.IntN(2)*r.IntN(3)
		a := make([]float64, m*n)
		for i := range a {
			a[i] = r.NormFloat64()
		}
		signs := slices.Concat(slices.Repeat([]float64{1}, n/2), slices.Repeat([]float64{-1}, n/2))
		kind := []string{"pairs", "rows by 2^20", "rows by 2^60"}[c%3]
		switch kind {
		case "pairs":
			delta := math.Pow(10, -2-5*r.Float64())
			for i := range m * n / 2 {
				a[m*n/2+i] = a[i] + delta*a[m*n/2+i]
			}
		default:
			r.Shuffle(n, func(i, j int) { signs[i], signs[j] = signs[j], signs[i] })
			digits := 20.0
			if c%3 == 2 {
				digits = 60
			}
			for i := range m {
				f := math.Ldexp(1, -int(digits*r.Float64()))
				for j := range n {
					a[i+j*m] *= f
				}
			}
		}
		task := both(m, n)
		task.Signs = signs
		o, err := run(t, a, 1+r.IntN(4), task)
		if err != nil {
			t.Errorf("%s, %d×%d: %v", kind, m, n, err)
			continue
		}
		if o.Fidelity.Again != "" {
			again++
		}
		o.verify(t, a, 10)
		if t.Failed() {
			t.Fatalf("%s, %d×%d, case %d", kind, m, n, c)
		}
	}
	t.Logf("%d of %d by way of the SVD after the first way", again, count)
}

func TestHyperbolicPairs(t *testing.T) { testHyperbolicPairs(t, onCPUs, *hyperbolicCases) }

// The second way gives the same bits on every number of ranks, and the same S whatever vectors are wanted.
func TestHyperbolicAgainHasTheSameBits(t *testing.T) {
	const n = 20
	a := rotatedRows(isotropic(n, 0x1p-26), n+1, n, rand.New(rand.NewPCG(3, 3)))
	task := both(n+1, n)
	task.Signs = make([]float64, n)
	for j := range n {
		task.Signs[j] = float64(1 - 2*(j%2))
	}
	want := find(t, a, 1, 4, task)
	if want.Fidelity.Again == "" {
		t.Fatal("the first way has served")
	}
	for _, split := range [][2]int{{2, 2}, {4, 1}} {
		find(t, a, split[0], split[1], task).sameBits(t, want, fmt.Sprintf("%d×%d", split[0], split[1]))
	}
	for _, vectors := range [][2]bool{{false, false}, {true, false}, {false, true}} {
		task.Left, task.Right = vectors[0], vectors[1]
		if o := find(t, a, 2, 2, task); !slices.Equal(o.s, want.s) {
			t.Errorf("S has other bits for the vectors %v", vectors)
		}
	}
}

// Where float64 cannot tell, there is no decomposition, and no numbers.
func TestHyperbolicBeyondFloat64(t *testing.T) {
	const n = 12
	for _, mu := range []float64{1e-14, 1e-15} {
		task := both(n+1, n)
		task.Signs = signPatterns(n, rand.New(rand.NewPCG(1, 1)))["alternating"]
		for ranks := 1; ranks <= 2; ranks++ {
			_, err := try(t, isotropic(n, mu), ranks, 1, task)
			var f *comm.Failure
			if !errors.As(err, &f) || f.Kind != comm.NoDecomposition {
				t.Errorf("μ = %g on %d ranks: %v", mu, ranks, err)
			}
		}
	}
}

// Errors that the check would find, and of single columns, are beyond the limits; those of a right
// decomposition are far below.
func TestFidelityTellsErrors(t *testing.T) {
	const n, positive = 60, 25
	a := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 4})
	for _, comm := range comm.NewLocal(1) {
		task := both(n, n)
		task.Signs = slices.Concat(slices.Repeat([]float64{1}, positive), slices.Repeat([]float64{-1}, n-positive))
		o := find(t, a, 1, 1, task)
		p := prepared{x: matrixOf(t, comm, n, n, a), positive: positive}
		measure := func(u, s, v []float64) Fidelity {
			x, y := matrixOf(t, comm, n, n, u), matrixOf(t, comm, n, n, v)
			norm, err := y.Norm()
			if err != nil {
				t.Fatal(err)
			}
			f, err := fidelity(p, matrix.ScaledColumns{Operator: x, Factors: s},
				matrix.Mirrored{Operator: y, Positive: positive}, s, norm, false)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		right := measure(o.u, o.s, o.v)
		if !(max(right.Columns, right.Residual, right.Signs) < 0.5) {
			t.Errorf("a right decomposition: %+v", right)
		}
		norm := o.VNorm
		for k := range n {
			s := slices.Clone(o.s)
			s[k] *= 1 + 1e-10
			if f := measure(o.u, s, o.v); f.Columns <= 1 {
				t.Errorf("a wrong σ_%d: %+v", k+1, f)
			}
			v := slices.Clone(o.v)
			v[k*n+(7*k)%n] += 100 * kernels.Epsilon * norm * norm
			if f := measure(o.u, o.s, v); f.holds() {
				t.Errorf("a wrong element in column %d of V: %+v", k+1, f)
			}
		}
	}
}
