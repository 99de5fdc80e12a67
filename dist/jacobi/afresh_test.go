package jacobi

import (
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/kernels"
)

// keeping is a device that keeps Gram matrices, and counts batches of narrow block-columns and those for
// which they are formed anew.
type keeping struct {
	kernels.Backend
	keep          kernels.Keep
	batches, anew []int                      // in each sweep
	left          []map[kernels.Address]bool // Gram matrices that are not formed anew in it
	sweep         *int
}

func (c *keeping) Limits() kernels.Limits {
	l := c.Backend.Limits()
	l.Grams.Float32 = c.keep
	return l
}

func (c *keeping) Gram(b *kernels.Batch) error {
	for len(c.batches) <= *c.sweep {
		c.batches, c.anew = append(c.batches, 0), append(c.anew, 0)
		c.left = append(c.left, map[kernels.Address]bool{})
	}
	c.batches[*c.sweep]++
	if b.Afresh {
		c.anew[*c.sweep]++
	}
	for _, pair := range b.Grams {
		for _, p := range []kernels.Panel{pair.P, pair.Q} {
			if left, known := c.left[*c.sweep][p.Data]; left || !known {
				c.left[*c.sweep][p.Data] = !b.Afresh
			}
		}
	}
	return c.Backend.Gram(b)
}

// TestAfresh tests that the Gram matrices of all block-columns are formed anew in the first sub-step of each
// sweep, or the first two if the ordering is divided, and, where they are kept early only, in all of those
// after a sweep in which not all pivots were active.
func TestAfresh(t *testing.T) {
	const m, n = 120, 96
	a := graded(t, m, n, 6)
	for _, c := range []struct {
		keep            kernels.Keep
		block, substeps int
		strategy        string
	}{
		{kernels.KeepAlways, 6, 1, AutoStrategy}, {kernels.KeepEarly, 6, 1, AutoStrategy},
		{kernels.KeepAlways, 4, 2, "rowcyc"}, {kernels.KeepEarly, 4, 2, "rowcyc"},
		{kernels.KeepAlways, 4, 1, "rev-rowcyc"}, {kernels.KeepAlways, 2, 2, "colcyc"},
	} {
		var d *keeping
		sweep := 0
		config := single(m, n, true, Settings{Block: c.block, Variant: Block, Strategy: c.strategy})
		config.Swept = func(SweepInfo) { sweep++ }
		o := decomposeOn(t, a, comm.NewLocal(1), config, func(world comm.Comm) ([]kernels.Backend, comm.Comm) {
			d = &keeping{Backend: disttest.OpenHost(t, 2), keep: c.keep, sweep: &sweep}
			return []kernels.Backend{d}, world
		})
		some := false
		for i, all := range d.batches {
			late := c.keep == kernels.KeepEarly && i > 0 && o.sweeps[i-1].Active < 1
			some = some || late
			want := c.substeps
			if late {
				want = all
			}
			if d.anew[i] != want {
				t.Errorf("%+v, sweep %d of %d: %d of %d batches formed anew, want %d", c, i+1, len(o.sweeps), d.anew[i],
					all, want)
			}
			for at, left := range d.left[i] {
				if left {
					t.Errorf("%+v, sweep %d: the Gram matrix at %#x is not formed anew", c, i+1, at)
				}
			}
			if columns := len(d.left[i]); columns < n/c.block {
				t.Errorf("%+v, sweep %d: %d block-columns have Gram matrices", c, i+1, columns)
			}
		}
		if some != (c.keep == kernels.KeepEarly) || len(d.batches) < 3 {
			t.Errorf("%+v: late sweeps %t, %d sweeps", c, some, len(d.batches))
		}
	}
}
