package rates

import "slices"

// prepare adds what comes before the sweeps.
func (x *forecaster) prepare() {
	const name = "precondition"
	m, n := float64(x.p.M), float64(x.p.N)
	if x.p.Slabs {
		x.dense(name, Product, 2*m*n*n, 8*n*n)
		m = n
	}
	x.dense(name, Measure, 8*m*n, 0)
	switch x.course.Precondition {
	case "qr-lq", "qrcp-lq":
		what := Factor
		if x.course.Precondition == "qrcp-lq" {
			what = Pivoted
			x.dense(name, Transpose, 8*m*n, 0) // rows are sorted
		}
		x.dense(name, what, FactorWork(m, n), 8*m*n)
		x.dense(name, Transpose, 8*n*n, 8*n*n)
		x.dense(name, Factor, FactorWork(n, n), 8*n*n)
		x.dense(name, Transpose, 8*n*n, 8*n*n)
	case "qr", "qrcp":
		x.dense(name, Pivoted, FactorWork(m, n), 8*m*n)
		x.dense(name, Transpose, 8*n*n, 8*n*n)
	}
	if x.course.Precision == Ladder {
		x.dense(name, Transpose, 8*n*n, 8*n*n)
	}
}

// refine adds what makes a result of float64 of that of float32. docs/decisions/036-passes.md says what a
// pass is.
func (x *forecaster) refine() {
	const name = "refine"
	n := float64(x.p.N)
	square, product := 8*n*n, 2*n*n*n
	do := func(what string, work float64, times int) {
		for range times {
			bytes := 0.0
			switch what {
			case Product, Rough:
				bytes = square * work / product
			case Gram:
				bytes = square * 2 * work / product
			case Correct:
				bytes = 2 * square
			case Select, Transpose:
				bytes = square
			}
			x.dense(name, what, work, bytes)
		}
	}
	for _, s := range x.p.steps(x.course.Refined) {
		switch s.What {
		case "orthonormalize":
			do(Norms, square, 1)
			do(Correct, product, s.Corrections)
			if s.Second { // two products of triangular matrices
				do(Gram, product/3, 1)
				do(Add, square, 2)
			}
			do(Times, square, 1) // was it enough?
			do(Combine, square, 1)
		case "multiply":
			do(Times, square, 1) // is V orthonormal?
			do(Combine, square, 1)
			do(Product, product, 1)
			do(Norms, square, 1)
		case "look", "pass":
			do(Select, square, 2)
			do(Gram, product/2, 1)
			do(Angles, square, 2)
		case "check":
			do(Times, square, 1)
			do(Combine, square, 1)
		case "verify":
			do(Times, square, 1)
			do(Combine, square, 3)
		}
		if s.What == "pass" {
			x.pass(s, do)
		}
	}
}

// steps returns those that are made: for singular values alone nothing after a look in place of the last
// pass.
func (p Problem) steps(all []Refined) []Refined {
	if p.Vectors {
		return all
	}
	for i, s := range slices.Backward(all) {
		if s.What == "pass" {
			return append(slices.Clone(all[:i]), Refined{What: "look"})
		}
	}
	return all
}

// pass adds a pass.
func (x *forecaster) pass(s Refined, do func(what string, work float64, times int)) {
	n := float64(x.p.N)
	square, cube := 8*n*n, n*n*n
	products, powers := 4.0, 0.0 // in units of n³ operations: G and V; even powers of the angles
	if !x.p.Vectors {
		products = 2 // G alone
	}
	if s.Second {
		do(Angles, square, 1)
		do(Norms, square, 1)
		do(Transpose, square, 1)
		do(Add, square, 3)
		products += 2
	}
	do(Angles, square, 1)
	if s.Order >= 2 {
		powers++
		do(Add, square, 2)
	}
	if s.Order >= 4 {
		powers++
		do(Times, square, 4)
		do(Add, square, 2)
	}
	if s.Order >= 8 {
		products += 2
		do(Add, square, 2)
	}
	single := s.Single * (products + powers)
	fromPowers := max(0, single-products) // powers have their share last
	do(Gram, (powers-fromPowers)*cube, 1)
	do(Product, (products+fromPowers-single)*cube, 1)
	do(Rough, single*cube, 1)
	do(Add, square, 3)
	do(Norms, square, 1)
}

// vectors adds what comes after the sweeps.
func (x *forecaster) vectors() {
	const name = "vectors"
	m, n := float64(x.p.M), float64(x.p.N)
	if x.p.Slabs {
		x.dense(name, Product, 2*m*n*n, 8*n*n)
		m = n
	}
	square, product := 8*n*n, 2*n*n*n
	if x.course.V == "solve" {
		x.dense(name, Product, 2*m*n*n, 8*m*n)
		if x.Kind == "cpu" {
			for range 2 {
				x.dense(name, Correct, product, 2*square)
			}
		} else {
			x.dense(name, Factor, FactorWork(n, n), square)
			x.dense(name, Form, FactorWork(n, n), square)
		}
	}
	x.dense(name, Norms, 16*n*n, 0) // signs of both
	switch x.course.Precondition {
	case "qr-lq", "qrcp-lq":
		x.dense(name, Apply, 2*n*n*m, 8*m*n)
		if x.course.V != "solve" {
			x.dense(name, Apply, product, square)
		}
		if x.course.Precondition == "qrcp-lq" {
			x.dense(name, Transpose, 8*m*n+square, 0) // rows and columns in the first order
		}
	case "qr", "qrcp":
		x.dense(name, Apply, 2*n*n*m, 8*m*n)
	}
}
