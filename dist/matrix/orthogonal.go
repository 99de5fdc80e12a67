package matrix

import (
	"fmt"
	"slices"

	"jmpi/kernels"
)

// Orthogonal is the m×m matrix Q = Q₁·Q₂·…, each factor the product of a panel's Householder reflectors,
// which act on the rows from some row on. The reflectors of a panel stay on the device that made them.
type Orthogonal struct {
	*Devices
	M      int
	panels []reflectors
	chunks []chunk // of this rank's devices, in which the reflectors lie
}

// chunk is memory of which the first bytes are used.
type chunk struct {
	dev         *device
	at          kernels.Address
	used, bytes int64
}

// chunkPanels is how many panels of reflectors are allocated at a time.
const chunkPanels = 16

// reflectors are those of one panel: count of them, acting on the rows from row on, in the memory of a
// device.
type reflectors struct {
	row, count, owner int
	memory            kernels.Panel // Y above T, zero below T; on the rank of the owner
}

// reserve returns memory for the reflectors of a panel.
func (q *Orthogonal) reserve(dev *device, rows, count int) (kernels.Panel, error) {
	p := kernels.Panel{M: rows + count, N: count, Ld: dev.leading(rows + count)}
	bytes := (p.Bytes() + 255) / 256 * 256
	i := len(q.chunks) - 1
	for i >= 0 && (q.chunks[i].dev != dev || q.chunks[i].used+bytes > q.chunks[i].bytes) {
		i--
	}
	if i < 0 {
		// No more than the panels of this size that can follow, of which the devices have equal parts.
		following := 1 + (rows-1)/max(1, count)/len(q.ranks)/2
		c := chunk{dev: dev, bytes: bytes * int64(min(chunkPanels, following))}
		var err error
		if c.at, err = dev.alloc(c.bytes); err != nil {
			return p, err
		}
		q.chunks = append(q.chunks, c)
		i = len(q.chunks) - 1
	}
	p.Data = q.chunks[i].at + kernels.Address(q.chunks[i].used)
	q.chunks[i].used += bytes
	return p, nil
}

// of returns Y and T, which lie one above the other.
func (r reflectors) of(m int, p kernels.Panel) kernels.Reflectors {
	rows := m - r.row
	return kernels.Reflectors{Y: p.Rows(0, rows).Columns(0, r.count),
		T: p.Rows(rows, rows+r.count).Columns(0, r.count)}
}

// shown gives every device of this rank the reflectors of some panels, for what is queued before the next
// call. It is collective.
func (q *Orthogonal) shown(panels []reflectors, ready readiness) ([][]kernels.Reflectors, error) {
	cargos := make([]cargo, len(panels))
	for k, r := range panels {
		cargos[k] = q.cargo(r, ready)
	}
	if err := q.toAll(cargos); err != nil {
		return nil, fmt.Errorf("matrix: reflectors: %w", err)
	}
	y := make([][]kernels.Reflectors, len(panels))
	for k, c := range cargos {
		for _, p := range c.dst {
			y[k] = append(y[k], panels[k].of(q.M, p))
		}
	}
	return y, nil
}

// cargo returns the reflectors of a panel as what all devices need.
func (q *Orthogonal) cargo(r reflectors, ready readiness) cargo {
	p := kernels.Panel{M: q.M - r.row + r.count, N: r.count}
	if q.here(r.owner) != nil {
		p = r.memory.Rows(0, p.M).Columns(0, r.count)
	}
	return cargo{owner: r.owner, src: p, ready: ready.of(r.owner)}
}

// eachShown calls f with the panels in their order or, back, from the last to the first, and with their
// reflectors on each device of this rank. Some are shown together. It is collective.
func (q *Orthogonal) eachShown(back bool, f func(p reflectors, shown []kernels.Reflectors) error) error {
	ready, err := q.ready()
	panels := slices.Clone(q.panels)
	if back {
		slices.Reverse(panels)
	}
	for len(panels) > 0 && err == nil {
		count, columns := 1, panels[0].count
		for count < len(panels) && columns+panels[count].count <= q.tile {
			columns += panels[count].count
			count++
		}
		var shown [][]kernels.Reflectors
		if shown, err = q.shown(panels[:count], ready); err != nil {
			return err
		}
		for k, p := range panels[:count] {
			if err := f(p, shown[k]); err != nil {
				return err
			}
		}
		panels = panels[count:]
	}
	return err
}

// Count returns the number of reflectors: how many columns were factored.
func (q *Orthogonal) Count() (count int) {
	for _, p := range q.panels {
		count += p.count
	}
	return count
}

// Free gives the memory back.
func (q *Orthogonal) Free() {
	if q == nil {
		return
	}
	for _, c := range q.chunks {
		_ = c.dev.release(c.at)
	}
	q.panels, q.chunks = nil, nil
}

// Apply does c ← Q·c. It is collective.
func (q *Orthogonal) Apply(c *Matrix) error {
	return q.applyFrom(c, func(int) int { return 0 })
}

// applyTransposed does c ← Qᵀ·c. It is collective.
func (q *Orthogonal) applyTransposed(c *Matrix) error {
	return q.eachShown(false, func(p reflectors, shown []kernels.Reflectors) error {
		return c.each(func(i int, dev *device) error {
			return dev.Reflect(shown[i], true, c.tiles(i, p.row, c.M), c.N)
		})
	})
}

// Form returns so many columns of Q from the given one on. It is collective.
func (q *Orthogonal) Form(from, count int) (*Matrix, error) {
	c, err := q.UnitColumns(q.M, from, count)
	if err != nil {
		return nil, err
	}
	// Reflectors that act from row k on leave unit vectors before k as they are.
	return c, q.applyFrom(c, func(row int) int { return row - from })
}

// applyFrom does c ← Q·c, the reflectors that act from row k on being applied to the columns
// j ≥ first(k) alone.
func (q *Orthogonal) applyFrom(c *Matrix, first func(row int) int) error {
	return q.eachShown(true, func(p reflectors, shown []kernels.Reflectors) error {
		from := first(p.row)
		return c.each(func(i int, dev *device) error {
			return dev.Reflect(shown[i], false, c.behind(i, from, p.row), c.N-max(0, from))
		})
	})
}
