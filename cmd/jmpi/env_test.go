package main

import (
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"jmpi/internal/cores"
)

func TestVersionCommand(t *testing.T) {
	code, text := output(t, "version")
	want := regexp.MustCompile(`^jmpi +0\.\d+\.\d+.*\ngo +go1\.\d+.*\nplatform +\w+/\w+\n$`)
	if code != exitDone || !want.MatchString(text) {
		t.Errorf("exit code %d, %q", code, text)
	}
	if code, _ := output(t, "version", "extra"); code != exitUsage {
		t.Errorf("an argument: exit code %d, want %d", code, exitUsage)
	}
}

func TestVersionOf(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef"}
	modified := func(v string) debug.BuildSetting { return debug.BuildSetting{Key: "vcs.modified", Value: v} }
	for want, settings := range map[string][]debug.BuildSetting{
		Version:                               nil,
		Version + " (0123456789ab)":           {revision, modified("false")},
		Version + " (0123456789ab, modified)": {revision, modified("true")},
	} {
		if got := versionOf(settings); got != want {
			t.Errorf("%v: %q, want %q", settings, got, want)
		}
	}
}

func TestEnvCommand(t *testing.T) {
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS"} {
		t.Setenv(name, "")
	}
	code, text := output(t, "env")
	if code != exitDone {
		t.Fatalf("exit code %d", code)
	}
	for _, want := range []string{
		`(?m)^jmpi +` + regexp.QuoteMeta(version()) + `$`,
		`(?m)^mpi +.*\d+\.\d+`, // the library is linked and tells its version
		`(?m)^ +(says that it takes|does not say)`,
		`(?m)^launcher +none: one rank$`,
		`(?m)^blas +\S`,
		`(?m)^cores +[1-9]\d* in the machine, [1-9]\d* .*, [1-9]\d* in .*\(CPUs \d`,
		`(?m)^threads +[1-9]`,
		`(?m)^memory +\d+\.\d GiB, \d+\.\d GiB available$`,
		`(?m)^gpus +(none \(|\d)`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no match of %s in\n%s", want, text)
		}
	}
}

func TestEnvCommandOfAnotherRank(t *testing.T) {
	for name, value := range map[string]string{"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1",
		"OMPI_COMM_WORLD_LOCAL_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1"} {
		t.Setenv(name, value)
	}
	code, text := output(t, "env")
	if code != exitDone || !regexp.MustCompile(`^rank 1 +\S.*, threads [1-9].*\n$`).MatchString(text) {
		t.Errorf("exit code %d, %q", code, text)
	}
}

func TestBLASTextWarnsOfSlowKernels(t *testing.T) {
	const start = "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY "
	for core, want := range map[string]string{
		"Prescott MAX_THREADS=64, own kernels: avx512": "OPENBLAS_CORETYPE=SkylakeX,",
		"Nehalem MAX_THREADS=64, own kernels: avx2":    "OPENBLAS_CORETYPE=Haswell,",
		"Nehalem MAX_THREADS=64, own kernels: generic": "", // it has nothing better
		"SkylakeX MAX_THREADS=64, own kernels: avx512": "",
		"Zen MAX_THREADS=64, own kernels: avx2":        "",
	} {
		text := blasText(start + core)
		if !strings.HasPrefix(text, start+core) || strings.Contains(text, "WARNING") != (want != "") ||
			!strings.Contains(text, want) {
			t.Errorf("%s: %q", core, text)
		}
	}
}

func TestLauncherTextWarnsOfAnotherLibrary(t *testing.T) {
	for _, test := range []struct {
		launcher, library string
		warns             bool
	}{
		{"Open MPI", "Open MPI v4.1.4", false},
		{"Open MPI", "MPICH Version: 4.0", true},
		{"Hydra", "Open MPI v4.1.4", true},
		{"Hydra", "MPICH Version: 4.0", false},
		{"Slurm", "Open MPI v4.1.4", false},
	} {
		text := launcherText(cores.Launcher{Name: test.launcher, Rank: 1, Size: 4, LocalRank: 1, LocalSize: 2},
			test.library)
		if !strings.HasPrefix(text, test.launcher+": rank 1 of 4, rank 1 of 2 on this host") ||
			strings.Contains(text, "WARNING") != test.warns {
			t.Errorf("%s, %s: %q", test.launcher, test.library, text)
		}
	}
}

func TestThreadsText(t *testing.T) {
	info := cores.Info{Launcher: cores.Launcher{Name: "Open MPI", Size: 1, LocalSize: 1},
		Allowed: []cores.Core{{0}, {1}}, Mask: []cores.Core{{0}}}
	if got := threadsText(info); !strings.HasPrefix(got, "1\nthis rank is bound to 1 core") {
		t.Errorf("bound at the user's wish: %q", got)
	}
	info.Default = true
	if got := threadsText(info); got != "2, widened from 1 core to 2 cores" {
		t.Errorf("bound by default: %q", got)
	}
}

func TestNumbers(t *testing.T) {
	for want, list := range map[string][]int{"": nil, "3": {3}, "0-2,5,7-8": {0, 1, 2, 5, 7, 8},
		"0,4,1,5": {0, 4, 1, 5}} {
		if got := numbers(list); got != want {
			t.Errorf("%v: %q, want %q", list, got, want)
		}
	}
}

func TestMemoryText(t *testing.T) {
	bytes := parseMemory(strings.NewReader("MemTotal:       16777216 kB\nMemAvailable:    1572864 " +
		"kB\nHugePages_Total:       0\n"))
	if got := memoryText(bytes); got != "16.0 GiB, 1.5 GiB available" {
		t.Errorf("%q", got)
	}
	if got := memoryText(nil); got != "unknown" {
		t.Errorf("nothing known: %q", got)
	}
}
