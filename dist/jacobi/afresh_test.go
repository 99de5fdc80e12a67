package jacobi

import (
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/kernels"
)

// coarse is a device that keeps Gram matrices with errors that matter in the last sweeps, and counts batches
// of narrow block-columns and those for which they are formed anew.
type coarse struct {
	kernels.Backend
	coarse        bool
	batches, anew []int // in each sweep
	sweep         *int
}

func (c *coarse) Limits() kernels.Limits {
	l := c.Backend.Limits()
	l.Grams.Coarse = c.coarse
	return l
}

func (c *coarse) Gram(b *kernels.Batch) error {
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
// sweep and, where they are coarse, in all of those after a sweep in which not all pivots were active.
func TestAfresh(t *testing.T) {
	const m, n = 120, 96
	a := graded(t, m, n, 6)
	for _, rough := range []bool{false, true} {
		var d *coarse
		sweep := 0
		c := single(m, n, true, Settings{Block: 6, Variant: Block})
		c.Swept = func(SweepInfo) { sweep++ }
		o := decomposeOn(t, a, comm.NewLocal(1), c, func(world comm.Comm) ([]kernels.Backend, comm.Comm) {
			d = &coarse{Backend: disttest.OpenHost(t, 2), coarse: rough, sweep: &sweep}
			return []kernels.Backend{d}, world
		})
		some := false
		for i, all := range d.batches {
			late := rough && i > 0 && o.sweeps[i-1].Active < 1
			some = some || late
			want := 1
			if late {
				want = all
			}
			if d.anew[i] != want {
				t.Errorf("coarse %t, sweep %d of %d: %d of %d batches formed anew, want %d", rough, i+1,
					len(o.sweeps), d.anew[i], all, want)
			}
		}
		if some != rough || len(d.batches) < 3 {
			t.Errorf("coarse %t: late sweeps %t, %d sweeps", rough, some, len(d.batches))
		}
	}
}
