package dist

import (
	"fmt"
	"math"
	"unsafe"

	"jmpi/internal/dense"
	"jmpi/internal/parallel"
	"jmpi/kernels"
)

// TallRatio is the ratio of rows to columns from which a matrix is reduced to its triangular factor before anything else.
const TallRatio = 4

// slabs is a tall matrix, cut into slabs of rows that lie on the ranks in order, and reduced to its triangular factor by a binary tree of
// QR factorizations (TSQR, [DGHL12]): slab i, and after it what is merged at i, holds reflectors. The slabs and the tree depend on the
// shape alone.
type slabs struct {
	comm    Comm
	threads int
	m, n    int
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

// newSlabs cuts an m×n matrix.
func newSlabs(comm Comm, threads, m, n int) *slabs {
	height := max(TallRatio*n, 1024)
	return &slabs{comm: comm, threads: threads, m: m, n: n, count: max(1, m/height),
		own: map[int]*qr{}, merged: map[[2]int]*qr{}, factor: map[int][]float64{}}
}

// span returns the rows i0 ≤ i < i1 of a slab; none has fewer than n.
func (s *slabs) span(slab int) (i0, i1 int) {
	return int(int64(slab) * int64(s.m) / int64(s.count)), int(int64(slab+1) * int64(s.m) / int64(s.count))
}

// owner returns the rank of a slab.
func (s *slabs) owner(slab int) int { return int(int64(slab) * int64(s.comm.Size()) / int64(s.count)) }

// mine returns the slabs of this rank, in order.
func (s *slabs) mine() (all []int) {
	for i := range s.count {
		if s.owner(i) == s.comm.Rank() {
			all = append(all, i)
		}
	}
	return all
}

// read fills this rank's slabs; rows writes rows, row-major, and column j is taken from column columns[j] of them (nil: j). It returns
// the largest magnitude, and the largest and smallest max-norm of the rows that are not zero.
func (s *slabs) read(rows func(i0, i1 int, dst []float64) error, columns []int) (largest, smallest float64, err error) {
	smallest = math.Inf(1)
	for _, slab := range s.mine() {
		i0, i1 := s.span(slab)
		h := i1 - i0
		x := make([]float64, h*s.n)
		if err := rows(i0, i1, x); err != nil {
			return 0, 0, err
		}
		a := make([]float64, h*s.n)
		for i := range h {
			most := 0.0
			row := x[i*s.n : (i+1)*s.n]
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

// scale multiplies the matrix by 2^e.
func (s *slabs) scale(e int) {
	for _, x := range s.own {
		dense.Ldexp(x.a, e)
	}
}

// reduce factors the slabs and climbs the tree; rank 0 ends with the factor of the whole matrix. It is collective.
func (s *slabs) reduce() error {
	mine := s.mine()
	factors := make([][]float64, len(mine))
	err := parallel.Each(s.threads, len(mine), func(i int) error {
		factors[i] = s.own[mine[i]].decompose(s.n)
		return nil
	})
	if err := Agree(s.comm, BadResource, err); err != nil {
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

// level calls f for the merges at one distance that this rank has a part in: first the one whose factor it sends away.
func (s *slabs) level(distance int, f func(distance, slab int) error) error {
	rank := s.comm.Rank()
	for _, sends := range []bool{true, false} {
		for i := 0; i+distance < s.count; i += 2 * distance {
			left, right := s.owner(i), s.owner(i+distance)
			if sends && right == rank && left != rank || !sends && left == rank {
				if err := f(distance, i); err != nil {
					return fmt.Errorf("dist: QR of slabs %d and %d: %w", i, i+distance, err)
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
func (s *slabs) climb(distance, slab int) error {
	n, left, right := s.n, s.owner(slab), s.owner(slab+distance)
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

// expand turns the left singular vectors of the factor into those of the matrix, which take the place of the reflectors. It is collective.
func (s *slabs) expand(u *sheet) error {
	n := s.n
	var root []float64
	if s.comm.Rank() == 0 {
		root = make([]float64, n*n)
	}
	for b := range u.blocks() {
		x, err := u.broadcast(b)
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
	return Agree(s.comm, BadResource, err)
}

// descendAll does the merges at one distance backwards: a rank first receives what comes from the left.
func (s *slabs) descendAll(distance int) error { return s.level(distance, s.descend) }

// descend splits what stands at slab into what belongs to slab and slab+distance.
func (s *slabs) descend(distance, slab int) error {
	n, left, right := s.n, s.owner(slab), s.owner(slab+distance)
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

func (s *slabs) send(x []float64, to int) error {
	return s.pieces(x, func(part []float64, buffer []byte) error {
		copy(buffer, bytesOf(part))
		return s.comm.Isend(hostAddress(buffer), int64(len(buffer)), to, slabTag).Wait()
	})
}

func (s *slabs) receive(x []float64, from int) error {
	return s.pieces(x, func(part []float64, buffer []byte) error {
		if err := s.comm.Irecv(hostAddress(buffer), int64(len(buffer)), from, slabTag).Wait(); err != nil {
			return err
		}
		copy(bytesOf(part), buffer)
		return nil
	})
}

// pieces calls move for parts of x with memory outside the Go heap, for MPI, of the same length.
func (s *slabs) pieces(x []float64, move func(part []float64, buffer []byte) error) error {
	buffer, err := newBuffer(min(len(x), messageNumbers) * kernels.WordBytes)
	if err != nil {
		return err
	}
	defer freeBuffer(buffer)
	for len(x) > 0 {
		part := x[:min(len(x), messageNumbers)]
		if err := move(part, buffer[:len(part)*kernels.WordBytes]); err != nil {
			return err
		}
		x = x[len(part):]
	}
	return nil
}

// hostAddress returns the address of memory outside the Go heap.
func hostAddress(b []byte) kernels.Address {
	return kernels.Address(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}

// tall says whether the matrix is reduced to a triangular factor by slabs of its rows.
func (d *Decomposition) tall() bool {
	return d.task.Rows != nil && d.task.reducible()
}

// readTall reads a tall matrix and reduces it. It returns true, and has done nothing, if the rows are of so different size that the
// reduction would lose the small ones.
func (d *Decomposition) readTall() (graded bool, err error) {
	s := newSlabs(d.comm, d.task.Threads, d.task.M, d.task.N)
	largest, smallest, err := s.read(d.task.Rows, d.order)
	if err := Agree(d.comm, BadInput, err); err != nil {
		return false, err
	}
	if d.exponent, err = commonExponent(d.comm, largest); err != nil {
		return false, err
	}
	ends := []int64{math.MinInt64} // minus the exponent of the smallest row
	if largest > 0 {
		_, e := math.Frexp(smallest)
		ends[0] = int64(-e)
	}
	if err := d.comm.AllreduceMax(ends); err != nil {
		return false, fmt.Errorf("dist: rows: %w", err)
	}
	if ends[0] != math.MinInt64 && math.Ldexp(1, d.exponent+top+int(ends[0])) > gradedRatio {
		return true, nil
	}
	s.scale(-d.exponent)
	if err := s.reduce(); err != nil {
		return false, err
	}
	d.slabs = s
	d.a = newSheet(d.comm, d.task.Threads, s.n, s.n)
	for b := range d.a.blocks() {
		j0, j1 := d.a.span(b)
		var part []float64
		if d.comm.Rank() == 0 {
			part = s.factor[0][j0*s.n : j1*s.n]
		}
		x, err := fromRank(d.comm, 0, part)
		if err != nil {
			return false, err
		}
		if d.a.own[b] != nil {
			copy(d.a.own[b], x)
		}
	}
	delete(s.factor, 0)
	return false, nil
}
