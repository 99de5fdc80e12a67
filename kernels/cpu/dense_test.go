package cpu

import (
	"testing"

	"jmpi/kernels/kerneltest"
)

func TestDense(t *testing.T) { kerneltest.AllDense(t, mustOpen(t, 2, "avx512")) }
