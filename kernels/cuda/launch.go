package cuda

import (
	"fmt"
	"unsafe"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
)

// kernel is a __global__ function on a device.
type kernel struct {
	function uintptr
	shared   int // bytes of dynamic shared memory that it may have
}

// entries are the kernels of each source file.
var entries = map[string][]string{
	"move.cu": {"identity_64", "identity_32", "column_norms_64", "column_norms_32", "lengths", "product",
		"product_add", "product_transposed"},
	"gram.cu": {"gram_diagonal_64", "gram_diagonal_128", "gram_other_64", "gram_other_128", "gram_sides",
		"gram_add_64", "gram_add_128"},
	"cholesky.cu": {"cholesky_block", "cholesky_row_64", "cholesky_row_128", "single_cholesky_block",
		"single_cholesky_row_64", "single_cholesky_row_128"},
	"shape.cu": {"convert_64_64", "convert_64_32", "convert_32_64", "convert_32_32", "transpose",
		"gather_rows", "move_columns_64_64", "move_columns_64_32",
		"move_columns_32_64", "move_columns_32_32", "scale", "divide", "multiply_power", "add", "lower_64",
		"lower_32", "clear", "elements"},
	"tall.cu":         {"square_diagonal", "square_other", "square_add", "solve"},
	"turn_columns.cu": {"turn_columns_16", "turn_columns_32", "turn_columns_64", "turn_columns_128"},
	"angles.cu":       {"angles_1", "angles_4", "departures"},
	"measure.cu":      {"row_maxima", "column_maxima", "leads"},
	"natural.cu":      {"natural_64_64", "natural_64_128", "natural_32_512", "natural_16_1024", "natural_far"},
	"pivoted.cu":      {"factor_pivoted"},
	"reflect.cu":      {"reflect_sums", "reflect_sums_wide", "reflect_turn", "reflect_add"},
	"qr.cu": {"qr_exponents", "qr_64", "qr_128", "qr_gather", "qr_scatter", "single_qr_exponents",
		"single_qr_64", "single_qr_128", "single_qr_gather", "single_qr_scatter"},
	"single_jacobi.cu": {"single_jacobi_32", "single_jacobi_64", "single_jacobi_128"},
	"single_update.cu": {"single_update"},
	"jacobi.cu":        {"jacobi_32", "jacobi_64", "jacobi_128"},
	"multiply.cu": {"mark_columns", "multiply_64", "multiply_128", "multiply_256", "multiply_large",
		"copy_rows"},
	"stream_multiply.cu": {"multiply_stream"},
	"single_gram.cu": {"single_gram_small", "single_gram_diagonal", "single_gram_other", "single_gram_plain",
		"single_gram_add"},
	"single_multiply.cu": {"single_image_64", "single_image_128", "single_image_blocks", "single_multiply_64",
		"single_multiply_128", "single_multiply_block"},
	"single_products.cu": {"single_weights", "single_norms", "single_copy", "single_product"},
}

// inTurn are the kernels of a p-step, and those that apply reflectors. They wait themselves until the one
// before in their stream has ended (in_turn of common.cuh), so the device starts them before that.
var inTurn = map[string]bool{"gram_diagonal_64": true, "gram_diagonal_128": true, "gram_other_64": true,
	"gram_other_128": true, "gram_sides": true, "gram_add_64": true, "gram_add_128": true,
	"cholesky_block": true, "qr_64": true, "qr_128": true, "jacobi_32": true, "jacobi_64": true,
	"jacobi_128": true, "mark_columns": true, "multiply_64": true, "multiply_128": true, "multiply_stream": true,
	"single_gram_small": true, "single_gram_diagonal": true, "single_gram_add": true,
	"single_cholesky_block": true, "single_qr_64": true, "single_qr_128": true, "single_jacobi_32": true,
	"single_jacobi_64": true, "single_jacobi_128": true, "single_image_64": true, "single_image_128": true,
	"single_multiply_64": true, "single_multiply_128": true, "reflect_sums": true, "reflect_sums_wide": true,
	"reflect_turn": true, "reflect_add": true}

// defaultShared is the shared memory that any kernel may have, static and dynamic.
const defaultShared = 48 << 10

// loadKernels loads the machine code of all source files.
func (d *device) loadKernels(code map[string][]byte) error {
	c, err := loadCompiler()
	if err != nil {
		return err
	}
	d.compiler, d.target = c.version, target(d.architecture, c.version)
	d.kernels = map[string]*kernel{}
	for file, names := range entries {
		var module uintptr
		err := d.check("cuModuleLoadData of "+file,
			nvidia.Invoke(d.cuModuleLoadData, uintptr(unsafe.Pointer(&module)),
				uintptr(unsafe.Pointer(unsafe.SliceData(code[file])))))
		if err != nil {
			return err
		}
		d.modules = append(d.modules, module)
		for _, name := range names {
			var names cStrings
			k := &kernel{}
			err := d.check("cuModuleGetFunction of "+name,
				nvidia.Invoke(d.cuModuleGetFunction, uintptr(unsafe.Pointer(&k.function)), module, names.add(name)))
			names.pin.Unpin()
			if err != nil {
				return err
			}
			if k.shared, err = d.firstShared(name, k.function); err != nil {
				return err
			}
			d.kernels[name] = k
		}
	}
	return nil
}

// firstShared returns the dynamic shared memory that a kernel may have before its limit is raised.
func (d *device) firstShared(name string, function uintptr) (int, error) {
	var static int32
	err := d.check("cuFuncGetAttribute of "+name,
		nvidia.Invoke(d.cuFuncGetAttribute, uintptr(unsafe.Pointer(&static)), functionStatic, function))
	return max(0, defaultShared-int(static)), err
}

// launchCall is the memory that a launch passes its arguments in: cuLaunchKernel's `extra`, or the list of
// addresses that cuLaunchCooperativeKernel wants.
type launchCall struct {
	words [32]uint64
	bytes uintptr
	extra [5]uintptr

	config     launchConfig // of cuLaunchKernelEx
	attributes [2]launchAttribute
}

// launchConfig is CUlaunchConfig.
type launchConfig struct {
	x, y, z, threads, threadsY, threadsZ, shared uint32
	stream, attributes                           uintptr
	count                                        uint32
}

// launchAttribute is CUlaunchAttribute with a number: a priority, or 1 for a kernel that starts early.
type launchAttribute struct {
	id, _ uint32
	value int32
	_     [60]byte
}

// Markers in `extra`.
const (
	launchBuffer = 1 // CU_LAUNCH_PARAM_BUFFER_POINTER
	launchSize   = 2 // CU_LAUNCH_PARAM_BUFFER_SIZE
)

// launch queues a kernel whose arguments are all 8 bytes long. A grid without blocks does nothing.
func (d *device) launch(name string, x, y, z, threads, shared int, words ...uint64) error {
	if x == 0 || y == 0 || z == 0 {
		return nil
	}
	k, err := d.kernel(name, shared)
	if err != nil {
		return err
	}
	l := &d.call // on the heap with the device, so its address stays
	copy(l.words[:], words)
	l.bytes = uintptr(len(words)) * kernels.WordBytes
	l.extra = [5]uintptr{launchBuffer, uintptr(unsafe.Pointer(&l.words)), launchSize,
		uintptr(unsafe.Pointer(&l.bytes)), 0}
	var code int32
	if count := d.attributes(name); count > 0 {
		l.config = launchConfig{x: uint32(x), y: uint32(y), z: uint32(z), threads: uint32(threads),
			threadsY: 1, threadsZ: 1, shared: uint32(shared), stream: d.stream,
			attributes: uintptr(unsafe.Pointer(&l.attributes)), count: uint32(count)}
		code = nvidia.Invoke(d.cuLaunchKernelEx, uintptr(unsafe.Pointer(&l.config)), k.function, 0,
			uintptr(unsafe.Pointer(&l.extra)))
	} else {
		code = nvidia.Invoke(d.cuLaunchKernel, k.function, uintptr(x), uintptr(y), uintptr(z), uintptr(threads), 1,
			1, uintptr(shared), d.stream, 0, uintptr(unsafe.Pointer(&l.extra)))
	}
	if code != 0 {
		return fmt.Errorf("%s, grid (%d,%d,%d) of %d threads, %d bytes shared: %w", name, x, y, z, threads, shared,
			d.check("cuLaunchKernel", code))
	}
	return nil
}

// attributes sets those that a kernel is launched with, and returns their number.
func (d *device) attributes(name string) (count int) {
	add := func(id uint32, value int32) {
		d.call.attributes[count] = launchAttribute{id: id, value: value}
		count++
	}
	if d.cuLaunchKernelEx == 0 {
		return 0
	}
	if d.urgent {
		add(launchPriority, d.highest)
	}
	if d.early && inTurn[name] {
		add(launchEarly, 1)
	}
	return count
}

// launchTogether queues a kernel of which all blocks run at the same time. It fails if there are more than
// the device can hold. The words are those of the kernel's only argument, a struct.
func (d *device) launchTogether(name string, blocks, threads, shared int, words []uint64) error {
	k, err := d.kernel(name, shared)
	if err != nil {
		return err
	}
	l := &d.call
	copy(l.words[:], words)
	l.extra = [5]uintptr{uintptr(unsafe.Pointer(&l.words))}
	code := nvidia.Invoke(d.cuLaunchCooperativeKernel, k.function, uintptr(blocks), 1, 1, uintptr(threads), 1, 1,
		uintptr(shared), d.stream, uintptr(unsafe.Pointer(&l.extra)))
	if code != 0 {
		return fmt.Errorf("%s, %d blocks of %d threads, %d bytes shared: %w", name, blocks, threads, shared,
			d.check("cuLaunchCooperativeKernel", code))
	}
	return nil
}

// kernel returns a kernel that may have so much shared memory, to be launched next.
func (d *device) kernel(name string, shared int) (*kernel, error) {
	if d.before != nil {
		if err := d.before(); err != nil {
			return nil, err
		}
	}
	k := d.kernels[name]
	if shared > k.shared {
		if err := d.allowShared(name, k, shared); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// allowShared raises the limit of a kernel's shared memory.
func (d *device) allowShared(name string, k *kernel, shared int) error {
	for _, a := range [][2]int{{functionShared, shared}, {functionCarveout, 100}} {
		if err := d.check("cuFuncSetAttribute of "+name,
			nvidia.Invoke(d.cuFuncSetAttribute, k.function, uintptr(a[0]), uintptr(a[1]))); err != nil {
			return fmt.Errorf("%d bytes of shared memory, the device has %d: %w", shared, d.shared, err)
		}
	}
	k.shared = shared
	return nil
}

// word is a pointer as an argument of a kernel.
func word(a kernels.Address) uint64 { return uint64(a) }
