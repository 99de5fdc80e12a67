package matio

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// mostTimes is how often a data set is unpacked, on the whole, until it is kept in a file of its own.
const mostTimes = 4

// spill is a copy of a data set, unpacked, in a temporary file, for those who read it in parts that do not
// fit its tiles.
type spill struct {
	once sync.Once
	file *os.File
	flat flat
}

// copied returns the copy of the data set, nil if there is none.
func (p *packed) copied() *flat {
	p.mu.Lock()
	often := p.work > mostTimes*p.lines*p.length*p.size+p.most
	p.mu.Unlock()
	if !often {
		return nil
	}
	p.spill.once.Do(func() {
		file, err := temporary()
		if err == nil {
			if err = p.writeTo(file); err == nil {
				p.spill.file, p.spill.flat = file, p.flat
				p.spill.flat.r = file
				return
			}
			_ = file.Close()
		}
		// Without room for a copy it takes longer, and comes to the same.
	})
	if p.spill.file == nil {
		return nil
	}
	return &p.spill.flat
}

// temporary makes a file without a name.
func temporary() (*os.File, error) {
	fd, err := unix.Open(os.TempDir(), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(fd), "temporary"), nil
	}
	file, err := os.CreateTemp("", "jmpi.*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// writeTo writes all numbers, line by line.
func (p *packed) writeTo(file *os.File) error {
	if err := unix.Fallocate(int(file.Fd()), 0, 0, p.lines*p.length*p.size); err != nil &&
		!errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	for i := int64(0); i < p.lines; i += p.height {
		for j := int64(0); j < p.length; j += p.width {
			b, err := p.unpack([2]int64{i / p.height, j / p.width})
			if err != nil {
				return err
			}
			width := min(p.width, p.length-j) * p.size
			for k := int64(0); k*width < int64(len(b)); k++ {
				if _, err := file.WriteAt(b[k*width:][:width], ((i+k)*p.length+j)*p.size); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// close gives the file back.
func (s *spill) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
