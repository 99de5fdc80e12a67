package kernels

import (
	"fmt"
	"slices"
)

// Needs says which parts of a batch a primitive uses.
type Needs struct{ G, V, R, T, Tally bool }

// Check tells whether the batch has all that is needed, in shapes that fit: what a back end asks before it
// follows an address. The error wraps ErrShape.
func (b *Batch) Check(n Needs) error {
	single := b.Single != nil
	if single != (b.Type == Float32) || single && (b.Positive != nil || !(b.Single.Cosine > 0)) {
		return fmt.Errorf("%w: a batch of float32, no other, has norms, a positive cosine and no signs", ErrShape)
	}
	problems, x := len(b.R), Single{}
	if n.G {
		problems = len(b.G)
	}
	if single {
		x = *b.Single
	}
	for _, s := range []struct {
		name   string
		needed bool
		length int
	}{
		{"V", n.V, len(b.V)}, {"R", n.R, len(b.R)}, {"T", n.T, len(b.T)}, {"Tally", n.Tally, len(b.Tally)},
		{"Positive", b.Positive != nil, len(b.Positive)}, {"Across", b.Across != nil, len(b.Across)},
		{"Norms", single && n.G, len(x.Norms)}, {"Factors", single && n.R, len(x.Factors)},
		{"Grams", n.G && b.Grams != nil, len(b.Grams)},
	} {
		if s.needed && s.length != problems {
			return fmt.Errorf("%w: %d problems, but %s has %d", ErrShape, problems, s.name, s.length)
		}
	}
	for i := range problems {
		if err := checkProblem(b, i, n); err != nil {
			return fmt.Errorf("problem %d: %w", i, err)
		}
	}
	return nil
}

// checkProblem compares the shapes of problem i with the order of its pivot, or of its factor where
// there is no pivot.
func checkProblem(b *Batch, i int, n Needs) error {
	var k int
	if n.G {
		k = b.G[i].Order()
		if err := b.checkPivot("G", b.G[i], k); err != nil {
			return err
		}
	} else {
		k = b.R[i].N
	}
	if b.Positive != nil && (b.Positive[i] < 0 || b.Positive[i] > k) {
		return fmt.Errorf("%w: %d positive columns of %d", ErrShape, b.Positive[i], k)
	}
	if b.Across != nil && (b.Across[i] < 0 || b.Across[i] > k) {
		return fmt.Errorf("%w: %d columns on the left of %d", ErrShape, b.Across[i], k)
	}
	if n.V {
		if err := b.checkPivot("V", b.V[i], k); err != nil {
			return err
		}
	}
	if n.R {
		if err := checkPanel("R", b.R[i], b.Type, k, k); err != nil {
			return err
		}
	}
	if n.T {
		if err := checkPanel("T", b.T[i], b.Type, k, k); err != nil {
			return err
		}
	}
	if n.G && b.Grams != nil {
		for _, x := range []struct {
			name     string
			known, g Panel
		}{{"Grams.P", b.Grams[i].P, b.G[i].P}, {"Grams.Q", b.Grams[i].Q, b.G[i].Q}} {
			if err := checkPanel(x.name, x.known, b.Type, x.g.N, x.g.N); err != nil {
				return err
			}
		}
	}
	return b.checkNorms(i, k, n)
}

// checkNorms tells whether problem i, of float32, has its norms.
func (b *Batch) checkNorms(i, k int, n Needs) error {
	if b.Single == nil {
		return nil
	}
	if n.G {
		for _, x := range []struct {
			name     string
			norms, g Panel
		}{{"Norms.P", b.Single.Norms[i].P, b.G[i].P}, {"Norms.Q", b.Single.Norms[i].Q, b.G[i].Q}} {
			if err := checkPanel(x.name, x.norms, Float64, x.g.N, 1); err != nil {
				return err
			}
		}
	}
	if n.R {
		return checkPanel("Factors", b.Single.Factors[i], Float64, k, 1)
	}
	return nil
}

func (b *Batch) checkPivot(name string, g Pivot, k int) error {
	if err := g.P.checkType("P", b.Type); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := g.Q.checkType("Q", b.Type); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if g.P.M != g.Q.M || g.Order() != k {
		return fmt.Errorf("%w: %s is [%d×%d %d×%d], must have equal rows and %d columns",
			ErrShape, name, g.P.M, g.P.N, g.Q.M, g.Q.N, k)
	}
	return nil
}

// checkFactor tells whether p is a k×k panel of float64.
func checkFactor(name string, p Panel, k int) error { return checkPanel(name, p, Float64, k, k) }

// checkPanel tells whether p is an m×n panel of the type.
func checkPanel(name string, p Panel, e Element, m, n int) error {
	if err := p.checkType(name, e); err != nil {
		return err
	}
	if p.M != m || p.N != n {
		return fmt.Errorf("%w: %s is %d×%d, must be %d×%d", ErrShape, name, p.M, p.N, m, n)
	}
	return nil
}

// Check tells whether p is a possible panel of float64; the error calls it by name and wraps ErrShape.
func (p Panel) Check(name string) error { return p.checkType(name, Float64) }

func (p Panel) checkType(name string, e Element) error {
	if p.Type != e {
		return fmt.Errorf("%w: %s must have elements of type %s", ErrShape, name, e)
	}
	return p.CheckAny(name)
}

// CheckAny is Check for a panel of any element type.
func (p Panel) CheckAny(name string) error {
	if p.M < 0 || p.N < 0 || p.Ld < p.M {
		return fmt.Errorf("%w: %s is %d×%d with Ld %d", ErrShape, name, p.M, p.N, p.Ld)
	}
	return nil
}

// Check tells whether the schedule is one for all factors of a batch, limit being the largest order that the
// device takes. The error wraps ErrShape.
func (s *Schedule) Check(b *Batch, limit int) error {
	if s == nil || s.Order < 0 || s.Order%2 != 0 || s.Order > 0 && len(s.Pairs)%s.Order != 0 {
		return fmt.Errorf("%w: the schedule must have an even order and order/2 pairs in each p-step", ErrShape)
	}
	for i, r := range b.R {
		if left := b.Left(i); left >= 0 && max(left, r.N-left) > s.Order/2 {
			return fmt.Errorf("%w: problem %d: %d and %d columns, but the schedule has %d on either side", ErrShape, i,
				left, r.N-left, s.Order/2)
		}
		if r.N > s.Order || r.N > limit {
			return fmt.Errorf("%w: problem %d: a factor of order %d, but the schedule is of "+
				"order %d and %d is the limit", ErrShape, i, r.N, s.Order, limit)
		}
	}
	return nil
}

// Disjoint tells whether the pairs of each p-step share no index, so that they can be processed in any order.
// The error wraps ErrShape.
func (s *Schedule) Disjoint() error {
	met := make([]int, s.Order) // the last p-step, from 1, that an index was in
	step := 0
	for pairs := range slices.Chunk(s.Pairs, max(2, s.Order)) {
		step++
		for i := 1; i < len(pairs); i += 2 {
			p, q := int(pairs[i-1]), int(pairs[i])
			if p < 0 || p >= q || q >= len(met) || met[p] == step || met[q] == step {
				return fmt.Errorf("%w: p-step %d: pair (%d,%d) is out of order, out of range or "+
					"not disjoint from the others", ErrShape, step, p, q)
			}
			met[p], met[q] = step, step
		}
	}
	return nil
}

// CheckVectors tells whether x holds so many vectors that p, or pᵀ, can be multiplied by. It
// returns the length of a product.
func (p Panel) CheckVectors(transposed bool, x []float64, count int) (long int, err error) {
	if err := p.Check("panel"); err != nil {
		return 0, err
	}
	from, to := p.N, p.M
	if transposed {
		from, to = to, from
	}
	if count < 0 || len(x) != from*count {
		return 0, fmt.Errorf("%w: %d numbers are not %d vectors of length %d", ErrShape, len(x), count, from)
	}
	return to, nil
}

// CheckHost is Check, and tells whether a host matrix with leading dimension ld has room for the panel.
func (p Panel) CheckHost(name string, host []float64, ld int) error {
	if err := p.Check(name); err != nil {
		return err
	}
	if p.M > 0 && p.N > 0 && (ld < p.M || len(host) < ld*(p.N-1)+p.M) {
		return fmt.Errorf("%w: the host matrix has %d elements with ld %d, %s is %d×%d", ErrShape, len(host), ld,
			name, p.M, p.N)
	}
	return nil
}
