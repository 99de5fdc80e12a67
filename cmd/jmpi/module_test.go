package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "jmpi/dist/svd" // a result of this test must not be kept when that has changed
)

// debianMPI is a file of the one MPI for which a plain `go build` knows the flags.
const debianMPI = "/usr/lib/x86_64-linux-gnu/openmpi/include/mpi.h"

// withoutCGO is this environment without the flags for cgo, and with these variables. The module cache has
// all that is needed.
func withoutCGO(variables ...string) (environment []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CGO_") && !strings.HasPrefix(v, "GOFLAGS=") {
			environment = append(environment, v)
		}
	}
	return append(environment, variables...)
}

// buildModule makes a module of programs that import jmpi/dist/svd, that of examples/go and that of testdata,
// and builds them: by a plain `go build`, or with the flags of scripts/mpiflags.sh where the MPI is another
// than Debian's Open MPI. It returns the folder of the programs.
func buildModule(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	module, programs := t.TempDir(), t.TempDir()
	for from, to := range map[string]string{"examples/go/go.mod": "go.mod", "go.sum": "go.sum",
		"examples/go/main.go": "example/main.go", "cmd/jmpi/testdata/module/main.go": "bits/main.go"} {
		text, err := os.ReadFile(filepath.Join(root, from))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(module, to)), 0o777)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(module, to), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	build := []string{"go", "build", "-o", programs, "./..."}
	if _, err := os.Stat(debianMPI); err != nil || os.Getenv("MPICC") != "" {
		build = append([]string{filepath.Join(root, "scripts/mpiflags.sh")}, build...)
	}
	for _, words := range [][]string{{"go", "mod", "edit", "-replace", "jmpi=" + root}, build} {
		command := exec.CommandContext(t.Context(), words[0], words[1:]...)
		// -trimpath lets the C kernels be compiled once for all folders.
		command.Dir, command.Env = module, withoutCGO("GOFLAGS=-mod=mod -trimpath", "GOPROXY=off", "GOWORK=off")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", words, err, out)
		}
	}
	return programs
}

// runProgram runs another program on so many ranks, without a launcher where there is one, and returns what
// it prints.
func runProgram(t *testing.T, ranks int, words ...string) string {
	t.Helper()
	if ranks > 1 {
		if _, err := exec.LookPath(mpirunName); err != nil {
			t.Skip("no mpirun in PATH: the tests on MPI ranks are skipped")
		}
		words = append([]string{mpirunName, "-n", fmt.Sprint(ranks)}, words...)
	}
	command := exec.CommandContext(t.Context(), words[0], words[1:]...)
	command.Env = append(os.Environ(), mpirunSettings...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", words, err, out)
	}
	return string(out)
}

// A program in another module links without any flags, and on one and two ranks gets the bits of the command.
// The one in examples/go gets a residual of rounding errors.
func TestGoModule(t *testing.T) {
	programs := buildModule(t)
	for _, ranks := range []int{1, 2} {
		out := runProgram(t, ranks, filepath.Join(programs, "example"))
		var residual float64
		_, line, _ := strings.Cut(out, "\nresidual ")
		if _, err := fmt.Sscan(line, &residual); err != nil || !(residual > 0 && residual < 1e-14) ||
			!strings.HasPrefix(out, fmt.Sprintf("%d ranks, ", ranks)) {
			t.Errorf("the example on %d ranks prints\n%s", ranks, out)
		}
	}
	cases := []struct{ m, n, positive, equal int }{ // so many columns at the beginning are equal
		{300, 200, -1, 1}, {120, 260, -1, 1}, {900, 40, -1, 1}, {200, 120, 50, 1}, {200, 120, 50, 9}}
	for _, c := range cases {
		dir := t.TempDir()
		file := fmt.Sprintf("a.%dx%d.colmajor.f64", c.m, c.n)
		a := gauss(t, c.m, c.n)
		for j := range c.equal {
			copy(a.x[j*c.m:], a.x[:c.m])
		}
		data := a.encode(8, binary.LittleEndian, false)
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, ranks := range []int{1, 2} {
			args := fmt.Sprintf("svd %s -o want%d", file, ranks)
			if c.positive >= 0 {
				args += fmt.Sprintf(" --signature %d", c.positive)
			}
			mustFinish(t, dir, ranks, args)
			runProgram(t, ranks, filepath.Join(programs, "bits"), filepath.Join(dir, file), fmt.Sprint(c.m),
				fmt.Sprint(c.n), fmt.Sprint(c.positive), dir)
			sameBits(t, filepath.Join(dir, fmt.Sprintf("want%d", ranks)), dir)
		}
	}
}

// sameBits compares the numbers in the results of the command, which follow the header of a file, with those
// of a program.
func sameBits(t *testing.T, results, dir string) {
	t.Helper()
	for _, name := range []string{"S", "U", "V"} {
		want, err := os.ReadFile(filepath.Join(results, name+".npy"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 || !bytes.HasSuffix(want, got) || len(want)-len(got) > 256 {
			t.Errorf("%s of %s has other bits than the command's", name, filepath.Base(results))
		}
	}
}
