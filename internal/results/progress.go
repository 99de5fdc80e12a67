package results

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The file in a hidden folder that tells how far its run is, and its name while it is written.
const (
	progressName = "progress.json"
	progressNew  = "progress.json.new"
)

// teller keeps Tell apart from the end of a folder.
type teller struct {
	mu   sync.Mutex
	over bool
}

// Tell puts what another process may know of the run into the hidden folder, in one step. After the folder
// was published, kept or discarded it does nothing.
func (f *Folder) Tell(b []byte) error {
	f.teller.mu.Lock()
	defer f.teller.mu.Unlock()
	if f.teller.over {
		return nil
	}
	if err := os.WriteFile(f.Path(progressNew), b, 0o644); err != nil {
		return err
	}
	return os.Rename(f.Path(progressNew), f.Path(progressName))
}

// hush takes what was told away.
func (f *Folder) hush() {
	f.teller.mu.Lock()
	defer f.teller.mu.Unlock()
	f.teller.over = true
	for _, name := range []string{progressName, progressNew} {
		// What is left would be published with the results, and be refused by --force later; nothing is lost.
		_ = os.Remove(f.Path(name))
	}
}

// Run is a run into a target that has not ended, or was killed.
type Run struct {
	Host string
	PID  int
	Told []byte    // by Tell, nil if nothing was told yet
	At   time.Time // when that was, by the clock of the file system; or when the folder was made
	Dead bool      // it was killed. Only on its own host that is known
}

// quiet is for how long a run that lives may say nothing. Before, nobody asks for its lock: it may not have
// it yet.
const quiet = 5 * time.Second

// Find lists the runs into a target, the latest first.
func Find(dir string) (runs []Run, err error) {
	target, err := resolve(dir)
	if err != nil {
		return nil, err
	}
	unfinished, _, err := leftovers(target, nil)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(unfinished, func(a, b leftover) int {
		return cmp.Or(-strings.Compare(a.time(), b.time()), strings.Compare(a.path, b.path))
	})
	for _, l := range unfinished {
		r, err := l.look()
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has just ended
		} else if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// look tells what is known of the run of a hidden folder.
func (l leftover) look() (r Run, err error) {
	r.Host = l.host
	tag := strings.TrimSuffix(l.path, suffixTemp)
	parts := strings.Split(tag, "-")
	if r.PID, err = strconv.Atoi(parts[len(parts)-2]); err != nil {
		return r, err
	}
	path := filepath.Join(l.path, progressName)
	if r.Told, err = os.ReadFile(path); errors.Is(err, fs.ErrNotExist) {
		path = l.path
	} else if err != nil {
		return r, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return r, err
	}
	r.At = info.ModTime()
	if l.boot != boot() || l.boot == unknownBoot || time.Since(r.At) < quiet {
		return r, nil
	}
	if held, err := lock(l.path); err == nil {
		_ = held.Close() // nothing was written to it
		r.Dead = true
	}
	return r, nil
}
