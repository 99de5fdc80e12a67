package matrix

import (
	"sync"
	"testing"
	"time"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/kernels"
)

// A device gives its memory back while a message that left from it is still on its way: the receiver is late,
// and gets it whole. The panel is packed, so that the sender does not wait for the message at once.
func TestFreeWaitsForMessages(t *testing.T) {
	const m, n = 300, 200
	for name, open := range map[string]func() (kernels.Backend, error){
		"hosts": func() (kernels.Backend, error) { return disttest.OpenHost(t, 1), nil },
		"apart": func() (kernels.Backend, error) { return disttest.OpenApart() },
	} {
		for what, away := range map[string]func(d *Devices) error{
			"free": (*Devices).Free, "trim": (*Devices).trim,
		} {
			var wg sync.WaitGroup
			for _, world := range comm.NewLocal(2) {
				wg.Go(func() {
					backends, closeAll := openSeveral(t, 1, open)
					defer closeAll()
					d, err := NewDevices(world, backends, true)
					if err == nil {
						err = late(t, d, m, n, away)
					}
					if err != nil {
						t.Errorf("%s, %s, rank %d: %v", name, what, world.Rank(), err)
						world.Abort(1)
					}
				})
			}
			wg.Wait()
		}
	}
}

// late lets a panel of numbers fly from rank 0, which gives the memory away at once, to rank 1.
func late(t *testing.T, d *Devices, m, n int, away func(d *Devices) error) error {
	f := flight{from: 0, to: 1, m: m, n: n, pack: func(dev *device, p kernels.Panel) error {
		x := make([]float64, m*n)
		for i := range x {
			x[i] = float64(i)
		}
		return dev.Write(p, x, m)
	}}
	dev := d.own[0]
	if d.Comm.Rank() == 0 {
		if err := d.fly(f); err != nil {
			return err
		}
		return away(d)
	}
	time.Sleep(20 * time.Millisecond)
	var err error
	if f.dst, err = dev.panel(m, n); err != nil {
		return err
	}
	if err := d.fly(f); err != nil {
		return err
	}
	x := make([]float64, m*n)
	if err := dev.Read(x, m, f.dst); err != nil {
		return err
	}
	for i := range x {
		if x[i] != float64(i) {
			t.Errorf("element %d is %g", i, x[i])
			break
		}
	}
	return d.Free()
}
