package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"

	"jmpi/dist/comm"
)

// fate is what happens to a rank of svdRuns: it is killed, or something is done beside it.
type fate struct {
	Rank  int
	Call  int64  // it is killed before this collective call, the first being 1
	Count string // or the number of its collective calls is left in this file
	Step  string // at this step of publishing
	Put   string // this file is made, or without one the rank is killed
	File  uint64 // it may not write files beyond so many bytes
}

// arrange prepares it in the rank.
func (f fate) arrange(s *session) error {
	if s.comm.Rank() != f.Rank {
		return nil
	}
	if f.Call > 0 || f.Count != "" {
		s.comm = &mortal{Comm: s.comm, fate: f}
	}
	if f.Step != "" {
		s.step = func(name string) {
			switch {
			case name != f.Step:
			case f.Put == "":
				die()
			default:
				err := os.MkdirAll(filepath.Dir(f.Put), 0o777)
				if err == nil {
					err = os.WriteFile(f.Put, []byte("mine"), 0o666)
				}
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					die()
				}
			}
		}
	}
	if f.File > 0 {
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: f.File, Max: f.File})
	}
	return nil
}

// die ends this process as kill -9 does.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// mortal counts the collective calls.
type mortal struct {
	comm.Comm
	fate  fate
	calls atomic.Int64
}

func (m *mortal) count() {
	if m.calls.Add(1) == m.fate.Call {
		die()
	}
}

func (m *mortal) AllreduceSum(x []int64) error {
	m.count()
	return m.Comm.AllreduceSum(x)
}

func (m *mortal) AllreduceMax(x []int64) error {
	m.count()
	return m.Comm.AllreduceMax(x)
}

func (m *mortal) Allgather(b []byte) ([][]byte, error) {
	m.count()
	return m.Comm.Allgather(b)
}

func (m *mortal) Close() error {
	if m.fate.Count != "" {
		text := strconv.FormatInt(m.calls.Load(), 10)
		if err := os.WriteFile(m.fate.Count, []byte(text), 0o666); err != nil {
			return err
		}
	}
	return m.Comm.Close()
}
