package cores

import (
	"os"
	"strconv"
	"strings"
)

// Launcher is what the program that started this process says about it in the environment.
// It is known before MPI is started, and also where MPI was started wrongly.
type Launcher struct {
	Name                 string // "Open MPI", "Hydra" (MPICH, Intel MPI), "Slurm", or "" for a process started alone
	Rank, Size           int    // in the whole run; 0 of 1 if started alone
	LocalRank, LocalSize int    // among the ranks on this node
}

// FindLauncher reads the environment of this process. A launcher inside a Slurm job wins over Slurm: then
// Slurm's variables describe the launcher's daemon.
func FindLauncher() Launcher { return launcher(os.Getenv) }

func launcher(getenv func(string) string) Launcher {
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(getenv(name)); err == nil && n >= 0 {
			return n
		}
		return otherwise
	}
	var l Launcher
	switch {
	case getenv("OMPI_COMM_WORLD_SIZE") != "":
		l = Launcher{
			Name:      "Open MPI",
			Rank:      number("OMPI_COMM_WORLD_RANK", 0),
			Size:      number("OMPI_COMM_WORLD_SIZE", 1),
			LocalRank: number("OMPI_COMM_WORLD_LOCAL_RANK", 0),
			LocalSize: number("OMPI_COMM_WORLD_LOCAL_SIZE", 1),
		}
	case getenv("MPI_LOCALNRANKS") != "":
		l = Launcher{
			Name:      "Hydra",
			Rank:      number("PMI_RANK", 0),
			Size:      number("PMI_SIZE", 1),
			LocalRank: number("MPI_LOCALRANKID", 0),
			LocalSize: number("MPI_LOCALNRANKS", 1),
		}
	case getenv("SLURM_STEP_NUM_TASKS") != "": // set by srun, not in the script of a batch job
		l = Launcher{
			Name:      "Slurm",
			Rank:      number("SLURM_PROCID", 0),
			Size:      number("SLURM_STEP_NUM_TASKS", 1),
			LocalRank: number("SLURM_LOCALID", 0),
			LocalSize: tasksOnNode(getenv("SLURM_STEP_TASKS_PER_NODE"), number("SLURM_NODEID", 0)),
		}
	}
	l.Size = max(l.Size, 1)
	l.LocalSize = max(l.LocalSize, 1)
	return l
}

// tasksOnNode reads Slurm's list of tasks per node, "2(x3),1": 2 on each of nodes 0, 1, 2 and
// 1 on node 3. It returns 1 where the list does not tell.
func tasksOnNode(list string, node int) int {
	for item := range strings.SplitSeq(list, ",") {
		tasks, repeat, _ := strings.Cut(item, "(x")
		n, err := strconv.Atoi(tasks)
		if err != nil {
			return 1
		}
		times := 1
		if t, err := strconv.Atoi(strings.TrimSuffix(repeat, ")")); err == nil {
			times = t
		}
		if node < times {
			return n
		}
		node -= times
	}
	return 1
}

// boundByDefault tells whether Open MPI bound this process without being asked to, and otherwise which
// variable asked for a binding ("" if none did).
func boundByDefault(getenv func(string) string) (bool, string) {
	for _, name := range []string{
		"OMPI_MCA_hwloc_base_binding_policy", // --bind-to
		"OMPI_MCA_hwloc_base_bind_to_core",   // --bind-to-core, --bind-to-socket of old
		"OMPI_MCA_hwloc_base_bind_to_socket",
		"OMPI_MCA_hwloc_base_cpu_list", // --cpu-list
		"OMPI_MCA_hwloc_base_cpu_set",  // --cpu-set
		"OMPI_MCA_orte_rankfile",       // --rankfile
		"OMPI_MCA_rmaps_rank_file_path",
		"OMPI_MCA_rmaps_base_cpus_per_rank", // --cpus-per-proc
		"OMPI_MCA_rmaps_base_cpus_per_proc",
	} {
		if getenv(name) != "" {
			return false, name
		}
	}
	const mapping = "OMPI_MCA_rmaps_base_mapping_policy" // --map-by: a PE=n, or anything below a node
	policy := strings.ToLower(getenv(mapping))
	for _, word := range []string{"pe=", "hwthread", "core", "cache", "socket", "package", "numa", "board"} {
		if strings.Contains(policy, word) {
			return false, mapping
		}
	}
	return getenv("OMPI_MCA_orte_bound_at_launch") == "1", ""
}
