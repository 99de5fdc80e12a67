package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"jmpi/internal/hdf5"
)

// Folder is a folder of results in the making, hidden beside the target until it is published.
type Folder struct {
	Target
	// Step, if not nil, is called before each step of Publish, with its name. Tests end the process there.
	Step func(name string)

	target   string // the final name, absolute
	temp     string // the hidden folder
	old      string // name for what Publish replaces, where names cannot be exchanged
	lock     *os.File
	done     bool // temp is published or kept
	exchange func(a, b string) error
	teller   teller
	maker    hdf5.Maker // of the HDF5 file, from ReserveH5 to FinishH5
}

// The ends of the names of hidden folders: of results in the making, and of a target that is being replaced.
const (
	suffixTemp = ".tmp"
	suffixOld  = ".old"
)

// NewFolder names the folders, it touches nothing. All ranks that call it with the same target and tag agree
// on the names; tag is the Tag of the rank that calls Create.
func NewFolder(t Target, tag string) (*Folder, error) {
	target, err := t.resolve()
	hidden := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+"."+tag)
	f := &Folder{Target: t, target: target, exchange: exchange}
	f.temp, f.old = hidden+suffixTemp, hidden+suffixOld
	return f, err
}

// Create makes the hidden folder and locks it. One rank calls it.
func (f *Folder) Create() error {
	// A run that clears up may take the folder for a dead run's until it is locked.
	for range 100 {
		err := os.Mkdir(f.temp, 0o777)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			const text = "cannot make a folder in %s: %w; choose another place"
			return fmt.Errorf(text, filepath.Dir(f.target), errors.Unwrap(err))
		}
		if err == nil {
			// Where there are no locks, the age of the folder must do.
			if f.lock, err = lock(f.temp); !errors.Is(err, errTaken) {
				return nil
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("the folder %s for the results is deleted again and again by other runs", f.temp)
}

// Path returns the path of a file in the hidden folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.temp, name) }

// Visible tells whether this rank sees the hidden folder that another has made.
func (f *Folder) Visible() error {
	_, err := os.Stat(f.temp)
	return err
}

// Discard deletes the hidden folder with all that is in it, unless it was published or kept.
func (f *Folder) Discard() error {
	if f.done {
		return nil
	}
	f.hush()
	f.maker.Close()
	err := os.RemoveAll(f.temp)
	f.unlock()
	return err
}

// unlock lets others have the folder. Its error tells nothing that matters: nothing was written.
func (f *Folder) unlock() {
	if f.lock != nil {
		_ = f.lock.Close()
		f.lock = nil
	}
}

// keptName is a file that keeps a hidden folder from being deleted by the next run.
const keptName = "KEPT"

// Keep gives the hidden folder a visible name beside the target, DIR.1 or the next number that is free, and
// returns it. It is for results that cannot be published. Where even that fails, the folder stays under its
// hidden name.
func (f *Folder) Keep() string {
	f.done = true
	defer f.unlock()
	f.hush()
	f.maker.Close()
	return f.show(f.temp)
}

// show is Keep for any hidden folder.
func (f *Folder) show(hidden string) string {
	for number := 1; number < 1000; number++ {
		name := fmt.Sprintf("%s.%d", f.target, number)
		if err := os.Mkdir(name, 0o777); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			break
		}
		if syscall.Rename(hidden, name) == nil {
			// The error of the system that brought us here counts, not that of this.
			_ = syncFolder(filepath.Dir(f.target))
			return name
		}
		_ = os.Remove(name)
		break
	}
	// Without the mark the folder is deleted by the next run into the target.
	_ = os.WriteFile(filepath.Join(hidden, keptName), []byte("results that could not be published\n"), 0o666)
	return hidden
}
