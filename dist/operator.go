package dist

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/gonum"

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
	parts := make([][]float64, s.blocks())
	err := s.each(func(b int, c []float64) error {
		part := make([]float64, s.m*count)
		j0, j1 := s.span(b)
		for j := j0; j < j1; j++ {
			for k := range count {
				blas.Daxpy(s.m, x[k*s.n+j], c[(j-j0)*s.m:(j-j0+1)*s.m], 1, part[k*s.m:(k+1)*s.m], 1)
			}
		}
		parts[b] = part
		return nil
	})
	if err != nil {
		return nil, err
	}
	return sumInOrder(s.comm, parts, s.m*count)
}

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

// gatheredNumbers bounds how many numbers sumInOrder gathers at a time.
const gatheredNumbers = 1 << 23

// sumInOrder adds vectors of the given length, each of which one rank has, in the order of their numbers: so the bits of the sum do
// not depend on who has which. It is collective.
func sumInOrder(c Comm, parts [][]float64, length int) ([]float64, error) {
	sum := make([]float64, length)
	piece := max(1, gatheredNumbers/max(1, len(parts)))
	for from := 0; from < length; from += piece {
		to := min(from+piece, length)
		var mine []float64
		for i, p := range parts {
			if p != nil {
				mine = append(append(mine, float64(i)), p[from:to]...)
			}
		}
		all, err := gather(c, mine)
		if err != nil {
			return nil, err
		}
		ordered := make([][]float64, len(parts))
		for _, message := range all {
			for ; len(message) > 0; message = message[1+to-from:] {
				ordered[int(message[0])] = message[1 : 1+to-from]
			}
		}
		for _, p := range ordered {
			for i, x := range p {
				sum[from+i] += x
			}
		}
	}
	return sum, nil
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
	l, n := o.Layout, o.config.N
	rows := o.config.M
	if o.right {
		rows = n
	}
	y := make([]float64, n*count)
	parts := make([][]float64, l.Columns)
	err := o.each(func(r *runner, slot, column int) error {
		if transposed {
			j0, j1 := l.Macro(column)
			part, err := r.dev.Backend.Product(o.panel(r.dev.Panels(slot, column, 0, l.PerMacro)), true, x, count)
			if err != nil {
				return err
			}
			for k := range count {
				copy(y[k*n+j0:k*n+j1], part[k*(j1-j0):])
			}
			return nil
		}
		for i := range l.PerMacro {
			b := column*l.PerMacro + i
			j0, j1 := l.Start(b), l.Start(b+1)
			factors := make([]float64, 0, (j1-j0)*count)
			for k := range count {
				factors = append(factors, x[k*n+j0:k*n+j1]...)
			}
			var err error
			if parts[b], err = r.dev.Backend.Product(o.panel(r.dev.Panels(slot, column, i, i+1)), false, factors, count); err != nil {
				return err
			}
		}
		return nil
	})
	if err := Agree(o.comm, BadResource, err); err != nil {
		return nil, err
	}
	if !transposed {
		return sumInOrder(o.comm, parts, rows*count)
	}
	// Every element is zero but on the rank that has its column.
	parts = make([][]float64, o.comm.Size())
	parts[o.comm.Rank()] = y
	return sumInOrder(o.comm, parts, n*count)
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
		negate(y[k*n+positive : (k+1)*n])
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
