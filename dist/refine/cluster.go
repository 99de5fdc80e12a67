package refine

import (
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	lapackgo "gonum.org/v1/gonum/lapack/gonum"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/internal/parallel"
	"jmpi/kernels"
)

const (
	// widest is the largest number of columns of a cluster that a host takes.
	widest = kernels.TurnWidth
	// steepest is the least ratio of two norms in a cluster, since its eigenvectors have errors relative to the
	// largest.
	steepest = 0.1
)

// cluster are the columns start ≤ j < end, which large angles join.
type cluster struct{ start, end int }

// clustersOf returns the clusters of columns that are sorted by their norms: those that hosts take, and those
// that are left alone. The rows are those of the first and the last large angle of each column.
func clustersOf(rows [][2]int32, norms []float64) (taken, left []cluster) {
	var all []cluster
	for j, r := range rows {
		if r[1] < 0 {
			continue
		}
		c := cluster{min(j, int(r[0])), max(j, int(r[1])) + 1}
		for len(all) > 0 && all[len(all)-1].end > c.start {
			last := all[len(all)-1]
			c = cluster{min(c.start, last.start), max(c.end, last.end)}
			all = all[:len(all)-1]
		}
		all = append(all, c)
	}
	for _, c := range all {
		if c.width() <= widest && norms[c.end-1] >= steepest*norms[c.start] {
			taken = append(taken, c)
		} else {
			left = append(left, c)
		}
	}
	return taken, left
}

// spansOf returns where the clusters begin and end.
func spansOf(clusters []cluster) [][2]int {
	spans := make([][2]int, len(clusters))
	for i, c := range clusters {
		spans[i] = [2]int{c.start, c.end}
	}
	return spans
}

func (c cluster) width() int { return c.end - c.start }

// turn is an orthogonal matrix that makes the columns of a cluster orthogonal, column-major.
type turn struct {
	cluster
	q []float64
}

// turnsOf finds the turns of the clusters from the cosines. It is collective.
func (s *state) turnsOf(h *matrix.Matrix, clusters []cluster) (all []turn, err error) {
	if len(clusters) == 0 {
		return nil, nil
	}
	squares, err := h.Squares(spansOf(clusters))
	if err != nil {
		return nil, err
	}
	var q []float64 // of all, one after the other
	if s.x.Comm.Rank() == 0 {
		parts := make([][]float64, len(clusters))
		parallel.All(len(clusters), 1, func(i int) {
			c := clusters[i]
			parts[i] = eigenvectors(squares[i], s.norms[c.start:c.end])
		})
		q = slices.Concat(parts...)
	}
	if q, err = comm.FromRank(s.x.Comm, 0, q); err != nil {
		return nil, err
	}
	for _, c := range clusters {
		count := c.width() * c.width()
		all, q = append(all, turn{c, q[:count]}), q[count:]
	}
	return all, nil
}

// eigenvectors returns those of D·H·D, for the largest eigenvalue first. D·H·D/d₁² − I has the same ones, and
// small elements, of which the library's errors are small.
func eigenvectors(h, norms []float64) []float64 {
	k, a := len(norms), slices.Clone(h)
	for j, d := range norms {
		d /= norms[0]
		for i, e := range norms {
			a[i+j*k] *= e / norms[0] * d
		}
		a[j*(k+1)] = (d-1)*(d+1) + d*d*(h[j*(k+1)]-1)
	}
	work := make([]float64, 66*k)
	lapackgo.Implementation{}.Dsyev(lapack.EVCompute, blas.Upper, k, a, k, make([]float64, k), work, len(work))
	q := make([]float64, k*k)
	for j := range k {
		for i := range k { // a has rows, and the largest eigenvalue last
			q[i+j*k] = a[i*k+k-1-j]
		}
	}
	return orthonormal(q, k)
}

// orthonormal returns q·(3·I − qᵀ·q)/2, for nearly orthonormal columns.
func orthonormal(q []float64, k int) []float64 {
	r := slices.Clone(q)
	for j := range k {
		for l := range k {
			x, y := q[j*k:(j+1)*k], q[l*k:(l+1)*k]
			product := 0.0
			if j == l {
				product = -1
			}
			for i := range x {
				product += x[i] * y[i]
			}
			for i, e := range y {
				r[i+j*k] -= product / 2 * e
			}
		}
	}
	return r
}

// turn turns the columns of clusters, of G and of V. It is collective.
func (s *state) turn(all []turn) error {
	if len(all) == 0 {
		return nil
	}
	spans, squares, scaled := make([][2]int, len(all)), make([][]float64, len(all)), make([][]float64, len(all))
	for i, t := range all {
		spans[i], squares[i], scaled[i] = [2]int{t.start, t.end}, t.q, slices.Clone(t.q)
		for j := range scaled[i] {
			scaled[i][j] *= s.norms[t.start+j%t.width()]
		}
	}
	if s.v != nil {
		if err := s.v.Turn(spans, squares); err != nil {
			return err
		}
	}
	if s.u == nil {
		return nil
	}
	if err := s.u.Turn(spans, scaled); err != nil {
		return err
	}
	norms, err := s.u.Norms()
	if err != nil {
		return err
	}
	divisors := slices.Repeat([]float64{1}, len(norms))
	for _, t := range all {
		for j := t.start; j < t.end; j++ {
			s.norms[j], divisors[j] = norms[j], norms[j]
		}
	}
	return s.u.Divide(nil, divisors)
}
