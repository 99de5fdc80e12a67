package checkpoint

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// pageBytes is the unit of what is written past the cache: of places in the file, lengths and memory.
	pageBytes = 4 << 10
	// directBytes are the least that are written so: less is not worth waiting for the disk.
	directBytes = 64 << 10
	// bounceBytes are written at a time from memory that lies otherwise.
	bounceBytes = 1 << 20
)

// pastCache writes to a file past the system's cache of files where it can. A state is written once and not
// read again, so a copy in the cache would only take processor time from what is computed meanwhile.
type pastCache struct {
	file   *os.File    // for what is less than pages, too
	direct output      // nil where the file system has no such thing
	cannot atomic.Bool // it turned out that it has not
}

// output is an open file.
type output interface {
	io.WriterAt
	io.Closer
}

// openPastCache opens a file for writing.
func openPastCache(name string) (*pastCache, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	w := &pastCache{file: file}
	if direct, err := os.OpenFile(name, os.O_WRONLY|unix.O_DIRECT, 0); err == nil {
		w.direct = direct
	}
	return w, nil
}

// WriteAt writes raw at a place. Several goroutines may call it.
func (w *pastCache) WriteAt(raw []byte, at int64) error {
	head := -at & (pageBytes - 1)
	if w.direct == nil || w.cannot.Load() || int64(len(raw)) < head+directBytes {
		_, err := w.file.WriteAt(raw, at)
		return err
	}
	tail := head + (int64(len(raw))-head)&^(pageBytes-1)
	_, err := w.file.WriteAt(raw[:head], at)
	if err == nil {
		_, err = w.file.WriteAt(raw[tail:], at+tail)
	}
	if err == nil {
		err = w.pages(raw[head:tail], at+head)
	}
	return err
}

// pages writes whole pages.
func (w *pastCache) pages(raw []byte, at int64) error {
	err := bounced(raw, func(offset int64, pages []byte) error {
		_, err := w.direct.WriteAt(pages, at+offset)
		return err
	})
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
		w.cannot.Store(true)
		_, err = w.file.WriteAt(raw, at)
	}
	return err
}

// bounced calls f for parts of raw in memory that begins at a page: where they are, or else copied.
func bounced(raw []byte, f func(offset int64, pages []byte) error) error {
	if beyondPage(raw) == 0 {
		return f(0, raw)
	}
	room := make([]byte, min(bounceBytes, len(raw))+pageBytes)
	room = room[(pageBytes-beyondPage(room))%pageBytes:]
	for offset := 0; offset < len(raw); offset += bounceBytes {
		part := raw[offset:min(offset+bounceBytes, len(raw))]
		if err := f(int64(offset), room[:copy(room, part)]); err != nil {
			return err
		}
	}
	return nil
}

// beyondPage tells how far beyond the begin of a page memory begins.
func beyondPage(raw []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % pageBytes)
}

// Sync waits until what was written is on the disk.
func (w *pastCache) Sync() error { return w.file.Sync() }

// Close closes the file.
func (w *pastCache) Close() error {
	err := w.file.Close()
	if w.direct != nil {
		err = errors.Join(err, w.direct.Close())
	}
	return err
}
