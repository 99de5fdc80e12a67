package main

import (
	"math"
	"strings"

	"github.com/spf13/pflag"

	"jmpi/dist"
	"jmpi/internal/cores"
	"jmpi/kernels"
	"jmpi/strategy"
)

// sessionFlags choose where and how a run executes.
type sessionFlags struct {
	backend        string
	devicesPerRank int
	gpuDirect      string
	threads        int
	silence        int // seconds
	quiet          bool
	log            string
}

func (f *sessionFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.backend, "backend", "auto", "devices to compute on: cpu, cuda, or auto: GPUs if every rank has one, else CPUs")
	flags.IntVar(&f.devicesPerRank, "devices-per-rank", 0, "devices of each rank; 0: its share of the node's GPUs, or one CPU device")
	flags.StringVar(&f.gpuDirect, "gpu-direct", "auto", "MPI messages from GPU memory: auto (if a test at the start proves it), on, or off (through host memory)")
	flags.IntVar(&f.threads, "threads", 0, "CPU threads of each rank in all; 0: its share of the node's cores")
	flags.IntVar(&f.silence, "silence", 60, "seconds after which a rank that gives no sign of life ends the job; 0: never, for debuggers")
	flags.BoolVar(&f.quiet, "quiet", false, "log nothing but warnings")
	flags.StringVar(&f.log, "log", "console", "form of the log on stderr: console or json")
}

func (f *sessionFlags) check() error {
	for _, err := range []error{
		oneOf("backend", f.backend, "auto", "cpu", "cuda"), oneOf("log", f.log, "console", "json"),
		oneOf("gpu-direct", f.gpuDirect, "auto", "on", "off"),
	} {
		if err != nil {
			return err
		}
	}
	switch {
	case f.devicesPerRank < 0:
		return usagef("--devices-per-rank %d: must be at least 1, or 0 for the rank's share", f.devicesPerRank)
	case f.threads < 0:
		return usagef("--threads %d: must be at least 1, or 0 to use the rank's share of the cores", f.threads)
	case f.silence < 0 || f.silence > math.MaxInt32:
		return usagef("--silence %d: must be between 1 and 2147483647 s, or 0 to wait for ever", f.silence)
	case f.threads > maxThreads:
		return usagef("--threads %d: must be at most %d", f.threads, maxThreads)
	case f.devicesPerRank > strategy.MaxOrder/2:
		return usagef("--devices-per-rank %d: must be at most %d", f.devicesPerRank, strategy.MaxOrder/2)
	}
	return nil
}

// methodFlags choose the variant of the method.
type methodFlags struct {
	strategy     string
	scheme       string
	variant      string
	block        int
	innerBlock   int
	maxSweeps    int
	precondition string
	v            string
}

func (f *methodFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.strategy, "strategy", "rev-rowcyc", "pivot strategy of all levels: "+strings.Join(strategy.Names(), " "))
	flags.StringVar(&f.scheme, "scheme", "flat", "what a device does in a macro step: flat or nested (see docs/design.md)")
	flags.StringVar(&f.variant, "variant", "auto", "inner sweeps: block (one), full (to convergence), or auto: the faster one on these devices")
	flags.IntVar(&f.block, "block", 0, "preferred width of the narrow block-columns; 0: the back end's")
	flags.IntVar(&f.innerBlock, "inner-block", 0, "preferred width of the block-columns inside a pivot factor; 0: as few levels as possible")
	flags.IntVar(&f.maxSweeps, "max-sweeps", 30, "limit of sweeps of the topmost level")
	flags.StringVar(&f.precondition, "precondition", "auto", "before the Jacobi method: none, qr, qrcp (rows sorted, columns pivoted), qrcp-lq, or auto: what the matrix needs")
	flags.StringVar(&f.v, "v", "auto", "right singular vectors: accumulate the rotations, solve (from the left ones, at the end), or auto")
}

// preconditions are the values of --precondition.
var preconditions = []string{"auto", "none", "qr", "qrcp", "qrcp-lq"}

// vChoices are the values of --v.
var vChoices = []string{"auto", "accumulate", "solve"}

func (f *methodFlags) check() error {
	for _, err := range []error{
		oneOf("strategy", f.strategy, strategy.Names()...), oneOf("scheme", f.scheme, "flat", "nested"),
		oneOf("variant", f.variant, "auto", "block", "full"), oneOf("v", f.v, vChoices...),
		oneOf("precondition", f.precondition, preconditions...),
	} {
		if err != nil {
			return err
		}
	}
	switch {
	case f.block < 0:
		return usagef("--block %d: must be at least 1, or 0 for the back end's width", f.block)
	case f.innerBlock < 0:
		return usagef("--inner-block %d: must be at least 1, or 0 for as few levels as possible", f.innerBlock)
	case f.maxSweeps < 1:
		return usagef("--max-sweeps %d: must be at least 1", f.maxSweeps)
	}
	return nil
}

// resolve replaces a variant auto by the faster one on devices of this kind, for the SVD or the hyperbolic one.
func (f *methodFlags) resolve(limits kernels.Limits, hyperbolic bool) {
	if f.variant != "auto" {
		return
	}
	f.variant = "block"
	if limits.FullBlock || hyperbolic {
		f.variant = "full"
	}
}

// config returns the solver's configuration, without shape and data.
func (f *methodFlags) config() dist.Config {
	return dist.Config{
		Strategy: f.strategy, Nested: f.scheme == "nested", Full: f.variant == "full",
		Block: f.block, InnerBlock: f.innerBlock, MaxSweeps: f.maxSweeps,
	}
}

// onRankZero says whether the launcher, if any, calls this process its first: the one that prints.
func onRankZero() bool { return cores.FindLauncher().Rank == 0 }
