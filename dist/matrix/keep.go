package matrix

import "jmpi/kernels"

// PanelShape tells of the reflectors of one panel: on which rows they act, from Row on, and how many there
// are.
type PanelShape struct{ Row, Count int }

// Shapes tells of all panels, in order.
func (q *Orthogonal) Shapes() (all []PanelShape) {
	for _, p := range q.panels {
		all = append(all, PanelShape{p.row, p.count})
	}
	return all
}

// numbers returns of how many numbers the reflectors of a panel of Q, m×m, consist, with their triangle.
func (s PanelShape) numbers(m int) int { return (m - s.Row + s.Count) * s.Count }

// PanelBytes returns the bytes of the reflectors of each panel of Q, m×m.
func PanelBytes(m int, shapes []PanelShape) []int64 {
	bytes := make([]int64, len(shapes))
	for k, s := range shapes {
		bytes[k] = int64(s.numbers(m)) * kernels.WordBytes
	}
	return bytes
}

// EachPanel calls f with the reflectors of the panels that this rank has, by number. x is a copy, which f may
// keep until it returns.
func (q *Orthogonal) EachPanel(f func(k int, x []float64) error) error {
	for k, p := range q.panels {
		dev := q.here(p.owner)
		if dev == nil {
			continue
		}
		x := make([]float64, PanelShape{p.row, p.count}.numbers(q.M))
		rows := q.M - p.row + p.count
		if err := dev.Read(x, rows, p.memory.Rows(0, rows).Columns(0, p.count)); err != nil {
			return err
		}
		if err := f(k, x); err != nil {
			return err
		}
	}
	return nil
}

// LoadOrthogonal returns Q, m×m, from the reflectors of its panels. read fills x with those of one that is to
// lie on this rank.
func (d *Devices) LoadOrthogonal(m int, shapes []PanelShape, read func(k int, x []float64) error) (
	*Orthogonal, error) {
	q := &Orthogonal{Devices: d, M: m}
	for k, s := range shapes {
		r := reflectors{row: s.Row, count: s.Count, owner: k % len(d.ranks)}
		if dev := d.here(r.owner); dev != nil {
			x := make([]float64, s.numbers(m))
			err := read(k, x)
			if err == nil {
				r.memory, err = q.reserve(dev, m-s.Row, s.Count)
			}
			if err == nil {
				err = dev.Write(r.memory, x, r.memory.M)
			}
			if err != nil {
				return q, err
			}
		}
		q.panels = append(q.panels, r)
	}
	return q, nil
}
