package matrix

import (
	"math/rand/v2"
	"slices"

	"jmpi/dist/comm"
	"jmpi/internal/dense"
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
// 2⁴⁰ or so. It is collective.
func SumTwice(c comm.Comm, mine []float64) ([]float64, error) {
	all, err := comm.Gather(c, mine)
	if err != nil {
		return nil, err
	}
	n := len(mine) / 2
	high, low := make([]float64, n), make([]float64, n)
	for _, x := range all {
		AddPair(high, low, x)
	}
	for i := range high {
		high[i] += low[i]
	}
	return high, nil
}

// AddPair adds x, high parts and then low ones, to high + low.
func AddPair(high, low, x []float64) {
	for i := range high {
		s, e := kernels.TwoSum(high[i], x[i])
		high[i], low[i] = s, low[i]+e+x[len(high)+i]
	}
}

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
	y := make([]float64, 0, len(x))
	for ; len(x) > 0; x = x[len(f):] {
		for i, e := range f {
			y = append(y, x[i]*e)
		}
	}
	return y
}
