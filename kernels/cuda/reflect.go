package cuda

import "jmpi/kernels"

const (
	reflectSide   = 64   // SIDE of reflect.cu
	reflectTurned = 8    // TURNED
	reflectPiece  = 512  // rows that are summed by themselves,
	reflectShort  = 128  // or so many, for a panel of QR and what is left of its block,
	reflectRows   = 8192 // of so many rows at most

	reflectBroad = 256 // columns of a panel, above which products are cuBLAS's, for many reflectors

	// bytes of the sums over pieces that are kept at a time, where one panel needs no more; and for many
	// reflectors, with which a few panels give all multiprocessors something to do
	reflectBytes, reflectFew = 256 << 20, 32 << 20
)

// reflection is Reflection of reflect.cu.
type reflection struct {
	y, t                       kernels.Address
	m, k, ldy, ldt, transposed int64
	list                       kernels.Address
	one                        member
	piece, pieces, across      int64
	partial, w                 kernels.Address
	ldw                        int64
}

func (d *device) Reflect(q kernels.Reflectors, transposed bool, c []kernels.Panel) error {
	return d.checked("Reflect", q.Check(c), func() error { return d.reflect(q, transposed, c...) })
}

// reflect queues C ← C − Y·(op(T)·(YᵀC)) for a list. For many reflectors on many columns cuBLAS is faster:
// panels that follow each other in memory are one.
func (d *device) reflect(q kernels.Reflectors, transposed bool, c ...kernels.Panel) error {
	if q.Y.N <= kernels.PanelWidth {
		return d.reflectList(q, transposed, c)
	}
	var narrow []kernels.Panel
	for _, x := range adjoined(c) {
		if x.N <= reflectBroad {
			narrow = append(narrow, x)
		} else if err := d.reflectProducts(q, transposed, x); err != nil {
			return err
		}
	}
	return d.reflectList(q, transposed, narrow)
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

// reflectProducts is reflect by three products.
func (d *device) reflectProducts(q kernels.Reflectors, transposed bool, c kernels.Panel) error {
	k := q.Y.N
	w := kernels.Panel{M: k, N: 2 * c.N, Ld: k}
	var err error
	if w.Data, err = d.need("products with reflectors", w.Bytes()); err != nil {
		return err
	}
	yc, tyc := w.Columns(0, c.N), w.Columns(c.N, 2*c.N)
	return d.gemms(
		kernels.Gemm{TransA: true, Alpha: 1, A: q.Y, B: c, C: yc},
		kernels.Gemm{TransA: transposed, Alpha: 1, A: q.T, B: yc, C: tyc},
		kernels.Gemm{Alpha: -1, A: q.Y, B: tyc, Beta: 1, C: c})
}

// reflectList is reflect by kernels of our own, as many panels at a time as there is room for.
func (d *device) reflectList(q kernels.Reflectors, transposed bool, c []kernels.Panel) error {
	m, k, widest := q.Y.M, q.Y.N, 0
	for _, x := range c {
		widest = max(widest, x.N)
	}
	if k == 0 || widest == 0 {
		return nil
	}
	piece := reflectPiece
	if k > kernels.PivotedWidth && k <= kernels.PanelWidth && m <= reflectRows {
		piece = reflectShort
	}
	r := reflection{y: q.Y.Data, t: q.T.Data, m: int64(m), k: int64(k), ldy: int64(q.Y.Ld), ldt: int64(q.T.Ld),
		piece: int64(piece), pieces: int64(ceil(m, piece)), across: int64(ceil(widest, reflectSide)),
		ldw: int64(ceil(k, 2) * 2)}
	if transposed {
		r.transposed = 1
	}
	panel := r.across * r.pieces * int64(ceil(k, reflectSide)) * reflectSide * reflectSide * kernels.WordBytes
	bytes := int64(reflectBytes)
	if k > kernels.PanelWidth { // a few panels have enough to do
		bytes = reflectFew
	}
	count := int(max(1, min(int64(len(c)), bytes/panel, gridLimit)))
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
	w := kernels.Panel{M: k, N: 2 * list.columns, Ld: int(r.ldw)}
	if w.Data, err = d.need("products with reflectors", w.Bytes()); err != nil {
		return err
	}
	yc, tyc := w.Columns(0, list.columns), w.Columns(list.columns, w.N)
	r.w = yc.Data
	// One block of threads for each few columns multiplies by T, unless this is large.
	t, turn := kernels.Panel{M: k, N: k, Ld: int(r.ldt), Data: r.t}, k*reflectTurned
	if k > kernels.PanelWidth {
		r.t = 0
	} else {
		turn += k * (k | 1)
	}
	arguments := words([]reflection{r})
	sums := d.tiling.stages * 2 * reflectSide * (d.tiling.gramChunk + pad) * kernels.WordBytes
	if err := d.launch("reflect_sums", int(r.across), ceil(k, reflectSide)*int(r.pieces), panels, 128, sums,
		arguments...); err != nil {
		return err
	}
	if err := d.launch("reflect_turn", ceil(list.widest, reflectTurned), panels, 1, 256,
		turn*kernels.WordBytes, arguments...); err != nil {
		return err
	}
	if k > kernels.PanelWidth {
		if err := d.gemms(kernels.Gemm{TransA: r.transposed != 0, Alpha: 1, A: t, B: yc, C: tyc}); err != nil {
			return err
		}
		r.w = tyc.Data
		arguments = words([]reflection{r})
	}
	return d.launch("reflect_add", ceil(int(r.m), productRows), ceil(list.widest, 128), panels, 256,
		d.productShared(128), arguments...)
}
