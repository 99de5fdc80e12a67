package kernels

import (
	"errors"
	"slices"
	"testing"
)

// system is memory by addresses alone.
type system struct {
	next  Address
	held  map[Address]int64
	bytes int64 // held
	room  int64 // 0: any
	lost  error // what Put returns
}

func (s *system) heap(spare int64) *Heap {
	s.held = map[Address]int64{}
	return &Heap{Spare: spare, Get: func(bytes int64) (Address, error) {
		if s.room > 0 && s.bytes+bytes > s.room {
			return 0, ErrMemory
		}
		s.next++
		s.held[s.next] = bytes
		s.bytes += bytes
		return s.next, nil
	}, Put: func(a Address, bytes int64) error {
		if s.held[a] != bytes {
			return ErrAddress
		}
		delete(s.held, a)
		s.bytes -= bytes
		return s.lost
	}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestHeap allocates and frees blocks of some sizes by chance. What the system has given never exceeds the
// most that was in use at a time, and Spare. Blocks of the same size serve again.
func TestHeap(t *testing.T) {
	for _, spare := range []int64{0, 3000} {
		var s system
		h := s.heap(spare)
		sizes := []int64{1, 100, 101, 1000, 2500}
		live, ever := map[Address]int64{}, map[Address]bool{}
		used, most, again := int64(0), int64(0), 0
		random := uint64(1)
		pick := func(n int) int {
			random = random*6364136223846793005 + 1442695040888963407
			return int(random>>33) % n
		}
		for range 3000 {
			if len(live) > 12 || len(live) > 0 && pick(2) == 0 {
				addresses := make([]Address, 0, len(live))
				for a := range live {
					addresses = append(addresses, a)
				}
				slices.Sort(addresses)
				a := addresses[pick(len(addresses))]
				if pick(4) > 0 {
					must(t, h.Free(a))
				} else {
					must(t, h.Return(a))
				}
				used -= live[a]
				delete(live, a)
				if !errors.Is(h.Free(a), ErrAddress) || !errors.Is(h.Return(a), ErrAddress) {
					t.Fatal("a block can be given back twice")
				}
				continue
			}
			size := sizes[pick(len(sizes))]
			a, used0, err := h.Alloc(size)
			must(t, err)
			if _, ok := live[a]; ok || used0 != ever[a] || s.held[a] != size {
				t.Fatalf("%d bytes at %d, where %d are, used again: %t", size, a, live[a], used0)
			}
			if used0 {
				again++
			}
			live[a], ever[a] = size, true
			used += size
			most = max(most, used)
			if h.Peak() != most || h.Idle() != s.bytes-used || s.bytes > most+spare {
				t.Fatalf("%d bytes of the system, %d in use, %d kept; the most was %d, it says %d", s.bytes, used,
					h.Idle(), most, h.Peak())
			}
		}
		if again < 500 {
			t.Errorf("kept memory served %d times only", again)
		}
		if err := h.Close(); err != nil || s.bytes != 0 || h.Idle() != 0 {
			t.Errorf("closed: %d bytes are left, %d kept, error %v", s.bytes, h.Idle(), err)
		}
	}
}

// TestHeapOrder: what was given back last serves first, and what was given back first goes first.
func TestHeapOrder(t *testing.T) {
	var s system
	h := s.heap(0)
	for _, bytes := range []int64{10, 20, 10, 30} { // at 1, 2, 3, 4
		_, _, err := h.Alloc(bytes)
		must(t, err)
	}
	for a := range 4 {
		must(t, h.Free(Address(a+1)))
	}
	if a, again, err := h.Alloc(10); a != 3 || !again || err != nil {
		t.Errorf("10 bytes are block %d, want 3, again %t, error %v", a, again, err)
	}
	if a, err := h.New(10); a != 5 || err != nil || s.held[1] != 0 || s.held[2] == 0 {
		t.Errorf("new memory is block %d, error %v; held are %v", a, err, s.held)
	}
}

// TestHeapFull: where the system has no memory left, it gets what is kept. Errors are told, and change
// nothing.
func TestHeapFull(t *testing.T) {
	s := system{room: 100}
	h := s.heap(100)
	a, _, err := h.Alloc(60)
	must(t, err)
	must(t, h.Free(a))
	if _, _, err := h.Alloc(-1); !errors.Is(err, ErrShape) {
		t.Errorf("a negative size: %v", err)
	}
	b, again, err := h.Alloc(70)
	if err != nil || again || s.bytes != 70 {
		t.Errorf("70 bytes of 100, 60 kept: %v, again %t, %d bytes held", err, again, s.bytes)
	}
	if _, _, err := h.Alloc(40); !errors.Is(err, ErrMemory) || h.Peak() != 70 {
		t.Errorf("40 bytes of 30: %v, the most was %d", err, h.Peak())
	}
	s.lost = errors.New("lost")
	if err := h.Return(b); !errors.Is(err, s.lost) {
		t.Errorf("an error of the system is not told: %v", err)
	}
}
