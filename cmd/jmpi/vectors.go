package main

import (
	"errors"
	"sync"
	"time"

	"jmpi/dist"
	"jmpi/dist/comm"
	"jmpi/internal/matio"
	"jmpi/internal/parallel"
	"jmpi/internal/results"
)

// vectorFiles are the files of singular vectors, open on every rank; nil for what is not wanted.
type vectorFiles struct {
	u, v *matio.Writer

	mu  sync.Mutex
	err error // the first error of this rank
}

// keep keeps an error if it is the first.
func (w *vectorFiles) keep(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

// failed tells whether there was an error.
func (w *vectorFiles) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err != nil
}

// open opens the files, which rank 0 has made, for so many vectors.
func (w *vectorFiles) open(s *session, p problem, count int64, folder *results.Folder) {
	if p.wantsU() {
		w.u, w.err = s.openResult(folder, "U", p.file.Rows, count)
	}
	if p.wantsV() && w.err == nil {
		w.v, w.err = s.openResult(folder, "V", p.file.Cols, count)
	}
}

// each does something with the files that are open, both at a time, and keeps the first error.
func (w *vectorFiles) each(do func(*matio.Writer) error) {
	files := []*matio.Writer{w.u, w.v}
	parallel.Do(len(files), len(files), func(i int) {
		if files[i] != nil {
			w.keep(do(files[i]))
		}
	})
}

// part returns what writes a part of a matrix to a file, nil for no file. After an error it drops the rest,
// so that the ranks stay together until they agree.
func (w *vectorFiles) part(f *matio.Writer) func(dist.Part) error {
	if f == nil {
		return nil
	}
	return func(p dist.Part) error {
		if !w.failed() {
			w.keep(f.WritePart(int64(p.Row), int64(p.Column), int64(p.M), int64(p.N), p.Data, max(1, p.Ld)))
		}
		return nil
	}
}

// writeVectors writes the vectors of this rank and waits until they are on the disk. It returns the seconds
// of waiting, and as failure, known to all ranks, why the files are not complete. It is collective.
func (s *session) writeVectors(p problem, d *dist.Decomposition, folder *results.Folder) (
	sync float64, failure, err error) {
	var w vectorFiles
	w.open(s, p, int64(d.Count), folder)
	if failure = comm.Agree(s.comm, comm.BadResource, w.err); failure == nil {
		left, right := w.part(w.u), w.part(w.v)
		if p.wide {
			left, right = right, left
		}
		failure = d.Vectors(left, right)
	}
	written := time.Now()
	w.each((*matio.Writer).Sync)
	sync = time.Since(written).Seconds()
	w.each((*matio.Writer).Close)
	if failure == nil {
		failure = comm.Agree(s.comm, comm.BadResource, w.err)
	}
	if known := (*comm.Failure)(nil); failure != nil && !errors.As(failure, &known) {
		return sync, nil, failure
	}
	return sync, failure, nil
}
