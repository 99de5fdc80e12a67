package dist

import (
	"fmt"
	"strconv"
	"strings"
)

// CheckLaunch recognises a process that was started as one of many ranks but is alone in its world, because
// the launcher and the MPI library do not know each other: each of the N processes would do all
// of the work. size is the size of the world, env is the environment as os.Environ gives it.
// The error names the line that would have worked.
//
// What a launcher of MPI says of its ranks is trusted before what Slurm says of the allocation:
// `mpirun -np 1`, and a plain process, are legitimate inside an allocation of many tasks.
func CheckLaunch(size int, env []string) error {
	if size > 1 {
		return nil
	}
	value, number := environment(env)
	if ranks := number("OMPI_COMM_WORLD_SIZE"); ranks > 0 {
		return lonely(ranks, "mpirun", mpirunLine)
	}
	tasks := slurmTasks(value, number)
	if ranks := number("PMI_SIZE"); ranks > 0 { // of MPICH's mpirun, or of srun --mpi=pmi2
		if tasks > 1 {
			return lonely(ranks, "srun", srunLine)
		}
		return lonely(ranks, "mpirun", mpirunLine)
	}
	return lonely(tasks, "srun", srunLine)
}

// CheckStart recognises, before MPI is started, a process that srun has started as one of several without telling MPI
// anything (srun --mpi=none, the default of many clusters): there MPI_Init itself ends the process, with a text about how
// Open MPI was built.
func CheckStart(env []string) error {
	value, number := environment(env)
	for _, told := range []string{"PMIX_RANK", "PMI_RANK", "PMI_FD", "OMPI_COMM_WORLD_RANK"} {
		if value[told] != "" {
			return nil
		}
	}
	return lonely(slurmTasks(value, number), "srun", srunLine)
}

// environment returns the variables of env, as texts and as numbers (0 for what is none).
func environment(env []string) (value map[string]string, number func(name string) int) {
	value = map[string]string{}
	for _, line := range env {
		name, text, _ := strings.Cut(line, "=")
		value[name] = text
	}
	return value, func(name string) int {
		n, err := strconv.Atoi(value[name])
		if err != nil {
			return 0
		}
		return n
	}
}

const (
	mpirunLine = "mpirun -np %d jmpi …, with the mpirun of the MPI that `jmpi env` names"
	srunLine   = "srun --mpi=pmix -n %d jmpi …"
)

// slurmTasks returns the number of tasks of the job step if srun itself started this process, 0 else.
// A batch script has SLURM_NTASKS and SLURM_PROCID too, but no step, or the batch step of one task.
func slurmTasks(value map[string]string, number func(string) int) int {
	const lastStep = 0xfffffff0 // larger ids are special: batch script, interactive shell
	step, err := strconv.ParseInt(value["SLURM_STEP_ID"], 10, 64)
	if err != nil || step >= lastStep || value["SLURM_PROCID"] == "" {
		return 0
	}
	if tasks := number("SLURM_STEP_NUM_TASKS"); tasks > 0 {
		return tasks
	}
	return number("SLURM_NTASKS")
}

func lonely(ranks int, launcher, line string) error {
	if ranks <= 1 {
		return nil
	}
	return fmt.Errorf("%s started %d processes, but MPI sees this one alone; start them by: %s",
		launcher, ranks, fmt.Sprintf(line, ranks))
}
