package disttest

import (
	"errors"
	"testing"

	"jmpi/kernels"
	"jmpi/kernels/kerneltest"
)

// lagging opens two devices that share what is queued.
func lagging(t *testing.T, eager bool) (a, b *Lagging) {
	t.Helper()
	lag := &Lag{Eager: eager}
	a, err := OpenLagging(lag)
	b, e := OpenLagging(lag)
	if err := errors.Join(err, e); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	})
	return a, b
}

// TestLagging: devices that do what is queued late keep the order that the interface tells.
func TestLagging(t *testing.T) {
	for _, eager := range []bool{true, false} {
		a, b := lagging(t, eager)
		kerneltest.Marks(t, a, a)
		kerneltest.Marks(t, a, b)
		kerneltest.Again(t, a, a)
		kerneltest.Again(t, a, b)
		kerneltest.Beside(t, a)
		kerneltest.Brought(t, a, b)
	}
}

// TestLaggingShows: what is brought to new memory before it is zero is lost, and so is what another device
// still reads of memory that is used again.
func TestLaggingShows(t *testing.T) {
	for _, early := range []bool{true, false} {
		a, b := lagging(t, early)
		var err error
		alloc := func(d *Lagging) kernels.Panel {
			p := kernels.Panel{M: 3, N: 3, Ld: 3}
			if err == nil {
				p.Data, err = d.Alloc(p.Bytes())
			}
			return p
		}
		do := func(e error) { err = errors.Join(err, e) }
		src := alloc(a)
		do(a.Identity(src, 0))
		do(a.Sync())
		dst := alloc(b)
		if !early {
			do(b.Sync())
		}
		// no mark: dst is not zero yet, and a does not follow
		_, e := b.Bring([]kernels.Panel{dst}, []kernels.Panel{src})
		do(e)
		if !early {
			do(a.Free(src.Data))
			do(a.Zero(alloc(a)))
			do(a.Sync())
			last := []kernels.Panel{dst.Columns(2, 3)}
			mark, e := b.Bring(last, last) // what was brought before comes first
			do(e)
			do(b.Follow(mark))
		}
		norms, e := b.ColumnNorms(dst)
		do(e)
		if err != nil {
			t.Fatal(err)
		}
		if norms[0] != 0 {
			t.Errorf("early %t: the columns of what was brought have the lengths %v", early, norms)
		}
	}
}
