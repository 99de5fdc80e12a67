package checkpoint

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
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
