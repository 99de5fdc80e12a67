package cuda

import (
	"testing"
	"unsafe"

	"jmpi/internal/nvidia"
	"jmpi/kernels/kerneltest"
)

// fill writes ones to all bits of a block's shared memory: as float64 they are NaN.
const fill = `extern "C" __global__ void fill(unsigned long long words)
{
	extern __shared__ volatile unsigned long long shared[];
	for (unsigned long long i = threadIdx.x; i < words; i += blockDim.x)
		shared[i] = ~0ull;
}
`

// TestLeftovers launches every kernel after one that leaves NaN in the shared memory of all multiprocessors.
// No kernel may use what it has not written there. cuSOLVER's Potrf leaves NaN too.
func TestLeftovers(t *testing.T) {
	d := mustOpen(t, 0)
	c, err := loadCompiler()
	must(t, err)
	code, err := c.compile("fill.cu", fill, nil, append(options, "--gpu-architecture="+d.architecture))
	must(t, err)
	var module uintptr
	must(t, d.check("cuModuleLoadData", nvidia.Invoke(d.cuModuleLoadData, uintptr(unsafe.Pointer(&module)),
		uintptr(unsafe.Pointer(unsafe.SliceData(code))))))
	d.modules = append(d.modules, module)
	var names cStrings
	defer names.pin.Unpin()
	k := &kernel{shared: defaultShared}
	must(t, d.check("cuModuleGetFunction", nvidia.Invoke(d.cuModuleGetFunction,
		uintptr(unsafe.Pointer(&k.function)), module, names.add("fill"))))
	d.kernels["fill"] = k
	filled := 0
	var before func() error
	before = func() error {
		d.before = nil
		filled++
		// A block has all that there is, so every multiprocessor gets some.
		err := d.launch("fill", 2*d.processors, 1, 1, 1024, d.shared, uint64(d.shared/8))
		d.before = before
		return err
	}
	d.before = before
	t.Run("pivots", func(t *testing.T) { kerneltest.All(t, d) })
	t.Run("single", func(t *testing.T) { singleProducts(t, d) })
	t.Run("dense", func(t *testing.T) { kerneltest.AllDense(t, d) })
	if filled < 100 {
		t.Errorf("%d launches only", filled)
	}
}
