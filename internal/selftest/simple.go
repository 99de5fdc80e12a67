package selftest

import (
	"math/rand/v2"

	"jmpi/kernels"
)

// memoryTest writes, copies on the device, sends through pinned host memory, and reads.
func memoryTest(device, _ kernels.Backend) (_ float64, err error) {
	m := &memory{be: device}
	defer func() { err = m.free(err) }()
	x := gauss(rand.New(rand.NewPCG(2, 2)), 517, 33)
	from, err := m.upload(x)
	if err != nil {
		return 0, err
	}
	copied, err := m.panel(x.m, x.n)
	if err != nil {
		return 0, err
	}
	staged, err := m.panel(x.m, x.n)
	if err != nil {
		return 0, err
	}
	if err := device.Copy(copied, from); err != nil {
		return 0, err
	}
	if err := stage(device, staged, from); err != nil {
		return 0, err
	}
	differences := 0
	for _, p := range []kernels.Panel{from, copied, staged} {
		y, err := m.download(p)
		if err != nil {
			return 0, err
		}
		differences += x.differing(y)
	}
	return float64(differences), nil
}

// stage copies a panel, gaps included, through pinned host memory.
func stage(device kernels.Backend, to, from kernels.Panel) (err error) {
	host, err := device.AllocHost(from.Bytes())
	if err != nil {
		return err
	}
	defer func() {
		if e := device.FreeHost(host); err == nil {
			err = e
		}
	}()
	if err := device.Fetch(host, from.Data, from.Bytes()); err != nil {
		return err
	}
	return device.Store(to.Data, host, from.Bytes())
}

// copyTest copies from another device.
func copyTest(to, from kernels.Backend) (_ float64, err error) {
	here, there := &memory{be: to}, &memory{be: from}
	defer func() { err = here.free(there.free(err)) }()
	x := gauss(rand.New(rand.NewPCG(3, 3)), 1031, 65)
	source, err := there.upload(x)
	if err != nil {
		return 0, err
	}
	target, err := here.panel(x.m, x.n)
	if err != nil {
		return 0, err
	}
	if err := to.Sync(); err != nil { // the target is zero, and nobody uses it
		return 0, err
	}
	if err := to.Copy(target, source); err != nil {
		return 0, err
	}
	y, err := here.download(target)
	return float64(x.differing(y)), err
}

// identityTest sets a panel to ones on a diagonal that is shifted.
func identityTest(device, _ kernels.Backend) (_ float64, err error) {
	m := &memory{be: device}
	defer func() { err = m.free(err) }()
	const rows, cols, row0 = 131, 40, 17
	p, err := m.upload(gauss(rand.New(rand.NewPCG(4, 4)), rows, cols))
	if err != nil {
		return 0, err
	}
	if err := device.Identity(p, row0); err != nil {
		return 0, err
	}
	if err := device.Sync(); err != nil {
		return 0, err
	}
	want := zeros(rows, cols)
	for j := range cols {
		want.a[j+row0+j*rows] = 1
	}
	got, err := m.download(p)
	return float64(want.differing(got)), err
}

// normsTest takes norms of columns from 1e-300 to 1e300.
func normsTest(device, reference kernels.Backend) (float64, error) {
	x := gauss(rand.New(rand.NewPCG(5, 5)), 523, 41)
	for j := range x.n {
		x.scale(j, pow10(15*(j-20)))
	}
	x.scale(3, 0)
	var norms [2][]float64
	for i, be := range []kernels.Backend{device, reference} {
		var err error
		if norms[i], err = normsOn(be, x); err != nil {
			return 0, err
		}
	}
	var w worst
	for j, want := range norms[1] {
		w.add(abs(norms[0][j]-want), 2*float64(x.m+2)*kernels.UnitRoundoff*want)
	}
	return float64(w), nil
}

func normsOn(be kernels.Backend, x matrix) (norms []float64, err error) {
	m := &memory{be: be}
	defer func() { err = m.free(err) }()
	p, err := m.upload(x)
	if err != nil {
		return nil, err
	}
	return be.ColumnNorms(p)
}
