package limits

import (
	"testing"
	"testing/fstest"
)

func TestSpace(t *testing.T) {
	root := fstest.MapFS{"proc/self/status": file("Name:\tjmpi\nVmSize:\t  3000 kB\nVmData:\t  1000 kB")}
	for _, test := range []struct {
		limit int64
		used  string
		want  Space
	}{
		{0, "VmSize:", Space{}},
		{5000 << 10, "VmSize:", Space{"-v", 5000 << 10, 2000 << 10}},
		{5000 << 10, "VmData:", Space{"-v", 5000 << 10, 4000 << 10}},
		{2000 << 10, "VmSize:", Space{"-v", 2000 << 10, 1}},
		{2000 << 10, "VmNone:", Space{"-v", 2000 << 10, 2000 << 10}},
	} {
		if got := space("-v", test.limit, root, test.used); got != test.want {
			t.Errorf("limit %d, %s %+v, want %+v", test.limit, test.used, got, test.want)
		}
	}
	if text := (Space{"-v", 5000 << 10, 1}).String(); text != "ulimit -v 5000" {
		t.Errorf("%q", text)
	}
}

// The limits of this process can be read; those of a child are tested with the program.
func TestOwnSpace(t *testing.T) {
	for _, s := range []Space{AddressSpace(), Data()} {
		if s != (Space{}) && (s.Name == "" || s.Left < 1 || s.Left >= s.Limit) {
			t.Errorf("%+v", s)
		}
	}
}

func TestRoom(t *testing.T) {
	const gib = 1 << 30
	o := overhead{gib / 4, gib / 16, gib / 4, gib / 32}
	address, data := Space{"-v", 4 * gib, 3 * gib}, Space{"-d", 2 * gib, gib}
	for _, test := range []struct {
		name          string
		address, data Space
		threads       int64
		want          Space
		ok            bool
	}{
		{"no limit", Space{}, Space{}, 2, Space{}, false},
		{"of the address space", address, Space{}, 4, Space{"-v", 4 * gib, 5 * gib / 2}, true},
		{"of private memory", Space{}, data, 16, Space{"-d", 2 * gib, gib / 4}, true},
		{"of both, the less", address, data, 16, Space{"-d", 2 * gib, gib / 4}, true},
		{"too many threads", address, Space{}, 100, Space{"-v", 4 * gib, 3*gib - gib/4 - 100*gib/16}, true},
		{"too little for any", Space{"-v", gib, 1}, Space{}, 1, Space{"-v", gib, 1 - gib/4 - gib/16}, true},
	} {
		got, ok := o.room(test.address, test.data, test.threads)
		if ok != test.ok || ok && got != test.want {
			t.Errorf("%s: %+v, %v, want %+v", test.name, got, ok, test.want)
		}
	}
}

func TestThreads(t *testing.T) {
	status := func(uid, threads string) *fstest.MapFile {
		return file("Name:\tx\nUid:\t" + uid + "\t0\t0\t0\nThreads:\t" + threads)
	}
	processes := fstest.MapFS{"proc/1/status": status("0", "7"), "proc/20/status": status("1000", "3"),
		"proc/30/status": status("1000", "4"), "proc/self/status": status("1000", "4")}
	tests := map[string]struct {
		root      fstest.MapFS
		processes int64
		want      int64
		by        string
	}{
		"no limit":     {processes, 0, 0, ""},
		"of the user":  {processes, 100, 93, "ulimit -u 100"},
		"none is left": {processes, 5, 1, "ulimit -u 5"},
		"version 2, no limit": {fstest.MapFS{"proc/self/cgroup": file("0::/a"),
			"sys/fs/cgroup/a/pids.max": file("max"), "sys/fs/cgroup/a/pids.current": file("3")}, 0, 0, ""},
		"version 2": {fstest.MapFS{"proc/self/cgroup": file("0::/a/b"), "sys/fs/cgroup/a/pids.max": file("50"),
			"sys/fs/cgroup/a/pids.current": file("30"), "sys/fs/cgroup/a/b/pids.max": file("90")}, 100, 20,
			"pids.max = 50 of the control group"},
		"version 1": {fstest.MapFS{"proc/self/cgroup": file("8:pids:/a\n4:memory:/b"),
			"sys/fs/cgroup/pids/a/pids.max": file("50"), "sys/fs/cgroup/pids/a/pids.current": file("60")}, 0, 1,
			"pids.max = 50 of the control group"},
	}
	for name, test := range tests {
		if left, by := threads(test.root, test.processes, "1000"); left != test.want || by != test.by {
			t.Errorf("%s: %d by %q, want %d by %q", name, left, by, test.want, test.by)
		}
	}
}
