package dist

import (
	"strings"
	"testing"
)

func TestCheckLaunch(t *testing.T) {
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
		{"MPICH's mpirun", 1, "PMI_SIZE=3 PMI_RANK=0", "mpirun -np 3 jmpi …"},
		{"srun without pmix", 1, "SLURM_STEP_ID=0 SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=4 SLURM_NTASKS=4",
			"srun --mpi=pmix -n 4 jmpi …"},
		{"srun --mpi=pmi2", 1, "SLURM_STEP_ID=1 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 PMI_SIZE=2",
			"srun --mpi=pmix -n 2 jmpi …"},
		{"srun that tells only the allocation", 1, "SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=8",
			"srun --mpi=pmix -n 8 jmpi …"},

		{"mpirun -np 1 in a batch script", 1,
			"OMPI_COMM_WORLD_SIZE=1 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_JOB_ID=7", ""},
		{"mpirun -np 1 through srun's daemons", 1,
			"OMPI_COMM_WORLD_SIZE=1 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_NTASKS=4", ""},
		{"MPICH's mpirun -np 1 in a step", 1, "PMI_SIZE=1 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2", ""},
		{"plain in a batch script", 1, "SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_JOB_ID=7", ""},
		{"plain in a batch step", 1, "SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_STEP_ID=4294967291", ""},
		{"srun -n 1 in an allocation of 4", 1, "SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=4", ""},
		{"interactive shell of salloc", 1, "SLURM_STEP_ID=4294967290 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=4", ""},
		{"not a number", 1, "PMI_SIZE=many SLURM_STEP_ID=x SLURM_PROCID=0 SLURM_NTASKS=4", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := CheckLaunch(test.size, strings.Fields(test.env))
			switch {
			case err == nil && test.want != "":
				t.Errorf("no error, want one that names %q", test.want)
			case err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %q, want %q", err, test.want)
			}
		})
	}
}

func TestCheckStart(t *testing.T) {
	for env, want := range map[string]string{
		"HOME=/root": "",
		"SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4":                        "srun --mpi=pmix -n 4 jmpi …",
		"SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4 PMIX_RANK=1":            "",
		"SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4 PMI_FD=11":              "",
		"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 OMPI_COMM_WORLD_RANK=1": "",
		"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1":                        "",
		"SLURM_STEP_ID=4294967291 SLURM_PROCID=0 SLURM_NTASKS=4":                       "",
	} {
		err := CheckStart(strings.Fields(env))
		switch {
		case err == nil && want != "":
			t.Errorf("%s: no error, want one that names %q", env, want)
		case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: error %q, want %q", env, err, want)
		}
	}
}
