package cpu

import (
	"slices"
	"testing"

	"jmpi/kernels"
)

// TestMemory allocates and frees blocks of some sizes by chance. Every block is zero, and has no byte in
// common with another one. The device never keeps more than the most that was allocated at a time.
func TestMemory(t *testing.T) {
	var m memory
	sizes := []int64{1, 4096, 5000, 1 << 16, 1 << 20, 1<<20 + 1}
	live := map[kernels.Address]int64{}
	used, most, again := int64(0), int64(0), 0
	random := uint64(1)
	pick := func(n int) int {
		random = random*6364136223846793005 + 1442695040888963407
		return int(random>>33) % n
	}
	for range 3000 {
		if len(live) > 12 || len(live) > 0 && pick(2) == 0 {
			addresses := make([]kernels.Address, 0, len(live))
			for a := range live {
				addresses = append(addresses, a)
			}
			slices.Sort(addresses)
			a := addresses[pick(len(addresses))]
			if err := m.free(a); err != nil {
				t.Fatal(err)
			}
			used -= live[a]
			delete(live, a)
			if err := m.free(a); err == nil {
				t.Fatal("a block can be freed twice")
			}
			continue
		}
		size, before := sizes[pick(len(sizes))], len(m.kept)
		a, err := m.alloc(size)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.kept) < before {
			again++
		}
		b := numbers[float32](a, int(size)/4)
		if slices.ContainsFunc(b, func(x float32) bool { return x != 0 }) {
			t.Fatalf("%d bytes are not zero", size)
		}
		for i := range b {
			b[i] = float32(len(live)) + 1
		}
		for other, n := range live {
			if a < other+kernels.Address(n) && other < a+kernels.Address(size) {
				t.Fatalf("%d bytes at %#x reach into %d at %#x", size, a, n, other)
			}
		}
		live[a] = size
		used += size
		most = max(most, used)
		if m.used != used || m.used+m.idle > most {
			t.Fatalf("%d bytes are in use, %d by its own count, and %d are kept: the most was %d", used, m.used,
				m.idle, most)
		}
	}
	if again < 500 {
		t.Errorf("kept memory served %d times only", again)
	}
	if err := m.close(); err != nil {
		t.Fatal(err)
	}
}
