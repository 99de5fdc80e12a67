package matio

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jmpi/internal/hdf5"
	"jmpi/internal/parallel"
)

const (
	speedOrder = 4096
	speedTurns = 5   // after which the speed is looked at
	mostTurns  = 15  // if it is too low till then
	speedShare = 0.6 // of the speed of .npy at least
)

// The vectors of a 4096×4096 matrix are written into an HDF5 file about as fast as into two .npy files, and
// one of them is read about as fast, by turns. It is compared by the processor time of this process and of
// the library's, which other processes do not disturb.
func TestHDF5Speed(t *testing.T) {
	if testing.Short() {
		t.Skip("reads and writes 128 MiB several times")
	}
	if _, err := hdf5.Library(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	npy, h5 := filepath.Join(dir, "U.npy"), filepath.Join(dir, "results.h5:/U")
	x := make([]float64, speedOrder*speedOrder)
	for k := range x {
		x[k] = float64(k)
	}
	const n = speedOrder
	made := map[string]func() (u, v *Writer, err error){
		npy: func() (u, v *Writer, err error) {
			if u, err = CreateNpy(npy, n, n); err == nil {
				v, err = CreateNpy(filepath.Join(dir, "V.npy"), n, n)
			}
			return u, v, err
		},
		h5: func() (u, v *Writer, err error) {
			file, _ := SplitName(h5)
			at, err := hdf5.Create(file, []hdf5.NewSet{{Name: "U", Dims: []uint64{n, n}},
				{Name: "V", Dims: []uint64{n, n}}})
			if err == nil {
				u, err = OpenAt(file, at[0], n, n)
			}
			if err == nil {
				v, err = OpenAt(file, at[1], n, n)
			}
			return u, v, err
		},
	}
	least := map[string]time.Duration{}
	timed := func(what string, f func() error) {
		begin, used := time.Now(), processorTime(t)
		if err := f(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		t.Logf("%s: %v", what, time.Since(begin))
		// The least: the system, too, works for others.
		if took := processorTime(t) - used; least[what] == 0 || took < least[what] {
			least[what] = took
		}
	}
	y := make([]float64, len(x))
	fast := func() (fast bool) { // enough, and says so
		fast = true
		for _, what := range []string{"write ", "read "} {
			ratio := least[what+npy].Seconds() / least[what+h5].Seconds()
			t.Logf("%s%d×%d: .npy %v, .h5 %v: %.2f of its speed by processor time", what, n, n, least[what+npy],
				least[what+h5], ratio)
			fast = fast && ratio >= speedShare
		}
		return fast
	}
	for turn := 0; turn < mostTurns && (turn < speedTurns || turn%speedTurns > 0 || !fast()); turn++ {
		for _, path := range []string{npy, h5} {
			for _, name := range []string{"U.npy", "V.npy", "results.h5"} {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			timed("write "+path, func() error {
				u, v, err := made[path]()
				if err != nil {
					return err
				}
				return errors.Join(u.WriteColumns(0, x, n, n), v.WriteColumns(0, x, n, n), u.Close(), v.Close())
			})
			timed("read "+path, func() error { return readBlocks(path, y) })
			if !slices.Equal(x, y) {
				t.Fatalf("%s has other numbers", path)
			}
			clear(y)
		}
	}
	if !fast() {
		t.Errorf("less than %g of the speed of .npy", speedShare)
	}
}

// processorTime is what this process and those that it has started have used.
func processorTime(t *testing.T) (sum time.Duration) {
	t.Helper()
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
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
