package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"jmpi/dist/comm"
)

// TestGivenUp: a run that has its results does not wait for checkpoints that are being written. One rank
// alone may have to give up, or all, in one array or the next, with another checkpoint behind it. The one
// before is whole then, and nothing else is left.
func TestGivenUp(t *testing.T) {
	const all = -1
	for _, ranks := range []int{1, 3} {
		for slow := all; slow < ranks; slow++ {
			for _, array := range []int{2, 3} { // the files of a value: numbers, order, columns, pieces
				for _, behind := range []bool{false, true} {
					t.Run(fmt.Sprint(ranks, slow, array, behind), func(t *testing.T) {
						dir := filepath.Join(t.TempDir(), "ck")
						enough := make(chan struct{})
						var once sync.Once
						put := func(rank int, s *Stage, seed byte) error {
							return s.Put(func(c *Codec) {
								filled(rank, ranks, seed).describe(rank, ranks)(c)
								f := c.record.Files[array]
								store := f.store.Store
								if seed > 7 && (slow == all || slow == rank) {
									f.store.Store = func(put Move) error {
										<-enough
										return store(put)
									}
								}
							})
						}
						err := onRanks(ranks, func(world comm.Comm) error {
							j, err := Open(world, config(dir))
							if err != nil {
								return err
							}
							s, err := j.Next("first")
							if err == nil {
								err = put(world.Rank(), s, 1)
							}
							if err == nil {
								s, err = j.Next(State)
							}
							for seed := range byte(3) {
								if seed == 2 && !behind {
									break
								}
								if err == nil {
									err = errors.Join(put(world.Rank(), s, 7+seed), j.Save(seed == 0))
								}
							}
							j.GiveUp()
							err = errors.Join(err, world.AllreduceSum([]int64{0})) // all have given up
							once.Do(func() { close(enough) })
							err = errors.Join(err, j.Close())
							if world.Rank() == 0 && j.Written.Checkpoints != 1 {
								t.Errorf("%d checkpoints are told", j.Written.Checkpoints)
							}
							return err
						})
						if err != nil {
							t.Fatal(err)
						}
						names, err := filepath.Glob(filepath.Join(dir, "0*"))
						if _, e := os.Stat(filepath.Join(dir, tempName)); len(names) != 1 || err != nil || e == nil {
							t.Errorf("left: %v, %v", names, err)
						}
						if seed, err := resume(dir, 2); err != nil || seed != 7 {
							t.Errorf("afterwards: %d, %v", seed, err)
						}
					})
				}
			}
		}
	}
}

// TestNothingGivenUp: what is complete stays, and an error is told.
func TestNothingGivenUp(t *testing.T) {
	for _, fails := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "ck")
		lost := errors.New("lost")
		err := onRanks(2, func(world comm.Comm) error {
			j, err := Open(world, config(dir))
			if err != nil {
				return err
			}
			s, err := j.Next("first")
			if err == nil {
				err = s.Put(filled(world.Rank(), 2, 1).describe(world.Rank(), 2))
			}
			if err == nil {
				s, err = j.Next(State)
			}
			if err == nil {
				err = s.Put(func(c *Codec) {
					filled(world.Rank(), 2, 8).describe(world.Rank(), 2)(c)
					if fails && world.Rank() == 1 {
						c.record.Files[3].store.Store = func(Move) error { return lost }
					}
				})
			}
			if err == nil {
				err = j.Save(false)
				<-j.writing.over
			}
			j.GiveUp()
			return errors.Join(err, j.Close())
		})
		if !fails {
			if seed, e := resume(dir, 1); err != nil || e != nil || seed != 8 {
				t.Errorf("complete: %d, %v, %v", seed, err, e)
			}
		} else if err == nil {
			t.Error("an error of writing is lost")
		}
	}
}
