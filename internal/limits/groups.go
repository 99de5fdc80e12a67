package limits

import (
	"bufio"
	"io/fs"
	"iter"
	"path"
	"strconv"
	"strings"
)

// Groups returns the folders of the control groups by which a controller ("cpu", "memory", "pids") limits
// this process, each with the version of its interface, 1 or 2: the process's own group, then those above it.
func Groups(root fs.FS, controller string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		groups, err := fs.ReadFile(root, "proc/self/cgroup")
		if err != nil {
			return
		}
		for line := range strings.Lines(string(groups)) {
			fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // hierarchy:controllers:path
			if len(fields) != 3 {
				continue
			}
			mount, version := "sys/fs/cgroup/"+controller, 1
			if fields[1] == "" {
				mount, version = "sys/fs/cgroup", 2
			} else if !strings.Contains(","+fields[1]+",", ","+controller+",") {
				continue
			}
			// A container may see a path of the host, which it cannot open; its own limit is then at the mount point.
			for dir := mount + path.Clean("/"+fields[2]); strings.HasPrefix(dir, mount); dir = path.Dir(dir) {
				if !yield(strings.TrimSuffix(dir, "/"), version) {
					return
				}
			}
		}
	}
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
	defer func() { _ = f.Close() }() // which was only read
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
