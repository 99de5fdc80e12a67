package results

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Stale is the age from which on a hidden folder of another host, or of a time before this host was started,
// is taken for a dead run's.
const Stale = 30 * 24 * time.Hour

// errTaken says that another process holds the lock of a folder, or has just deleted the folder.
var errTaken = errors.New("another run holds it")

// tagPattern is HOST-BOOT-PID-TIME, as Tag makes it. HOST may hold hyphens.
var tagPattern = regexp.MustCompile(`^([0-9A-Za-z_-]+)-([0-9a-f]{12})-[0-9]+-[0-9a-f]+$`)

// Tag names this process and this moment, for the names of a run's hidden folders.
func Tag() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%s-%d-%x", label(host), boot(), os.Getpid(), time.Now().UnixNano())
}

// label is the first part of a host's name, at most 32 bytes that suit a file name.
func label(host string) string {
	host, _, _ = strings.Cut(host, ".")
	host = strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, host)
	return host[:min(len(host), 32)]
}

// unknownBoot stands for a kernel that does not tell its boot identifier.
const unknownBoot = "000000000000"

// boot returns 12 hexadecimal digits of the identifier of this start of the kernel. Containers of a host
// share it.
func boot() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	id := strings.ReplaceAll(strings.TrimSpace(string(text)), "-", "")
	if err != nil || len(id) < len(unknownBoot) {
		return unknownBoot
	}
	return id[:len(unknownBoot)]
}

// lock takes the lock of a folder without waiting. The error is errTaken, or says that there are no locks
// here.
func lock(path string) (*os.File, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errTaken
	} else if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		err = errTaken
	} else if err == nil && !same(path, file) {
		err = errTaken
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// same tells whether path still names the open file.
func same(path string, file *os.File) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(opened, named)
}

// leftover is a hidden folder of a run, dead or alive.
type leftover struct {
	path  string
	host  string
	boot  string
	names []string // of the files that it may hold
}

// claim tells whether the run that made the folder is dead. If so the folder is this process's until release.
func (l leftover) claim() (release func(), dead bool) {
	if l.boot == boot() && l.boot != unknownBoot {
		switch held, err := lock(l.path); {
		case err == nil:
			return func() { _ = held.Close() }, true
		case errors.Is(err, errTaken):
			return nil, false
		}
	}
	info, err := os.Stat(l.path)
	return func() {}, err == nil && time.Since(info.ModTime()) > Stale
}
