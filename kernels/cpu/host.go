package cpu

import (
	"fmt"

	"jmpi/kernels"
)

// The device's memory is host memory, so what other devices stage through the host is a copy here.

func (d *device) AllocHost(bytes int64) (kernels.Address, error) { return d.Alloc(bytes) }

func (d *device) FreeHost(a kernels.Address) error { return d.Free(a) }

func (d *device) Fetch(host, device kernels.Address, bytes int64) error {
	return move("Fetch", host, device, bytes)
}

func (d *device) Store(device, host kernels.Address, bytes int64) error {
	return move("Store", device, host, bytes)
}

func (d *device) Attach() error { return nil }

func move(op string, to, from kernels.Address, bytes int64) error {
	if bytes%kernels.WordBytes != 0 || bytes < 0 {
		return fmt.Errorf("cpu: %s: %w: %d bytes are not a number of float64", op, kernels.ErrShape, bytes)
	}
	if bytes > 0 {
		n := int(bytes / kernels.WordBytes)
		copy(floats(to, n), floats(from, n))
	}
	return nil
}
