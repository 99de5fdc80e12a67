package jacobi

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/dist/exchange"
	"jmpi/kernels/cpu"
)

// A device without enough memory is refused before anything is allocated, on all ranks, with the number
// of devices that would do.
func TestMemoryIsCheckedFirst(t *testing.T) {
	c := Config{Problem: Problem{M: 600, N: 512, Vectors: true,
		Start: Start{Load: func(j0, j1 int, dst []float64) error { return nil }}},
		Settings: Settings{Strategy: "rev-rowcyc", MaxSweeps: 1, Block: 16, Variant: Block}}
	be, err := cpu.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	limits := be.Limits()
	if err := be.Close(); err != nil {
		t.Fatal(err)
	}
	for _, share := range []float64{1, 0.99, 0.5, 0.1, 0.001} {
		free := int64(share * float64(c.Demand(4, limits)))
		errs := make([]error, 2)
		would := make([]int, 2)
		var wg sync.WaitGroup
		for i, comm := range comm.NewLocal(2) {
			wg.Go(func() {
				devices, backends, _ := disttest.OpenRank(t, comm, 2, exchange.StageBytes)
				devices[0].Room, devices[1].Room = 1<<40, 1<<40
				if i == 1 {
					devices[1].Room = free
				}
				var s *Solution
				s, errs[i] = Solve(t.Context(), comm, backends, c)
				s.Free()
				if err := disttest.Leftovers(devices); err != nil {
					t.Errorf("share %g: %v", share, err)
				}
			})
		}
		wg.Wait()
		for i, err := range errs {
			f, ok := err.(*comm.Failure)
			switch {
			case share == 1:
				if err != nil {
					t.Errorf("just enough memory: %v", err)
				}
				continue
			case !ok || f.Rank != 1 || f.Kind != comm.BadResource ||
				!strings.HasPrefix(f.Text, "a 600×512 matrix needs 0.0"):
				t.Errorf("share %g: error %v", share, err)
				continue
			case share == 0.001:
				if !strings.HasSuffix(f.Text, "more devices would not do either") {
					t.Errorf("share %g: error %v", share, err)
				}
				continue
			}
			if _, err := fmt.Sscanf(f.Text[strings.LastIndex(f.Text, ":")+1:], "%d devices would do",
				&would[i]); err != nil {
				t.Errorf("share %g: %v", share, f)
			}
			if w := would[i]; w <= 4 || c.Demand(w, limits) > free || c.Demand(w-1, limits) <= free {
				t.Errorf("share %g: %v", share, f)
			}
		}
	}
}
