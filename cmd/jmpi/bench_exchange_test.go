package main

import (
	"slices"
	"testing"
)

func TestParseSizes(t *testing.T) {
	got, err := parseSizes([]string{"8", "64K", "1M", "2G"})
	if want := []int64{8, 1 << 16, 1 << 20, 2 << 30}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for _, bad := range []string{"", "K", "0", "-8", "12", "1T", "1.5M", "99999999G"} {
		if _, err := parseSizes([]string{bad}); exitCode(err) != exitUsage {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := parseSizes(nil); exitCode(err) != exitUsage {
		t.Errorf("no size: %v", err)
	}
}
