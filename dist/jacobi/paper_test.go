package jacobi

import (
	"fmt"
	"math"
	"testing"

	"jmpi/dist/disttest"
	"jmpi/internal/gen"
	"jmpi/internal/reference"
)

// [Nov15, §6] and what was measured before this code was written: with W = 16, n = 512, the reverse of R
// converges in at most 8 sweeps (full block) and 10 (block-oriented), the last, empty one included, flat on 1
// and 4 devices and nested on 4. Brent and Luk's strategy needs more.
func TestSweeps(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute with the race detector")
	}
	const n = 512
	for _, kind := range []string{"gauss", "spectrum2", "spectrum4"} {
		a := disttest.Generate(t, kind, gen.Options{Rows: n, Cols: n, Seed: 1})
		best := map[Variant]int{}
		for _, run := range []struct {
			devices int
			nested  bool
		}{{1, false}, {4, false}, {4, true}} {
			for variant, limit := range map[Variant]int{Full: 8, Twice: 8, Block: 10} {
				o := decompose(t, a, run.devices, 1, Config{Problem: Problem{M: n, N: n},
					Settings: Settings{Scheme: schemeOf(run.nested), Variant: variant, Block: 16}})
				t.Logf("%s, %d devices, nested %t, %s: %d sweeps", kind, run.devices, run.nested, variant,
					len(o.sweeps))
				if !o.done || len(o.sweeps) > limit {
					t.Errorf("%s, %d devices, nested %t, %s: %d sweeps, want at most %d", kind, run.devices, run.nested,
						variant, len(o.sweeps), limit)
				}
				if run.devices == 1 {
					best[variant] = len(o.sweeps)
				}
			}
		}
		for variant, ours := range best {
			o := decompose(t, a, 1, 1, Config{Problem: Problem{M: n, N: n},
				Settings: Settings{Variant: variant, Block: 16, Strategy: "brentluk"}})
			t.Logf("%s, Brent–Luk, %s: %d sweeps", kind, variant, len(o.sweeps))
			if len(o.sweeps) <= ours {
				t.Errorf("%s, %s: Brent–Luk takes %d sweeps, reverse R %d", kind, variant, len(o.sweeps), ours)
			}
		}
	}
}

// High relative accuracy: every singular value of B·D, D graded, against the reference. The condition of B,
// 623 here, is what the error grows with, not that of the matrix.
func TestRelativeAccuracy(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute with the race detector")
	}
	const n = 128
	for _, sorted := range []bool{false, true} {
		for _, cond := range []float64{1e12, 1e20} {
			a := disttest.Generate(t, "graded-cols",
				gen.Options{Rows: n, Cols: n, Seed: 1, Cond: cond, Sorted: sorted})
			want, err := reference.Sigma(a, n, n, n)
			if err != nil {
				t.Fatal(err)
			}
			for _, grid := range [][2]int{{1, 1}, {4, 1}} {
				for _, full := range []bool{true, false} {
					o := decompose(t, a, grid[0], grid[1],
						Config{Problem: Problem{M: n, N: n}, Settings: Settings{Variant: variantOf(full)}})
					worst := 0.0
					for k := range want {
						worst = math.Max(worst, math.Abs(o.s[k]/want[k]-1))
					}
					name := fmt.Sprintf("cond %g, sorted %t, %d devices, full %t", cond, sorted, grid[0], full)
					t.Logf("%s: %d sweeps, relative error %.2g", name, len(o.sweeps), worst)
					if !(worst <= 1e-13) {
						t.Errorf("%s: relative error %g", name, worst)
					}
				}
			}
		}
	}
}
