package kernels

import "math"

// Epsilon is ε, the distance from 1 to the next float64. The documents and the check count errors in it.
const Epsilon = 0x1p-52

// UnitRoundoff is u = ε/2, the largest relative error of one rounding to nearest. [Nov15] calls it ε.
const UnitRoundoff = Epsilon / 2

// UnitRoundoff32 is the unit roundoff of float32.
const UnitRoundoff32 = 0x1p-24

// bigCot bounds from above those |cot 2φ| for which √(cot²2φ + 1) must be computed: beyond √(2/u) = 2²⁷
// it rounds to |cot 2φ| itself, and cot²2φ cannot overflow where it is not used ([Nov15, §4.3.1]).
const bigCot = 0x1p27

// degenerateCoth takes the place of a computed |coth 2φ| ≤ 1: tanh φ = ±1/2.
const degenerateCoth = 1.25

// properCosine bounds the cosine of the angle between two columns whose rotation is not proper, √ε.
const properCosine = 0x1p-26

// roundingCosine bounds the cosine of the angle between two columns that are orthogonal up to rounding
// errors, those of Gram matrices included.
const roundingCosine = 0x1p-48

// Tolerance returns c(u), the bound on the cosine of the angle between two columns of a factor of order k
// that pass for orthogonal ([Nov15, §4.3, subphase 2]): u·√k up to k = 16, and 4u beyond. A computed product
// of two columns is good to about that for all orders that occur, since it is summed in parts. Against u·√k
// no matrix tried needs another sweep, and U is two to three times as orthogonal.
func Tolerance(k int) float64 { return UnitRoundoff * math.Sqrt(float64(min(k, 16))) }

// Tolerance32 is Tolerance for float32, 2⁻²² from order 16 on.
func Tolerance32(k int) float64 { return UnitRoundoff32 * math.Sqrt(float64(min(k, 16))) }

// ScreenTolerance returns the bound on the cosine of the angle between any two columns of a pivot of order k
// that is left alone, of which so many columns have the sign +1: 2·c(u). Where the others have −1 it is c(u),
// so that nothing would be rotated, nor swapped.
func ScreenTolerance(k, positive int) float64 {
	if positive < k {
		return Tolerance(k)
	}
	return 2 * Tolerance(k)
}

// NeedsRotation tells whether two columns with the Gram matrix [hpp hpq; hpq hqq] fail the criterion of
// relative orthogonality, |hpq| ≤ tol·√hpp·√hqq. A zero column is orthogonal to all others, and so is one
// whose hpp or hqq lies below the normal range or is not finite: no rotation can be computed from it.
func NeedsRotation(hpp, hqq, hpq, tol float64) bool {
	const smallest = 0x1p-1022
	return hpp >= smallest && hqq >= smallest && math.Abs(hpq) > tol*math.Sqrt(hpp)*math.Sqrt(hqq)
}

// Kind tells the two kinds of rotations apart: 𝔱 of [Nov15, (4.3)–(4.6)].
type Kind float64

const (
	Trigonometric Kind = 1  // of two columns with the same sign in J: [c s; −s c], c = cos φ, s = sin φ
	Hyperbolic    Kind = -1 // of two columns with different signs: [c s; s c], c = cosh φ, s = sinh φ
)

// KindOf returns the kind of the rotation of columns p < q where J = diag(I, −I) has `positive` ones.
func KindOf(p, q, positive int) Kind {
	if p < positive && positive <= q {
		return Hyperbolic
	}
	return Trigonometric
}

// Turn is a rotation by φ in the form in which it is applied (see Turn.Rotate): a trigonometric one,
// |φ| ≤ π/4, or a hyperbolic one, with sinh and tanh in place of sin and tan.
type Turn struct {
	Kind
	Sin float64 // sin φ
	Tau float64 // tan(φ/2) = sin φ/(1 + cos φ)
}

// Rotation returns the Jacobi rotation that makes the columns x, y with xᵀx = hpp, yᵀy = hqq and
// xᵀy = hpq ≠ 0 orthogonal, and tan φ, or tanh φ ([Nov15, (4.1)–(4.5)]; cot, tan, sin, cos stand for coth,
// tanh, sinh, cosh where 𝔱 = −1):
//
//	cot 2φ = 𝔱·(hqq − 𝔱·hpp)/(2·hpq),  |cot φ| = |cot 2φ| + √(cot²2φ + 𝔱),  tan φ = sgn(cot 2φ)/|cot φ|,
//	sin φ = t/s,  tan(φ/2) = t/(1+s)  with t = tan φ, s = √(1 + 𝔱·t²).
//
// |coth 2φ| > 1 unless the columns are parallel and of the same norm; then no hyperbolic rotation makes them
// orthogonal. Where the computed one is not above 1, 5/4 is put in its place ([Nov15, §4.3.1], [Ves93]),
// which makes them shorter, and the rotation is degenerate.
//
// A rotation is proper if its computed cosine, fl(1 − 𝔱·sin φ·tan(φ/2)), is not 1 ([Nov15, §4.3]), or if the
// cosine of the angle between the columns exceeds 2⁻²⁶ = √ε. For columns of about the same norm the two say
// the same. Where the norms differ by more than 1/√ε, as in graded matrices, φ is tiny however far the
// columns are from orthogonal, and only the second tells that a sweep has left something to do. Where many
// norms are equal, as in projections, φ is large however close to orthogonal the columns are, and a cosine of
// the angle between them up to 2⁻⁴⁸ is nothing but rounding errors: such a rotation is not proper but idle,
// see Tally.Settled. The others are open.
func (t Kind) Rotation(hpp, hqq, hpq float64) (turn Turn, tan float64, c Class) {
	k := float64(t)
	cot2 := k * (0.5 * (math.FMA(-k, hpp, hqq) / hpq))
	a := math.Abs(cot2)
	if t == Hyperbolic && a <= 1 {
		a, c.Degenerate = degenerateCoth, true
	}
	cot := a + a
	if a < bigCot {
		cot = a + math.Sqrt(math.FMA(a, a, k))
	}
	tan = math.Copysign(1/cot, cot2)
	s := math.Sqrt(math.FMA(k*tan, tan, 1))
	turn = Turn{Kind: t, Sin: tan / s, Tau: tan / (1 + s)}
	size, norms := math.Abs(hpq), math.Sqrt(hpp)*math.Sqrt(hqq)
	large := math.FMA(-k*turn.Sin, turn.Tau, 1) != 1
	c.Open = size > roundingCosine*norms
	c.Proper = large && c.Open || size > properCosine*norms
	c.Idle = large && !c.Open
	return turn, tan, c
}

// Class is what a rotation counts as in a Tally.
type Class struct{ Proper, Open, Idle, Degenerate bool }

// Rotate returns cos φ·x − 𝔱·sin φ·y and sin φ·x + cos φ·y, as
//
//	x − 𝔱·sin φ·(y + tan(φ/2)·x),  y + sin φ·(x − 𝔱·tan(φ/2)·y),
//
// two fused multiply-adds each ([Rut66]). The small correction is rounded on its own before it meets x. Where
// the cosine comes as a factor c or 1−d of its own, a rotation by so small an angle that it does not change a
// number of x's size lengthens the columns by tan²φ unopposed: 140 ε in the norms of V at n = 1024, against
// 18 ε with this form. Hyperbolic rotations lose xᵀx − yᵀy in the same way.
func (t Turn) Rotate(x, y float64) (xr, yr float64) {
	k := float64(t.Kind)
	u := math.FMA(t.Tau, x, y)
	v := math.FMA(-k*t.Tau, y, x)
	return math.FMA(-k*t.Sin, u, x), math.FMA(t.Sin, v, y)
}

// Diagonal returns the squared norms of the two columns after the rotation,
//
//	h'pp = hpp − tan φ·hpq,  h'qq = hqq + tan φ·hpq.
//
// if it is trigonometric. The columns are swapped if h'pp < h'qq, or h'pp > h'qq where their sign in J is −1,
// and the rotation is proper, which sorts those of each sign, so that ±h is non-increasing. A sweep without
// proper rotations, which ends the method, so leaves all columns in their places and has met every pair. A
// hyperbolic rotation never swaps: J keeps its partition. [Nov15, §4.3, subphase 5] has the signs of tan φ
// the other way round, which does not agree with its (4.1) and (4.3).
func Diagonal(hpp, hqq, hpq, tan float64) (dpp, dqq float64) {
	return math.FMA(-tan, hpq, hpp), math.FMA(tan, hpq, hqq)
}
