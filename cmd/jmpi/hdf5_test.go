package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jmpi/internal/matio"
	"jmpi/internal/matio/matiotest"
)

// hdf5Script writes the matrix of a.npy as a.h5, in rows and packed in chunks, and as a.mat.
const hdf5Script = `
import h5py, numpy as np
a = np.load("a.npy")
with h5py.File("a.h5", "w") as f:
    f["plain"] = a
    f.create_dataset("g/packed", data=a, chunks=(16, a.shape[1]), compression="gzip", shuffle=True)
with h5py.File("a.mat", "w", userblock_size=512) as f:
    f.create_dataset("A", data=a.T, chunks=(7, 30), compression="gzip")
    f["A"].attrs["MATLAB_class"] = np.bytes_("double")
`

// readResults returns the numbers of the results in a folder, in whatever format, one after the other.
func readResults(t *testing.T, dir string) (all [][]float64) {
	t.Helper()
	for _, name := range []string{"S", "U", "V"} {
		all = append(all, numbersIn(t, matio.Result(dir, name)))
	}
	return all
}

// The results of a matrix in an HDF5 file have the bits of those of the .npy file, in both formats, on one
// and two ranks; tall, wide and square ones.
func TestHDF5Bits(t *testing.T) {
	python := matiotest.H5py(t)
	for k, shape := range [][2]int{{90, 70}, {50, 80}, {1300, 40}} {
		dir := t.TempDir()
		gauss(t, shape[0], shape[1]).write(t, filepath.Join(dir, "a.npy"))
		script := exec.Command(python, "-c", hdf5Script)
		script.Dir = dir
		if out, err := script.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		ranks := []int{alone, 2, 2}[k]
		var want [][]float64
		for i, input := range []string{"a.npy", "a.h5:/plain", "a.h5:g/packed", "a.mat"} {
			out := fmt.Sprintf("x%d", i)
			flags := []string{"", " --format h5", "", " --format h5"}[i]
			p := startProgram(t, dir, ranks, "svd "+input+" -o "+out+flags+" --check --quiet")
			if code := p.wait(t); code != exitDone {
				t.Fatalf("%s: exit code %d, prints %s", input, code, p.stderr.String())
			}
			got := readResults(t, filepath.Join(dir, out))
			if i == 0 {
				want = got
			}
			for j := range want {
				if !slices.Equal(got[j], want[j]) {
					t.Errorf("%d×%d, %s, %s differs", shape[0], shape[1], input, "SUV"[j:j+1])
				}
			}
		}
	}
}

// h5py reads results in HDF5: their shapes, and what info.json tells. Fewer vectors than were reserved, none,
// and none of one side leave a file that is right.
func TestHDF5Results(t *testing.T) {
	python, dir := matiotest.H5py(t), t.TempDir()
	a := gauss(t, 40, 30)
	a.write(t, filepath.Join(dir, "a.npy"))
	build(0, 7, nil).write(t, filepath.Join(dir, "empty.npy"))
	for _, c := range []struct {
		flags string
		ranks int
		want  string
	}{
		{"a.npy", 2, "S (30,) U (30, 40) V (30, 30) 30.0 True"},
		{"a.npy --k 4", alone, "S (4,) U (4, 40) V (4, 30) 4.0 True"},
		{"a.npy --rtol 0.8", 2, ""},
		{"a.npy --vectors v", alone, "S (30,) V (30, 30) 30.0 True"},
		{"a.npy --vectors none", alone, "S (30,) 30.0 True"},
		{"empty.npy", alone, "S (0,) U (0, 0) V (0, 7) 0.0 True"},
	} {
		p := startProgram(t, dir, c.ranks, "svd "+c.flags+" -o x --force --check --quiet --format h5")
		if code := p.wait(t); code != exitDone {
			t.Errorf("%s: exit code %d, prints %s", c.flags, code, p.stderr.String())
			continue
		}
		script := exec.Command(python, "-c", `
import h5py
with h5py.File("x/results.h5") as f:
    print(*(str(n) + " " + str(f[n].shape) for n in f), f.attrs["k"],
          f.attrs["info.json"] == open("x/info.json").read())
`)
		script.Dir = dir
		out, err := script.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || c.want != "" && got != c.want {
			t.Errorf("%s: %s instead of %s, error %v", c.flags, got, c.want, err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "x", "*"))
		if err != nil || len(files) != 2 {
			t.Errorf("%s: files %v, error %v", c.flags, files, err)
		}
		report := startProgram(t, dir, alone, "report x")
		if code := report.wait(t); code != exitDone {
			t.Errorf("%s: report: exit code %d, prints %s", c.flags, code, report.stderr.String())
		}
	}
}

// Without the library, results in HDF5 are refused before anything is computed.
func TestHDF5WithoutLibrary(t *testing.T) {
	dir := t.TempDir()
	gauss(t, 9, 5).write(t, filepath.Join(dir, "a.npy"))
	t.Setenv("JMPI_HDF5", "/nowhere/libhdf5.so")
	p := startProgram(t, dir, 2, "svd a.npy -o x --quiet --format h5")
	code := p.wait(t)
	text := p.stderr.String()
	if code != exitInput || !strings.Contains(text, "JMPI_HDF5") {
		t.Errorf("exit code %d, prints %s", code, text)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("leaves %v, error %v", left, err)
	}
	if text := hdf5Text(); !strings.HasPrefix(text, "none: ") || !strings.Contains(text, "JMPI_HDF5") {
		t.Errorf("env: %s", text)
	}
}

// gen writes the matrix of the .npy file into a data set, in groups or not, with what is known of it beside,
// where svd and check look for it. It replaces no file, and leaves nothing where the library is missing.
func TestGenHDF5(t *testing.T) {
	matiotest.H5py(t) // and so the library
	dir := t.TempDir()
	for _, c := range []struct{ output, set, sigma, shape string }{
		{"a.h5:/x/A", "/x/A", "a.x.A.sigma.npy", "60x40"},
		{"b.hdf5", "/A", "b.sigma.npy", "7x30"},
		{"c.mat:D", "/D", "c.D.sigma.npy", "30x30"},
		{"empty.h5", "/A", "empty.sigma.npy", "0x5"},
	} {
		for _, output := range []string{c.output, "a.npy"} {
			p := startProgram(t, dir, alone, "gen geometric --shape "+c.shape+" -o "+output)
			if code := p.wait(t); code != exitDone {
				t.Fatalf("%s: exit code %d, prints %s", output, code, p.stderr.String())
			}
		}
		got, want := numbersIn(t, filepath.Join(dir, c.output)), numbersIn(t, filepath.Join(dir, "a.npy"))
		if !slices.Equal(got, want) {
			t.Errorf("%s has other numbers", c.output)
		}
		if !slices.Contains(filesIn(t, dir), c.sigma) {
			t.Errorf("no %s among %v", c.sigma, filesIn(t, dir))
		}
		p := startProgram(t, dir, 2, "svd "+c.output+" -o x --force --check --quiet")
		if code := p.wait(t); code != exitDone {
			t.Errorf("%s: exit code %d, prints %s", c.output, code, p.stderr.String())
		}
		file, _ := matio.SplitName(c.output)
		p = startProgram(t, dir, alone, "gen gauss --shape 3x3 -o "+file+":/other")
		if code := p.wait(t); code != exitInput {
			t.Errorf("%s is written anew: exit code %d", file, code)
		}
	}
	before := filesIn(t, dir)
	t.Setenv("JMPI_HDF5", "/nowhere/libhdf5.so")
	p := startProgram(t, dir, alone, "gen gauss --shape 3x3 -o d.h5")
	if code := p.wait(t); code != exitInput || !strings.Contains(p.stderr.String(), "JMPI_HDF5") {
		t.Errorf("without the library: exit code %d, prints %s", code, p.stderr.String())
	}
	if after := filesIn(t, dir); !slices.Equal(before, after) {
		t.Errorf("without the library: files %v", after)
	}
}

// numbersIn returns the numbers of a matrix or a vector in a file.
func numbersIn(t *testing.T, path string) []float64 {
	t.Helper()
	f, err := matio.OpenVector(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x := make([]float64, f.Rows*f.Cols)
	if err := f.ReadColumns(0, f.Cols, x, max(1, int(f.Rows))); err != nil {
		t.Fatal(err)
	}
	return x
}
