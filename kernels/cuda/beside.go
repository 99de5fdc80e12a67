package cuda

import (
	"errors"
	"fmt"

	"jmpi/kernels"
)

// besideBytes is the size of the memory through which lists go to the device for what is called beside.
const besideBytes = 1 << 20

// beside is the lane of what is called beside all else. Nothing waits for it but what follows its marks.
type beside struct {
	lane
	staging staging
}

func (b *beside) open(d *device, priority int32) (err error) {
	if b.staging.at, err = d.allocHost(besideBytes); err != nil {
		return err
	}
	b.staging.bytes = besideBytes
	return b.lane.open(d, priority, &b.staging)
}

// clear waits for everything on the lane.
func (b *beside) clear(d *device) error {
	b.staging.used = 0
	return b.wait(d)
}

func (b *beside) close(d *device) error {
	err := b.lane.close(d)
	if b.staging.at != 0 {
		err = errors.Join(err, d.freeHost(b.staging.at))
	}
	b.staging = staging{}
	return err
}

// together fails where a library is asked for beside all else: it serves one lane.
func (d *device) together(library string) error {
	if d.lane == &d.beside.lane {
		return fmt.Errorf("%w: %s works on one lane, not beside it", kernels.ErrShape, library)
	}
	return nil
}

func (d *device) Beside(f func() error, after ...kernels.Mark) (m kernels.Mark, err error) {
	if err := d.bound("Beside", func() error { return d.after(d.beside.stream, after) }); err != nil {
		return 0, err
	}
	d.lane = &d.beside.lane
	defer func() { d.lane = &d.lanes[0] }()
	if err := f(); err != nil {
		return 0, err
	}
	return d.Mark()
}
