package cuda

import "jmpi/kernels"

const (
	reflectSide   = 64   // SIDE of reflect.cu
	reflectTurned = 8    // columns that a block of reflect_turn does, fewer where there are few blocks
	reflectPiece  = 512  // rows that are summed by themselves,
	reflectShort  = 128  // or so many, for a panel of QR and for panels by themselves,
	reflectRows   = 8192 // of so many rows at most

	// bytes of the sums over pieces that are kept at a time, where one panel needs no more; and for many
	// reflectors, with which a few columns give all multiprocessors something to do
	reflectBytes, reflectFew = 128 << 20, 32 << 20
)

// reflection is Reflection of reflect.cu.
type reflection struct {
	y, t                       kernels.Address
	m, k, ldy, ldt, transposed int64
	list                       kernels.Address
	one                        member
	piece, pieces, across      int64
	partial, w                 kernels.Address
	ldw, turned                int64
}

// newReflection returns what does not depend on T and the panels, of which the widest has so many columns.
// Short pieces of the rows give more multiprocessors something to do.
func newReflection(y kernels.Panel, widest int, short bool) reflection {
	piece := reflectPiece
	if short && y.M <= reflectRows {
		piece = reflectShort
	}
	return reflection{y: y.Data, m: int64(y.M), k: int64(y.N), ldy: int64(y.Ld), piece: int64(piece),
		pieces: int64(ceil(y.M, piece)), across: int64(ceil(widest, reflectSide)), ldw: int64(ceil(y.N, 2) * 2)}
}

// bytes returns how many the sums over pieces of the rows take for a panel.
func (r reflection) bytes() int64 {
	tiles := r.across * int64(ceil(int(r.k), reflectSide)) * r.pieces
	return tiles * reflectSide * reflectSide * kernels.WordBytes
}

func (d *device) Reflect(q kernels.Reflectors, transposed bool, c []kernels.Panel, of int) error {
	return d.checked("Reflect", q.Check(c, of), func() error {
		if q.Y.N <= kernels.PanelWidth {
			return d.reflectList(q, transposed, c, of)
		}
		panels := adjoined(c)
		for _, x := range panels {
			of = max(of, x.N)
		}
		for _, x := range panels {
			if err := d.reflectProducts(q, transposed, x, of); err != nil {
				return err
			}
		}
		return nil
	})
}

// adjoined makes one panel of those that follow each other in memory.
func adjoined(c []kernels.Panel) (all []kernels.Panel) {
	for _, x := range c {
		if n := len(all) - 1; n >= 0 && x.Ld == all[n].Ld && x.Data == all[n].Data+kernels.Address(all[n].Bytes()) {
			all[n].N += x.N
		} else {
			all = append(all, x)
		}
	}
	return all
}

// reflectProducts queues C ← C − Y·(op(T)·(YᵀC)) for many reflectors. The last two products are cuBLAS's.
func (d *device) reflectProducts(q kernels.Reflectors, transposed bool, c kernels.Panel, of int) error {
	k := q.Y.N
	w := kernels.Panel{M: k, N: 2 * c.N, Ld: ceil(k, 2) * 2}
	var err error
	if w.Data, err = d.need("products with reflectors", w.Bytes()); err != nil {
		return err
	}
	yc, tyc := w.Columns(0, c.N), w.Columns(c.N, 2*c.N)
	if err := d.inner(q.Y, c, yc, false); err != nil {
		return err
	}
	return d.gemms(
		kernels.Gemm{TransA: transposed, Alpha: 1, A: q.T, B: yc, C: tyc, Of: of},
		kernels.Gemm{Alpha: 1, A: q.Y, B: tyc, Beta: 1, C: c, Of: of})
}

// inner queues W ← −YᵀC for some columns at a time. cuBLAS adds the terms of a sum one after the other, so
// that those of one sign are rounded in one direction. This kernel adds sums of 32 or 16.
func (d *device) inner(y, c, w kernels.Panel, short bool) error {
	tile := newReflection(y, reflectSide, short)
	columns := max(1, reflectFew/int(tile.bytes())) * reflectSide
	for first := 0; first < c.N; first += columns {
		last := min(first+columns, c.N)
		x, r := c.Columns(first, last), newReflection(y, last-first, short)
		r.one = member{x.Data, int64(x.M), int64(x.N), int64(x.Ld), 0}
		r.w, r.ldw = w.Columns(first, last).Data, int64(w.Ld)
		var err error
		if r.partial, err = d.need("products with reflectors over pieces of rows", r.bytes()); err != nil {
			return err
		}
		if err := d.sums(r, 1, x.N, 0); err != nil {
			return err
		}
	}
	return nil
}

// reflectList is the same for a list, by kernels of our own, as many panels at a time as there is room for.
func (d *device) reflectList(q kernels.Reflectors, transposed bool, c []kernels.Panel, of int) error {
	k, widest := q.Y.N, 0
	for _, x := range c {
		widest = max(widest, x.N)
	}
	if k == 0 || widest == 0 {
		return nil
	}
	r := newReflection(q.Y, widest, k > kernels.PivotedWidth || of == 0)
	r.t, r.ldt = q.T.Data, int64(q.T.Ld)
	if transposed {
		r.transposed = 1
	}
	panel := r.bytes()
	count := int(max(1, min(int64(len(c)), reflectBytes/panel, gridLimit)))
	var err error
	if r.partial, err = d.need("products with reflectors over pieces of rows", int64(count)*panel); err != nil {
		return err
	}
	for first := 0; first < len(c); first += count {
		if err := d.reflectSome(r, c[first:min(first+count, len(c))]); err != nil {
			return err
		}
	}
	return nil
}

func (d *device) reflectSome(r reflection, c []kernels.Panel) error {
	list := members{columns: c[0].N, widest: c[0].N}
	r.one = member{c[0].Data, int64(c[0].M), int64(c[0].N), int64(c[0].Ld), 0}
	var err error
	if len(c) > 1 {
		list, err = d.members("panels to reflect", c)
	}
	if err != nil || list.columns == 0 {
		return err
	}
	r.list = list.at
	k, panels := int(r.k), len(c)
	w := kernels.Panel{M: k, N: list.columns, Ld: int(r.ldw)}
	if w.Data, err = d.need("products with reflectors", w.Bytes()); err != nil {
		return err
	}
	r.w = w.Data
	if err := d.sums(r, panels, list.widest, k*(k|1)*kernels.WordBytes); err != nil {
		return err
	}
	return d.launch("reflect_add", ceil(int(r.m), productRows), ceil(list.widest, 128), panels, 256,
		d.productShared(128), words([]reflection{r})...)
}

// sums queues W ← −op(T)·(YᵀC) for some panels, with so many bytes of shared memory for T. Its bits do not
// depend on how the kernels share the work.
func (d *device) sums(r reflection, panels, widest, triangle int) error {
	r.turned = reflectTurned
	for r.turned > 1 && ceil(widest, int(r.turned))*panels < d.processors {
		r.turned /= 2
	}
	arguments := words([]reflection{r})
	name, side, threads := "reflect_sums", reflectSide, 128
	if d.wideSums(r, panels, widest) {
		name, side, threads = "reflect_sums_wide", 2*reflectSide, 256
	}
	if err := d.launch(name, ceil(widest, side), ceil(int(r.k), side)*int(r.pieces), panels, threads,
		d.sumsShared(side), arguments...); err != nil {
		return err
	}
	// One block of threads for each few columns multiplies by T.
	shared := int(r.k*r.turned)*kernels.WordBytes + triangle
	return d.launch("reflect_turn", ceil(widest, int(r.turned)), panels, 1, 256, shared, arguments...)
}

// sumsShared returns the shared memory that sums need for tiles of so many columns on each side.
func (d *device) sumsShared(side int) int {
	return d.tiling.stages * 2 * side * (d.tiling.gramChunk + pad) * kernels.WordBytes
}

// wideSums tells whether there are enough large tiles to keep multiprocessors busy, each with one at a time.
func (d *device) wideSums(r reflection, panels, widest int) bool {
	const side = 2 * reflectSide
	tiles := ceil(widest, side) * ceil(int(r.k), side) * int(r.pieces) * panels
	busy := 4 * tiles / (3 * d.processors * ceil(tiles, d.processors)) // three quarters of them, on the average
	return r.k > reflectSide && busy > 0 && d.sumsShared(side) <= d.shared
}
