package cpu

import (
	"slices"
	"testing"

	"jmpi/kernels"
)

// TestMemory allocates and frees blocks of some sizes, again and again. Every block is zero, and has no byte
// in common with another one.
func TestMemory(t *testing.T) {
	d := mustOpen(t, 1, "generic")
	sizes := []int64{1, 4096, 5000, 1 << 16, 1 << 20, 1<<20 + 1}
	for round := range 40 {
		live := map[kernels.Address]int64{}
		for k := range sizes {
			size := sizes[(k+round)%len(sizes)]
			a, err := d.Alloc(size)
			if err != nil {
				t.Fatal(err)
			}
			b := numbers[byte](a, int(size))
			if slices.ContainsFunc(b, func(x byte) bool { return x != 0 }) {
				t.Fatalf("%d bytes are not zero", size)
			}
			for i := range b {
				b[i] = byte(k + 1)
			}
			for other, n := range live {
				if a < other+kernels.Address(n) && other < a+kernels.Address(size) {
					t.Fatalf("%d bytes at %#x reach into %d at %#x", size, a, n, other)
				}
			}
			live[a] = size
		}
		for a := range live {
			if err := d.Free(a); err != nil {
				t.Fatal(err)
			}
			if err := d.Free(a); err == nil {
				t.Fatal("a block can be freed twice")
			}
		}
	}
}
