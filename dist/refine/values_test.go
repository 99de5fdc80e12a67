package refine

import (
	"math"
	"slices"
	"testing"

	"jmpi/dist/comm"
	"jmpi/internal/reference"
)

// all are the vectors that may be wanted.
var all = []Wanted{{Left: true, Right: true}, {Left: true}, {Right: true}, {}}

// TestWanted compares what is found where some vectors are wanted, or none: the same singular values, and of
// the vectors those that are wanted, all with the same bits.
func TestWanted(t *testing.T) {
	for name, open := range map[string]opener{"hosts": on, "apart": apart} {
		t.Run(name, func(t *testing.T) { testWanted(t, open, [][2]int{{1, 1}, {2, 1}}, 150, samples) })
	}
	t.Run("far", func(t *testing.T) { // some columns are far from others
		testWanted(t, on, [][2]int{{2, 1}}, 450, named("gauss", "clusters"))
	})
}

// testWanted is TestWanted on devices of one kind, for matrices of order n.
func testWanted(t *testing.T, open opener, grids [][2]int, n int, samples []sample) {
	foretold := 0
	for _, s := range samples {
		x := s.make(t, n)
		v, _ := rough(n, x)
		for _, grid := range grids {
			both := refineOn(t, open, grid, n, x, v)
			for _, w := range all {
				r := refineFor(t, w, open, grid, n, x, v)
				if r.Outcome != both.Outcome || !slices.Equal(r.Values, both.Values) {
					t.Errorf("%s, %+v, %v: %s, or other singular values\n%s\n%s", s.name, w, grid, r.Outcome,
						told(r.Steps), told(both.Steps))
				}
				if w.Left && !slices.Equal(r.u, both.u) || w.Right && !slices.Equal(r.v, both.v) {
					t.Errorf("%s, %+v, %v: other vectors", s.name, w, grid)
				}
				if r.Outcome == Converged && (w.Left != (r.U != nil) || w.Right != (r.V != nil)) {
					t.Errorf("%s, %+v, %v: vectors that are not wanted, or none", s.name, w, grid)
				}
				if w == (Wanted{}) && r.Steps[len(r.Steps)-1].What == "look" {
					foretold++
				}
			}
		}
	}
	if foretold < len(grids)*len(samples)/2 {
		t.Errorf("%d of %d refinements for no vectors end with a look", foretold, len(grids)*len(samples))
	}
}

// TestForetell tells the singular values of matrices whose columns have known cosines, and compares them with
// those by multi-precision: to all digits, or not at all.
func TestForetell(t *testing.T) {
	const n = 96
	told := map[bool]int{}
	for _, s := range named("gauss", "geometric 1e8, L", "columns 1e12, L", "rows 1e12, L", "clusters") {
		x := s.make(t, n)
		v, _ := rough(n, x)
		exact := refineOn(t, on, [2]int{1, 1}, n, x, v)
		want, err := reference.Sigma(x, n, n, n)
		must(t, err)
		for _, size := range []float64{1e-10, 1e-8, 1e-6, 1e-5, 1e-3} {
			d := on(t, comm.NewLocal(1)[0], 2)
			turned := turnedBy(size, want, exact.v)
			st := &state{x: load(t, d, n, n, x), v: load(t, d, n, n, turned), wanted: all[0],
				place: place{Exact: true}, random: ahead(n)}
			must(t, st.multiply())
			must(t, st.sort())
			l, err := st.look(false)
			must(t, err)
			must(t, st.foretell(l, offs{}))
			told[st.values != nil]++
			for i, x := range st.values {
				if e := math.Abs(x/want[i] - 1); !(e < 2e-14) {
					t.Errorf("%s, angles %g: singular value %d has the relative error %.2g", s.name, size, i, e)
					break
				}
			}
			l.free()
			st.free()
		}
	}
	if told[true] < 8 || told[false] < 5 {
		t.Errorf("%d times told, %d times not", told[true], told[false])
	}
}

// turnedBy rotates each column of v and some of those after it, so that X·v has cosines of this size, or so.
func turnedBy(size float64, sigma, v []float64) []float64 {
	w, n := slices.Clone(v), len(sigma)
	for j := range n {
		for _, k := range []int{j + 1, j + 7, n - 1 - j} {
			if k <= j || k >= n {
				continue
			}
			sin := size * math.Cos(float64(j+3*k)) * sigma[k] / sigma[j]
			cos := math.Sqrt(1 - sin*sin)
			for i := range n {
				p, q := w[i+j*n], w[i+k*n]
				w[i+j*n], w[i+k*n] = cos*p-sin*q, sin*p+cos*q
			}
		}
	}
	return w
}
