package refine

import (
	"math"
	"slices"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/dist/matrix"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// on returns so many CPU devices of a rank.
func on(t testing.TB, world comm.Comm, count int) *matrix.Devices {
	var backends []kernels.Backend
	for range count {
		backends = append(backends, disttest.OpenHost(t, 1))
	}
	d, err := matrix.NewDevices(world, backends, true)
	must(t, err)
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// load returns the matrix with these elements, column-major.
func load(t testing.TB, d *matrix.Devices, m, n int, a []float64) *matrix.Matrix {
	s, err := d.Load(m, n, matrix.Source{Read: func(p matrix.Part) error {
		for j := range p.N {
			copy(p.Data[j*p.Ld:j*p.Ld+p.M], a[(p.Column+j)*m+p.Row:])
		}
		return nil
	}})
	must(t, err)
	return s
}

// elements returns those that this rank has; the others are 0.
func elements(t testing.TB, s *matrix.Matrix) []float64 {
	a := make([]float64, s.M*s.N)
	must(t, s.EachBlock(func(j0, j1 int, x []float64) error {
		copy(a[j0*s.M:j1*s.M], x)
		return nil
	}))
	return a
}

// lower returns the lower triangular X of a square matrix, rows sorted, columns pivoted.
func lower(t testing.TB, n int, a []float64) []float64 {
	d := on(t, comm.NewLocal(1)[0], 1)
	s := load(t, d, n, n, a)
	g, err := matrix.Measure(s)
	must(t, err)
	s, err = s.Rows(matrix.Decreasing(g.Rows))
	must(t, err)
	_, place, _, _, err := matrix.FactorPivoted(s, dense.Noise{}, false)
	must(t, err)
	s, err = s.Transpose(place, n)
	must(t, err)
	_, err = matrix.Factor(s)
	must(t, err)
	s, err = s.Transpose(nil, n)
	must(t, err)
	return elements(t, s)
}

// single is a matrix whose columns are of about the length 1, of float32, with norms of their own.
type single struct {
	n       int
	columns [][]float32
	norms   []float64
}

// transposed returns the columns of xᵀ by decreasing norms.
func transposed(n int, x []float64) *single {
	s := &single{n: n}
	all := make([][]float64, n)
	norms := make([]float64, n)
	for j := range n {
		for i := range n {
			all[j] = append(all[j], x[j+i*n])
		}
		norms[j] = kernels.Norm2(all[j])
	}
	for _, j := range matrix.Decreasing(norms) {
		column := make([]float32, n)
		for i, e := range all[j] {
			column[i] = float32(e / norms[j])
		}
		s.columns, s.norms = append(s.columns, column), append(s.norms, norms[j])
	}
	return s
}

func dot32(x, y []float32) (sum float64) {
	var part [8]float32
	for i := range x {
		part[i%8] += x[i] * y[i]
	}
	for _, e := range part {
		sum += float64(e)
	}
	return sum
}

// sweep makes each pair of columns orthogonal whose cosine exceeds the tolerance. It returns the largest one.
func (s *single) sweep(tolerance float64) (largest float64) {
	for p := range s.n {
		for q := p + 1; q < s.n; q++ {
			x, y := s.columns[p], s.columns[q]
			c := dot32(x, y)
			largest = max(largest, math.Abs(c))
			if math.Abs(c) <= tolerance {
				continue
			}
			dp, dq := s.norms[p], s.norms[q]
			cot := (dq/dp - dp/dq) / (2 * c)
			tan := 1 / (math.Abs(cot) + math.Hypot(1, cot))
			if cot < 0 {
				tan = -tan
			}
			cos := 1 / math.Hypot(1, tan)
			sin := tan * cos
			np, nq := dp*math.Sqrt(max(1-tan*c*dq/dp, 1e-16)), dq*math.Sqrt(max(1+tan*c*dp/dq, 1e-16))
			a, b := float32(cos*(dp/np)), float32(sin*(dq/np))
			e, f := float32(sin*(dp/nq)), float32(cos*(dq/nq))
			for i := range x {
				x[i], y[i] = a*x[i]-b*y[i], e*x[i]+f*y[i]
			}
			s.norms[p], s.norms[q] = np*normalize(x), nq*normalize(y)
			if s.norms[p] < s.norms[q] {
				s.columns[p], s.columns[q], s.norms[p], s.norms[q] = y, x, s.norms[q], s.norms[p]
			}
		}
	}
	return largest
}

func normalize(x []float32) float64 {
	norm := math.Sqrt(dot32(x, x))
	for i := range x {
		x[i] = float32(float64(x[i]) / norm)
	}
	return norm
}

// rough returns right singular vectors of x as sweeps in float32 give them, and how many there were.
func rough(n int, x []float64) (v []float64, sweeps int) {
	s := transposed(n, x)
	for sweeps = 1; sweeps <= 20 && s.sweep(3e-6) > 3e-6; sweeps++ {
	}
	for _, j := range matrix.Decreasing(s.norms) {
		column := make([]float64, n)
		for i, e := range s.columns[j] {
			column[i] = float64(e)
		}
		norm := kernels.Norm2(column)
		for i := range column {
			column[i] /= norm
		}
		v = slices.Concat(v, column)
	}
	return v, sweeps
}
