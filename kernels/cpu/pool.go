package cpu

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// each calls f(w, i) for i = 0 … tasks−1 on up to d.threads goroutines, w the workspace of the goroutine
// that runs it. Every task computes a piece of one problem in a fixed way, so it does not matter who runs it.
// It returns the error of the first task, by number, that failed; a panic in a task is an error.
func (d *device) each(tasks int, f func(w *workspace, i int) error) error {
	var next atomic.Int64
	errs := make([]error, min(d.threads, tasks))
	at := make([]int, len(errs))
	var wg sync.WaitGroup
	run := func(thread int) {
		for i := int(next.Add(1)) - 1; i < tasks; i = int(next.Add(1)) - 1 {
			if err := protect(func() error { return f(&d.work[thread], i) }); err != nil {
				errs[thread], at[thread] = err, i
				return
			}
		}
	}
	for thread := 1; thread < len(errs); thread++ {
		wg.Go(func() { run(thread) })
	}
	if len(errs) > 0 {
		run(0)
	}
	wg.Wait()
	first := -1
	for t, err := range errs {
		if err != nil && (first < 0 || at[t] < at[first]) {
			first = t
		}
	}
	if first < 0 {
		return nil
	}
	return errs[first]
}

// protect calls f and turns a panic into an error.
func protect(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}
