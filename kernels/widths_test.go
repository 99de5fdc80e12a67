package kernels

import "testing"

// A width holds from its order on, for its type, up to the next row.
func TestWidths(t *testing.T) {
	l := Limits{Width: 48, Table: []Preference{{Float32, 512, 32, 0}, {Float32, 2048, 128, 16}, {Float64, 1024,
		64, 0}}}
	for _, c := range []struct {
		n            int
		element      Element
		width, inner int
	}{
		{511, Float32, 48, 0}, {512, Float32, 32, 0}, {2047, Float32, 32, 0}, {2048, Float32, 128, 16},
		{1 << 20, Float32, 128, 16}, {1023, Float64, 48, 0}, {1024, Float64, 64, 0},
	} {
		if width, inner := l.Widths(c.n, c.element); width != c.width || inner != c.inner {
			t.Errorf("order %d, %v: %d and %d, want %d and %d", c.n, c.element, width, inner, c.width, c.inner)
		}
	}
	if width, inner := (Limits{Width: 32}).Widths(4096, Float64); width != 32 || inner != 0 {
		t.Errorf("without a table: %d and %d", width, inner)
	}
}
