package cuda

import (
	"testing"

	"jmpi/kernels/kerneltest"
)

// TestFewProcessors factors panels on so few multiprocessors that the slices of the rows are long.
func TestFewProcessors(t *testing.T) {
	d := mustOpen(t, 0)
	for _, processors := range []int{1, 3} {
		d.processors = processors
		kerneltest.FactorPanel(t, d)
		kerneltest.OneSign(t, d)
	}
}
