package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// With a signature bench times a hyperbolic SVD, and its row has the errors of one.
func TestBenchSignature(t *testing.T) {
	command := exec.CommandContext(t.Context(), os.Args[0], "bench", "--shape", "120x48", "--kind", "lowrank",
		"--signature", "30", "--repeat", "1", "--quiet", "--backend", "cpu", "--folder", t.TempDir())
	command.Env = append(os.Environ(), programVariable+"=1")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if fields[0] != "jmpi" {
			continue
		}
		for i, name := range []string{"residual", "orthU", "orthV"} {
			x, err := strconv.ParseFloat(fields[8+i], 64)
			if err != nil || !(x > 0 && x < 2) {
				t.Errorf("%s is %s", name, fields[8+i])
			}
		}
		return
	}
	t.Errorf("no row: %s", out)
}

// With --vs values bench has a row for singular values alone, whose bits it has compared.
func TestBenchValues(t *testing.T) {
	command := exec.CommandContext(t.Context(), os.Args[0], "bench", "--shape", "90x70", "--precision",
		"float32", "--vs", "values", "--repeat", "1", "--quiet", "--backend", "cpu", "--folder", t.TempDir())
	command.Env = append(os.Environ(), programVariable+"=1")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 11 {
			rows[fields[0]] = fields[8:11]
		}
	}
	for i := range 3 {
		if rows["jmpi"] == nil || rows["jmpi"][i] == "-" || rows["values"] == nil || rows["values"][i] != "-" {
			t.Fatalf("rows %v: %s", rows, out)
		}
	}
}

// The matrix is told with its condition number, the default one too.
func TestBenchTellsCond(t *testing.T) {
	for args, want := range map[string]string{
		"--kind gauss": "gauss 30x20, seed 1;", "--kind geometric": "geometric 30x20, cond 10000, seed 1;",
		"--kind geometric --cond 1e8": "geometric 30x20, cond 1e+08, seed 1;",
		"--kind graded-rows":          "graded-rows 30x20, cond 1e+12, seed 1;",
	} {
		out := benchOf(t, append(strings.Fields(args), "--shape", "30x20", "--repeat", "1", "--folder",
			t.TempDir())...)
		if !strings.Contains(out, "% "+want) {
			t.Errorf("%s: no line has %q: %s", args, want, out)
		}
	}
}
