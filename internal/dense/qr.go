package dense

// panelWidth is the number of columns that QR factors at a time.
const panelWidth = 64

// QR is the m×m orthogonal matrix Q of a QR factorization. Its reflectors are applied panel by panel, as
// I − Y·T·Yᵀ: applied one after the other, sums over a vector that the one before has just filled with few
// different numbers are rounded in one direction, and the columns of Q·C are off by up to m·ε instead of a
// few ε for small integers, say.
type QR struct{ panels []Reflectors } // panel k acts from row k·panelWidth on

// NewQR factors the m×n matrix a, m ≥ n, leading dimension m, which it overwrites, and returns Q and R, n×n.
func NewQR(m, n int, a []float64) (q *QR, r []float64) {
	q, r = &QR{}, make([]float64, n*n)
	for j := 0; j < n; j += panelWidth {
		rows, w := m-j, min(panelWidth, n-j)
		part := make([]float64, rows*w)
		for k := range w {
			column := a[(j+k)*m : (j+k+1)*m]
			copy(r[(j+k)*n:(j+k)*n+j], column)
			copy(part[k*rows:(k+1)*rows], column[j:])
		}
		p := Factor(rows, w, part)
		for k := range w {
			copy(r[(j+k)*n+j:], p.R[k*w:k*w+k+1])
		}
		if rest := n - j - w; rest > 0 {
			p.Apply(true, rest, a[(j+w)*m+j:], m)
		}
		q.panels = append(q.panels, p.Reflectors)
	}
	return q, r
}

// Apply does c ← Q·c for the m×n matrix c with leading dimension ld.
func (q *QR) Apply(n int, c []float64, ld int) {
	for k := len(q.panels) - 1; k >= 0; k-- {
		q.panels[k].Apply(false, n, c[k*panelWidth:], ld)
	}
}
