package dist

import (
	"testing"

	"jmpi/dist/disttest"
	"jmpi/internal/gen"
)

// Columns are factored in their order where nothing is graded and none depends on others. Otherwise they are
// pivoted, whatever was asked for.
func TestInOrder(t *testing.T) {
	const n = 150
	for _, c := range []struct {
		kind    string
		options gen.Options
		asked   Preconditioner
		used    string
	}{
		{"gauss", gen.Options{}, AutoPreconditioner, "none"},
		{"gauss", gen.Options{}, QRLQ, "qr-lq"},
		{"geometric", gen.Options{Cond: 1e5}, AutoPreconditioner, "qr-lq"},
		{"geometric", gen.Options{Cond: 1e14}, AutoPreconditioner, "qrcp-lq"},
		{"arithmetic", gen.Options{Cond: 1e4}, AutoPreconditioner, "none"},
		{"lowrank", gen.Options{Rank: n / 2}, AutoPreconditioner, "qrcp-lq"},
		{"lowrank", gen.Options{Rank: n / 2}, QRLQ, "qrcp-lq"},
		{"graded-cols", gen.Options{Cond: 1e12}, AutoPreconditioner, "qr-lq"},
		{"graded-cols", gen.Options{Cond: 1e12}, QRLQ, "qr-lq"},
		{"graded-rows", gen.Options{Cond: 1e12}, AutoPreconditioner, "qr-lq"},
		{"graded-rows", gen.Options{Cond: 1e12}, QRLQ, "qr-lq"},
		{"graded-both", gen.Options{Cond: 1e12}, AutoPreconditioner, "qrcp-lq"},
		{"graded-both", gen.Options{Cond: 1e12}, QRLQ, "qrcp-lq"},
		{"kahan", gen.Options{}, QRLQ, "qrcp-lq"},
	} {
		c.options.Rows, c.options.Cols, c.options.Seed = n, n, 1
		a := disttest.Generate(t, c.kind, c.options)
		for ranks := 1; ranks <= 2; ranks++ {
			task := both(n, n)
			task.Precondition = c.asked
			o := find(t, a, ranks, 1, task)
			if o.Precondition.Used != c.used {
				t.Errorf("%s, %s, %d ranks: %+v, want %s", c.kind, c.asked, ranks, o.Precondition, c.used)
			}
			if c.kind == "lowrank" && o.Rank.Value != n/2 {
				t.Errorf("lowrank, %s, %d ranks: rank %+v", c.asked, ranks, o.Rank)
			}
			o.verify(t, a, 4)
		}
	}
}
