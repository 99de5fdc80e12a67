package cuda

import (
	"fmt"
	"sync"
	"unsafe"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
)

// driver is the CUDA driver API: addresses of routines, by their names.
type driver struct {
	version int32

	cuGetErrorString uintptr

	cuDeviceGetCount, cuDeviceGet, cuDeviceGetName, cuDeviceGetUuid, cuDeviceTotalMem, cuDeviceGetAttribute,
	cuDeviceCanAccessPeer uintptr
	cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRelease, cuCtxSetCurrent, cuCtxEnablePeerAccess uintptr

	cuStreamCreate, cuStreamCreateWithPriority, cuStreamDestroy, cuStreamSynchronize, cuStreamWaitEvent uintptr
	cuEventCreate, cuEventDestroy, cuEventRecord, cuEventElapsedTime, cuEventSynchronize                uintptr

	cuMemGetInfo, cuMemAlloc, cuMemFree, cuMemHostAlloc, cuMemFreeHost, cuMemsetD8Async, cuMemsetD2D8Async,
	cuMemcpyAsync, cuMemcpy2DAsync, cuPointerGetAttribute uintptr

	cuModuleLoadData, cuModuleUnload, cuModuleGetFunction, cuFuncGetAttribute, cuFuncSetAttribute,
	cuLaunchKernel, cuLaunchCooperativeKernel uintptr

	cuCtxGetStreamPriorityRange uintptr
	cuLaunchKernelEx            uintptr // 0 before CUDA 11.8
}

// Values of the driver API's enumerations.
const (
	statusMemory         = 2
	statusNotInitialized = 3 // what calls return after cuInit has found no device
	statusNoDevice       = 100
	statusPeerEnabled    = 704

	attributeProcessors   = 16 // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
	attributeMajor        = 75 // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
	attributeMinor        = 76
	attributeSharedOptin  = 97 // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
	attributePointerIndex = 9  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
	functionStatic        = 1  // CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
	functionShared        = 8  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
	functionCarveout      = 9  // CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT

	streamNonBlocking  = 1
	eventDisableTiming = 2
	hostPortable       = 1
	launchPriority     = 8 // CU_LAUNCH_ATTRIBUTE_PRIORITY
	launchEarly        = 6 // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
)

// loadDriver opens and initialises the driver once. A machine without a GPU has a driver with no device.
var loadDriver = sync.OnceValues(func() (*driver, error) {
	lib, err := nvidia.Driver()
	if err != nil {
		return nil, fmt.Errorf("cuda: NVIDIA's driver: %w", err)
	}
	d := &driver{}
	var cuInit, cuDriverGetVersion uintptr
	err = lib.Bind(nvidia.Routines{
		"cuInit": &cuInit, "cuDriverGetVersion": &cuDriverGetVersion, "cuGetErrorString": &d.cuGetErrorString,
		"cuDeviceGetCount": &d.cuDeviceGetCount, "cuDeviceGet": &d.cuDeviceGet,
		"cuDeviceGetName": &d.cuDeviceGetName,
		"cuDeviceGetUuid": &d.cuDeviceGetUuid, "cuDeviceTotalMem_v2": &d.cuDeviceTotalMem,
		"cuDeviceGetAttribute": &d.cuDeviceGetAttribute, "cuDeviceCanAccessPeer": &d.cuDeviceCanAccessPeer,
		"cuDevicePrimaryCtxRetain":     &d.cuDevicePrimaryCtxRetain,
		"cuDevicePrimaryCtxRelease_v2": &d.cuDevicePrimaryCtxRelease,
		"cuCtxSetCurrent":              &d.cuCtxSetCurrent, "cuCtxEnablePeerAccess": &d.cuCtxEnablePeerAccess,
		"cuStreamCreateWithPriority": &d.cuStreamCreateWithPriority,
		"cuStreamCreate":             &d.cuStreamCreate, "cuStreamDestroy_v2": &d.cuStreamDestroy,
		"cuStreamSynchronize": &d.cuStreamSynchronize, "cuStreamWaitEvent": &d.cuStreamWaitEvent,
		"cuEventCreate": &d.cuEventCreate, "cuEventDestroy_v2": &d.cuEventDestroy,
		"cuEventRecord":      &d.cuEventRecord,
		"cuEventElapsedTime": &d.cuEventElapsedTime, "cuEventSynchronize": &d.cuEventSynchronize,
		"cuMemGetInfo_v2": &d.cuMemGetInfo, "cuMemAlloc_v2": &d.cuMemAlloc, "cuMemFree_v2": &d.cuMemFree,
		"cuMemHostAlloc": &d.cuMemHostAlloc,
		"cuMemFreeHost":  &d.cuMemFreeHost, "cuMemsetD8Async": &d.cuMemsetD8Async,
		"cuMemsetD2D8Async": &d.cuMemsetD2D8Async, "cuMemcpyAsync": &d.cuMemcpyAsync,
		"cuMemcpy2DAsync_v2": &d.cuMemcpy2DAsync, "cuPointerGetAttribute": &d.cuPointerGetAttribute,
		"cuModuleLoadData": &d.cuModuleLoadData, "cuModuleUnload": &d.cuModuleUnload,
		"cuModuleGetFunction": &d.cuModuleGetFunction, "cuFuncSetAttribute": &d.cuFuncSetAttribute,
		"cuFuncGetAttribute": &d.cuFuncGetAttribute,
		"cuLaunchKernel":     &d.cuLaunchKernel, "cuLaunchCooperativeKernel": &d.cuLaunchCooperativeKernel,
		"cuCtxGetStreamPriorityRange": &d.cuCtxGetStreamPriorityRange,
	})
	if err != nil {
		return nil, fmt.Errorf("cuda: NVIDIA's driver: %w", err)
	}
	if lib.Bind(nvidia.Routines{"cuLaunchKernelEx": &d.cuLaunchKernelEx}) != nil {
		d.cuLaunchKernelEx = 0
	}
	if err := d.check("cuInit", nvidia.Invoke(cuInit, 0)); err != nil && status(err) != statusNoDevice {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	nvidia.Invoke(cuDriverGetVersion, uintptr(unsafe.Pointer(&d.version)))
	return d, nil
})

// callError is a call of one of NVIDIA's libraries that failed.
type callError struct {
	call string
	code int32
	text string
}

func (e *callError) Error() string { return fmt.Sprintf("%s: %s (error %d)", e.call, e.text, e.code) }

// Is makes the driver's want of memory kernels.ErrMemory.
func (e *callError) Is(target error) bool {
	return target == kernels.ErrMemory && e.code == statusMemory
}

// status returns the code of an error from check.
func status(err error) int32 {
	if e, ok := err.(*callError); ok {
		return e.code
	}
	return 0
}

// check turns the status of a call of the driver into an error.
func (d *driver) check(call string, code int32) error {
	if code == 0 {
		return nil
	}
	var text uintptr
	e := &callError{call, code, "unknown error"}
	if nvidia.Invoke(d.cuGetErrorString, uintptr(code), uintptr(unsafe.Pointer(&text))) == 0 {
		e.text = nvidia.GoString(text)
	}
	return e
}

// Devices returns the number of GPUs that this process sees; CUDA_VISIBLE_DEVICES counts. It fails with
// nvidia.ErrMissing where NVIDIA's driver is not installed.
func Devices() (int, error) {
	d, err := loadDriver()
	if err != nil {
		return 0, err
	}
	var n int32
	err = d.check("cuDeviceGetCount", nvidia.Invoke(d.cuDeviceGetCount, uintptr(unsafe.Pointer(&n))))
	if status(err) == statusNoDevice || status(err) == statusNotInitialized {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("cuda: %w", err)
	}
	return int(n), nil
}
