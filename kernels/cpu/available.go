package cpu

import (
	"bufio"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// Available returns the bytes of host memory that this process can still take, 0 if nothing is known.
func Available() int64 { return available(os.DirFS("/")) }

// available returns the bytes of memory that this process can still take, as the kernel estimates it and as its control groups
// (version 2) allow; 0 if nothing is known. root is the root of the file system.
func available(root fs.FS) int64 {
	free := field(root, "proc/meminfo", "MemAvailable:") << 10
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return free
	}
	for line := range strings.Lines(string(text)) {
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		if !ok {
			continue
		}
		for dir := path.Join("sys/fs/cgroup", group); strings.HasPrefix(dir, "sys/fs/cgroup"); dir = path.Dir(dir) {
			limit := number(root, path.Join(dir, "memory.max"))
			if limit == 0 { // no limit, or not the root of a hierarchy
				continue
			}
			// What files occupy can be given back.
			left := max(1, limit-number(root, path.Join(dir, "memory.current"))+field(root, path.Join(dir, "memory.stat"), "file"))
			if free == 0 || left < free {
				free = left
			}
		}
	}
	return free
}

// number reads a file that holds one number, 0 if it holds none.
func number(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// field reads the number after a name in a file of lines "name number …", 0 if it is not there.
func field(root fs.FS, name, key string) int64 {
	f, err := root.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 2 || words[0] != key {
			continue
		}
		if n, err := strconv.ParseInt(words[1], 10, 64); err == nil {
			return n
		}
	}
	return 0
}
