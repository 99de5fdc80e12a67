package limits

import (
	"io/fs"
	"os"
	"path"
)

// Memory returns the bytes of host memory that this process can still take, 0 if nothing is known.
func Memory() int64 { return memory(os.DirFS("/")) }

// memory returns the bytes of memory that this process can still take, as the kernel estimates it and as its
// control groups allow; 0 if nothing is known.
func memory(root fs.FS) int64 {
	free := field(root, "proc/meminfo", "MemAvailable:") << 10
	for dir, version := range Groups(root, "memory") {
		left := memoryOfGroup(root, dir, version)
		if left > 0 && (free == 0 || left < free) {
			free = left
		}
	}
	return free
}

// unlimited is the limit from which version 1 means that there is none; it says 2⁶³ less a page.
const unlimited = 1 << 62

// memoryOfGroup returns what a control group has left, at least 1, or 0 if it has no limit. What files
// occupy can be given back.
func memoryOfGroup(root fs.FS, dir string, version int) int64 {
	limit, used, files := "memory.max", "memory.current", []string{"active_file", "inactive_file"}
	if version == 1 {
		limit, used, files = "memory.limit_in_bytes", "memory.usage_in_bytes",
			[]string{"total_active_file", "total_inactive_file"}
	}
	most := number(root, path.Join(dir, limit))
	if most <= 0 || most >= unlimited {
		return 0
	}
	left := most - number(root, path.Join(dir, used))
	for _, key := range files {
		left += field(root, path.Join(dir, "memory.stat"), key)
	}
	return max(1, left)
}
