package checkpoint

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jmpi/dist/comm"
)

// Open opens the folder of a checkpoint, on all ranks. Without Resume the folder must be absent or empty, or
// have nothing but what a run has left that was killed before its first checkpoint. It is collective.
func Open(world comm.Comm, c Config) (*Journal, error) {
	j := &Journal{Config: c, comm: world, path: []int{0}, lock: func() {}}
	j.clock.kept = time.Now()
	var raw []byte
	var err error
	if world.Rank() == 0 {
		raw, err = j.look()
	}
	if err := comm.Agree(world, comm.BadInput, err); err != nil {
		j.Abandon()
		return nil, err
	}
	if raw, err = world.Bcast(raw, 0); err != nil {
		return nil, err
	}
	j.manifest, err = decode(raw)
	if err == nil {
		err = j.visible()
	}
	if err := comm.Agree(world, comm.BadInput, err); err != nil {
		j.Abandon()
		return nil, err
	}
	j.Resume = j.manifest.Generation > 0
	return j, nil
}

// look makes the folder, or reads what it has. It returns the text of the manifest: of the checkpoint, or of
// a new one.
func (j *Journal) look() ([]byte, error) {
	err := os.Mkdir(j.Dir, 0o777)
	if j.made = err == nil; err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("the folder for the checkpoint cannot be made: %w; choose another place", err)
	}
	entries, err := os.ReadDir(j.Dir)
	if err != nil {
		return nil, fmt.Errorf("the folder for the checkpoint cannot be read: %w; choose another place", err)
	}
	for _, e := range entries {
		name := e.Name()
		known := name == manifestName || name == tempName || name == lockName
		if !known && !(e.IsDir() && generationName.MatchString(name)) {
			return nil, fmt.Errorf("%s holds %s, which is not of a checkpoint; choose another folder", j.Dir, name)
		}
	}
	if err := j.take(); err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(j.Dir, manifestName))
	m := manifest{Format: Format, Version: j.Version, Input: j.Input, Options: j.Options}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		var id [8]byte
		_, _ = rand.Read(id[:]) // which never fails
		m.Run = hex.EncodeToString(id[:])
		if j.Resume {
			j.Log.Info().Str("checkpoint", j.Dir).Msg("there is no checkpoint: beginning anew")
		}
	case err != nil:
		return nil, err
	case !j.Resume:
		return nil, fmt.Errorf("%s holds a checkpoint: --resume goes on from it; delete the folder to begin anew",
			j.Dir)
	default:
		if m, err = j.fitting(raw); err != nil {
			return nil, err
		}
	}
	if err := m.clear(j.Dir, strings.Repeat("9", 12)); err != nil {
		return nil, fmt.Errorf("what a run that was killed has left of a checkpoint: %w", err)
	}
	if err := os.WriteFile(filepath.Join(j.Dir, lockName), []byte(m.Run), 0o666); err != nil {
		return nil, fmt.Errorf("the folder for the checkpoint cannot be written to: %w", err)
	}
	return m.encode()
}

// fitting refuses a checkpoint that this run cannot go on from.
func (j *Journal) fitting(raw []byte) (manifest, error) {
	m, err := decode(raw)
	if err == nil {
		err = m.lengths(j.Dir)
	}
	if err != nil {
		return m, fmt.Errorf("the checkpoint in %s %w; delete the folder and begin anew", j.Dir, err)
	}
	if d := differs(m.Input, j.Input, "its %s is %s, not %s"); d != "" {
		return m, fmt.Errorf("the checkpoint in %s is of another matrix: %s; choose another folder, or delete "+
			"this one and begin anew", j.Dir, d)
	}
	if d := differs(m.Options, j.Options, "--%s was %s, and is %s"); d != "" {
		return m, fmt.Errorf("the checkpoint in %s was made with other options: %s; give the same ones, or "+
			"choose another folder", j.Dir, d)
	}
	return m, nil
}

// take takes the folder for this run. Where there are no locks two runs are not kept apart.
func (j *Journal) take() error {
	file, err := os.OpenFile(filepath.Join(j.Dir, lockName), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("the folder for the checkpoint cannot be written to: %w; choose another place", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return errors.Join(fmt.Errorf("another run is at work with the checkpoint in %s", j.Dir), file.Close())
	}
	j.lock = func() { _ = file.Close() }
	return nil
}

// visible tells whether this rank sees the folder that rank 0 has.
func (j *Journal) visible() error {
	raw, err := os.ReadFile(filepath.Join(j.Dir, lockName))
	if err == nil && string(raw) != j.manifest.Run {
		err = errors.New("it is another folder")
	}
	if err != nil {
		return fmt.Errorf("the folder for the checkpoint, as rank 0 has it, is not there: %w; "+
			"it must be on a file system that all nodes share", err)
	}
	return nil
}

// Abandon lets others have the folder, and deletes one that this run has made, before anything is kept in it.
func (j *Journal) Abandon() {
	if j == nil {
		return
	}
	if j.made { // what cannot be deleted does no harm
		_ = os.Remove(filepath.Join(j.Dir, lockName))
		_ = os.Remove(j.Dir)
	}
	j.lock()
}

// Close waits for what is being written, and lets others have the folder. It is collective.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	err := j.Wait()
	j.lock()
	return err
}
