package reference

import (
	"math"
	"math/big"

	"jmpi/internal/parallel"
)

// grain is the number of lines of a matrix that one core takes at a time.
const grain = 4

// fixed says what integers stand for: for x, x·2^(exponent−digits). So a matrix whose entries are below
// 2^exponent has this many binary digits after the point, in units of that.
type fixed struct {
	digits   uint
	exponent int
}

// set sets z to x, without what is below the last digit.
func (f fixed) set(z *big.Int, x float64) {
	fraction, e := math.Frexp(x)
	z.SetInt64(int64(math.Ldexp(fraction, 53)))
	if shift := e - 53 - f.exponent + int(f.digits); shift >= 0 {
		z.Lsh(z, uint(shift))
	} else {
		z.Rsh(z, uint(-shift))
	}
}

// length returns the norm of x, rounded down.
func length(x []*big.Int) *big.Int {
	sum, square := new(big.Int), new(big.Int)
	for _, v := range x {
		sum.Add(sum, square.Mul(v, v))
	}
	return sum.Sqrt(sum)
}

// missing returns how many digits x has less than others. What is left of a dependent column may be a few
// units long; its length, rounded to a unit, would not do.
func (f fixed) missing(x []*big.Int) uint {
	most := 0
	for _, v := range x {
		most = max(most, v.BitLen())
	}
	return uint(max(0, int(f.digits)-most))
}

// reflect applies I − 2·w·wᵀ, ‖w‖ = 1, to the entries from number from on of all lines, which are rows or
// columns of a matrix. The first line is x there and becomes α·e₁, α = −sign(x₁)·‖x‖: w is x − α·e₁, divided
// by its norm.
func (f fixed) reflect(lines [][]*big.Int, from int) {
	x := lines[0][from:]
	if length(x[1:]).Sign() == 0 {
		return
	}
	w, more := make([]*big.Int, len(x)), f.missing(x)
	for i, v := range x {
		w[i] = new(big.Int).Lsh(v, more)
	}
	alpha := length(w)
	if x[0].Sign() >= 0 {
		alpha.Neg(alpha)
	}
	w[0].Sub(w[0], alpha)
	alpha.Quo(alpha, new(big.Int).Lsh(big.NewInt(1), more))
	size := length(w)
	for _, v := range w {
		v.Quo(v.Lsh(v, f.digits), size)
	}
	parallel.All(len(lines)-1, grain, func(l int) {
		y := lines[1+l][from:]
		twice, product := new(big.Int), new(big.Int) // 2·wᵀy
		for i, v := range w {
			twice.Add(twice, product.Mul(v, y[i]))
		}
		twice.Rsh(twice, f.digits-1)
		for i, v := range w {
			y[i].Sub(y[i], product.Rsh(product.Mul(v, twice), f.digits))
		}
	})
	for _, v := range x {
		v.SetInt64(0)
	}
	x[0].Set(alpha)
}

// grid is a matrix of integers, by rows and by columns.
type grid struct{ rows, cols [][]*big.Int }

func newGrid(m, n int) grid {
	g := grid{make([][]*big.Int, m), make([][]*big.Int, n)}
	for j := range g.cols {
		g.cols[j] = make([]*big.Int, m)
	}
	for i := range g.rows {
		g.rows[i] = make([]*big.Int, n)
		for j := range n {
			g.rows[i][j] = new(big.Int)
			g.cols[j][i] = g.rows[i][j]
		}
	}
	return g
}

// read returns the m×n matrix at, or, if m > 2n, the n×n triangle of its QR factorization.
func (f fixed) read(at func(i, j int) float64, m, n int) grid {
	if m <= 2*n {
		g := newGrid(m, n)
		for i, row := range g.rows {
			f.setRow(row, at, i)
		}
		return g
	}
	// The triangle of the rows before, n rows, and a block of rows beneath it are factorized.
	block := max(4*n, 64)
	g := newGrid(n+block, n)
	for i0 := 0; i0 < m; i0 += block {
		for i, row := range g.rows[n:] {
			if i0+i < m {
				f.setRow(row, at, i0+i)
			} else {
				for _, x := range row {
					x.SetInt64(0)
				}
			}
		}
		for k := range n {
			f.reflect(g.cols[k:], k)
		}
	}
	for j, column := range g.cols {
		g.cols[j] = column[:n]
	}
	return grid{g.rows[:n], g.cols}
}

func (f fixed) setRow(row []*big.Int, at func(i, j int) float64, i int) {
	for j, x := range row {
		f.set(x, at(i, j))
	}
}

// bidiagonalize returns an upper bidiagonal matrix with the singular values of the m×n matrix at, m ≥ n.
func bidiagonalize(at func(i, j int) float64, m, n int, f fixed) bidiagonal {
	g := f.read(at, m, n)
	b := bidiagonal{unit: f.exponent - int(f.digits)}
	for k := range n {
		f.reflect(g.cols[k:], k)
		b.add(g.rows[k][k])
		if k+1 < n {
			f.reflect(g.rows[k:], k+1)
			b.add(g.rows[k][k+1])
		}
	}
	return b
}
