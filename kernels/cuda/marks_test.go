package cuda

import (
	"testing"

	"jmpi/kernels"
)

// TestEquidistant: panels are copied by one call as long as each is one piece of memory, of one shape, and as
// far behind the one before as all others.
func TestEquidistant(t *testing.T) {
	const m, n = 16, 4
	panel := func(at, m, n, ld int) kernels.Panel {
		return kernels.Panel{M: m, N: n, Ld: ld, Data: kernels.Address(4096 + at*m*n*kernels.WordBytes)}
	}
	row := func(at ...int) (all []kernels.Panel) {
		for _, k := range at {
			all = append(all, panel(k, m, n, m))
		}
		return all
	}
	single := row(0, 2)
	for k := range single {
		single[k].Type = kernels.Float32
	}
	for _, x := range []struct {
		name     string
		dst, src []kernels.Panel
		want     int
	}{
		{"one", row(0), row(5), 1},
		{"every other one", row(0, 2, 4, 6), row(8, 9, 10, 11), 4},
		{"side by side", row(0, 1, 2), row(5, 6, 7), 3},
		{"then further", row(0, 2, 4, 7), row(0, 1, 2, 3), 3},
		{"the sources further", row(0, 2, 4), row(0, 1, 3), 2},
		{"backwards", row(4, 2, 0), row(0, 1, 2), 1},
		{"sources backwards", row(0, 2, 4), row(4, 2, 0), 1},
		{"the same source", row(0, 1), row(3, 3), 1},
		{"the last is narrow", append(row(0, 2), panel(4, m, n-1, m)), row(0, 1, 2), 2},
		{"not whole", []kernels.Panel{panel(0, m, n, m+2), panel(2, m, n, m+2)}, row(0, 1), 1},
		{"sources not whole", row(0, 1), []kernels.Panel{panel(0, m, n, m+2), panel(2, m, n, m+2)}, 1},
		{"far apart", []kernels.Panel{panel(0, m, n, m), panel(2*farApart/m/n, m, n, m)}, row(0, 1), 1},
		{"float32", single, single, 1},
	} {
		if got := equidistant(x.dst, x.src); got != x.want {
			t.Errorf("%s: %d by one call, want %d", x.name, got, x.want)
		}
	}
}
