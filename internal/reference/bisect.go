package reference

import (
	"math"
	"math/big"
)

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

// value returns the i-th largest singular value, i ≥ 0; 0 if it is below 2^bottom units. What r says saves
// most of the steps; it changes nothing.
func (b bidiagonal) value(i, bottom int, r rough) float64 {
	if b.atLeast(power(bottom)) <= i {
		return 0
	}
	x, low := r.guess(i)
	bit := roughBits + 1
	if x == nil || b.atLeast(x) <= i || b.atLeast(number(0).Add(x, power(low-roughBits))) > i {
		x, low = b.leading(i, bottom)
		bit = 1
	}
	for ; bit <= accuracy; bit++ {
		if more := number(0).Add(x, power(low-bit)); b.atLeast(more) > i {
			x = more
		}
	}
	sigma, _ := x.SetMantExp(x, b.unit).Float64()
	return sigma
}

// leading returns the largest power of two that is at most the i-th singular value, and its exponent.
func (b bidiagonal) leading(i, bottom int) (x *big.Float, low int) {
	low, high := bottom, b.top() // 2^low ≤ σ < 2^high
	for high-low > 1 {
		if middle := low + (high-low)/2; b.atLeast(power(middle)) > i {
			low = middle
		} else {
			high = middle
		}
	}
	return power(low), low
}

// roughBits are the bits, after the first one, of a singular value that float64 mostly finds.
const roughBits = 40

// rough is a bidiagonal matrix in float64, all of whose singular values are below 1: in units of 2^top units.
type rough struct {
	top     int
	squares []float64
}

func (b bidiagonal) rough() rough {
	r := rough{top: b.top()}
	for _, square := range b.squares {
		x, _ := number(0).SetMantExp(square, -2*r.top).Float64()
		r.squares = append(r.squares, x)
	}
	return r
}

// atLeast is that of the bidiagonal matrix, by the quotients of the minors.
func (r rough) atLeast(x float64) int {
	quotient := -x
	below := 1
	for _, square := range r.squares {
		quotient = -x - square/quotient
		if quotient == 0 {
			quotient = -math.SmallestNonzeroFloat64
		}
		if quotient < 0 {
			below++
		}
	}
	return len(r.squares) + 1 - below
}

// guess returns the leading bits of the i-th singular value, if they are right, and the exponent of the first
// one. x is nil where float64 has no such numbers.
func (r rough) guess(i int) (x *big.Float, low int) {
	low, high := -500, 0
	if r.atLeast(math.Ldexp(1, low)) <= i {
		return nil, 0
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; r.atLeast(math.Ldexp(1, middle)) > i {
			low = middle
		} else {
			high = middle
		}
	}
	sigma := math.Ldexp(1, low)
	for bit := 1; bit <= roughBits; bit++ {
		if more := sigma + math.Ldexp(1, low-bit); r.atLeast(more) > i {
			sigma = more
		}
	}
	return number(0).SetMantExp(number(sigma), r.top), low + r.top
}

// top returns an e with all singular values below 2^e units.
func (b bidiagonal) top() int {
	sum := number(1)
	for _, square := range b.squares {
		sum.Add(sum, square)
	}
	return sum.MantExp(nil)/2 + 1
}
