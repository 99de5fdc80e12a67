package cores

import (
	"os"
	"strconv"
	"strings"
)

// Launcher is what the program that started this process says about it in the environment.
// It is known before MPI is started, and also where MPI was started wrongly.
type Launcher struct {
	// Name is "Open MPI", "Hydra" (MPICH, Intel MPI), "Flux", "JSM" (IBM's jsrun), "PALS" (mpiexec of HPE Cray),
	// "Slurm", "PMI" or "PMIx" (no more is known of these), or "" for a process started alone.
	Name                 string
	Rank, Size           int  // in the whole run; 0 of 1 if started alone
	LocalRank, LocalSize int  // among the ranks on this node
	AtLeast              bool // the launcher does not tell the size, there may be more
}

// FindLauncher reads the environment of this process. A launcher inside a job of a batch system wins over
// that: then the variables of the batch system describe the launcher's daemon.
func FindLauncher() Launcher { return launcher(os.Getenv) }

func launcher(getenv func(string) string) Launcher {
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(getenv(name)); err == nil && n >= 0 {
			return n
		}
		return otherwise
	}
	var l Launcher
	tasks := slurmTasks(getenv, number)
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
	case getenv("FLUX_TASK_RANK") != "":
		size, nodes := number("FLUX_JOB_SIZE", 1), max(number("FLUX_JOB_NNODES", 1), 1)
		l = Launcher{
			Name:      "Flux",
			Rank:      number("FLUX_TASK_RANK", 0),
			Size:      size,
			LocalRank: number("FLUX_TASK_LOCAL_ID", 0),
			LocalSize: (size + nodes - 1) / nodes, // which Flux does not tell
		}
	case getenv("JSM_NAMESPACE_SIZE") != "":
		l = Launcher{
			Name:      "JSM",
			Rank:      number("JSM_NAMESPACE_RANK", 0),
			Size:      number("JSM_NAMESPACE_SIZE", 1),
			LocalRank: number("JSM_NAMESPACE_LOCAL_RANK", 0),
			LocalSize: number("JSM_NAMESPACE_LOCAL_SIZE", 1),
		}
	case getenv("PALS_RANKID") != "":
		l = Launcher{
			Name:      "PALS",
			Rank:      number("PALS_RANKID", 0),
			Size:      number("PMI_SIZE", 0), // with --pmi=pmix it is not told
			LocalRank: number("PALS_LOCAL_RANKID", 0),
			LocalSize: number("PALS_LOCAL_SIZE", 1),
		}
	case getenv("PMI_SIZE") != "" && number("PMI_SIZE", 1) != tasks: // tasks: of srun --mpi=pmi2
		l = Launcher{Name: "PMI", Rank: number("PMI_RANK", 0), Size: number("PMI_SIZE", 1)}
	case tasks > 0:
		l = Launcher{
			Name:      "Slurm",
			Rank:      number("SLURM_PROCID", 0),
			Size:      tasks,
			LocalRank: number("SLURM_LOCALID", 0),
			LocalSize: tasksOnNode(getenv("SLURM_STEP_TASKS_PER_NODE"), number("SLURM_NODEID", 0)),
		}
	case getenv("PMIX_RANK") != "":
		l = Launcher{Name: "PMIx", Rank: number("PMIX_RANK", 0)}
	}
	l.LocalSize = max(l.LocalSize, 1)
	if told := l.Size; told == 0 {
		l.Size = max(l.Rank+1, l.LocalSize)
		l.AtLeast = l.Name != ""
	}
	return l
}

// slurmTasks returns the number of tasks of the job step if srun itself started this process, 0 else.
// A batch script has SLURM_NTASKS and SLURM_PROCID too, but no step, or the batch step of one task.
func slurmTasks(getenv func(string) string, number func(name string, otherwise int) int) int {
	const lastStep = 0xfffffff0 // larger ids are special: batch script, interactive shell
	step, err := strconv.ParseInt(getenv("SLURM_STEP_ID"), 10, 64)
	if err != nil || step >= lastStep || getenv("SLURM_PROCID") == "" {
		return 0
	}
	return number("SLURM_STEP_NUM_TASKS", number("SLURM_NTASKS", 0))
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
