package comm_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jmpi/dist/comm"
	"jmpi/dist/comm/commtest"
)

// The tests named TestMPIRank… are what a rank does. Those named TestMPI… start them under mpirun; one
// alone is run by
//
//	go test -c ./dist/comm && JMPI_TEST_UNDER_MPIRUN=1 mpirun -np 2 ./comm.test -test.run TestMPIRankComm

// rank returns this process's rank, or skips the test outside of mpirun.
func rank(t testing.TB) comm.Comm {
	t.Helper()
	if commtest.World() == nil {
		t.Skip("what a rank does; TestMPI… starts it under mpirun")
	}
	return commtest.World()
}

var passes = commtest.Passes

// library is what MPI offers for device memory.
func library(c comm.Comm) comm.DeviceMemory { return c.(comm.DeviceMemory) }

func TestMPI(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4} {
		t.Run(fmt.Sprintf("ranks=%d", n), func(t *testing.T) { passes(t, n, "TestMPIRankComm") })
	}
}

func TestMPIRankComm(t *testing.T) {
	c := rank(t)
	t.Run("whole", func(t *testing.T) { commtest.Run(t, c) })
	if t.Failed() {
		return
	}
	t.Run("pieces", func(t *testing.T) {
		defer comm.SetPieceBytes(1 << 10)()
		commtest.Run(t, c)
	})
	if t.Failed() {
		return
	}
	if err := gatherTooMuch(t)(c); err != nil {
		t.Error(err)
	}
	if _, err := comm.StartMPI(); err == nil {
		t.Error("MPI starts twice")
	}
	var threads [2]int
	for i := range threads {
		if err := library(c).Do(func() error { threads[i] = unix.Gettid(); return nil }); err != nil {
			t.Error(err)
		}
	}
	if threads[0] != threads[1] || threads[0] == unix.Gettid() {
		t.Errorf("Do runs on threads %v, the test on %d", threads, unix.Gettid())
	}
}

func TestMPIWrongLengthIsAnErrorOfTheReceiver(t *testing.T) { passes(t, 2, "TestMPIRankWrongLength") }

func TestMPIRankWrongLength(t *testing.T) {
	c := rank(t)
	b := block(t, 1<<20)
	for _, length := range []struct{ sent, expected int64 }{{8, 16}, {16, 8}, {1 << 20, 1<<20 - 1}} {
		if c.Rank() == 0 {
			if err := c.Isend(b.Address(0), length.sent, 1, 5).Wait(); err != nil {
				t.Errorf("send: %v", err)
			}
		} else {
			err := c.Irecv(b.Address(0), length.expected, 0, 5).Wait()
			wantCommError(t, err, comm.CommError{Op: "receive", Rank: 1, Peer: 0, Tag: 5})
		}
	}
}

// fails runs the test `name` on n ranks, which must end within seconds with an exit code that is not 0.
func fails(t *testing.T, n int, name string, variables ...string) (code int, output string) {
	t.Helper()
	start := time.Now()
	code, output = commtest.MPIRun(t, n, "-test.run=^"+name+"$", variables...)
	if code == 0 {
		t.Errorf("%s: exit code 0\n%s", name, output)
	}
	if d := time.Since(start); d > 15*time.Second {
		t.Errorf("%s: it took %v to end", name, d)
	}
	return code, output
}

func TestMPIKilledRankEndsTheJob(t *testing.T) { fails(t, 3, "TestMPIRankKilled") }

func TestMPIRankKilled(t *testing.T) {
	c := rank(t)
	if c.Rank() == 1 {
		if err := unix.Kill(os.Getpid(), unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the missing rank sent a message: ", c.Irecv(block(t, 1).Address(0), 1, 1, 1).Wait())
}

func TestMPIAbortEndsTheJobWithItsCode(t *testing.T) {
	if code, output := fails(t, 3, "TestMPIRankAbort"); code != 7 || !strings.Contains(output, "last word") {
		t.Errorf("exit code %d, want 7 after a last word\n%s", code, output)
	}
}

func TestMPIRankAbort(t *testing.T) {
	c := rank(t)
	if c.Rank() == 2 {
		c.Irecv(block(t, 1).Address(0), 1, 0, 1) // nothing that is under way holds Abort up
		fmt.Println("last word")
		c.Abort(7)
	}
	t.Fatal("the missing rank took part: ", c.AllreduceSum([]int64{1}))
}

func TestMPIFailedTestOfOneRankEndsTheJob(t *testing.T) {
	if _, output := fails(t, 2, "TestMPIRankFails"); !strings.Contains(output, "on purpose") {
		t.Errorf("the reason is not in the output:\n%s", output)
	}
}

func TestMPIRankFails(t *testing.T) {
	c := rank(t)
	if c.Rank() == 0 {
		t.Fatal("on purpose")
	}
	t.Fatal("the failed rank took part: ", c.AllreduceSum([]int64{1}))
}

// After Close collective calls fail, also where a rank is alone and needs no MPI for them.
func TestCollectivesAfterClose(t *testing.T) {
	closed := errors.New("closed")
	for _, size := range []int{1, 2} {
		c := comm.Closed(size, closed)
		_, bcast := c.Bcast([]byte{1}, 0)
		_, gather := c.Allgather([]byte{1})
		for what, err := range map[string]error{"sum": c.AllreduceSum([]int64{1}),
			"maximum": c.AllreduceMax([]int64{1}), "broadcast": bcast, "gather": gather} {
			if !errors.Is(err, closed) {
				t.Errorf("%d ranks: %s after Close: error %v", size, what, err)
			}
		}
	}
}

func TestMPICloseTellsMessagesUnderWay(t *testing.T) {
	_, output := fails(t, 2, "TestMPIRankUnmatched")
	if !regexp.MustCompile(`rank \d: close: 1 messages of this rank are under way`).MatchString(output) {
		t.Errorf("the reason is not in the output:\n%s", output)
	}
}

func TestMPIRankUnmatched(t *testing.T) {
	c := rank(t)
	b, err := commtest.NewBlock(1) // not freed: the message is never received
	if err != nil {
		t.Fatal(err)
	}
	c.Irecv(b.Address(0), 1, 1-c.Rank(), 1)
}

// MPI libraries install signal handlers; Go's own must survive them.
func TestMPIPanicsCanBeRecovered(t *testing.T) { passes(t, 1, "TestMPIRankRecovers") }

func TestMPIRankRecovers(t *testing.T) {
	rank(t)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	var nowhere *commtest.Block
	t.Log(nowhere.Bytes)
}

func TestMPIWaitingLeavesTheCore(t *testing.T) { passes(t, 2, "TestMPIRankWaits") }

// TestMPIRankWaits lets rank 0 wait for a late message, and in a collective call, and looks at its
// processor time.
func TestMPIRankWaits(t *testing.T) {
	c := rank(t)
	defer comm.SetSpinCores(1 << 20)()
	const late = 500 * time.Millisecond
	b := block(t, 8<<20)
	waits := map[string]func() error{
		"message":   func() error { return c.Irecv(b.Address(0), b.Len(), 1, 1).Wait() },
		"allreduce": func() error { return c.AllreduceSum([]int64{1}) },
		"nothing":   func() error { time.Sleep(late); return nil },
	}
	comes := map[string]func() error{
		"message":   func() error { return c.Isend(b.Address(0), b.Len(), 0, 1).Wait() },
		"allreduce": waits["allreduce"],
		"nothing":   func() error { return nil },
	}
	wait := func(name string) (used time.Duration) {
		if c.Rank() == 1 {
			time.Sleep(late)
			if err := comes[name](); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return 0
		}
		before := processorTime(t)
		if err := waits[name](); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		used = processorTime(t) - before
		t.Logf("%s: %v of processor time in %v", name, used, late)
		return used
	}
	for _, name := range []string{"message", "nothing"} {
		if wait(name) > late/5 {
			t.Errorf("%s: more than a fifth", name)
		}
	}
	library(c).Spin(true) // too few cores for it
	if wait("allreduce") > late/5 {
		t.Error("a rank without cores to spare spins")
	}
	defer comm.SetSpinCores(1)()
	library(c).Spin(true)
	if used := wait("message"); c.Rank() == 0 && used < late/4 {
		t.Errorf("spinning takes %v in %v", used, late)
	}
	t.Run("spinning", func(t *testing.T) { commtest.Run(t, c) })
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// TestMPIBeyondTwoGiB needs 5 GiB of memory, so it runs only where JMPI_TEST_BIG is set.
func TestMPIBeyondTwoGiB(t *testing.T) {
	if os.Getenv("JMPI_TEST_BIG") == "" {
		t.Skip("set JMPI_TEST_BIG=1 for a message of 2.3 GiB between 2 ranks (5 GiB of memory)")
	}
	passes(t, 2, "TestMPIRankBig")
}

func TestMPIRankBig(t *testing.T) {
	c := rank(t)
	const n, stride = 2<<30 + 300<<20 + 5, 4093
	b := block(t, n)
	if c.Rank() == 0 {
		for i := 0; i < n; i += stride {
			b.Bytes[i] = byte(i / stride % 251)
		}
		if err := c.Isend(b.Address(0), n, 1, 1).Wait(); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := c.Irecv(b.Address(0), n, 0, 1).Wait(); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < n; i += stride {
		if b.Bytes[i] != byte(i/stride%251) {
			t.Fatalf("byte %d of %d is wrong", i, n)
		}
	}
}

// BenchmarkMPIRing passes blocks around the ring of all ranks; the speed is of one direction of one rank:
//
//	go test -c ./dist/comm
//	JMPI_TEST_UNDER_MPIRUN=1 mpirun -np 2 ./comm.test -test.run '^$' -test.bench MPI -test.benchtime 30x
//
// The number of rounds must be given (…x), so that all ranks run the same.
func BenchmarkMPIRing(b *testing.B) {
	c := rank(b)
	left, right := (c.Rank()-1+c.Size())%c.Size(), (c.Rank()+1)%c.Size()
	for _, n := range []int{8, 64 << 10, 1 << 20, 64 << 20} {
		b.Run(fmt.Sprintf("bytes=%d", n), func(b *testing.B) {
			send, receive := block(b, n), block(b, n)
			for i := range send.Bytes {
				send.Bytes[i], receive.Bytes[i] = byte(i), 1
			}
			b.SetBytes(int64(n))
			b.ResetTimer()
			for range b.N {
				r := c.Irecv(receive.Address(0), int64(n), left, 1)
				s := c.Isend(send.Address(0), int64(n), right, 1)
				if err := r.Wait(); err != nil {
					b.Fatal(err)
				}
				if err := s.Wait(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMPIAllreduce(b *testing.B) {
	c := rank(b)
	for range b.N {
		if err := c.AllreduceSum([]int64{1, 2}); err != nil {
			b.Fatal(err)
		}
	}
}
