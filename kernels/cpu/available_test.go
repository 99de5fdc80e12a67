package cpu

import (
	"testing"
	"testing/fstest"
)

func TestAvailable(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	meminfo := file("MemTotal:       100 kB\nMemAvailable:   90 kB\n")
	tests := map[string]struct {
		root fstest.MapFS
		want int64
	}{
		"nothing known": {fstest.MapFS{}, 0},
		"no groups":     {fstest.MapFS{"proc/meminfo": meminfo}, 90 << 10},
		"no limit": {fstest.MapFS{"proc/meminfo": meminfo, "proc/self/cgroup": file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max": file("max\n")}, 90 << 10},
		"limit of the group": {fstest.MapFS{"proc/meminfo": meminfo, "proc/self/cgroup": file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max": file("50000\n"), "sys/fs/cgroup/a/b/memory.current": file("20000\n"),
			"sys/fs/cgroup/a/b/memory.stat": file("anon 15000\nfile 5000\n")}, 35000},
		"limit above the group": {fstest.MapFS{"proc/meminfo": meminfo, "proc/self/cgroup": file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max": file("max\n"), "sys/fs/cgroup/a/memory.max": file("30000\n")}, 30000},
		"used up": {fstest.MapFS{"proc/meminfo": meminfo, "proc/self/cgroup": file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("10\n"), "sys/fs/cgroup/memory.current": file("20\n")}, 1},
	}
	for name, test := range tests {
		if got := available(test.root); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
