package results

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"jmpi/internal/matio"
)

// File is a file of results: a matrix of Rows×Cols, or a vector of Rows numbers.
type File struct {
	Name       string
	Rows, Cols int64
	Vector     bool
}

// bytes is about the size of the file, as a float64 because a shape may be too large for an int64.
func (file File) bytes() float64 {
	const header = 128
	if file.Vector {
		return header + 8*float64(file.Rows)
	}
	return header + 8*float64(file.Rows)*float64(file.Cols)
}

// create makes the file at path in its full length.
func (file File) create(path string) (*matio.Writer, error) {
	if file.Vector {
		return matio.CreateVector(path, file.Rows)
	}
	return matio.CreateNpy(path, file.Rows, file.Cols)
}

// reserve makes the file at path and takes its space on the disk.
func (file File) reserve(path string) error {
	w, err := file.create(path)
	if err != nil {
		return err
	}
	// Not every file system has it; the look at the free space must do there.
	if err = w.Reserve(); errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, w.Close())
}

// Reserve makes the files in their full length and takes their space on the disk, so that writing them later
// cannot fail for want of it. Where the file system has no such call, the free space is looked at. One rank
// calls it.
func (f *Folder) Reserve(files ...File) error {
	needed := 0.0
	for _, file := range files {
		needed += file.bytes()
	}
	free, known := freeBytes(f.temp)
	if known && needed > free {
		return f.full(needed, free, unix.ENOSPC)
	}
	for _, file := range files {
		if err := file.reserve(f.Path(file.Name)); err != nil {
			return f.full(needed, free, err)
		}
	}
	return nil
}

// full is the error of a disk, or a share of it, that is too small.
func (f *Folder) full(needed, free float64, err error) error {
	return fmt.Errorf("the results need %.0f bytes in %s, where %.0f are free: %w; "+
		"make room, or choose another place", needed, filepath.Dir(f.target), free, err)
}

// CheckSpace tells whether a folder has room for so many bytes, where the file system says how many are free.
func CheckSpace(dir, what string, needed float64) error {
	free, known := freeBytes(dir)
	if !known || needed <= free {
		return nil
	}
	return fmt.Errorf("%s needs %s, and %s are free in %s; make room, or choose another place",
		what, gigabytes(needed), gigabytes(free), dir)
}

// gigabytes writes a number of bytes, small ones in full.
func gigabytes(bytes float64) string {
	if bytes < 1e8 {
		return fmt.Sprintf("%.0f bytes", bytes)
	}
	return fmt.Sprintf("%.1f GB", bytes/1e9)
}

// freeBytes returns what a user without privileges may still write to the file system. Some do not tell.
func freeBytes(path string) (free float64, known bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil || s.Blocks == 0 {
		return 0, false
	}
	size := s.Frsize
	if size == 0 {
		size = s.Bsize
	}
	return float64(s.Bavail) * float64(size), true
}
