package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jmpi/dist/comm"
)

// A checkpoint that does not suit is refused, with the reason and what to do.
func TestRefusals(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ck")
	if err := save(dir, 1, 7); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	foreign := t.TempDir()
	for _, path := range []string{file, filepath.Join(foreign, "S.npy")} {
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Resume = false }, "holds a checkpoint: --resume goes on from it; delete the folder"},
		{func(c *Config) { c.Input = []Field{{"shape", "4×3"}} }, "another matrix: its shape is 3×3, not 4×3"},
		{func(c *Config) { c.Options = []Field{{"v", "solve"}} }, "other options: --v was auto, and is solve"},
		{func(c *Config) { c.Dir = file }, "not a directory; choose another place"},
		{func(c *Config) { c.Dir = file + "/ck" }, "not a directory; choose another place"},
		{func(c *Config) { c.Dir = foreign }, "holds S.npy, which is not of a checkpoint; choose another folder"},
	} {
		conf := config(dir)
		conf.Resume = true
		c.change(&conf)
		err := onRanks(2, func(world comm.Comm) error {
			_, err := Open(world, conf)
			return err
		})
		var f *comm.Failure
		if !errors.As(err, &f) || f.Kind != comm.BadInput || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, expected %q", err, c.want)
		}
	}
	// Another format.
	path := filepath.Join(dir, manifestName)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(raw), `"format":4`, `"format":1`, 1)
	if err := os.WriteFile(path, []byte(other), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := resume(dir, 1); err == nil || !strings.Contains(err.Error(),
		"has format 1, of jmpi 1, and this jmpi reads format 4; delete the folder and begin anew") {
		t.Errorf("another format: %v", err)
	}
}

// Two runs do not share a folder.
func TestTaken(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ck")
	j, err := Open(comm.NewLocal(1)[0], config(dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(comm.NewLocal(1)[0], config(dir)); err == nil ||
		!strings.Contains(err.Error(), "another run is at work") {
		t.Errorf("the second run: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if j, err = Open(comm.NewLocal(1)[0], config(dir)); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// What runs have left that were killed is cleared up: before the first checkpoint, and after one.
func TestLeftovers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ck")
	leave := func() {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, "000009"), 0o777); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"000009/2.columns", tempName} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	leave()
	if err := save(dir, 2, 7); err != nil {
		t.Fatal(err)
	}
	leave()
	if seed, err := resume(dir, 2); err != nil || seed != 7 {
		t.Fatalf("%d, %v", seed, err)
	}
	files(t, dir)
}

// Where one rank cannot write, all ranks learn it, and the checkpoint before is whole.
func TestWriteFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ck")
	const ranks = 3
	for bad := range ranks {
		_ = os.RemoveAll(dir)
		if err := save(dir, ranks, 7); err != nil {
			t.Fatal(err)
		}
		errs := make([]error, ranks)
		_ = onRanks(ranks, func(world comm.Comm) error {
			c := config(dir)
			c.Resume = true
			j, err := Open(world, c)
			if err != nil {
				t.Error(err)
				return err
			}
			s, err := j.Next("first")
			if err == nil {
				s, err = j.Next(State)
			}
			if err != nil {
				t.Error(err)
				return err
			}
			v := filled(world.Rank(), ranks, 8)
			err = s.Put(func(c *Codec) {
				v.describe(world.Rank(), ranks)(c)
				if world.Rank() == bad {
					c.record.Files[2].store.Store = func(Move) error { return syscall.ENOSPC }
				}
			})
			if err != nil {
				t.Error(err)
			}
			errs[world.Rank()] = j.Save(true)
			j.lock()
			return nil
		})
		for rank, err := range errs {
			var f *comm.Failure
			if !errors.As(err, &f) || f.Kind != comm.BadResource || f.Rank != bad ||
				!strings.Contains(err.Error(), "no space left") {
				t.Errorf("rank %d fails, rank %d has the error %v", bad, rank, err)
			}
		}
		if seed, err := resume(dir, 2); err != nil || seed != 7 {
			t.Errorf("afterwards: %d, %v", seed, err)
		}
	}
}

// A disk that is full ends a run, and the checkpoint before is whole.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); errors.Is(err, syscall.EPERM) {
		t.Skip("only root may mount a small file system: what happens on a full disk is not tested")
	} else if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }()
	ck := filepath.Join(dir, "ck")
	if err := save(ck, 2, 7); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 1<<20), 0o666); err == nil {
		t.Fatal("the disk is not full")
	}
	err := onRanks(2, func(world comm.Comm) error {
		c := config(ck)
		c.Resume = true
		j, err := Open(world, c)
		if err != nil {
			return err
		}
		s, err := j.Next("first")
		if err == nil {
			s, err = j.Next(State)
		}
		if err == nil {
			err = s.Put(filled(world.Rank(), 2, 9).describe(world.Rank(), 2))
		}
		if err == nil {
			err = j.Save(false)
		}
		return errors.Join(err, j.Close())
	})
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("on a full disk: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	if seed, err := resume(ck, 1); err != nil || seed != 7 {
		t.Errorf("afterwards: %d, %v", seed, err)
	}
}

// Votes of all ranks come to one decision.
func TestDecide(t *testing.T) {
	for _, c := range []struct {
		votes Votes
		want  Decision
	}{
		{Votes{}, GoOn}, {Votes{Due: 1}, Keep}, {Votes{Due: 1, Busy: 1}, GoOn}, {Votes{Stop: 2, Busy: 1}, Stop},
		{Votes{Stop: 1, Failed: 1}, Failed},
	} {
		if got := (&Journal{}).Decide(c.votes); got != c.want {
			t.Errorf("%+v: %d, expected %d", c.votes, got, c.want)
		}
	}
}
