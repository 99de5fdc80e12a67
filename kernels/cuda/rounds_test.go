package cuda

import (
	"testing"

	"jmpi/kernels"
	"jmpi/kernels/kerneltest"
)

// TestRounds tests for several strategies that the rounds have the pairs of every p-step, each once and with
// the lower number on the left, and how many rounds there are.
func TestRounds(t *testing.T) {
	for _, c := range []struct {
		name         string
		schedule     *kernels.Schedule
		size, rounds int
	}{
		{"xor 128", kerneltest.ReverseRowCyclic(128), 128, 18},
		{"xor 64", kerneltest.ReverseRowCyclic(64), 64, 10},
		{"xor 16", kerneltest.ReverseRowCyclic(16), 32, 4}, {"xor 8", kerneltest.ReverseRowCyclic(8), 32, 3},
		{"round-robin", kerneltest.RoundRobin(128), 128, 127},
		{"round-robin 40", kerneltest.RoundRobin(40), 32, 39},
		{"one pair", kerneltest.RoundRobin(2), 32, 1}, {"none", &kernels.Schedule{}, 32, 0},
	} {
		t.Run(c.name, func(t *testing.T) { checkRounds(t, c.schedule, c.size, c.rounds) })
	}
}

func checkRounds(t *testing.T, s *kernels.Schedule, size, want int) {
	list := rounds(s, size)
	if len(list) != want {
		t.Errorf("%d rounds, want %d", len(list), want)
	}
	step := 0
	for _, r := range list {
		if len(r.columns) != size {
			t.Fatalf("p-step %d: columns %v of a round, want %d", step, r.columns, size)
		}
		for i := range r.steps {
			pairs := map[[2]int]bool{}
			for j := step * s.Order; j < (step+1)*s.Order; j += 2 {
				if p, q := int(s.Pairs[j]), int(s.Pairs[j+1]); q < size {
					pairs[[2]int{p, q}] = true
				}
			}
			for warp := 0; warp < size; warp += 2 * warpPairs {
				for j := range warpPairs {
					p, q := int(r.columns[warp+j]), int(r.columns[warp+warpPairs+j^i])
					if p == size && q == size {
						continue
					}
					if !pairs[[2]int{p, q}] {
						t.Fatalf("p-step %d: pair (%d,%d) is not in it, or twice", step, p, q)
					}
					delete(pairs, [2]int{p, q})
				}
			}
			if len(pairs) > 0 {
				t.Fatalf("p-step %d: pairs %v are missing", step, pairs)
			}
			step++
		}
	}
	if steps := len(s.Pairs) / max(s.Order, 1); step != steps {
		t.Errorf("%d p-steps, want %d", step, steps)
	}
}
