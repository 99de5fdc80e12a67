package jacobi

import (
	"testing"

	"jmpi/kernels"
)

// The inner orderings have the strategy of the outer one, and a name that was given is taken as it is.
func TestPivotStrategy(t *testing.T) {
	for _, c := range []struct {
		name   string
		sorted bool
		want   string
	}{
		{AutoStrategy, true, "rowcyc"}, {AutoStrategy, false, "rev-rowcyc"},
		{"br", true, "br"}, {"br", false, "br"},
	} {
		config := Config{Problem: Problem{M: 64, N: 64, Sorted: c.sorted}, Settings: Settings{Strategy: c.name}}
		if got := config.PivotStrategy(); got != c.want {
			t.Errorf("%s, sorted %t: %s, want %s", c.name, c.sorted, got, c.want)
		}
		if got := config.Node(2, kernels.Limits{PointwiseOrder: 64, Width: 8}).Strategy; got != c.want {
			t.Errorf("%s, sorted %t: the inner orderings are %s, want %s", c.name, c.sorted, got, c.want)
		}
	}
}
