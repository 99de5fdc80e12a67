package reference

import (
	"testing"

	"jmpi/internal/gen"
)

// What float64 says of the leading bits changes nothing, and is right for nearly all singular values.
func TestGuessChangesNothing(t *testing.T) {
	for _, c := range []struct {
		kind string
		cond float64
		most int // guesses that are not right
	}{
		{"gauss", 0, 2}, {"geometric", 1e12, 2}, {"graded-cols", 1e20, 2}, {"graded-both", 1e100, 12},
		{"graded-cols", 1e300, 40}, {"hilbert", 0, 2}, {"lowrank", 0, 40},
	} {
		const n, digits = 40, 1500
		a := dense(t, c.kind, gen.Options{Rows: n, Cols: n, Seed: 3, Cond: c.cond})
		b := bidiagonalize(func(i, j int) float64 { return a[i+j*n] }, n, n, fixed{digits, 10})
		r, wrong := b.rough(), 0
		for i := range n {
			const bottom = 100
			if got, want := b.value(i, bottom, r), b.value(i, bottom, rough{}); got != want {
				t.Errorf("%s %g: σ_%d is %g with a guess, %g without", c.kind, c.cond, i+1, got, want)
			}
			x, low := r.guess(i)
			if x == nil || b.atLeast(x) <= i || b.atLeast(number(0).Add(x, power(low-roughBits))) > i {
				wrong++
			}
		}
		t.Logf("%s %g: %d guesses of %d are not right", c.kind, c.cond, wrong, n)
		if wrong > c.most {
			t.Errorf("%s %g: %d guesses of %d are not right", c.kind, c.cond, wrong, n)
		}
	}
}

func BenchmarkBisection(b *testing.B) {
	const n = 200
	a := dense(b, "gauss", gen.Options{Rows: n, Cols: n, Seed: 3})
	matrix := bidiagonalize(func(i, j int) float64 { return a[i+j*n] }, n, n, fixed{first, 10})
	for _, r := range []struct {
		name string
		rough
	}{{"guessed", matrix.rough()}, {"whole", rough{}}} {
		b.Run(r.name, func(b *testing.B) {
			for i := range b.N {
				matrix.value(i%n, 28, r.rough)
			}
		})
	}
}
