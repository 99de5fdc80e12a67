package cuda

import "jmpi/kernels"

const (
	reflectSide   = 64   // SIDE of reflect.cu
	reflectTurned = 8    // TURNED
	reflectPiece  = 512  // rows that are summed by themselves,
	reflectShort  = 128  // or so many, for a panel of QR and what is left of its block,
	reflectRows   = 8192 // of so many rows at most

	reflectBytes = 256 << 20 // of the sums over pieces that are kept at a time, where one panel needs no more
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

// reflect queues C ← C − Y·(op(T)·(YᵀC)) for a list, as many panels at a time as there is room for.
func (d *device) reflect(q kernels.Reflectors, transposed bool, c ...kernels.Panel) error {
	m, k, widest := q.Y.M, q.Y.N, 0
	for _, x := range c {
		widest = max(widest, x.N)
	}
	if k == 0 || widest == 0 {
		return nil
	}
	if k > kernels.PanelWidth {
		return d.reflectMany(q, transposed, c)
	}
	piece := reflectPiece
	if k > kernels.PivotedWidth && m <= reflectRows {
		piece = reflectShort
	}
	r := reflection{y: q.Y.Data, t: q.T.Data, m: int64(m), k: int64(k), ldy: int64(q.Y.Ld), ldt: int64(q.T.Ld),
		piece: int64(piece), pieces: int64(ceil(m, piece)), across: int64(ceil(widest, reflectSide)),
		ldw: int64(ceil(k, 2) * 2)}
	if transposed {
		r.transposed = 1
	}
	panel := r.across * r.pieces * int64(ceil(k, reflectSide)) * reflectSide * reflectSide * kernels.WordBytes
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

// reflectMany is reflect by cuBLAS, which is faster where there are many reflectors.
func (d *device) reflectMany(q kernels.Reflectors, transposed bool, c []kernels.Panel) error {
	k := q.Y.N
	for _, x := range c {
		w := kernels.Panel{M: k, N: 2 * x.N, Ld: k}
		var err error
		if w.Data, err = d.need("products with reflectors", w.Bytes()); err != nil {
			return err
		}
		yc, tyc := w.Columns(0, x.N), w.Columns(x.N, 2*x.N)
		if err := d.gemms(
			kernels.Gemm{TransA: true, Alpha: 1, A: q.Y, B: x, C: yc},
			kernels.Gemm{TransA: transposed, Alpha: 1, A: q.T, B: yc, C: tyc},
			kernels.Gemm{Alpha: -1, A: q.Y, B: tyc, Beta: 1, C: x}); err != nil {
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
	if r.w, err = d.need("products with reflectors", int64(list.columns)*r.ldw*kernels.WordBytes); err != nil {
		return err
	}
	arguments := words([]reflection{r})
	k, panels := int(r.k), len(c)
	sums := d.tiling.stages * 2 * reflectSide * (d.tiling.gramChunk + pad) * kernels.WordBytes
	if err := d.launch("reflect_sums", int(r.across), ceil(k, reflectSide)*int(r.pieces), panels, 128, sums,
		arguments...); err != nil {
		return err
	}
	if err := d.launch("reflect_turn", ceil(list.widest, reflectTurned), panels, 1, 256,
		k*reflectTurned*kernels.WordBytes, arguments...); err != nil {
		return err
	}
	return d.launch("reflect_add", ceil(int(r.m), productRows), ceil(list.widest, 128), panels, 256,
		d.productShared(128), arguments...)
}
