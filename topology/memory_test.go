package topology

import (
	"math"
	"testing"
)

func TestColumnBytes(t *testing.T) {
	if got := ColumnBytes(4096, 4096, 4, true); got != 8*8192*512 {
		t.Errorf("a macro block-column has %d bytes", got)
	}
	if got := ColumnBytes(1000, 10, 2, false); got != 8*1000*3 { // widths are rounded up
		t.Errorf("a macro block-column has %d bytes", got)
	}
}

// Flops of a sweep over n³ for n×n with V, from the design: 10 for the flat scheme, 15.0, 13.1,
// 11.7 for the nested one.
func TestSweepFlops(t *testing.T) {
	const n = 1000
	for _, c := range []struct {
		g      int
		nested bool
		want   float64
	}{{1, false, 10}, {8, false, 10}, {1, true, 10}, {2, true, 15}, {4, true, 13.1}, {8, true, 11.7}} {
		if got := SweepFlops(n, n, c.g, true, c.nested) / (n * n * n); math.Abs(got-c.want) > 0.05 {
			t.Errorf("g = %d, nested %v: %.2f n³, want %v", c.g, c.nested, got, c.want)
		}
	}
	if got := SweepFlops(3000, n, 4, false, false); got != 6*3000*n*n {
		t.Errorf("without V: %g", got)
	}
}
