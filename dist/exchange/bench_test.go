package exchange

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/kernels"
)

// benchExchange runs BenchExchange on ranks of one process and returns its rows, or its first error.
func benchExchange(t *testing.T, ranks, devices int, transport Transport,
	open func(*disttest.Apart) kernels.Backend) ([]Row, error) {
	t.Helper()
	rows, errs := make([][]Row, ranks), make([]error, ranks)
	var wg sync.WaitGroup
	for i, comm := range comm.NewLocal(ranks) {
		wg.Go(func() {
			all, backends, _ := disttest.OpenRank(t, comm, devices, benchChunk)
			for i, d := range all {
				backends[i] = open(d)
			}
			if rows[i], errs[i] = Bench(comm, backends, transport, []int64{8, 4096, 100_000}); errs[i] != nil {
				return
			}
			if err := disttest.Leftovers(all); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range rows {
		if !slices.Equal(rows[i], rows[0]) {
			t.Errorf("rank %d has rows %v, rank 0 %v", i, rows[i], rows[0])
		}
	}
	return rows[0], errs[0]
}

func TestBenchExchange(t *testing.T) {
	defer func(before int64) { benchChunk = before }(benchChunk)
	benchChunk = 1000
	host := func(d *disttest.Apart) kernels.Backend { return d.Backend }
	for _, c := range []struct {
		ranks, devices int
		direct         bool
		open           func(*disttest.Apart) kernels.Backend
		want           string // paths
	}{
		{1, 1, false, asIs, ""}, {1, 2, false, asIs, "peer"}, {2, 1, false, asIs, "staged"},
		{2, 1, true, asIs, "direct staged"},
		{3, 2, false, asIs, "staged peer"}, {3, 1, true, host, "host"}, {2, 3, true, host, "host peer"},
	} {
		rows, err := benchExchange(t, c.ranks, c.devices, Transport{Direct: c.direct}, c.open)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rows {
			if !(r.Seconds > 0) || r.GBs != float64(r.Bytes)/r.Seconds/1e9 {
				t.Errorf("%+v", r)
			}
			got = append(got, fmt.Sprint(r.Path, r.BothWays, r.Bytes))
		}
		var want []string
		for _, path := range strings.Fields(c.want) {
			for _, both := range []bool{false, true} {
				for _, bytes := range []int{8, 4096, 100_000} {
					want = append(want, fmt.Sprint(path, both, bytes))
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d ranks of %d devices: rows %v, want %v", c.ranks, c.devices, got, want)
		}
	}
}

// idle is a device to which nothing is brought.
type idle struct{ *disttest.Apart }

func (idle) Bring(dst, src []kernels.Panel, _ ...kernels.Mark) (kernels.Mark, error) { return 0, nil }

func TestBenchExchangeComparesTheBytes(t *testing.T) {
	_, err := benchExchange(t, 1, 2, Transport{}, func(d *disttest.Apart) kernels.Backend { return idle{d} })
	if err == nil || !strings.Contains(err.Error(), "byte 0 of 8 arrived wrong") {
		t.Errorf("error %v", err)
	}
}
