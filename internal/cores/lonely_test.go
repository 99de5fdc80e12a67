package cores

import (
	"strings"
	"testing"
)

// variables is env of lines "NAME=value", separated by spaces.
func variables(text string) func(string) string {
	var pairs []string
	for line := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(line, "=")
		pairs = append(pairs, name, value)
	}
	return env(pairs...)
}

// checkLonely compares an error with the line that it must name; empty: no error.
func checkLonely(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case err == nil && want != "":
		t.Errorf("no error, want one that names %q", want)
	case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestCheckWorld(t *testing.T) {
	tests := []struct {
		name string
		size int
		env  string
		want string // in the error; empty: no error
	}{
		{"plain process", 1, "HOME=/root", ""},
		{"mpirun", 4, "OMPI_COMM_WORLD_SIZE=4", ""},
		{"srun", 4, "SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4 SLURM_NTASKS=4", ""},

		{"mpirun of another MPI", 1, "OMPI_COMM_WORLD_SIZE=4", "mpirun -np 4 jmpi …"},
		{"MPICH's mpirun", 1, "PMI_SIZE=3 PMI_RANK=0 MPI_LOCALNRANKS=3", "mpirun -np 3 jmpi …"},
		{"another one that speaks PMI", 1, "PMI_SIZE=3 PMI_RANK=0", "mpirun -np 3 jmpi …"},
		{"one that speaks PMIx", 1, "PMIX_RANK=2", "mpirun started at least 3 processes"},
		{"the first rank of it", 1, "PMIX_RANK=0", ""},
		{"srun without pmix", 1, "SLURM_STEP_ID=0 SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=4 SLURM_NTASKS=4",
			"srun --mpi=pmix -n 4 jmpi … (MPICH: --mpi=pmi2)"},
		{"srun --mpi=pmi2", 1, "SLURM_STEP_ID=1 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 PMI_SIZE=2",
			"srun --mpi=pmix -n 2 jmpi … (MPICH: --mpi=pmi2)"},
		{"srun that tells only the allocation", 1, "SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=8",
			"srun --mpi=pmix -n 8 jmpi … (MPICH: --mpi=pmi2)"},
		{"Flux", 1, "FLUX_JOB_SIZE=4 FLUX_TASK_RANK=0 FLUX_JOB_NNODES=2 PMI_SIZE=4 PMI_RANK=0 PMI_FD=5",
			"flux run started 4 processes, but MPI sees this one alone; start them by: flux " +
				"run -o pmi=pmix -n 4 jmpi …"},
		{"Flux in an allocation of Slurm", 1,
			"FLUX_JOB_SIZE=3 FLUX_TASK_RANK=1 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2",
			"flux run -o pmi=pmix -n 3 jmpi …"},
		{"JSM", 1, "JSM_NAMESPACE_SIZE=6 JSM_NAMESPACE_RANK=0", "jsrun -n 6 jmpi …"},
		{"PALS", 1, "PALS_RANKID=0 PALS_LOCAL_RANKID=0 PALS_LOCAL_SIZE=2 PMI_SIZE=4 PMI_RANK=0",
			"mpiexec started 4 processes, but MPI sees this one alone; start them by: mpiexec --pmi=pmix -n 4 jmpi …"},
		{"PALS without PMI", 1, "PALS_RANKID=0 PALS_LOCAL_RANKID=0 PALS_LOCAL_SIZE=2",
			"mpiexec started at least 2 processes"},
		{"PALS, one a node", 1, "PALS_RANKID=5 PALS_LOCAL_RANKID=0 PALS_LOCAL_SIZE=1",
			"mpiexec started at least 6 processes"},

		{"mpirun -np 1 in a batch script", 1,
			"OMPI_COMM_WORLD_SIZE=1 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_JOB_ID=7", ""},
		{"mpirun -np 1 through srun's daemons", 1,
			"OMPI_COMM_WORLD_SIZE=1 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_NTASKS=4", ""},
		{"MPICH's mpirun -np 1 in a step", 1, "PMI_SIZE=1 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2",
			""},
		{"mpirun -np 1 in a job of Flux", 1, "OMPI_COMM_WORLD_SIZE=1 FLUX_JOB_SIZE=4 FLUX_TASK_RANK=2", ""},
		{"MPICH's mpirun -np 1 in a job of PALS", 1, "PMI_SIZE=1 MPI_LOCALNRANKS=1 PALS_RANKID=2", ""},
		{"flux run -n 1", 1, "FLUX_JOB_SIZE=1 FLUX_TASK_RANK=0 PMI_SIZE=1", ""},
		{"jsrun -n 1", 1, "JSM_NAMESPACE_SIZE=1 JSM_NAMESPACE_RANK=0", ""},
		{"mpiexec -n 1 of PALS", 1, "PALS_RANKID=0 PALS_LOCAL_SIZE=1 PMI_SIZE=1", ""},
		{"plain in a batch script", 1, "SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_JOB_ID=7", ""},
		{"plain in a batch step", 1, "SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_STEP_ID=4294967291", ""},
		{"srun -n 1 in an allocation of 4", 1,
			"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=4", ""},
		{"interactive shell of salloc", 1,
			"SLURM_STEP_ID=4294967290 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=4", ""},
		{"not a number", 1, "PMI_SIZE=many SLURM_STEP_ID=x SLURM_PROCID=0 SLURM_NTASKS=4", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			checkLonely(t, CheckWorld(test.size, variables(test.env)), test.want)
		})
	}
}

func TestCheckStart(t *testing.T) {
	for env, want := range map[string]string{
		"HOME=/root": "",
		"SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4 PMIX_RANK=1":            "",
		"SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4 PMI_FD=11":              "",
		"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 OMPI_COMM_WORLD_RANK=1": "",
		"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1":                        "",
		"SLURM_STEP_ID=4294967291 SLURM_PROCID=0 SLURM_NTASKS=4":                       "",
		"FLUX_JOB_SIZE=4 FLUX_TASK_RANK=3 PMI_FD=7":                                    "",

		"SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4": "srun --mpi=pmix -n 4 jmpi … (MPICH: --mpi=pmi2)",
		"FLUX_JOB_SIZE=4 FLUX_TASK_RANK=3":                      "flux run -o pmi=pmix -n 4 jmpi …",
		"PALS_RANKID=1 PALS_LOCAL_SIZE=2":                       "mpiexec --pmi=pmix -n 2 jmpi …",
		"JSM_NAMESPACE_SIZE=6 JSM_NAMESPACE_RANK=0":             "jsrun -n 6 jmpi …",
	} {
		t.Run(env, func(t *testing.T) { checkLonely(t, CheckStart(variables(env)), want) })
	}
}
