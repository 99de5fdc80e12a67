package jacobi

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/gonum"

	"jmpi/dist/comm"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// completionPasses is how often the new columns are orthogonalized against all others: twice is enough, and
// once more for those that are found to be combinations of the others in the first pass, and start anew.
const completionPasses = 3

// collapsed is the norm below which little but rounding errors is left of a column of norm 1 that was
// orthogonalized against others.
const collapsed = 0x1p-26

// group is a set of new columns that are handled together: those of one narrow block-column, so that the
// shapes of all products, and with them the bits of the results, do not depend on the number of ranks.
type group struct {
	block   int   // narrow block-column
	columns []int // of G·V, ascending
	w       []float64
}

// tiny is the norm below which columns of G·V may not have been rotated (kernels.Backend, Jacobi, which
// leaves columns of 2⁻⁹⁹⁰ of the largest as they are), or have lost digits for being subnormal: their left
// singular vectors are made orthogonal at the end.
const tiny = 0x1p-560 // 2^top·2⁻⁹⁶⁰

// completion finds the columns of U whose singular value is zero.
type completion struct {
	*spread
	norm []float64 // of the columns of G·V
}

// complete returns orthonormal columns, orthogonal to all others, for those columns of G·V on this rank that
// are zero or tiny, by index; they start from the tiny columns themselves. It runs block Gram–Schmidt, on
// random columns for zero ones: the other block-columns pass by in one order on every rank. It is collective.
func (c completion) complete() (map[int][]float64, error) {
	groups, zeros := c.zeroGroups()
	if zeros == 0 {
		return nil, nil
	}
	m := c.m
	for i := range groups {
		g := &groups[i]
		g.w = make([]float64, len(g.columns)*m)
		for k, j := range g.columns {
			if zeros == len(c.norm) { // nothing to be orthogonal to
				g.w[k*m+j] = 1
				continue
			}
			if c.norm[j] == 0 {
				randomize(g.w[k*m:(k+1)*m], j, 0)
			} else if err := c.normalized(j, g.w[k*m:(k+1)*m]); err != nil {
				return nil, err
			}
		}
	}
	if zeros < len(c.norm) {
		for range completionPasses {
			if err := c.completionPass(groups); err != nil {
				return nil, err
			}
		}
	}
	completed := map[int][]float64{}
	for _, g := range groups {
		for k, j := range g.columns {
			completed[j] = g.w[k*m : (k+1)*m]
		}
	}
	return completed, nil
}

// zeroGroups returns the groups of this rank, by block, and the number of zero columns on all ranks.
func (c completion) zeroGroups() (groups []group, zeros int) {
	here := map[int]bool{}
	mark := func(_ *runner, _, column int) error { here[column] = true; return nil }
	_ = c.each(mark) // which never fails
	for block := range c.layout.Columns {
		g := group{block: block}
		for j := c.layout.Start(block); j < c.layout.Start(block+1); j++ {
			if c.norm[j] < tiny {
				g.columns = append(g.columns, j)
			}
		}
		zeros += len(g.columns)
		if len(g.columns) > 0 && here[block/c.layout.PerMacro] {
			groups = append(groups, g)
		}
	}
	return groups, zeros
}

// completionPass orthogonalizes the new columns against the normalized columns of G·V, and among themselves.
func (c completion) completionPass(groups []group) error {
	for block := range c.layout.Columns {
		u, err := c.present(block)
		if err != nil {
			return err
		}
		for i := range groups {
			subtract(u, groups[i].w, c.m)
		}
	}
	for i := range groups {
		groups[i].renew(c.m)
	}
	for block := range c.layout.Columns {
		var own []float64
		for i := range groups {
			if groups[i].block == block {
				own = groups[i].w
				orthonormalize(own, c.m)
			}
		}
		q, err := c.share(own)
		if err != nil {
			return err
		}
		for i := range groups {
			if groups[i].block > block {
				subtract(q, groups[i].w, c.m)
			}
		}
	}
	return nil
}

// renew replaces columns of which little is left by random ones, and gives all norm 1.
func (g *group) renew(m int) {
	for k, j := range g.columns {
		x := g.w[k*m : (k+1)*m]
		if kernels.Norm2(x) < collapsed {
			randomize(x, j, 1)
		}
		dense.Normalize(x)
	}
}

// normalized puts column j of G·V, which is on this rank, into x, scaled to norm 1.
func (c completion) normalized(j int, x []float64) error {
	return c.each(func(r *runner, slot, column int) error {
		j0, j1 := c.layout.Macro(column)
		if j < j0 || j >= j1 {
			return nil
		}
		g, _ := c.panels(r, slot, column)
		if err := r.dev.Backend.Read(x, len(x), g.Columns(j-j0, j-j0+1)); err != nil {
			return err
		}
		_, e := math.Frexp(c.norm[j])
		dense.Ldexp(x, -e)
		dense.Normalize(x)
		return nil
	})
}

// randomize fills x with numbers that depend on the column and the attempt alone, of norm 1.
func randomize(x []float64, column int, attempt uint64) {
	const completion = 0x636f6d706c657465 // so that no other numbers are the same
	random := rand.New(rand.NewPCG(uint64(column), completion+attempt))
	for i := range x {
		x[i] = random.NormFloat64()
	}
	dense.Normalize(x)
}

// subtract does w ← w − q·(qᵀ·w) for orthonormal q, both column-major with m rows.
func subtract(q, w []float64, m int) {
	k, count := len(q)/m, len(w)/m
	if k == 0 || count == 0 {
		return
	}
	c := make([]float64, k*count)
	dense.Product(true, false, k, count, m, 1, q, m, w, m, 0, c, k)
	dense.Product(false, false, m, count, k, -1, q, m, c, k, 1, w, m)
}

// orthonormalize runs the modified Gram–Schmidt method on the columns of w, twice.
func orthonormalize(w []float64, m int) {
	impl := gonum.Implementation{}
	for range 2 {
		for k := range len(w) / m {
			x := w[k*m : (k+1)*m]
			for i := range k {
				y := w[i*m : (i+1)*m]
				impl.Daxpy(m, -impl.Ddot(m, y, 1, x, 1), y, 1, x, 1)
			}
			norm := impl.Dnrm2(m, x, 1)
			if norm < collapsed {
				randomize(x, k, 2)
				norm = impl.Dnrm2(m, x, 1)
			}
			impl.Dscal(m, 1/norm, x, 1)
		}
	}
}

// present gives every rank the normalized columns, the tiny ones left out, of a narrow block-column of G·V.
func (c completion) present(block int) ([]float64, error) {
	m := c.m
	var mine []float64
	err := c.each(func(r *runner, slot, column int) error {
		first := column * c.layout.PerMacro
		if block < first || block >= first+c.layout.PerMacro {
			return nil
		}
		g, _ := r.dev.Panels(slot, column, block-first, block-first+1)
		buf := make([]float64, m*g.N)
		if err := r.dev.Backend.Read(buf, m, g); err != nil {
			return err
		}
		for i := range g.N {
			norm := c.norm[c.layout.Start(block)+i]
			if norm < tiny {
				continue
			}
			for _, x := range buf[i*m : (i+1)*m] {
				mine = append(mine, x/norm)
			}
		}
		return nil
	})
	if err := comm.Agree(c.comm, comm.BadResource, err); err != nil {
		return nil, err
	}
	return c.share(mine)
}

// share gives every rank the numbers of the one rank that has any. They must not be changed.
func (c completion) share(mine []float64) ([]float64, error) {
	owner := []int64{-1}
	if len(mine) > 0 {
		owner[0] = int64(c.comm.Rank())
	}
	if err := c.comm.AllreduceMax(owner); err != nil {
		return nil, fmt.Errorf("jacobi: completing U: %w", err)
	}
	if owner[0] < 0 {
		return nil, nil
	}
	all, err := comm.FromRank(c.comm, int(owner[0]), mine)
	if err != nil {
		return nil, fmt.Errorf("jacobi: completing U: %w", err)
	}
	return all, nil
}
