package residual

import "math"

// half is a decomposition without U, V or both. The rest is judged by what it says of H = T·D·Tᵀ and TᵀT.
// T is A or Aᵀ, l×k, whichever has no fewer rows than columns; in a hyperbolic decomposition T = A.
// The long factor, with l rows, is U if T = A, else V.
type half struct {
	*factors
	t     view
	scale scale
	s     []float64 // S, scaled as A
	norm  float64   // ‖A‖_F
	trace float64   // of H
	normV float64   // 1, of a hyperbolic decomposition ‖V‖_F
	size  float64   // ‖A‖_F, of a hyperbolic decomposition ‖S‖_F·‖V‖_F, as in the row residual
}

// reading is a row of the report.
type reading struct {
	name  string
	value float64
}

// half returns the readings that take the place of the residual where U or V is missing.
func (d *factors) half(c scale) (all []reading, err error) {
	h := &half{factors: d, t: view{d.a, d.m < d.n}, scale: c, s: c.vector(d.s), normV: 1}
	if err = h.measure(); err != nil {
		return nil, err
	}
	all = append(all, reading{"norm", h.first()})
	if d.u == nil && d.v == nil && d.cut != nil { // nothing tells the sum of the fourth powers of what was cut
		return all, nil
	}
	if d.u == nil && d.v == nil {
		second, err := h.second()
		return append(all, reading{"norm4", second}), err
	}
	f, name := d.u, "U"
	if f == nil {
		f, name = d.v, "V"
	}
	isLong := h.t.transposed == (f == d.v)
	pairs := h.short
	if isLong {
		pairs = h.long
	}
	rayleigh, eigen, err := pairs(f)
	if isNotFinite(err) {
		rayleigh, eigen, err = math.NaN(), math.NaN(), nil
	}
	all = append(all, reading{"rayleigh" + name, rayleigh}, reading{"eigen" + name, eigen})
	if err != nil || !isLong || d.m == d.n || d.cut != nil {
		return all, err
	}
	rest, err := h.rest(f)
	if isNotFinite(err) {
		rest, err = math.NaN(), nil
	}
	return append(all, reading{"range" + name, rest}), err
}

// measure sets the norms and the trace.
func (h *half) measure() error {
	squares := 0.0
	err := h.panelsOf([]view{h.t}, func(_ int64, p []panel) error {
		h.scale.panel(p[0])
		for j, x := range p[0].columnSquares() {
			squares += x
			h.trace += h.signature.row(j) * x
		}
		return nil
	})
	h.norm = math.Sqrt(squares)
	h.size = h.norm
	if err != nil || h.signature == nil {
		return err
	}
	h.normV, err = h.hyperbolicNorm()
	h.size = norm(h.s) * h.normV
	return err
}

// hyperbolicNorm returns ‖V‖_F, as info.json tells it where V is missing. It is √n or more, because VᵀDV = J.
func (h *half) hyperbolicNorm() (float64, error) {
	least := math.Sqrt(float64(h.n))
	if h.v == nil {
		return max(least, h.signature.normV), nil
	}
	squares := 0.0
	err := h.panels(h.v, func(_ int64, p panel) error {
		squares += p.sumSquares()
		return nil
	})
	if isNotFinite(err) {
		return math.NaN(), nil
	}
	return max(least, math.Sqrt(squares)), err
}

// relative returns |x| in units of size·max(m,n)·ε.
func (h *half) relative(x, size float64) float64 {
	if x == 0 {
		return 0
	}
	return math.Abs(x) / (size * float64(max(h.m, h.n)) * epsilon)
}

// width returns how many columns of min(m,n) numbers are in memory at a time.
func (h *half) width() int { return int(max(1, min(h.order(), h.budget/max(1, h.order())))) }

// eigenvalue returns what S says of the j-th eigenvalue of H.
func (h *half) eigenvalue(j int) float64 { return h.signature.column(j) * h.s[j] * h.s[j] }

// first returns by how much tr H = Σ dⱼ·‖aⱼ‖² differs from the sum of the eigenvalues, with those that were
// cut.
func (h *half) first() float64 {
	sum := 0.0
	for j := range h.s {
		sum += h.eigenvalue(j)
	}
	if h.cut != nil {
		rest := h.scale.vector([]float64{h.cut.Norm})[0]
		sum += rest * rest
	}
	return h.relative(h.trace-sum, h.norm*h.size)
}

// second returns by how much tr H² = Σ dᵢ·dⱼ·gᵢⱼ², G = TᵀT, differs from the sum of the squares of the
// eigenvalues.
func (h *half) second() (float64, error) {
	k, difference := int(h.k), 0.0
	for p := 0; p < k; p += h.width() {
		g := newGram(p, min(p+h.width(), k), k)
		err := h.panelsOf([]view{h.t}, func(_ int64, t []panel) error {
			h.scale.panel(t[0])
			g.add(t[0], t[0])
			return nil
		})
		if err != nil {
			return 0, err
		}
		difference += g.squares(h.signature)
	}
	for j := range h.s {
		difference -= h.eigenvalue(j) * h.eigenvalue(j)
	}
	return h.relative(difference, h.norm*h.norm*h.norm*h.size), nil
}
