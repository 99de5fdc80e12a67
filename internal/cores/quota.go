package cores

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// quota returns the CPU time per wall-clock time that control groups grant to this process,
// the least over its group and all groups above; 0 if there is no limit. It knows versions 1 and 2 of
// the interface; root is the file system that holds proc and sys.
func quota(root fs.FS) float64 {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	least := 0.0
	for line := range strings.SplitSeq(string(groups), "\n") {
		fields := strings.SplitN(line, ":", 3) // hierarchy:controllers:path
		if len(fields) != 3 {
			continue
		}
		var limit func(dir string) float64
		var mount string
		switch controllers := "," + fields[1] + ","; {
		case controllers == ",,":
			mount, limit = "sys/fs/cgroup", func(dir string) float64 { return limit2(root, dir) }
		case strings.Contains(controllers, ",cpu,"):
			mount, limit = "sys/fs/cgroup/cpu", func(dir string) float64 { return limit1(root, dir) }
		default:
			continue
		}
		// A container may see a path of the host, which it cannot open; its own limit is then at the mount point.
		for dir := mount + path.Clean("/"+fields[2]); strings.HasPrefix(dir, mount); dir = path.Dir(dir) {
			if q := limit(dir); q > 0 && (least == 0 || q < least) {
				least = q
			}
		}
	}
	return least
}

// limit1 reads version 1: quota and period in microseconds, quota −1 for none.
func limit1(root fs.FS, dir string) float64 {
	return ratio(readLine(root, dir+"/cpu.cfs_quota_us"), readLine(root, dir+"/cpu.cfs_period_us"))
}

// limit2 reads version 2: "quota period", quota "max" for none.
func limit2(root fs.FS, dir string) float64 {
	q, period, _ := strings.Cut(readLine(root, dir+"/cpu.max"), " ")
	return ratio(q, period)
}

// ratio returns a/b, or 0 if either is not a positive number.
func ratio(a, b string) float64 {
	x, errA := strconv.ParseFloat(a, 64)
	y, errB := strconv.ParseFloat(b, 64)
	if errA != nil || errB != nil || x <= 0 || y <= 0 {
		return 0
	}
	return x / y
}
