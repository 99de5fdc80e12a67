package disttest

import (
	"sync/atomic"
	"testing"

	"jmpi/kernels"
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

// opened counts the devices that OpenGPU has opened.
var opened atomic.Int64

// OpenGPU opens one GPU after the other, and the first again after the last.
func OpenGPU() (kernels.Backend, error) {
	count, err := cuda.Devices()
	if err != nil {
		return nil, err
	}
	return cuda.Open(int(opened.Add(1)) % count)
}
