package residual

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// deficient are matrices that a factor of a cut decomposition may span, or nearly so: what is left of a
// vector is then zero, or rounding errors.
var deficient = map[string]func(i, j int) float64{
	"a last column of zeros": func(i, j int) float64 { return wave(i, j) * float64(min(1, max(0, 15-j))) },
	"columns of zeros":       func(i, j int) float64 { return wave(i, j) * float64(min(1, j%7)) },
	"rows of zeros":          func(i, j int) float64 { return wave(i, j) * float64(min(1, i%5)) },
	"a few columns":          func(i, j int) float64 { return wave(i, j) * float64(max(0, 1-j/10)) },
	"ones":                   func(int, int) float64 { return 1 },
	"rank 3": func(i, j int) (x float64) {
		for l := range 3 {
			x += wave(i, l) * wave(j+3, l)
		}
		return x
	},
	"integers of rank 2": func(i, j int) float64 { return float64(i%4 + j%3) },
	"graded columns":     func(i, j int) float64 { return wave(i, j) * math.Pow(10, -float64(j)) },
	"tiny columns":       func(i, j int) float64 { return wave(i, j) * math.Pow(10, -float64(150*(j%3))) },
	"nearly singular": func(i, j int) float64 { // 1 on the diagonal, −1 below it
		return map[bool]float64{true: -1}[i > j] + map[bool]float64{true: 1}[i == j]
	},
}

// A cut decomposition of a matrix of low rank passes wherever it was cut.
func TestCutsOfLowRankPass(t *testing.T) {
	for name, entry := range deficient {
		for _, shape := range [][2]int{{24, 16}, {16, 24}, {40, 40}} {
			whole := decompose(t, shape[0], shape[1], entry)
			for k := 1; k < whole.k; k += 1 + k/3 {
				kept, missing := *whole, []string{"", "u", "v"}[k%3]
				r, err := kept.cutTo(first(k)...).without(missing).run(t, defaultBudget)
				if err != nil || !r.Passed() {
					t.Errorf("%s, %v, %d of them, without %q: %v, error %v", name, shape, k, missing, r, err)
				}
			}
		}
	}
}

// Where one singular value was left out that is larger than what is said to be the next, leading fails,
// however small the value is beside the largest one.
func TestLeftOutOfLowRankFails(t *testing.T) {
	for name, entry := range deficient {
		for _, shape := range [][2]int{{24, 16}, {16, 24}, {40, 40}} {
			whole := decompose(t, shape[0], shape[1], entry)
			seen := whole.s[0] * math.Sqrt(float64(whole.k)) * float64(max(shape[0], shape[1])) * 100 * epsilon
			for l, s := range whole.s {
				k := l + 1 // the next is the one that follows
				if k == whole.k || s < 1.5*whole.s[k]+seen {
					continue
				}
				kept, missing := *whole, []string{"", "u", "v"}[k%3]
				d := kept.cutTo(slices.Delete(first(k), l, l+1)...)
				d.info.Cut.Next = whole.s[k]
				r, err := d.without(missing).run(t, defaultBudget)
				if err != nil || !strings.Contains(verdicts(r), "leading") {
					t.Errorf("%s, %v, without value %d and %q: %v, error %v", name, shape, l, missing, r, err)
				}
			}
		}
	}
}
