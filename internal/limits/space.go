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

// AddressSpace returns what is left of the address space (RLIMIT_AS), and Data what is left for private memory (RLIMIT_DATA).
// When one is used up, the Go runtime and C libraries end the process.
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

// What a process with MPI needs of its address space and of private memory besides its data: buffers of the libraries, and for each
// computing thread its stack and the C library's heap. Measured with Open MPI 4.1 and OpenBLAS 0.3, from the start of main:
// 600 MB and 40 MB a thread of the one, 200 MB and 10 MB a thread of the other.
const (
	spaceBase, spaceThread = 768 << 20, 64 << 20
	dataBase, dataThread   = 256 << 20, 16 << 20
)

// Room returns the limit of memory of this process that leaves least for its data, with what it leaves, if so many threads will
// compute; what is left is negative if the process cannot even start. ok is false if there is no limit.
func Room(threads int) (least Space, ok bool) { return room(AddressSpace(), Data(), int64(threads)) }

func room(address, data Space, threads int64) (least Space, ok bool) {
	address.Left -= spaceBase + threads*spaceThread
	data.Left -= dataBase + threads*dataThread
	if address.Name == "" || data.Name != "" && data.Left < address.Left {
		address = data
	}
	return address, address.Name != ""
}
