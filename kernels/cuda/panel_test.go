package cuda

import (
	"testing"

	"jmpi/kernels/kerneltest"
)

// TestFewProcessors factors panels on so few multiprocessors that the slices of the rows are long, and panels
// whose slices have no room in shared memory.
func TestFewProcessors(t *testing.T) {
	d := mustOpen(t, 0)
	processors := d.processors
	for _, d.processors = range []int{1, 3} {
		kerneltest.FactorPanel(t, d)
		kerneltest.OneSign(t, d)
	}
	d.processors, d.shared = processors, 0
	kerneltest.FactorPivoted(t, d)
	kerneltest.SortedRows(t, d)
	kerneltest.Noise(t, d)
}
