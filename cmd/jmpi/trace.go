package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"jmpi/dist/comm"
	"jmpi/internal/trace"
)

// The spans of all ranks together, of which each keeps its share, and the least that one keeps. A span takes
// some 50 bytes of memory and 110 in the file.
const (
	allSpans   = 1 << 19
	leastSpans = 1 << 12
)

// spansOf is how many spans a rank keeps.
func spansOf(ranks int) int { return max(leastSpans, allSpans/ranks) }

// startTrace makes sure that the trace can be written later, and finds when it begins by the clock of this
// rank. It is collective.
func (s *session) startTrace(path string) error {
	if path == "" {
		return nil
	}
	var err error
	if s.comm.Rank() == 0 {
		err = writable(path)
	}
	if err := s.agree(comm.BadInput, err); err != nil {
		return err
	}
	offset, uncertain, err := comm.Offset(s.comm, s.spans.Now)
	if err != nil {
		return s.failed(err)
	}
	starts, err := comm.AllOf(s.comm, started.UnixNano()-offset) // by the clock of rank 0
	if err != nil {
		return s.failed(err)
	}
	s.traced = &tracing{path: path, zero: slices.Min(starts) + offset, uncertain: time.Duration(uncertain)}
	return nil
}

// tracing is what a trace needs besides the spans.
type tracing struct {
	path      string
	zero      int64 // the time of this rank's clock at which the trace begins
	uncertain time.Duration
}

// writable tells whether a file can be written, without writing it.
func writable(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; choose another name", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w; choose another folder", path, reason(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// recorder is what the solver records with, nil without --trace.
func (s *session) recorder() *trace.Recorder {
	if s.traced == nil {
		return nil
	}
	return s.spans
}

// writeTrace writes the trace of all ranks, one rank after the other, so that rank 0 never has more than that
// of one. It is collective.
func (s *session) writeTrace() error {
	if s.traced == nil {
		return nil
	}
	p := trace.Process{Rank: s.comm.Rank(), Host: host(), Devices: map[int]string{}, Zero: s.traced.zero,
		Uncertain: s.traced.uncertain}
	for i, d := range s.placed {
		if d.Rank == p.Rank {
			p.Devices[1+i] = fmt.Sprintf("device %d", i)
		}
	}
	mine, err := s.spans.Events(p)
	if err := s.agree(comm.BadResource, err); err != nil {
		return err
	}
	all := func(use func(rank int, events []byte) error) (err error) {
		for root := range s.comm.Size() {
			events, fault := s.comm.Bcast(mine, root)
			if fault != nil {
				return fault
			}
			if err == nil { // otherwise the ranks stay together
				err = use(root, events)
			}
		}
		return err
	}
	took := false
	if s.comm.Rank() == 0 {
		err = replaceBy(s.traced.path, func(f *os.File) error {
			took = true
			_, err := f.WriteString(trace.Head)
			err = errors.Join(err, all(func(rank int, events []byte) error {
				if rank > 0 {
					events = append([]byte(",\n"), events...)
				}
				_, err := f.Write(events)
				return err
			}))
			if err == nil {
				_, err = f.WriteString(trace.Tail)
			}
			return err
		})
	}
	if !took {
		err = errors.Join(err, all(func(int, []byte) error { return nil }))
	}
	if err := s.agree(comm.BadResource, err); err != nil {
		return err
	}
	s.log.Info().Str("file", s.traced.path).Int("left_out", s.spans.Dropped()).Msg("trace")
	return nil
}
