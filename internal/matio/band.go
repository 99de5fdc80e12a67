package matio

import "sync"

// bandBytes of numbers of a text are read at a time, where less is asked for.
const bandBytes = 64 << 20

// band holds some columns, or some rows, of a text file, which takes as long to be read for a few as for
// many. Whoever reads the next ones soon gets them from there.
type band struct {
	mu   sync.Mutex
	part // dst is nil where nothing is kept
}

// read reads p, by way of the band if it has all rows or all columns of the matrix, and is not as large.
func (b *band) read(p part, rows, cols int64, read func(part) error) error {
	wider, larger := p.widened(rows, cols)
	if !larger {
		return read(p)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.covers(p) {
		b.part = wider
		b.dst = make([]float64, (wider.i1-wider.i0)*(wider.j1-wider.j0))
		if err := read(b.part); err != nil {
			b.dst = nil
			return err
		}
	}
	b.copyTo(p)
	if p.i1 == rows && p.j1 == cols { // the end; the memory is for others
		b.dst = nil
	}
	return nil
}

// widened returns a part without memory that begins as p does, and has more rows or columns if p has all of
// the others and is small.
func (p part) widened(rows, cols int64) (w part, larger bool) {
	w = part{i0: p.i0, i1: p.i1, j0: p.j0, j1: p.j1}
	switch {
	case p.i0 == 0 && p.i1 == rows && rows > 0:
		w.j1, w.rs, w.cs = max(p.j1, min(cols, p.j0+bandBytes/8/rows)), 1, int(rows)
	case p.j0 == 0 && p.j1 == cols && cols > 0:
		w.i1, w.rs, w.cs = max(p.i1, min(rows, p.i0+bandBytes/8/cols)), int(cols), 1
	}
	return w, w.i1 > p.i1 || w.j1 > p.j1
}

// covers tells whether a part is in the band.
func (b *band) covers(p part) bool {
	return b.dst != nil && b.i0 <= p.i0 && p.i1 <= b.i1 && b.j0 <= p.j0 && p.j1 <= b.j1
}

// copyTo copies a part that is in the band to its place.
func (b *band) copyTo(p part) {
	for j := p.j0; j < p.j1; j++ {
		from, to := int(j-b.j0)*b.cs, int(j-p.j0)*p.cs
		for i := p.i0; i < p.i1; i++ {
			p.dst[to+int(i-p.i0)*p.rs] = b.dst[from+int(i-b.i0)*b.rs]
		}
	}
}
