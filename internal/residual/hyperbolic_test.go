package residual

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"jmpi/internal/gen"
	"jmpi/internal/report"
)

// hyperbolic returns the hyperbolic SVD of the m×n matrix a, column-major, with the signature
// D = diag(signs), by gonum and the definition: A·D·Aᵀ = U·Λ·Uᵀ, S = √|Λ|, V = Aᵀ·U·S⁻¹, for the n
// eigenvalues that are not 0, the positive ones first and decreasing.
func hyperbolic(t testing.TB, m, n int, a, signs []float64) *decomposition {
	t.Helper()
	d := &decomposition{m: m, n: n, k: n, a: a, s: make([]float64, n), lambda: make([]float64, n), signs: signs}
	signature, err := report.NewSignature(signs)
	if err != nil {
		t.Fatal(err)
	}
	d.info = &report.Info{Signature: signature}

	at := mat.NewDense(n, m, a) // row-major: Aᵀ
	var da, ada mat.Dense
	da.Apply(func(i, _ int, x float64) float64 { return x * signs[i] }, at)
	ada.Mul(at.T(), &da)
	var eigen mat.EigenSym
	if !eigen.Factorize(mat.NewSymDense(m, ada.RawMatrix().Data), true) {
		t.Fatal("gonum's eigenvalues failed")
	}
	values := eigen.Values(nil) // increasing
	var vectors, u, v mat.Dense
	eigen.VectorsTo(&vectors)
	u.ReuseAs(m, n)
	for k := range n {
		j := m - 1 - k
		if k >= int(signature.Positive) {
			j = n - 1 - k
		}
		d.lambda[k] = values[j]
		if values[j]*float64(2*int(signature.Positive)-2*k-1) <= 0 {
			t.Fatalf("eigenvalue %d is %g with %d positive signs", k, values[j], signature.Positive)
		}
		d.s[k] = math.Sqrt(math.Abs(values[j]))
		u.SetCol(k, mat.Col(nil, j, &vectors))
	}
	v.Mul(at, &u)
	v.Apply(func(_, j int, x float64) float64 { return x / d.s[j] }, &v)
	d.u, d.v = columns(&u), columns(&v)
	d.info.VNorm = norm(d.v)
	for l := range n {
		if largestEntry(d.u[l*m:(l+1)*m]) < 0 {
			d.negate(l)
		}
	}
	return d
}

// indefinite is a hyperbolic SVD of a well-conditioned m×n matrix: signs + - - + + - - + … or, with
// partitioned, the +1 first.
func indefinite(t testing.TB, m, n int, partitioned bool) *decomposition {
	a, signs := make([]float64, m*n), make([]float64, n)
	for j := range n {
		for i := range m {
			a[i+j*m] = 0.1 * wave(i, j)
		}
		a[j+j*m] += 2 + wave(j, 1)/2
		if signs[j] = -1; (j+1)/2%2 == 0 {
			signs[j] = 1
		}
	}
	if partitioned {
		slices.Sort(signs)
		slices.Reverse(signs)
	}
	return hyperbolic(t, m, n, a, signs)
}

func TestRightHyperbolicDecompositionsPass(t *testing.T) {
	for _, shape := range [][2]int{{2, 2}, {3, 3}, {3, 2}, {40, 40}, {61, 23}} {
		for _, budget := range []int64{1, 100, defaultBudget} {
			for _, partitioned := range []bool{false, true} {
				d := indefinite(t, shape[0], shape[1], partitioned)
				r, err := d.run(t, budget)
				if err != nil || !r.Passed() || len(r.Rows) != 6 || value(t, r, "lambda").Verdict != Passed {
					t.Errorf("%v, budget %d: %v, error %v", shape, budget, r, err)
				}
				if norm := panelOf(d.v, d.n).sumSquares(); norm < float64(d.n)+1e-5 {
					t.Fatalf("%v: ‖V‖² = %g, nothing hyperbolic in it", shape, norm)
				}
			}
		}
	}
}

func panelOf(x []float64, rows int) panel { return panel{rows, len(x) / rows, x} }

// All signs −1: V is orthogonal, and S non-decreasing.
func TestNegativeDefinite(t *testing.T) {
	d := indefinite(t, 12, 9, false)
	d = hyperbolic(t, 12, 9, d.a, slices.Repeat([]float64{-1}, 9))
	r, err := d.run(t, 40)
	if err != nil || !r.Passed() || !slices.IsSorted(d.s) {
		t.Errorf("%v, error %v", r, err)
	}
}

// Both norms of the rows residual and orthV are measured: J is diag(1, −1), V a rotation by the
// hyperbolic angle x.
func TestHyperbolicRowsAreNormwise(t *testing.T) {
	for _, x := range []float64{1, 5, 12} {
		c, s := math.Cosh(x), math.Sinh(x)
		d := &decomposition{m: 2, n: 2, k: 2, u: []float64{1, 0, 0, 1}, v: []float64{c, s, s, c},
			s: []float64{3, 5}}
		d.a = []float64{3 * c, 5 * s, 3 * s, 5 * c}
		d.info = &report.Info{Signature: &report.Signature{Positive: 1}}
		d.v[0] *= 1 + 8*epsilon // (V₁₁)² grows by 16·ε·c², and V₁₁·V₁₂ by 8·ε·c·s, twice
		d.a[1] *= 1 + 64*epsilon
		r, err := d.run(t, 100)
		if err != nil {
			t.Fatal(err)
		}
		norm := 2 * (c*c + s*s)
		orth := math.Sqrt(math.Pow(16*c*c, 2)+2*math.Pow(8*c*s, 2)) / norm
		residual := math.Hypot(64*5*s, 8*3*c) / (math.Sqrt(34) * math.Sqrt(norm) * 2)
		for name, want := range map[string]float64{"orthV": orth, "residual": residual} {
			if got := value(t, r, name).Value; math.Abs(got-want) > 2 {
				t.Errorf("angle %g: %s = %g, want about %g", x, name, got, want)
			}
		}
	}
}

func TestWrongHyperbolicDecompositionsFail(t *testing.T) {
	const m, n = 30, 20 // P = 10
	everywhere := func(d *decomposition, p, q int) {
		swapColumns(d.s, 1, p, q)
		swapColumns(d.u, m, p, q)
		swapColumns(d.v, n, p, q)
	}
	cases := []struct {
		name  string
		spoil func(d *decomposition)
		want  string // rows that fail
	}{
		{"perturbed positive σ", func(d *decomposition) { d.s[3] *= 1 + 1e-9 }, "residual lambda"},
		{"perturbed negative σ", func(d *decomposition) { d.s[13] *= 1 + 1e-9 }, "residual lambda"},
		{"λ wrong by less than the tolerance", func(d *decomposition) { d.lambda[19] *= 1 + 0.5e-10 }, ""},
		{"U not orthogonal", func(d *decomposition) { // U·D and S/D: the product stays
			d.s[2] /= 1 + 1e-11
			for i := range m {
				d.u[i+2*m] *= 1 + 1e-11
			}
		}, "orthU"},
		{"V not J-orthogonal", func(d *decomposition) {
			d.s[12] /= 1 + 1e-11
			for i := range n {
				d.v[i+12*n] *= 1 + 1e-11
			}
		}, "orthV"},
		{"columns of V of unlike signs that are not J-orthogonal", func(d *decomposition) {
			for i := range n {
				d.v[i+18*n] += 1e-11 * d.v[i]
			}
		}, "residual orthV"},
		{"V in the order of the partitioned J", func(d *decomposition) {
			v := append([]float64(nil), d.v...)
			plus, minus := 0, 10
			for i, s := range d.signs {
				to := &minus
				if s > 0 {
					to = &plus
				}
				for j := range n {
					d.v[*to+j*n] = v[i+j*n]
				}
				*to++
			}
		}, "residual orthV"},
		{"V⁻¹ in the place of Vᵀ", func(d *decomposition) { // J·W: A·W = U·S
			for j := range n {
				for i := range n {
					sign := 1.0
					if j >= 10 {
						sign = -1
					}
					d.v[i+j*n] *= sign * d.signs[i]
				}
			}
		}, "residual"},
		{"order swapped within +1", func(d *decomposition) { everywhere(d, 4, 5) }, "order"},
		{"order swapped within −1", func(d *decomposition) { everywhere(d, 14, 15) }, "order"},
		{"order of the SVD", func(d *decomposition) {
			for j := range 5 {
				everywhere(d, 10+j, 19-j)
			}
		}, "order"},
		{"a column of each sign swapped", func(d *decomposition) { everywhere(d, 9, 10) }, "orthV order lambda"},
		{"negative σ", func(d *decomposition) {
			d.s[10] = -d.s[10]
			for i := range n {
				d.v[i+10*n] = -d.v[i+10*n]
			}
		}, "order"},
		{"wrong sign", func(d *decomposition) { d.negate(17) }, "sign"},
		{"another matrix", func(d *decomposition) { d.a[5+7*m] += 1e-8 }, "residual"},
		{"another J of the same P", func(d *decomposition) {
			text := []byte(d.info.Signature.Signs)
			text[0], text[1] = text[1], text[0]
			d.info.Signature.Signs = string(text)
		}, "orthV"},
		{"another P", func(d *decomposition) {
			text := strings.Replace(d.info.Signature.Signs, "-", "+", 1)
			d.info.Signature = &report.Signature{Positive: 11, Signs: text}
		}, "orthV order"},
		{"checked as an SVD", func(d *decomposition) { d.info = &report.Info{} }, "orthV order"},
		{"NaN in V", func(d *decomposition) { d.v[17] = math.NaN() }, "residual orthV"},
		{"Inf in S", func(d *decomposition) { d.s[2] = math.Inf(1) }, "residual order lambda"},
		{"all zero", func(d *decomposition) { clear(d.s); clear(d.u); clear(d.v) },
			"residual orthU orthV sign lambda"},
	}
	for _, c := range cases {
		for _, e := range []int{0, 480, -480} { // 1e±144
			d := indefinite(t, m, n, false)
			c.spoil(d)
			for _, x := range []struct {
				x []float64
				e int
			}{{d.a, e}, {d.s, e}, {d.lambda, 2 * e}} {
				for i := range x.x {
					x.x[i] = math.Ldexp(x.x[i], x.e)
				}
			}
			r, err := d.run(t, 200)
			if err != nil {
				t.Errorf("%s, scaled by 2^%d: %v", c.name, e, err)
			} else if got := verdicts(r); got != c.want || r.Passed() != (c.want == "") {
				t.Errorf("%s, scaled by 2^%d: rows %q fail, want %q\n%v", c.name, e, got, c.want, r)
			}
		}
	}
}

// With all signs +1 a decomposition is an SVD, judged to the last digit as one.
func TestSignatureOfTheSVD(t *testing.T) {
	for _, shape := range [][2]int{{30, 20}, {20, 30}, {0, 3}} {
		d := decompose(t, max(1, shape[0]), shape[1], wave)
		if shape[0] == 0 {
			d = &decomposition{m: 0, n: 3}
		} else {
			d.a[3] += 1e-14
			d.u[4] += 1e-15
			d.v[5] += 1e-15
		}
		d.sigma = d.s
		want, err := d.run(t, 200)
		if err != nil {
			t.Fatal(err)
		}
		d.info = &report.Info{Signature: &report.Signature{Positive: int64(d.n)}}
		got, err := d.run(t, 200)
		if err != nil || !slices.Equal(got.Rows, want.Rows) {
			t.Errorf("%v: %v, error %v; without signature %v", shape, got, err, want)
		}
	}
}

// The eigenvalues beside the input belong to the signature beside it, the singular values to none: the SVD of
// an indefinite spectrum is not judged by them, nor a hyperbolic SVD by σ.
func TestReferencesOfAnotherSignature(t *testing.T) {
	d := indefinite(t, 12, 12, true)
	svd := decompose(t, 12, 12, func(i, j int) float64 { return d.a[i+12*j] })
	svd.lambda, svd.signs, svd.sigma = d.lambda, d.signs, svd.s
	r, err := svd.run(t, 100)
	if err != nil || !r.Passed() || value(t, r, "lambda").Verdict != Skipped ||
		value(t, r, "sigma").Verdict != Passed {
		t.Errorf("SVD: %v, error %v", r, err)
	}
	d.sigma = svd.s
	r, err = d.run(t, 100)
	if err != nil || !r.Passed() || value(t, r, "lambda").Verdict != Passed ||
		value(t, r, "sigma").Verdict != Skipped {
		t.Errorf("hyperbolic: %v, error %v", r, err)
	}
	d.signs = nil
	if r, err = d.run(t, 100); err != nil || !r.Passed() || value(t, r, "lambda").Verdict != Skipped {
		t.Errorf("no signature beside the input: %v, error %v", r, err)
	}
}

// [Nov15, (6.1)]: the spectra of gen, decomposed by gonum in double precision, come out with relative errors
// far below the bound, hence so does the rounding of the factors that gen writes.
func TestSpectra(t *testing.T) {
	for _, kind := range []string{"spectrum1", "spectrum2", "spectrum3", "spectrum4"} {
		const n = 48
		g, err := gen.New(kind, gen.Options{Rows: n, Cols: n, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		a := make([]float64, n*n)
		if err := g.Columns(0, n, a, n); err != nil {
			t.Fatal(err)
		}
		d := hyperbolic(t, n, n, a, g.Signature)
		d.lambda, d.sigma = g.Lambda, g.Sigma
		r, err := d.run(t, defaultBudget)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(kind, r.Rows)
		if got := value(t, r, "lambda"); !(got.Value < 1e-11) || got.Verdict != Passed {
			t.Errorf("%s: %v", kind, got)
		}
	}
}

func TestUnusableSignatures(t *testing.T) {
	for says, spoil := range map[string]func(d *decomposition){
		"does not fit 9 columns": func(d *decomposition) { d.info.Signature = &report.Signature{Positive: 10} },
		"the 8 signs":            func(d *decomposition) { d.info.Signature.Signs = d.info.Signature.Signs[1:] },
		"no hyperbolic SVD": func(d *decomposition) {
			*d = *decompose(t, 3, 9, wave)
			d.info = &report.Info{Signature: &report.Signature{}}
		},
		"1 eigenvalues, the input": func(d *decomposition) { d.lambda = []float64{1} },
		"1 signs, the input":       func(d *decomposition) { d.signs = []float64{1} },
	} {
		d := indefinite(t, 12, 9, false)
		spoil(d)
		if r, err := d.run(t, defaultBudget); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, error %v, want %q", r, err, says)
		}
	}
}
