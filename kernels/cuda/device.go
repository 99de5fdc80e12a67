package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"jmpi/internal/nvidia"
	"jmpi/internal/parallel"
	"jmpi/kernels"
)

const (
	pointwiseOrder = 128 // of a factor whose R fits into the shared memory of one block of threads
	smallOrder     = 64  // where less shared memory is to be had
	alignment      = 16  // of columns, in elements: a line of the cache
	oldestMajor    = 7   // compute capability
)

// device implements kernels.Backend and kernels.Dense. Primitives are queued on the lanes.
type device struct {
	*driver
	*lane     // that is queued on: the first, but for parts of batches and what is called beside
	lanes     [laneCount]lane
	beside    beside
	claims    claims
	turns     turns
	schedules schedules
	urgent    bool // kernels are launched with the highest priority
	index     int
	handle    uintptr // CUdevice
	context   uintptr
	kernels   map[string]*kernel
	modules   []uintptr
	call      launchCall
	highest   int32        // the highest priority of a launch
	before    func() error // each launch; nil but in tests

	name, uuid, architecture, compiler string

	target string // what the kernels are compiled for
	plain  bool   // batches of float32 go without tensor cores
	early  bool   // kernels of inTurn start before the one before them has ended

	bytes      int64 // of memory
	processors int   // multiprocessors
	shared     int   // bytes of shared memory that a block can have
	tiling     tiling

	heap     *kernels.Heap
	host     hostMemory
	movers   movers
	carrier  carrier
	queue    queue
	meetings meetings
	blas     blas
	matmul   matmul
	solver   solver
}

// opened are the devices of this process, which give each other access to their memory.
var opened struct {
	sync.Mutex
	devices map[*device]bool
}

// Prepare begins to open NVIDIA's driver and libraries, which takes a while. What goes wrong Open tells. They
// read environment variables, so nobody may set one meanwhile: the C library's getenv and setenv in two
// threads can end a process by a segmentation fault.
func Prepare() {
	go parallel.Guard(func() {
		if _, err := loadDriver(); err == nil {
			_, _ = loadCompiler()
			_, _ = loadBLAS()
			_, _ = loadSolver()
		}
	}, func(error) {}) // Open calls the same functions, and panics with the same
}

// Open opens GPU index, 0 ≤ index < Devices(), and compiles the kernels for it if they are not in the
// cache. It fails with nvidia.ErrMissing where the driver, NVRTC, cuBLAS or cuSOLVER are not installed. A
// GPU may be opened more than once.
func Open(index int) (kernels.Backend, error) {
	api, err := loadDriver()
	if err != nil {
		return nil, err
	}
	count, err := Devices()
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= count {
		return nil, fmt.Errorf("cuda: there is no GPU %d: this process sees %d", index, count)
	}
	d := &device{driver: api, index: index}
	if err := d.open(); err != nil {
		return nil, fmt.Errorf("cuda: GPU %d: %w", index, errors.Join(err, d.Close()))
	}
	return d, nil
}

func (d *device) open() error {
	if err := d.describe(); err != nil {
		return err
	}
	d.heap = d.newHeap()
	code, err := build(d.architecture, cached)
	if err != nil {
		return err
	}
	if err := d.check("cuDevicePrimaryCtxRetain",
		nvidia.Invoke(d.cuDevicePrimaryCtxRetain, uintptr(unsafe.Pointer(&d.context)), d.handle)); err != nil {
		return err
	}
	if _, err := loadBLAS(); err != nil {
		return err
	}
	if _, err := loadSolver(); err != nil {
		return err
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if err := d.openLanes(); err != nil {
		return err
	}
	if err := d.loadKernels(code); err != nil {
		return err
	}
	if err := errors.Join(d.queue.open(d), d.carrier.open(d)); err != nil {
		return err
	}
	return d.befriend()
}

// openLanes makes the lanes. What is called beside has the lowest priority.
func (d *device) openLanes() error {
	var least int32
	if err := d.check("cuCtxGetStreamPriorityRange", nvidia.Invoke(d.cuCtxGetStreamPriorityRange,
		uintptr(unsafe.Pointer(&least)), uintptr(unsafe.Pointer(&d.highest)))); err != nil {
		return err
	}
	err := d.beside.open(d, least)
	for i := range d.lanes {
		err = errors.Join(err, d.lanes[i].open(d, max(least-1, d.highest), &d.queue.staging))
	}
	d.lane = &d.lanes[0]
	return err
}

// describe asks the driver what the device is.
func (d *device) describe() error {
	var device, major, minor, processors, shared int32
	if err := d.check("cuDeviceGet", nvidia.Invoke(d.cuDeviceGet, uintptr(unsafe.Pointer(&device)),
		uintptr(d.index))); err != nil {
		return err
	}
	d.handle = uintptr(device)
	var name [256]byte
	var uuid [16]byte
	for _, x := range []struct {
		value     *int32
		attribute uintptr
	}{{&major, attributeMajor}, {&minor, attributeMinor}, {&processors, attributeProcessors},
		{&shared, attributeSharedOptin}} {
		if err := d.check("cuDeviceGetAttribute",
			nvidia.Invoke(d.cuDeviceGetAttribute, uintptr(unsafe.Pointer(x.value)), x.attribute,
				d.handle)); err != nil {
			return err
		}
	}
	if err := errors.Join(
		d.check("cuDeviceGetName", nvidia.Invoke(d.cuDeviceGetName, uintptr(unsafe.Pointer(&name)),
			uintptr(len(name)), d.handle)),
		d.check("cuDeviceGetUuid", nvidia.Invoke(d.cuDeviceGetUuid, uintptr(unsafe.Pointer(&uuid)), d.handle)),
		d.check("cuDeviceTotalMem", nvidia.Invoke(d.cuDeviceTotalMem, uintptr(unsafe.Pointer(&d.bytes)), d.handle)),
	); err != nil {
		return err
	}
	text, _, _ := strings.Cut(string(name[:]), "\x00")
	d.name, d.processors, d.shared = text, int(processors), int(shared)
	d.uuid = fmt.Sprintf("GPU-%x-%x-%x-%x-%x", uuid[:4], uuid[4:6], uuid[6:8], uuid[8:10], uuid[10:])
	if major < oldestMajor {
		return fmt.Errorf("%s has compute capability %d.%d, %d.0 is the least that will do", d.name, major, minor,
			oldestMajor)
	}
	d.architecture, d.early = fmt.Sprintf("sm_%d%d", major, minor), major >= 9
	var err error
	d.tiling, err = tilingOf(d.architecture)
	return err
}

// befriend lets this device and the others of this process reach each other's memory, where the hardware can;
// elsewhere copies between them go through the host.
func (d *device) befriend() error {
	opened.Lock()
	defer opened.Unlock()
	for other := range opened.devices {
		for _, pair := range [][2]*device{{d, other}, {other, d}} {
			if err := pair[0].reach(pair[1]); err != nil {
				return err
			}
		}
	}
	if opened.devices == nil {
		opened.devices = map[*device]bool{}
	}
	opened.devices[d] = true
	return d.check("cuCtxSetCurrent", nvidia.Invoke(d.cuCtxSetCurrent, d.context))
}

func (d *device) reach(other *device) error {
	var can int32
	if d.handle == other.handle {
		return nil
	}
	err := d.check("cuDeviceCanAccessPeer", nvidia.Invoke(d.cuDeviceCanAccessPeer, uintptr(unsafe.Pointer(&can)),
		d.handle, other.handle))
	if err != nil || can == 0 {
		return err
	}
	if err := d.check("cuCtxSetCurrent", nvidia.Invoke(d.cuCtxSetCurrent, d.context)); err != nil {
		return err
	}
	err = d.check("cuCtxEnablePeerAccess", nvidia.Invoke(d.cuCtxEnablePeerAccess, other.context, 0))
	if status(err) == statusPeerEnabled {
		return nil
	}
	return err
}

// enter binds the goroutine to its thread, and the thread to the device's context, until leave.
func (d *device) enter() error {
	runtime.LockOSThread()
	if err := d.check("cuCtxSetCurrent", nvidia.Invoke(d.cuCtxSetCurrent, d.context)); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	return nil
}

func (d *device) leave() { runtime.UnlockOSThread() }

// Attach makes the device current for libraries that the calling thread calls. The goroutine should
// be locked to its thread.
func (d *device) Attach() error {
	if err := d.check("cuCtxSetCurrent", nvidia.Invoke(d.cuCtxSetCurrent, d.context)); err != nil {
		return fmt.Errorf("cuda: Attach: %w", err)
	}
	return nil
}

const (
	fixedBytes   = 40 << 20 // of what the primitives allocate for themselves, whatever they work on,
	scratchBytes = 512 << 20
	spareBytes   = 1<<30 - fixedBytes - scratchBytes // and for what may be needed besides
)

// info asks the driver for the bytes that it can give, and for all that there are.
func (d *device) info(free, total *int64) error {
	return d.check("cuMemGetInfo", nvidia.Invoke(d.cuMemGetInfo, uintptr(unsafe.Pointer(free)),
		uintptr(unsafe.Pointer(total))))
}

// available returns what Alloc can still give, 0 if the driver does not tell.
func (d *device) available() int64 {
	if d.enter() != nil {
		return 0
	}
	defer d.leave()
	var free, total int64
	if d.info(&free, &total) != nil {
		return 0
	}
	free += d.heap.Idle()
	return max(1, free-min(spareBytes, free/8))
}

func (d *device) Describe() kernels.Description {
	return kernels.Description{
		Kind:    "cuda",
		Name:    d.name,
		UUID:    d.uuid,
		Threads: 1,
		Memory:  d.bytes,
		Free:    d.available(),
		Peak:    d.heap.Peak(),
		Library: fmt.Sprintf("CUDA driver %d.%d, NVRTC %s, %s", d.version/1000, d.version%1000/10, d.compiler,
			d.architecture),
	}
}

// order is the largest order of a factor that one block of threads can have in its shared memory.
func (d *device) order() int {
	if d.shared > columnsShared(pointwiseOrder, kernels.Float64) {
		return pointwiseOrder
	}
	return smallOrder
}

// Limits prefers pivots of the largest order that Jacobi takes.
func (d *device) Limits() kernels.Limits { return limits(d.order(), d.name) }

// Limits are those of a GPU whose blocks of threads have the shared memory for the largest factors,
// as in data centres.
func Limits() kernels.Limits { return limits(pointwiseOrder, usualCard) }

func limits(order int, card string) kernels.Limits {
	return kernels.Limits{PointwiseOrder: order, RoundsUp: true, Width: order / 2, Align: alignment, Tile: 256,
		Slabs: 16, Grams: kernels.GramLimits{Float64: kernels.KeepAlways, Float32: kernels.KeepEarly},
		Float32:   kernels.Float32Limits{Pivots: true, Order: 512},
		Workspace: fixedBytes, Scratch: scratchBytes, Table: tableOf(card, order)}
}

// Close waits for the device and gives everything back, its memory included.
func (d *device) Close() error {
	if d.context == 0 {
		return nil
	}
	opened.Lock()
	delete(opened.devices, d)
	opened.Unlock()
	err := d.enter()
	d.turns.held = nil // nobody will see it
	if err == nil {
		defer d.leave()
		for i := range d.lanes {
			err = errors.Join(err, d.lanes[i].wait(d))
		}
		err = errors.Join(err, d.beside.wait(d), d.carrier.wait(d))
		err = errors.Join(err, d.blas.close(), d.matmul.close(), d.solver.close(), d.movers.close(d),
			d.carrier.close(d), d.queue.close(d), d.host.close(d))
		for _, m := range d.modules {
			err = errors.Join(err, d.check("cuModuleUnload", nvidia.Invoke(d.cuModuleUnload, m)))
		}
		for i := range d.lanes {
			err = errors.Join(err, d.lanes[i].close(d))
		}
		err = errors.Join(err, d.beside.close(d))
		err = errors.Join(err, d.heap.Close())
	}
	err = errors.Join(err, d.check("cuDevicePrimaryCtxRelease",
		nvidia.Invoke(d.cuDevicePrimaryCtxRelease, d.handle)))
	d.context = 0
	if err != nil {
		return fmt.Errorf("cuda: Close: %w", err)
	}
	return nil
}
