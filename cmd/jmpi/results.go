package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"jmpi/dist"
	"jmpi/dist/comm"
	"jmpi/dist/jacobi"
	"jmpi/internal/matio"
	"jmpi/internal/report"
	"jmpi/internal/results"
	"jmpi/kernels"
)

// problem is the matrix in a file as the solver sees it: transposed where it is wide, so that it has at least
// as many rows as columns.
type problem struct {
	file    *matio.File
	wide    bool
	vectors string    // both, u, v or none: of the file's matrix
	part    part      // of the spectrum
	signs   []float64 // of the columns, for the hyperbolic SVD; nil: the SVD
}

// k is the number of singular values.
func (p problem) k() int64 { return min(p.file.Rows, p.file.Cols) }

func (p problem) empty() bool { return p.k() == 0 }

// rows is the number of rows of the matrix that is solved.
func (p problem) rows() int64 { return max(p.file.Rows, p.file.Cols) }

func (p problem) wantsU() bool { return p.vectors == "both" || p.vectors == "u" }
func (p problem) wantsV() bool { return p.vectors == "both" || p.vectors == "v" }

// outOfRange counts columns and rows of the file's matrix.
func (p problem) outOfRange(d *dist.Decomposition) dist.OutOfRange {
	if p.wide {
		return dist.OutOfRange{Columns: d.OutOfRange.Rows, Rows: d.OutOfRange.Columns}
	}
	return d.OutOfRange
}

// load reads a part of the matrix that is solved.
func (p problem) load(x dist.Part) error {
	i0, i1, j0, j1 := int64(x.Row), int64(x.Row+x.M), int64(x.Column), int64(x.Column+x.N)
	if p.wide {
		return p.file.ReadPartT(j0, j1, i0, i1, x.Data, x.Ld)
	}
	return p.file.ReadPart(i0, i1, j0, j1, x.Data, x.Ld)
}

// reading says in which parts the file is to be read.
func (p problem) reading() dist.Reading {
	return dist.Reading{Whole: p.file.Text(), Band: int(p.file.Band(p.wide))}
}

// task tells the solver what to do.
func (s *session) task(p problem, f methodFlags) dist.Task {
	t := dist.Task{
		M: int(p.rows()), N: int(p.k()), Load: p.load, Reading: p.reading(), Signs: p.signs,
		Wanted: dist.Wanted{Left: p.wantsU(), Right: p.wantsV(), Most: p.part.k,
			Above: p.part.rtol},
		Precondition: f.precondition, V: f.v, Precision: f.precision, Settings: f.settings(),
		Host: dist.ThisHost(s.choice.Threads),
	}
	if p.wide { // the user's U is the solver's V
		t.Left, t.Right, t.RightLeads = t.Right, t.Left, true
	}
	t.Log, t.GPUDirect, t.Recorder = s.log, s.direct, s.recorder()
	t.Journal = s.kept
	if s.progress != nil {
		t.Progress, t.Swept = s.progress.step, s.progress.sweep
		t.Load = s.progress.load(t.Load)
	}
	return t
}

// files lists the results with k singular values, with their shapes.
func (p problem) files(k int64) []results.File {
	files := []results.File{{Name: "S.npy", Rows: k, Vector: true}}
	if p.wantsU() {
		files = append(files, results.File{Name: "U.npy", Rows: p.file.Rows, Cols: k})
	}
	if p.wantsV() {
		files = append(files, results.File{Name: "V.npy", Rows: p.file.Cols, Cols: k})
	}
	return files
}

// write writes all results into the folder and publishes it. Each rank writes the parts that it holds.
func (s *session) write(p problem, d *dist.Decomposition, folder *results.Folder, f svdFlags) error {
	var err error
	if s.comm.Rank() == 0 {
		err = s.writeSigma(p, d.Sigma[:d.Count], folder)
	}
	if err := s.agree(comm.BadResource, err); err != nil {
		return err
	}
	if err := s.tellPlaces(); err != nil {
		return s.failed(err)
	}
	written, failure, err := s.writeVectors(p, d, folder)
	if err != nil {
		return s.failed(err)
	}
	s.seconds["sync"] = written
	if failure == nil && d.Converged { // otherwise the run may go on
		s.kept.GiveUp()
	}
	if err := s.kept.Close(); err != nil {
		return s.failed(err)
	}
	info, err := s.info(p, d, f)
	if err != nil {
		return s.failed(err)
	}
	begin := time.Now()
	defer func() { s.took("publish", begin) }()
	// From here on nothing is thrown away, and rank 0 alone knows of the folder.
	if failure != nil {
		if s.comm.Rank() == 0 {
			if known := (*comm.Failure)(nil); errors.As(failure, &known) {
				failure = s.plain(*known)
			}
			err = process.publish(folder.Path(""), "", func() error {
				return s.keepValues(failure, d.Sigma[:d.Count], info, folder)
			})
		}
		return s.verdict(exitFailure, err)
	}
	if s.comm.Rank() != 0 {
		err = process.discard(folder.Path(""), nothing)
	} else {
		err = s.finish(info, folder, f)
	}
	if err := s.agree(comm.BadResource, err); err != nil {
		return err
	}
	f.complete()
	return nil
}

// narrow cuts a file of singular vectors to those that are wanted.
func narrow(path string, count int64) error {
	w, err := matio.OpenNpy(path)
	if err != nil {
		return err
	}
	return errors.Join(w.Narrow(count), w.Close())
}

// cut says what of the spectrum is not in the results; nil if nothing is.
func cut(d *dist.Decomposition) *report.Cut {
	rest := d.Sigma[d.Count:]
	if len(rest) == 0 {
		return nil
	}
	return &report.Cut{Of: int64(len(d.Sigma)), Norm: kernels.Norm2(rest), Next: rest[0]}
}

// finish writes info.json, the last of the files, and gives the folder its name. A signal does not
// interrupt it.
func (s *session) finish(info report.Info, folder *results.Folder, f svdFlags) error {
	fate := fmt.Sprintf("the results in %s are complete", folder.Dir)
	return process.publish(folder.Path(""), fate, func() error {
		if s.places != nil {
			if err := complete(folder, info); err != nil {
				return fmt.Errorf("%w; the results are complete but for that, in %s", err, folder.Keep())
			}
		}
		if err := info.Write(folder.Path("info.json")); err != nil {
			return fmt.Errorf("%w; the other results are complete, in %s", err, folder.Keep())
		}
		if err := folder.Publish(); err != nil {
			return err
		}
		f.complete()
		return nil
	})
}

// complete says that the results are in their place.
func (f svdFlags) complete() {
	if !f.check && f.trace == "" {
		process.requests.end()
	}
}

// keepValues keeps what is complete where the vectors could not be written: S.npy, and info.json if
// there is room.
func (s *session) keepValues(failure error, sigma []float64, info report.Info, folder *results.Folder) error {
	err := errors.Join(os.RemoveAll(folder.Path("U.npy")), os.RemoveAll(folder.Path("V.npy")))
	if s.places != nil {
		err = errors.Join(os.RemoveAll(folder.Path(results.H5Name)), matio.WriteVector(folder.Path("S.npy"), sigma))
	}
	err = errors.Join(err, info.Write(folder.Path("info.json")))
	kept := folder.Keep()
	if err != nil {
		return fmt.Errorf("%w; %s keeps S.npy alone (%w)", failure, kept, err)
	}
	return fmt.Errorf("%w; %s keeps S.npy and info.json", failure, kept)
}

// writeEmpty writes, on rank 0, the decomposition of a matrix without rows or without columns: the
// files are there.
func (s *session) writeEmpty(p problem, folder *results.Folder, f svdFlags) error {
	if s.comm.Rank() != 0 {
		return nil
	}
	if err := s.writeSigma(p, nil, folder); err != nil {
		return err
	}
	var w vectorFiles
	w.open(s, p, 0, folder)
	w.each((*matio.Writer).Sync)
	w.each((*matio.Writer).Close)
	if w.err != nil {
		return w.err
	}
	info := s.describe(p, f)
	info.Converged = true
	info.Sweep = []jacobi.SweepInfo{}
	info.Rank = dist.Rank{Of: "a matrix without elements"}
	info.PeakBytes = []int64{report.PeakBytes()}
	info.EstimatedBytes = []int64{0}
	return s.finish(info, folder, f)
}

// describe fills in what is known of a run before it.
func (s *session) describe(p problem, f svdFlags) report.Info {
	kind, library := s.libraries()
	convention := report.Convention
	var signature *report.Signature
	if p.signs != nil {
		convention = report.HyperbolicConvention
		signature, _ = report.NewSignature(p.signs) // which was checked when it was read
	}
	if s.places != nil {
		convention = strings.Replace(convention, "V.npy holds V, not its transpose",
			"results.h5 holds U (m x k) and V (n x k) column by column, so that h5py shows their transposes", 1)
	}
	shape := [2]int64{p.file.Rows, p.file.Cols}
	input := report.Input{Path: p.file.Path(), Shape: shape, Dtype: p.file.Dtype, Order: p.file.Order}
	if path, err := filepath.Abs(input.Path); err == nil {
		input.Path = path
	}
	return report.Info{
		Command: commandLine(os.Args), Start: started.Format(time.RFC3339),
		WallSeconds: time.Since(started).Seconds(), Input: input,
		Shape: shape, Dtype: p.file.Dtype, K: p.k(), Convention: convention, Signature: signature,
		Strategy: f.strategy, Scheme: f.scheme.String(), Variant: f.variant.String(), Ranks: s.comm.Size(),
		Versions: map[string]string{
			"jmpi": version(), "go": runtime.Version(), "mpi": s.comm.Library(), kind: library,
		},
	}
}

// started is when this process was started.
var started = time.Now()

// commandLine writes arguments as a shell takes them, after the variables that have set flags. The program
// goes by its name.
func commandLine(args []string) string {
	var words []string
	if set := variables.Load(); set != nil {
		for _, name := range slices.Sorted(maps.Values(*set)) {
			words = append(words, name+"="+matio.ShellWord(os.Getenv(name)))
		}
	}
	words = append(words, "jmpi")
	for _, arg := range args[1:] {
		words = append(words, matio.ShellWord(arg))
	}
	return strings.Join(words, " ")
}

// info describes the finished run; it is collective.
func (s *session) info(p problem, d *dist.Decomposition, f svdFlags) (report.Info, error) {
	i := s.describe(p, f)
	solution := d.Solution
	i.Precondition, i.V, i.VResidual, i.VNorm, i.Rank = d.Precondition, d.V, d.Residual, d.Solution.VNorm, d.Rank
	i.Precision = d.Precision
	if d.Refined != nil {
		i.Refined = d.Refined
	}
	if d.Fidelity != nil {
		i.Fidelity = d.Fidelity
	}
	if o := p.outOfRange(d); o != (dist.OutOfRange{}) {
		i.OutOfRange = o
	}
	i.K, i.Cut = int64(d.Count), cut(d)
	i.Converged = solution.Converged
	i.Sweeps = len(solution.Sweeps)
	i.Sweep = solution.Sweeps
	i.Strategy, i.Variant = solution.Strategy, solution.Variant.String()
	i.Block = solution.Layout.Width()
	i.FineBlockColumns, i.FineParts = solution.Layout.Columns, solution.Layout.Parts
	i.Devices = solution.Devices
	i.Transport = solution.Transport
	i.Phases, i.Seconds = d.PhaseSeconds(), d.Seconds
	maps.Copy(i.Phases, s.seconds)
	if len(solution.Devices) <= report.MostMapped {
		for _, step := range solution.Plan {
			pairs, moves := step.Text()
			i.Plan = append(i.Plan, report.Step{Pairs: pairs, Moves: moves})
		}
	}
	if s.kept != nil {
		i.Checkpoint = keeps{s.kept.Run(), s.kept.Dir, s.kept.Resumed(), s.kept.Written}
	}
	mine := account{Peak: report.PeakBytes(), Estimated: d.EstimatedBytes, Phases: i.Phases}
	if s.GPUs != nil {
		mine.DeviceEstimated = d.DeviceBytes
		for _, be := range s.Devices {
			mine.DevicePeaks = append(mine.DevicePeaks, be.Describe().Peak)
		}
	}
	all, err := comm.AllOf(s.comm, mine)
	for _, m := range all {
		i.PeakBytes, i.EstimatedBytes = append(i.PeakBytes, m.Peak), append(i.EstimatedBytes, m.Estimated)
		i.DevicePeakBytes = append(i.DevicePeakBytes, m.DevicePeaks...)
		i.DeviceEstimatedBytes = m.DeviceEstimated
		i.RankPhases = append(i.RankPhases, m.Phases)
	}
	return i, err
}

// account is what a rank has taken: bytes, what was expected of them, and seconds.
type account struct {
	Phases          map[string]float64
	Peak, Estimated int64
	DevicePeaks     []int64 // of its GPUs
	DeviceEstimated int64   // of each
}
