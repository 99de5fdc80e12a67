package jacobi

import (
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/kernels"
)

// listening is a device that counts batches, and those that are said to be quiet, in each sweep.
type listening struct {
	kernels.Backend
	batches, quiet []int
	sweep          int
}

func (l *listening) Gram(b *kernels.Batch) error {
	for len(l.batches) <= l.sweep {
		l.batches, l.quiet = append(l.batches, 0), append(l.quiet, 0)
	}
	l.batches[l.sweep]++
	if b.Quiet {
		l.quiet[l.sweep]++
	}
	return l.Backend.Gram(b)
}

// TestQuiet tests that all batches of a sweep are said to be quiet where few pivots were active in the sweep
// before, and no others. A new decomposition begins anew, on the same device too.
func TestQuiet(t *testing.T) {
	const m, n = 120, 96
	a := graded(t, m, n, 6)
	const dense = 5 * n / 8 // the other columns are orthogonal to all
	for j := dense; j < n; j++ {
		for i := range m {
			a[j*m+i] = 0
		}
		for i := range n {
			a[i*m+j] = 0
		}
		a[j*m+j] = 1
	}
	host := disttest.OpenHost(t, 2)
	for _, float32 := range []bool{false, true, false} {
		d := &listening{Backend: host}
		c := Config{Problem: Problem{M: m, N: n, Vectors: true}, Settings: Settings{Block: 6, Variant: Block}}
		if float32 {
			c = single(m, n, true, Settings{Block: 6, Variant: Block})
		}
		c.Swept = func(SweepInfo) { d.sweep++ }
		o := decomposeOn(t, a, comm.NewLocal(1), c, func(world comm.Comm) ([]kernels.Backend, comm.Comm) {
			return []kernels.Backend{d}, world
		})
		some, first := 0, 0
		for i, all := range d.batches {
			want := 0
			if i > 0 && o.sweeps[i-1].Active < quietShare {
				want = all
				some++
			} else {
				first++
			}
			if d.quiet[i] != want {
				t.Errorf("float32 %t, sweep %d of %d: %d of %d batches are quiet, want %d", float32, i+1, len(o.sweeps),
					d.quiet[i], all, want)
			}
		}
		if some == 0 || first < 2 || len(d.batches) != len(o.sweeps) {
			t.Errorf("float32 %t: %d sweeps, and %d quiet ones, of %d", float32, first, some, len(o.sweeps))
		}
	}
}
