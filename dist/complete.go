package dist

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// completionPasses is how often the new columns are orthogonalized against the others: twice is enough
// for a random start unless the complement is tiny, the third makes that case safe too.
const completionPasses = 3

// complete returns orthonormal columns, orthogonal to all others, for those columns of G·V on this rank that are exactly
// zero, by index. It runs block Gram–Schmidt on random columns: the other block-columns pass by in one order on every rank, so
// the result does not depend on the number of ranks. It is collective.
func (s *Solution) complete() (map[int][]float64, error) {
	var zeros []int
	for j, x := range s.norm {
		if x == 0 {
			zeros = append(zeros, j)
		}
	}
	if len(zeros) == 0 || s.config.M == 0 {
		return nil, nil
	}
	mine := s.local(zeros)
	m := s.config.M
	w := make([]float64, len(mine)*m) // column-major m×len(mine)
	if len(zeros) == len(s.norm) {    // nothing to be orthogonal to
		for i, j := range mine {
			w[i*m+j] = 1
		}
		return split(mine, w, m), nil
	}
	for i, j := range mine {
		random := rand.New(rand.NewPCG(uint64(j), 0))
		for l := range m {
			w[i*m+l] = random.NormFloat64()
		}
	}
	for range completionPasses {
		if err := s.project(w); err != nil {
			return nil, err
		}
		if err := s.gramSchmidt(zeros, mine, w); err != nil {
			return nil, err
		}
	}
	return split(mine, w, m), nil
}

// local returns those of the columns, sorted, that lie on this rank.
func (s *Solution) local(columns []int) (mine []int) {
	s.each(func(_ *runner, _, column int) error {
		j0, j1 := s.Layout.Macro(column)
		for _, j := range columns {
			if j0 <= j && j < j1 {
				mine = append(mine, j)
			}
		}
		return nil
	})
	sort.Ints(mine)
	return mine
}

func split(columns []int, w []float64, m int) map[int][]float64 {
	out := map[int][]float64{}
	for i, j := range columns {
		out[j] = w[i*m : (i+1)*m]
	}
	return out
}

// project makes w orthogonal to the normalized columns of G·V, block-column by block-column.
func (s *Solution) project(w []float64) error {
	m := s.config.M
	count := len(w) / m
	for column := range s.Layout.Macros {
		j0, j1 := s.Layout.Macro(column)
		width := max(1, chunkBytes/(m*8))
		for a := j0; a < j1; a += width {
			u, err := s.broadcast(column, a, min(a+width, j1))
			if err != nil {
				return err
			}
			k := len(u) / m
			if count == 0 || k == 0 {
				continue
			}
			// w_i ← w_i − u·(uᵀ·w_i), column by column; row-major, u is k×m.
			c := make([]float64, k)
			for i := range count {
				x := w[i*m : (i+1)*m]
				gonum.Implementation{}.Dgemv(blas.NoTrans, k, m, 1, u, m, x, 1, 0, c, 1)
				gonum.Implementation{}.Dgemv(blas.Trans, k, m, -1, u, m, c, 1, 1, x, 1)
			}
		}
	}
	return nil
}

// broadcast gives every rank the normalized non-zero columns j0 ≤ j < j1 of a macro block-column.
func (s *Solution) broadcast(column, j0, j1 int) ([]float64, error) {
	m := s.config.M
	var mine []float64
	err := s.each(func(r *runner, slot, here int) error {
		if here != column {
			return nil
		}
		first, _ := s.Layout.Macro(column)
		g, _ := r.dev.Panels(slot, column, 0, s.Layout.PerMacro)
		buf := make([]float64, m*(j1-j0))
		if err := r.dev.Backend.Read(buf, m, g.Columns(j0-first, j1-first)); err != nil {
			return err
		}
		for j := j0; j < j1; j++ {
			if s.norm[j] == 0 {
				continue
			}
			for _, x := range buf[(j-j0)*m : (j-j0+1)*m] {
				mine = append(mine, x/s.norm[j])
			}
		}
		return nil
	})
	if err := Agree(s.comm, BadResource, err); err != nil {
		return nil, err
	}
	return s.share(mine)
}

// share gives every rank the numbers of the one rank that has any.
func (s *Solution) share(mine []float64) ([]float64, error) {
	b := make([]byte, 0, 8*len(mine))
	for _, x := range mine {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	all, err := s.comm.Allgather(b)
	if err != nil {
		return nil, fmt.Errorf("dist: completing U: %w", err)
	}
	var out []float64
	for _, b := range all {
		for ; len(b) >= 8; b = b[8:] {
			out = append(out, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
	}
	return out, nil
}

// gramSchmidt orthonormalizes the new columns among themselves, in the order of their indices.
func (s *Solution) gramSchmidt(zeros, mine []int, w []float64) error {
	m := s.config.M
	impl := gonum.Implementation{}
	next := 0 // of mine
	for _, j := range zeros {
		var own []float64
		if next < len(mine) && mine[next] == j {
			own = w[next*m : (next+1)*m]
			impl.Dscal(m, 1/impl.Dnrm2(m, own, 1), own, 1)
			next++
		}
		u, err := s.share(own)
		if err != nil {
			return err
		}
		for i := next; i < len(mine); i++ {
			x := w[i*m : (i+1)*m]
			impl.Daxpy(m, -impl.Ddot(m, u, 1, x, 1), u, 1, x, 1)
		}
	}
	return nil
}
