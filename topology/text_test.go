package topology

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What Text writes ParseStep reads.
func TestStepText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := drawTable(t, 12)
		plan, err := New(table, drawNetwork(t, table.N/2), Options{Sweeps: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range plan.Steps {
			pairs, moves := step.Text()
			got, err := ParseStep(pairs, moves)
			if err != nil {
				t.Fatal(err)
			}
			got.Sweep, got.Step = step.Sweep, step.Step
			if len(step.Moves) == 0 {
				step.Moves = nil
			}
			if diff := cmp.Diff(step, got); diff != "" {
				t.Fatalf("%s / %s: %s", pairs, moves, diff)
			}
		}
	})
}

func TestWrongStepText(t *testing.T) {
	for _, c := range [][2]string{
		{"1-8", ""}, {"1-8@", ""}, {"8-1@0", ""}, {"0-1@0", ""}, {"1-8@-1", ""}, {"1-8@0x", ""}, {"01-8@0", ""},
		{"1-99999999@0", ""}, {"1-2@99999999", ""}, {"a", ""}, {"1-1@0", ""},
		{"", "7:1"}, {"", "7:1>0!!"}, {"", "0:1>0"}, {"", "7:-1>0"}, {"", "7:1>0?"}, {"", "99999999:1>0"},
		{"", "1:99999999>0"},
	} {
		if s, err := ParseStep(c[0], c[1]); err == nil || !strings.Contains(err.Error(), "topology: ") {
			t.Errorf("%q: %v, error %v", c, s, err)
		}
	}
}
