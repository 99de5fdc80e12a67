package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"jmpi/dist/checkpoint"
	"jmpi/dist/comm"
	"jmpi/dist/devices"
	"jmpi/dist/exchange"
	"jmpi/internal/cores"
	"jmpi/internal/trace"
)

// newOpener opens the devices of this machine. Tests put others in their place.
var newOpener = devices.Here

// session is this rank's part of a run on MPI: its communicator, its cores and devices, and its log.
type session struct {
	comm   comm.Comm
	choice cores.Choice
	devices.Opened
	placed  []exchange.DeviceInfo // the devices of all ranks
	direct  exchange.GPUDirect
	log     zerolog.Logger     // writes on rank 0 alone
	silence int                // seconds after which a silent rank ends the job; 0: never
	seconds map[string]float64 // of this rank in each step outside of the decomposition
	spans   *trace.Recorder    // of this rank
	traced  *tracing           // nil without --trace
	step    func(name string)  // called before each step of publishing; set by tests alone

	progress *progress // of svd, on rank 0
	stored
}

// stored is what svd writes.
type stored struct {
	kept   *checkpoint.Journal // nil without --checkpoint
	places map[string]int64    // where S, U and V begin in an HDF5 file; nil for .npy files
}

// errElsewhere stands for an error that another rank prints.
var errElsewhere = errors.New("")

// newSession widens the affinity where that is due, starts MPI and opens this rank's devices. Meanwhile
// NVIDIA's libraries are opened, where they are there. It is collective.
func newSession(f sessionFlags) (*session, error) {
	if err := cores.CheckStart(os.Getenv); err != nil {
		return nil, usagef("%w", err)
	}
	choice, err := cores.Plan(cores.Available(), f.threads)
	if err != nil {
		return nil, usagef("%w", err)
	}
	if err := checkRoom(choice.Threads, f.threads > 0); err != nil {
		return nil, err
	}
	if err := choice.Apply(); err != nil {
		return nil, exit(exitFailure, err)
	}
	// The thread that calls MPI needs one of Go's processors beside those that compute.
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), choice.Threads+1))
	}
	lift := limit(f.silence.seconds, "MPI has not started")
	defer lift()
	killWait := f.silence.ask(cores.FindLauncher())
	world, err := f.world()
	if err != nil {
		return nil, exit(exitFailure, err)
	}
	devices.Prepare(f.backend)
	process.join(world)
	s := &session{comm: world, choice: choice, silence: f.silence.seconds, seconds: map[string]float64{},
		spans: trace.New(started, spansOf(world.Size()))}
	s.took("mpi", started)
	s.direct = f.gpuDirect
	if err := cores.CheckWorld(world.Size(), os.Getenv); err != nil {
		return nil, s.end(s.verdict(exitUsage, err))
	}
	if s.silence, err = s.sameSilence(f.silence, killWait); err == nil {
		err = s.watch(s.silence)
	}
	if err != nil {
		return nil, s.end(err)
	}
	lift()
	opening := time.Now()
	if s.Opened, err = newOpener().Open(world, f.backend, f.devicesPerRank, choice.Threads); err != nil {
		if failure, ok := err.(*comm.Failure); ok && f.backend == devices.CUDA {
			failure.Text += "; leave --backend out to compute on CPUs where there is no GPU"
		}
		return nil, s.end(s.failed(err))
	}
	if s.placed, err = exchange.Census(world, s.Devices); err != nil {
		return nil, s.end(s.failed(err))
	}
	s.took("devices", opening)
	s.log = newLog(f, world.Rank())
	if s.silence != f.silence.seconds {
		s.log.Info().Int("silence", s.silence).Msg("srun waits long for the ranks of a host that has died: a " +
			"rank that is silent for so many seconds ends the job")
	}
	return s, nil
}

// world starts MPI, unless this process is alone and need not.
func (f sessionFlags) world() (comm.Comm, error) {
	if cores.Alone(os.Getenv) {
		if f.withoutMPI {
			return comm.NewLocal(1)[0], nil
		}
		// Open MPI starts a daemon for a process that is alone, unless it is told not to.
		if _, set := os.LookupEnv(singletonIsolated); !set {
			if err := os.Setenv(singletonIsolated, "1"); err != nil {
				return nil, err
			}
		}
	}
	return comm.StartMPI()
}

// singletonIsolated is a setting of Open MPI.
const singletonIsolated = "OMPI_MCA_ess_singleton_isolated"

// took notes how long a step of the run has taken, up to now.
func (s *session) took(step string, since time.Time) {
	now := time.Now()
	s.seconds[step] += now.Sub(since).Seconds()
	s.spans.Span(0, step, since, now)
}

// quiet logs nothing but warnings from here on.
func (s *session) quiet() { s.log = s.log.Level(zerolog.WarnLevel) }

// threads returns the threads of all devices of this rank.
func (s *session) threads() (n int) {
	for _, d := range s.Devices {
		n += d.Describe().Threads
	}
	return n
}

// libraries names what the devices compute with, after its kind: "blas" or "cuda".
func (s *session) libraries() (kind, name string) {
	kind = "blas"
	if s.GPUs != nil {
		kind = "cuda"
	}
	return kind, s.Devices[0].Describe().Library
}

// header logs what the run is made of.
func (s *session) header() {
	s.log.Info().Str("jmpi", version()).Str("mpi", s.comm.Library()).Int("ranks", s.comm.Size()).
		Int("devices_per_rank", len(s.Devices)).Int("threads_per_rank", s.threads()).Int("cores_per_rank",
		s.choice.Cores).
		Str(s.libraries()).Str("go", runtime.Version()).Msg("start")
	s.deviceLines()
	if s.choice.Note != "" {
		s.log.Info().Msg(s.choice.Note)
	}
	if s.choice.Hint != "" {
		s.log.Warn().Msg(s.choice.Hint)
	}
}

// hintOrder is the order of a matrix from which a run warns of slow kernels of OpenBLAS: it takes seconds.
const hintOrder = 1000

// hintAtBLAS warns of slow kernels of OpenBLAS, where a matrix is so large that they count.
func (s *session) hintAtBLAS(rows, columns int64) {
	if kind, library := s.libraries(); kind == "blas" && min(rows, columns) >= hintOrder {
		if hint := blasHint(library); hint != "" {
			s.log.Warn().Msg(hint)
		}
	}
}

// deviceLines logs why auto took CPUs, or which rank drives which GPU.
func (s *session) deviceLines() {
	switch {
	case s.FellBack != nil && s.NoGPU:
		s.log.Info().AnErr("why", s.FellBack).Msg("no GPU: computing on CPUs")
	case s.FellBack != nil:
		s.log.Warn().AnErr("why", s.FellBack).Msg("not every rank can use a GPU: computing on CPUs")
	}
	if s.GPUs == nil {
		return
	}
	for i, d := range s.placed {
		s.log.Info().Int("device", i).Int("rank", d.Rank).Str("host", d.Host).Str("gpu", d.Name).Str("uuid",
			d.UUID).Msg("device")
	}
	for _, who := range s.Shared {
		s.log.Warn().Str("gpu", who).Msg("several ranks share a GPU")
	}
}

// agree makes the failure of one rank the failure of all.
func (s *session) agree(kind comm.Kind, err error) error {
	return s.failed(comm.Agree(s.comm, kind, err))
}

// failed gives an error of a collective operation its exit code. A failure that all ranks know
// is printed by rank 0; any other has happened here alone, and ends the other ranks.
func (s *session) failed(err error) error {
	if err == nil {
		return nil
	}
	var known *comm.Failure
	if !errors.As(err, &known) {
		process.fail(err) // does not return
	}
	if known.Kind == comm.Stopped {
		return s.verdict(exitStopped, errors.New(known.Text))
	}
	if err == error(known) {
		err = s.plain(*known)
	}
	return s.verdict(map[comm.Kind]int{comm.BadUse: exitUsage, comm.BadInput: exitInput,
		comm.BadResource: exitFailure, comm.NoDecomposition: exitNotConverged}[known.Kind], err)
}

// plain words a failure for users: without the parts of the program that it went through, and without the
// rank if there is one.
func (s *session) plain(f comm.Failure) error {
	for _, part := range []string{"node: outer ordering: ", "node: fine ordering: "} {
		if rest, ok := strings.CutPrefix(f.Text, part); ok {
			f.Text = rest + "; leave --strategy out, or take another number of devices"
		}
	}
	if s.comm.Size() == 1 {
		return errors.New(f.Text)
	}
	return &f
}

// same makes sure that all ranks were given the same options: otherwise they would wait for each
// other for ever.
func (s *session) same(what, value string) error {
	all, err := s.comm.Allgather([]byte(value))
	if err != nil {
		return s.failed(err)
	}
	if string(all[0]) != value {
		err = fmt.Errorf("%s %s here, but %s on rank 0: give all ranks the same options; mpirun -x NAME hands an "+
			"environment variable to other nodes", what, value, all[0])
	}
	return s.agree(comm.BadUse, err)
}

// verdict marks an error that all ranks know with its exit code. Rank 0 prints it at once: when one rank has
// exited with an error, mpirun may kill the others before they have printed theirs.
func (s *session) verdict(code int, err error) error {
	if s.comm.Rank() == 0 {
		process.print(code, "", err)
	}
	return exit(code, errElsewhere)
}

// end closes MPI and the devices, and returns err, or what went wrong in closing.
func (s *session) end(err error) error {
	defer limit(s.silence, "MPI has not ended")()
	// A library that has opened other devices' memory closes it while the devices are still there.
	if e := s.comm.Close(); err == nil && e != nil {
		err = exit(exitFailure, e)
	}
	for _, d := range s.Devices {
		if e := d.Close(); err == nil && e != nil {
			err = exit(exitFailure, e)
		}
	}
	return err
}
