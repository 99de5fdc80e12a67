package hdf5

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// child is a process that calls the library.
type child struct {
	command *exec.Cmd
	conn    *net.UnixConn // requests, with files, and answers
	decoder *json.Decoder
	stderr  *tail
	gone    error // why it is no more
}

// quietly are what a child gets in its environment: no locks on files, and no threads of a library that this
// program is linked with.
var quietly = []string{"HDF5_USE_FILE_LOCKING=FALSE", "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1",
	"GOTRACEBACK=single", "GOMAXPROCS=2"}

// start starts a child, which opens the library at once.
func start() (*child, error) {
	c := &child{stderr: &tail{}}
	theirs, err := c.connect()
	if err == nil {
		c.command = exec.Command("/proc/self/exe", ChildArgument)
		c.command.Env = append(os.Environ(), quietly...)
		c.command.Stdin, c.command.Stderr = theirs, c.stderr
		// The signals of a terminal are the parent's to answer; the child ends with it.
		c.command.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
		err = errors.Join(c.command.Start(), theirs.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("a process for the HDF5 library cannot be started: %w", err)
	}
	return c, nil
}

// connect makes the connection to a child, and returns the child's end of it.
func (c *child) connect() (*os.File, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	mine, theirs := os.NewFile(uintptr(ends[0]), "hdf5"), os.NewFile(uintptr(ends[1]), "hdf5")
	c.conn, err = connection(mine)
	if err = errors.Join(err, mine.Close()); err != nil {
		return nil, errors.Join(err, theirs.Close())
	}
	c.decoder = json.NewDecoder(c.conn)
	return theirs, nil
}

// ask sends a request, with the files that go with it, and waits for the answer. Its error is of the child,
// or of the library.
func (c *child) ask(r request, files ...*os.File) (reply, error) {
	var a reply
	if c.gone != nil {
		return a, c.gone
	}
	err := send(c.conn, r, files)
	if err == nil {
		err = c.decoder.Decode(&a)
	}
	if err != nil {
		c.gone = c.obituary(err)
		return a, c.gone
	}
	switch {
	case a.Missing:
		return a, &missing{a.Error}
	case a.Error != "":
		return a, errors.New(a.Error)
	}
	return a, nil
}

// missing is the error of a file without a data set of a name. It is fs.ErrNotExist.
type missing struct{ text string }

func (e *missing) Error() string        { return e.text }
func (e *missing) Is(target error) bool { return target == fs.ErrNotExist }

// obituary says why the child does not answer, and ends it.
func (c *child) obituary(cause error) error {
	_ = c.command.Process.Kill() // it may be gone
	status := errors.Join(c.command.Wait(), c.conn.Close())
	said := c.stderr.String()
	switch {
	case strings.Contains(said, tooLong):
		return errors.New("the HDF5 library takes too long with it: the file is damaged; write it again")
	case strings.Contains(said, "SIG") || strings.Contains(said, "ssertion") ||
		strings.Contains(said, "out of memory"):
		return errors.New("the HDF5 library crashes on it: the file is damaged; write it again")
	}
	return fmt.Errorf("the process of the HDF5 library has ended (%w, %w); jmpi must be the program that runs",
		status, cause)
}

// close ends the child.
func (c *child) close() {
	if c.gone != nil {
		return
	}
	c.gone = errors.New("closed")
	_ = c.conn.Close() // which ends it
	_ = c.command.Wait()
}

// tail keeps the beginning of what is written to it.
type tail struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	const most = 4 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b.Write(p[:min(len(p), max(0, most-t.b.Len()))])
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// Library names the library that would be used, with its version.
func Library() (string, error) {
	c, err := take(identity{})
	if err != nil {
		return "", err
	}
	defer c.close()
	a, err := c.ask(request{Op: "library"})
	return a.Library, err
}

// File is a data set of an HDF5 file, open for reading. Its methods may be used by several goroutines.
type File struct {
	Dataset

	mu     sync.Mutex
	child  *child // nil where the numbers are in one piece
	memory *os.File
	window []byte
}

// Open looks at the data set of a name in an open file, at the only one if the name is "". The largest
// rectangle that is read later has so many bytes, as the data set tells.
func Open(file *os.File, name string, largest func(Dataset) int64) (*File, error) {
	f := &File{}
	fd, err := unix.MemfdCreate("hdf5", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memory that processes share: %w", err)
	}
	f.memory = os.NewFile(uintptr(fd), "hdf5")
	of, err := identify(file)
	if err == nil {
		f.child, err = take(of)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	a, err := f.child.ask(request{Op: "describe", Name: name}, file, f.memory)
	if f.Dataset = a.Set; err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if f.Offset >= 0 || elements(f.Dims) == 0 {
		keep(f.child, of)
		f.child = nil
		return f, f.Close()
	}
	const most = 8 << 30 // a chunk has 4 GiB at most
	if bytes := largest(f.Dataset); bytes > most {
		err = fmt.Errorf("chunks of %v numbers are too large", f.Chunk)
	} else {
		err = f.share(bytes + slack)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// share makes the window, which the child cannot make smaller.
func (f *File) share(bytes int64) (err error) {
	if err = f.memory.Truncate(bytes); err == nil {
		_, err = unix.FcntlInt(f.memory.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK)
	}
	if err == nil {
		f.window, err = unix.Mmap(int(f.memory.Fd()), 0, int(bytes), unix.PROT_READ, unix.MAP_SHARED)
	}
	if err != nil {
		return fmt.Errorf("%d bytes of memory that processes share: %w", bytes, err)
	}
	return nil
}

// Read copies a rectangle of the data set, row by row, as the file has its numbers, to dst, which it fills.
func (f *File) Read(first, count []uint64, dst []byte) error {
	if len(dst) > len(f.window) {
		return fmt.Errorf("%d bytes are more than the window has", len(dst))
	}
	if f.Known {
		return f.readChunks(first, count, dst)
	}
	return f.readPlain(first, count, dst)
}

// readPlain is Read by the library.
func (f *File) readPlain(first, count []uint64, dst []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.child.ask(request{Op: "read", First: first, Count: count}); err != nil {
		return err
	}
	copy(dst, f.window)
	return nil
}

// Close ends the child.
func (f *File) Close() (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.child != nil {
		f.child.close()
	}
	if f.window != nil {
		err = unix.Munmap(f.window)
		f.window = nil
	}
	if f.memory != nil {
		err = errors.Join(err, f.memory.Close())
		f.memory = nil
	}
	return err
}
