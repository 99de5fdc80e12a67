package main

import (
	"encoding/json"
	"fmt"

	"jmpi/dist"
	"jmpi/internal/rivals"
	"jmpi/node"
)

// phases prints, on rank 0, what share of the last run each phase took over all devices, and at what
// fraction of the speed of dgemm, measured here and now on all ranks at once, with the threads of
// each rank or on its GPUs.
func (b *bench) phases(solution *dist.Decomposition) error {
	type figures struct {
		Phases node.Phases
		Dgemm  float64 // GFLOP/s of this rank
	}
	mine := figures{Phases: solution.Phases}
	order := min(2048, max(512, b.n)) // a larger one would take longer than a small matrix
	if b.GPUs != nil {
		order = 8192
	}
	if speed, err := b.dgemm(order); err == nil {
		mine.Dgemm = speed
	}
	blob, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	all, err := b.comm.Allgather(blob)
	if err != nil {
		return b.failed(err)
	}
	var sum node.Phases
	dgemm := 0.0
	for _, blob := range all {
		var f figures
		if err := json.Unmarshal(blob, &f); err != nil {
			return err
		}
		sum.Add(f.Phases)
		dgemm += f.Dgemm
	}
	before, after := solution.Host["precondition"]*float64(len(solution.Devices)),
		solution.Host["vectors"]*float64(len(solution.Devices))
	total := before + sum.Shorten + sum.Inner + sum.Postmultiply + sum.Exchange + after
	fmt.Fprintf(b.out, "%% dgemm %d: %.1f GFLOP/s on all ranks\n%% phase share GFLOP/s fraction-of-dgemm\n",
		order, dgemm)
	for _, p := range []struct {
		name           string
		seconds, flops float64
	}{
		{"precondition", before, 0}, {"shorten", sum.Shorten, sum.ShortenFlops},
		{"inner", sum.Inner, sum.InnerFlops},
		{"postmultiply", sum.Postmultiply, sum.PostmultiplyFlops}, {"exchange", sum.Exchange, 0},
		{"vectors", after, 0},
	} {
		speed := 0.0
		if p.seconds > 0 {
			speed = p.flops / p.seconds / 1e9 * float64(len(solution.Devices))
		}
		fmt.Fprintf(b.out, "%% %-12s %5.1f%% %7.1f %5.2f\n", p.name, 100*p.seconds/total, speed, speed/dgemm)
	}
	return nil
}

// dgemm returns the speed, in GFLOP/s, of products of matrices of this order on this rank's devices.
func (b *bench) dgemm(order int) (sum float64, err error) {
	if b.GPUs == nil {
		return rivals.Dgemm(order, b.threads())
	}
	for _, gpu := range b.GPUs {
		speed, err := rivals.DeviceDgemm(order, gpu)
		if err != nil {
			return 0, err
		}
		sum += speed
	}
	return sum, nil
}
