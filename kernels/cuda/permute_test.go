package cuda

import (
	"testing"

	"jmpi/kernels"
)

// TestMoveManyColumns moves more columns within a panel than go through scratch at a time.
func TestMoveManyColumns(t *testing.T) {
	const m, n = 9000, 3000
	d := mustOpen(t, 0)
	a, err := d.Alloc(m * n * kernels.WordBytes)
	must(t, err)
	p := kernels.Panel{M: m, N: n, Ld: m, Data: a}
	x := normal(m, n)
	must(t, d.Write(p, x, m))
	to, from := make([]int, n), make([]int, n) // reversed
	for j := range n {
		to[j], from[j] = j, n-1-j
	}
	must(t, d.MoveColumns(p, to, p, from))
	got := make([]float64, m*n)
	must(t, d.Read(got, m, p))
	for j := range n {
		for i := range m {
			if got[j*m+i] != x[(n-1-j)*m+i] {
				t.Fatalf("element (%d,%d) is %g, want %g", i, j, got[j*m+i], x[(n-1-j)*m+i])
			}
		}
	}
	if used := d.scratch.buffers["moving columns"].bytes; used > 2*movingBytes {
		t.Errorf("%d bytes of scratch", used)
	}
}
