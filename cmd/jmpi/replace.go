package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// replaceFile gives a file new content, in one step: a reader finds the old content or the new one.
func replaceFile(path string, content []byte) error {
	return replaceBy(path, func(f *os.File) error {
		_, err := f.Write(content)
		return err
	})
}

// replaceBy is replaceFile for content that a function writes.
func replaceBy(path string, write func(*os.File) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; choose another name", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w; choose another folder", path, reason(err))
	}
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s cannot be written: %w", path, reason(err)), os.Remove(f.Name()))
	}
	return nil
}

// reason is an error without the name of a file that the user does not know.
func reason(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}
