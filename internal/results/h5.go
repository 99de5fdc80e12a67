package results

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"jmpi/internal/hdf5"
	"jmpi/internal/matio"
)

// H5Name is the file of results in HDF5, which has a data set for each file of results.
const H5Name = "results.h5"

// Set is the name of the data set of a file of results: S of S.npy.
func (file File) Set() string { return strings.TrimSuffix(file.Name, ".npy") }

// ReserveH5 is Reserve for one HDF5 file, which has the files as data sets. It makes that file, or makes it
// anew, and returns where in it the numbers of each set are to be written.
func (f *Folder) ReserveH5(files ...File) (map[string]int64, error) {
	needed := float64(1 << 16)
	var sets []hdf5.NewSet
	for _, file := range files {
		needed += file.bytes()
		set := hdf5.NewSet{Name: file.Set(), Dims: []uint64{uint64(file.Rows)}}
		if !file.Vector {
			set.Dims = append(set.Dims, uint64(file.Cols))
		}
		sets = append(sets, set)
	}
	free, known := freeBytes(f.temp)
	if known && needed > free {
		return nil, f.full(needed, free, unix.ENOSPC)
	}
	path := f.Path(H5Name)
	offsets, err := f.maker.Create(path, sets)
	if err != nil {
		return nil, fmt.Errorf("--format h5: %w", err)
	}
	places := map[string]int64{}
	for k, file := range files {
		places[file.Set()] = offsets[k]
		if err := file.take(path, offsets[k]); err != nil {
			return nil, f.full(needed, free, err)
		}
	}
	return places, nil
}

// FinishH5 adds attributes to the HDF5 file, and waits until it is on the disk.
func (f *Folder) FinishH5(notes []hdf5.Setting) error {
	path := f.Path(H5Name)
	err := f.maker.Finish(path, notes)
	f.maker.Close()
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// take takes the space of a data set on the disk.
func (file File) take(path string, offset int64) error {
	if offset < 0 { // it has no numbers
		return nil
	}
	w, err := matio.OpenAt(path, offset, file.Rows, max(1, file.Cols))
	if err != nil {
		return err
	}
	if err = w.Reserve(); errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, w.Close())
}
