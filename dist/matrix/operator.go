package matrix

import (
	"math/rand/v2"
	"slices"

	"jmpi/dist/comm"
	"jmpi/internal/dense"
	"jmpi/internal/parallel"
	"jmpi/kernels"
)

// Operator is a matrix that can be multiplied by a few vectors, wherever it lies.
type Operator interface {
	// Times returns the matrix, or its transpose, times so many vectors; they follow one another, as those of
	// the result do. Every rank gives the same ones and gets the same result, whose bits do not depend on the
	// number of ranks. It is collective.
	Times(transposed bool, x []float64, count int) ([]float64, error)
}

// SumTwice adds the vectors of all ranks, high parts first and then low ones, in twice the working
// precision, and rounds: so the bits of the sum do not depend on who has which terms, but for one case in
// 2⁴⁰ or so. It uses mine up. It is collective.
func SumTwice(c comm.Comm, mine []float64) ([]float64, error) {
	all, err := comm.Gather(c, mine)
	if err != nil {
		return nil, err
	}
	sum := all[0] // mine, or a copy
	for _, x := range all[1:] {
		AddPair(sum, x)
	}
	high, low := halves(sum)
	for i := range high {
		high[i] += low[i]
	}
	return high, nil
}

// AddPair adds x to a sum, both high parts and then low ones.
func AddPair(sum, x []float64) {
	high, low := halves(sum)
	h, l := halves(x)
	parallel.Chunks(len(high), longLoop, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			s, e := kernels.TwoSum(high[i], h[i])
			high[i], low[i] = s, low[i]+e+l[i]
		}
	})
}

// longLoop is how many numbers a core takes at a time in loops over vectors: some 10 µs of work.
const longLoop = 1 << 13

// halves returns the high parts, and the low ones.
func halves(x []float64) (high, low []float64) { return x[:len(x)/2], x[len(x)/2:] }

// ScaledColumns is M·diag(f).
type ScaledColumns struct {
	Operator
	Factors []float64
}

func (s ScaledColumns) Times(transposed bool, x []float64, count int) ([]float64, error) {
	if !transposed {
		return s.Operator.Times(false, ScaledBy(x, s.Factors), count)
	}
	y, err := s.Operator.Times(true, x, count)
	if err != nil {
		return nil, err
	}
	return ScaledBy(y, s.Factors), nil
}

// Mirrored is J·M·J.
type Mirrored struct {
	Operator
	Positive int
}

func (m Mirrored) Times(transposed bool, x []float64, count int) ([]float64, error) {
	y, err := m.Operator.Times(transposed, m.reflected(x, count), count)
	if err != nil {
		return nil, err
	}
	return m.reflected(y, count), nil
}

func (m Mirrored) reflected(x []float64, count int) []float64 { return Reflected(x, count, m.Positive) }

// Reflected returns J·x for so many vectors, J = diag(I_positive, −I).
func Reflected(x []float64, count, positive int) []float64 {
	y := slices.Clone(x)
	for k, n := 0, len(x)/max(1, count); k < count; k++ {
		dense.Negate(y[k*n+positive : (k+1)*n])
	}
	return y
}

// RandomNormal returns so many vectors of normally distributed numbers, always the same ones for a seed and a
// stream, on every rank.
func RandomNormal(n, count int, seed, stream uint64) []float64 {
	random := rand.New(rand.NewPCG(seed, stream))
	x := make([]float64, n*count)
	for i := range x {
		x[i] = random.NormFloat64()
	}
	return x
}

// ScaledBy returns vectors that follow one another, their elements times those of f.
func ScaledBy(x, f []float64) []float64 {
	y := make([]float64, len(x))
	parallel.All(len(x)/max(1, len(f)), 1, func(k int) {
		from, to := x[k*len(f):], y[k*len(f):]
		for i, e := range f {
			to[i] = from[i] * e
		}
	})
	return y
}
