package cuda

import "jmpi/kernels"

const (
	tallRatio = 4   // of rows to columns from which a panel is tall
	tallSide  = 64  // SIDE of tall.cu
	tallHalf  = 32  // HALF
	tallRows  = 128 // SOLVERS

	squareRows  = 1024     // of a piece, which are summed by themselves, at least
	squareBytes = 32 << 20 // of the sums over pieces that are kept at a time
)

// tall tells whether a panel is one for tall.cu.
func tall(p kernels.Panel) bool {
	return p.Type == kernels.Float64 && p.N > 0 && p.M >= tallRatio*p.N
}

// tallPanel is Tall of tall.cu.
type tallPanel struct {
	a          kernels.Address
	m, n, lda  int64
	c          kernels.Address
	ldc, piece int64
	partial    kernels.Address
}

// newTall cuts the rows of a tall panel into pieces, by its shape alone. It returns the bytes of their sums.
func newTall(a, c kernels.Panel) (t tallPanel, pieces int, bytes int64) {
	side := int64(ceil(a.N, tallSide))
	tile := side * (side + 1) / 2 * tallSide * tallSide * kernels.WordBytes
	most := int(max(1, min(squareBytes/tile, gridLimit)))
	piece := max(squareRows, ceil(ceil(a.M, most), gramUnit)*gramUnit)
	pieces = ceil(a.M, piece)
	return tallPanel{a.Data, int64(a.M), int64(a.N), int64(a.Ld), c.Data, int64(c.Ld), int64(piece), 0}, pieces,
		tile * int64(pieces)
}

// Syrk forms the whole product of a panel that is not tall, of which the upper triangle counts: cuBLAS has a
// faster gemm than syrk.
func (d *device) Syrk(a, c []kernels.Panel) error {
	return d.checked("Syrk", kernels.CheckSyrk(a, c), func() error {
		var some tallPanels
		for i := range a {
			if tall(a[i]) {
				if err := some.add(d, a[i], c[i]); err != nil {
					return err
				}
				continue
			}
			if err := d.gemms(kernels.Gemm{TransA: true, Alpha: 1, A: a[i], B: a[i], C: c[i]}); err != nil {
				return err
			}
			if err := d.lower(c[i], true); err != nil {
				return err
			}
		}
		return some.queue(d)
	})
}

// tallPanels are some whose Gram matrices are queued together.
type tallPanels struct {
	list           []tallPanel
	places         []int64 // of their sums
	bytes          int64
	widest, pieces int // most columns, and most pieces
}

// add takes one more. Those before are queued first if there is no room for the sums of all.
func (s *tallPanels) add(d *device, a, c kernels.Panel) error {
	x, pieces, bytes := newTall(a, c)
	if s.bytes > 0 && s.bytes+bytes > squareBytes {
		if err := s.queue(d); err != nil {
			return err
		}
	}
	s.list, s.places = append(s.list, x), append(s.places, s.bytes)
	s.bytes, s.widest, s.pieces = s.bytes+bytes, max(s.widest, a.N), max(s.pieces, pieces)
	return nil
}

// queue queues the products, and forgets them.
func (s *tallPanels) queue(d *device) error {
	if len(s.list) == 0 {
		return nil
	}
	partial, err := d.need("Gram matrices of pieces", s.bytes)
	if err != nil {
		return err
	}
	for i, place := range s.places {
		s.list[i].partial = partial + kernels.Address(place)
	}
	at, err := d.list("panels to square", words(s.list))
	if err != nil {
		return err
	}
	shared := func(sets int) int {
		return d.tiling.stages * sets * tallSide * (d.tiling.gramChunk + pad) * kernels.WordBytes
	}
	side, blocks, count := ceil(s.widest, tallSide), ceil(s.widest, 32), len(s.list)
	pieces := s.pieces
	*s = tallPanels{}
	if err := d.launch("square_diagonal", side, pieces, count, 96, shared(1), word(at)); err != nil {
		return err
	}
	if err := d.launch("square_other", side*(side-1)/2, pieces, count, 128, shared(2), word(at)); err != nil {
		return err
	}
	return d.launch("square_add", blocks*(blocks+1)/2, count, 1, 256, 0, word(at))
}

// Trsm solves tall panels some columns at a time, left to right: cuBLAS takes several times as long for few
// columns and many rows.
func (d *device) Trsm(b []kernels.Panel, r kernels.Panel, transposed bool) error {
	return d.checked("Trsm", kernels.CheckTrsm(b, r), func() error {
		var some []kernels.Panel
		for _, x := range b {
			if tall(x) && !transposed {
				some = append(some, x)
			} else if err := d.blas.trsm(d, x, r, transposed); err != nil {
				return err
			}
		}
		return d.solve(some, r)
	})
}

func (d *device) solve(b []kernels.Panel, r kernels.Panel) error {
	if len(b) == 0 {
		return nil
	}
	list, err := d.members("panels to solve for", b)
	if err != nil {
		return err
	}
	shared := (tallSide*tallSide + tallHalf*tallRows) * kernels.WordBytes
	for j0 := 0; j0 < r.N; j0 += tallSide {
		j1 := min(j0+tallSide, r.N)
		for _, x := range b {
			if j0 == 0 {
				break
			}
			if err := d.gemms(kernels.Gemm{Alpha: -1, A: x.Columns(0, j0), B: r.Columns(j0, j1).Rows(0, j0), Beta: 1,
				C: x.Columns(j0, j1)}); err != nil {
				return err
			}
		}
		if err := d.launch("solve", ceil(list.longest, tallRows), len(b), 1, tallRows, shared, word(list.at),
			uint64(j0), uint64(j1-j0), word(r.Columns(j0, j1).Rows(j0, j1).Data), uint64(r.Ld)); err != nil {
			return err
		}
	}
	return nil
}
