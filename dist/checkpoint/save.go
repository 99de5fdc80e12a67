package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"jmpi/dist/comm"
	"jmpi/internal/matio"
	"jmpi/internal/parallel"
)

// sumTag is that of the messages by which rank 0 learns that the others have written their part. Package
// exchange, whose messages are under way at the same time, has smaller ones.
const sumTag = 32767

// writing is a checkpoint that is being written, in a goroutine of its own.
type writing struct {
	before *writing      // this one begins when that is over; nil for none
	over   chan struct{} // closed at the end
	ended  atomic.Bool
	err    error // of this rank, at the end
	lost   error // a panic
	files  []*file
	sums   []matio.Sum // of this rank's pieces
	bytes  int64       // written by this rank, with those before since the last Wait
	count  int         // of checkpoints, the same
	took   float64     // seconds
	noted  bool        // the run knows that it is over
}

// end says that it is over.
func (w *writing) end() {
	w.ended.Store(true)
	close(w.over)
}

// follow waits until the one before is over, and returns its error.
func (w *writing) follow() (err error) {
	w.count = 1
	if b := w.before; b != nil {
		<-b.over
		if b.lost != nil {
			panic(b.lost)
		}
		w.bytes, w.count, err = b.bytes, b.count+1, b.err
	}
	w.before = nil // memory
	return err
}

// done tells whether it is over; nil is.
func (w *writing) done() bool { return w == nil || w.ended.Load() }

// Save writes a checkpoint of all stages so far beside what goes on, and with wait before it returns. One is
// written after the other. It is collective.
func (j *Journal) Save(wait bool) error {
	j.clock.kept, j.clock.sweeps, j.clock.saved = time.Now(), 0, true
	j.manifest.Generation++
	m := j.manifest
	m.Records = nil
	w := &writing{over: make(chan struct{}), before: j.writing}
	name := fmt.Sprintf("%06d", m.Generation)
	for _, r := range j.manifest.Records {
		for _, f := range r.Files {
			if f.At == "" {
				f.At = filepath.Join(name, r.Path+"."+f.Name)
				w.files = append(w.files, f)
			}
		}
		kept := *r
		kept.Files = slices.Clone(r.Files)
		m.Records = append(m.Records, &kept)
	}
	j.writing = w
	go parallel.Guard(func() {
		w.err = j.part(w, m, name, w.follow())
		w.end()
	}, func(err error) {
		w.lost = err
		w.end()
	})
	if wait {
		return j.Wait()
	}
	return nil
}

// errGivenUp ends the writing of a checkpoint that nobody needs.
var errGivenUp = errors.New("given up")

// GiveUp gives up what is still being written: the run has its results. Wait returns soon then, and the
// checkpoint before stays, unless all ranks have written their parts already. No Save may follow.
func (j *Journal) GiveUp() {
	if j != nil {
		j.givenUp.Store(true)
	}
}

// Held counts the time since a moment as time in which the run did nothing but keep something.
func (j *Journal) Held(since time.Time) {
	seconds := time.Since(since).Seconds()
	j.Written.Held += seconds
	j.Written.Longest = max(j.Written.Longest, seconds)
}

// Wait waits until nothing is being written, and frees what was kept for it. It is collective.
func (j *Journal) Wait() error {
	if j == nil || j.writing == nil {
		return nil
	}
	w := j.writing
	<-w.over
	if w.lost != nil {
		panic(w.lost)
	}
	j.writing = nil
	j.reap()
	if err := comm.Agree(j.comm, comm.BadResource, w.failure(j.Dir)); err != nil {
		return err
	}
	j.note(w)
	j.Written.Checkpoints += w.count
	j.Written.Bytes += w.bytes
	return nil
}

// note says, once, that a checkpoint is complete.
func (j *Journal) note(w *writing) {
	if w.noted || w.err != nil || w.lost != nil {
		return
	}
	w.noted = true
	j.clock.took = max(j.clock.took, w.took)
	if j.comm.Rank() == 0 && len(w.files) > 0 {
		j.Log.Info().Str("folder", j.Dir).Float64("seconds", math.Round(w.took*1e3)/1e3).Msg("checkpoint")
	}
}

// failure says what to do about an error of writing.
func (w *writing) failure(dir string) error {
	if w.err == nil || errors.Is(w.err, errGivenUp) {
		return nil
	}
	return fmt.Errorf("writing a checkpoint to %s: %w; the checkpoint before it is whole, if there was one",
		dir, w.err)
}

// step is called before each step of writing.
func (j *Journal) step(name string) {
	if j.Step != nil {
		j.Step(name)
	}
}

// part writes this rank's part, tells rank 0 of it, and on rank 0 makes the checkpoint the one of the folder.
// It does not if err says that the one before could not be written.
func (j *Journal) part(w *writing, m manifest, name string, err error) error {
	begin := time.Now()
	w.sums = make([]matio.Sum, len(w.files))
	if err == nil {
		err = j.writeFiles(w, name)
	}
	j.step("written")
	if j.comm.Rank() != 0 {
		return errors.Join(err, j.tell(w, err))
	}
	complete, e := j.hear(w, err)
	if err = errors.Join(err, e); err != nil || !complete {
		w.count--
		// What was written of it is not needed: the next run deletes what is still there.
		return errors.Join(err, os.RemoveAll(filepath.Join(j.Dir, name)))
	}
	if len(w.files) > 0 {
		if err := syncFolder(filepath.Join(j.Dir, name)); err != nil {
			return err
		}
	}
	j.step("manifest")
	if err := m.write(j.Dir); err != nil {
		return err
	}
	j.step("clear")
	w.took = time.Since(begin).Seconds()
	return m.clear(j.Dir, name) // other ranks may be at the next one
}

// writeFiles writes this rank's pieces of all arrays that are not on the disk yet.
func (j *Journal) writeFiles(w *writing, name string) error {
	if len(w.files) == 0 {
		return nil
	}
	j.step("folder")
	if err := os.Mkdir(filepath.Join(j.Dir, name), 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for i, f := range w.files {
		j.step("array")
		var err error
		if w.sums[i], err = j.write(f); err != nil {
			return err
		}
		w.bytes += f.offset(f.Count) / int64(j.comm.Size())
	}
	return nil
}

// What a rank tells of its part.
const (
	written = iota
	left    // given up
	broken
)

// words returns a message: whether all went well, and the sums.
func (w *writing) words() int { return 1 + 4*len(w.files) }

// tell tells rank 0 the sums of this rank's pieces, or that something failed.
func (j *Journal) tell(w *writing, failed error) error {
	message, err := comm.NewBuffer(8 * w.words())
	if err != nil {
		return err
	}
	defer comm.FreeBuffer(message)
	if message[0] = written; errors.Is(failed, errGivenUp) {
		message[0] = left
	} else if failed != nil {
		message[0] = broken
	}
	for i, sum := range w.sums {
		for k, word := range sum {
			binary.LittleEndian.PutUint64(message[8+32*i+8*k:], word)
		}
	}
	return j.comm.Isend(comm.HostAddress(message), int64(len(message)), 0, sumTag).Wait()
}

// hear adds the sums of all ranks to the files. It tells whether all have written their parts, and returns
// errGivenUp if one has given up.
func (j *Journal) hear(w *writing, failed error) (complete bool, err error) {
	sums := slices.Clone(w.sums)
	complete = failed == nil
	var gaveUp error
	message, err := comm.NewBuffer(8 * w.words())
	if err != nil {
		return false, err
	}
	defer comm.FreeBuffer(message)
	for rank := 1; rank < j.comm.Size(); rank++ {
		if err := j.comm.Irecv(comm.HostAddress(message), int64(len(message)), rank, sumTag).Wait(); err != nil {
			return false, err
		}
		complete = complete && message[0] == written
		if message[0] == left {
			gaveUp = errGivenUp
		}
		for i := range sums {
			var sum matio.Sum
			for k := range sum {
				sum[k] = binary.LittleEndian.Uint64(message[8+32*i+8*k:])
			}
			sums[i] = sums[i].Plus(sum)
		}
	}
	for i, f := range w.files {
		f.Sum = sums[i]
	}
	return complete, gaveUp
}
