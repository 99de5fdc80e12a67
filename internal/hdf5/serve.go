package hdf5

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ChildArgument is the one argument of a child.
const ChildArgument = "hdf5-child"

// The files of a child beyond the standard ones: the file that is looked into, and the memory that it shares
// with its parent.
const (
	fileDescriptor   = 3
	windowDescriptor = 4
)

// The limits of a child. Memory counts beyond what its chunks take.
const (
	memoryLimit = 1 << 30
	// timeLimit is the processor time that a request may take, with a second more for each slowBytes.
	timeLimit = 60 * time.Second
	slowBytes = 1 << 20
)

// request is what a parent asks of its child.
type request struct {
	Op    string
	Name  string    `json:",omitempty"` // describe: of the data set
	First []uint64  `json:",omitempty"` // read: the first element, and how many there are
	Count []uint64  `json:",omitempty"`
	Path  string    `json:",omitempty"` // create, finish: of the file
	Sets  []NewSet  `json:",omitempty"` // create
	Notes []Setting `json:",omitempty"` // finish
}

// reply is what a child answers.
type reply struct {
	Error   string  `json:",omitempty"`
	Missing bool    `json:",omitempty"` // describe: there is nothing of that name
	Library string  `json:",omitempty"` // library
	Set     Dataset // describe
	Offsets []int64 `json:",omitempty"` // create
	Chunks  []chunk `json:",omitempty"` // chunks
}

// Serve is the life of a child: it answers the requests that come on in, until there are no more. It returns
// the exit code.
func Serve(in io.Reader, out io.Writer) int {
	requests := make(chan request)
	ended, answered := make(chan int, 2), make(chan error, 1)
	go func() {
		for decoder := json.NewDecoder(in); ; {
			var r request
			if decoder.Decode(&r) != nil { // the parent has closed the pipe, or is no more
				ended <- 0
				return
			}
			requests <- r
		}
	}()
	work := make(chan request, 1)
	go func() {
		runtime.LockOSThread() // the library may keep its last error by thread
		s := server{}
		for r := range work {
			answered <- json.NewEncoder(out).Encode(s.answer(r))
		}
	}()
	for {
		select {
		case code := <-ended:
			return code
		case r := <-requests:
			work <- r
			if code := watch(r, answered, ended); code >= 0 {
				return code
			}
		}
	}
}

// watch waits for the end of a request. It returns the exit code if the child must end, or −1.
func watch(r request, answered <-chan error, ended <-chan int) int {
	limit := processorTime() + timeLimit
	if r.Op == "read" || r.Op == "chunks" {
		limit += time.Duration(elements(r.Count)/slowBytes) * 8 * time.Second
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-answered:
			if err != nil { // nobody reads the answers
				return 1
			}
			return -1
		case code := <-ended:
			return code
		case <-tick.C:
			if processorTime() > limit {
				_, _ = fmt.Fprintln(os.Stderr, tooLong)
				return 1
			}
		}
	}
}

// tooLong is what a child says on stderr if a request has taken too much time.
const tooLong = "took too long"

// processorTime is what this process has used.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// elements is the product of extents, or a large number.
func elements(count []uint64) int64 {
	n := uint64(1)
	for _, c := range count {
		if n *= c; c > 1<<31 || n > 1<<40 {
			return 1 << 40
		}
	}
	return int64(n)
}

// server answers requests.
type server struct {
	library *library
	open    *document
	set     Dataset
	window  []byte
	doubted int // chunks of no bytes that were looked at
}

func (s *server) answer(r request) (a reply) {
	err := s.ready()
	if err == nil {
		switch r.Op {
		case "library":
			a.Library = s.library.String()
		case "describe":
			a.Set, err = s.describe(r.Name)
		case "read":
			err = s.read(r.First, r.Count)
		case "chunks":
			a.Chunks, err = s.chunks(r.First, r.Count)
		case "create":
			a.Offsets, err = s.library.create(r.Path, r.Sets)
		case "finish":
			err = s.library.finish(r.Path, r.Notes)
		default:
			err = fmt.Errorf("no request %q", r.Op)
		}
	}
	if err != nil {
		a.Error, a.Missing = err.Error(), errors.Is(err, fs.ErrNotExist)
	}
	return a
}

// ready opens the library, and limits the memory.
func (s *server) ready() (err error) {
	if s.library == nil {
		if s.library, err = openLibrary(); err == nil {
			err = limitMemory(memoryLimit)
		}
	}
	return err
}

// limitMemory limits the memory of this process that only it has.
func limitMemory(bytes uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &now); err != nil {
		return fmt.Errorf("the limit of memory: %w", err)
	}
	now.Cur = min(bytes, now.Max)
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &now); err != nil {
		return fmt.Errorf("limit the memory: %w", err)
	}
	return nil
}

func (s *server) describe(name string) (Dataset, error) {
	var err error
	if s.open, err = s.library.openDocument(fmt.Sprintf("/proc/self/fd/%d", fileDescriptor)); err != nil {
		return Dataset{}, fmt.Errorf("the HDF5 library cannot open it (%w); write it again, or copy it again", err)
	}
	if s.set, err = s.open.describe(name); err != nil {
		return s.set, err
	}
	// The library unpacks a chunk from one buffer to another.
	return s.set, limitMemory(memoryLimit + 4*8*uint64(elements(s.set.Chunk)))
}

// read puts a rectangle of the data set into the window, row by row, in the bytes of the file.
func (s *server) read(first, count []uint64) error {
	if s.open == nil || len(first) != len(s.set.Dims) || len(count) != len(first) {
		return errors.New("a request that does not fit")
	}
	var h holder
	defer h.release()
	l := s.library
	set, _, err := s.open.object(&h, s.set.Name)
	if err != nil {
		return err
	}
	kind, err := l.id(&h, "H5Tclose", "H5Dget_type", set)
	if err != nil {
		return err
	}
	size, err := l.call("H5Tget_size", kind)
	if err != nil {
		return err
	}
	if err := s.share(); err != nil {
		return err
	}
	if bytes := elements(count) * int64(size); bytes > int64(len(s.window)) || slices.Contains(count, 0) {
		return errors.New("a rectangle that does not fit in the window")
	}
	from, err := l.id(&h, "H5Sclose", "H5Dget_space", set)
	if err != nil {
		return err
	}
	if _, err = l.status("H5Sselect_hyperslab", from, 0, uintptr(unsafe.Pointer(&first[0])), 0,
		uintptr(unsafe.Pointer(&count[0])), 0); err != nil {
		return err
	}
	to, err := l.id(&h, "H5Sclose", "H5Screate_simple", uintptr(len(count)),
		uintptr(unsafe.Pointer(&count[0])), 0)
	if err != nil {
		return err
	}
	_, err = l.status("H5Dread", set, kind, to, from, 0, uintptr(unsafe.Pointer(&s.window[0])))
	return err
}

// share maps the window.
func (s *server) share() error {
	if s.window != nil {
		return nil
	}
	var info unix.Stat_t
	err := unix.Fstat(windowDescriptor, &info)
	if err == nil {
		s.window, err = unix.Mmap(windowDescriptor, 0, int(info.Size), unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_SHARED)
	}
	if err != nil {
		return fmt.Errorf("the memory that processes share: %w", err)
	}
	return nil
}
