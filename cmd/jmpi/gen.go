package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"jmpi/internal/gen"
	"jmpi/internal/hdf5"
	"jmpi/internal/matio"
	"jmpi/internal/reference"
	"jmpi/internal/results"
)

// genFlags are the flags of gen.
type genFlags struct {
	output    string
	file, set string // the file of output, and the data set in an HDF5 file
	shape     string
	positive  int64
	reference bool
	options   gen.Options
}

func newGenCommand() *cobra.Command {
	var f genFlags
	cmd := &cobra.Command{
		Use:   "gen KIND -o FILE.npy --shape MxN",
		Short: "write a test matrix, with its singular values where they are known",
		Long: `Write a test matrix of float64 to FILE.npy, or with -o FILE.h5:/SET to a new HDF5 file. The same
kind, flags and seed always give the same bits. KIND is one of

  gauss, uniform            independent entries, N(0,1) or uniform in [-1,1)
  geometric, arithmetic     U·Σ·Vᵀ, singular values from 1 to 1/cond (default cond 1e4) in that progression
  graded-cols, graded-rows  B·D, D·B: B well conditioned, D from 1 to 1/cond (default cond 1e12), in random
  graded-both               order unless --sorted; D₁·B·D₂
  hilbert, kahan            the classical ones, square
  lowrank                   a product that has exactly the rank --rank (default min(m,n)/4)
  spectrum1 … spectrum4     square factors G of symmetric matrices A = G·J·Gᵀ with the eigenvalues Λ of
                            Novaković (SISC 2015), section 6; A is indefinite for 1 and 3

Beside FILE.npy stand FILE.sigma.npy with the singular values, non-increasing, if they are known to
a relative error of 5e-11 in spite of the rounding of the matrix to double, which perturbs each by
up to 1.1e-16·‖A‖_F, or with --reference those of the matrix in the file, whatever the kind; and for
the spectra FILE.lambda.npy (Λ, non-increasing) and FILE.signature.npy (the diagonal of J). Under
mpirun only rank 0 writes.`,
		Args: takes("KIND"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd.Flags()); err != nil {
				return err
			}
			if cmd.Flags().Changed("positive") {
				f.options.Positive = &f.positive
			}
			if !slices.Contains(gen.Kinds(), args[0]) {
				suggestion := choose(nearest(args[0], gen.Kinds()), gen.Kinds())
				return usagef("there is no kind %s; %s", args[0], suggestion)
			}
			if err := f.validate(cmd.Flags().Changed); err != nil {
				return err
			}
			if !onRankZero() {
				return nil
			}
			return generate(args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "file to write: NAME.npy, replaced if it exists, or "+
		"NAME.h5:/SET, a new file (without :/SET the data set is A)")
	flags.StringVar(&f.shape, "shape", "", "rows and columns, as 1000x500")
	flags.Uint64Var(&f.options.Seed, "seed", 1, "seed of the random numbers")
	decimalVar(flags, &f.options.Cond, "cond", 0,
		"ratio of the largest to the smallest singular value, or of the grading")
	flags.Int64Var(&f.options.Rank, "rank", 0, "rank of lowrank")
	flags.Int64Var(&f.positive, "positive", 0,
		"number of positive eigenvalues of spectrum1 and spectrum3 (default: by chance)")
	flags.BoolVar(&f.options.Sorted, "sorted", false, "gradings in decreasing order")
	flags.BoolVar(&f.reference, "reference", false,
		fmt.Sprintf("compute the true singular values for FILE.sigma.npy, of every kind; min(m,n) up to %d",
			reference.MaxOrder))
	return cmd
}

// validate checks what is wrong for every kind, and reads the shape.
func (f *genFlags) validate(changed func(string) bool) error {
	file, set := matio.SplitName(f.output)
	f.file, f.set = file, cmp.Or(set, "/A")
	switch stem := strings.TrimSuffix(f.output, filepath.Ext(f.output)); {
	case f.output == "":
		return usagef("gen needs a name for the file; add -o a.npy")
	case f.shape == "":
		return usagef("gen needs the rows and columns; add --shape 1000x500")
	case filepath.Ext(f.output) != ".npy" && !matio.IsHDF5(f.output):
		return usagef("-o %s: the name must end in .npy; type -o %s.npy", f.output, stem)
	}
	for name, absent := range map[string]bool{"cond": f.options.Cond == 0, "rank": f.options.Rank == 0} {
		if changed(name) && absent {
			return usagef("--%s 0: must be at least 1", name)
		}
	}
	var err error
	if f.options.Rows, f.options.Cols, err = parseShape(f.shape); err != nil || !f.reference {
		return err
	}
	if err := reference.Fits(f.options.Rows, f.options.Cols); err != nil {
		return usagef("--reference: %w", err)
	}
	return nil
}

// sidecars are the vectors that gen may know, by the names of gen.Sidecar.
var sidecars = []struct {
	name string
	of   func(*gen.Matrix) []float64
}{
	{"sigma", func(a *gen.Matrix) []float64 { return a.Sigma }},
	{"lambda", func(a *gen.Matrix) []float64 { return a.Lambda }},
	{"signature", func(a *gen.Matrix) []float64 { return a.Signature }},
}

// generate writes the matrix and what is known about it in a hidden folder beside the output, and moves the
// files out of it when all are complete.
func generate(kind string, f genFlags) (err error) {
	folder, err := genFolder(f)
	if err != nil {
		return exit(exitInput, err)
	}
	hidden, err := process.make(func() (string, error) { return folder.Path(""), folder.Create() })
	if err != nil {
		return exit(exitInput, fmt.Errorf("cannot write %s: %w", f.output, err))
	}
	defer func() {
		if e := process.discard(hidden, folder.Discard); err == nil {
			err = exit(exitFailure, e)
		}
	}()
	a, err := gen.New(kind, f.options)
	if errors.Is(err, gen.ErrOptions) {
		return usagef("%w", err)
	} else if err != nil {
		return exit(exitFailure, err)
	}
	if f.reference {
		if a.Sigma, err = referenceSigma(a); err != nil {
			return usagef("--reference: %w", err)
		}
	}
	temp := folder.Path(filepath.Base(f.file))
	file := &nameless{path: temp}
	if !matio.IsHDF5(f.output) { // the library must have a name
		if file, err = openNameless(hidden, temp); err != nil {
			return exit(exitFailure, err)
		}
	}
	defer file.close()
	err = writeMatrix(a, func() (*matio.Writer, error) { return f.create(file.path, a.Rows, a.Cols) })
	temp += strings.TrimPrefix(f.output, f.file)
	for _, s := range sidecars {
		if x := s.of(a); x != nil && err == nil {
			err = matio.WriteVector(gen.Sidecar(temp, s.name), x)
		}
	}
	if err == nil {
		err = process.publish(hidden, f.output+" is complete", func() error {
			err := file.name(temp)
			if err == nil {
				err = publish(temp, f.output, a)
			}
			return errors.Join(err, folder.Discard())
		})
	}
	return exit(exitFailure, err)
}

// genFolder clears up after runs of gen with this output that were killed, looks at the free space, and
// returns the hidden folder, which is not made yet.
func genFolder(f genFlags) (*results.Folder, error) {
	if info, err := os.Stat(f.file); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder; choose another name", f.file)
	} else if err == nil && matio.IsHDF5(f.output) {
		return nil, fmt.Errorf("%s exists, and may hold other data sets; choose another name, or delete it", f.file)
	}
	parent := filepath.Dir(f.file)
	if info, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		const text = "folder %s, which is to hold %s, does not exist; make it first: mkdir -p %s"
		return nil, fmt.Errorf(text, parent, filepath.Base(f.file), matio.ShellWord(parent))
	} else if err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file, not a folder; choose another name", parent)
	}
	target := results.Target{Dir: f.file, Files: []string{filepath.Base(f.file)}}
	for _, s := range sidecars {
		target.Files = append(target.Files, filepath.Base(gen.Sidecar(f.output, s.name)))
	}
	found, err := target.Recover()
	if err != nil {
		return nil, err
	}
	log := newLog(sessionFlags{log: "console"}, 0)
	for _, left := range found.Left {
		log.Warn().Msg(left)
	}
	needed := 8 * float64(f.options.Rows) * float64(f.options.Cols)
	if err := results.CheckSpace(parent, f.file, needed); err != nil {
		return nil, err
	}
	return results.NewFolder(target, results.Tag())
}

// nameless is a file that has no name while it is written, so that nothing of it is left when the process
// is killed.
type nameless struct {
	path string   // under which it can be opened
	file *os.File // nil where the file system has no such files: path is then a name
}

// openNameless makes such a file in a folder, or returns the name under which it must be made.
func openNameless(folder, name string) (*nameless, error) {
	fd, err := unix.Open(folder, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o666)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL):
		return &nameless{path: name}, nil
	case err != nil:
		return nil, fmt.Errorf("cannot make a file in %s: %w", folder, err)
	}
	path := fmt.Sprintf("/proc/self/fd/%d", fd)
	return &nameless{path, os.NewFile(uintptr(fd), path)}, nil
}

// name gives the file a name.
func (n *nameless) name(name string) error {
	if n.file == nil {
		return nil
	}
	if err := unix.Linkat(unix.AT_FDCWD, n.path, unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW); err != nil {
		return fmt.Errorf("cannot name the file %s: %w", name, err)
	}
	return nil
}

// close closes the file, which the writer has synced. Without a name it is gone then.
func (n *nameless) close() {
	if n.file != nil {
		_ = n.file.Close()
	}
}

// referenceSigma returns the singular values of a by the reference solver.
func referenceSigma(a *gen.Matrix) ([]float64, error) {
	m, n := int(a.Rows), int(a.Cols)
	x := make([]float64, m*n)
	if err := a.Columns(0, a.Cols, x, max(1, m)); err != nil {
		return nil, err
	}
	return reference.Sigma(x, m, n, max(1, m))
}

// publish moves the files of a from temp to output, the matrix last. A file that an earlier
// matrix of this name has left beside it is deleted where it would now be wrong.
func publish(temp, output string, a *gen.Matrix) error {
	for _, s := range sidecars {
		var err error
		if path := gen.Sidecar(output, s.name); s.of(a) != nil {
			err = os.Rename(gen.Sidecar(temp, s.name), path)
		} else if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	from, _ := matio.SplitName(temp)
	to, _ := matio.SplitName(output)
	return os.Rename(from, to)
}

// create makes the file path for a matrix.
func (f genFlags) create(path string, rows, cols int64) (*matio.Writer, error) {
	if !matio.IsHDF5(f.output) {
		return matio.CreateNpy(path, rows, cols)
	}
	var maker hdf5.Maker
	defer maker.Close()
	places, err := maker.Create(path, []hdf5.NewSet{{Name: f.set, Dims: []uint64{uint64(rows), uint64(cols)}}})
	if err != nil {
		return nil, exit(exitInput, fmt.Errorf("-o %s: %w", f.output, err))
	}
	return matio.OpenAt(path, places[0], rows, cols)
}

// writeMatrix writes a to a file that is created, some columns at a time.
func writeMatrix(a *gen.Matrix, create func() (*matio.Writer, error)) error {
	w, err := create()
	if err != nil {
		return err
	}
	const block = 1 << 23 // numbers, 64 MiB
	width := min(max(a.Cols, 1), max(1, block/max(a.Rows, 1)))
	x := make([]float64, a.Rows*width)
	ld := max(1, int(a.Rows))
	for j := int64(0); j < a.Cols && err == nil; j += width {
		n := min(width, a.Cols-j)
		if err = a.Columns(j, j+n, x, ld); err == nil {
			err = w.WriteColumns(j, x, ld, int(n))
		}
	}
	if err == nil {
		err = w.Sync()
	}
	return errors.Join(err, w.Close())
}
