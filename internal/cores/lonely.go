package cores

import "fmt"

// CheckStart recognises, before MPI is started, a process that was started as one of several without MPI
// being told anything (srun --mpi=none, the default of many clusters). MPI_Init itself may end such a
// process, with a text about how the MPI library was built. The error names the line that would have worked.
func CheckStart(getenv func(string) string) error {
	for _, told := range []string{"PMIX_RANK", "PMI_RANK", "PMI_FD", "PMI_PORT", "OMPI_COMM_WORLD_RANK"} {
		if getenv(told) != "" {
			return nil
		}
	}
	return launcher(getenv).lonely()
}

// CheckWorld recognises a process that was started as one of many ranks but is alone in its world. The
// launcher and the MPI library do not know each other then, and each of the processes would do all of the
// work. size is the size of the world. The error names the line that would have worked.
//
// What a launcher of MPI says of its ranks is trusted before what a batch system says of the allocation:
// `mpirun -np 1`, and a plain process, are legitimate inside an allocation of many tasks.
func CheckWorld(size int, getenv func(string) string) error {
	if size > 1 {
		return nil
	}
	return launcher(getenv).lonely()
}

// lonely is the error of a process that is one of several for its launcher, and alone for MPI.
func (l Launcher) lonely() error {
	if l.Size <= 1 {
		return nil
	}
	const known = "with the MPI that `jmpi env` names"
	program, line := "mpirun", fmt.Sprintf("mpirun -np %d jmpi …, %s", l.Size, known)
	switch l.Name {
	case "Slurm":
		program, line = "srun", fmt.Sprintf("srun --mpi=pmix -n %d jmpi … (MPICH: --mpi=pmi2)", l.Size)
	case "Flux":
		program, line = "flux run", fmt.Sprintf("flux run -o pmi=pmix -n %d jmpi …", l.Size)
	case "JSM":
		program, line = "jsrun", fmt.Sprintf("jsrun -n %d jmpi …, jmpi built with the MPI of jsrun (Spectrum MPI)",
			l.Size)
	case "PALS":
		program, line = "mpiexec", fmt.Sprintf("mpiexec --pmi=pmix -n %d jmpi …", l.Size)
	}
	least := ""
	if l.AtLeast {
		least = "at least "
	}
	return fmt.Errorf("%s started %s%d processes, but MPI sees this one alone; start them by: %s", program,
		least, l.Size, line)
}
