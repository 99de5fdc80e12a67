package matio

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// earlyBytes is how much is written until the system is asked to bring it to the disk.
const earlyBytes = 4 << 20

// Writer writes parts of the matrix of a .npy file of float64 in Fortran order. Any number of writers, in one
// or several processes, may write disjoint parts of one file at the same time, and so may several goroutines
// by one Writer.
type Writer struct {
	Rows, Cols int64

	file  *os.File
	base  int64        // bytes before the data
	dirty atomic.Int64 // bytes that were written since the system was asked to bring them to the disk
}

// CreateNpy creates the file path, or empties it, for a rows×cols matrix, at its full length, zero.
func CreateNpy(path string, rows, cols int64) (*Writer, error) {
	if rows < 0 || cols < 0 {
		return nil, fmt.Errorf("create %s: a %d×%d matrix", path, rows, cols)
	}
	if err := (&File{path: path}).setShape(rows, cols); err != nil {
		return nil, fmt.Errorf("create %w", err)
	}
	header := formatNpyHeader(true, fmt.Sprintf("(%d, %d)", rows, cols))
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return (&Writer{Rows: rows, Cols: cols, file: file}).begin(header)
}

// begin writes the header, and gives the file its length.
func (w *Writer) begin(header []byte) (*Writer, error) {
	w.base = int64(len(header))
	_, err := w.file.Write(header)
	if err == nil {
		err = w.file.Truncate(w.Size())
	}
	if err != nil {
		return nil, errors.Join(err, w.file.Close())
	}
	return w, nil
}

// OpenNpy opens a file that CreateNpy has made, here or in another process, to write parts of it.
func OpenNpy(path string) (*Writer, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	w, err := openWriter(path, file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return w, nil
}

// OpenAt opens a file to write parts of the matrix that has its numbers from byte base on.
func OpenAt(path string, base, rows, cols int64) (*Writer, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	w := &Writer{Rows: rows, Cols: cols, file: file, base: base}
	info, err := file.Stat()
	if err == nil && (rows < 0 || cols < 0 || rows*cols > 0 && base < 0 || info.Size() < w.Size()) {
		err = fmt.Errorf("%s: no room for a %d×%d matrix at byte %d", path, rows, cols, base)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return w, nil
}

func openWriter(path string, file *os.File) (*Writer, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	h, err := readNpyHeader(path, file, info.Size())
	if err != nil {
		return nil, err
	}
	if h.descr != "<f8" || !h.fortran || len(h.shape) != 2 {
		return nil, &Error{Path: path, What: "not a matrix of little-endian float64 in Fortran order"}
	}
	f := &File{path: path, size: info.Size()}
	if err := f.openFlat(flat{base: h.data, dtype: float64LE}, h.shape[0], h.shape[1]); err != nil {
		return nil, err
	}
	return &Writer{Rows: f.Rows, Cols: f.Cols, file: file, base: h.data}, nil
}

// Narrow makes the matrix one of its first cols columns, and gives the disk space of the others back. No
// other writer may have the file open.
func (w *Writer) Narrow(cols int64) error {
	if cols < 0 || cols > w.Cols {
		return fmt.Errorf("%s: %d columns are not a part of a %d×%d matrix", w.file.Name(), cols, w.Rows, w.Cols)
	}
	header := formatNpyHeader(true, fmt.Sprintf("(%d, %d)", w.Rows, cols))
	if int64(len(header)) != w.base {
		return fmt.Errorf("%s: its header has %d bytes instead of %d", w.file.Name(), w.base, len(header))
	}
	if _, err := w.file.WriteAt(header, 0); err != nil {
		return err
	}
	w.Cols = cols
	return w.file.Truncate(w.Size())
}

// WriteColumns writes src, column-major, Rows×n with leading dimension ld ≥ Rows, as columns j0 ≤ j < j0+n.
func (w *Writer) WriteColumns(j0 int64, src []float64, ld int, n int) error {
	return w.write(0, j0, w.Rows, int64(n), src, ld)
}

// WritePart writes src, column-major, rows×cols with leading dimension ld ≥ rows, at row i0 and column j0.
func (w *Writer) WritePart(i0, j0, rows, cols int64, src []float64, ld int) error {
	return w.write(i0, j0, rows, cols, src, ld)
}

// write is WritePart. Numbers that follow one another in the file and in memory are written at once.
func (w *Writer) write(i0, j0, rows, cols int64, src []float64, ld int) error {
	if i0 < 0 || rows < 0 || rows > w.Rows-i0 || j0 < 0 || cols < 0 || cols > w.Cols-j0 {
		return fmt.Errorf("write %s: rows [%d, %d) and columns [%d, %d) are not a part of a %d×%d matrix",
			w.file.Name(), i0, i0+rows, j0, j0+cols, w.Rows, w.Cols)
	}
	if err := fits(rows, cols, src, ld); err != nil {
		return fmt.Errorf("write %s: %w", w.file.Name(), err)
	}
	if rows == 0 || cols == 0 {
		return nil
	}
	if rows == w.Rows && int64(ld) == rows { // one long column
		rows, cols = rows*cols, 1
	}
	for j := range cols {
		if err := w.put(w.base+8*(i0+(j0+j)*w.Rows), src[j*int64(ld):][:rows]); err != nil {
			return err
		}
	}
	return nil
}

// put writes numbers from a place in the file on, and has the system bring them to the disk meanwhile.
func (w *Writer) put(at int64, x []float64) error {
	raw := bytesOf(x)
	if !littleEndian {
		raw = slices.Clone(raw)
		swapBytes(raw, 8)
	}
	if _, err := w.file.WriteAt(raw, at); err != nil {
		return err
	}
	if w.dirty.Add(int64(len(raw))) >= earlyBytes {
		w.dirty.Store(0)
		// Not every file system has it, and what fails now Sync tells.
		_ = unix.SyncFileRange(int(w.file.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
	}
	return nil
}

// Size is the length of the file in bytes.
func (w *Writer) Size() int64 { return w.base + 8*w.Rows*w.Cols }

// Reserve takes the disk space of the whole file, so that no later write fails for want of it. The error is
// errors.ErrUnsupported where the file system has no such call.
func (w *Writer) Reserve() error {
	for {
		err := unix.Fallocate(int(w.file.Fd()), 0, 0, w.Size())
		if errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			return fmt.Errorf("reserve %d bytes for %s: %w", w.Size(), w.file.Name(), err)
		}
		return nil
	}
}

// Sync waits until what was written is on the disk; only then all write errors are known.
func (w *Writer) Sync() error { return w.file.Sync() }

// Close closes the file. Its error is a write error too.
func (w *Writer) Close() error { return w.file.Close() }
