package measure

import (
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/dist/exchange"
	"jmpi/dist/jacobi"
	"jmpi/internal/rates"
	"jmpi/kernels"
)

// What is measured is all that a forecast needs: every part of it has a time.
func TestDevice(t *testing.T) {
	be := disttest.OpenHost(t, 1)
	r := &rates.Rates{Device: be.Describe().Name, Kind: "cpu", Threads: 1}
	const order = 256
	if err := Device(t.Context(), be, order, jacobi.Settings{Strategy: "rev-rowcyc"}, r); err != nil {
		t.Fatal(err)
	}
	if got := r.Order(); got < order || got > order+1 {
		t.Errorf("it has measured up to order %d", got)
	}
	for _, element := range []string{"float32", "float64"} {
		for _, part := range []string{"shorten", "inner", "postmultiply"} {
			c, measured := r.Batch(part, element, 64)
			if len(c) != 2 || measured != 64 || !(c[0].Seconds > 0) {
				t.Errorf("%s in %s of order %d: %v", part, element, measured, c)
			}
		}
	}
	for _, precondition := range []string{"none", "qrcp-lq"} {
		r.AddCourse(rates.Course{Kind: precondition, N: order, Precision: "float64", Precondition: precondition,
			V:      "solve",
			Double: rates.Shares{1, 0.5}})
		r.AddCourse(rates.Course{Kind: precondition, N: order, Precision: rates.Ladder, Precondition: precondition,
			V: "refined", Single: rates.Shares{1, 0.5}, Refined: []rates.Refined{{What: "orthonormalize",
				Corrections: 1},
				{What: "multiply"}, {What: "pass", Order: 4}, {What: "verify"}}})
	}
	for _, kind := range []string{"none", "qrcp-lq"} {
		for _, ladder := range []bool{false, true} {
			b := rates.Blocks{Columns: 8, Pieces: 4}
			f, err := r.Forecast(rates.Problem{M: order, N: order, Kind: kind, Ladder: ladder, Vectors: true,
				Single: b,
				Double: b, Machine: rates.Machine{Devices: 1, OnNode: 1, Phases: 1}})
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{false: 5, true: 6}[ladder]; len(f.Parts) != want {
				t.Errorf("%d parts of %s, in float32: %t", len(f.Parts), kind, ladder)
			}
			for _, p := range f.Parts {
				if !(p.Seconds > 0) {
					t.Errorf("%s of %s takes %g s", p.Name, kind, p.Seconds)
				}
			}
		}
	}
}

// One device has no links. Two ranks have one, and both know the same of it.
func TestLinks(t *testing.T) {
	alone := []kernels.Backend{disttest.OpenHost(t, 1)}
	if links, err := Links(comm.NewLocal(1)[0], alone, exchange.Transport{}); err != nil || len(links) != 0 {
		t.Errorf("%v, %v", links, err)
	}
	var wg sync.WaitGroup
	var all [2]map[string]rates.Link
	for rank, world := range comm.NewLocal(2) {
		devices := []kernels.Backend{disttest.OpenHost(t, 1)}
		wg.Go(func() {
			var err error
			if all[rank], err = Links(world, devices, exchange.Transport{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if l := all[0]["host"]; !(l.BytesPerSecond > 0 && l.Latency >= 0) || l != all[1]["host"] {
		t.Errorf("%v and %v", all[0], all[1])
	}
}
