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

func (c *carrier) open(d *device) error {
	return d.check("cuStreamCreate", nvidia.Invoke(d.cuStreamCreate, uintptr(unsafe.Pointer(&c.stream)),
		streamNonBlocking))
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

func (d *device) Bring(dst, src kernels.Panel, after ...kernels.Mark) (m kernels.Mark, err error) {
	if err := kernels.CheckCopy(dst, src); err != nil {
		return 0, fmt.Errorf("cuda: Bring: %w", err)
	}
	c := &d.carrier
	err = d.bound("Bring", func() error {
		if err := d.after(c.stream, after); err != nil {
			return err
		}
		if err := d.copyMatrix(c.stream, on(dst), on(src), dst.M, dst.N); err != nil {
			return err
		}
		m, err = c.moved.record(d, c.stream)
		return err
	})
	return m, err
}
