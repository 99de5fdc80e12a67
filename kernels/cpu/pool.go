package cpu

import "jmpi/internal/parallel"

// each calls f(w, i) for i = 0 … tasks−1 on up to d.threads goroutines, w the workspace of the goroutine that
// runs it. Every task computes a piece of one problem in a fixed way, so it does not matter who runs it. It
// returns the error of the first task, by number, that failed.
func (d *device) each(tasks int, f func(w *workspace, i int) error) error {
	return parallel.Workers(d.threads, tasks, func(w, i int) error { return f(&d.work[w], i) })
}
