package kerneltest

import (
	"math"
	"math/big"
	"slices"

	"jmpi/kernels"
)

// oneSweep is a sweep of the pointwise Jacobi method in plain Go: r ← r·t, t ← t·rotations, the leading
// `positive` columns with sign +1.
func oneSweep(r, t matrix, s *kernels.Schedule, positive int) (tally kernels.Tally) {
	tol := kernels.Tolerance(r.n)
	for i := 0; i < len(s.Pairs); i += 2 {
		p, q := int(s.Pairs[i]), int(s.Pairs[i+1])
		if q >= r.n {
			continue
		}
		x, y := r.column(p), r.column(q)
		hpp, hqq, hpq := dot(x, x), dot(y, y), dot(x, y)
		if !kernels.NeedsRotation(hpp, hqq, hpq, tol) {
			continue
		}
		kind := kernels.KindOf(p, q, positive)
		turn, tan, class := kind.Rotation(hpp, hqq, hpq)
		tally.Rotations++
		for _, x := range []struct {
			is    bool
			count *int64
		}{{class.Proper, &tally.Proper}, {class.Open, &tally.Open}, {class.Idle, &tally.Idle},
			{class.Degenerate, &tally.Degenerate}} {
			if x.is {
				*x.count++
			}
		}
		hpp, hqq = kernels.Diagonal(hpp, hqq, hpq, tan)
		swap := class.Proper && kind == kernels.Trigonometric &&
			(hpp < hqq && q < positive || hpp > hqq && p >= positive)
		tally.Changed = 1
		for _, c := range [][2][]float64{{x, y}, {t.column(p), t.column(q)}} {
			for j := range c[0] {
				c[0][j], c[1][j] = turn.Rotate(c[0][j], c[1][j])
				if swap {
					c[0][j], c[1][j] = c[1][j], c[0][j]
				}
			}
		}
	}
	return tally
}

// cancel sets those columns of rt = r·t to zero that are nothing but rounding errors
// (kernels.Backend, Jacobi).
func cancel(r, t, rt matrix) {
	for j := range rt.n {
		sum := 0.0
		for i, x := range t.column(j) {
			sum += min(math.Abs(x), 1) * kernels.Norm2(r.column(i))
		}
		if kernels.Norm2(rt.column(j)) <= kernels.Tolerance(r.n)*sum {
			clear(rt.column(j))
		}
	}
}

// SingularValues is singularValues of the n×n matrix a, column-major.
func SingularValues(n int, a []float64, positive int) []float64 {
	return singularValues(matrix{n, n, a}, positive)
}

// singularValues returns the hyperbolic singular values of a, whose leading `positive` columns have sign +1:
// those with sign +1 largest first, then the others smallest first. It is the one-sided Jacobi method in
// numbers of 256 bits, correct to far more than double precision.
func singularValues(a matrix, positive int) []float64 {
	const bits = 256
	number := func() *big.Float { return new(big.Float).SetPrec(bits) }
	columns := make([][]*big.Float, a.n)
	for j := range columns {
		for _, v := range a.column(j) {
			columns[j] = append(columns[j], number().SetFloat64(v))
		}
	}
	inner := func(x, y []*big.Float) *big.Float {
		s := number()
		for i := range x {
			s.Add(s, number().Mul(x[i], y[i]))
		}
		return s
	}
	for rotated := true; rotated; {
		rotated = false
		for p := range columns {
			for q := p + 1; q < len(columns); q++ {
				x, y := columns[p], columns[q]
				hpp, hqq, hpq := inner(x, x), inner(y, y), inner(x, y)
				bound := number().Mul(hpp, hqq)
				if bound.SetMantExp(bound, -240); number().Mul(hpq, hpq).Cmp(bound) <= 0 {
					continue // cosine below 2⁻¹²⁰
				}
				rotated = true
				// t = sgn(z)/(|z| + √(z²+𝔱)), z = cot 2φ = 𝔱·(hqq − 𝔱·hpp)/(2hpq)
				one, kind := number().SetInt64(1), number().SetFloat64(float64(kernels.KindOf(p, q, positive)))
				z := number().Quo(number().Sub(number().Mul(kind, hqq), hpp), number().Add(hpq, hpq))
				root := number().Sqrt(number().Add(number().Mul(z, z), kind))
				tan := number().Quo(one, root.Add(root, number().Abs(z)))
				if z.Sign() < 0 {
					tan.Neg(tan)
				}
				back := number().Mul(kind, tan)
				cos := number().Quo(one, number().Sqrt(number().Add(number().Mul(back, tan), one)))
				for i := range x {
					u := number().Sub(x[i], number().Mul(back, y[i]))
					v := number().Add(y[i], number().Mul(tan, x[i]))
					x[i], y[i] = u.Mul(u, cos), v.Mul(v, cos)
				}
			}
		}
	}
	var sigma []float64
	for _, x := range columns {
		v, _ := number().Sqrt(inner(x, x)).Float64()
		sigma = append(sigma, v)
	}
	sortSigned(sigma, positive)
	return sigma
}

// sortSigned sorts the first `positive` numbers from the largest down, the others from the smallest up.
func sortSigned(x []float64, positive int) {
	slices.Sort(x[:positive])
	slices.Reverse(x[:positive])
	slices.Sort(x[positive:])
}

// orthogonality returns max|(QᵀJQ − J)_ij|/(‖q_i‖·‖q_j‖) for J = diag(I, −I) with `positive` ones:
// max|QᵀQ − I| where J = I.
func orthogonality(q matrix, positive int) float64 {
	var worst float64
	signed := q.clone()
	for j := range q.n {
		for i := positive; i < q.m; i++ {
			signed.set(i, j, -q.at(i, j))
		}
	}
	for j := range q.n {
		for i := range q.n {
			product := dot(signed.column(i), q.column(j))
			if i == j {
				product -= sign(i, positive)
			}
			worst = math.Max(worst, math.Abs(product)/kernels.Norm2(q.column(i))/kernels.Norm2(q.column(j)))
		}
	}
	return worst
}

// sign returns the element of J for column j.
func sign(j, positive int) float64 {
	if j < positive {
		return 1
	}
	return -1
}
