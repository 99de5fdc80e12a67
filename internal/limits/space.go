package limits

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Space is what a resource limit leaves of the address space of this process.
type Space struct {
	Name  string // of the limit, as ulimit has it; "" where there is none
	Limit int64  // bytes
	Left  int64  // bytes, at least 1
}

// String names the limit.
func (s Space) String() string { return fmt.Sprintf("ulimit %s %d", s.Name, s.Limit>>10) }

// AddressSpace returns what is left of the address space (RLIMIT_AS), and Data what is left for private
// memory (RLIMIT_DATA). When one is used up, the Go runtime and C libraries end the process.
func AddressSpace() Space { return space("-v", rlimit(unix.RLIMIT_AS), os.DirFS("/"), "VmSize:") }

// Data is AddressSpace for private memory.
func Data() Space { return space("-d", rlimit(unix.RLIMIT_DATA), os.DirFS("/"), "VmData:") }

// rlimit returns a resource limit, 0 for none.
func rlimit(resource int) int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(resource, &limit) != nil || limit.Cur >= unlimited {
		return 0
	}
	return int64(max(1, limit.Cur))
}

// space compares a limit with what is used of it by the kernel's account of this process.
func space(name string, limit int64, root fs.FS, used string) Space {
	if limit == 0 {
		return Space{}
	}
	return Space{name, limit, max(1, limit-field(root, "proc/self/status", used)<<10)}
}

// A process with MPI takes, besides its data, so much of its address space and of private memory: buffers of
// the libraries, and for each computing thread its stack and the C library's heap.
type overhead struct{ space, spaceThread, data, dataThread int64 }

// Stage is how far a process has come.
type Stage int

// The stages.
const (
	BeforeMPI Stage = iota // at the start of main
	AfterMPI               // MPI and the devices are open
	Computing              // most threads have started
)

// overheads are what is still to come at a stage. Measured with Open MPI 4.1 and OpenBLAS 0.3: of the
// address space 600 MB and 40 MB a thread before MPI, 400 MB and 25 MB after it; of private memory 200 MB
// and 5 MB, then 160 MB and 5 MB.
var overheads = map[Stage]overhead{
	BeforeMPI: {640 << 20, 40 << 20, 256 << 20, 16 << 20},
	AfterMPI:  {448 << 20, 32 << 20, 240 << 20, 12 << 20},
	Computing: {320 << 20, 16 << 20, 160 << 20, 8 << 20},
}

// Room returns the limit of memory of this process that leaves least for its data, with what it leaves,
// if so many threads compute. What is left is negative if the threads and libraries have no room. ok is
// false if there is no limit.
func Room(threads int, at Stage) (least Space, ok bool) {
	return overheads[at].room(AddressSpace(), Data(), int64(threads))
}

func (o overhead) room(address, data Space, threads int64) (least Space, ok bool) {
	address.Left -= o.space + threads*o.spaceThread
	data.Left -= o.data + threads*o.dataThread
	if address.Name == "" || data.Name != "" && data.Left < address.Left {
		address = data
	}
	return address, address.Name != ""
}
