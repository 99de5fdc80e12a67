package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"jmpi/dist"
	"jmpi/dist/jacobi"
	"jmpi/strategy"
	"jmpi/topology"
)

// maxPlanned bounds the sweeps of a plan, which has every step.
const maxPlanned = 1000

// planFlags are the flags of plan.
type planFlags struct {
	shape     string
	vectors   string
	v         dist.RightVectors
	precond   dist.Preconditioner
	precision dist.Precision
	backend   backend
	devices   int
	group     int
	hostfile  string
	network   string
	strategy  string
	scheme    jacobi.Scheme
	block     int
	keeps     bool // checkpoints are written
	sweeps    int
	periodic  bool
	objective string
	gflops    float64
	steps     bool
	json      bool
}

func newPlanCommand() *cobra.Command {
	f := planFlags{backend: onCPUs}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "memory and exchange plan of a run; needs no MPI",
		Long: `Plan which device works on which pair of macro block-columns, and what is exchanged in between: per
sweep the phases (exchanges), how many of them are slow, and the block-columns that cross a group.
With --shape also the bytes that a device sends, and the memory of a device and of a host (the
innermost group with most devices, one rank a device): by the same estimate a run that does not fit
is refused. Where memory is short a GPU does with less, at the least with what is told. Where rows
or columns differ much in size, or the singular values decay, the matrix is preconditioned, which
may take more.

The network is one of
  --devices G              one node
  --devices G --group S    nodes of S devices
  --hostfile FILE          as mpirun takes it, one device a slot
  --network FILE           levels and costs, lines "level NAME COST", fastest first, then lines "group PATH
                           DEVICES":
                             level nvlink 1
                             level infiniband 8
                             group node1 4
                             group node2 4
A move is slow if it leaves the innermost group. With --devices, the first G devices of a file are
used.`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags()); err != nil {
				return err
			}
			p, err := f.plan()
			if err != nil || !onRankZero() {
				return err
			}
			return exit(exitFailure, p.write(cmd.OutOrStdout()))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.shape, "shape", "",
		"rows and columns of the matrix, as 4096x4096: gives memory and bytes")
	flags.StringVar(&f.vectors, "vectors", "both", "singular vectors to compute: both, u, v or none")
	flags.Var(&f.v, "v", "right singular vectors: accumulate, solve (none during the sweeps), or "+
		"auto: the most that it may need")
	flags.Var(&f.precision, "precision",
		"of the first sweeps: float64, float32, or auto: the faster one; for memory and bytes")
	flags.Var(&f.precond, "precondition",
		"before the Jacobi method: none, qr, qrcp, qrcp-lq, qr-lq, or auto: what the matrix needs; for memory")
	flags.Var(&f.backend, "backend", "devices: cpu, whose memory is that of the host, or cuda")
	flags.IntVar(&f.devices, "devices", 0, "number of devices, 0: all that the hostfile or network file has")
	flags.IntVar(&f.group, "group", 0, "devices in a node, 0: all in one")
	flags.StringVar(&f.hostfile, "hostfile", "", "hosts and slots, as for mpirun")
	flags.StringVar(&f.network, "network", "", "file with levels, costs and groups")
	flags.StringVar(&f.strategy, "strategy", "rev-rowcyc",
		"pivot strategy: "+strings.Join(strategy.Names(), " "))
	flags.Var(&f.scheme, "scheme", "what a device does in a macro step: flat or nested; for memory and time")
	flags.IntVar(&f.block, "block", 0,
		"preferred width of the narrow block-columns, 0: the CPU back end's; for memory")
	flags.BoolVar(&f.keeps, "checkpoint", false, "with a checkpoint, as of svd, for memory")
	flags.IntVar(&f.sweeps, "sweeps", 12, "sweeps to plan together")
	flags.BoolVar(&f.periodic, "periodic", false, "the map from pairs to groups repeats every sweep")
	flags.StringVar(&f.objective, "objective", "phases",
		"what to minimise: slow phases, slow block-columns (columns), or the cost of the "+
			"slowest link of each phase (link)")
	flags.Float64Var(&f.gflops, "gflops", 0,
		"GFLOP/s of a device: gives the time of a sweep's arithmetic, without --shape nothing")
	flags.BoolVar(&f.steps, "steps", false,
		"print every step: pairs@device, and moves column:from>to, slow ones with !")
	flags.BoolVar(&f.json, "json", false, "print JSON, with every step")
	return cmd
}

// planned is a plan with what the output says of it.
type planned struct {
	flags   planFlags
	plan    *topology.Plan
	network *topology.Network
	traffic topology.Traffic
	figures *figures // nil without --shape
}

func (f planFlags) plan() (*planned, error) {
	objective, err := f.check()
	if err != nil {
		return nil, err
	}
	network, err := f.readNetwork()
	if err != nil {
		return nil, err
	}
	table, err := strategy.New(f.strategy, 2*network.Devices())
	if err != nil {
		return nil, usagef("%w", err)
	}
	plan, err := topology.New(table, network,
		topology.Options{Sweeps: f.sweeps, Periodic: f.periodic, Objective: objective})
	if err != nil {
		return nil, usagef("%w", err)
	}
	p := &planned{flags: f, plan: plan, network: network, traffic: plan.Traffic()}
	if f.shape != "" {
		if p.figures, err = f.figures(network, p.traffic); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (f planFlags) check() (topology.Objective, error) {
	for _, err := range []error{
		oneOf("vectors", f.vectors, vectorChoices...), oneOf("backend", f.backend.String(), "cpu", "cuda"),
		oneOf("objective", f.objective, "phases", "columns", "link"),
		oneOf("strategy", f.strategy, strategy.Names()...),
	} {
		if err != nil {
			return 0, err
		}
	}
	networks := 0
	for _, given := range []bool{f.group != 0, f.hostfile != "", f.network != ""} {
		if given {
			networks++
		}
	}
	switch {
	case f.devices < 0:
		return 0, usagef("--devices %d: must be at least 1, or 0 for all of a file", f.devices)
	case f.group < 0:
		return 0, usagef("--group %d: must be at least 1, or 0 for one group", f.group)
	case networks > 1:
		return 0, usagef("--group, --hostfile and --network exclude each other: each describes the whole network")
	case f.devices == 0 && f.hostfile == "" && f.network == "":
		return 0, usagef("plan needs the number of devices; add --devices 4, or --hostfile FILE, or --network FILE")
	case f.devices > strategy.MaxOrder/2:
		return 0, usagef("--devices %d: must be at most %d", f.devices, strategy.MaxOrder/2)
	case f.block < 0:
		return 0, usagef("--block %d: must be at least 1, or 0 for the back end's width", f.block)
	case f.sweeps < 1:
		return 0, usagef("--sweeps %d: must be at least 1", f.sweeps)
	case f.sweeps > maxPlanned:
		return 0, usagef("--sweeps %d: must be at most %d", f.sweeps, maxPlanned)
	case !(f.gflops >= 0):
		return 0, usagef("--gflops %g: must be positive", f.gflops)
	case f.gflops > 0 && f.shape == "":
		return 0, usagef("--gflops needs --shape: the time depends on both")
	}
	objective, err := topology.ParseObjective(f.objective)
	if err != nil {
		return 0, usagef("--objective: %w", err)
	}
	return objective, nil
}

// readNetwork builds the network that the flags describe.
func (f planFlags) readNetwork() (*topology.Network, error) {
	path, read := f.hostfile, topology.FromHostfile
	if f.network != "" {
		path, read = f.network, topology.FromFile
	}
	if path == "" {
		size := f.group
		if size == 0 {
			size = f.devices
		}
		network, err := topology.FromGroups(f.devices, size)
		return network, exit(exitUsage, err)
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: there is no such file", path)
	}
	if err != nil {
		return nil, exit(exitInput, err)
	}
	defer func() { _ = file.Close() }() // which was only read
	network, err := read(file)
	if err != nil {
		return nil, exit(exitInput, fmt.Errorf("%s: %w", path, err))
	}
	if f.devices > 0 {
		network, err = network.First(f.devices)
	}
	return network, exit(exitUsage, err)
}

func (p *planned) write(w io.Writer) error {
	if p.flags.json {
		return p.writeJSON(w)
	}
	b := &strings.Builder{}
	sweeps := float64(p.traffic.Sweeps)
	repeats := ""
	if p.flags.periodic {
		repeats = ", map repeats every sweep"
	}
	fmt.Fprintf(b, "%s of order %d, devices %d, groups %d, sweeps %d, objective %s%s\n",
		p.flags.strategy, p.plan.Columns, p.plan.Devices, p.network.Groups(), p.traffic.Sweeps, p.flags.objective,
		repeats)
	fmt.Fprintf(b, "phases a sweep         %.2f, of these slow %.2f\n", float64(p.traffic.Phases)/sweeps,
		float64(p.traffic.SlowPhases)/sweeps)
	fmt.Fprintf(b, "block-columns a sweep  %.2f, of these slow %.2f\n", float64(p.traffic.Columns)/sweeps,
		float64(p.traffic.SlowColumns)/sweeps)
	if g := p.figures; g != nil {
		fmt.Fprintf(b, "sent a device, sweep   %s\n", byteText(g.bytes))
		fmt.Fprintf(b, "memory of a device     %s\n", byteText(g.device))
		if p.flags.backend == onGPUs && g.least < g.device {
			fmt.Fprintf(b, "  at the least         %s\n", byteText(g.least))
		}
		fmt.Fprintf(b, "memory of a host       %s\n", byteText(g.host))
		if g.gradedDevice > g.device || g.gradedHost > g.host {
			fmt.Fprintf(b, "  if it is graded      %s, of a device %s\n", byteText(g.gradedHost),
				byteText(g.gradedDevice))
		}
		if g.seconds > 0 {
			fmt.Fprintf(b, "arithmetic of a sweep  %.3g s at %g GFLOP/s a device\n", g.seconds, p.flags.gflops)
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if p.flags.steps {
		return p.plan.WriteText(w)
	}
	return nil
}
