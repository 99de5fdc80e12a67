package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"jmpi/dist"
	"jmpi/dist/devices"
	"jmpi/dist/jacobi"
	"jmpi/internal/rates"
	"jmpi/strategy"
	"jmpi/topology"
)

// maxPlanned bounds the sweeps of a plan, which has every step.
const maxPlanned = 1000

// planFlags are the flags of plan.
type planFlags struct {
	machineFlags
	timeFlags
	shape     string
	vectors   string
	v         dist.RightVectors
	precond   dist.Preconditioner
	precision dist.Precision
	strategy  string
	scheme    jacobi.Scheme
	block     int
	keeps     bool // checkpoints are written
	sweeps    int
	periodic  bool
	objective string
	planOutput
}

// machineFlags say what computes.
type machineFlags struct {
	backend  devices.Backend
	devices  int
	group    int
	nodes    int
	perNode  int
	hostfile string
	network  string
}

// planOutput says what is printed.
type planOutput struct{ steps, json bool }

func newPlanCommand() *cobra.Command {
	var f planFlags
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

Where the rates of the devices are known, also the time is told, by phase and in all, from the matrix on
the devices to S, U and V there, for a matrix of a --kind; and how much of it is waiting for messages.
--rates FILE has what jmpi bench --rates FILE has measured on such devices, or is the name of a GPU that
the program knows; without it the time on GPUs is that of the first of these. Beyond 64 devices nothing
is searched: exchanges are counted by a formula, which the best plans come to. With --rates, and neither a
shape nor devices, a table has what each decomposition took that was measured beside the rates, and what
plan says of it.

The network is one of
  --devices G              one node
  --devices G --group S    nodes of S devices
  --nodes N --gpus-per-node K
                           nodes of K GPUs
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
			if f.compares() {
				return f.compare(cmd.OutOrStdout())
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
	flags.Var(&f.backend, "backend",
		"devices: cpu, whose memory is that of the host, or cuda; auto: those of the "+
			"rates, and GPUs with --gpus-per-node")
	flags.IntVar(&f.devices, "devices", 0,
		"number of devices, 0: all that the hostfile or network file has, or 1")
	flags.IntVar(&f.group, "group", 0, "devices in a node, 0: all in one")
	flags.IntVar(&f.nodes, "nodes", 0, "number of nodes, with --gpus-per-node")
	flags.IntVar(&f.perNode, "gpus-per-node", 0, "number of GPUs of each node, with --nodes")
	f.timeFlags.register(flags)
	flags.StringVar(&f.hostfile, "hostfile", "", "hosts and slots, as for mpirun")
	flags.StringVar(&f.network, "network", "", "file with levels, costs and groups")
	flags.StringVar(&f.strategy, "strategy", jacobi.AutoStrategy,
		"pivot strategy: auto (the one that a run takes) "+strings.Join(strategy.Names(), " "))
	flags.Var(&f.scheme, "scheme", "what a device does in a macro step: flat or nested; for memory and time")
	flags.IntVar(&f.block, "block", 0,
		"preferred width of the narrow block-columns, 0: the CPU back end's; for memory")
	flags.BoolVar(&f.keeps, "checkpoint", false, "with a checkpoint, as of svd, for memory")
	flags.IntVar(&f.sweeps, "sweeps", 12, "sweeps to plan together")
	flags.BoolVar(&f.periodic, "periodic", false, "the map from pairs to groups repeats every sweep")
	flags.StringVar(&f.objective, "objective", "phases",
		"what to minimise: slow phases, slow block-columns (columns), or the cost of the "+
			"slowest link of each phase (link)")
	flags.BoolVar(&f.steps, "steps", false,
		"print every step: pairs@device, and moves column:from>to, slow ones with !")
	flags.BoolVar(&f.json, "json", false, "print JSON, with every step")
	return cmd
}

// planned is a plan with what the output says of it.
type planned struct {
	flags    planFlags
	plan     *topology.Plan // nil where exchanges are only counted
	network  *topology.Network
	traffic  topology.Traffic
	figures  *figures  // nil without --shape
	forecast *forecast // nil without --shape
}

// searched is the largest number of devices that a plan is searched for, unless its steps are to be printed.
const searched = 64

// stepped is the largest number of devices whose steps there is memory for.
const stepped = 1024

func (f planFlags) plan() (*planned, error) {
	objective, err := f.check()
	if err != nil {
		return nil, err
	}
	known, err := f.findRates()
	if err != nil {
		return nil, err
	}
	if known != nil && f.backend != devices.Auto && f.backend.String() != known.Kind {
		return nil, usagef("--backend %v: the rates are of %s, kind %s; leave --backend out", f.backend,
			known.Device, known.Kind)
	}
	return f.planWith(known, objective)
}

// planWith plans with rates, or without any where they are nil.
func (f planFlags) planWith(known *rates.Rates, objective topology.Objective) (*planned, error) {
	network, err := f.readNetwork()
	if err != nil {
		return nil, err
	}
	if f.backend == devices.Auto {
		f.backend = devices.CPU
		if f.perNode > 0 || known != nil && known.Kind == "cuda" {
			f.backend = devices.CUDA
		}
	}
	if known == nil && f.backend == devices.CUDA {
		if known, err = firstKnown(); err != nil {
			return nil, err
		}
	}
	f.resolve(known, network.Devices())
	p := &planned{network: network, flags: f}
	switch count := network.Devices(); {
	case count > stepped && (f.steps || f.periodic):
		return nil, usagef("%d devices: leave out --steps and --periodic, which are for %d at most", count, stepped)
	case count > searched && !f.steps && !f.periodic:
		p.count()
	default:
		if err := p.search(objective); err != nil {
			return nil, err
		}
	}
	if f.shape == "" {
		return p, nil
	}
	if p.figures, err = f.figures(network, p.traffic); err == nil {
		p.forecast, err = p.time(known)
	}
	return p, err
}

// search makes the plan.
func (p *planned) search(objective topology.Objective) error {
	table, err := strategy.New(p.flags.strategy, 2*p.network.Devices())
	if err != nil {
		return usagef("%w", err)
	}
	p.plan, err = topology.New(table, p.network,
		topology.Options{Sweeps: p.flags.sweeps, Periodic: p.flags.periodic, Objective: objective})
	if err != nil {
		return usagef("%w", err)
	}
	p.traffic = p.plan.Traffic()
	return nil
}

// count counts the exchanges of a strategy in which each device sends a block-column after each p-step. A
// cyclic one has 2·devices − 1 of them, mmstep one more.
func (p *planned) count() {
	devices := p.network.Devices()
	phases := 2*devices - 1
	if p.flags.strategy == "mmstep" {
		phases++
	}
	slow := topology.Crossings(p.network.Groups(), phases)
	t := topology.Traffic{Sweeps: p.flags.sweeps, Phases: phases, SlowPhases: slow, Columns: phases * devices,
		SlowColumns: slow * devices, Busiest: phases}
	for _, x := range []*int{&t.Phases, &t.SlowPhases, &t.Columns, &t.SlowColumns, &t.Busiest} {
		*x *= p.flags.sweeps
	}
	p.traffic = t
}

// objectives are the values of --objective.
var objectives = []string{"phases", "columns", "link"}

func (f planFlags) check() (topology.Objective, error) {
	for _, err := range []error{
		oneOf("vectors", f.vectors, vectorChoices...), oneOf("objective", f.objective, objectives...),
		oneOf("strategy", f.strategy, strategies...),
		f.timeFlags.check(f.shape),
	} {
		if err != nil {
			return 0, err
		}
	}
	if err := f.machineFlags.check(); err != nil {
		return 0, err
	}
	switch {
	case f.shape == "" && f.devices == 0 && f.nodes == 0 && f.hostfile == "" && f.network == "":
		return 0, usagef("plan needs a shape or a number of devices; add --shape 4096x4096, or --devices 4, or " +
			"--hostfile FILE")
	case f.block < 0:
		return 0, usagef("--block %d: must be at least 1, or 0 for the back end's width", f.block)
	case f.sweeps < 1:
		return 0, usagef("--sweeps %d: must be at least 1", f.sweeps)
	case f.sweeps > maxPlanned:
		return 0, usagef("--sweeps %d: must be at most %d", f.sweeps, maxPlanned)
	}
	objective, err := topology.ParseObjective(f.objective)
	if err != nil {
		return 0, usagef("--objective: %w", err)
	}
	return objective, nil
}

// check tells whether the flags describe one network.
func (f *machineFlags) check() error {
	networks := 0
	for _, given := range []bool{f.group != 0, f.hostfile != "", f.network != "", f.nodes != 0} {
		if given {
			networks++
		}
	}
	switch {
	case f.devices < 0:
		return usagef("--devices %d: must be at least 1, or 0 for all of a file", f.devices)
	case f.group < 0:
		return usagef("--group %d: must be at least 1, or 0 for one group", f.group)
	case f.nodes < 0 || f.perNode < 0 || (f.nodes == 0) != (f.perNode == 0):
		return usagef("--nodes %d, --gpus-per-node %d: give both, each at least 1", f.nodes, f.perNode)
	case f.nodes > 0 && f.devices > 0:
		return usagef("--devices: leave it out, there are --nodes times --gpus-per-node")
	case networks > 1:
		return usagef("--group, --nodes, --hostfile and --network exclude each other: each describes the whole " +
			"network")
	case f.devices > strategy.MaxOrder/2:
		return usagef("--devices %d: must be at most %d", f.devices, strategy.MaxOrder/2)
	case f.nodes > 0 && f.perNode > strategy.MaxOrder/2/f.nodes:
		return usagef("--nodes %d, --gpus-per-node %d: must be at most %d GPUs in all", f.nodes, f.perNode,
			strategy.MaxOrder/2)
	}
	return nil
}

// readNetwork builds the network that the flags describe.
func (f *machineFlags) readNetwork() (*topology.Network, error) {
	path, read := f.hostfile, topology.FromHostfile
	if f.network != "" {
		path, read = f.network, topology.FromFile
	}
	if path == "" {
		devices, size := max(1, f.devices), f.group
		if f.nodes > 0 {
			devices, size = f.nodes*f.perNode, f.perNode
		}
		if size == 0 {
			size = devices
		}
		network, err := topology.FromGroups(devices, size)
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
