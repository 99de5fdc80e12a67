package matio

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Stamp names a version of a file on one host. Open files with the same Stamp have the same bytes. A write to
// a file changes its Stamp.
type Stamp struct {
	Device, Inode uint64
	Size          int64
	Modified      int64 // nanoseconds since 1970
}

func (s Stamp) String() string {
	written := time.Unix(0, s.Modified).Format("2006-01-02 15:04:05.000000000")
	return fmt.Sprintf("%d bytes written at %s", s.Size, written)
}

// tick is the time after which another write surely gives a file another time. Linux before 6.13 reads the
// clock for this every 10 ms or more often.
const tick = 20 * time.Millisecond

// firstStamp returns the Stamp of a file that is about to be read. If the file was written to just now,
// another write could keep its time. Then the Stamp is taken a tick later.
func firstStamp(file *os.File) (Stamp, error) {
	s, err := readStamp(file)
	if err != nil || time.Since(time.Unix(0, s.Modified)) > tick {
		return s, err
	}
	time.Sleep(tick)
	return readStamp(file)
}

// readStamp asks for the Stamp of an open file. A network file system then asks its server: what it remembers
// may be a minute old.
func readStamp(file *os.File) (Stamp, error) {
	const flags = unix.AT_EMPTY_PATH | unix.AT_STATX_FORCE_SYNC
	var s unix.Statx_t
	for {
		err := unix.Statx(int(file.Fd()), "", flags, unix.STATX_BASIC_STATS, &s)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM):
			return rememberedStamp(file) // before Linux 4.11, or where a container forbids statx
		case err != nil:
			return Stamp{}, &os.PathError{Op: "statx", Path: file.Name(), Err: err}
		}
		return Stamp{
			Device: unix.Mkdev(s.Dev_major, s.Dev_minor), Inode: s.Ino, Size: int64(s.Size),
			Modified: time.Unix(s.Mtime.Sec, int64(s.Mtime.Nsec)).UnixNano(),
		}, nil
	}
}

// rememberedStamp is readStamp by a call that every kernel has.
func rememberedStamp(file *os.File) (Stamp, error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &s); err != nil {
		return Stamp{}, &os.PathError{Op: "fstat", Path: file.Name(), Err: err}
	}
	return Stamp{Device: s.Dev, Inode: s.Ino, Size: s.Size, Modified: s.Mtim.Nano()}, nil
}
