package main

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"jmpi/internal/matio"
)

// output runs a command line and returns its exit code and what it printed on stdout.
func output(t *testing.T, args ...string) (int, string) {
	t.Helper()
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = w
	code := run(args)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return code, string(text)
}

// The decomposition of a diagonal matrix is known: this one has σ = 4, 1e-3.
func TestCheckCommand(t *testing.T) {
	dir := t.TempDir()
	input, results := filepath.Join(dir, "a.npy"), filepath.Join(dir, "a.svd")
	matrix := func(path string, x ...float64) {
		t.Helper()
		w, err := matio.CreateNpy(path, 2, 2)
		if err == nil {
			err = w.WriteColumns(0, x, 2, 2)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	vector := func(path string, x ...float64) {
		t.Helper()
		if err := matio.WriteVector(path, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(results, 0o777); err != nil {
		t.Fatal(err)
	}
	matrix(input, 1e-3, 0, 0, 4)
	if code, _ := output(t, "check", input, results); code != exitInput {
		t.Errorf("without S.npy: exit code %d", code)
	}
	vector(filepath.Join(results, "S.npy"), 4, 1e-3)
	matrix(filepath.Join(results, "U.npy"), 0, 1, 1, 0)
	matrix(filepath.Join(results, "V.npy"), 0, 1, 1, 0)
	expect := func(what string, code int, last string, args ...string) {
		t.Helper()
		got, text := output(t, append([]string{"check", input, results}, args...)...)
		if got != code || !strings.HasSuffix(text, last) {
			t.Errorf("%s: exit code %d, printed\n%s", what, got, text)
		}
	}
	expect("right", exitDone, "sign = 0  PASSED\nPASSED\n")
	vector(filepath.Join(dir, "a.sigma.npy"), 4, 1.000001e-3)
	expect("wrong σ", exitCheckFailed, "sigma = 1e-06  FAILED\nFAILED\n")
	expect("wrong σ, large tolerance", exitDone, "sigma = 1e-06  PASSED\nPASSED\n", "--sigma-tol", "1e-5")
	expect("impossible tolerance", exitUsage, "", "--sigma-tol", "-1")
	expect("reference beside a wrong file", exitCheckFailed,
		"sigma = 1e-06  FAILED\nreference = 0  PASSED\nFAILED\n", "--reference")
	expect("a rival and a wrong file", exitDone, "dgesdd = 1e-06  compared\nPASSED\n", "--vs", "dgesdd",
		"--sigma-tol", "1e-5")
	expect("unknown rival", exitUsage, "", "--vs", "dgeev")
	if err := os.Remove(filepath.Join(dir, "a.sigma.npy")); err != nil {
		t.Fatal(err)
	}
	expect("reference and a rival", exitDone,
		"sign = 0  PASSED\nreference = 0  PASSED\ndgesdd = 0  compared\nPASSED\n", "--reference", "--vs", "dgesdd")
	expect("a rival and no true σ", exitUsage, "", "--vs", "dgesdd")
	vector(filepath.Join(results, "S.npy"), 4, 1.000001e-3)
	expect("wrong S", exitCheckFailed, "reference = 1e-06  FAILED\nFAILED\n", "--reference")
	vector(filepath.Join(results, "S.npy"), 4, 1e-3)
	if err := os.Remove(filepath.Join(results, "V.npy")); err != nil {
		t.Fatal(err)
	}
	expect("missing V", exitDone, "PASSED\n")
	vector(filepath.Join(results, "S.npy"), 4)
	expect("S too short", exitInput, "")
	if code, _ := output(t, "check", filepath.Join(dir, "absent.npy"), results); code != exitInput {
		t.Errorf("missing input: exit code %d", code)
	}
}

// Where nothing tells of the results, the first line says so, and they are judged all the same.
func TestCheckWithoutMetadata(t *testing.T) {
	dir := t.TempDir()
	input, results := filepath.Join(dir, "a.npy"), filepath.Join(dir, "x")
	gauss(t, 12, 8).write(t, input)
	runOn(t, alone, []svdRun{{input, results, "both"}})[0].right(t)
	path := filepath.Join(results, "info.json")
	expect := func(what, first string) {
		t.Helper()
		code, text := output(t, "check", input, results)
		if code != exitDone || !strings.HasPrefix(text, first) || !strings.Contains(text, "residual = ") {
			t.Errorf("%s: exit code %d, printed\n%s", what, code, text)
		}
	}
	expect("with metadata", "residual = ")
	for what, text := range map[string]string{"of another program": `{"signature": {"positive": 8}}`,
		"nothing told": "{}"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		first := "metadata is missing: " + results
		if strings.Contains(text, "signature") {
			first = "residual = "
		}
		expect(what, first)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	expect("no file", "metadata is missing: "+results)
}

// Where the reference finds that a singular value is 0, the computed one may be a rounding error,
// k·ε·σ₁ = 1.1e-15.
func TestCheckAgainstZeroReference(t *testing.T) {
	dir := t.TempDir()
	input, results := filepath.Join(dir, "a.npy"), filepath.Join(dir, "a.svd")
	w, err := matio.CreateNpy(input, 2, 3)
	if err == nil {
		err = w.WriteColumns(0, []float64{1, 1, 1, 1, 1, 1}, 2, 3)
	}
	if err := errors.Join(err, w.Close(), os.Mkdir(results, 0o777)); err != nil {
		t.Fatal(err)
	}
	for small, want := range map[float64]int{0: exitDone, 1e-15: exitDone, 2e-15: exitCheckFailed,
		math.NaN(): exitCheckFailed} {
		if err := matio.WriteVector(filepath.Join(results, "S.npy"), []float64{math.Sqrt(6), small}); err != nil {
			t.Fatal(err)
		}
		if code, text := output(t, "check", input, results, "--reference"); code != want {
			t.Errorf("σ₂ = %g: exit code %d, printed\n%s", small, code, text)
		}
	}
	if code := run([]string{"gen", "gauss", "-o", input, "--shape", "513x514"}); code != exitDone {
		t.Fatalf("gen: exit code %d", code)
	}
	if code, _ := output(t, "check", input, results, "--reference"); code != exitUsage {
		t.Errorf("a reference of order 513: exit code %d", code)
	}
}

// The reference has all digits of singular values that are 1e-100 and less of the largest: LAPACK, which has
// nothing to bidiagonalize here, finds the same.
func TestCheckAgainstSteepReference(t *testing.T) {
	dir := t.TempDir()
	input, results := filepath.Join(dir, "a.npy"), filepath.Join(dir, "a.svd")
	random := rand.New(rand.NewPCG(1, 1))
	a := build(40, 40, func(i, j int) float64 {
		if x := math.Pow(10, 60*random.Float64()-30); i == j || i+1 == j {
			return x
		}
		return 0
	})
	a.write(t, input)
	if err := os.Mkdir(results, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := matio.WriteVector(filepath.Join(results, "S.npy"), make([]float64, 40)); err != nil {
		t.Fatal(err)
	}
	code, text := output(t, "check", input, results, "--reference", "--vs", "dgesvd")
	if code != exitCheckFailed || !strings.Contains(text, "reference = 1  FAILED\n") {
		t.Errorf("exit code %d, printed\n%s", code, text)
	}
	_, row, _ := strings.Cut(text, "dgesvd = ")
	if strings.HasPrefix(row, "-") {
		t.Skip("no LAPACK")
	}
	if worst, err := strconv.ParseFloat(strings.Fields(row)[0], 64); err != nil || !(worst <= 1e-14) {
		t.Errorf("LAPACK differs: %s", text)
	}
}
