package matrix

import (
	"slices"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/gen"
)

// A matrix that is read in bands is what it is otherwise, and every part lies in a band; all parts of a band
// are read before those of the next.
func TestBands(t *testing.T) {
	const m, n = 150, 200
	a := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 1})
	for _, band := range []int{1, 7, 64, m, 2 * m} {
		d := on(t, comm.NewLocal(1)[0], 2)
		last, parts := 0, 0
		s, err := d.Load(m, n, Source{Threads: 1, Reading: Reading{Band: band}, Read: func(p Part) error {
			if p.Row/band < last || (p.Row+p.M-1)/band != p.Row/band {
				t.Errorf("bands of %d: rows [%d, %d) after band %d", band, p.Row, p.Row+p.M, last)
			}
			last = p.Row / band
			parts++
			for j := range p.N {
				copy(p.Data[j*p.Ld:j*p.Ld+p.M], a[(p.Column+j)*m+p.Row:])
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, m*n)
		s.copyTo(t, got)
		if !slices.Equal(got, a) {
			t.Errorf("bands of %d: another matrix", band)
		}
		if blocks := len(s.pieces()); parts != blocks*((m+band-1)/band) {
			t.Errorf("bands of %d: %d parts of %d blocks", band, parts, blocks)
		}
	}
}
