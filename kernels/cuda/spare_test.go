package cuda

import (
	"errors"
	"slices"
	"testing"

	"jmpi/kernels"
)

// TestSpare: memory that was given back is found again by its size, the last first, and goes the oldest
// first.
func TestSpare(t *testing.T) {
	var s spare
	for i, bytes := range []int64{1, 2, 1, 3} {
		s.keep(kernels.Address(i+1), spareSize(bytes*(64<<10)))
	}
	for _, x := range []struct {
		bytes int64
		want  kernels.Address
	}{{65536, 3}, {65536, 1}, {65536, 0}, {4 * 65536, 0}} {
		if got := s.take(spareSize(x.bytes)); got != x.want {
			t.Errorf("%d bytes: block %d, want %d", x.bytes, got, x.want)
		}
	}
	s.keep(5, spareSize(0))
	var gone []kernels.Address
	release := func(a kernels.Address) error { gone = append(gone, a); return nil }
	must(t, s.trim(4*65536, release))
	if want := []kernels.Address{2}; !slices.Equal(gone, want) || s.held() != 4*65536 {
		t.Errorf("%v are gone, want %v; %d bytes are left", gone, want, s.held())
	}
	if err := s.trim(-1, func(kernels.Address) error { return errors.New("lost") }); err == nil {
		t.Error("an error of the driver is not told")
	}
	if s.held() != 0 || s.take(spareSize(0)) != 0 {
		t.Errorf("%d bytes are left", s.held())
	}
}

// TestMemoryKept: memory that is used again is zero, also where what is queued still writes to it, and no
// more is taken than the sizes that were asked for.
func TestMemoryKept(t *testing.T) {
	d := mustOpen(t, 0)
	const m, n = 3000, 2000
	first := d.usage.most()
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
	if most := d.usage.most() - first; most > p.Bytes()+1<<20 {
		t.Errorf("%d bytes were in use at a time, of %d", most, p.Bytes())
	}
	if taken := start - before(); taken > 3*p.Bytes() {
		t.Errorf("%d bytes are taken, one matrix has %d, of two sizes", taken, p.Bytes())
	}
}
