package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"jmpi/dist/comm"
	"jmpi/internal/matio"
)

// mover moves pieces to or from a file, and adds up their sums.
type mover struct {
	*file
	at func(raw []byte, at int64) error // reads or writes

	mu  sync.Mutex
	sum matio.Sum
}

// move is a Move.
func (m *mover) move(first int, raw []byte) error {
	at := m.offset(first)
	if err := m.at(raw, at); err != nil {
		return err
	}
	var sum matio.Sum
	for i := first; len(raw) > 0; i++ {
		if i >= m.Count || m.size(i) > int64(len(raw)) {
			return fmt.Errorf("%s: a part of a piece", m.At)
		}
		if n := m.size(i); n > 0 {
			sum = sum.Plus(matio.SumOf(at, raw[:n]))
			at, raw = at+n, raw[n:]
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum = m.sum.Plus(sum)
	return nil
}

// write writes this rank's pieces of an array, and waits until they are on the disk. It returns their sum.
func (j *Journal) write(f *file) (sum matio.Sum, err error) {
	if f.Shared && j.comm.Rank() != 0 {
		return sum, nil
	}
	opened, err := openPastCache(filepath.Join(j.Dir, f.At))
	if err != nil {
		return sum, err
	}
	m := mover{file: f, at: func(raw []byte, at int64) error {
		if j.givenUp.Load() {
			return errGivenUp
		}
		return opened.WriteAt(raw, at)
	}}
	if err = f.store.Store(m.move); err == nil {
		err = opened.Sync()
	}
	return m.sum, errors.Join(err, opened.Close())
}

// read reads what this rank needs of an array, and compares the sum of all that the ranks have read with that
// of the file. It is collective.
func (j *Journal) read(f *file, load func(Move) error) error {
	opened, err := os.Open(filepath.Join(j.Dir, f.At))
	m := mover{file: f, at: func(raw []byte, at int64) error {
		_, err := opened.ReadAt(raw, at)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}}
	if err == nil {
		err = errors.Join(load(m.move), opened.Close())
	}
	if err := comm.Agree(j.comm, comm.BadInput, j.damaged(err)); err != nil {
		return err
	}
	if !f.Shared {
		words := make([]int64, len(m.sum))
		for i, w := range m.sum {
			words[i] = int64(w)
		}
		if err := j.comm.AllreduceSum(words); err != nil {
			return err
		}
		for i, w := range words {
			m.sum[i] = uint64(w)
		}
	}
	if m.sum != f.Sum {
		return fmt.Errorf("%s is damaged: its checksum differs", f.At)
	}
	return nil
}

// damaged says what to do about a checkpoint that cannot be read.
func (j *Journal) damaged(err error) error {
	if err == nil {
		return nil
	}
	var known *comm.Failure
	if errors.As(err, &known) {
		return err
	}
	return fmt.Errorf("the checkpoint in %s cannot be read: %w; delete the folder and begin anew", j.Dir, err)
}
