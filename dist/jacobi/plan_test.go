package jacobi

import (
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/dist/exchange"
	"jmpi/kernels"
	"jmpi/node"
)

// distinct is a Comm that fails where two messages of one tag between two ranks are outstanding at once.
type distinct struct {
	comm.Comm
	t    testing.TB
	busy chan map[[3]int]bool // holds the direction, peer and tag of what is outstanding
}

func (c *distinct) post(direction, peer, tag int, start func() *comm.Request) *comm.Request {
	k := [3]int{direction, peer, tag}
	busy := <-c.busy
	if busy[k] {
		c.t.Errorf("rank %d: two messages of tag %d at once, peer %d", c.Rank(), tag, peer)
	}
	busy[k] = true
	c.busy <- busy
	inner, outer := start(), comm.NewRequest()
	go func() {
		err := inner.Wait()
		busy := <-c.busy
		delete(busy, k)
		c.busy <- busy
		outer.Finish(err)
	}()
	return outer
}

func (c *distinct) Isend(a kernels.Address, bytes int64, to, tag int) *comm.Request {
	return c.post(0, to, tag, func() *comm.Request { return c.Comm.Isend(a, bytes, to, tag) })
}

func (c *distinct) Irecv(a kernels.Address, bytes int64, from, tag int) *comm.Request {
	return c.post(1, from, tag, func() *comm.Request { return c.Comm.Irecv(a, bytes, from, tag) })
}

// The same as TestTagsDoNotCollide says of plans, seen on executed ones, with all sweeps in plans
// of their own.
func TestTagsAreDistinctInARun(t *testing.T) {
	a := make([]float64, 24*24)
	for i := range a {
		a[i] = float64(i*i%101) - 50
	}
	for _, grid := range [][2]int{{2, 1}, {3, 1}, {2, 2}, {4, 1}, {3, 2}} {
		for _, horizon := range []int{1, 12} {
			c := Config{Problem: Problem{M: 24, N: 24, Vectors: true},
				Settings: Settings{Block: 2, PlanHorizon: horizon, Variant: Block}}
			decomposeOn(t, a, comm.NewLocal(grid[0]), c, func(comm comm.Comm) ([]kernels.Backend, comm.Comm) {
				_, backends, _ := disttest.OpenRank(t, comm, grid[1], exchange.StageBytes)
				for i, be := range backends {
					backends[i] = be.(*disttest.Apart).Backend // host memory, so that every message goes to the Comm whole
				}
				d := &distinct{Comm: comm, t: t, busy: make(chan map[[3]int]bool, 1)}
				d.busy <- map[[3]int]bool{}
				return backends, d
			})
		}
	}
}

// A message for each panel of a block-column has a label of its own.
func TestEveryPanelHasAKind(t *testing.T) {
	if n := len(node.Block{}.Panels()); n > exchange.Kinds {
		t.Errorf("%d panels, but %d kinds of messages", n, exchange.Kinds)
	}
}
