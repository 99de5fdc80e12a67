package jacobi

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"testing"

	"jmpi/dist/disttest"
	"jmpi/internal/gen"
)

// Orthogonal columns are left alone, in whatever order they are: there is one sweep, and it finds nothing.
func TestOrthogonalColumns(t *testing.T) {
	const n = 64
	a := make([]float64, n*n) // Hadamard's matrix, columns multiplied by 1 … 10
	for j := range n {
		for i := range n {
			a[j*n+i] = float64(1+7*j%10) * float64(1-2*(bits.OnesCount(uint(i&j))%2))
		}
	}
	for _, grid := range [][2]int{{1, 1}, {2, 1}, {1, 4}} {
		for _, nested := range []bool{false, true} {
			for _, full := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d×%d nested=%v full=%v", grid[0], grid[1], nested, full), func(t *testing.T) {
					o := decompose(t, a, grid[0], grid[1], Config{Problem: Problem{M: n, N: n, Vectors: true},
						Settings: Settings{Scheme: schemeOf(nested), Variant: variantOf(full), Block: 4}})
					o.verify(t, a, 1)
					if len(o.sweeps) != 1 || o.sweeps[0].Active != 0 || o.sweeps[0].Rotations != 0 {
						t.Errorf("sweeps %+v", o.sweeps)
					}
				})
			}
		}
	}
}

// Which pivots are left alone, and the largest cosine, do not depend on how the devices are split into ranks,
// nor do the bits.
func TestActiveShareOnAnyRanks(t *testing.T) {
	const m, n = 120, 96
	a := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 7})
	for j := range n {
		for i := range m {
			a[j*m+i] *= math.Pow(10, -12*float64(j)/n)
		}
	}
	for _, full := range []bool{false, true} {
		c := Config{Problem: Problem{M: m, N: n, Vectors: true},
			Settings: Settings{Variant: variantOf(full), Block: 6}}
		want := decompose(t, a, 1, 1, c)
		want.verify(t, a, 3)
		last := want.sweeps[len(want.sweeps)-1].Active
		if want.sweeps[0].Active != 1 || last > 0.5 {
			t.Errorf("full %t: the first sweep is %g active, the last %g", full, want.sweeps[0].Active, last)
		}
		for _, grid := range [][2]int{{1, 2}, {2, 1}, {1, 4}, {2, 2}, {4, 1}} {
			got := decompose(t, a, grid[0], grid[1], c)
			if !reflect.DeepEqual(got.s, want.s) || !reflect.DeepEqual(got.u, want.u) ||
				!reflect.DeepEqual(got.v, want.v) {
				t.Errorf("full %t, %d ranks × %d devices: other bits than one device", full, grid[0], grid[1])
			}
			for i, s := range got.sweeps {
				if w := want.sweeps[i]; s.Active != w.Active || s.Cosine != w.Cosine {
					t.Errorf("full %t, %d ranks × %d devices, sweep %d: %g active, cosine %g, want %g, %g", full, grid[0],
						grid[1], i+1, s.Active, s.Cosine, w.Active, w.Cosine)
				}
			}
		}
	}
}
