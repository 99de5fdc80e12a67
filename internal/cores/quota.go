package cores

import (
	"io/fs"
	"strconv"
	"strings"

	"jmpi/internal/limits"
)

// quota returns the CPU time per wall-clock time that control groups grant to this process,
// the least over its group and all groups above; 0 if there is no limit. It knows versions 1 and 2 of
// the interface; root is the file system that holds proc and sys.
func quota(root fs.FS) float64 {
	least := 0.0
	for dir, version := range limits.Groups(root, "cpu") {
		limit := limit2
		if version == 1 {
			limit = limit1
		}
		if q := limit(root, dir); q > 0 && (least == 0 || q < least) {
			least = q
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
