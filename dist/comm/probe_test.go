package comm_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"jmpi/dist/comm"
	"jmpi/dist/comm/commtest"
)

func TestMPIProbe(t *testing.T) {
	if testing.Short() {
		t.Skip("the ranks must meet within 300 ms, which they may not do with the race detector")
	}
	for _, n := range []int{2, 3} {
		t.Run(fmt.Sprintf("ranks=%d", n), func(t *testing.T) { passes(t, n, "TestMPIRankProbe") })
	}
}

// TestMPIRankProbe lets MPI follow addresses that it may, and some that it may not: the job goes on. MPICH
// does not always go on after a fault; a library other than Open MPI must not claim to take device memory, so
// that nobody probes it.
func TestMPIRankProbe(t *testing.T) {
	c := rank(t)
	if !strings.Contains(c.Library(), "Open MPI") {
		if library(c).ClaimsDevices() {
			t.Errorf("%s claims to take device memory", c.Library())
		}
		return
	}
	if err := c.AllreduceSum([]int64{1}); err != nil { // all are there
		t.Fatal(err)
	}
	const nowhere = 0x10
	right, left := (c.Rank()+1)%c.Size(), (c.Rank()-1+c.Size())%c.Size()
	b := block(t, 2<<20)
	copy(b.Bytes, fmt.Sprint("from rank ", c.Rank()))
	for _, n := range []int64{16, 1 << 20} {
		if err := library(c).Probe(b.Address(0), right, b.Address(1<<20), left, n); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint("from rank ", left); !bytes.HasPrefix(b.Bytes[1<<20:], []byte(want)) {
			t.Errorf("%q arrived, want %q", b.Bytes[1<<20:][:16], want)
		}
	}

	defer comm.SetProbeLimit(300 * time.Millisecond)()
	for range 3 {
		err := library(c).Probe(nowhere, c.Rank(), b.Address(0), c.Rank(), 8)
		if err == nil || !strings.Contains(err.Error(), "segmentation fault") {
			t.Fatalf("address %#x: error %v", nowhere, err)
		}
		panicIsRecovered(t)
	}
	t.Run("after a fault", func(t *testing.T) { commtest.Run(t, c) })
	if t.Failed() {
		return
	}

	// One rank crashes, the one that waits for it does not wait for ever. Go's own faults reach Go meanwhile.
	send, want := b.Address(0), ""
	switch c.Rank() {
	case 0:
		send, want = nowhere, "segmentation fault"
	case 1:
		want = "no message within 300ms"
	}
	var meanwhile sync.WaitGroup
	meanwhile.Go(func() {
		for range 100 {
			panicIsRecovered(t)
			time.Sleep(time.Millisecond)
		}
	})
	err := library(c).Probe(send, right, b.Address(1<<20), left, 8)
	meanwhile.Wait()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("rank %d: error %v, want %q", c.Rank(), err, want)
	}
	t.Run("after a fault of one rank", func(t *testing.T) { commtest.Run(t, c) })
}

// panicIsRecovered checks that a fault in Go is a panic.
func panicIsRecovered(t *testing.T) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	var nowhere *commtest.Block
	_ = nowhere.Bytes[0]
}

func TestMPIFlags(t *testing.T) { passes(t, 1, "TestMPIRankFlags") }

// TestMPIRankFlags reads control variables: Open MPI checks arguments by default; a variable that
// is not there is none.
func TestMPIRankFlags(t *testing.T) {
	c := rank(t)
	if !strings.Contains(c.Library(), "Open MPI") {
		t.Skip("the variables are Open MPI's")
	}
	for name, want := range map[string]int{"mpi_param_check": 1, "mpi_yield_when_idle": 0,
		"mpi_no_such_variable": -1} {
		var got int
		if err := library(c).Do(func() error { got = comm.RawFlag(name); return nil }); err != nil || got != want {
			t.Errorf("%s = %d, want %d; error %v", name, got, want, err)
		}
	}
}
