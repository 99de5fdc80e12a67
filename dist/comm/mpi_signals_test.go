package comm_test

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"unsafe"

	"jmpi/dist/comm"
)

// action is the kernel's struct sigaction of 64-bit Linux: the handler, the flags, and what is left to it.
type action [4]uint64

const (
	handler = 0
	flags   = 1
	onStack = 0x08000000 // SA_ONSTACK
)

// exchangeAction returns the action of s, and sets another one if there is one.
func exchangeAction(t *testing.T, s syscall.Signal, set *action) (before action) {
	t.Helper()
	if _, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(set)),
		uintptr(unsafe.Pointer(&before)), 8, 0, 0); e != 0 {
		t.Fatalf("sigaction of signal %d: %v", s, e)
	}
	return before
}

// allActions are the actions of signals that have a handler.
func allActions(t *testing.T) map[syscall.Signal]action {
	all := map[syscall.Signal]action{}
	for s := syscall.Signal(1); s < 65; s++ {
		if a := exchangeAction(t, s, nil); a[handler] > 1 {
			all[s] = a
		}
	}
	return all
}

// A library that takes signals over while it starts does not keep them.
func TestKeepSignals(t *testing.T) {
	before := allActions(t)
	if len(before) < 20 {
		t.Fatalf("Go has handlers of %d signals alone", len(before))
	}
	taken := []syscall.Signal{syscall.SIGSEGV, syscall.SIGUSR1, syscall.SIGUSR2}
	comm.KeepSignals(func() {
		for _, s := range taken {
			other := before[s]
			other[flags] &^= onStack
			exchangeAction(t, s, &other)
		}
	})
	for s, a := range before {
		if now := exchangeAction(t, s, nil); now != a {
			t.Errorf("signal %d: handler and flags are %x, were %x", s, now, a)
		}
	}
}

func TestMPISignals(t *testing.T) { passes(t, 2, "TestMPIRankSignals") }

// After MPI has started every handler runs on the stack for signals, and a signal reaches Go. MPICH takes
// SIGUSR1 (make test-mpich runs this test under it).
func TestMPIRankSignals(t *testing.T) {
	rank(t)
	for s, a := range allActions(t) {
		if a[flags]&onStack == 0 {
			t.Errorf("the handler of signal %d runs on any stack", s)
		}
	}
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGUSR1)
	defer signal.Stop(caught)
	for range 1000 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		if s := <-caught; s != syscall.SIGUSR1 {
			t.Fatalf("got %v", s)
		}
	}
}
