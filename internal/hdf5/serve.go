package hdf5

import (
	"encoding/json"
	"errors"
	"fmt"
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

	files []int // describe: the file that is looked into, and the memory that parent and child share
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

// Serve is the life of a child, whose standard input is the connection to its parent: it opens the library,
// and answers the requests that come, until there are no more. It returns the exit code.
func Serve() int {
	conn, err := connection(os.Stdin)
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "for jmpi alone: %v\n", err)
		return 1
	}
	requests := make(chan request)
	ended, answered := make(chan int, 2), make(chan error, 1)
	go func() {
		box := &mailbox{conn: conn}
		for decoder := json.NewDecoder(box); ; {
			var r request
			if decoder.Decode(&r) != nil { // the parent has closed the connection, or is no more
				ended <- 0
				return
			}
			r.files = box.take()
			requests <- r
		}
	}()
	work := make(chan request, 1)
	go func() {
		runtime.LockOSThread() // the library may keep its last error by thread
		s := server{}
		s.failed = s.begin()
		for r := range work {
			answered <- json.NewEncoder(conn).Encode(s.answer(r))
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
	failed  error // why there is no library
	open    *document
	set     Dataset
	files   []int // of the last description
	window  []byte
	doubted int // chunks of no bytes that were looked at
}

// begin opens the library, and limits the memory.
func (s *server) begin() (err error) {
	if s.library, err = openLibrary(); err == nil {
		err = limitMemory(memoryLimit)
	}
	return err
}

func (s *server) answer(r request) (a reply) {
	err := s.failed
	if err == nil {
		switch r.Op {
		case "library":
			a.Library = s.library.String()
		case "describe":
			a.Set, err = s.describe(r.Name, r.files)
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

func (s *server) describe(name string, files []int) (_ Dataset, err error) {
	if len(files) != mostFiles {
		return Dataset{}, errors.New("a request without its files")
	}
	if s.open != nil { // another data set of the file was looked at
		s.open.release()
		for _, file := range s.files {
			_ = unix.Close(file) // which was only read
		}
	}
	s.files = files
	path := fmt.Sprintf("/proc/self/fd/%d", files[0])
	if s.open, err = s.library.openDocument(path); err != nil {
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
	memory := s.files[1]
	err := unix.Fstat(memory, &info)
	if err == nil {
		s.window, err = unix.Mmap(memory, 0, int(info.Size), unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_SHARED)
	}
	if err != nil {
		return fmt.Errorf("the memory that processes share: %w", err)
	}
	return nil
}
