package matrix

import (
	"fmt"
	"math"

	"jmpi/dist/comm"
	"jmpi/internal/dense"
	"jmpi/internal/parallel"
	"jmpi/kernels"
)

// TallRatio is the ratio of rows to columns from which a matrix is reduced to its triangular factor
// before anything else.
const TallRatio = 4

// Slabs is a tall matrix, cut into slabs of rows that lie on the ranks in order, and reduced to its
// triangular factor by a binary tree of QR factorizations (TSQR, [DGHL12]): slab i, and after it what is
// merged at i, holds reflectors. The slabs and the tree depend on the shape alone.
type Slabs struct {
	comm    comm.Comm
	threads int
	m, N    int
	count   int
	own     map[int]*qr       // slabs of this rank
	merged  map[[2]int]*qr    // by distance s and slab i: the factors of i and i+s
	factor  map[int][]float64 // n×n, upper triangular: of the slabs from i on, while the tree is climbed
}

// qr is a matrix of m rows, then its QR factorization, and then, of a slab, what of U belongs to it.
type qr struct {
	m int
	a []float64
	q *dense.QR
}

// NewSlabs cuts an m×n matrix.
func NewSlabs(comm comm.Comm, threads, m, n int) *Slabs {
	height := max(TallRatio*n, 1024)
	return &Slabs{comm: comm, threads: threads, m: m, N: n, count: max(1, m/height),
		own: map[int]*qr{}, merged: map[[2]int]*qr{}, factor: map[int][]float64{}}
}

// span returns the rows i0 ≤ i < i1 of a slab; none has fewer than n.
func (s *Slabs) span(slab int) (i0, i1 int) {
	return int(int64(slab) * int64(s.m) / int64(s.count)), int(int64(slab+1) * int64(s.m) / int64(s.count))
}

// EachSlab calls f with the slabs of this rank, in order: rows i0 ≤ i < i1, column-major. After
// Expand they are those of U.
func (s *Slabs) EachSlab(f func(i0, i1 int, a []float64) error) error {
	for _, slab := range s.mine() {
		i0, i1 := s.span(slab)
		if err := f(i0, i1, s.own[slab].a); err != nil {
			return err
		}
	}
	return nil
}

// owner returns the rank of a slab.
func (s *Slabs) owner(slab int) int { return int(int64(slab) * int64(s.comm.Size()) / int64(s.count)) }

// mine returns the slabs of this rank, in order.
func (s *Slabs) mine() (all []int) {
	for i := range s.count {
		if s.owner(i) == s.comm.Rank() {
			all = append(all, i)
		}
	}
	return all
}

// Read fills this rank's slabs; rows writes rows, row-major, and column j is taken from column
// columns[j] of them (nil: j). It returns the largest magnitude, and the largest and smallest max-norm
// of the rows that are not zero.
func (s *Slabs) Read(rows func(i0, i1 int, dst []float64) error,
	columns []int) (largest, smallest float64, err error) {
	smallest = math.Inf(1)
	for _, slab := range s.mine() {
		i0, i1 := s.span(slab)
		h := i1 - i0
		x := make([]float64, h*s.N)
		if err := rows(i0, i1, x); err != nil {
			return 0, 0, err
		}
		a := make([]float64, h*s.N)
		for i := range h {
			most := 0.0
			row := x[i*s.N : (i+1)*s.N]
			for j := range row {
				e := row[j]
				if columns != nil {
					e = row[columns[j]]
				}
				a[i+j*h] = e
				most = max(most, math.Abs(e))
			}
			if most > 0 {
				largest, smallest = max(largest, most), min(smallest, most)
			}
		}
		s.own[slab] = &qr{m: h, a: a}
	}
	return largest, smallest, nil
}

// Scale multiplies the matrix by 2^e.
func (s *Slabs) Scale(e int) {
	for _, x := range s.own {
		dense.Ldexp(x.a, e)
	}
}

// Reduce factors the slabs and climbs the tree; rank 0 ends with the factor of the whole matrix. It
// is collective.
func (s *Slabs) Reduce() error {
	mine := s.mine()
	factors := make([][]float64, len(mine))
	err := parallel.Each(s.threads, len(mine), func(i int) error {
		factors[i] = s.own[mine[i]].decompose(s.N)
		return nil
	})
	if err := comm.Agree(s.comm, comm.BadResource, err); err != nil {
		return err
	}
	for i, slab := range mine {
		s.factor[slab] = factors[i]
	}
	for distance := 1; distance < s.count; distance *= 2 {
		if err := s.level(distance, s.climb); err != nil {
			return err
		}
	}
	return nil
}

// TakeFactor returns the triangular factor of the whole matrix, n×n, and forgets it. It is collective.
func (s *Slabs) TakeFactor() (*Matrix, error) {
	r := New(s.comm, s.threads, s.N, s.N)
	for b := range r.Blocks() {
		j0, j1 := r.Span(b)
		var part []float64
		if s.comm.Rank() == 0 {
			part = s.factor[0][j0*s.N : j1*s.N]
		}
		x, err := comm.FromRank(s.comm, 0, part)
		if err != nil {
			return nil, err
		}
		if r.Own[b] != nil {
			copy(r.Own[b], x)
		}
	}
	delete(s.factor, 0)
	return r, nil
}

// level calls f for the merges at one distance that this rank has a part in: first the one whose
// factor it sends away.
func (s *Slabs) level(distance int, f func(distance, slab int) error) error {
	rank := s.comm.Rank()
	for _, sends := range []bool{true, false} {
		for i := 0; i+distance < s.count; i += 2 * distance {
			left, right := s.owner(i), s.owner(i+distance)
			if sends && right == rank && left != rank || !sends && left == rank {
				if err := f(distance, i); err != nil {
					return fmt.Errorf("matrix: QR of slabs %d and %d: %w", i, i+distance, err)
				}
			}
		}
	}
	return nil
}

// decompose factors m×n, gives the matrix up, and returns R.
func (f *qr) decompose(n int) (r []float64) {
	f.q, r = dense.NewQR(f.m, n, f.a)
	f.a = nil
	return r
}

// climb merges the factors at slab and slab+distance.
func (s *Slabs) climb(distance, slab int) error {
	n, left, right := s.N, s.owner(slab), s.owner(slab+distance)
	if left != s.comm.Rank() {
		err := s.send(s.factor[slab+distance], left)
		delete(s.factor, slab+distance)
		return err
	}
	lower := s.factor[slab+distance]
	if right != left {
		lower = make([]float64, n*n)
		if err := s.receive(lower, right); err != nil {
			return err
		}
	}
	f := &qr{m: 2 * n, a: stack(s.factor[slab], lower, n)}
	s.factor[slab] = f.decompose(n)
	delete(s.factor, slab+distance)
	s.merged[[2]int{distance, slab}] = f
	return nil
}

// stack returns the n-column matrix [upper; lower] of n rows each.
func stack(upper, lower []float64, n int) []float64 {
	a := make([]float64, 2*n*n)
	for j := range n {
		copy(a[2*j*n:], upper[j*n:(j+1)*n])
		copy(a[(2*j+1)*n:], lower[j*n:(j+1)*n])
	}
	return a
}

// Expand turns the left singular vectors of the factor into those of the matrix, which take the place of the
// reflectors. It is collective.
func (s *Slabs) Expand(u *Matrix) error {
	n := s.N
	var root []float64
	if s.comm.Rank() == 0 {
		root = make([]float64, n*n)
	}
	for b := range u.Blocks() {
		x, err := u.Broadcast(b)
		if err != nil {
			return err
		}
		if root != nil {
			copy(root[b*blockWidth*n:], x)
		}
	}
	if root != nil {
		s.factor[0] = root
	}
	distance := 1
	for distance < s.count {
		distance *= 2
	}
	for distance /= 2; distance > 0; distance /= 2 {
		if err := s.descendAll(distance); err != nil {
			return err
		}
	}
	mine := s.mine()
	err := parallel.Each(s.threads, len(mine), func(i int) error {
		f := s.own[mine[i]]
		x := make([]float64, f.m*n)
		for j := range n {
			copy(x[j*f.m:], s.factor[mine[i]][j*n:(j+1)*n])
		}
		f.q.Apply(n, x, f.m)
		f.a, f.q = x, nil
		return nil
	})
	return comm.Agree(s.comm, comm.BadResource, err)
}

// descendAll does the merges at one distance backwards: a rank first receives what comes from the left.
func (s *Slabs) descendAll(distance int) error { return s.level(distance, s.descend) }

// descend splits what stands at slab into what belongs to slab and slab+distance.
func (s *Slabs) descend(distance, slab int) error {
	n, left, right := s.N, s.owner(slab), s.owner(slab+distance)
	if left != s.comm.Rank() {
		x := make([]float64, n*n)
		s.factor[slab+distance] = x
		return s.receive(x, left)
	}
	f := s.merged[[2]int{distance, slab}]
	x := stack(s.factor[slab], make([]float64, n*n), n)
	f.q.Apply(n, x, f.m)
	upper, lower := make([]float64, n*n), make([]float64, n*n)
	for j := range n {
		copy(upper[j*n:(j+1)*n], x[2*j*n:])
		copy(lower[j*n:(j+1)*n], x[(2*j+1)*n:])
	}
	s.factor[slab] = upper
	if right == left {
		s.factor[slab+distance] = lower
		return nil
	}
	return s.send(lower, right)
}

// messageNumbers is how many numbers a message has at most.
const messageNumbers = 1 << 22

// slabTag is the tag of the messages between slabs.
const slabTag = 1

func (s *Slabs) send(x []float64, to int) error {
	return s.pieces(x, func(part []float64, buffer []byte) error {
		copy(buffer, comm.BytesOf(part))
		return s.comm.Isend(comm.HostAddress(buffer), int64(len(buffer)), to, slabTag).Wait()
	})
}

func (s *Slabs) receive(x []float64, from int) error {
	return s.pieces(x, func(part []float64, buffer []byte) error {
		if err := s.comm.Irecv(comm.HostAddress(buffer), int64(len(buffer)), from, slabTag).Wait(); err != nil {
			return err
		}
		copy(comm.BytesOf(part), buffer)
		return nil
	})
}

// pieces calls move for parts of x with memory outside the Go heap, for MPI, of the same length.
func (s *Slabs) pieces(x []float64, move func(part []float64, buffer []byte) error) error {
	buffer, err := comm.NewBuffer(min(len(x), messageNumbers) * kernels.WordBytes)
	if err != nil {
		return err
	}
	defer comm.FreeBuffer(buffer)
	for len(x) > 0 {
		part := x[:min(len(x), messageNumbers)]
		if err := move(part, buffer[:len(part)*kernels.WordBytes]); err != nil {
			return err
		}
		x = x[len(part):]
	}
	return nil
}

// Leads returns, for each column, its first entry of largest magnitude.
func (s *Slabs) Leads() ([]float64, error) {
	lead := make([]float64, s.N)
	larger := func(k int, x float64) {
		if math.Abs(x) > math.Abs(lead[k]) {
			lead[k] = x
		}
	}
	for _, slab := range s.mine() {
		f := s.own[slab]
		for k := range s.N {
			for _, x := range f.a[k*f.m : (k+1)*f.m] {
				larger(k, x)
			}
		}
	}
	all, err := comm.Gather(s.comm, lead)
	if err != nil {
		return nil, fmt.Errorf("matrix: signs: %w", err)
	}
	lead = make([]float64, s.N)
	for _, part := range all { // the slabs of the ranks follow one another
		for k, x := range part {
			larger(k, x)
		}
	}
	return lead, nil
}
