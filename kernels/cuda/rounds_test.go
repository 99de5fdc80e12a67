package cuda

import (
	"fmt"
	"testing"

	"jmpi/kernels"
	"jmpi/kernels/kerneltest"
)

// TestRounds tests for several strategies that every pair of every p-step has one slot, that within a round a
// column stays with its warp, and how many rounds there are.
func TestRounds(t *testing.T) {
	for _, c := range []struct {
		name          string
		schedule      *kernels.Schedule
		order, rounds int
	}{
		{"xor 128", kerneltest.ReverseRowCyclic(128), 128, 16}, {"xor 64", kerneltest.ReverseRowCyclic(64), 64, 8},
		{"xor 16", kerneltest.ReverseRowCyclic(16), 16, 2},
		{"xor 128, fewer columns", kerneltest.ReverseRowCyclic(128), 101, 16},
		{"round-robin", kerneltest.RoundRobin(128), 128, 127}, {"round-robin 18", kerneltest.RoundRobin(18), 16, 3},
		{"one pair", kerneltest.RoundRobin(2), 1, 1}, {"none", &kernels.Schedule{}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) { checkRounds(t, c.schedule, c.order, c.rounds) })
	}
}

func checkRounds(t *testing.T, s *kernels.Schedule, order, want int) {
	slots := smallestSize / 2
	for 2*slots < order {
		slots *= 2
	}
	words := rounds(s, order, slots)
	count := 0
	warp := map[int]int{} // of the columns of this round
	for step := 0; step*slots < len(words); step++ {
		pairs := map[string]bool{}
		pairsOf(s, order, step, func(p, q int) { pairs[fmt.Sprint(p, q)] = true })
		for i, w := range words[step*slots : (step+1)*slots] {
			p, q := int(w&0xff), int(w>>columnBits&0xff)
			if w&meet != words[step*slots]&meet {
				t.Fatalf("p-step %d: slot %d does not agree on the end of the round", step, i)
			}
			if q == absent>>columnBits {
				continue
			}
			if !pairs[fmt.Sprint(p, q)] {
				t.Fatalf("p-step %d: pair (%d,%d) in slot %d is not in it, or twice", step, p, q, i)
			}
			delete(pairs, fmt.Sprint(p, q))
			for _, j := range []int{p, q} {
				if at, ok := warp[j]; ok && at != i/warpSlots {
					t.Fatalf("p-step %d: column %d goes from warp %d to %d within a round", step, j, at, i/warpSlots)
				}
				warp[j] = i / warpSlots
			}
		}
		if len(pairs) > 0 {
			t.Fatalf("p-step %d: pairs %v have no slot", step, pairs)
		}
		if words[step*slots]&meet != 0 {
			clear(warp)
			count++
		}
	}
	if len(warp) > 0 || count != want {
		t.Fatalf("%d rounds, want %d; columns %v after the last one", count, want, warp)
	}
}
