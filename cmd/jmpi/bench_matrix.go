package main

import (
	"errors"
	"os"
	"path/filepath"

	"jmpi/dist"
	"jmpi/dist/comm"
	"jmpi/internal/enum"
	"jmpi/internal/gen"
	"jmpi/internal/matio"
)

// checks says how bench judges results.
type checks int

const (
	autoChecks checks = iota // in full, unless that takes minutes
	fullChecks
	sampleChecks // by random vectors; nothing is written to files
	noChecks
)

var checkNames = enum.Names{autoChecks: "auto", fullChecks: "full", sampleChecks: "sample", noChecks: "none"}

func (c checks) String() string         { return checkNames.Of(int(c)) }
func (c *checks) Set(text string) error { return enum.Set(c, text, checkNames) }

// Type lists the values, for a help text.
func (c checks) Type() string { return checkNames.Type() }

// Choices lists the values.
func (c checks) Choices() []string { return checkNames }

// fullNumbers is the most numbers of a matrix whose results are checked in full by default.
const fullNumbers = 1 << 26

// resolve replaces auto.
func (c checks) resolve(m, n int, hyperbolic bool) checks {
	switch {
	case c != autoChecks:
		return c
	case m*n > fullNumbers && !hyperbolic:
		return sampleChecks
	}
	return fullChecks
}

// benchMatrix is the matrix that bench decomposes: in a file that all ranks see, or in the memory of each.
type benchMatrix struct {
	folder  string // holds a.npy and the results
	file    *matio.File
	numbers []float64 // column-major; nil if there is a file
}

// prepare generates the matrix: on rank 0, in a folder that all ranks see, or on all of them.
func (b *bench) prepare() error {
	options := gen.Options{Rows: int64(b.m), Cols: int64(b.n), Seed: b.f.seed, Cond: b.f.cond}
	if b.f.checks = b.f.checks.resolve(b.m, b.n, b.signs != nil); b.f.checks != fullChecks {
		a, err := gen.New(b.f.kind, options)
		if err == nil {
			b.numbers = make([]float64, b.m*b.n)
			b.file = &matio.File{Rows: a.Rows, Cols: a.Cols}
			err = a.Columns(0, a.Cols, b.numbers, b.m)
		}
		return b.agree(refused(err), err)
	}
	var err error
	if b.comm.Rank() == 0 {
		b.folder, err = process.make(func() (string, error) { return os.MkdirTemp(b.f.folder, ".jmpi-bench-*") })
		if err == nil {
			var a *gen.Matrix
			if a, err = gen.New(b.f.kind, options); err == nil {
				err = writeMatrix(a, func() (*matio.Writer, error) { return matio.CreateNpy(b.input(), a.Rows, a.Cols) })
			}
		}
	}
	if e := b.agree(refused(err), err); e != nil {
		return errors.Join(e, b.discard())
	}
	all, err := b.comm.Allgather([]byte(b.folder))
	if err != nil {
		return b.failed(err)
	}
	if b.comm.Rank() != 0 {
		b.folder, _ = process.make(func() (string, error) { return string(all[0]), nil }) // rank 0 has done it
	}
	b.file, err = matio.Open(b.input())
	if e := b.agree(comm.BadInput, err); e != nil {
		return errors.Join(e, b.discard())
	}
	return nil
}

// refused tells whose fault an error of a generator is.
func refused(err error) comm.Kind {
	if errors.Is(err, gen.ErrOptions) {
		return comm.BadUse
	}
	return comm.BadInput
}

// load reads a part of the matrix in memory.
func (b *bench) load(p dist.Part) error {
	for j := range p.N {
		copy(p.Data[j*p.Ld:][:p.M], b.numbers[(p.Column+j)*b.m+p.Row:])
	}
	return nil
}

// columns reads columns j0 ≤ j < j1, with a leading dimension.
func (b *bench) columns(j0, j1 int, dst []float64, ld int) error {
	if b.numbers == nil {
		return b.file.ReadColumns(int64(j0), int64(j1), dst, ld)
	}
	return b.load(dist.Part{Column: j0, M: b.m, N: j1 - j0, Ld: ld, Data: dst})
}

// discard deletes the folder, on rank 0.
func (b *bench) discard() error {
	if b.numbers != nil || b.f.checks != fullChecks {
		return nil
	}
	if b.file != nil {
		b.file.Close()
	}
	if b.comm.Rank() != 0 {
		return process.discard(b.folder, nothing)
	}
	return process.discard(b.folder, func() error { return os.RemoveAll(b.folder) })
}

func (b *bench) input() string { return filepath.Join(b.folder, "a.npy") }
