package cuda

import (
	"errors"
	"slices"
	"testing"
	"time"

	"jmpi/kernels"
)

// TestMemoryKept: memory that is used again is zero, also where what is queued still writes to it, and no
// more is taken than the sizes that were asked for.
func TestMemoryKept(t *testing.T) {
	d := mustOpen(t, 0)
	const m, n = 3000, 2000
	first := d.heap.Peak()
	var free, all int64 // what the driver has
	before := func() int64 {
		must(t, d.bound("test", func() error { return d.info(&free, &all) }))
		return free
	}
	start := before()
	p := kernels.Panel{M: m, N: n, Ld: m}
	for round := range 20 {
		bytes := p.Bytes()
		if round%3 == 2 { // of another size
			bytes += 256 << 10
		}
		a, err := d.Alloc(bytes)
		must(t, err)
		p.Data = a
		norms, err := d.ColumnNorms(p)
		must(t, err)
		for j, x := range norms {
			if x != 0 {
				t.Fatalf("round %d: column %d of new memory has the length %g", round, j, x)
			}
		}
		must(t, d.Identity(p, 0))
		for range 50 {
			must(t, d.Ldexp(p, 1))
		}
		must(t, d.Free(a)) // while this is queued
		if err := d.Free(a); !errors.Is(err, kernels.ErrAddress) {
			t.Fatalf("memory was given back twice: %v", err)
		}
	}
	must(t, d.Sync())
	if most := d.heap.Peak() - first; most > p.Bytes()+1<<20 {
		t.Errorf("%d bytes were in use at a time, of %d", most, p.Bytes())
	}
	if taken := start - before(); taken > 3*p.Bytes() {
		t.Errorf("%d bytes are taken, one matrix has %d, of two sizes", taken, p.Bytes())
	}
}

// TestMemoryWaits: memory that is used again is given while a lot is queued, and so it is taken back.
func TestMemoryWaits(t *testing.T) {
	d := mustOpen(t, 0)
	p := kernels.Panel{M: 4000, N: 4000, Ld: 4000}
	alloc := func() {
		var err error
		p.Data, err = d.Alloc(p.Bytes())
		must(t, err)
	}
	alloc()
	must(t, d.Identity(p, 0))
	must(t, d.Sync())
	start := time.Now()
	for range 500 {
		must(t, d.Ldexp(p, 1))
	}
	for range 20 {
		must(t, d.Free(p.Data))
		alloc()
	}
	queued := time.Since(start)
	must(t, d.Sync())
	if done := time.Since(start); queued > done/2 {
		t.Errorf("after %v of %v all was queued", queued, done)
	}
	norms, err := d.ColumnNorms(p)
	must(t, err)
	if slices.Max(norms) != 0 {
		t.Error("memory that is used again is not zero")
	}
}
