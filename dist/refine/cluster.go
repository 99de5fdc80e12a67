package refine

import (
	"slices"
	"sync"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
	"jmpi/internal/dense"
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

// turnsOf returns what finds the turns of the clusters from the cosines, as these are now. The first rank
// works on them while devices go on. Both are collective.
func (s *state) turnsOf(h *matrix.Matrix, clusters []cluster) (found func() ([]turn, error), err error) {
	if len(clusters) == 0 {
		return func() ([]turn, error) { return nil, nil }, nil
	}
	squares, err := h.Squares(spansOf(clusters))
	if err != nil {
		return nil, err
	}
	find := func() []float64 { return nil }
	if s.x.Comm.Rank() == 0 {
		norms := slices.Clone(s.norms)
		find = sync.OnceValue(func() []float64 { // of all, one after the other
			parts, order := make([][]float64, len(clusters)), matrix.Natural(len(clusters))
			slices.SortFunc(order, func(i, j int) int { return clusters[j].width() - clusters[i].width() })
			parallel.All(len(order), 1, func(at int) { // the widest first, which take longest
				i := order[at]
				c := clusters[i]
				parts[i] = eigenvectors(squares[i], norms[c.start:c.end])
			})
			return slices.Concat(parts...)
		})
		go parallel.Guard(func() { find() }, func(error) {}) // whoever asks for them has the panic too
	}
	return func() (all []turn, err error) {
		q, err := comm.FromRank(s.x.Comm, 0, find())
		if err != nil {
			return nil, err
		}
		for _, c := range clusters {
			count := c.width() * c.width()
			all, q = append(all, turn{c, q[:count]}), q[count:]
		}
		return all, nil
	}, nil
}

// eigenvectors returns those of D·H·D, for the largest eigenvalue first. D·H·D/d₁² − I has the same ones, and
// small elements, of which the library's errors are small. If it does not find them, the identity stands for
// them: the columns are not turned, and the next look tells that.
func eigenvectors(h, norms []float64) []float64 {
	k, a := len(norms), slices.Clone(h)
	for j, d := range norms {
		d /= norms[0]
		for i, e := range norms {
			a[i+j*k] *= e / norms[0] * d
		}
		a[j*(k+1)] = (d-1)*(d+1) + d*d*(h[j*(k+1)]-1)
	}
	q := make([]float64, k*k)
	if !dense.Eigenvectors(k, a) {
		for j := range k {
			q[j*(k+1)] = 1
		}
		return q
	}
	for j := range k { // a has the largest eigenvalue last
		copy(q[j*k:(j+1)*k], a[(k-1-j)*k:(k-j)*k])
	}
	return orthonormal(q, k)
}

// orthonormal returns q·(3·I − qᵀ·q)/2, for nearly orthonormal columns.
func orthonormal(q []float64, k int) []float64 {
	off, r := make([]float64, k*k), slices.Clone(q)
	for j := range k {
		off[j*(k+1)] = -1
	}
	dense.Product(true, false, k, k, k, 1, q, k, q, k, 1, off, k)
	dense.Product(false, false, k, k, k, -0.5, q, k, off, k, 1, r, k)
	return r
}

// turn turns the columns of clusters, of G and of V, and makes unit columns again. V comes first: it does not
// wait for the norms. It is collective.
func (s *state) turn(found func() ([]turn, error)) error {
	all, err := found()
	if err != nil {
		return err
	}
	spans, squares := make([][2]int, len(all)), make([][]float64, len(all))
	for i, t := range all {
		spans[i], squares[i] = [2]int{t.start, t.end}, t.q
	}
	if s.v != nil && len(all) > 0 {
		if err := s.v.Turn(spans, squares); err != nil {
			return err
		}
	}
	if s.u == nil {
		return nil
	}
	if err := s.normalize(); len(all) == 0 || err != nil {
		return err
	}
	for i, t := range all {
		squares[i] = slices.Clone(t.q)
		for j := range squares[i] {
			squares[i][j] *= s.norms[t.start+j%t.width()]
		}
	}
	if err := s.u.Turn(spans, squares); err != nil {
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
