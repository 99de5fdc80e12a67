package reference

import "math/big"

// precision is that of the bisection. A relative error of 2⁻¹²⁸ in each entry of a bidiagonal matrix of order
// n is one of at most 2n·2⁻¹²⁸ in each singular value [DK90].
const precision = 128

func number(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

func power(e int) *big.Float { return new(big.Float).SetPrec(precision).SetMantExp(number(1), e) }

// bidiagonal is an upper bidiagonal matrix, by the squares of its entries in the order (1,1), (1,2), (2,2),
// (2,3), …, which are in units of 2^unit.
type bidiagonal struct {
	unit    int
	squares []*big.Float
}

// add appends an entry.
func (b *bidiagonal) add(x *big.Int) {
	entry := new(big.Float).SetPrec(precision).SetInt(x)
	b.squares = append(b.squares, entry.Mul(entry, entry))
}

// atLeast returns how many singular values are x or more, x > 0. The eigenvalues of the symmetric tridiagonal
// matrix with a diagonal of 0 and the entries of b beside it are ±σ. As many of them are below x as there are
// changes of sign in the sequence 1, p₁, p₂, … of the leading minors of that matrix minus x·I.
func (b bidiagonal) atLeast(x *big.Float) int {
	before, p, next := number(1), number(0).Neg(x), number(0)
	left, right := number(0), number(0)
	below := 1
	for _, square := range b.squares {
		next.Sub(left.Neg(left.Mul(x, p)), right.Mul(square, before))
		if next.Sign() == 0 { // it has the other sign if x is smaller by less than its last digit
			next.SetMantExp(left.Neg(p), -2*precision)
		}
		if next.Sign() != p.Sign() {
			below++
		}
		before, p, next = p, next, before
	}
	return len(b.squares) + 1 - below
}

// value returns the i-th largest singular value, i ≥ 0; 0 if it is below 2^bottom units.
func (b bidiagonal) value(i, bottom int) float64 {
	if b.atLeast(power(bottom)) <= i {
		return 0
	}
	low, high := bottom, b.top() // 2^low ≤ σ < 2^high
	for high-low > 1 {
		if middle := low + (high-low)/2; b.atLeast(power(middle)) > i {
			low = middle
		} else {
			high = middle
		}
	}
	x := power(low)
	for bit := 1; bit <= accuracy; bit++ {
		if more := number(0).Add(x, power(low-bit)); b.atLeast(more) > i {
			x = more
		}
	}
	sigma, _ := x.SetMantExp(x, b.unit).Float64()
	return sigma
}

// top returns an e with all singular values below 2^e units.
func (b bidiagonal) top() int {
	sum := number(1)
	for _, square := range b.squares {
		sum.Add(sum, square)
	}
	return sum.MantExp(nil)/2 + 1
}
