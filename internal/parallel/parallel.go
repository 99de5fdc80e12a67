// Package parallel is the loop on several threads that all packages share.
//
// What goes wrong in an iteration is never lost. An error is returned. A panic is a fault of the program. It
// goes on in the goroutine that called the loop, as a *Panic. A goroutine for which nobody waits runs in
// Guard. Otherwise a panic would end the process without a word of ours, or leave a part of the work undone.
package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Panic is what an iteration panicked with. The loop panics with it in turn.
type Panic struct {
	Value any
	Stack []byte // of the iteration
}

func (p *Panic) Error() string { return fmt.Sprintf("internal error: %v", p.Value) }

// Unwrap returns the value if it was an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// recovered returns the Panic of a value that was recovered. One of a loop inside stays as it is.
func recovered(p any) *Panic {
	if known, ok := p.(*Panic); ok {
		return known
	}
	return &Panic{p, debug.Stack()}
}

// Fault is for tests alone. Workers and Guard call it with their function. Before each call of that function
// they call what it returns, unless it is nil.
var Fault func(f any) (before func())

// fault returns what comes before each call of f.
func fault(f any) (before func()) {
	if Fault != nil {
		before = Fault(f)
	}
	if before == nil {
		before = func() {}
	}
	return before
}

// Guard calls f. It calls lost with the panic of f, if there is one. "go parallel.Guard(f, lost)" starts a
// goroutine for which nobody waits: lost must end what waits for its work.
func Guard(f func(), lost func(error)) {
	defer func() {
		if p := recover(); p != nil {
			lost(recovered(p))
		}
	}()
	fault(f)()
	f()
}

// Workers calls f(w, i) for 0 ≤ i < tasks on up to `threads` goroutines, numbered by w, of which the
// caller's is number 0. When a call fails no more are begun on its goroutine. It returns the error of the
// first task, by number, that failed.
func Workers(threads, tasks int, f func(w, i int) error) error {
	return workers(threads, tasks, f, func(work func()) { go work() }, 0)
}

// workers is Workers with goroutines that start has. The caller waits for tasks, not for goroutines: one that
// comes when all tasks have been begun finds nothing to do. It waits awake for some time.
func workers(threads, tasks int, f func(w, i int) error, start func(work func()), awake time.Duration) error {
	count := min(max(1, threads), tasks)
	if count <= 0 {
		return nil
	}
	type failure struct {
		task  int
		err   error
		panic *Panic
	}
	before := fault(f)
	var begun, done atomic.Int64
	all := make(chan struct{})
	failures := make([]failure, count)
	call := func(w, i int) (ok bool) {
		defer func() {
			if p := recover(); p != nil {
				failures[w] = failure{task: i, panic: recovered(p)}
			}
			if done.Add(1) == int64(tasks) {
				close(all)
			}
		}()
		before()
		err := f(w, i)
		failures[w] = failure{task: i, err: err}
		return err == nil
	}
	run := func(w int) (ok bool) {
		for i := int(begun.Add(1)) - 1; i < tasks; i = int(begun.Add(1)) - 1 {
			if !call(w, i) {
				return false
			}
		}
		return true
	}
	var others sync.WaitGroup
	for w := 1; w < count; w++ {
		others.Add(1)
		start(func() {
			defer others.Done()
			run(w)
		})
	}
	if run(0) {
		if !spin(awake, func() bool { return done.Load() == int64(tasks) }) {
			<-all
		}
	} else { // others do what is left, if they do not fail too
		others.Wait()
	}
	var first *failure
	for w := range failures {
		x := &failures[w]
		if x.panic != nil {
			panic(x.panic)
		}
		if x.err != nil && (first == nil || x.task < first.task) {
			first = x
		}
	}
	if first == nil {
		return nil
	}
	return first.err
}

// Each calls f(i) for 0 ≤ i < tasks on up to `threads` goroutines, see Workers.
func Each(threads, tasks int, f func(i int) error) error {
	return Workers(threads, tasks, func(_, i int) error { return f(i) })
}

// Chunks calls f on ranges lo ≤ i < hi of up to `chunk` numbers that cover 0 ≤ i < n, on all cores. What f
// does for an i must not depend on the range.
func Chunks(n, chunk int, f func(lo, hi int)) {
	Do(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk, func(c int) { f(c*chunk, min((c+1)*chunk, n)) })
}

// All calls f(i) for 0 ≤ i < n on all cores, `chunk` of them at a time.
func All(n, chunk int, f func(i int)) {
	Chunks(n, chunk, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			f(i)
		}
	})
}

// Do calls f(i) for 0 ≤ i < tasks on up to `threads` goroutines. f has no errors.
func Do(threads, tasks int, f func(i int)) {
	err := Workers(threads, tasks, func(_, i int) error {
		f(i)
		return nil
	})
	if err != nil {
		panic(err) // none of the calls returns one
	}
}
