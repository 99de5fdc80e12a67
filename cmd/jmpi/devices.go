package main

import (
	"errors"
	"fmt"

	"jmpi/dist/comm"
	"jmpi/kernels"
	"jmpi/kernels/cpu"
	"jmpi/kernels/cuda"
)

// opener opens devices.
type opener struct {
	// the UUIDs of the GPUs that the driver shows; an error says why there are none
	see func() ([]string, error)
	gpu func(index int) (kernels.Backend, error)   // opens one of them
	cpu func(threads int) (kernels.Backend, error) // opens a CPU device
}

// opened are the devices of a rank.
type opened struct {
	devices  []kernels.Backend
	gpus     []int    // their numbers among the GPUs that the driver shows; nil for CPU devices
	fellBack error    // why auto took CPUs; nil if it did not, or had no choice
	noGPU    bool     // with fellBack: no rank sees any GPU
	shared   []string // GPUs of several ranks
}

// newOpener opens the devices of this machine. Tests put others in their place.
var newOpener = func() opener {
	return opener{see: visibleGPUs, gpu: cuda.Open, cpu: cpu.Open}
}

// open opens this rank's devices. backend auto takes GPUs if every rank can open its own, else CPU devices on
// all ranks. It is collective; an error is a *comm.Failure known to all ranks, or one of communication.
func (o opener) open(world comm.Comm, backend backend, perRank, threads int) (opened, error) {
	var d opened
	if backend != onCPUs {
		err := o.openGPUs(world, perRank, &d)
		var failure *comm.Failure
		if err == nil || backend == onGPUs || !errors.As(err, &failure) {
			return d, err
		}
		d = opened{fellBack: err, noGPU: d.noGPU}
	}
	err := o.openCPUs(max(perRank, 1), threads, &d)
	return d, comm.Agree(world, comm.BadResource, err)
}

// openGPUs opens the GPUs that are this rank's; what it opened is closed again if any rank fails.
func (o opener) openGPUs(world comm.Comm, perRank int, d *opened) error {
	mine := sight{Node: world.Node()}
	var err error
	if mine.GPUs, err = o.see(); err != nil {
		mine.Why = err.Error()
	}
	all, err := gather(world, mine)
	if err != nil {
		return err
	}
	d.noGPU = true
	for _, s := range all {
		d.noGPU = d.noGPU && len(s.GPUs) == 0
	}
	assigned, err := assign(all, perRank)
	if err != nil {
		return err
	}
	d.gpus, d.shared = assigned[world.Rank()], shared(all, assigned)
	var failed error
	for _, index := range d.gpus {
		be, err := o.gpu(index)
		if err != nil {
			failed = fmt.Errorf("GPU %d: %w", index, err)
			break
		}
		d.devices = append(d.devices, be)
	}
	if err := comm.Agree(world, comm.BadResource, failed); err != nil {
		for _, be := range d.devices {
			_ = be.Close() // the failure counts, not what closing says after it
		}
		d.devices = nil
		return err
	}
	return nil
}

// openCPUs opens CPU devices, which share the rank's threads.
func (o opener) openCPUs(count, threads int, d *opened) error {
	for i := range count {
		be, err := o.cpu(max(1, (i+1)*threads/count-i*threads/count))
		if err != nil {
			return err
		}
		d.devices = append(d.devices, be)
	}
	return nil
}
