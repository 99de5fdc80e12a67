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
	batches, anew []int // in each sweep
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
	}
	c.batches[*c.sweep]++
	if b.Afresh {
		c.anew[*c.sweep]++
	}
	return c.Backend.Gram(b)
}

// TestAfresh tests that the Gram matrices of block-columns are formed anew in the first sub-step of each
// sweep and, where they are kept early only, in all of those after a sweep in which not all pivots were
// active.
func TestAfresh(t *testing.T) {
	const m, n = 120, 96
	a := graded(t, m, n, 6)
	for _, keep := range []kernels.Keep{kernels.KeepAlways, kernels.KeepEarly} {
		var d *keeping
		sweep := 0
		c := single(m, n, true, Settings{Block: 6, Variant: Block})
		c.Swept = func(SweepInfo) { sweep++ }
		o := decomposeOn(t, a, comm.NewLocal(1), c, func(world comm.Comm) ([]kernels.Backend, comm.Comm) {
			d = &keeping{Backend: disttest.OpenHost(t, 2), keep: keep, sweep: &sweep}
			return []kernels.Backend{d}, world
		})
		some := false
		for i, all := range d.batches {
			late := keep == kernels.KeepEarly && i > 0 && o.sweeps[i-1].Active < 1
			some = some || late
			want := 1
			if late {
				want = all
			}
			if d.anew[i] != want {
				t.Errorf("kept %d, sweep %d of %d: %d of %d batches formed anew, want %d", keep, i+1,
					len(o.sweeps), d.anew[i], all, want)
			}
		}
		if some != (keep == kernels.KeepEarly) || len(d.batches) < 3 {
			t.Errorf("kept %d: late sweeps %t, %d sweeps", keep, some, len(d.batches))
		}
	}
}
