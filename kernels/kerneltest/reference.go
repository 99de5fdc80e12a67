package kerneltest

import (
	"math"
	"math/big"
	"slices"

	"jmpi/kernels"
)

// oneSweep is a sweep of the pointwise Jacobi method in plain Go: r ← r·t, t ← t·rotations.
func oneSweep(r, t matrix, s *kernels.Schedule) (tally kernels.Tally) {
	tol := kernels.Tolerance(r.n)
	for i := 0; i < len(s.Pairs); i += 2 {
		p, q := int(s.Pairs[i]), int(s.Pairs[i+1])
		if q >= r.n {
			continue
		}
		x, y := r.column(p), r.column(q)
		hpp, hqq, hpq := dot(x, x), dot(y, y), dot(x, y)
		var turn kernels.Turn
		var tan float64
		var proper bool
		if kernels.NeedsRotation(hpp, hqq, hpq, tol) {
			turn, tan, proper = kernels.Rotation(hpp, hqq, hpq)
			tally.Rotations++
			if proper {
				tally.Proper++
			}
		}
		hpp, hqq = kernels.Diagonal(hpp, hqq, hpq, tan)
		swap := proper && hpp < hqq
		if tan == 0 {
			continue
		}
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

// cancel sets those columns of rt = r·t to zero that are nothing but rounding errors (kernels.Backend, Jacobi).
func cancel(r, t, rt matrix) {
	for j := range rt.n {
		sum := 0.0
		for i, x := range t.column(j) {
			sum += math.Abs(x) * kernels.Norm2(r.column(i))
		}
		if kernels.Norm2(rt.column(j)) <= kernels.Tolerance(r.n)*sum {
			clear(rt.column(j))
		}
	}
}

// singularValues returns the singular values of a, largest first, by one-sided
// Jacobi in numbers of 256 bits, correct to far more than double precision.
func singularValues(a matrix) []float64 {
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
				// t = sgn(z)/(|z| + √(z²+1)), z = cot 2φ = (hqq−hpp)/(2hpq)
				z := number().Quo(number().Sub(hqq, hpp), number().Add(hpq, hpq))
				one := number().SetInt64(1)
				root := number().Sqrt(number().Add(number().Mul(z, z), one))
				tan := number().Quo(one, root.Add(root, number().Abs(z)))
				if z.Sign() < 0 {
					tan.Neg(tan)
				}
				cos := number().Quo(one, number().Sqrt(number().Add(number().Mul(tan, tan), one)))
				for i := range x {
					u := number().Sub(x[i], number().Mul(tan, y[i]))
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
	slices.Sort(sigma)
	slices.Reverse(sigma)
	return sigma
}

// orthogonality returns max|QᵀQ − I|.
func orthogonality(q matrix) float64 {
	var worst float64
	for j, g := 0, q.gram(); j < q.n; j++ {
		for i := range q.n {
			want := 0.0
			if i == j {
				want = 1
			}
			worst = math.Max(worst, math.Abs(g.at(i, j)-want))
		}
	}
	return worst
}
