package main

import (
	"fmt"

	"jmpi/dist"
	"jmpi/dist/devices"
	"jmpi/dist/jacobi"
	"jmpi/kernels"
	"jmpi/kernels/cpu"
	"jmpi/kernels/cuda"
	"jmpi/topology"
)

// figures follow from the shape of the matrix.
type figures struct {
	bytes                    int64 // sent by the busiest device, a sweep
	slow                     int64 // of these, to other groups, on average
	device, host             int64 // bytes of memory of a device, and of the host with most devices
	gradedDevice, gradedHost int64 // the same whatever the matrix is
	least                    int64 // bytes without which a device refuses it
	seconds                  float64
}

// figures needs a shape. seconds is that of a sweep's arithmetic, 0 if no rate is given.
func (f planFlags) figures(network *topology.Network, traffic topology.Traffic) (*figures, error) {
	rows, cols, err := parseShape(f.shape)
	if err != nil {
		return nil, err
	}
	if float64(rows)*float64(cols) > 1<<56 {
		return nil, usagef("--shape %s: no machine can hold it", f.shape)
	}
	limits, err := f.limits()
	if err != nil {
		return nil, err
	}
	t := f.task(rows, cols)
	m, n := int64(t.M), int64(t.N)
	devices := network.Devices()
	usual, most := t.Estimate(devices, limits)
	beside := network.Largest()
	r := &figures{
		device: usual.Device, host: usual.Host(beside, devices, beside, beside, limits.HostMemory),
		gradedDevice: most.Device, gradedHost: most.Host(beside, devices, beside, beside, limits.HostMemory),
	}
	r.least = t.Least(devices, limits)
	if m >= dist.TallRatio*n {
		m = n // the devices get the triangular factor
	}
	low := t.Low(limits)
	carried := !low && f.v != dist.FromLeft && (t.Right || t.Left && t.RightLeads)
	column := float64(topology.ColumnBytes(m, n, devices, carried))
	if low {
		column /= 2 // float32
	}
	r.bytes = int64(float64(traffic.Busiest)/float64(traffic.Sweeps)*column + 0.5)
	r.slow = int64(float64(traffic.SlowColumns)/float64(traffic.Sweeps)/float64(devices)*column + 0.5)
	if f.gflops > 0 {
		r.seconds = topology.SweepFlops(m, n, devices, carried, f.scheme == jacobi.Nested) /
			(f.gflops * 1e9 * float64(devices))
	}
	return r, nil
}

// task is the decomposition of a matrix of this shape. A wide one is solved transposed.
func (f planFlags) task(rows, cols int64) dist.Task {
	t := dist.Task{
		M: int(max(rows, cols)), N: int(min(rows, cols)), Precondition: f.precond, V: f.v, Precision: f.precision,
		Wanted: dist.Wanted{Left: f.vectors == "both" || f.vectors == "u", Right: f.vectors == "both" ||
			f.vectors == "v"},
		Settings: jacobi.Settings{Strategy: f.strategy, Scheme: f.scheme, Block: f.block, Aside: f.keeps},
	}
	if rows < cols {
		t.Left, t.Right, t.RightLeads = t.Right, t.Left, true
	}
	return t
}

// limits are those of the devices, by which widths are chosen.
func (f planFlags) limits() (kernels.Limits, error) {
	if f.backend == devices.CUDA {
		return cuda.Limits(), nil
	}
	be, err := cpu.Open(1)
	if err != nil {
		return kernels.Limits{}, exit(exitFailure, err)
	}
	return be.Limits(), exit(exitFailure, be.Close())
}

// byteText writes a number of bytes, also in MiB or GiB.
func byteText(n int64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%d bytes (%.4g GiB)", n, float64(n)/(1<<30))
	}
	return fmt.Sprintf("%d bytes (%.4g MiB)", n, float64(n)/(1<<20))
}
