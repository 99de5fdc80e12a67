package refine

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/dist/matrix"
	"jmpi/internal/gen"
)

// TestOutcomes tests what is handed back, and why. X·V is U·Σ, and V orthonormal, all the same.
func TestOutcomes(t *testing.T) {
	const n = 200
	gauss := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 1})
	identity, nearly := make([]float64, n*n), make([]float64, n*n)
	for j := range n {
		identity[j*(n+1)] = 1
	}
	for i, x := range gauss {
		nearly[i] = identity[i] + 1e-10*x
	}
	broken := slices.Clone(identity)
	broken[5*n+7] = math.NaN()
	singular, huge := slices.Clone(gauss), slices.Clone(gauss)
	clear(singular[:n])
	for i := range n {
		huge[i] *= 1e-280
	}
	v, _ := rough(n, gauss)
	shortened := slices.Clone(v) // two columns are equal
	copy(shortened[n:2*n], shortened[:n])
	for _, c := range []struct {
		name string
		x, v []float64
		want Outcome
	}{
		{"other vectors", gauss, identity, TooLarge},
		{"dependent vectors", gauss, shortened, TooLarge},
		{"one cluster", nearly, identity, Clusters},
		{"a column of zeros", singular, identity, NotServed},
		{"norms too far apart", huge, identity, NotServed},
		{"not a number", gauss, broken, NotServed},
		{"as from float32", gauss, v, Converged},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := on(t, comm.NewLocal(1)[0], 2)
			x := load(t, d, n, n, c.x)
			r, err := start(t, x, load(t, d, n, n, c.v))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Free()
			if r.Outcome != c.want {
				t.Fatalf("%s, want %s\n%s", r.Outcome, c.want, told(r.Steps))
			}
			if _, err := json.Marshal(r.Steps); err != nil {
				t.Error(err)
			}
			if r.Outcome == NotServed {
				return
			}
			s := &state{x: x, u: r.U, v: r.V, norms: r.Norms, random: ahead(x.N)}
			if ok, err := s.verify(); !ok {
				t.Errorf("orthV %.2g, residual %.2g, error %v", s.orthV, s.residual, err)
			}
		})
	}
}

// TestVerify tests that errors of V, and of G, are seen.
func TestVerify(t *testing.T) {
	const n = 100
	d := on(t, comm.NewLocal(1)[0], 1)
	x := load(t, d, n, n, disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 1}))
	other := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 2})
	q, err := matrix.Factor(load(t, d, n, n, other))
	must(t, err)
	v, err := q.Form(0, n)
	must(t, err)
	s := &state{x: x, v: v, random: ahead(x.N)}
	must(t, s.multiply())
	for _, c := range []struct {
		size float64 // of an error of one column
		of   **matrix.Matrix
		want bool
	}{{0, &s.v, true}, {1e-12, &s.v, false}, {-1e-12, &s.v, true}, {1e-10, &s.u, false}, {-1e-10, &s.u, true}} {
		factors := slices.Repeat([]float64{1}, n)
		factors[3] += c.size
		must(t, (*c.of).Scale(nil, factors))
		if ok, err := s.verify(); ok != c.want || err != nil {
			t.Errorf("a column longer by %g: %v, orthV %.2g, residual %.2g, error %v", c.size, ok, s.orthV, s.residual,
				err)
		}
	}
}

// TestDrift starts from vectors that are not quite orthonormal, which the verification notices. They become
// so, and the method goes on.
func TestDrift(t *testing.T) {
	const n = 100
	a := disttest.Generate(t, "gauss", gen.Options{Rows: n, Cols: n, Seed: 1})
	rough, _ := rough(n, a)
	d := on(t, comm.NewLocal(1)[0], 1)
	x := load(t, d, n, n, a)
	r, err := start(t, x, load(t, d, n, n, rough))
	must(t, err)
	want := r.Values
	must(t, r.V.Scale(nil, slices.Repeat([]float64{1 + 1e-11}, n)))
	g, err := r.G()
	must(t, err)
	drifted := &state{x: x, u: g, v: r.V, wanted: all[0], place: place{Exact: true}, random: ahead(x.N)}
	must(t, drifted.begin())
	r, err = drifted.run()
	if err != nil || r.Outcome != Converged || r.OrthV > 0.5 || r.Residual > 0.5 {
		t.Fatalf("%+v, error %v", r, err)
	}
	for j, w := range want {
		if e := math.Abs(r.Values[j]/w - 1); !(e < 1e-13) {
			t.Errorf("singular value %d differs by %.2g", j, e)
		}
	}
}

// TestTall refines a matrix with more rows than columns.
func TestTall(t *testing.T) {
	const m, n = 333, 128
	small := samples[2].make(t, n)
	v, _ := rough(n, small)
	d := on(t, comm.NewLocal(1)[0], 3)
	tall := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 2})
	q, err := matrix.Factor(load(t, d, m, n, tall))
	must(t, err)
	x, err := load(t, d, n, n, small).Taller(m)
	must(t, err)
	must(t, q.Apply(x))
	r, err := start(t, x, load(t, d, n, n, v))
	if err != nil {
		t.Fatal(err)
	}
	if r.Outcome != Converged {
		t.Fatalf("outcome: %s", r.Outcome)
	}
	got := refined{Result: *r, u: elements(t, r.U), v: elements(t, r.V)}
	got.vectors(t, m, n, elements(t, x))
}
