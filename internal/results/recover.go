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
)

// Recovered says what Recover has found.
type Recovered struct {
	Restored bool     // the target is there again, after a run was killed while it replaced it
	Left     []string // hidden folders that are left, each with the reason
}

// Recover clears up after runs into the same target that were killed: it brings a target back that was being
// replaced, and deletes the hidden folders of dead runs. One rank calls it before Check.
func (t Target) Recover() (r Recovered, err error) {
	target, err := t.resolve()
	if err != nil {
		return r, err
	}
	unfinished, replaced, err := leftovers(target, t.names())
	if err != nil {
		return r, err
	}
	// The list is older than the look at the target: what is in it beside a target is not needed any more.
	if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) && len(replaced) > 0 {
		last := len(replaced) - 1
		if r.Restored, err = replaced[last].restore(target); err != nil {
			return r, err
		}
		replaced = replaced[:last]
	}
	for _, l := range slices.Concat(unfinished, replaced) {
		if reason := l.delete(); reason != "" {
			r.Left = append(r.Left, fmt.Sprintf("%s: %s", l.path, reason))
		}
	}
	return r, nil
}

// leftovers lists the hidden folders of runs into target, which hold the named files, those that are
// replaced by age. A folder that cannot be listed has none.
func leftovers(target string, names []string) (unfinished, replaced []leftover, err error) {
	parent := filepath.Dir(target)
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		tag, ours := strings.CutPrefix(e.Name(), "."+filepath.Base(target)+".")
		if !ours || !e.IsDir() {
			continue
		}
		suffix := filepath.Ext(tag)
		owner := tagPattern.FindStringSubmatch(strings.TrimSuffix(tag, suffix))
		if owner == nil {
			continue
		}
		l := leftover{path: filepath.Join(parent, e.Name()), host: owner[1], boot: owner[2], names: names}
		switch suffix {
		case suffixTemp:
			unfinished = append(unfinished, l)
		case suffixOld:
			replaced = append(replaced, l)
		}
	}
	slices.SortFunc(replaced, func(a, b leftover) int { return strings.Compare(a.time(), b.time()) })
	return unfinished, replaced, nil
}

// time is the moment in the folder's name; all have the same number of digits.
func (l leftover) time() string {
	return l.path[strings.LastIndexByte(l.path, '-')+1:]
}

// restore gives a replaced folder the name of the target again. That harms no run that lives: its own rename
// then finds a target, and its results get another name. Only a run on this kernel is known to be about to do
// it.
func (l leftover) restore(target string) (bool, error) {
	if l.boot == boot() && l.boot != unknownBoot {
		held, err := lock(l.path)
		if errors.Is(err, errTaken) {
			return false, nil
		} else if err == nil {
			defer func() { _ = held.Close() }() // nothing was written to it
		}
	}
	err := syscall.Rename(l.path, target)
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		return false, nil // another run was faster
	} else if err != nil {
		return false, fmt.Errorf("%s, which a run that was killed has moved to %s, cannot be moved back: %w",
			target, l.path, err)
	}
	return true, syncFolder(filepath.Dir(target))
}

// delete deletes the hidden folder of a dead run, and otherwise returns why it is left.
func (l leftover) delete() (reason string) {
	release, dead := l.claim()
	if !dead {
		return l.living()
	}
	defer release()
	foreign, err := removeFiles(l.path, l.names)
	switch {
	case err != nil:
		return err.Error()
	case foreign != "":
		return fmt.Sprintf("left by a run that was killed; it also holds %s, so it is not deleted", foreign)
	}
	return ""
}

// living says what is known about a folder whose run may live.
func (l leftover) living() string {
	if _, err := os.Lstat(l.path); err != nil {
		return "" // it is gone
	}
	if l.boot == boot() {
		return "another run into the same folder is at work"
	}
	return fmt.Sprintf("made on %s by a run that may be at work; delete it if there is none. "+
		"It is deleted after %d days", l.host, int(Stale.Hours()/24))
}
