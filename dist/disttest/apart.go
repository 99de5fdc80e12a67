package disttest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"jmpi/dist/comm"
	"jmpi/kernels"
	"jmpi/kernels/cpu"
)

// Apart is a CPU device that pretends that its memory is not host memory, as a GPU's is.
type Apart struct {
	kernels.Backend
	Room int64 // as Describe tells it

	mu       sync.Mutex
	device   map[kernels.Address]int64 // bytes of what Alloc gave
	used     int64                     // bytes of device memory
	Peak     int64                     // the most of it
	host     map[kernels.Address]int64 // and AllocHost
	Attached int
	Fetches  int
	Failing  int // Fetch fails from the call of this number on, 0: never
}

func OpenApart() (*Apart, error) {
	be, err := cpu.Open(1)
	return &Apart{Backend: be, device: map[kernels.Address]int64{}, host: map[kernels.Address]int64{}}, err
}

func (d *Apart) Limits() kernels.Limits {
	l := d.Backend.Limits()
	l.HostMemory, l.Slabs = false, 16
	return l
}

func (d *Apart) Describe() kernels.Description {
	info := d.Backend.Describe()
	info.Kind, info.Free = "apart", d.Room
	if d.mu.Lock(); d.Room > 0 {
		info.Free = max(1, d.Room-d.used)
	}
	d.mu.Unlock()
	return info
}

func (d *Apart) Attach() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Attached++
	return nil
}

func (d *Apart) Alloc(bytes int64) (kernels.Address, error) {
	a, err := d.take(d.device, bytes)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used += bytes
	d.Peak = max(d.Peak, d.used)
	return a, err
}

func (d *Apart) AllocHost(bytes int64) (kernels.Address, error) { return d.take(d.host, bytes) }

func (d *Apart) take(blocks map[kernels.Address]int64, bytes int64) (kernels.Address, error) {
	a, err := d.Backend.Alloc(bytes)
	d.mu.Lock()
	defer d.mu.Unlock()
	blocks[a] = bytes
	return a, err
}

func (d *Apart) Free(a kernels.Address) error {
	d.mu.Lock()
	d.used -= d.device[a]
	d.mu.Unlock()
	return d.give(d.device, a)
}

func (d *Apart) FreeHost(a kernels.Address) error { return d.give(d.host, a) }

func (d *Apart) give(blocks map[kernels.Address]int64, a kernels.Address) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := blocks[a]; !ok {
		return fmt.Errorf("apart: %#x is not memory of this kind", a)
	}
	delete(blocks, a)
	return d.Backend.Free(a)
}

// owns says whether all bytes from a on lie in one of the blocks.
func (d *Apart) owns(blocks map[kernels.Address]int64, a kernels.Address, bytes int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for start, length := range blocks {
		if start <= a && a+kernels.Address(bytes) <= start+kernels.Address(length) {
			return true
		}
	}
	return false
}

func (d *Apart) Fetch(host, device kernels.Address, bytes int64) error {
	d.mu.Lock()
	d.Fetches++
	fails := d.Failing > 0 && d.Fetches >= d.Failing
	d.mu.Unlock()
	if fails {
		return errors.New("the device is lost")
	}
	if !d.owns(d.host, host, bytes) || !d.owns(d.device, device, bytes) {
		return fmt.Errorf("apart: Fetch of %d bytes from %#x to %#x", bytes, device, host)
	}
	return d.Backend.Fetch(host, device, bytes)
}

func (d *Apart) Store(device, host kernels.Address, bytes int64) error {
	if !d.owns(d.host, host, bytes) || !d.owns(d.device, device, bytes) {
		return fmt.Errorf("apart: Store of %d bytes from %#x to %#x", bytes, host, device)
	}
	return d.Backend.Store(device, host, bytes)
}

// pinnedOnly is a Comm whose messages must lie in the pinned host memory of some of the devices, and
// be no longer than a chunk.
type pinnedOnly struct {
	comm.Comm
	t       testing.TB
	devices []*Apart
	chunk   int64
}

func (c *pinnedOnly) check(a kernels.Address, bytes int64) {
	for _, d := range c.devices {
		if d.owns(d.host, a, bytes) && bytes <= c.chunk {
			return
		}
	}
	c.t.Errorf("rank %d: a message of %d bytes at %#x, which is not pinned host memory", c.Rank(), bytes, a)
}

func (c *pinnedOnly) Isend(a kernels.Address, bytes int64, to, tag int) *comm.Request {
	c.check(a, bytes)
	return c.Comm.Isend(a, bytes, to, tag)
}

func (c *pinnedOnly) Irecv(a kernels.Address, bytes int64, from, tag int) *comm.Request {
	c.check(a, bytes)
	return c.Comm.Irecv(a, bytes, from, tag)
}

// OpenRank returns count devices apart, as back ends too, and the Comm that watches their messages, whose
// chunks must not be longer than so many bytes.
func OpenRank(t testing.TB, c comm.Comm, count int, chunk int64) ([]*Apart, []kernels.Backend, comm.Comm) {
	watched := &pinnedOnly{Comm: c, t: t, chunk: chunk}
	var backends []kernels.Backend
	for range count {
		d, err := OpenApart()
		if err != nil {
			t.Error(err)
		}
		watched.devices = append(watched.devices, d)
		backends = append(backends, d)
	}
	return watched.devices, backends, watched
}

// Leftovers tells what memory the devices have not got back.
func Leftovers(devices []*Apart) error {
	for i, d := range devices {
		if len(d.device)+len(d.host) > 0 {
			return fmt.Errorf("device %d: blocks %v on the device, %v on the host", i, d.device, d.host)
		}
	}
	return nil
}

// OpenHost opens a CPU device with so many threads, which is closed at the end of the test.
func OpenHost(t testing.TB, threads int) kernels.Backend {
	t.Helper()
	be, err := cpu.Open(threads)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := be.Close(); err != nil {
			t.Error(err)
		}
	})
	return be
}
