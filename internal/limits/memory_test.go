package limits

import (
	"testing"
	"testing/fstest"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }

func TestMemory(t *testing.T) {
	meminfo := file("MemTotal:       100 kB\nMemAvailable:   90 kB")
	tests := map[string]struct {
		root fstest.MapFS
		want int64
	}{
		"nothing known": {fstest.MapFS{}, 0},
		"no groups":     {fstest.MapFS{"proc/meminfo": meminfo}, 90 << 10},
		"no limit": {fstest.MapFS{"proc/meminfo": meminfo, "proc/self/cgroup": file("0::/a/b"),
			"sys/fs/cgroup/a/b/memory.max": file("max")}, 90 << 10},
		"limit of the group": {fstest.MapFS{"proc/meminfo": meminfo, "proc/self/cgroup": file("0::/a/b"),
			"sys/fs/cgroup/a/b/memory.max": file("50000"), "sys/fs/cgroup/a/b/memory.current": file("20000"),
			"sys/fs/cgroup/a/b/memory.stat": file("anon 15000\nfile 9000\ninactive_file 3000\nactive_file 2000")},
			35000},
		"limit above the group": {fstest.MapFS{"proc/meminfo": meminfo, "proc/self/cgroup": file("0::/a/b"),
			"sys/fs/cgroup/a/b/memory.max": file("max"), "sys/fs/cgroup/a/memory.max": file("30000")}, 30000},
		"used up": {fstest.MapFS{"proc/meminfo": meminfo, "proc/self/cgroup": file("0::/"),
			"sys/fs/cgroup/memory.max": file("10"), "sys/fs/cgroup/memory.current": file("20")}, 1},
		"in a container": {fstest.MapFS{"proc/meminfo": meminfo, "proc/self/cgroup": file("0::/../of/the/host"),
			"sys/fs/cgroup/memory.max": file("40000")}, 40000},

		"version 1, no limit": {fstest.MapFS{"proc/meminfo": meminfo, "proc/self/cgroup": file("4:memory:/a\n0::/"),
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": file("9223372036854771712"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   file("9223372036854771712")}, 90 << 10},
		"version 1": {fstest.MapFS{"proc/meminfo": meminfo,
			"proc/self/cgroup": file("7:cpu,cpuacct:/x\n4:memory:/a/b\n0::/"),
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": file("50000"),
			"sys/fs/cgroup/memory/a/b/memory.usage_in_bytes": file("20000"),
			"sys/fs/cgroup/memory/a/b/memory.stat": file("cache 9000\ninactive_file 1\nactive_file 1\n" +
				"total_inactive_file 3000\ntotal_active_file 2000"),
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": file("1")}, 35000},
		"version 1, limit above the group": {fstest.MapFS{"proc/meminfo": meminfo,
			"proc/self/cgroup": file("4:memory:/a/b"), "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": file("80000"),
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": file("50000"),
			"sys/fs/cgroup/memory/a/memory.usage_in_bytes": file("45000")}, 5000},
		"version 1, with another controller": {fstest.MapFS{"proc/meminfo": meminfo,
			"proc/self/cgroup": file("4:hugetlb,memory:/a"),
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": file("50000")}, 50000},
		"version 1, in a container": {fstest.MapFS{"proc/meminfo": meminfo,
			"proc/self/cgroup":                           file("4:memory:/docker/0123"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("60000"),
			"sys/fs/cgroup/memory/memory.usage_in_bytes": file("10000")}, 50000},
		"version 1, used up": {fstest.MapFS{"proc/meminfo": meminfo, "proc/self/cgroup": file("4:memory:/"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("10000"),
			"sys/fs/cgroup/memory/memory.usage_in_bytes": file("20000")}, 1},
	}
	for name, test := range tests {
		if got := memory(test.root); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
