package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/rs/zerolog"

	"jmpi/dist"
	"jmpi/internal/cores"
	"jmpi/kernels"
	"jmpi/kernels/cpu"
)

// session is this rank's part of a run on MPI: its communicator, its cores and devices, and its log.
type session struct {
	comm    dist.Comm
	choice  cores.Choice
	devices []kernels.Backend
	log     zerolog.Logger // writes on rank 0 alone
}

// errElsewhere stands for an error that another rank prints.
var errElsewhere = errors.New("")

// newSession widens the affinity where that is due, starts MPI and opens this rank's devices. It is collective.
func newSession(f sessionFlags) (*session, error) {
	if err := dist.CheckStart(os.Environ()); err != nil {
		return nil, usagef("%w", err)
	}
	choice, err := cores.Plan(cores.Available(), f.threads)
	if err != nil {
		return nil, usagef("%w", err)
	}
	if err := choice.Apply(); err != nil {
		return nil, exit(exitFailure, err)
	}
	comm, err := dist.StartMPI()
	if err != nil {
		return nil, exit(exitFailure, err)
	}
	s := &session{comm: comm, choice: choice}
	if err := dist.CheckLaunch(comm.Size(), os.Environ()); err != nil {
		return nil, s.end(s.verdict(exitUsage, err))
	}
	s.log = newLog(f, comm.Rank())
	if err := s.agree(dist.BadResource, s.open(f.devicesPerRank)); err != nil {
		return nil, s.end(err)
	}
	return s, nil
}

// open opens count CPU devices, which share the rank's threads.
func (s *session) open(count int) error {
	for i := range count {
		threads := max(1, (i+1)*s.choice.Threads/count-i*s.choice.Threads/count)
		be, err := cpu.Open(threads)
		if err != nil {
			return err
		}
		s.devices = append(s.devices, be)
	}
	return nil
}

// quiet logs nothing but warnings from here on.
func (s *session) quiet() { s.log = s.log.Level(zerolog.WarnLevel) }

// threads returns the threads of all devices of this rank.
func (s *session) threads() (n int) {
	for _, d := range s.devices {
		n += d.Describe().Threads
	}
	return n
}

// header logs what the run is made of.
func (s *session) header() {
	s.log.Info().Str("jmpi", version()).Str("mpi", s.comm.Library()).Int("ranks", s.comm.Size()).
		Int("devices_per_rank", len(s.devices)).Int("threads_per_rank", s.threads()).Int("cores_per_rank", s.choice.Cores).
		Str("blas", s.devices[0].Describe().Library).Str("go", runtime.Version()).Msg("start")
	if s.choice.Note != "" {
		s.log.Info().Msg(s.choice.Note)
	}
	if s.choice.Hint != "" {
		s.log.Warn().Msg(s.choice.Hint)
	}
}

// agree makes the failure of one rank the failure of all.
func (s *session) agree(kind dist.Kind, err error) error {
	return s.failed(dist.Agree(s.comm, kind, err))
}

// failed gives an error of a collective operation its exit code. A failure that all ranks know
// is printed by rank 0; any other has happened here alone, and ends the other ranks.
func (s *session) failed(err error) error {
	if err == nil {
		return nil
	}
	var known *dist.Failure
	if !errors.As(err, &known) {
		err = fmt.Errorf("rank %d: %w", s.comm.Rank(), err)
		fmt.Fprintf(os.Stderr, "jmpi: %v\n", err)
		s.comm.Abort(exitFailure)
		return exit(exitFailure, errElsewhere)
	}
	return s.verdict(map[dist.Kind]int{dist.BadUse: exitUsage, dist.BadInput: exitInput, dist.BadResource: exitFailure}[known.Kind], err)
}

// verdict marks an error that all ranks know with its exit code. Rank 0 prints it at once: when one rank has exited with
// an error, mpirun may kill the others before they have printed theirs.
func (s *session) verdict(code int, err error) error {
	if s.comm.Rank() == 0 {
		fmt.Fprintf(os.Stderr, "jmpi: %v\n", err)
	}
	return exit(code, errElsewhere)
}

// end closes the devices and MPI, and returns err, or what went wrong in closing.
func (s *session) end(err error) error {
	for _, d := range s.devices {
		if e := d.Close(); err == nil && e != nil {
			err = exit(exitFailure, e)
		}
	}
	if e := s.comm.Close(); err == nil && e != nil {
		err = exit(exitFailure, e)
	}
	return err
}
