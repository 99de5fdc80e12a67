package matio

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jmpi/internal/hdf5"
	"jmpi/internal/parallel"
)

const (
	speedOrder = 4096
	speedTurns = 5   // after which the speed is looked at
	mostTurns  = 25  // if it is too low till then
	speedShare = 0.6 // of the speed of .npy at least
)

// spent is what something takes: time by the clock, and processor time of this process and of all, the
// library's process with its start and end among them.
type spent struct{ wall, own, all time.Duration }

// timed is a format with what something has taken in it, by its name.
type timed struct {
	name  string // of the matrix %s in a file
	write func(dir string, sets []string, x []float64) error
	took  map[string][]spent
}

// median is the median of what something has taken.
func (f timed) median(what string) spent {
	var of [3][]time.Duration
	for _, s := range f.took[what] {
		of[0], of[1], of[2] = append(of[0], s.wall), append(of[1], s.own), append(of[2], s.all)
	}
	for _, all := range of {
		slices.Sort(all)
	}
	middle := len(of[0]) / 2
	return spent{of[0][middle], of[1][middle], of[2][middle]}
}

// A 4096×4096 matrix alone, and two, are written into an HDF5 file about as fast as into .npy files, and read
// about as fast, by turns. The library's process is started before, as the program does while MPI starts. Its
// processor time is judged for two matrices, that of this process for one too: other processes do not
// disturb these.
func TestHDF5Speed(t *testing.T) {
	if testing.Short() {
		t.Skip("reads and writes 128 MiB several times")
	}
	if _, err := hdf5.Library(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	x := make([]float64, speedOrder*speedOrder)
	for k := range x {
		x[k] = float64(k)
	}
	y := make([]float64, len(x))
	npy := timed{"%s.npy", writeNpy, map[string][]spent{}}
	h5 := timed{"a.h5:/%s", writeH5, map[string][]spent{}}
	for turn := 0; turn < mostTurns && (turn < speedTurns || turn%speedTurns > 0 || !fast(t, npy, h5)); turn++ {
		for many, sets := range map[string][]string{"one": {"U"}, "two": {"U", "V"}} {
			for _, f := range []timed{npy, h5} {
				for _, file := range []string{"U.npy", "V.npy", "a.h5"} {
					if err := os.RemoveAll(filepath.Join(dir, file)); err != nil {
						t.Fatal(err)
					}
				}
				clear(y)
				f.time(t, "write "+many, func() error { return f.write(dir, sets, x) })
				f.time(t, "read "+many, func() error {
					for _, set := range sets {
						if err := readBlocks(filepath.Join(dir, fmt.Sprintf(f.name, set)), y); err != nil {
							return err
						}
					}
					return nil
				})
				if !slices.Equal(x, y) {
					t.Fatalf("%s has other numbers", f.name)
				}
			}
		}
	}
	if !fast(t, npy, h5) {
		t.Errorf("less than %g of the speed of .npy", speedShare)
	}
}

// fast tells whether HDF5 is fast enough in all, and logs how fast it is.
func fast(t *testing.T, npy, h5 timed) bool {
	t.Helper()
	enough := true
	for _, what := range slices.Sorted(maps.Keys(npy.took)) {
		a, b := npy.median(what), h5.median(what)
		share := func(x, y time.Duration) float64 { return x.Seconds() / y.Seconds() }
		t.Logf("%s of %d×%d: %.2f of the speed of .npy by the clock (%v, %v), %.2f by processor time (%v, %v), "+
			"%.2f with the library's process (%v)", what, speedOrder, speedOrder, share(a.wall, b.wall), a.wall,
			b.wall, share(a.own, b.own), a.own, b.own, share(a.all, b.all), b.all)
		enough = enough && share(a.own, b.own) >= speedShare
		if strings.HasSuffix(what, "two") {
			enough = enough && share(a.all, b.all) >= speedShare
		}
	}
	return enough
}

// time does something and keeps what it takes.
func (f timed) time(t *testing.T, what string, do func() error) {
	t.Helper()
	if strings.Contains(f.name, ".h5") {
		hdf5.Prepare()
		time.Sleep(50 * time.Millisecond) // about what the start of MPI takes
	}
	begin, own, others := time.Now(), processorTime(t, unix.RUSAGE_SELF), processorTime(t, unix.RUSAGE_CHILDREN)
	if err := do(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	now := spent{wall: time.Since(begin), own: processorTime(t, unix.RUSAGE_SELF) - own}
	hdf5.Release()
	now.all = now.own + processorTime(t, unix.RUSAGE_CHILDREN) - others
	f.took[what] = append(f.took[what], now)
}

// writeNpy writes a square matrix into a file for each name.
func writeNpy(dir string, names []string, x []float64) error {
	for _, name := range names {
		w, err := CreateNpy(filepath.Join(dir, name+".npy"), speedOrder, speedOrder)
		if err != nil {
			return err
		}
		if err := errors.Join(w.WriteColumns(0, x, speedOrder, speedOrder), w.Close()); err != nil {
			return err
		}
	}
	return nil
}

// writeH5 writes it into a data set for each name, and an attribute.
func writeH5(dir string, names []string, x []float64) error {
	file := filepath.Join(dir, "a.h5")
	var sets []hdf5.NewSet
	for _, name := range names {
		sets = append(sets, hdf5.NewSet{Name: name, Dims: []uint64{speedOrder, speedOrder}})
	}
	maker := hdf5.Maker{}
	defer maker.Close()
	places, err := maker.Create(file, sets)
	if err != nil {
		return err
	}
	for _, place := range places {
		w, err := OpenAt(file, place, speedOrder, speedOrder)
		if err != nil {
			return err
		}
		if err := errors.Join(w.WriteColumns(0, x, speedOrder, speedOrder), w.Close()); err != nil {
			return err
		}
	}
	return maker.Finish(file, []hdf5.Setting{{Name: "k", Numbers: []float64{speedOrder}}})
}

// processorTime is what this process, or those that it has started and that have ended, have used.
func processorTime(t *testing.T, who int) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// readBlocks reads a square matrix in blocks of columns, as ranks do.
func readBlocks(path string, x []float64) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	const width = 64
	err = parallel.Workers(2, int(f.Cols/width), func(_, i int) error {
		j := int64(i) * width
		return f.ReadColumns(j, j+width, x[j*f.Rows:], int(f.Rows))
	})
	return errors.Join(err, f.Close())
}
