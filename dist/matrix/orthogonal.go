package matrix

import (
	"fmt"

	"jmpi/dist/comm"
	"jmpi/internal/dense"
)

// Orthogonal is the m×m matrix Q = Q₁·Q₂·…, each factor the product of a panel's Householder reflectors,
// which act on the rows from some row on. The panels are dealt out to the ranks.
type Orthogonal struct {
	comm   comm.Comm
	M      int
	panels []reflectors
}

// reflectors are those of one panel: Count of them, acting on the rows from Row on, in the memory of Owner.
type reflectors struct {
	row, count, owner int
	own               *dense.Reflectors
}

// keep adds the reflectors of a panel, which one rank keeps.
func (q *Orthogonal) keep(row int, r dense.Reflectors) {
	p := reflectors{row: row, count: r.Count, owner: len(q.panels) % q.comm.Size()}
	if p.owner == q.comm.Rank() {
		p.own = &r
	}
	q.panels = append(q.panels, p)
}

// broadcast gives every rank the reflectors of panel i.
func (q *Orthogonal) broadcast(i int) (*dense.Reflectors, error) {
	p := q.panels[i]
	if q.comm.Size() == 1 {
		return p.own, nil
	}
	var message []float64
	if p.own != nil {
		message = append(append(message, p.own.T...), p.own.Y...)
	}
	message, err := comm.FromRank(q.comm, p.owner, message)
	if err != nil {
		return nil, fmt.Errorf("matrix: reflectors: %w", err)
	}
	return &dense.Reflectors{M: q.M - p.row, Count: p.count, T: message[:p.count*p.count],
		Y: message[p.count*p.count:]}, nil
}

// Apply does c ← Q·c. It is collective.
func (q *Orthogonal) Apply(c *Matrix) error {
	return q.applyFrom(c, func(int) int { return 0 })
}

// applyTransposed does c ← Qᵀ·c. It is collective.
func (q *Orthogonal) applyTransposed(c *Matrix) error {
	for i, p := range q.panels {
		r, err := q.broadcast(i)
		if err != nil {
			return err
		}
		c.Each(func(b int, x []float64) {
			j0, j1 := c.Span(b)
			r.Apply(true, j1-j0, x[p.row:], c.M)
		})
	}
	return nil
}

// Form returns so many columns of Q from the given one on. It is collective.
func (q *Orthogonal) Form(threads, from, count int) (*Matrix, error) {
	c := UnitColumns(q.comm, threads, q.M, from, count)
	// Reflectors that act from row k on leave unit vectors before k as they are.
	return c, q.applyFrom(c, func(row int) int { return row - from })
}

// applyFrom does c ← Q·c, the reflectors that act from row k on being applied to the columns
// j ≥ first(k) alone.
func (q *Orthogonal) applyFrom(c *Matrix, first func(row int) int) error {
	for i := len(q.panels) - 1; i >= 0; i-- {
		r, err := q.broadcast(i)
		if err != nil {
			return err
		}
		row := q.panels[i].row
		from := first(row)
		c.Each(func(b int, x []float64) {
			j0, j1 := c.Span(b)
			if skip := max(0, from-j0); skip < j1-j0 {
				r.Apply(false, j1-j0-skip, x[skip*c.M+row:], c.M)
			}
		})
	}
	return nil
}
