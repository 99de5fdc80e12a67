package results

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Publish gives the hidden folder its final name. One rank calls it when all files are written and synced. If
// that fails, the results are kept under another name, which the error tells. With Force what was there is
// deleted, if it is nothing but results even now.
func (f *Folder) Publish() error {
	defer f.unlock()
	f.hush()
	err := syncFolder(f.temp)
	replaced := ""
	if err == nil {
		replaced, err = f.place()
	}
	if err != nil {
		return fmt.Errorf("%w; the results are complete, in %s", err, f.Keep())
	}
	f.done = true
	f.step("sync the names")
	if err := syncFolder(filepath.Dir(f.target)); err != nil {
		return fmt.Errorf("the results are in %s, but a power loss may undo that: %w", f.target, err)
	}
	if replaced == "" {
		return nil
	}
	f.step("delete")
	foreign, err := removeFiles(replaced, resultNames)
	switch {
	case err != nil:
		return fmt.Errorf("the results are in %s, but what was there is not deleted: %w", f.target, err)
	case foreign != "":
		return fmt.Errorf("the results are in %s; %s was put there during the run, and is now in %s",
			f.target, foreign, f.show(replaced))
	}
	return nil
}

// place moves the hidden folder to the target, and returns the name that a replaced folder has now.
func (f *Folder) place() (replaced string, err error) {
	f.step("rename")
	err = syscall.Rename(f.temp, f.target) // unlike os.Rename, replaces an empty folder
	switch {
	case err == nil:
		return "", nil
	case !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, syscall.EEXIST):
		return "", fmt.Errorf("rename %s to %s: %w", f.temp, f.target, err)
	case !f.Force:
		return "", fmt.Errorf("%s was made during the run and is not empty", f.target)
	}
	if err := f.replaceable(); err != nil {
		return "", err
	}
	f.step("exchange")
	err = f.exchange(f.temp, f.target)
	switch {
	case err == nil:
		return f.temp, nil
	case errors.Is(err, unix.EINVAL) || errors.Is(err, errors.ErrUnsupported):
		return f.old, f.replace()
	}
	return "", fmt.Errorf("exchange %s and %s: %w", f.temp, f.target, err)
}

// exchange gives each of two folders the name of the other, in one step.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// replace is an exchange in two steps. Between them there is no target; Recover brings it back.
func (f *Folder) replace() error {
	held, err := lock(f.target)
	if errors.Is(err, errTaken) {
		return fmt.Errorf("replace %s: %w", f.target, err)
	} else if err == nil {
		defer func() { _ = held.Close() }() // nothing was written to it
	}
	f.step("move the old folder")
	if err := syscall.Rename(f.target, f.old); err != nil {
		return fmt.Errorf("rename %s to %s: %w", f.target, f.old, err)
	}
	f.step("move the new folder")
	err = syscall.Rename(f.temp, f.target)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("rename %s to %s: %w", f.temp, f.target, err)
	if e := syscall.Rename(f.old, f.target); e != nil {
		err = fmt.Errorf("%w (and back from %s: %w)", err, f.old, e)
	}
	return err
}

// step tells a test where Publish is.
func (f *Folder) step(name string) {
	if f.Step != nil {
		f.Step(name)
	}
}

// syncFolder waits until the names in a folder are on the disk. Some file systems do not sync folders.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, folder.Close())
}
