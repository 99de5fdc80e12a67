package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"jmpi/dist"
	"jmpi/dist/checkpoint"
	"jmpi/dist/comm"
	"jmpi/internal/matio"
	"jmpi/internal/results"
)

// checkpointFlags say where and when checkpoints are written.
type checkpointFlags struct {
	dir     string
	minutes float64
	sweeps  int
	resume  bool
	limit   string
}

func (f *checkpointFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.dir, "checkpoint", "", "folder for a checkpoint; must not exist, be empty, or hold one")
	decimalVar(flags, &f.minutes, "checkpoint-every", 10, "minutes between two checkpoints; 0: not by time")
	flags.IntVar(&f.sweeps, "checkpoint-sweeps", 0, "sweeps between two checkpoints; 0: not by sweeps")
	flags.BoolVar(&f.resume, "resume", false, "go on from the checkpoint, if there is one")
	flags.StringVar(&f.limit, "time-limit", "",
		"stop in time, with a checkpoint: whole minutes, 2h30m, or as Slurm writes it, D-HH:MM:SS")
}

func (f *checkpointFlags) check() error {
	limit, err := f.timeLimit()
	switch {
	case err != nil:
		return err
	case f.dir == "" && (f.resume || limit > 0 || f.sweeps != 0):
		return usagef("--resume, --time-limit and --checkpoint-sweeps need --checkpoint DIR")
	case !(f.minutes >= 0) || f.minutes > 1e6:
		return usagef("--checkpoint-every %g: must be at least 0, and at most a million minutes", f.minutes)
	case f.sweeps < 0:
		return usagef("--checkpoint-sweeps %d: must be at least 1, or 0 for not by sweeps", f.sweeps)
	}
	return nil
}

// timeLimit returns the time that the run may take, 0 for any.
func (f *checkpointFlags) timeLimit() (time.Duration, error) {
	if f.limit == "" {
		return 0, nil
	}
	limit, ok := parseLimit(f.limit)
	if !ok || limit <= 0 {
		return 0, usagef("--time-limit %s: must be whole minutes, a time like 2h30m, or D-HH:MM:SS", f.limit)
	}
	return limit, nil
}

// parseLimit reads a time: as Go writes it, or as Slurm does: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S.
func parseLimit(text string) (time.Duration, bool) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, true
	}
	days, rest, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, rest = "0", text
	}
	parts := strings.Split(rest, ":")
	units := []time.Duration{time.Hour, time.Minute, time.Second}
	switch {
	case len(parts) > 3:
		return 0, false
	case !hasDays && len(parts) < 3:
		units = units[1:]
	}
	sum := time.Duration(0)
	for i, part := range append([]string{days}, parts...) {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return 0, false
		}
		if i == 0 {
			sum = time.Duration(n) * 24 * time.Hour
		} else {
			sum += time.Duration(n) * units[i-1]
		}
	}
	return sum, true
}

// keeps says what is told of a checkpoint in info.json.
type keeps struct {
	Run     string `json:"run"`
	Folder  string `json:"folder"`
	Resumed bool   `json:"resumed"`
	checkpoint.Written
}

// journal opens the checkpoint; nil without --checkpoint. It is collective.
func (s *session) journal(file *matio.File, p problem, f svdFlags) (*checkpoint.Journal, error) {
	if f.dir == "" {
		return nil, nil
	}
	limit, _ := f.timeLimit() // which was checked
	c := checkpoint.Config{
		Dir: f.dir, Resume: f.resume, Version: version(), Log: s.log,
		Schedule: checkpoint.Schedule{Every: time.Duration(f.minutes * float64(time.Minute)), Sweeps: f.sweeps,
			Limit: limit, Started: started},
		Stop: process.requests.reason, Phase: process.requests.phase, Step: s.step,
		Options: f.identity(),
	}
	var err error
	if s.comm.Rank() == 0 {
		c.Input, err = inputIdentity(file, f)
	}
	if err := s.agree(comm.BadInput, err); err != nil {
		return nil, err
	}
	j, err := checkpoint.Open(s.comm, c)
	if err != nil {
		return nil, s.failed(err)
	}
	process.requests.open()
	if s.comm.Rank() == 0 && !j.Resumed() {
		err = results.CheckSpace(f.dir, "a checkpoint beside the one before", checkpointBytes(p))
	}
	if err := s.agree(comm.BadInput, err); err != nil {
		j.Abandon()
		return nil, err
	}
	if limit > 0 {
		time.AfterFunc(limit-time.Since(started)-endLimit, func() { process.limitEnds() })
	}
	if j.Resumed() {
		s.log.Info().Str("checkpoint", f.dir).Msg("going on from the checkpoint")
	}
	return j, nil
}

// checkpointBytes is what two checkpoints take on the disk, with all of G and V.
func checkpointBytes(p problem) float64 {
	m, n := float64(p.rows()), float64(p.k())
	if m >= dist.TallRatio*n {
		m = n
	}
	return 2 * 8 * n * (m + n)
}

// identity are the options that must be the same when a run goes on.
func (f svdFlags) identity() []checkpoint.Field {
	return []checkpoint.Field{
		{Name: "vectors", Value: f.vectors}, {Name: "precondition", Value: f.precondition.String()},
		{Name: "v", Value: f.v.String()}, {Name: "precision", Value: f.precision.String()},
		{Name: "strategy", Value: f.strategy}, {Name: "scheme", Value: f.scheme.String()},
		{Name: "variant", Value: f.variant.String()}, {Name: "block", Value: strconv.Itoa(f.block)},
		{Name: "inner-block", Value: strconv.Itoa(f.innerBlock)}, {Name: "k", Value: strconv.Itoa(f.part.k)},
		{Name: "rtol", Value: strconv.FormatFloat(f.part.rtol, 'g', -1, 64)},
	}
}

// inputIdentity is that of the matrix: samples of its bytes, or all with --verify-input, and the signature.
func inputIdentity(file *matio.File, f svdFlags) ([]checkpoint.Field, error) {
	samples, err := file.Checksum(false, 0, 1)
	if err != nil {
		return nil, err
	}
	signs, err := json.Marshal(f.signs)
	if err != nil {
		return nil, err
	}
	fields := []checkpoint.Field{
		{Name: "shape", Value: fmt.Sprintf("%d×%d", file.Rows, file.Cols)},
		{Name: "type", Value: file.Dtype},
		{Name: "size", Value: fmt.Sprintf("%d bytes", file.Stamp().Size)},
		{Name: "checksum of samples", Value: fmt.Sprintf("%x", samples)},
		{Name: "signature", Value: fmt.Sprintf("%x", sha256.Sum256(signs))},
	}
	if f.verify {
		all, err := file.Checksum(true, 0, 1)
		if err != nil {
			return nil, err
		}
		fields = append(fields, checkpoint.Field{Name: "checksum", Value: fmt.Sprintf("%x", all)})
	}
	return fields, nil
}

// finished tells whether the results are there already, of the run that the checkpoint is of. It is
// collective.
func (s *session) finished(j *checkpoint.Journal, p problem, f svdFlags) (bool, error) {
	if !j.Resumed() {
		return false, nil
	}
	x := []int64{0}
	if s.comm.Rank() == 0 && resultsOf(j.Run(), f.output, p.names(f.format)) {
		x[0] = 1
	}
	err := s.comm.AllreduceMax(x)
	if err == nil && x[0] == 1 {
		s.log.Info().Str("results", f.output).Msg("done: the results are there already")
	}
	return x[0] == 1, s.failed(err)
}

// resultsOf tells whether a folder has the results of a run, converged.
func resultsOf(run, dir string, names []string) bool {
	raw, err := os.ReadFile(filepath.Join(dir, "info.json"))
	if err != nil {
		return false
	}
	var info struct {
		Converged  bool
		Checkpoint *keeps
	}
	err = json.Unmarshal(raw, &info)
	if err != nil || !info.Converged || info.Checkpoint == nil || info.Checkpoint.Run != run {
		return false
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}
