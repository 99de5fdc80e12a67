package jacobi

import (
	"testing"

	"jmpi/kernels"
)

// A macro block-column travels in more than one piece where each keeps the device busy.
func TestPieces(t *testing.T) {
	host := kernels.Limits{HostMemory: true}
	for _, c := range []struct {
		m, perMacro int
		limits      kernels.Limits
		want        int
	}{
		{4096, 16, kernels.Limits{}, 1}, {8192, 32, kernels.Limits{}, 1}, {16384, 64, kernels.Limits{}, 2},
		{65536, 64, kernels.Limits{}, 4}, {1 << 20, 1, kernels.Limits{}, 1}, {100, 3, kernels.Limits{}, 1},
		{100, 16, host, 4}, {100, 3, host, 3}, {100, 1, host, 1},
	} {
		if got := Pieces(c.m, c.perMacro, c.limits); got != c.want {
			t.Errorf("%d rows, %d block-columns, host %t: %d pieces, want %d", c.m, c.perMacro, c.limits.HostMemory,
				got, c.want)
		}
	}
}
