package cpu

import (
	"fmt"

	"jmpi/internal/parallel"
)

// each calls f(w, i) for i = 0 … tasks−1 on up to d.threads goroutines, w the workspace of the goroutine that
// runs it. Every task computes a piece of one problem in a fixed way, so it does not matter who runs it. It
// returns the error of the first task, by number, that failed. A panic in a task is an error: devices are
// called from many goroutines, which have nobody to hand it to.
func (d *device) each(tasks int, f func(w *workspace, i int) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return parallel.Workers(d.threads, tasks, func(w, i int) error { return f(&d.work[w], i) })
}
