package dist

import (
	"context"
	"slices"
	"testing"

	"jmpi/kernels"
	"jmpi/strategy"
	"jmpi/topology"

	"pgregory.net/rapid"
)

// Messages of one tag between two ranks belong to one pair of devices, which orders them, and to exchanges that are not outstanding
// at once: while a device waits for one exchange it has posted the next one at most.
func TestTagsDoNotCollide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rank []int // of each device
		for r := range rapid.IntRange(2, 3).Draw(t, "ranks") {
			rank = append(rank, slices.Repeat([]int{r}, rapid.IntRange(1, 2).Draw(t, "devices"))...)
		}
		name := rapid.SampledFrom([]string{"rev-rowcyc", "colcyc", "brentluk", "roundrobin", "mmstep"}).Draw(t, "strategy")
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
		x := newExchange(context.Background(), nil, nil, rank, 0)
		type key struct{ from, to, tag int }
		type use struct{ from, to, step int }
		last := map[key]use{}
		for s, step := range plan.Steps {
			for _, m := range step.Moves {
				for piece := range pieces {
					for kind := range 2 {
						tag := x.tag(m.From, m.To, part{m.Column, piece, kind, s % 2})
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
	x := newExchange(context.Background(), nil, nil, slices.Concat(slices.Repeat([]int{0}, devices), slices.Repeat([]int{1}, devices)), 0)
	seen := map[int]bool{}
	for from := range devices {
		for to := devices; to < 2*devices; to++ {
			for piece := range pieces {
				for kind := range 2 {
					for turn := range 2 {
						tag := x.tag(from, to, part{0, piece, kind, turn})
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

// distinct is a Comm that fails where two messages of one tag between two ranks are outstanding at once.
type distinct struct {
	Comm
	t    testing.TB
	busy chan map[[3]int]bool // holds the direction, peer and tag of what is outstanding
}

func (c *distinct) post(direction, peer, tag int, start func() *Request) *Request {
	k := [3]int{direction, peer, tag}
	busy := <-c.busy
	if busy[k] {
		c.t.Errorf("rank %d: two messages of tag %d at once, peer %d", c.Rank(), tag, peer)
	}
	busy[k] = true
	c.busy <- busy
	inner, outer := start(), newRequest()
	go func() {
		err := inner.Wait()
		busy := <-c.busy
		delete(busy, k)
		c.busy <- busy
		outer.Finish(err)
	}()
	return outer
}

func (c *distinct) Isend(a kernels.Address, bytes int64, to, tag int) *Request {
	return c.post(0, to, tag, func() *Request { return c.Comm.Isend(a, bytes, to, tag) })
}

func (c *distinct) Irecv(a kernels.Address, bytes int64, from, tag int) *Request {
	return c.post(1, from, tag, func() *Request { return c.Comm.Irecv(a, bytes, from, tag) })
}

// The same as TestTagsDoNotCollide says of plans, seen on executed ones, with all sweeps in plans of their own.
func TestTagsAreDistinctInARun(t *testing.T) {
	a := make([]float64, 24*24)
	for i := range a {
		a[i] = float64(i*i%101) - 50
	}
	for _, grid := range [][2]int{{2, 1}, {3, 1}, {2, 2}, {4, 1}, {3, 2}} {
		for _, horizon := range []int{1, 12} {
			c := Config{M: 24, N: 24, Vectors: true, Block: 2, PlanHorizon: horizon}
			decomposeOn(t, a, NewLocal(grid[0]), c, func(comm Comm) ([]kernels.Backend, Comm) {
				_, backends, _ := openRank(t, comm, grid[1], stageBytes)
				for i, be := range backends {
					backends[i] = be.(*apart).Backend // host memory, so that every message goes to the Comm whole
				}
				d := &distinct{Comm: comm, t: t, busy: make(chan map[[3]int]bool, 1)}
				d.busy <- map[[3]int]bool{}
				return backends, d
			})
		}
	}
}
