package matio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Folder is a folder of results in the making. Files are written in a temporary folder beside the target,
// which takes its place by one rename when all are complete: nobody sees half of a result.
type Folder struct {
	Target string // the final name
	Temp   string // the temporary folder
	old    string // name for what Publish replaces
}

// NewFolder names the folders, it touches nothing. All ranks that call it with the same dir and tag agree on the
// names; tag must differ between runs (a process number and a time, say) and be part of a file name.
func NewFolder(dir, tag string) (Folder, error) {
	target, err := resolve(dir)
	hidden := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+"."+tag)
	return Folder{Target: target, Temp: hidden + ".tmp", old: hidden + ".old"}, err
}

// resolve returns the absolute path of dir, without symbolic links where it exists, so that renames are within
// one file system.
func resolve(dir string) (string, error) {
	target, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(target); err == nil {
		target = real
	}
	return target, nil
}

// Create makes the temporary folder. One rank calls it.
func (f Folder) Create() error { return os.Mkdir(f.Temp, 0o777) }

// Path returns the path of a file in the temporary folder.
func (f Folder) Path(name string) string { return filepath.Join(f.Temp, name) }

// Publish gives the temporary folder its final name. One rank calls it when all files are closed. The target must be
// absent or empty; with force, whatever folder is there is moved away and deleted when the new one is in
// its place. If the
// renaming fails, the temporary folder is still there and the target as it was.
func (f Folder) Publish(force bool) error {
	err := syscall.Rename(f.Temp, f.Target) // unlike os.Rename, replaces an empty folder
	replace := force && (errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST))
	if replace {
		if err = os.Rename(f.Target, f.old); err != nil {
			return err
		}
		if err = syscall.Rename(f.Temp, f.Target); err != nil {
			err = errors.Join(err, os.Rename(f.old, f.Target))
		}
	}
	if err != nil {
		return fmt.Errorf("rename %s to %s: %w", f.Temp, f.Target, err)
	}
	if replace {
		if err := os.RemoveAll(f.old); err != nil {
			return fmt.Errorf("the results are in %s, but what was there is not deleted: %w", f.Target, err)
		}
	}
	return nil
}

// Discard deletes the temporary folder with all that is in it.
func (f Folder) Discard() error { return os.RemoveAll(f.Temp) }

// CheckTarget tells before a run whether its Folder can be published as dir later: dir must be absent, an empty folder,
// or with force any folder that the working directory is not in; and it must be possible to make a folder
// beside it, which is tried.
func CheckTarget(dir string, force bool) error {
	target, err := resolve(dir)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(target)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s is a file or below one, not a folder; choose another name", dir)
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(target); err == nil {
			return fmt.Errorf("%s is a symbolic link to nothing; choose another name", dir)
		}
	case err != nil:
		return err
	case len(entries) > 0 && !force:
		return fmt.Errorf("%s exists and is not empty; choose another folder, or replace it with --force", dir)
	case len(entries) > 0:
		if inside, err := Holds(dir, "."); err != nil {
			return err
		} else if inside {
			return fmt.Errorf("%s holds the working directory, which --force would delete; choose another folder", dir)
		}
		if err := checkResults(dir, entries); err != nil {
			return err
		}
	}
	if err := checkMount(dir, target); err != nil {
		return err
	}
	parent := filepath.Dir(target)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("folder %s, which is to hold %s, does not exist; make it first", parent, filepath.Base(target))
	}
	probe, err := os.MkdirTemp(parent, "."+filepath.Base(target)+".*.tmp")
	if err != nil {
		return fmt.Errorf("cannot make a folder in %s: %w; choose another place", parent, errors.Unwrap(err))
	}
	return os.Remove(probe)
}

// resultNames are the files of a finished run, all that a replaced folder may hold.
var resultNames = []string{"S.npy", "U.npy", "V.npy", "info.json"}

// checkResults tells whether a folder that is to be replaced holds results and nothing else.
func checkResults(dir string, entries []fs.DirEntry) error {
	for _, e := range entries {
		if !slices.Contains(resultNames, e.Name()) {
			return fmt.Errorf("%s holds %s, which is no result of jmpi and which --force would delete; choose another folder", dir, e.Name())
		}
	}
	return nil
}

// checkMount tells whether the target can be replaced by a rename: a mount point cannot.
func checkMount(dir, target string) error {
	var own, above syscall.Stat_t
	if syscall.Stat(target, &own) != nil || syscall.Stat(filepath.Dir(target), &above) != nil || own.Dev == above.Dev {
		return nil
	}
	return fmt.Errorf("%s is a mount point and cannot be replaced; choose a folder in it", dir)
}

// Holds tells whether path is dir or lies below it, symbolic links resolved.
func Holds(dir, path string) (bool, error) {
	target, err := resolve(dir)
	if err != nil {
		return false, err
	}
	inner, err := resolve(path)
	return strings.HasPrefix(inner+"/", strings.TrimSuffix(target, "/")+"/"), err
}
