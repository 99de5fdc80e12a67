package dist

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/gonum"

	"jmpi/internal/dense"
	"jmpi/internal/parallel"
	"jmpi/kernels"
)

// operator is a matrix that can be multiplied by a few vectors, wherever it lies.
type operator interface {
	// times returns the matrix, or its transpose, times so many vectors; they follow one another, as those of the result do. Every rank
	// gives the same ones and gets the same result, whose bits do not depend on the number of ranks. It is collective.
	times(transposed bool, x []float64, count int) ([]float64, error)
}

// times is that of operator.
func (s *sheet) times(transposed bool, x []float64, count int) ([]float64, error) {
	blas := gonum.Implementation{}
	if transposed {
		y := make([]float64, s.n*count)
		err := s.columns(func(j int, c []float64) error {
			for k := range count {
				y[k*s.n+j] = blas.Ddot(s.m, c, 1, x[k*s.m:(k+1)*s.m], 1)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		return gatherEach(s, y, count)
	}
	sum := make([]float64, 2*s.m*count)
	for b := range s.blocks() {
		c := s.own[b]
		if c == nil {
			continue
		}
		// The threads share the rows.
		err := parallel.Each(s.threads, (s.m+rowPiece-1)/rowPiece, func(i int) error {
			i0, i1 := i*rowPiece, min((i+1)*rowPiece, s.m)
			j0, j1 := s.span(b)
			for j := j0; j < j1; j++ {
				for k := range count {
					kernels.AddTwice(sum[k*s.m+i0:k*s.m+i1], sum[(count+k)*s.m+i0:(count+k)*s.m+i1], x[k*s.n+j], c[(j-j0)*s.m+i0:(j-j0)*s.m+i1])
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return sumTwice(s.comm, sum)
}

// rowPiece is the number of rows of a product that one thread works on.
const rowPiece = 512

// gatherEach gives every rank all elements of `count` vectors, of which each has those of its own columns.
func gatherEach(s *sheet, y []float64, count int) ([]float64, error) {
	for k := range count {
		part := y[k*s.n : (k+1)*s.n]
		all, err := s.gatherColumns(func(j int) float64 { return part[j] })
		if err != nil {
			return nil, err
		}
		copy(part, all)
	}
	return y, nil
}

// sumTwice adds the vectors of all ranks, high parts first and then low ones, in twice the working precision, and rounds: so the
// bits of the sum do not depend on who has which terms, but for one case in 2⁴⁰ or so. It is collective.
func sumTwice(c Comm, mine []float64) ([]float64, error) {
	all, err := gather(c, mine)
	if err != nil {
		return nil, err
	}
	n := len(mine) / 2
	high, low := make([]float64, n), make([]float64, n)
	for _, x := range all {
		addPair(high, low, x)
	}
	for i := range high {
		high[i] += low[i]
	}
	return high, nil
}

// addPair adds x, high parts and then low ones, to high + low.
func addPair(high, low, x []float64) {
	for i := range high {
		s, e := kernels.TwoSum(high[i], x[i])
		high[i], low[i] = s, low[i]+e+x[len(high)+i]
	}
}

// onDevices is the G of a Solution, or its accumulated transformation W.
type onDevices struct {
	*Solution
	right bool // W
}

func (o onDevices) panel(g, w kernels.Panel) kernels.Panel {
	if o.right {
		return w
	}
	return g
}

// times is that of operator. The columns are those of the matrix that was solved, in their order.
func (o onDevices) times(transposed bool, x []float64, count int) ([]float64, error) {
	n, long := o.config.N, o.config.M
	if o.right || transposed {
		long = n
	}
	sum := make([]float64, 2*long*count) // of this rank
	err := o.each(func(r *runner, slot, column int) error {
		j0, j1 := o.Layout.Macro(column)
		p := o.panel(r.dev.Panels(slot, column, 0, o.Layout.PerMacro))
		if transposed {
			part, err := r.dev.Backend.Product(p, true, x, count)
			for k := range count {
				copy(sum[k*n+j0:k*n+j1], part[k*(j1-j0):])
			}
			return err
		}
		factors := make([]float64, 0, (j1-j0)*count)
		for k := range count {
			factors = append(factors, x[k*n+j0:k*n+j1]...)
		}
		part, err := r.dev.Backend.Product(p, false, factors, count)
		if err == nil {
			addPair(sum[:long*count], sum[long*count:], part)
		}
		return err
	})
	if err := Agree(o.comm, BadResource, err); err != nil {
		return nil, err
	}
	return sumTwice(o.comm, sum) // transposed: of each element all terms but one are zero
}

// scaledColumns is M·diag(f).
type scaledColumns struct {
	operator
	f []float64
}

func (s scaledColumns) times(transposed bool, x []float64, count int) ([]float64, error) {
	if !transposed {
		return s.operator.times(false, scaledBy(x, s.f), count)
	}
	y, err := s.operator.times(true, x, count)
	if err != nil {
		return nil, err
	}
	return scaledBy(y, s.f), nil
}

// mirrored is J·M·J.
type mirrored struct {
	operator
	positive int
}

func (m mirrored) times(transposed bool, x []float64, count int) ([]float64, error) {
	y, err := m.operator.times(transposed, m.reflected(x, count), count)
	if err != nil {
		return nil, err
	}
	return m.reflected(y, count), nil
}

func (m mirrored) reflected(x []float64, count int) []float64 { return reflected(x, count, m.positive) }

// reflected returns J·x for so many vectors, J = diag(I_positive, −I).
func reflected(x []float64, count, positive int) []float64 {
	y := slices.Clone(x)
	for k, n := 0, len(x)/max(1, count); k < count; k++ {
		dense.Negate(y[k*n+positive : (k+1)*n])
	}
	return y
}

// scaledBy returns vectors that follow one another, their elements times those of f.
func scaledBy(x, f []float64) []float64 {
	y := make([]float64, len(x))
	for i, e := range x {
		y[i] = e * f[i%len(f)]
	}
	return y
}

// rootMeanSquare returns that of element j of the vectors of length n in x.
func rootMeanSquare(x []float64, n, j int) float64 {
	sum := 0.0
	for i := j; i < len(x); i += n {
		sum += x[i] * x[i]
	}
	return math.Sqrt(sum / float64(len(x)/n))
}
