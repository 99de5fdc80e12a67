package residual

import (
	"math"

	"gonum.org/v1/gonum/blas"

	"jmpi/internal/matio"
)

// long compares the columns x of the long factor X in f with the eigenvectors of H, by y = Tᵀx, width columns
// at a time. It returns the largest |yᵀDy − λ|/(‖y‖ + √|λ|), where yᵀDy = xᵀHx is the Rayleigh quotient, and
// ‖H·X − X·Λ‖_F.
func (h *half) long(f *matio.File) (rayleigh, eigen float64, err error) {
	squares := 0.0
	for p := 0; p < int(h.k) && err == nil; p += h.width() {
		w := min(h.width(), int(h.k)-p)
		y := newPanel(int(h.order()), w)
		err = h.both(f, func(t, x panel) { y.add(1, blas.Trans, t, blas.NoTrans, x.columns(p, p+w)) })
		dy := h.signature.times(0, y)
		for j, size := range y.columnSquares() {
			quotient := dot(y.columns(j, j+1).data, dy.columns(j, j+1).data)
			difference := quotient - h.eigenvalue(p+j)
			rayleigh = max(rayleigh, h.relative(difference, (math.Sqrt(size)+h.s[p+j])*h.size))
		}
		if err == nil {
			err = h.both(f, func(t, x panel) {
				c := x.columns(p, p+w)
				c.scaleColumns(func(j int) float64 { return h.eigenvalue(p + j) })
				c.add(-1, blas.NoTrans, t, blas.NoTrans, dy)
				squares += c.sumSquares()
			})
		}
	}
	return rayleigh, h.relative(math.Sqrt(squares), h.norm*h.size), err
}

// rest returns ‖T − X·XᵀT‖_F for the long factor X in f, width columns of T at a time.
func (h *half) rest(f *matio.File) (float64, error) {
	squares := 0.0
	var err error
	for p := 0; p < int(h.k) && err == nil; p += h.width() {
		w := min(h.width(), int(h.k)-p)
		c := newPanel(int(h.k), w)
		err = h.both(f, func(t, x panel) { c.add(1, blas.Trans, x, blas.NoTrans, t.columns(p, p+w)) })
		if err == nil {
			err = h.both(f, func(t, x panel) {
				t = t.columns(p, p+w)
				t.add(-1, blas.NoTrans, x, blas.NoTrans, c)
				squares += t.sumSquares()
			})
		}
	}
	return h.relative(math.Sqrt(squares), h.size), err
}

// both visits T and the long factor in f, panel by panel of the same rows.
func (h *half) both(f *matio.File, visit func(t, x panel)) error {
	return h.panelsOf([]view{h.t, {file: f}}, func(_ int64, p []panel) error {
		h.scale.panel(p[0])
		visit(p[0], p[1])
		return nil
	})
}

// short compares the columns y of the short factor Y in f with the eigenvectors of TᵀT·D, by x = T·D·y, which
// are √|λ| times those of H, width columns at a time. It returns the largest |‖x‖ − √|λ|| and
// ‖TᵀT·D·Y − Y·Λ‖_F.
func (h *half) short(f *matio.File) (rayleigh, eigen float64, err error) {
	squares := 0.0
	for p := 0; p < int(h.k) && err == nil; p += h.width() {
		w := min(h.width(), int(h.k)-p)
		c := newPanel(int(h.order()), w)
		if err = f.ReadColumns(int64(p), int64(p+w), c.data, c.rows); err != nil {
			break
		}
		dy := h.signature.times(0, c.clone())
		c.scaleColumns(func(j int) float64 { return -h.eigenvalue(p + j) })
		sizes := make([]float64, w)
		err = h.panelsOf([]view{h.t}, func(_ int64, t []panel) error {
			h.scale.panel(t[0])
			x := newPanel(t[0].rows, w)
			x.add(1, blas.NoTrans, t[0], blas.NoTrans, dy)
			for j, size := range x.columnSquares() {
				sizes[j] += size
			}
			c.add(1, blas.Trans, t[0], blas.NoTrans, x)
			return nil
		})
		for j, size := range sizes {
			rayleigh = max(rayleigh, h.relative(math.Sqrt(size)-h.s[p+j], h.normV*h.size))
		}
		squares += c.sumSquares()
	}
	return rayleigh, h.relative(math.Sqrt(squares), h.norm*h.normV*h.size), err
}
