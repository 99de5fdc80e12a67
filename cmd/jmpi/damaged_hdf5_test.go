package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"jmpi/internal/matio"
	"jmpi/internal/matio/matiotest"
)

// damagedHDF5 is how many damaged HDF5 files there are.
const damagedHDF5 = 300

// Of 300 damaged HDF5 files each is refused with one line and exit code 3, or decomposed rightly, as h5py
// finds what is in it. The library crashes on some of them; the program does not.
func TestDamagedHDF5(t *testing.T) {
	python, dir := matiotest.H5py(t), t.TempDir()
	seed := matiotest.Seed(t)
	out, err := exec.Command(python, "testdata/damage_hdf5.py", dir, strconv.FormatUint(seed, 10),
		strconv.Itoa(damagedHDF5)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("h5py: %s", out)
	var all []svdRun
	for i := range damagedHDF5 {
		name := filepath.Join(dir, fmt.Sprintf("%04d", i))
		all = append(all, svdRun{name + ".h5", name + ".svd", "both"})
	}
	good := 0
	for batch := range slices.Chunk(all, 25) { // a start may take a minute, on a busy machine too
		outcomes := svdRuns{Flags: []string{"--threads", "1"}, Runs: batch}.on(t, alone)
		for i, r := range batch {
			if judgeHDF5(t, r, outcomes[i]) {
				good++
			}
			if t.Failed() {
				t.Fatalf("%s of seed %d", filepath.Base(r.Input), seed)
			}
		}
	}
	t.Logf("%d are decomposed", good)
	if good < damagedHDF5/10 || good > damagedHDF5*9/10 {
		t.Errorf("of %d damaged files %d are decomposed: the test shows little", damagedHDF5, good)
	}
}

// judgeHDF5 compares an outcome with what h5py has read, and tells whether the file was decomposed.
func judgeHDF5(t *testing.T, r svdRun, o outcome) bool {
	t.Helper()
	if o.code != exitDone {
		o.refused(t, exitInput)
		return false
	}
	truth, err := matio.Open(filepath.Join(filepath.Dir(r.Input), filepath.Base(r.Dir[:len(r.Dir)-4])+".npy"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Errorf("decomposed, and h5py cannot read it")
		return true
	} else if err != nil {
		t.Fatal(err)
	}
	defer truth.Close()
	want := matiotest.Matrix{Rows: truth.Rows, Cols: truth.Cols, X: make([]float64, truth.Rows*truth.Cols)}
	if err := truth.ReadColumns(0, truth.Cols, want.X, int(truth.Rows)); err != nil {
		t.Errorf("decomposed, and is not finite: %v", err)
	} else if off := offBy(want, o); !(off < 1e-11) && !math.IsNaN(off) {
		t.Errorf("the decomposition is off by %.2g", off)
	}
	return true
}

// A file that is none ends the program itself with one line, alone and on ranks.
func TestBadHDF5(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.h5"), []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, ranks := range []int{alone, 2} {
		p := startProgram(t, dir, ranks, "svd a.h5:/A -o x")
		if code := p.wait(t); code != exitInput {
			t.Errorf("exit code %d, prints %s", code, p.stderr.String())
		}
	}
}
