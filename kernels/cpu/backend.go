package cpu

// #cgo CFLAGS: -std=c11 -O3
// #cgo LDFLAGS: -lopenblas -lm
// #include <stdlib.h>
// #include "kernels.h"
// void openblas_set_num_threads(int);
// char *openblas_get_config(void);
import "C"

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"jmpi/internal/limits"
	"jmpi/kernels"
)

// preferredWidth is the width of the narrow block-columns. By BenchmarkSVD 32 and 64 are within a few percent
// of each other up to n = 1024. At n = 2048 the block-columns come from main memory, and 64 is a tenth
// faster; but it leaves U less orthogonal (0.86 against 0.61 in the units of the check). 16 is slower.
const preferredWidth = 32

// widths are those of sweeps in float32, whose result is refined: from this order on 64 is faster. It takes a
// sweep more below (docs/decisions/060-one-sweep-in-float32.md).
var widths = []kernels.Preference{{Type: kernels.Float32, Order: 1400, Width: 2 * preferredWidth}}

// device implements kernels.Backend. All methods are synchronous.
type device struct {
	threads int
	kernels [2]*C.struct_jmpi_kernels // by element type
	heap    *kernels.Heap
	work    []workspace // one a thread
}

// Open returns a CPU device: memory of this process and a number of threads, at least one.
// The results do not depend on the number of threads.
func Open(threads int) (kernels.Backend, error) { return open(threads, "avx512") }

// open is Open with kernels for the named instruction set at best ("avx512", "avx2" or "generic").
func open(threads int, instructions string) (kernels.Backend, error) {
	if threads < 1 {
		return nil, fmt.Errorf("cpu: open: %w: %d threads, a device needs at least one", kernels.ErrShape, threads)
	}
	C.openblas_set_num_threads(1)
	name := C.CString(instructions)
	defer C.free(unsafe.Pointer(name))
	d := &device{threads: threads, heap: newHeap(), work: make([]workspace, threads)}
	for e := range d.kernels {
		d.kernels[e] = C.jmpi_select(name, C.int(8*kernels.Element(e).Bytes()))
	}
	return d, nil
}

func (d *device) Describe() kernels.Description {
	var info unix.Sysinfo_t
	var bytes int64
	if unix.Sysinfo(&info) == nil {
		bytes = int64(info.Totalram) * int64(info.Unit)
	}
	return kernels.Description{
		Kind:    "cpu",
		Name:    processor(),
		Threads: d.threads,
		Memory:  bytes,
		Free:    limits.Memory(),
		Library: C.GoString(C.openblas_get_config()) + ", own kernels: " +
			C.GoString(d.kernels[kernels.Float64].name),
	}
}

// singleOrder is the order from which on sweeps in float32, refined, take 0.85 of the time of float64 or
// less.
const singleOrder = 1024

func (d *device) Limits() kernels.Limits {
	return kernels.Limits{PointwiseOrder: maxOrder, Width: preferredWidth, Align: lanes, FullBlock: true,
		Table: widths, Tile: 64, HostMemory: true,
		Grams:   kernels.GramLimits{Float32: kernels.KeepAlways},
		Float32: kernels.Float32Limits{Pivots: true, Order: singleOrder}}
}

// Sync returns at once: no method leaves work behind.
func (d *device) Sync() error { return nil }

// Close frees all memory of the device.
func (d *device) Close() error {
	err := d.heap.Close()
	for i := range d.work {
		err = errors.Join(err, d.work[i].release())
	}
	return err
}

// processor returns the processor's name as Linux tells it, else the architecture.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer func() { _ = f.Close() }() // which was only read
	for s := bufio.NewScanner(f); s.Scan(); {
		if key, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
