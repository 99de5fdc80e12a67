package jacobi

import (
	"testing"

	"jmpi/kernels"
	"jmpi/node"
)

// A macro block-column travels in more than one piece where each keeps the device busy.
func TestPieces(t *testing.T) {
	host := kernels.Limits{HostMemory: true}
	for _, c := range []struct {
		m, perMacro, parts int
		limits             kernels.Limits
		want               int
	}{
		{4096, 16, 1, kernels.Limits{}, 1}, {8192, 32, 1, kernels.Limits{}, 1}, {16384, 64, 1, kernels.Limits{}, 2},
		{65536, 64, 1, kernels.Limits{}, 4}, {1 << 20, 1, 1, kernels.Limits{}, 1}, {100, 3, 3, kernels.Limits{}, 1},
		{100, 16, 1, host, 4}, {100, 6, 3, host, 2}, {100, 24, 3, host, 4}, {100, 1, 1, host, 1},
	} {
		l := node.Layout{Ordering: node.Ordering{Columns: 2 * c.perMacro, Parts: c.parts}, PerMacro: c.perMacro}
		pieces := Pieces(c.m, l, c.limits)
		if pieces != c.want {
			t.Errorf("%d rows, %d block-columns, host %t: %d pieces, want %d", c.m, c.perMacro, c.limits.HostMemory,
				pieces, c.want)
		}
		r := runner{program: &node.Program{Layout: l}, pieces: pieces}
		next := 0
		for _, cut := range r.cuts() {
			if cut[0] != next || cut[1] <= cut[0] || cut[1]%c.parts != 0 {
				t.Errorf("%d block-columns, divided by %d: pieces %v", c.perMacro, c.parts, r.cuts())
			}
			next = cut[1]
		}
		if next != c.perMacro {
			t.Errorf("%d block-columns: pieces %v", c.perMacro, r.cuts())
		}
	}
}
