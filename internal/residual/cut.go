package residual

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"

	"jmpi/internal/matio"
)

// side is a factor of a decomposition of T = A, or T = Aᵀ, with as many rows as T has columns; other is the
// factor with as many rows as T.
type side struct {
	t           view
	file, other *matio.File
}

// sides returns that of V, and that of U.
func (d *factors) sides() (v, u side) {
	return side{view{d.a, false}, d.v, d.u}, side{view{d.a, true}, d.u, d.v}
}

// eitherSide returns a factor that is there, nil if none is.
func (d *factors) eitherSide() *matio.File {
	if d.v != nil {
		return d.v
	}
	return d.u
}

// pairs returns ‖A·V − U·diag(S)‖_F / (‖A‖_F·max(m,n)·ε), or with left ‖Aᵀ·U − V·diag(S)‖_F.
func (d *factors) pairs(c scale, left bool) (float64, error) {
	x, u := d.sides()
	if left {
		x = u
	}
	rows, cols := x.t.shape()
	s, normA, squares := c.vector(d.s), 0.0, 0.0
	width := min(d.k, max(1, d.budget/max(1, max(rows, cols))))
	for p := int64(0); p < d.k; p += width {
		w := min(width, d.k-p)
		f := newPanel(int(cols), int(w))
		if err := x.file.ReadColumns(p, p+w, f.data, max(1, f.rows)); err != nil {
			return 0, err
		}
		normA = 0
		err := d.panelsOf([]view{x.t}, func(i0 int64, t []panel) error {
			c.panel(t[0])
			normA += t[0].sumSquares()
			g := newPanel(t[0].rows, int(w))
			if err := x.other.ReadPart(i0, i0+int64(g.rows), p, p+w, g.data, g.rows); err != nil {
				return err
			}
			g.scaleColumns(func(j int) float64 { return s[int(p)+j] })
			g.add(-1, blas.NoTrans, t[0], blas.NoTrans, f)
			squares += g.sumSquares()
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return d.inUnits(math.Sqrt(squares), math.Sqrt(normA)), nil
}

// inUnits returns x in units of size·max(m,n)·ε.
func (d *factors) inUnits(x, size float64) float64 {
	if x == 0 {
		return 0
	}
	return x / (size * float64(max(d.m, d.n)) * epsilon)
}

// What leading does: so many steps of the power method, with so many random vectors.
const leadingSteps, leadingVectors = 6, 8

// leading returns by how much ‖A − U·diag(S)·Vᵀ‖₂ exceeds the largest singular value that was cut, in units
// of ‖A‖_F·max(m,n)·ε. It takes ‖T·x‖ for unit vectors x that are orthogonal to a factor, which is never more
// than that norm, and nearly as much after a few steps x ← TᵀT·x. A vector that has nothing left
// but rounding errors goes no further.
func (d *factors) leading(c scale) (float64, error) {
	x, u := d.sides()
	if x.file == nil {
		x = u
	}
	_, cols := x.t.shape()
	y := newPanel(int(cols), leadingVectors)
	random := rand.New(rand.NewPCG(1, 0x6c656164696e67)) // always the same
	for i := range y.data {
		y.data[i] = random.NormFloat64()
	}
	most, normA := 0.0, 0.0
	for range leadingSteps {
		if err := d.project(x.file, y); err != nil {
			return 0, err
		}
		z, sizes := newPanel(y.rows, y.cols), make([]float64, y.cols)
		normA = 0
		err := d.panelsOf([]view{x.t}, func(_ int64, t []panel) error {
			c.panel(t[0])
			normA += t[0].sumSquares()
			ty := newPanel(t[0].rows, y.cols)
			ty.add(1, blas.NoTrans, t[0], blas.NoTrans, y)
			for j, square := range ty.columnSquares() {
				sizes[j] += square
			}
			z.add(1, blas.Trans, t[0], blas.NoTrans, ty)
			return nil
		})
		if err != nil {
			return 0, err
		}
		for _, square := range sizes {
			most = max(most, math.Sqrt(square)) // max keeps a NaN
		}
		y = z
	}
	return d.inUnits(max(0, most-c.vector([]float64{d.cut.Next})[0]), math.Sqrt(normA)), nil
}

// leftOver is the length of a unit vector, orthogonal to a factor but for rounding errors, below which such
// errors are all that it had. Otherwise the factor takes next to nothing away.
const leftOver = 0.5

// project takes the columns of a factor out of those of y, and makes these unit vectors, or zero where they
// are combinations of the columns of the factor. The second time takes away what rounding errors have left.
// Where it takes most of a vector, the first time has left errors alone, in no direction to follow.
func (d *factors) project(f *matio.File, y panel) error {
	y.normalize(0)
	for _, shortest := range []float64{0, leftOver} {
		if err := d.takeOut(f, y); err != nil {
			return err
		}
		y.normalize(shortest)
	}
	return nil
}

// takeOut takes the columns of a factor out of those of y.
func (d *factors) takeOut(f *matio.File, y panel) error {
	width := min(d.k, max(1, d.budget/int64(y.rows)))
	for p := int64(0); p < d.k; p += width {
		w := min(width, d.k-p)
		q := newPanel(y.rows, int(w))
		if err := f.ReadColumns(p, p+w, q.data, q.rows); err != nil {
			return err
		}
		products := newPanel(int(w), y.cols)
		products.add(1, blas.Trans, q, blas.NoTrans, y)
		y.add(-1, blas.NoTrans, q, blas.NoTrans, products)
	}
	return nil
}

// normalize makes the columns unit vectors, and zero those that are shorter than shortest, or zero.
func (p panel) normalize(shortest float64) {
	squares := p.columnSquares()
	p.scaleColumns(func(j int) float64 {
		size := math.Sqrt(squares[j])
		if size == 0 || size < shortest { // not NaN, which stays
			return 0
		}
		return 1 / size
	})
}
