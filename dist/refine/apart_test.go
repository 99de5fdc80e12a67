package refine

import (
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/dist/matrix"
	"jmpi/kernels"
)

// apart returns devices whose memory is not that of the host, as a GPU's is not.
func apart(t testing.TB, world comm.Comm, count int) *matrix.Devices {
	var backends []kernels.Backend
	for range count {
		be, err := disttest.OpenApart()
		must(t, err)
		backends = append(backends, be)
	}
	d, err := matrix.NewDevices(world, backends, false)
	must(t, err)
	return d
}

// TestApart refines on devices that work as GPUs do: products are wider there, and messages are staged.
func TestApart(t *testing.T) {
	const n = 300
	for _, s := range named("gauss", "rows 1e20, L", "five") {
		x := s.make(t, n)
		v, _ := rough(n, x)
		for _, grid := range [][2]int{{1, 1}, {1, 3}, {2, 2}} {
			r := refineOn(t, apart, grid, n, x, v)
			if r.Outcome != Converged {
				t.Fatalf("%s on %v: %s\n%s", s.name, grid, r.Outcome, told(r.Steps))
			}
			r.vectors(t, n, n, x)
		}
	}
}

// TestMemory tests that there are never more than six matrices at a time, and what is on its way.
func TestMemory(t *testing.T) {
	const n = 384
	for _, s := range named("gauss", "five, L", "close pairs") {
		x := s.make(t, n)
		v, _ := rough(n, x)
		for _, w := range all {
			testMemory(t, s.name, w, n, x, v)
		}
	}
}

// testMemory tests the memory that it takes to find what is wanted.
func testMemory(t *testing.T, name string, w Wanted, n int, x, v []float64) {
	dev, err := disttest.OpenApart()
	if err != nil {
		t.Fatal(err)
	}
	d, err := matrix.NewDevices(comm.NewLocal(1)[0], []kernels.Backend{dev}, false)
	must(t, err)
	xm, vm := load(t, d, n, n, x), load(t, d, n, n, v)
	dev.Peak = 0
	r, err := Start(xm, vm, 1, w, Hooks{})
	must(t, err)
	if r.Outcome != Converged {
		t.Errorf("%s: %s", name, r.Outcome)
	}
	tile := dev.Limits().Tile
	matrices := 6
	if !w.Right {
		matrices = 5
	}
	limit := int64(matrices*n*n+(matrix.PassColumns(dev.Limits())+4*tile)*n) * kernels.WordBytes
	if dev.Peak > limit || dev.Peak < int64(4*n*n)*kernels.WordBytes {
		t.Errorf("%s, %+v: %d bytes at the worst moment, want %d at most\n%s", name, w, dev.Peak, limit,
			told(r.Steps))
	}
	t.Logf("%s, %+v: %.2f matrices", name, w, float64(dev.Peak)/float64(n*n*kernels.WordBytes))
	must(t, d.Free())
	if err := disttest.Leftovers([]*disttest.Apart{dev}); err != nil {
		t.Error(err)
	}
	must(t, dev.Close())
}
