package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
)

// mover is a stream for copies that run beside the primitives, an event to order them by, and pinned memory
// for small ones: the driver takes ten times as long to read a few numbers to memory that is not pinned.
type mover struct {
	stream, event uintptr
	pinned        kernels.Address
}

// smallNumbers is the most numbers of a copy that passes through pinned memory.
const smallNumbers = 1 << 17

// small returns the pinned memory for an m×n matrix, nil if that is too large.
func (x mover) small(m, n int) []float64 {
	if m*n > smallNumbers {
		return nil
	}
	return structs[float64](x.pinned, m*n)
}

// side is the pinned memory as an end of a copy of a matrix with m rows.
func (x mover) side(m int) side { return side{host: true, address: uintptr(x.pinned), ld: m} }

// movers are the movers that are free.
type movers struct {
	mu   sync.Mutex
	free []mover
}

func (m *movers) take(d *device) (mover, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.free); n > 0 {
		x := m.free[n-1]
		m.free = m.free[:n-1]
		return x, nil
	}
	var x mover
	if err := d.check("cuStreamCreate", nvidia.Invoke(d.cuStreamCreate, uintptr(unsafe.Pointer(&x.stream)),
		streamNonBlocking)); err != nil {
		return x, err
	}
	if err := d.check("cuEventCreate", nvidia.Invoke(d.cuEventCreate, uintptr(unsafe.Pointer(&x.event)),
		eventDisableTiming)); err != nil {
		return x, err
	}
	var err error
	x.pinned, err = d.allocHost(smallNumbers * kernels.WordBytes)
	return x, err
}

func (m *movers) give(x mover) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free = append(m.free, x)
}

func (m *movers) close(d *device) error {
	var err error
	for _, x := range m.free {
		err = errors.Join(err, d.check("cuEventDestroy", nvidia.Invoke(d.cuEventDestroy, x.event)),
			d.check("cuStreamDestroy", nvidia.Invoke(d.cuStreamDestroy, x.stream)), d.freeHost(x.pinned))
	}
	m.free = nil
	return err
}

// move calls f with a mover of its own and waits for what f queues on its stream. With ordered, that starts
// when everything queued on the device before is done.
func (d *device) move(operation string, ordered bool, f func(x mover) error) error {
	return d.bound(operation, func() error {
		x, err := d.movers.take(d)
		if err != nil {
			return err
		}
		defer d.movers.give(x)
		if ordered {
			if err := x.follow(d); err != nil {
				return err
			}
		}
		if err := f(x); err != nil {
			return err
		}
		return x.wait(d)
	})
}

// follow lets the stream of x wait for everything that is queued on the lanes.
func (x mover) follow(d *device) error {
	if err := d.flush(); err != nil {
		return err
	}
	for i := range d.lanes {
		if err := x.behind(d, d.lanes[i].stream); err != nil {
			return err
		}
	}
	return nil
}

// behind lets the stream of x wait for what is queued on another one.
func (x mover) behind(d *device, stream uintptr) error {
	if err := d.check("cuEventRecord", nvidia.Invoke(d.cuEventRecord, x.event, stream)); err != nil {
		return err
	}
	return d.check("cuStreamWaitEvent", nvidia.Invoke(d.cuStreamWaitEvent, x.stream, x.event, 0))
}

func (x mover) wait(d *device) error {
	return d.check("cuStreamSynchronize", nvidia.Invoke(d.cuStreamSynchronize, x.stream))
}

// side is one end of a copy: a matrix in host memory, or on a device.
type side struct {
	host    bool
	address uintptr
	ld      int
	element kernels.Element
}

func on(p kernels.Panel) side { return side{false, uintptr(p.Data), p.Ld, p.Type} }

// copy2D is CUDA_MEMCPY2D.
type copy2D struct {
	srcX, srcY                             uintptr
	srcType                                uint64 // an int, and padding
	srcHost, srcDevice, srcArray, srcPitch uintptr
	dstX, dstY                             uintptr
	dstType                                uint64
	dstHost, dstDevice, dstArray, dstPitch uintptr
	width, height                          uintptr
}

// CUmemorytype. The addresses of devices are unified: they tell which device it is.
const memoryHost, memoryUnified = 1, 4

// copyMatrix queues the copy of an m×n matrix. Both sides have the same element type.
func (d *device) copyMatrix(stream uintptr, to, from side, m, n int) error {
	if m == 0 || n == 0 {
		return nil
	}
	size := uintptr(from.element.Bytes())
	if n == 1 || (m == to.ld && m == from.ld) {
		return d.copyBytes(stream, to.address, from.address, int64(m)*int64(n)*int64(size))
	}
	c := &copy2D{
		srcType: memoryUnified, srcDevice: from.address, srcPitch: uintptr(from.ld) * size,
		dstType: memoryUnified, dstDevice: to.address, dstPitch: uintptr(to.ld) * size,
		width: uintptr(m) * size, height: uintptr(n),
	}
	if from.host {
		c.srcType, c.srcHost, c.srcDevice = memoryHost, from.address, 0
	}
	if to.host {
		c.dstType, c.dstHost, c.dstDevice = memoryHost, to.address, 0
	}
	return d.check("cuMemcpy2DAsync", nvidia.Invoke(d.cuMemcpy2DAsync, uintptr(unsafe.Pointer(c)), stream))
}

func (d *device) copyBytes(stream, to, from uintptr, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	return d.check("cuMemcpyAsync", nvidia.Invoke(d.cuMemcpyAsync, to, from, uintptr(bytes), stream))
}

// pinned returns the side of a host matrix whose slice stays where it is until the pinner lets go.
func pinned(pin *runtime.Pinner, x []float64, ld int) side {
	if len(x) == 0 {
		return side{host: true, ld: ld}
	}
	pin.Pin(&x[0])
	return side{host: true, address: uintptr(unsafe.Pointer(&x[0])), ld: ld}
}

func (d *device) Write(dst kernels.Panel, src []float64, ld int) error {
	if err := dst.CheckHost("dst", src, ld); err != nil {
		return fmt.Errorf("cuda: Write: %w", err)
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	return d.move("Write", true, func(x mover) error {
		if small := x.small(dst.M, dst.N); len(small) > 0 {
			for j := range dst.N {
				copy(small[j*dst.M:][:dst.M], src[j*ld:])
			}
			return d.copyMatrix(x.stream, on(dst), x.side(dst.M), dst.M, dst.N)
		}
		return d.copyMatrix(x.stream, on(dst), pinned(&pin, src, ld), dst.M, dst.N)
	})
}

func (d *device) Read(dst []float64, ld int, src kernels.Panel) error {
	if err := src.CheckHost("src", dst, ld); err != nil {
		return fmt.Errorf("cuda: Read: %w", err)
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	return d.move("Read", true, func(x mover) error {
		small := x.small(src.M, src.N)
		if len(small) == 0 {
			return d.copyMatrix(x.stream, pinned(&pin, dst, ld), on(src), src.M, src.N)
		}
		err := d.copyMatrix(x.stream, x.side(src.M), on(src), src.M, src.N)
		if err == nil {
			err = x.wait(d)
		}
		for j := range src.N {
			copy(dst[j*ld:][:src.M], small[j*src.M:])
		}
		return err
	})
}

// Copy copies from this device, in the order of the calls, or from another of this process: then it starts at
// once, and both devices must be done with the memory that it touches.
func (d *device) Copy(dst, src kernels.Panel) error {
	if err := kernels.CheckCopy(dst, src); err != nil {
		return fmt.Errorf("cuda: Copy: %w", err)
	}
	if dst.M == 0 || dst.N == 0 {
		return nil
	}
	var home int32
	code := nvidia.Invoke(d.cuPointerGetAttribute, uintptr(unsafe.Pointer(&home)), attributePointerIndex,
		uintptr(src.Data))
	if code != 0 {
		return fmt.Errorf("cuda: Copy: src %#x: %w: %w", uintptr(src.Data), kernels.ErrAddress,
			d.check("cuPointerGetAttribute", code))
	}
	return d.move("Copy", int(home) == d.index, func(x mover) error {
		return d.copyMatrix(x.stream, on(dst), on(src), dst.M, dst.N)
	})
}

func (d *device) Fetch(host, device kernels.Address, bytes int64) error {
	return d.move("Fetch", false, func(x mover) error {
		return d.copyBytes(x.stream, uintptr(host), uintptr(device), bytes)
	})
}

func (d *device) Store(device, host kernels.Address, bytes int64) error {
	return d.move("Store", false, func(x mover) error {
		return d.copyBytes(x.stream, uintptr(device), uintptr(host), bytes)
	})
}

// gridLimit is the largest number of blocks in the second and third dimension of a grid; kernels with a loop
// over their blocks use no more in the first one either.
const gridLimit = 65535

func (d *device) Identity(dst kernels.Panel, row0 int) error {
	return d.checked("Identity", dst.CheckAny("dst"), func() error {
		return d.launch("identity_"+bits(dst), min(dst.N, gridLimit), 1, 1, 256, 0, word(dst.Data), uint64(dst.M),
			uint64(dst.N), uint64(dst.Ld), uint64(row0))
	})
}

func (d *device) ColumnNorms(p kernels.Panel) ([]float64, error) {
	return d.results("ColumnNorms", p.CheckAny("panel"), p.N, func(out kernels.Address) error {
		return d.launch("column_norms_"+bits(p), min(p.N, gridLimit), 1, 1, 256, 0, word(p.Data), uint64(p.M),
			uint64(p.N), uint64(p.Ld), word(out))
	})
}

// productBlocks is how many blocks a product with vectors gives each multiprocessor, where there are as many.
// productColumns is the least number of columns of a block.
const productBlocks, productColumns = 8, 64

// Product takes pieces of the columns too where the rows alone give multiprocessors too little to do. Their
// sums are in twice the working precision.
func (d *device) Product(p kernels.Panel, transposed bool, x []float64, count int) ([]float64, error) {
	long, wrong := p.CheckVectors(transposed, x, count)
	all, name, blocks, pieces := long*count, "product_transposed", p.N, 1
	if !transposed {
		all, name, blocks = 2*all, "product", ceil(p.M, 32) // the high parts, and the low ones
		pieces = max(1, min(ceil(productBlocks*d.processors, max(1, blocks)), p.N/productColumns))
	}
	if wrong == nil && len(x) == 0 {
		return make([]float64, all), nil
	}
	return d.results("Product", wrong, all, func(out kernels.Address) (err error) {
		sums := out
		if pieces > 1 {
			bytes := int64(all) * int64(pieces) * kernels.WordBytes
			if sums, err = d.need("sums of products over pieces of columns", bytes); err != nil {
				return err
			}
		}
		in, err := d.numbers("factors of a product", x)
		if err != nil {
			return err
		}
		if err := d.launch(name, min(blocks, gridLimit), pieces, 1, 256, 0, word(p.Data), uint64(p.M), uint64(p.N),
			uint64(p.Ld), word(in), word(sums), uint64(count)); err != nil || pieces == 1 {
			return err
		}
		return d.launch("product_add", ceil(all/2, 256), 1, 1, 256, 0, word(sums), uint64(pieces), uint64(all/2),
			word(out))
	})
}
