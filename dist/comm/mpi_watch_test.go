package comm_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jmpi/dist/comm"
)

// watch lets the ranks watch each other. A lost one ends the job with exit code 6.
func watch(t *testing.T, c comm.Comm, silence time.Duration) {
	t.Helper()
	err := c.(comm.Watcher).Watch(silence, func(err error) {
		fmt.Println("lost:", err)
		c.Abort(6)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// stopVariable says which rank stops itself.
const stopVariable = "JMPI_TEST_STOPS"

func TestMPIStoppedRankEndsTheJob(t *testing.T) {
	for _, name := range []string{"TestMPIRankStoppedWhileOthersWait", "TestMPIRankStoppedBeforeClose"} {
		for _, stops := range []string{"0", "2"} {
			code, output := fails(t, 3, name, stopVariable+"="+stops)
			want := fmt.Sprintf("lost: rank %s on host ", stops)
			if code != 6 || strings.Count(output, "lost: ") != 1 || !strings.Contains(output, want) {
				t.Errorf("%s: exit code %d, want 6 and one line %q\n%s", name, code, want, output)
			}
		}
	}
}

func TestMPIRankStoppedWhileOthersWait(t *testing.T) {
	c := rank(t)
	watch(t, c, 2*time.Second)
	stopIfAsked(t, c)
	x := []int64{1}
	t.Fatal("the missing rank took part in an Allreduce: ", c.AllreduceSum(x), x)
}

// The rank stops while the others are in Close.
func TestMPIRankStoppedBeforeClose(t *testing.T) {
	c := rank(t)
	watch(t, c, 2*time.Second)
	stopIfAsked(t, c)
}

func stopIfAsked(t *testing.T, c comm.Comm) {
	t.Helper()
	if os.Getenv(stopVariable) != fmt.Sprint(c.Rank()) {
		return
	}
	time.Sleep(200 * time.Millisecond) // the others are where they wait
	if err := unix.Kill(os.Getpid(), unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

func TestMPISuspendedJobGoesOn(t *testing.T) { passes(t, 3, "TestMPIRankSuspended") }

// All ranks are stopped for longer than silence is allowed, as by the scheduler of a cluster, and go on.
func TestMPIRankSuspended(t *testing.T) {
	c := rank(t)
	watch(t, c, time.Second)
	for range 2 {
		alarm := exec.Command("sh", "-c", fmt.Sprintf("sleep 2; kill -CONT %d", os.Getpid()))
		if err := alarm.Start(); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		if err := unix.Kill(os.Getpid(), unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if err := alarm.Wait(); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(before); d < 1500*time.Millisecond {
			t.Fatalf("the rank was stopped for %v only", d)
		}
		time.Sleep(time.Second) // the watch sees that time has passed
		if err := c.AllreduceSum([]int64{1}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMPIBusyRanksAreNotSilent(t *testing.T) { passes(t, 4, "TestMPIRankBusy") }

// Ranks that compute, collect garbage or wait for longer than silence is allowed send beats.
func TestMPIRankBusy(t *testing.T) {
	c := rank(t)
	const silence, busy = 4 * time.Second, 6 * time.Second
	watch(t, c, silence)
	end := time.Now().Add(busy)
	if c.Rank() == 0 {
		time.Sleep(busy)
	}
	var workers sync.WaitGroup
	for range 2 * runtime.NumCPU() {
		workers.Go(func() {
			for sum := 0; time.Now().Before(end); sum++ {
				if sum%1000 == 0 {
					runtime.GC()
				}
			}
		})
	}
	workers.Wait()
	if err := c.AllreduceSum([]int64{1}); err != nil {
		t.Fatal(err)
	}
}

func TestMPIWatchTwiceIsAnError(t *testing.T) { passes(t, 2, "TestMPIRankWatchTwice") }

func TestMPIRankWatchTwice(t *testing.T) {
	c := rank(t)
	watch(t, c, 0) // none
	watch(t, c, time.Minute)
	err := c.(comm.Watcher).Watch(time.Minute, func(error) {})
	wantCommError(t, err, comm.CommError{Op: "watch", Rank: c.Rank(), Peer: -1, Tag: -1})
}

func TestMPIRankThatDoesNotEndIsAnError(t *testing.T) { passes(t, 3, "TestMPIRankEndsLate") }

// Rank 1 ends the beats later than the others allow. Only rank 2 waits for it.
func TestMPIRankEndsLate(t *testing.T) {
	c := rank(t)
	watch(t, c, time.Second)
	stop := comm.EndBeats(c)
	if c.Rank() == 1 {
		time.Sleep(3 * time.Second)
	}
	err := library(c).Do(stop)
	var silent *comm.SilentError
	if c.Rank() != 2 && err != nil || c.Rank() == 2 && (!errors.As(err, &silent) || silent.Rank != 1) {
		t.Errorf("rank %d ends with the error %v", c.Rank(), err)
	}
}

func TestMPIRankThatEndsFirst(t *testing.T) { passes(t, 3, "TestMPIRankEndsFirst") }

// Rank 0 ends its beats while the others still send some. They hear its last beat among the others, and end
// too.
func TestMPIRankEndsFirst(t *testing.T) {
	c := rank(t)
	const silence = 4 * time.Second
	watch(t, c, silence)
	if c.Rank() != 0 {
		time.Sleep(silence / 2) // some beats
	}
	if err := library(c).Do(comm.EndBeats(c)); err != nil {
		t.Errorf("rank %d ends with the error %v", c.Rank(), err)
	}
}
