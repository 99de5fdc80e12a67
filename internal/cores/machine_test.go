package cores

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }

func TestGroup(t *testing.T) {
	const cpu = "sys/devices/system/cpu/cpu"
	root := fstest.MapFS{}
	// Two sockets of two cores of two threads; the sockets alternate in the numbering.
	for i, siblings := range []string{"0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7"} {
		dir := cpu + string(rune('0'+i)) + "/topology/"
		root[dir+"thread_siblings_list"] = file(siblings)
		root[dir+"physical_package_id"] = file(string(rune('0' + i%2)))
	}
	tests := []struct {
		cpus []int
		want []Core
	}{
		{[]int{0, 1, 2, 3, 4, 5, 6, 7}, []Core{{0, 4}, {2, 6}, {1, 5}, {3, 7}}},
		{[]int{1, 2, 6}, []Core{{2, 6}, {1}}},
		{[]int{8, 9}, []Core{{8}, {9}}}, // unknown ones
		{nil, nil},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, group(root, test.cpus)); diff != "" {
			t.Errorf("CPUs %v (-want +got)\n%s", test.cpus, diff)
		}
	}
}

func TestParseList(t *testing.T) {
	got, err := parseList("0-2,5,8-9\n")
	if diff := cmp.Diff([]int{0, 1, 2, 5, 8, 9}, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got)\n%s", err, diff)
	}
	for _, bad := range []string{"", "a", "1-", "1,,2"} {
		if got, err := parseList(bad); err == nil {
			t.Errorf("%q: %v, want an error", bad, got)
		}
	}
}

func TestQuota(t *testing.T) {
	tests := []struct {
		name string
		root fstest.MapFS
		want float64
	}{
		{"no cgroups", fstest.MapFS{}, 0},
		{"version 2, none", fstest.MapFS{
			"proc/self/cgroup":          file("0::/a"),
			"sys/fs/cgroup/a/cpu.max":   file("max 100000"),
			"sys/fs/cgroup/cpu.max":     file("max 100000"),
			"sys/fs/cgroup/b/cpu.max":   file("100000 100000"),
			"sys/fs/cgroup/a/b/cpu.max": file("100000 100000"),
		}, 0},
		{"version 2, the parent's is less", fstest.MapFS{
			"proc/self/cgroup":          file("0::/a/b"),
			"sys/fs/cgroup/a/cpu.max":   file("250000 100000"),
			"sys/fs/cgroup/a/b/cpu.max": file("400000 100000"),
		}, 2.5},
		{"version 2, in a container", fstest.MapFS{
			"proc/self/cgroup":      file("0::/../of/the/host"),
			"sys/fs/cgroup/cpu.max": file("150000 100000"),
		}, 1.5},
		{"version 1", fstest.MapFS{
			"proc/self/cgroup":                          file("3:cpuset:/x\n2:cpu,cpuacct:/d\n0::/"),
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":        file("-1"),
			"sys/fs/cgroup/cpu/cpu.cfs_period_us":       file("100000"),
			"sys/fs/cgroup/cpu/d/cpu.cfs_quota_us":      file("50000"),
			"sys/fs/cgroup/cpu/d/cpu.cfs_period_us":     file("100000"),
			"sys/fs/cgroup/cpuset/x/cpu.cfs_quota_us":   file("1"),
			"sys/fs/cgroup/cpuset/x/cpu.cfs_period_us":  file("1"),
			"sys/fs/cgroup/cpuacct/d/cpu.cfs_quota_us":  file("1"),
			"sys/fs/cgroup/cpuacct/d/cpu.cfs_period_us": file("1"),
		}, 0.5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := quota(test.root); got != test.want {
				t.Errorf("quota %g, want %g", got, test.want)
			}
		})
	}
}

func TestParent(t *testing.T) {
	root := fstest.MapFS{"proc/7/status": file("Name:\tsh\nPid:\t7\nPPid:\t42\nTracerPid:\t0")}
	if got := parent(root, "proc/7"); got != 42 {
		t.Errorf("parent %d, want 42", got)
	}
	if got := parent(root, "proc/8"); got != 0 {
		t.Errorf("parent of an unknown process %d, want 0", got)
	}
}
