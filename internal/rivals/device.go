package rivals

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"jmpi/internal/nvidia"
)

// device is a GPU by the driver interface, with the primary context, which NVIDIA's libraries use too.
type device struct {
	initialize func(flags uint32) int32
	get        func(device *int32, ordinal int32) int32
	name       func(text *byte, size, device int32) int32
	retain     func(context *uintptr, device int32) int32
	release    func(device int32) int32
	push       func(context uintptr) int32
	pop        func(context *uintptr) int32
	wait       func() int32
	allocate   func(address *uintptr, bytes uint64) int32
	free       func(address uintptr) int32
	store      func(to uintptr, from unsafe.Pointer, bytes uint64) int32
	fetch      func(to unsafe.Pointer, from uintptr, bytes uint64) int32
	event      func(event *uintptr, flags uint32) int32
	record     func(event, stream uintptr) int32
	reached    func(event uintptr) int32
	elapsed    func(milliseconds *float32, from, to uintptr) int32
	destroy    func(event uintptr) int32

	number  int32
	context uintptr
	held    []uintptr // memory that is allocated
}

// openDevice opens the GPU with this number among those that the driver shows. The error wraps ErrMissing.
func openDevice(ordinal int) (*device, error) {
	l, err := nvidia.Driver()
	if err != nil {
		return nil, err
	}
	d := &device{}
	if err := l.Register(map[string]any{
		"cuInit": &d.initialize, "cuDeviceGet": &d.get, "cuDeviceGetName": &d.name,
		"cuDevicePrimaryCtxRetain":     &d.retain,
		"cuDevicePrimaryCtxRelease_v2": &d.release, "cuCtxPushCurrent_v2": &d.push, "cuCtxPopCurrent_v2": &d.pop,
		"cuCtxSynchronize": &d.wait, "cuMemAlloc_v2": &d.allocate, "cuMemFree_v2": &d.free,
		"cuMemcpyHtoD_v2": &d.store, "cuMemcpyDtoH_v2": &d.fetch, "cuEventCreate": &d.event,
		"cuEventRecord":      &d.record,
		"cuEventSynchronize": &d.reached, "cuEventElapsedTime": &d.elapsed, "cuEventDestroy_v2": &d.destroy,
	}); err != nil {
		return nil, err
	}
	if code := d.initialize(0); code != 0 {
		return nil, fmt.Errorf("GPU %w: cuInit: error %d", ErrMissing, code)
	}
	if code := d.get(&d.number, int32(ordinal)); code != 0 {
		return nil, fmt.Errorf("GPU %d %w: cuDeviceGet: error %d", ordinal, ErrMissing, code)
	}
	return d, status("cuDevicePrimaryCtxRetain", d.retain(&d.context, d.number))
}

// status turns the result of a call into an error; 0 is success in all of NVIDIA's libraries.
func status(call string, code int32) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("%s: error %d", call, code)
}

// do runs f with the GPU's context current on a thread of its own, and frees what f allocated.
func (d *device) do(f func() error) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := status("cuCtxPushCurrent", d.push(d.context)); err != nil {
		return err
	}
	defer func() {
		for _, address := range d.held {
			err = errors.Join(err, status("cuMemFree", d.free(address)))
		}
		d.held = nil
		var context uintptr
		err = errors.Join(err, status("cuCtxPopCurrent", d.pop(&context)))
	}()
	return f()
}

// memory returns bytes of device memory, which do frees.
func (d *device) memory(bytes uint64) (address uintptr, err error) {
	if err := status(fmt.Sprintf("cuMemAlloc of %d bytes", bytes),
		d.allocate(&address, max(bytes, 1))); err != nil {
		return 0, err
	}
	d.held = append(d.held, address)
	return address, nil
}

// numbers returns device memory for n numbers.
func (d *device) numbers(n int) (uintptr, error) { return d.memory(8 * uint64(n)) }

// put copies x to the device, read copies to x.
func (d *device) put(to uintptr, x []float64) error {
	return status("cuMemcpyHtoD", d.store(to, unsafe.Pointer(unsafe.SliceData(x)), 8*uint64(len(x))))
}

func (d *device) read(x []float64, from uintptr) error {
	return status("cuMemcpyDtoH", d.fetch(unsafe.Pointer(unsafe.SliceData(x)), from, 8*uint64(len(x))))
}

// timed returns the seconds from the first to the last work that f starts in the default stream, by events.
func (d *device) timed(f func() error) (seconds float64, err error) {
	var events [2]uintptr
	for i := range events {
		if err := status("cuEventCreate", d.event(&events[i], 0)); err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, status("cuEventDestroy", d.destroy(events[i]))) }()
	}
	if err := status("cuCtxSynchronize", d.wait()); err != nil {
		return 0, err
	}
	if err := status("cuEventRecord", d.record(events[0], 0)); err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	if err := status("cuEventRecord", d.record(events[1], 0)); err != nil {
		return 0, err
	}
	if err := status("cuEventSynchronize", d.reached(events[1])); err != nil {
		return 0, err
	}
	var milliseconds float32
	err = status("cuEventElapsedTime", d.elapsed(&milliseconds, events[0], events[1]))
	return float64(milliseconds) / 1e3, err
}

// String names the GPU.
func (d *device) String() string {
	var text [256]byte
	if d.name(&text[0], int32(len(text)), d.number) != 0 {
		return "a GPU without name"
	}
	length := 0
	for length < len(text) && text[length] != 0 {
		length++
	}
	return string(text[:length])
}

// close gives the context back.
func (d *device) close() error {
	return status("cuDevicePrimaryCtxRelease", d.release(d.number))
}
