package exchange

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"jmpi/strategy"
	"jmpi/topology"
)

// Messages of one tag between two ranks belong to one pair of devices, which orders them, and to exchanges
// that are not outstanding at once: while a device waits for one exchange it has posted the next one at most.
func TestTagsDoNotCollide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rank []int // of each device
		for r := range rapid.IntRange(2, 3).Draw(t, "ranks") {
			rank = append(rank, slices.Repeat([]int{r}, rapid.IntRange(1, 2).Draw(t, "devices"))...)
		}
		name := rapid.SampledFrom([]string{"rev-rowcyc", "colcyc", "brentluk", "roundrobin", "mmstep"}).Draw(t,
			"strategy")
		table, err := strategy.New(name, 2*len(rank))
		if err != nil {
			t.Fatal(err)
		}
		hosts := make([]string, len(rank))
		for i, r := range rank {
			hosts[i] = string(rune('a' + r))
		}
		network, err := topology.FromNodes(hosts)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := topology.New(table, network, topology.Options{Sweeps: 2})
		if err != nil {
			t.Fatal(err)
		}
		x := New(context.Background(), nil, nil, rank, 0)
		type key struct{ from, to, tag int }
		type use struct{ from, to, step int }
		last := map[key]use{}
		for s, step := range plan.Steps {
			for _, m := range step.Moves {
				for piece := range Pieces {
					for kind := range Kinds {
						tag := x.tag(m.From, m.To, Label{m.Column, piece, kind, s % 2})
						k, u := key{rank[m.From], rank[m.To], tag}, use{m.From, m.To, s}
						before, used := last[k]
						if used && (before.from != u.from || before.to != u.to || u.step-before.step < 2) {
							t.Fatalf("tag %d from rank %d to rank %d: %+v and %+v", tag, k.from, k.to, before, u)
						}
						last[k] = u
					}
				}
			}
		}
	})
}

func TestTagsSuitEveryMPI(t *testing.T) {
	const devices, limit = 16, 32767
	x := New(context.Background(), nil, nil, slices.Concat(slices.Repeat([]int{0}, devices),
		slices.Repeat([]int{1}, devices)), 0)
	seen := map[int]bool{}
	for from := range devices {
		for to := devices; to < 2*devices; to++ {
			for piece := range Pieces {
				for kind := range Kinds {
					for parity := range 2 {
						tag := x.tag(from, to, Label{0, piece, kind, parity})
						if tag < 0 || tag > limit || seen[tag] {
							t.Fatalf("tag %d from device %d to device %d", tag, from, to)
						}
						seen[tag] = true
					}
				}
			}
		}
	}
}
