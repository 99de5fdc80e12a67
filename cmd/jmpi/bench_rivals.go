package main

import (
	"fmt"
	"os"
	"path/filepath"

	"jmpi/dist"
	"jmpi/internal/cores"
	"jmpi/internal/matio"
	"jmpi/internal/rivals"
)

// rivals times the other libraries, one after the other.
func (b *bench) rivals() error {
	for _, name := range b.f.vs {
		drivers := []string{name}
		if name == "lapack" {
			drivers = []string{"dgesdd", "dgejsv", "dgesvj"}
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
	what, ranks, run := driver, 1, b.lapack
	if driver == "scalapack" {
		what, ranks, run = "pdgesvd", b.comm.Size(), b.scalapack
	}
	var seconds []float64
	var result rivals.Result
	for range b.f.repeat {
		var err error
		result, err = run(driver)
		// What one rank lacks, no rank has.
		if e := dist.Agree(b.comm, dist.BadResource, err); e != nil {
			fmt.Fprintf(b.out, "%-8s %d %d %d - - - - - - - - %% %v\n", what, b.m, b.n, ranks, e)
			return nil
		}
		seconds = append(seconds, result.Seconds)
	}
	dir := filepath.Join(b.folder, driver)
	var err error
	if b.comm.Rank() == 0 {
		err = b.save(result, dir)
	}
	if err := b.agree(dist.BadResource, err); err != nil {
		return err
	}
	return b.row(what, ranks, 0, median(seconds), "-", dir)
}

// lapack runs a driver of LAPACK on rank 0, on all cores of the node, while the other ranks rest.
func (b *bench) lapack(driver string) (rivals.Result, error) {
	if b.comm.Rank() != 0 {
		return rivals.Result{}, nil
	}
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
	a := make([]float64, b.m*b.n)
	if err := b.file.ReadColumns(0, int64(b.n), a, b.m); err != nil {
		return rivals.Result{}, err
	}
	result, err := l.SVD(driver, b.m, b.n, a)
	if err != nil {
		return result, err
	}
	return result, (cores.Choice{CPUs: cores.CPUs(info.Mask)}).Apply()
}

// scalapack runs pdgesvd on all ranks.
func (b *bench) scalapack(string) (rivals.Result, error) {
	s, err := rivals.OpenScaLAPACK()
	if err := dist.Agree(b.comm, dist.BadResource, err); err != nil {
		return rivals.Result{}, err
	}
	s.Threads = b.threads()
	var failed error
	result, err := s.SVD(b.comm.Rank(), b.comm.Size(), b.m, b.n, func(j0, j1 int, dst []float64, ld int) {
		if err := b.file.ReadColumns(int64(j0), int64(j1), dst, ld); err != nil {
			failed = err
		}
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
