package matio

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"jmpi/internal/hdf5"
	"jmpi/internal/parallel"
)

const (
	speedOrder = 4096
	speedTurns = 5
	speedShare = 0.6 // of the speed of .npy at least
)

// A 4096×4096 matrix in an HDF5 file is written and read about as fast as one in a .npy file, by turns. The
// start of the library's process counts.
func TestHDF5Speed(t *testing.T) {
	if testing.Short() {
		t.Skip("reads and writes 128 MiB several times")
	}
	if _, err := hdf5.Library(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	npy, h5 := filepath.Join(dir, "a.npy"), filepath.Join(dir, "a.h5")
	x := make([]float64, speedOrder*speedOrder)
	for k := range x {
		x[k] = float64(k)
	}
	made := map[string]func() (*Writer, error){
		npy: func() (*Writer, error) { return CreateNpy(npy, speedOrder, speedOrder) },
		h5: func() (*Writer, error) {
			at, err := hdf5.Create(h5, []hdf5.NewSet{{Name: "A", Dims: []uint64{speedOrder, speedOrder}}})
			if err != nil {
				return nil, err
			}
			return OpenAt(h5, at[0], speedOrder, speedOrder)
		},
	}
	best := map[string]time.Duration{}
	timed := func(what string, f func() error) {
		begin := time.Now()
		if err := f(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if took := time.Since(begin); best[what] == 0 || took < best[what] {
			best[what] = took
		}
	}
	y := make([]float64, len(x))
	for range speedTurns {
		for _, path := range []string{npy, h5} {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			timed("write "+path, func() error {
				w, err := made[path]()
				if err != nil {
					return err
				}
				return errors.Join(w.WriteColumns(0, x, speedOrder, speedOrder), w.Close())
			})
			timed("read "+path, func() error { return readBlocks(path, y) })
			if !slices.Equal(x, y) {
				t.Fatalf("%s has other numbers", path)
			}
			clear(y)
		}
	}
	for _, what := range []string{"write ", "read "} {
		ratio := best[what+npy].Seconds() / best[what+h5].Seconds()
		t.Logf("%s%d×%d: .npy %v, .h5 %v: %.2f of its speed", what, speedOrder, speedOrder, best[what+npy],
			best[what+h5], ratio)
		if ratio < speedShare {
			t.Errorf("%s.h5 has %.2f of the speed of .npy", what, ratio)
		}
	}
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
