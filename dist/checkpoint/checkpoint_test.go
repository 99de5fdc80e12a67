package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"jmpi/dist/comm"
)

// value is something that a checkpoint gets: a fact, a vector that all ranks have, columns that are dealt out
// to the ranks, and pieces of different sizes.
type value struct {
	name    string
	numbers []float64
	order   []int
	columns map[int][]byte // of this rank
	pieces  map[int][]byte
}

const columnCount, columnBytes = 13, 24

// sizes are those of the pieces.
var sizes = []int64{8, 40, 16, 3}

// filled is the part that a rank has of a value.
func filled(rank, ranks int, seed byte) *value {
	v := &value{name: fmt.Sprint("value ", seed), numbers: []float64{1.5, -2, float64(seed)},
		order: []int{2, 0, -1}, columns: map[int][]byte{}, pieces: map[int][]byte{}}
	for j := rank; j < columnCount; j += ranks {
		v.columns[j] = slices.Repeat([]byte{byte(j), seed, 3}, columnBytes/3)
	}
	for j := rank; j < len(sizes); j += ranks {
		v.pieces[j] = slices.Repeat([]byte{byte(j) + seed}, int(sizes[j]))
	}
	return v
}

// describe describes a value.
func (v *value) describe(rank, ranks int) func(*Codec) {
	array := func(of map[int][]byte, s Shape) Array {
		return Array{
			Store: func(put Move) error {
				for j, raw := range of {
					if err := put(j, raw); err != nil {
						return err
					}
				}
				return nil
			},
			Load: func(get Move) error {
				for j := rank; j < s.Count; j += ranks {
					of[j] = make([]byte, s.size(j))
					if err := get(j, of[j]); err != nil {
						return err
					}
				}
				return nil
			},
		}
	}
	return func(c *Codec) {
		Fact(c, "name", &v.name)
		Vector(c, "numbers", &v.numbers)
		Vector(c, "order", &v.order)
		s := Shape{Count: columnCount, Bytes: columnBytes}
		c.Array("columns", s, array(v.columns, s))
		s = Shape{Count: len(sizes), Sizes: sizes}
		c.Array("pieces", s, array(v.pieces, s))
	}
}

func (v *value) equal(w *value) bool {
	same := func(a, b map[int][]byte) bool {
		if len(a) != len(b) {
			return false
		}
		for j := range a {
			if !slices.Equal(a[j], b[j]) {
				return false
			}
		}
		return true
	}
	return v.name == w.name && slices.Equal(v.numbers, w.numbers) && slices.Equal(v.order, w.order) &&
		same(v.columns, w.columns) && same(v.pieces, w.pieces)
}

// config is that of a run in a folder.
func config(dir string) Config {
	return Config{Dir: dir, Version: "1", Input: []Field{{"shape", "3×3"}}, Options: []Field{{"v", "auto"}},
		Stop: func() string { return "" }}
}

// onRanks runs f on ranks, and returns the first error.
func onRanks(ranks int, f func(world comm.Comm) error) error {
	errs := make([]error, ranks)
	var wg sync.WaitGroup
	for _, world := range comm.NewLocal(ranks) {
		wg.Go(func() { errs[world.Rank()] = f(world) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// save writes checkpoints of two stages, the second one as often as there are seeds.
func save(dir string, ranks int, seeds ...byte) error {
	return onRanks(ranks, func(world comm.Comm) error {
		j, err := Open(world, config(dir))
		if err != nil {
			return err
		}
		first, err := j.Next("first")
		if err != nil {
			return err
		}
		if err := first.Put(filled(world.Rank(), ranks, 1).describe(world.Rank(), ranks)); err != nil {
			return err
		}
		second, err := j.Next(State)
		if err != nil {
			return err
		}
		for _, seed := range seeds {
			if err := second.Put(filled(world.Rank(), ranks, seed).describe(world.Rank(), ranks)); err != nil {
				return err
			}
			if err := j.Save(false); err != nil {
				return err
			}
		}
		return j.Close()
	})
}

// resume reads both stages, and tells the seed of the second.
func resume(dir string, ranks int) (seed byte, err error) {
	err = onRanks(ranks, func(world comm.Comm) error {
		c := config(dir)
		c.Resume = true
		j, err := Open(world, c)
		if err != nil {
			return err
		}
		for i, kind := range []string{"first", State} {
			s, err := j.Next(kind)
			if err != nil {
				return err
			}
			if !s.Found() {
				return errors.Join(fmt.Errorf("stage %d is not there", i+1), j.Close())
			}
			v := &value{columns: map[int][]byte{}, pieces: map[int][]byte{}}
			if err := s.Load(v.describe(world.Rank(), ranks)); err != nil {
				return errors.Join(err, j.Close())
			}
			found := byte(v.numbers[2])
			if !v.equal(filled(world.Rank(), ranks, found)) || i == 0 && found != 1 {
				return errors.Join(fmt.Errorf("stage %d is not what was kept", i+1), j.Close())
			}
			if world.Rank() == 0 {
				seed = found
			}
		}
		return j.Close()
	})
	return seed, err
}

// What some ranks have kept any number of ranks reads.
func TestRanks(t *testing.T) {
	for _, writers := range []int{1, 2, 3, 5} {
		dir := filepath.Join(t.TempDir(), "ck")
		if err := save(dir, writers, 7, 8, 9); err != nil {
			t.Fatal(err)
		}
		for _, readers := range []int{1, 2, 4} {
			if seed, err := resume(dir, readers); err != nil || seed != 9 {
				t.Errorf("kept by %d, read by %d: %d, %v", writers, readers, seed, err)
			}
		}
		// What the older checkpoints had is gone, but for what the last one needs.
		if left, _ := filepath.Glob(filepath.Join(dir, "0*")); len(left) != 2 {
			t.Errorf("%v are left", left)
		}
	}
}

// files lists all files of a checkpoint.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	for _, pattern := range []string{manifestName, "0*/*"} {
		some, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	if len(all) != 9 {
		t.Fatalf("%d files: %v", len(all), all)
	}
	return all
}

// A damaged file is refused, wherever the damage is, in words that name it.
func TestDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ck")
	if err := save(dir, 2, 7); err != nil {
		t.Fatal(err)
	}
	refused := func(what, path string) {
		t.Helper()
		seed, err := resume(dir, 2)
		if err == nil && seed == 7 && filepath.Base(path) == manifestName {
			return // names of fields may be written in large letters
		}
		if err == nil || !strings.Contains(err.Error(), "damaged") && !strings.Contains(err.Error(), "format") ||
			!strings.Contains(err.Error(), dir) {
			t.Errorf("%s of %s: %v", what, path, err)
		}
	}
	for _, path := range files(t, dir) {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		write := func(raw []byte) {
			if err := os.WriteFile(path, raw, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for i := range whole {
			if i%7 != 0 && filepath.Base(path) == manifestName {
				continue
			}
			other := slices.Clone(whole)
			other[i] ^= 1 << (i % 8)
			write(other)
			refused(fmt.Sprintf("byte %d", i), path)
		}
		for _, n := range []int{0, 1, len(whole) - 1} {
			write(whole[:n])
			refused(fmt.Sprintf("the first %d bytes", n), path)
		}
		write(append(slices.Clone(whole), whole...))
		refused("twice the bytes", path)
		write(whole)
		if filepath.Base(path) == manifestName {
			continue
		}
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		if _, err := resume(dir, 2); err == nil || !strings.Contains(err.Error(), "is missing") {
			t.Errorf("%s is missing: %v", path, err)
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
	}
	if seed, err := resume(dir, 2); err != nil || seed != 7 {
		t.Errorf("undamaged: %d, %v", seed, err)
	}
}

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
	other := strings.Replace(string(raw), `"format":1`, `"format":2`, 1)
	if err := os.WriteFile(path, []byte(other), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := resume(dir, 1); err == nil || !strings.Contains(err.Error(),
		"has format 2, of jmpi 1, and this jmpi reads format 1; delete the folder and begin anew") {
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

// No bytes make a manifest panic, or one that is taken has files outside of the folder.
func FuzzManifest(f *testing.F) {
	m := manifest{Format: Format, Version: "1", Run: "a", Generation: 1, Records: []*record{{Path: "1",
		Kind: "first", Facts: map[string]rawFact{"x": rawFact("1")}, Files: []*file{{Name: "x",
			At: "000001/1.x", Shape: Shape{Count: 2, Bytes: 8}}}}}}
	raw, err := m.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"format":1,"records":[null]}`))
	f.Add(binary.LittleEndian.AppendUint64(nil, 1))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := decode(raw)
		if err != nil {
			return
		}
		for _, file := range m.files() {
			if !filepath.IsLocal(file.At) || file.offset(file.Count) < 0 {
				t.Errorf("a file at %q, of %d bytes", file.At, file.offset(file.Count))
			}
		}
	})
}
