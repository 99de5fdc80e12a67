package cores

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// single returns cores first…last of one hardware thread each.
func single(first, last int) []Core {
	var cores []Core
	for cpu := first; cpu <= last; cpu++ {
		cores = append(cores, Core{cpu})
	}
	return cores
}

// twins returns the n cores {i, i+n} of a machine with two hardware threads per core.
func twins(n int) []Core {
	var cores []Core
	for cpu := range n {
		cores = append(cores, Core{cpu, cpu + n})
	}
	return cores
}

func openMPI(localRank, localSize int) Launcher {
	return Launcher{Name: "Open MPI", Rank: localRank, Size: localSize, LocalRank: localRank,
		LocalSize: localSize}
}

func TestPlan(t *testing.T) {
	alone := Launcher{Size: 1, LocalSize: 1}
	slurm := Launcher{Name: "Slurm", LocalRank: 1, LocalSize: 4, Size: 4}
	const policy = "OMPI_MCA_hwloc_base_binding_policy"
	tests := []struct {
		name string
		info Info
		flag int
		want Choice
	}{
		{"alone", Info{Launcher: alone, Allowed: single(0, 15), Mask: single(0, 15)}, 0,
			Choice{Threads: 16, Cores: 16}},
		{"alone, confined by taskset", Info{Launcher: alone, Allowed: single(0, 15), Mask: single(2, 4)}, 0,
			Choice{Threads: 3, Cores: 3}},
		{"alone, cores with two threads", Info{Launcher: alone, Allowed: twins(4), Mask: twins(4)}, 0,
			Choice{Threads: 4, Cores: 4}},
		{"alone, more threads than cores at the user's wish",
			Info{Launcher: alone, Allowed: single(0, 1), Mask: single(0, 1)}, 8, Choice{Threads: 8, Cores: 2}},
		{"quota of 2.5 CPUs", Info{Launcher: alone, Allowed: single(0, 15), Mask: single(0, 15), Quota: 2.5}, 0,
			Choice{Threads: 2, Cores: 16}},
		{"quota of half a CPU", Info{Launcher: alone, Allowed: single(0, 3), Mask: single(0, 3), Quota: 0.5}, 0,
			Choice{Threads: 1, Cores: 4}},
		{"quota shared by ranks", Info{Launcher: openMPI(0, 2), Allowed: single(0, 15), Mask: single(0, 15),
			Quota: 8}, 0, Choice{Threads: 4, Cores: 16}},

		{"mpirun -np 1, default", Info{Launcher: openMPI(0, 1), Allowed: single(0, 1), Mask: single(0, 0),
			Default: true}, 0, Choice{Threads: 2, Cores: 2, CPUs: []int{0, 1},
			Note: "widened from 1 core to 2 cores"}},
		{"mpirun -np 2, default, 2 cores", Info{Launcher: openMPI(1, 2), Allowed: single(0, 1), Mask: single(1, 1),
			Default: true}, 0, Choice{Threads: 1, Cores: 1}},
		{"mpirun -np 2, default, 5 cores, rank 1",
			Info{Launcher: openMPI(1, 2), Allowed: single(0, 4), Mask: single(1, 1), Default: true}, 0,
			Choice{Threads: 3, Cores: 3, CPUs: []int{2, 3, 4}, Note: "widened from 1 core to 3 cores"}},
		{"mpirun -np 2, default, cores with two threads",
			Info{Launcher: openMPI(1, 2), Allowed: twins(4), Mask: twins(4)[1:2], Default: true}, 0,
			Choice{Threads: 2, Cores: 2, CPUs: []int{2, 6, 3, 7}, Note: "widened from 1 core to 2 cores"}},
		{"mpirun -np 4, default: a socket each",
			Info{Launcher: openMPI(3, 4), Allowed: single(0, 15), Mask: single(8, 15), Default: true}, 0,
			Choice{Threads: 4, Cores: 8}},
		{"a rank per node, default: a socket", Info{Launcher: openMPI(0, 1), Allowed: single(0, 3),
			Mask: single(0, 1), Default: true}, 0, Choice{Threads: 4, Cores: 4, CPUs: []int{0, 1, 2, 3},
			Note: "widened from 2 cores to 4 cores"}},
		{"more ranks than cores", Info{Launcher: openMPI(4, 5), Allowed: single(0, 1), Mask: single(0, 1),
			Default: true}, 0, Choice{Threads: 1, Cores: 2}},
		{"default, but one thread asked for", Info{Launcher: openMPI(0, 1), Allowed: single(0, 3),
			Mask: single(0, 0), Default: true}, 1, Choice{Threads: 1, Cores: 1}},
		{"default, two threads asked for", Info{Launcher: openMPI(0, 1), Allowed: single(0, 1), Mask: single(0, 0),
			Default: true}, 2, Choice{Threads: 2, Cores: 2, CPUs: []int{0, 1},
			Note: "widened from 1 core to 2 cores"}},

		{"--map-by slot:PE=4: a mask of the rank's own",
			Info{Launcher: openMPI(1, 2), Allowed: single(0, 7), Mask: single(4, 7), Explicit: policy}, 0,
			Choice{Threads: 4, Cores: 4}},
		{"--bind-to none", Info{Launcher: openMPI(1, 2), Allowed: single(0, 7), Mask: single(0, 7),
			Explicit: policy}, 0, Choice{Threads: 4, Cores: 8}},
		{"--bind-to core", Info{Launcher: openMPI(0, 2), Allowed: single(0, 7), Mask: single(0, 0),
			Explicit: policy}, 0, Choice{Threads: 1, Cores: 1, Hint: "this rank is bound to 1 core by " + policy +
			"; mpirun --bind-to none, or --map-by slot:PE=4, would give it 4"}},
		{"mpirun under Slurm", Info{Launcher: openMPI(0, 2), Allowed: single(0, 7), Mask: single(0, 0),
			Default: true, Slurm: 3}, 0, Choice{Threads: 1, Cores: 1,
			Hint: "this rank is bound to 1 core; mpirun --bind-to none, or --map-by slot:PE=3, would give it 3"}},

		{"srun without masks", Info{Launcher: slurm, Allowed: single(0, 15), Mask: single(0, 15), Slurm: 2}, 0,
			Choice{Threads: 2, Cores: 16}},
		{"srun --cpus-per-task=2", Info{Launcher: slurm, Allowed: single(0, 15), Mask: single(2, 3), Slurm: 2}, 0,
			Choice{Threads: 2, Cores: 2}},
		{"srun, one core per task", Info{Launcher: slurm, Allowed: single(0, 15), Mask: single(1, 1)}, 0,
			Choice{Threads: 1, Cores: 1,
				Hint: "this rank is bound to 1 core; srun --cpus-per-task=4 would give it 4"}},
		{"nothing known", Info{}, 0, Choice{Threads: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Plan(test.info, test.flag)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestPlanRefusesNegativeThreads(t *testing.T) {
	_, err := Plan(Info{}, -1)
	if err == nil || !strings.Contains(err.Error(), "--threads -1") {
		t.Errorf("error %v, want one that names --threads -1", err)
	}
}

// The shares of all ranks of a node are disjoint and cover it, whatever the numbers.
func TestSharesPartitionTheNode(t *testing.T) {
	for n := 1; n <= 12; n++ {
		for ranks := 1; ranks <= n; ranks++ {
			var all []Core
			for r := range ranks {
				all = append(all, Info{Launcher: openMPI(r, ranks), Allowed: single(0, n-1)}.share()...)
			}
			if diff := cmp.Diff(single(0, n-1), all); diff != "" {
				t.Fatalf("%d cores, %d ranks (-want +got)\n%s", n, ranks, diff)
			}
		}
		for r := range 3 * n { // more ranks than cores: one core each
			if got := (Info{Launcher: openMPI(r, 3*n), Allowed: single(0, n-1)}).share(); len(got) != 1 {
				t.Fatalf("%d cores, rank %d of %d: share %v", n, r, 3*n, got)
			}
		}
	}
}
