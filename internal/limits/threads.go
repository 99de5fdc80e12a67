package limits

import (
	"io/fs"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"
)

// plenty is the number of a user's threads from which a limit is not looked at: these are counted
// process by process.
const plenty = 1 << 14

// Threads returns how many threads this process can still start, and what limits them; 0 and "" if
// there is no limit.
func Threads() (left int64, by string) {
	processes := int64(0)
	if os.Geteuid() != 0 { // the kernel does not limit root
		processes = rlimit(unix.RLIMIT_NPROC)
	}
	if processes > plenty {
		processes = 0
	}
	return threads(os.DirFS("/"), processes, strconv.Itoa(os.Getuid()))
}

// threads is Threads where a user, by the number, may have so many threads in all; 0 for no limit.
func threads(root fs.FS, processes int64, user string) (left int64, by string) {
	if processes > 0 {
		left, by = max(1, processes-threadsOf(root, user)), "ulimit -u "+strconv.FormatInt(processes, 10)
	}
	for dir := range Groups(root, "pids") {
		most := number(root, path.Join(dir, "pids.max"))
		if most == 0 {
			continue
		}
		if n := max(1, most-number(root, path.Join(dir, "pids.current"))); left == 0 || n < left {
			left, by = n, "pids.max = "+strconv.FormatInt(most, 10)+" of the control group"
		}
	}
	return left, by
}

// threadsOf counts the threads of all processes of a user.
func threadsOf(root fs.FS, user string) (n int64) {
	entries, err := fs.ReadDir(root, "proc")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		status := path.Join("proc", e.Name(), "status")
		if strconv.FormatInt(field(root, status, "Uid:"), 10) == user {
			n += field(root, status, "Threads:")
		}
	}
	return n
}
