package cuda

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"jmpi/internal/nvidia"
	"jmpi/kernels"
)

// markCount is how many events a stream has for its marks.
const markCount = 64

// marks are the events of one stream, used one after the other, and the first again after the last. An event
// that was recorded again stands for later work of the stream too. So whoever waits for an old mark waits for
// more than it stood for, but never forever: what was recorded waits only for what was queued before.
type marks struct {
	mu     sync.Mutex
	events []uintptr
	next   int
}

// record returns a mark of what is queued on the stream.
func (m *marks) record(d *device, stream uintptr) (kernels.Mark, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.events) < markCount {
		var event uintptr
		if err := d.check("cuEventCreate", nvidia.Invoke(d.cuEventCreate, uintptr(unsafe.Pointer(&event)),
			eventDisableTiming)); err != nil {
			return 0, err
		}
		m.events = append(m.events, event)
	}
	event := m.events[m.next%len(m.events)]
	m.next = (m.next + 1) % markCount
	return kernels.Mark(event), d.check("cuEventRecord", nvidia.Invoke(d.cuEventRecord, event, stream))
}

func (m *marks) close(d *device) error {
	var err error
	for _, event := range m.events {
		err = errors.Join(err, d.check("cuEventDestroy", nvidia.Invoke(d.cuEventDestroy, event)))
	}
	m.events = nil
	return err
}

// carrier is the stream on which panels are brought, beside the lanes.
type carrier struct {
	stream uintptr
	moved  marks
}

// open gives the stream the highest priority. Copies inside a device are kernels. Without it they would begin
// when the last blocks of a product do, and the copies behind them would be late.
func (c *carrier) open(d *device) error {
	return d.check("cuStreamCreateWithPriority", nvidia.Invoke(d.cuStreamCreateWithPriority,
		uintptr(unsafe.Pointer(&c.stream)), streamNonBlocking, uintptr(d.highest)))
}

// wait waits for everything that is brought.
func (c *carrier) wait(d *device) error {
	if c.stream == 0 {
		return nil
	}
	return d.check("cuStreamSynchronize", nvidia.Invoke(d.cuStreamSynchronize, c.stream))
}

func (c *carrier) close(d *device) error {
	err := c.moved.close(d)
	if c.stream != 0 {
		err = errors.Join(err, d.check("cuStreamDestroy", nvidia.Invoke(d.cuStreamDestroy, c.stream)))
	}
	c.stream = 0
	return err
}

// after lets what is queued on a stream from now on wait for marks.
func (d *device) after(stream uintptr, marks []kernels.Mark) error {
	for _, m := range marks {
		if m == 0 {
			continue
		}
		if err := d.check("cuStreamWaitEvent", nvidia.Invoke(d.cuStreamWaitEvent, stream, uintptr(m),
			0)); err != nil {
			return err
		}
	}
	return nil
}

func (d *device) Mark() (m kernels.Mark, err error) {
	err = d.entered("Mark", func() error {
		m, err = d.queued.record(d, d.stream)
		return err
	})
	return m, err
}

func (d *device) Follow(marks ...kernels.Mark) error {
	return d.entered("Follow", func() error { return d.after(d.stream, marks) })
}

func (d *device) Await(marks ...kernels.Mark) error {
	return d.bound("Await", func() error {
		for _, m := range marks {
			if m == 0 {
				continue
			}
			if err := d.check("cuEventSynchronize", nvidia.Invoke(d.cuEventSynchronize, uintptr(m))); err != nil {
				return err
			}
		}
		return nil
	})
}

// Bring copies panels at equal distances by one call, where each is one piece of memory.
func (d *device) Bring(dst, src []kernels.Panel, after ...kernels.Mark) (m kernels.Mark, err error) {
	if err := kernels.CheckBring(dst, src); err != nil {
		return 0, fmt.Errorf("cuda: Bring: %w", err)
	}
	c := &d.carrier
	err = d.bound("Bring", func() error {
		if err := d.after(c.stream, after); err != nil {
			return err
		}
		for len(dst) > 0 {
			count := equidistant(dst, src)
			to, from, rows, columns := on(dst[0]), on(src[0]), dst[0].M, dst[0].N
			if count > 1 { // each panel as a column
				rows, columns = rows*columns, count
				to.ld, from.ld = distance(dst), distance(src)
			}
			if err := d.copyMatrix(c.stream, to, from, rows, columns); err != nil {
				return err
			}
			dst, src = dst[count:], src[count:]
		}
		m, err = c.moved.record(d, c.stream)
		return err
	})
	return m, err
}

// farApart is how many elements of float64 may be between two panels that are copied by one call: the
// driver's limit of 2³¹ bytes, and half of it for good measure.
const farApart = 1 << 27

// equidistant returns how many panels at the beginning of two lists can be copied by one call, at least 1: of
// one shape, each one piece of memory, and each as far behind the one before as the second behind the first.
func equidistant(dst, src []kernels.Panel) int {
	whole := func(p kernels.Panel) bool { return p.Ld == p.M && p.M == dst[0].M && p.N == dst[0].N }
	if len(dst) < 2 || !whole(dst[0]) || !whole(src[0]) {
		return 1
	}
	to, from, size := distance(dst), distance(src), dst[0].M*dst[0].N
	if min(to, from) < size || max(to, from) > farApart || dst[0].Type.Bytes() != kernels.WordBytes {
		return 1
	}
	count := 1
	for count < len(dst) && whole(dst[count]) && whole(src[count]) && distance(dst[count-1:]) == to &&
		distance(src[count-1:]) == from {
		count++
	}
	return count
}

// distance returns how many elements of float64 the second panel of a list begins behind the first.
func distance(p []kernels.Panel) int { return (int(p[1].Data) - int(p[0].Data)) / kernels.WordBytes }
