package main

import (
	"math"
	"strings"

	"github.com/spf13/pflag"

	"jmpi/dist"
	"jmpi/dist/devices"
	"jmpi/dist/exchange"
	"jmpi/dist/jacobi"
	"jmpi/internal/cores"
	"jmpi/strategy"
)

// sessionFlags choose where and how a run executes.
type sessionFlags struct {
	backend        devices.Backend
	devicesPerRank int
	gpuDirect      exchange.GPUDirect
	threads        int
	silence        silence
	quiet          bool
	log            string
	withoutMPI     bool // where this process is alone it need not start MPI
}

// logForms are the values of --log.
var logForms = []string{"console", "json"}

func (f *sessionFlags) register(flags *pflag.FlagSet) {
	flags.Var(&f.backend, "backend",
		"devices to compute on: cpu, cuda, or auto: GPUs if every rank has one, else CPUs")
	flags.IntVar(&f.devicesPerRank, "devices-per-rank", 0,
		"devices of each rank; 0: its share of the node's GPUs, or one CPU device")
	flags.Var(&f.gpuDirect, "gpu-direct",
		"MPI messages from GPU memory: auto (if a test at the start proves it), on, or off (through host memory)")
	flags.IntVar(&f.threads, "threads", 0, "CPU threads of each rank in all; 0: its share of the node's cores")
	f.silence.seconds = usualSilence
	flags.Var(&f.silence, "silence", "seconds after which a rank that gives no sign of life ends the job (less "+
		"under srun where Slurm waits long); 0: never, for debuggers")
	flags.BoolVar(&f.quiet, "quiet", false, "log nothing but warnings")
	flags.StringVar(&f.log, "log", "console", "form of the log on stderr: console or json")
}

func (f *sessionFlags) check() error {
	if err := oneOf("log", f.log, logForms...); err != nil {
		return err
	}
	switch {
	case f.devicesPerRank < 0:
		return usagef("--devices-per-rank %d: must be at least 1, or 0 for the rank's share", f.devicesPerRank)
	case f.threads < 0:
		return usagef("--threads %d: must be at least 1, or 0 to use the rank's share of the cores", f.threads)
	case f.silence.seconds < 0 || f.silence.seconds > math.MaxInt32:
		return usagef("--silence %d: must be between 1 and 2147483647 s, or 0 to wait for ever",
			f.silence.seconds)
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
	scheme       jacobi.Scheme
	variant      jacobi.Variant
	block        int
	innerBlock   int
	maxSweeps    int
	precondition dist.Preconditioner
	v            dist.RightVectors
	precision    dist.Precision
}

func (f *methodFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.strategy, "strategy", jacobi.AutoStrategy,
		"pivot strategy of all levels: auto (rowcyc for a triangular factor, otherwise rev-rowcyc) "+
			strings.Join(strategy.Names(), " "))
	flags.Var(&f.scheme, "scheme", "what a device does in a macro step: flat or nested")
	flags.Var(&f.variant, "variant",
		"inner sweeps: block (one), full (to convergence), or auto: the faster one on these devices")
	flags.IntVar(&f.block, "block", 0, "preferred width of the narrow block-columns; 0: the back end's")
	flags.IntVar(&f.innerBlock, "inner-block", 0,
		"preferred width of the block-columns inside a pivot factor; 0: as few levels as possible")
	flags.IntVar(&f.maxSweeps, "max-sweeps", 30, "limit of sweeps of the topmost level")
	flags.Var(&f.precondition, "precondition",
		"before the Jacobi method: none, qr, qrcp (rows sorted, columns pivoted), qrcp-lq, qr-lq (columns in "+
			"their order), or auto: what the matrix needs")
	flags.Var(&f.v, "v", "right singular vectors: accumulate the rotations, solve (from the "+
		"left ones, at the end), or auto")
	flags.Var(&f.precision, "precision",
		"of the first sweeps: float64; float32, where that serves, whose result is refined to full accuracy; or "+
			"auto: the faster one on these devices")
}

func (f *methodFlags) check() error {
	if err := oneOf("strategy", f.strategy, strategies...); err != nil {
		return err
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

// settings are those of the solver.
func (f *methodFlags) settings() jacobi.Settings {
	return jacobi.Settings{
		Strategy: f.strategy, Scheme: f.scheme, Variant: f.variant,
		Block: f.block, InnerBlock: f.innerBlock, MaxSweeps: f.maxSweeps,
	}
}

// onRankZero says whether the launcher, if any, calls this process its first: the one that prints.
func onRankZero() bool { return cores.FindLauncher().Rank == 0 }
