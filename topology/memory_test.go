package topology

import (
	"math"
	"testing"
)

func TestMemoryPerDevice(t *testing.T) {
	for _, c := range []struct {
		m, n    int64
		g       int
		vectors bool
		c       int
		want    int64
	}{
		// 3·m·(n/2g) words of G, the same of V, and 2·c factors of order n/(g·c).
		{4096, 4096, 4, true, 1, 8 * (2*3*4096*512 + 2*1024*1024)},
		{4096, 4096, 4, false, 16, 8 * (3*4096*512 + 2*16*64*64)},
		{1000, 10, 2, true, 1, 8 * (3*(1000+10)*3 + 2*6*6)}, // widths are rounded up
		{100, 100, 1, true, 2, 8 * (2*200*50 + 2*2*50*50)},  // nothing lands on a lonely device
		{5, 0, 3, true, 1, 0},
		{1 << 24, 1 << 20, 64, true, 1, 8 * (3*(1<<24+1<<20)*(1<<13) + 2*(1<<28))}, // beyond 32 bits
	} {
		if got := MemoryPerDevice(c.m, c.n, c.g, c.vectors, c.c); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	if got := ColumnBytes(4096, 4096, 4, true); got != 8*8192*512 {
		t.Errorf("a macro block-column has %d bytes", got)
	}
}

// Flops of a sweep over n³ for n×n with V, from the design: 10 for the flat scheme, 15.0, 13.1, 11.7 for the nested one.
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
