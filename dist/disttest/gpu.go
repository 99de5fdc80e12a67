package disttest

import (
	"testing"

	"jmpi/kernels/cuda"
)

// GPUs returns the number of GPUs, or skips the test.
func GPUs(t testing.TB) int {
	t.Helper()
	n, err := cuda.Devices()
	if err != nil {
		t.Skipf("skipped: no GPU: %v", err)
	}
	if n == 0 {
		t.Skip("skipped: the driver shows no GPU")
	}
	return n
}
