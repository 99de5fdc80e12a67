package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"jmpi/dist"
	"jmpi/dist/comm"
	"jmpi/internal/cores"
	"jmpi/internal/matio"
	"jmpi/internal/rivals"
)

// lapackDrivers are the drivers of LAPACK that --vs takes.
var lapackDrivers = []string{"dgesdd", "dgejsv", "dgesvj", "dgesvd"}

// rivalDrivers are all single drivers that --vs takes.
func rivalDrivers() []string { return slices.Concat(lapackDrivers, rivals.CUSOLVERDrivers()) }

// rivals times the other libraries, one after the other.
func (b *bench) rivals() (err error) {
	defer func() {
		if b.cusolver != nil {
			err = errors.Join(err, b.cusolver.Close())
		}
	}()
	for _, name := range b.f.vs {
		drivers := []string{name}
		switch name {
		case "accumulate", "float64":
			f := b.f.methodFlags
			if f.precision = dist.Float64; name == "accumulate" {
				f.v = dist.Accumulate
			}
			if err := b.jmpi(name, f, "both"); err != nil {
				return err
			}
			continue
		case valuesRival:
			if err := b.jmpi(name, b.f.methodFlags, "none"); err != nil {
				return err
			}
			continue
		case "lapack":
			drivers = []string{"dgesdd", "dgejsv", "dgesvj"}
		case "cusolver":
			drivers = rivals.CUSOLVERDrivers()
		}
		for _, driver := range drivers {
			if err := b.rival(driver); err != nil {
				return err
			}
		}
	}
	return nil
}

// rival times one driver, checks its result, and prints its row. Its own failure is a row, not an error.
func (b *bench) rival(driver string) error {
	what, ranks, devices, run := driver, 1, 0, b.lapack
	switch {
	case driver == "scalapack":
		what, ranks, run = "pdgesvd", b.comm.Size(), b.scalapack
	case driver == "cusolvermp":
		what, ranks, devices, run = "mp_gesvd", b.comm.Size(), b.comm.Size(), b.cusolvermp
	case slices.Contains(rivals.CUSOLVERDrivers(), driver):
		devices, run = 1, b.gpu
	}
	var seconds []float64
	var result rivals.Result
	for range b.f.repeat {
		var err error
		result, err = run(driver)
		// What one rank lacks, no rank has.
		if e := comm.Agree(b.comm, comm.BadResource, err); e != nil {
			fmt.Fprintf(b.out, "%-12s %d %d %d - - - - - - - - - - - %% %v\n", what, b.m, b.n, ranks, e)
			return nil
		}
		seconds = append(seconds, result.Seconds)
	}
	judge := b.sampledRival(result)
	if b.f.checks == fullChecks {
		dir := filepath.Join(b.folder, driver)
		var err error
		if b.comm.Rank() == 0 {
			err = b.save(result, dir)
		}
		if err := b.agree(comm.BadResource, err); err != nil {
			return err
		}
		judge = b.checked(dir)
	}
	return b.row(row{what: what, ranks: ranks, devices: devices, seconds: median(seconds), sweeps: "-",
		read: b.reading, upload: result.Upload, download: result.Download}, judge)
}

// lapack runs a driver of LAPACK on rank 0, on all cores of the node, while the other ranks rest.
func (b *bench) lapack(driver string) (rivals.Result, error) {
	if b.comm.Rank() != 0 {
		return rivals.Result{}, nil
	}
	a, err := b.whole()
	if err != nil {
		return rivals.Result{}, err
	}
	return runLAPACK(driver, b.m, b.n, a)
}

// whole reads the matrix, and notes how long that takes.
func (b *bench) whole() ([]float64, error) {
	begin := time.Now()
	a := make([]float64, b.m*b.n)
	err := b.columns(0, b.n, a, b.m)
	b.reading = time.Since(begin).Seconds()
	return a, err
}

// runLAPACK runs a driver of LAPACK on the m×n matrix a (column-major), on all cores of the node.
func runLAPACK(driver string, m, n int, a []float64) (rivals.Result, error) {
	l, err := rivals.OpenLAPACK()
	if err != nil {
		return rivals.Result{}, err
	}
	info := cores.Available()
	every := cores.CPUs(info.Allowed)
	if err := (cores.Choice{CPUs: every}).Apply(); err != nil {
		return rivals.Result{}, err
	}
	l.Threads = len(info.Allowed)
	result, err := l.SVD(driver, m, n, a)
	return result, errors.Join(err, (cores.Choice{CPUs: cores.CPUs(info.Mask)}).Apply())
}

// gpu runs a driver of cuSOLVER on the first GPU of rank 0, while the other ranks rest.
func (b *bench) gpu(driver string) (rivals.Result, error) {
	if b.comm.Rank() != 0 {
		return rivals.Result{}, nil
	}
	if b.cusolver == nil {
		first := 0
		if b.GPUs != nil {
			first = b.GPUs[0]
		}
		var err error
		if b.cusolver, err = rivals.OpenCUSOLVER(first); err != nil {
			return rivals.Result{}, err
		}
		fmt.Fprintf(b.out, "%% %v\n", b.cusolver)
	}
	a, err := b.whole()
	if err != nil {
		return rivals.Result{}, err
	}
	return b.cusolver.SVD(driver, b.m, b.n, a)
}

// cusolvermp runs cusolverMpGesvd on the first GPU of every rank.
func (b *bench) cusolvermp(string) (r rivals.Result, err error) {
	first := 0
	if b.GPUs != nil {
		first = b.GPUs[0]
	}
	ranks := rivals.Ranks{Rank: b.comm.Rank(), Size: b.comm.Size(),
		FromFirst: func(bytes []byte) ([]byte, error) {
			all, err := b.comm.Allgather(bytes)
			if err != nil {
				return nil, err
			}
			return all[0], nil
		},
		Barrier: func() error { return b.comm.AllreduceMax([]int64{0}) },
	}
	c, err := rivals.OpenCUSOLVERMP(first, ranks, func(err error) error {
		return comm.Agree(b.comm, comm.BadResource, err)
	})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var a []float64
	if b.comm.Rank() == 0 {
		if a, err = b.whole(); err != nil {
			process.fail(err) // the others wait for it in the library; does not return
		}
	}
	return c.SVD(b.m, b.n, a)
}

// scalapack runs pdgesvd on all ranks.
func (b *bench) scalapack(string) (rivals.Result, error) {
	s, err := rivals.OpenScaLAPACK()
	if err := comm.Agree(b.comm, comm.BadResource, err); err != nil {
		return rivals.Result{}, err
	}
	s.Threads = b.threads()
	var failed error
	b.reading = 0
	result, err := s.SVD(b.comm.Rank(), b.comm.Size(), b.m, b.n, func(j0, j1 int, dst []float64, ld int) {
		begin := time.Now()
		if err := b.columns(j0, j1, dst, ld); err != nil {
			failed = err
		}
		b.reading += time.Since(begin).Seconds()
	})
	if err == nil {
		err = failed
	}
	return result, err
}

// save writes a rival's result as the files that check reads. Signs are as the library gives them.
func (b *bench) save(r rivals.Result, dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	if err := matio.WriteVector(filepath.Join(dir, "S.npy"), r.Sigma); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		rows int
		x    []float64
	}{{"U.npy", b.m, r.U}, {"V.npy", b.n, r.V}} {
		w, err := matio.CreateNpy(filepath.Join(dir, f.name), int64(f.rows), int64(b.n))
		if err != nil {
			return err
		}
		if err := w.WriteColumns(0, f.x, f.rows, b.n); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	return nil
}
