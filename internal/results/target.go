package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"jmpi/internal/matio"
	"jmpi/internal/report"
)

// Target is where results are to appear.
type Target struct {
	Dir   string   // the folder, as the user names it
	Force bool     // results that are there are replaced
	Reads []string // files that the run reads; they are not deleted
	// Files, if not nil, says that Dir is the name of a file, which a hidden folder beside it holds with
	// others until all are complete. These are the names of all that the hidden folder may hold.
	Files []string
}

// names are the files that a hidden folder of the target may hold.
func (t Target) names() []string {
	if t.Files != nil {
		return t.Files
	}
	return append([]string{progressName, progressNew}, resultNames...)
}

// resolve returns the absolute path of the target. A file that is a symbolic link is replaced, not what it
// links to.
func (t Target) resolve() (string, error) {
	if t.Files == nil {
		return resolve(t.Dir)
	}
	parent, err := resolve(filepath.Dir(t.Dir))
	return filepath.Join(parent, filepath.Base(t.Dir)), err
}

// resultNames are the files of a finished run, all that a replaced folder may hold.
var resultNames = []string{"S.npy", "U.npy", "V.npy", H5Name, infoName}

// infoName is the file by which results of jmpi are known.
const infoName = "info.json"

// resolve returns the absolute path of dir, without symbolic links where it exists, so that renames are
// within one file system.
func resolve(dir string) (string, error) {
	target, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if found, err := filepath.EvalSymlinks(target); err == nil {
		target = found
	}
	return target, nil
}

// Check tells before a run whether results can be published as Dir later. Dir must be absent, an empty
// folder, or with Force a folder that can be replaced; and the folder that is to hold it must be there.
func (t Target) Check() error {
	target, err := resolve(t.Dir)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(target)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s is a file or below one, not a folder; choose another name", t.Dir)
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(target); err == nil {
			return fmt.Errorf("%s is a symbolic link to nothing; choose another name", t.Dir)
		}
	case err != nil:
		return err
	case len(entries) > 0 && !t.Force:
		const text = "%s exists and is not empty; choose another folder, or replace it with --force"
		return fmt.Errorf(text, t.Dir)
	case len(entries) > 0:
		if err := t.replaceable(); err != nil {
			return err
		}
	}
	if err := checkMount(t.Dir, target); err != nil {
		return err
	}
	parent := filepath.Dir(target)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		const text = "folder %s, which is to hold %s, does not exist; make it first: mkdir -p %s"
		named := filepath.Dir(filepath.Clean(t.Dir))
		return fmt.Errorf(text, named, filepath.Base(target), matio.ShellWord(named))
	}
	return nil
}

// replaceable tells whether the folder Dir may be replaced: it must hold results of jmpi and nothing else,
// and nothing that the run needs.
func (t Target) replaceable() error {
	const advice = "--force would delete it; choose another folder"
	for _, path := range append([]string{"."}, t.Reads...) {
		inside, err := holds(t.Dir, path)
		if err != nil {
			return err
		}
		if inside && path == "." {
			return fmt.Errorf("%s holds the working directory; %s", t.Dir, advice)
		} else if inside {
			return fmt.Errorf("%s holds %s, which the run reads; %s", t.Dir, path, advice)
		}
	}
	foreign, err := foreignIn(t.Dir, resultNames)
	if err != nil {
		return err
	}
	if foreign != "" {
		return fmt.Errorf("%s holds %s, which is no result of jmpi; %s", t.Dir, foreign, advice)
	}
	path := filepath.Join(t.Dir, infoName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		const text = "%s has no %s, so that it may not be from jmpi; delete it, or choose another folder"
		return fmt.Errorf(text, t.Dir, infoName)
	}
	if written, err := report.Written(path); err != nil {
		return err
	} else if !written {
		return fmt.Errorf("%s was not written by jmpi; %s", path, advice)
	}
	return nil
}

// foreignIn returns the first entry of a folder that is none of the named files, by its name or its kind,
// "" if there is none.
func foreignIn(dir string, names []string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		switch {
		case e.IsDir():
			return fmt.Sprintf("a folder %s", e.Name()), nil
		case !e.Type().IsRegular():
			return fmt.Sprintf("%s, not a regular file", e.Name()), nil
		case !slices.Contains(names, e.Name()):
			return e.Name(), nil
		}
	}
	return "", nil
}

// removeFiles deletes a folder of the named files. One that holds anything else it leaves as it is, and
// names what it holds.
func removeFiles(dir string, names []string) (foreign string, err error) {
	if foreign, err = foreignIn(dir, names); foreign != "" || errors.Is(err, fs.ErrNotExist) {
		return foreign, nil
	} else if err != nil {
		return "", err
	}
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	// A folder into which something was put meanwhile stays.
	err = syscall.Rmdir(dir)
	switch {
	case errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST):
		foreign, err = foreignIn(dir, names)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err != nil:
		err = fmt.Errorf("delete %s: %w", dir, err)
	}
	return foreign, err
}

// checkMount tells whether the target can be replaced by a rename: a mount point cannot.
func checkMount(dir, target string) error {
	var own, above syscall.Stat_t
	if syscall.Stat(target, &own) != nil || syscall.Stat(filepath.Dir(target), &above) != nil {
		return nil
	} else if own.Dev == above.Dev {
		return nil
	}
	return fmt.Errorf("%s is a mount point and cannot be replaced; choose a folder in it", dir)
}

// Within tells whether path is the folder dir or lies below it. Neither need exist yet.
func Within(dir, path string) bool {
	outer, err := located(dir)
	inner, e := located(path)
	below := strings.HasPrefix(inner, strings.TrimSuffix(outer, "/")+"/")
	return err == nil && e == nil && (inner == outer || below)
}

// located returns the absolute path of a file or folder, without symbolic links as far as it exists.
func located(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for there, rest := path, ""; ; there, rest = filepath.Dir(there), filepath.Join(filepath.Base(there), rest) {
		if found, err := filepath.EvalSymlinks(there); err == nil || there == filepath.Dir(there) {
			return filepath.Join(found, rest), err
		}
	}
}

// holds tells whether path is dir or lies below it, under whatever name.
func holds(dir, path string) (bool, error) {
	folder, err := os.Stat(dir)
	if err != nil {
		return false, err
	}
	inner, err := resolve(path)
	if err != nil {
		return false, err
	}
	for {
		if info, err := os.Stat(inner); err == nil && os.SameFile(folder, info) {
			return true, nil
		}
		above := filepath.Dir(inner)
		if above == inner {
			return false, nil
		}
		inner = above
	}
}
