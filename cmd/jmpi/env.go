package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"jmpi/internal/cores"
	"jmpi/internal/hdf5"
	"jmpi/kernels/cpu"
)

func newEnvCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "print versions, MPI library, ranks, cores, memory and GPUs",
		Long: `Print what a run would find: versions, the MPI library and what it says of GPUs, the launcher, the
cores and the threads that a rank would use, memory, GPUs. MPI is not started. Under mpirun, rank 0
prints all of it and the others a line each.`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, args []string) error {
			launcher := cores.FindLauncher()
			text := rankLine(launcher)
			if launcher.Rank == 0 {
				var err error
				if text, err = environment(launcher); err != nil {
					return exit(exitFailure, err)
				}
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), text) // at once, so that the ranks' texts do not mix
			return exit(exitFailure, err)
		},
	}
}

// environment returns the full text.
func environment(launcher cores.Launcher) (string, error) {
	backend, err := cpu.Open(1)
	if err != nil {
		return "", err
	}
	blas := backend.Describe().Library
	if err := backend.Close(); err != nil {
		return "", err
	}
	available := cores.Available()
	var b strings.Builder
	row := func(name, value string) {
		for line := range strings.SplitSeq(value, "\n") {
			fmt.Fprintf(&b, "%-9s %s\n", name, line)
			name = ""
		}
	}
	row("jmpi", version())
	row("go", runtime.Version()+" "+platform())
	library := mpiLibrary()
	row("mpi", library+"\n"+cudaAwareness(library))
	row("launcher", launcherText(launcher, library))
	row("blas", blasText(blas))
	row("hdf5", hdf5Text())
	row("host", host())
	row("cores", coresText(available))
	row("threads", threadsText(available))
	row("memory", memoryText(readMemory()))
	row("gpus", gpuText())
	return b.String(), nil
}

// hdf5Text names the HDF5 library, or says why there is none.
func hdf5Text() string {
	library, err := hdf5.Library()
	if err != nil {
		return "none: " + err.Error()
	}
	return library
}

// rankLine is the line of a rank that is not the first.
func rankLine(launcher cores.Launcher) string {
	return fmt.Sprintf("rank %-4d %s, threads %s\n", launcher.Rank, host(),
		strings.ReplaceAll(threadsText(cores.Available()), "\n", "; "))
}

// launcherText says who started this process, and warns if that is not the linked MPI library's own launcher.
func launcherText(l cores.Launcher, library string) string {
	if l.Name == "" {
		return "none: one rank"
	}
	least := ""
	if l.AtLeast {
		least = "at least "
	}
	text := fmt.Sprintf("%s: rank %d of %s%d, rank %d of %d on this host", l.Name, l.Rank, least, l.Size,
		l.LocalRank, l.LocalSize)
	if open := strings.HasPrefix(library, "Open MPI"); l.Name == "Open MPI" && !open || l.Name == "Hydra" &&
		open {
		text += "\nWARNING: jmpi is linked with another MPI library; start it by that library's mpirun"
	}
	return text
}

// slowCores are the processors for which OpenBLAS takes kernels without AVX.
var slowCores = []string{"Prescott", "Core2", "Penryn", "Dunnington", "Nehalem", "Generic"}

// blasHint says what helps where OpenBLAS is older than the processor and takes such kernels, as it does for
// every one that it does not know; otherwise it is empty.
func blasHint(library string) string {
	_, own, _ := strings.Cut(library, "own kernels: ")
	core := map[string]string{"avx512": "SkylakeX", "avx2": "Haswell"}[own]
	slow := func(word string) bool { return slices.Contains(slowCores, word) }
	if core == "" || !slices.ContainsFunc(strings.Fields(library), slow) {
		return ""
	}
	return "OpenBLAS does not know this processor, and is slow on it; set OPENBLAS_CORETYPE=" + core +
		", and give it to all ranks (mpirun -x OPENBLAS_CORETYPE)"
}

// blasText warns of slow kernels.
func blasText(library string) string {
	if hint := blasHint(library); hint != "" {
		return library + "\nWARNING: " + strings.Replace(hint, ", and give", ",\nand give", 1)
	}
	return library
}

// coresText says how many cores there are and which limits hold.
func coresText(i cores.Info) string {
	text := fmt.Sprintf("%d in the machine, %d for the ranks of this run, %d in this rank's mask (CPUs %s)",
		i.Machine, len(i.Allowed), len(i.Mask), numbers(cores.CPUs(i.Mask)))
	if i.Quota > 0 {
		text += fmt.Sprintf("\nquota of the control group: %.3g CPUs", i.Quota)
	}
	if i.Slurm > 0 {
		text += fmt.Sprintf("\nSLURM_CPUS_PER_TASK=%d", i.Slurm)
	}
	if i.Explicit != "" {
		text += fmt.Sprintf("\nbinding asked for by %s", i.Explicit)
	}
	if omp := os.Getenv("OMP_NUM_THREADS"); omp != "" {
		text += fmt.Sprintf("\nOMP_NUM_THREADS=%s has no effect on jmpi; --threads has", omp)
	}
	return text
}

// threadsText says what a run without --threads would do.
func threadsText(i cores.Info) string {
	c, err := cores.Plan(i, 0)
	if err != nil {
		return err.Error()
	}
	text := strconv.Itoa(c.Threads)
	if c.Note != "" {
		text += ", " + c.Note
	}
	if c.Hint != "" {
		text += "\n" + c.Hint
	}
	return text
}

// numbers writes numbers as runs, "0-3,8"; those of one core stay together.
func numbers(list []int) string {
	var b strings.Builder
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(list[i]))
		if j > i {
			fmt.Fprintf(&b, "-%d", list[j])
		}
		i = j + 1
	}
	return b.String()
}

// host returns the name of this host.
func host() string {
	name, err := os.Hostname()
	if err != nil {
		return "unnamed host"
	}
	return name
}
