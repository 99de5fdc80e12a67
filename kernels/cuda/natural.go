package cuda

import "jmpi/kernels"

const (
	naturalThreads = 512      // NATURAL_THREADS of natural.cu
	naturalState   = 40 << 10 // bytes of shared memory that its kernels have besides, at most

	gramSide     = 64     // SIDE of gram_panel.cuh
	gramTriangle = 2080   // TRIANGLE
	gramState    = 121088 // bytes of its State without the slice
	gramPad      = 4      // numbers of a column of the slice that are not used
	gramOthers   = 2      // blocks that have no slice
)

// naturalArguments is Natural of natural.cu.
type naturalArguments struct {
	a, y, t, r               kernels.Address
	m, n, lda, ldy, ldt, ldr int64
	rows                     int64
	box                      kernels.Address
	meeting                  int64
	products                 int64
}

// cut says how a panel is cut into slices of rows, one for each block, all of which run at the same time.
type cut struct {
	kernel  string
	columns int // that it factors at most
	rows    int // of a slice
}

// naturalCuts are the kernels, those for lower panels first. The last one takes slices of any height.
var naturalCuts = []cut{{"natural_64_64", 64, 64}, {"natural_64_128", 64, 128}, {"natural_32_512", 32, 512},
	{"natural_16_1024", 16, 1024}, {"natural_far", 16, 256}}

// naturalCut chooses the kernel for a panel of m rows. Where a block reads the letters of more than 64 others
// in each of many columns, fewer columns and longer slices are faster.
func (d *device) naturalCut(m int) cut {
	blocks := min(mostSlices, d.processors)
	for _, c := range naturalCuts[:len(naturalCuts)-1] {
		most := blocks
		if c.columns > panelColumns {
			most = min(fewSlices, blocks)
		}
		if ceil(m, c.rows) <= most {
			return c
		}
	}
	far := naturalCuts[len(naturalCuts)-1]
	far.rows *= ceil(ceil(m, blocks), far.rows)
	return far
}

func (d *device) FactorPanel(a kernels.Panel, q kernels.Reflectors, r kernels.Panel) error {
	return d.checked("FactorPanel", kernels.CheckFactorPanel(a, q, r), func() error {
		if q.Y.N == 0 {
			return nil
		}
		return d.natural(a.Columns(0, q.Y.N), q, r)
	})
}

// natural queues the factorization of all columns of a, which has at least as many rows: with one kernel, or
// of about half of them, and then of what is left of the others.
func (d *device) natural(a kernels.Panel, q kernels.Reflectors, r kernels.Panel) error {
	m, n, c := a.M, a.N, d.naturalCut(a.M)
	if n <= c.columns {
		return d.naturalKernel(c, a, q, r)
	}
	h := ceil(ceil(n, c.columns), 2) * c.columns
	left := kernels.Reflectors{Y: q.Y.Columns(0, h), T: q.T.Columns(0, h).Rows(0, h)}
	if err := d.natural(a.Columns(0, h), left, r.Columns(0, h).Rows(0, h)); err != nil {
		return err
	}
	rest, right := a.Columns(h, n), kernels.Reflectors{Y: q.Y.Columns(h, n).Rows(h, m)}
	right.T = q.T.Columns(h, n).Rows(h, n)
	if err := d.reflectList(left, true, []kernels.Panel{rest}, 0); err != nil {
		return err
	}
	if top := r.Columns(h, n); top.Data != rest.Data {
		if err := d.copyMatrix(d.stream, on(top), on(rest), h, n-h); err != nil {
			return err
		}
	}
	if err := d.natural(rest.Rows(h, m), right, r.Columns(h, n).Rows(h, n)); err != nil {
		return err
	}
	for _, p := range []kernels.Panel{r.Columns(0, h).Rows(h, n), q.T.Columns(0, h).Rows(h, n),
		q.Y.Columns(h, n).Rows(0, h)} {
		if err := d.zero(p); err != nil {
			return err
		}
	}
	return d.join(q, h)
}

func (d *device) Join(q kernels.Reflectors) error {
	return d.checked("Join", q.Check(nil, 0), func() error { return d.join(q, kernels.PanelWidth) })
}

// join queues T₁₂ ← −T₁·(Y₁ᵀY₂)·T₂ for panels of so many reflectors.
func (d *device) join(q kernels.Reflectors, width int) error {
	k := q.Y.N
	if k <= width {
		return nil
	}
	w := kernels.Panel{M: k, N: 2 * k, Ld: k}
	var err error
	if w.Data, err = d.need("products of reflectors", w.Bytes()); err != nil {
		return err
	}
	g, gt := w.Columns(0, k), w.Columns(k, 2*k)
	if err := d.inner(q.Y, q.Y, g, true); err != nil {
		return err
	}
	for at := width; at < k; at += width {
		to := min(at+width, k)
		above := func(p kernels.Panel) kernels.Panel { return p.Columns(at, to).Rows(0, at) }
		if err := d.gemms(
			kernels.Gemm{Alpha: 1, A: above(g), B: q.T.Columns(at, to).Rows(at, to), C: above(gt)},
			kernels.Gemm{Alpha: 1, A: q.T.Columns(0, at).Rows(0, at), B: above(gt), C: above(q.T)}); err != nil {
			return err
		}
	}
	return nil
}

// naturalKernel queues the kernel of a cut.
func (d *device) naturalKernel(c cut, a kernels.Panel, q kernels.Reflectors, r kernels.Panel) error {
	blocks, shared, products := ceil(a.M, c.rows), 0, int64(0)
	if state := gramState + gramSide*(c.rows+gramPad)*kernels.WordBytes; c.columns == gramSide &&
		a.N == gramSide && state+naturalState <= d.shared && blocks+gramOthers <= d.processors {
		blocks, shared, products = blocks+gramOthers, state, 1
	}
	count := letters(c.columns, c.columns, blocks)
	if products != 0 {
		count += ceil(gramTriangle, blocks)*blocks*(blocks+1) + gramSide*gramSide
	}
	box, meeting, err := d.meeting(count)
	if err != nil {
		return err
	}
	arguments := naturalArguments{a: a.Data, y: q.Y.Data, t: q.T.Data, r: r.Data, m: int64(a.M), n: int64(a.N),
		lda: int64(a.Ld), ldy: int64(q.Y.Ld), ldt: int64(q.T.Ld), ldr: int64(r.Ld), rows: int64(c.rows), box: box,
		meeting: meeting, products: products}
	return d.launchTogether(c.kernel, blocks, naturalThreads, shared, words([]naturalArguments{arguments}))
}
