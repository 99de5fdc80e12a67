package cpu

import (
	"jmpi/internal/parallel"
	"jmpi/kernels"
)

// each calls f(w, i) for i = 0 … tasks−1 on up to d.threads goroutines, w the workspace of the goroutine that
// runs it. Every task computes a piece of one problem in a fixed way, so it does not matter who runs it. It
// returns the error of the first task, by number, that failed.
func (d *device) each(tasks int, f func(w *workspace, i int) error) error {
	return parallel.Workers(d.threads, tasks, func(w, i int) error { return f(&d.work[w], i) })
}

// eachPiece calls f for groups of the columns of panel i, j0 ≤ j < j1, for all panels of a list. width says
// how many columns of a panel are a group. Panels without rows have none.
func (d *device) eachPiece(list []kernels.Panel, width func(kernels.Panel) int, f func(i, j0, j1 int)) error {
	type piece struct{ i, j0, j1 int }
	var pieces []piece
	for i, p := range list {
		w := width(p)
		for j := 0; j < p.N && p.M > 0; j += w {
			pieces = append(pieces, piece{i, j, min(j+w, p.N)})
		}
	}
	return d.each(len(pieces), func(_ *workspace, k int) error {
		f(pieces[k].i, pieces[k].j0, pieces[k].j1)
		return nil
	})
}

// pieceRows is the number of rows of a task that goes through all columns of a panel.
const pieceRows = 512

// eachRows calls f for groups of so many of m rows, i0 ≤ i < i1.
func (d *device) eachRows(m, group int, f func(w *workspace, i0, i1 int) error) error {
	return d.each((m+group-1)/group, func(w *workspace, i int) error {
		return f(w, i*group, min((i+1)*group, m))
	})
}
