package rivals

import (
	"errors"
	"strings"
	"testing"
)

func openGPUOrSkip(t *testing.T) *CUSOLVER {
	t.Helper()
	c, err := OpenCUSOLVER(0)
	if errors.Is(err, ErrMissing) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestCUSOLVERDrivers(t *testing.T) {
	c := openGPUOrSkip(t)
	testDrivers(t, CUSOLVERDrivers(), c.SVD, func(t *testing.T, m, n int, a []float64, r Result) {
		checkWithin(t, 1e-11, m, n, a, r) // gesvdj is not accurate to the last digits
	})
}

func TestCUSOLVERErrors(t *testing.T) {
	c := openGPUOrSkip(t)
	if _, err := c.SVD("gesvd", 2, 2, make([]float64, 3)); err == nil {
		t.Error("3 numbers for a 2×2 matrix: no error")
	}
	if _, err := c.SVD("none", 1, 1, make([]float64, 1)); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("unknown driver: error %v", err)
	}
	if r, err := c.SVD("gesvdp", 0, 3, nil); err != nil || len(r.Sigma) != 0 {
		t.Errorf("0×3: %v, %v", r, err)
	}
}

func TestDeviceDgemm(t *testing.T) {
	gflops, err := DeviceDgemm(256, 0)
	if errors.Is(err, ErrMissing) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil || !(gflops > 0) {
		t.Errorf("%g GFLOP/s, %v", gflops, err)
	}
}

// A GPU that is not there is reported as missing, with or without a driver.
func TestMissingGPU(t *testing.T) {
	if _, err := OpenCUSOLVER(1 << 20); !errors.Is(err, ErrMissing) {
		t.Errorf("GPU 1048576: %v", err)
	}
}
