package node

import (
	"testing"

	"jmpi/kernels"
	"jmpi/strategy"
)

// expecting is a back end that notes which batches are said to be quiet, by the order of their factors.
type expecting struct {
	idle
	quiet map[int][]bool
}

func (b *expecting) Gram(x *kernels.Batch) error {
	b.quiet[x.R[0].N] = append(b.quiet[x.R[0].N], x.Quiet)
	return nil
}

// The batches of the topmost level are what the caller expects, one by one. Those of the next one are of
// factors that need work.
func TestOutlook(t *testing.T) {
	be := &expecting{idle: idle{limits: kernels.Limits{PointwiseOrder: 100, Tile: 64, Align: 1}},
		quiet: map[int][]bool{}}
	c := Config{M: 100, Layout: NewLayout(32, 1, 8, 0), Positive: 32, Vectors: true, Strategy: "rev-rowcyc",
		Sweeps: 1, Widths: []int{2}}
	d, err := NewDevice(be, c)
	if err != nil {
		t.Fatal(err)
	}
	for s := range 2 {
		d.SetColumn(s, s)
	}
	want := []bool{false, true, true, false}
	for step, quiet := range want {
		d.Outlook = Outlook{Quiet: quiet}
		if err := d.Run(step, []strategy.Pair{{P: 0, Q: 1}, {P: 2, Q: 3}}); err != nil {
			t.Fatal(err)
		}
	}
	top, inner := be.quiet[16], be.quiet[4]
	if len(top) != len(want) || len(inner) == 0 {
		t.Fatalf("%d batches of the topmost level, %d of the next one", len(top), len(inner))
	}
	for i, quiet := range top {
		if quiet != want[i] {
			t.Errorf("batch %d of the topmost level: quiet %t", i, quiet)
		}
	}
	for i, quiet := range inner {
		if quiet {
			t.Errorf("batch %d of the next level is quiet", i)
		}
	}
}
