package kernels

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactNorm is ‖x‖₂ in numbers of 5000 bits, which hold sums of squares of any float64 exactly.
func exactNorm(x []float64) float64 {
	sum := new(big.Float).SetPrec(5000)
	for _, v := range x {
		b := new(big.Float).SetPrec(5000).SetFloat64(v)
		sum.Add(sum, b.Mul(b, b))
	}
	f, _ := sum.Sqrt(sum).Float64()
	return f
}

func TestNorm2(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 1))
	for _, exponents := range [][2]int{{0, 0}, {-5, 5}, {-520, -500}, {500, 520}, {-1074, -1070}, {-1074, -500},
		{1000, 1015}, {-600, 600}, {-1074, 1015}} {
		for _, n := range []int{0, 1, 2, 7, 8, 9, 100, 1001} {
			x := make([]float64, n)
			for i := range x {
				e := exponents[0] + rnd.IntN(exponents[1]-exponents[0]+1)
				x[i] = math.Ldexp(rnd.Float64()*2-1, e)
			}
			got, want := Norm2(x), exactNorm(x)
			if e := math.Abs(got - want); e > float64(n/8+8)*UnitRoundoff*want+0x1p-1074 {
				t.Errorf("n = %d, exponents %v: %g, want %g, relative error %g", n, exponents, got, want, e/want)
			}
		}
	}
}

func TestNorm2Special(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{nil, 0}, {[]float64{0, math.Copysign(0, -1)}, 0}, {[]float64{5e-324}, 5e-324},
		{[]float64{-math.MaxFloat64}, math.MaxFloat64},
		{[]float64{1, -inf}, inf}, {[]float64{inf, nan}, nan}, {[]float64{nan, 0}, nan},
		{[]float64{0, 3e-320, 4e-320}, 5e-320},
	} {
		got := Norm2(c.x)
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) && math.Abs(got-c.want) > 0x1p-1073 {
			t.Errorf("Norm2(%v) = %g, want %g", c.x, got, c.want)
		}
	}
}

// The plain sum has the bits of the sum over a range that leaves nothing out, and the extremes are found
// wherever they stand.
func TestNorm2Parts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 2))
	special := []float64{0, math.Copysign(0, -1), 5e-324, -5e-324, math.MaxFloat64, math.Inf(-1), 1, -0x1p-1022}
	for range 2000 {
		x := make([]float64, rnd.IntN(40))
		for i := range x {
			if x[i] = rnd.NormFloat64(); rnd.IntN(3) == 0 {
				x[i] = special[rnd.IntN(len(special))]
			}
		}
		if got, want := allSquares(x), sumSquares(x, 1, 0, math.NaN()); got != want {
			t.Fatalf("%v: %g, want %g", x, got, want)
		}
		wantLargest, wantSmallest := 0.0, math.Inf(1)
		for _, v := range x {
			wantLargest = max(wantLargest, math.Abs(v))
			if v != 0 {
				wantSmallest = min(wantSmallest, math.Abs(v))
			}
		}
		if largest, smallest := extremes(x); largest != wantLargest || smallest != wantSmallest {
			t.Fatalf("%v: %g and %g, want %g and %g", x, largest, smallest, wantLargest, wantSmallest)
		}
		if len(x) > 0 {
			x[rnd.IntN(len(x))] = math.NaN()
			if largest, _ := extremes(x); !math.IsNaN(largest) {
				t.Fatalf("%v: %g, want NaN", x, largest)
			}
		}
	}
}
