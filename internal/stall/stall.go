// Package stall keeps a Go program that calls C from standing still while it collects garbage.
//
// The run-time system of Go 1.26 and 1.27 can miss a thread that is about to enter C. The thread looks
// whether the world is to stop, and only then marks itself as being in a call (reentersyscall in
// runtime/proc.go). A collection that begins between the two waits for this thread. The monitor
// thread of the run-time system would find it 20 ms later. But the monitor sleeps while the world
// is being stopped: until the next timer of the program is due, or for 60 s if there is none.
// So the program stands still until the C function returns, for 60 s or, seldom, for 120 s.
//
// jmpi's thread for MPI waits in C until a call is made. In a rank without timers every collection may
// meet it. Prevent keeps a timer in the program. docs/decisions/021-go-collector.md has the measurements.
package stall

import (
	"sync"
	"time"
)

// period is the longest time that a collection stands still, beside the 20 ms of the monitor.
const period = 10 * time.Millisecond

// waiters are the goroutines that wait for the ticker. A timer for which nobody waits does not count, and a
// single goroutine does not wait while it is on its way back to it.
const waiters = 2

// Prevent keeps a ticker in the program from the first call on. It costs 0.5 % of a core that is idle
// otherwise.
func Prevent() { once.Do(start) }

var once sync.Once

func start() {
	ticks := time.Tick(period)
	for range waiters {
		go func() {
			for range ticks {
			}
		}()
	}
}
