package residual

import (
	"math"
	"strings"
	"testing"
)

func TestWriteText(t *testing.T) {
	var r Report
	r.add("residual", 0.01234567, limit)
	r.skip("orthV")
	r.add("order", 0, 1)
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	want := "residual = 0.0123  PASSED\northV = -  skipped\norder = 0  PASSED\nPASSED\n"
	if text.String() != want {
		t.Errorf("got %q, want %q", text.String(), want)
	}
	r.add("orthU", math.NaN(), limit)
	text.Reset()
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if want := want[:len(want)-len("PASSED\n")] + "orthU = NaN  FAILED\nFAILED\n"; text.String() != want {
		t.Errorf("got %q, want %q", text.String(), want)
	}
}

func TestLimitItselfFails(t *testing.T) {
	for value, want := range map[float64]bool{9.99: true, 10: false, math.Inf(1): false} {
		var r Report
		if r.add("residual", value, limit); r.Passed() != want {
			t.Errorf("%g passes: %v", value, r.Passed())
		}
	}
}
