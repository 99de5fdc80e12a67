package topology

import (
	"math"
	"testing"

	"jmpi/strategy"
)

// The closed form is near what plans of several sweeps come to.
func TestCrossings(t *testing.T) {
	for _, c := range []struct{ groups, size int }{{1, 8}, {2, 2}, {2, 8}, {4, 4}, {4, 8}, {3, 2}} {
		devices := c.groups * c.size
		table, err := strategy.New("rev-rowcyc", 2*devices)
		if err != nil {
			t.Fatal(err)
		}
		network, err := FromGroups(devices, c.size)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := New(table, network, Options{Sweeps: 12})
		if err != nil {
			t.Fatal(err)
		}
		traffic := plan.Traffic()
		want, got := float64(traffic.SlowPhases)/12, float64(Crossings(c.groups, 2*devices-1))
		if math.Abs(got-want) > 0.2*want {
			t.Errorf("%d groups of %d: %g slow exchanges, want about %g", c.groups, c.size, got, want)
		}
	}
	if got := Crossings(512, 100); got != 100 {
		t.Errorf("%d slow exchanges of 100", got)
	}
}
