package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"jmpi/internal/rates"
)

// benchOf runs bench in a process of its own, on CPUs, and returns what it prints.
func benchOf(t *testing.T, args ...string) string {
	t.Helper()
	out, err := tryBench(t, args...)
	if err != nil {
		t.Fatalf("bench %v: %v: %s", args, err, out)
	}
	return out
}

// tryBench is benchOf for what may fail.
func tryBench(t *testing.T, args ...string) (string, error) {
	command := exec.CommandContext(t.Context(), os.Args[0],
		append(append([]string{"bench"}, args...), "--quiet", "--backend", "cpu", "--threads", "1")...)
	command.Env = append(os.Environ(), programVariable+"=1")
	out, err := command.CombinedOutput()
	return string(out), err
}

// rowOf returns the fields of a row.
func rowOf(t *testing.T, out, what string) []string {
	t.Helper()
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); f[0] == what {
			return f
		}
	}
	t.Fatalf("no row %s: %s", what, out)
	return nil
}

// What random vectors tell of a result is near what the whole check tells, and the row says how it was
// checked.
func TestBenchChecks(t *testing.T) {
	value := map[string][]string{}
	for _, how := range []string{"full", "sample", "none"} {
		folder := t.TempDir()
		out := benchOf(t, "--shape", "260x200", "--repeat", "1", "--folder", folder, "--check", how)
		value[how] = rowOf(t, out, "jmpi")
		if left, _ := os.ReadDir(folder); len(left) > 0 {
			t.Errorf("--check %s leaves %v", how, left)
		}
	}
	for i, name := range []string{"residual", "orthU", "orthV"} {
		full, err := strconv.ParseFloat(value["full"][8+i], 64)
		sample, failed := strconv.ParseFloat(value["sample"][8+i], 64)
		if err != nil || failed != nil || !(sample > full/2 && sample < 3*full) {
			t.Errorf("%s is %s, and by samples %s", name, value["full"][8+i], value["sample"][8+i])
		}
		if value["none"][8+i] != "-" {
			t.Errorf("%s is %s without a check", name, value["none"][8+i])
		}
	}
	for how, end := range map[string]string{"sample": "% sampled", "none": "% not checked"} {
		if row := strings.Join(value[how], " "); !strings.HasSuffix(row, end) {
			t.Errorf("--check %s: %s", how, row)
		}
	}
}

// A run that has not converged says so at the end of its row, another one does not.
func TestBenchNotConverged(t *testing.T) {
	for _, how := range []string{"full", "none"} {
		for sweeps, want := range map[string]bool{"1": true, "30": false} {
			out := benchOf(t, "--shape", "90x80", "--repeat", "1", "--folder", t.TempDir(), "--check", how,
				"--max-sweeps", sweeps)
			if row := strings.Join(rowOf(t, out, "jmpi"), " "); strings.HasSuffix(row, "% not converged") != want {
				t.Errorf("--check %s --max-sweeps %s: %s", how, sweeps, row)
			}
		}
	}
}

// The rates that bench stores give plan a time. A second run adds what it has seen.
func TestBenchRates(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rates.json")
	for _, kind := range []string{"gauss", "graded-cols"} {
		benchOf(t, "--shape", "200x200", "--kind", kind, "--repeat", "3", "--folder", t.TempDir(), "--rates", file)
	}
	r, err := readRates(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Courses) != 2 || r.Kind != "cpu" || r.Order() != 128 {
		t.Errorf("%d decompositions of a %s, rates up to order %d", len(r.Courses), r.Kind, r.Order())
	}
	for _, c := range r.Courses {
		p := executePlanJSON(t, "--shape", "200x200", "--rates", file, "--kind", c.Kind)
		if p.Time == nil {
			t.Fatalf("%s has no time", c.Kind)
		}
		if got := p.Time.Seconds; !(got > c.Seconds/10 && got < 10*c.Seconds) { // other tests run meanwhile
			t.Errorf("%s took %g s, and is to take %g s", c.Kind, c.Seconds, got)
		}
	}
	if _, code, _ := executePlan("--shape", "200x200", "--rates", file, "--kind", "hilbert"); code != exitDone {
		t.Errorf("a kind that was not measured: exit code %d", code)
	}
}

// The same command again measures the rates again; another kind leaves those that the file has. Rates of
// another number of ranks on one host are refused.
func TestBenchRatesAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rates.json")
	again := func(args ...string) *rates.Rates {
		benchOf(t, append([]string{"--shape", "140x140", "--repeat", "1", "--check", "none", "--folder",
			t.TempDir(), "--rates", file}, args...)...)
		r, err := readRates(file)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := again()
	const slow = 1e6
	r.AddDense(rates.Product, rates.Point{Work: r.Dense[rates.Product][0].Work, Seconds: slow})
	r.Made = "another version"
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := writeRates(file, r); err != nil {
		t.Fatal(err)
	}
	if r = again("--kind", "uniform"); r.Dense[rates.Product][0].Seconds != slow || r.Made != "another version" {
		t.Errorf("another kind has changed the rates: %v, made by %s", r.Dense[rates.Product], r.Made)
	}
	if r = again(); r.Dense[rates.Product][0].Seconds == slow || r.Made == "another version" ||
		len(r.Courses) != 2 {
		t.Errorf("the same command leaves old rates: %v, made by %s, %d courses", r.Dense[rates.Product], r.Made,
			len(r.Courses))
	}
	if r.Together = 2; os.Remove(file) != nil || writeRates(file, r) != nil {
		t.Fatal("no file")
	}
	out, err := tryBench(t, "--shape", "140x140", "--repeat", "1", "--check", "none", "--folder", t.TempDir(),
		"--rates", file)
	if err == nil || !strings.Contains(out, "2 ranks") {
		t.Errorf("rates of two ranks get those of one: %s", out)
	}
}

// A library that is not there gives a row that says so.
func TestBenchCUSOLVERMP(t *testing.T) {
	out := benchOf(t, "--shape", "40x40", "--repeat", "1", "--folder", t.TempDir(), "--vs", "cusolvermp")
	if row := strings.Join(rowOf(t, out, "mp_gesvd"), " "); !strings.Contains(row, "not found") &&
		!strings.HasPrefix(row, "mp_gesvd 40 40 1 1 ") {
		t.Error(row)
	}
}

// The table of widths has rows for both types, as the program holds them.
func TestBenchTune(t *testing.T) {
	out := benchOf(t, "tune", "--sizes", "64,32", "--blocks", "4,8", "--repeat", "1")
	rows := 0
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 6 && strings.HasPrefix(f[0], "float") {
			rows++
			if seconds, err := strconv.ParseFloat(f[4], 64); err != nil || !(seconds > 0) {
				t.Errorf("seconds: %s", line)
			}
		}
	}
	if rows != 8 {
		t.Errorf("%d rows, want 8: %s", rows, out)
	}
	for _, start := range []string{"{Type: kernels.Float32, Order: 32, ",
		"{Type: kernels.Float64, Order: 32, "} {
		if !strings.Contains(out, start) {
			t.Errorf("no %s in %s", start, out)
		}
	}
	for _, args := range []string{"--sizes 1", "--blocks 0", "--inner-blocks -1", "--repeat 0", "--sizes="} {
		if code := run(append([]string{"bench", "tune"}, strings.Fields(args)...)); code != exitUsage {
			t.Errorf("bench tune %s: exit code %d", args, code)
		}
	}
}
