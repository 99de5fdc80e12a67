package cores

import "testing"

// What users set does not make a process one of several; what launchers set does, also those that
// FindLauncher does not know.
func TestAlone(t *testing.T) {
	for _, c := range []struct {
		environ []string
		want    bool
	}{
		{nil, true},
		{[]string{"PATH=/bin", "OMPI_MCA_btl=self", "OMPI_ALLOW_RUN_AS_ROOT=1", "MPI_HOME=/opt/mpi"}, true},
		{[]string{"SLURM_JOB_ID=7", "SLURM_NTASKS=8", "SLURM_PROCID=0"}, true}, // in a batch script
		{[]string{"SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=8", "SLURM_NTASKS=8", "SLURM_PROCID=0"}, false},
		{[]string{"OMPI_COMM_WORLD_SIZE=1"}, false},
		{[]string{"PMIX_NAMESPACE=prterun"}, false},
		{[]string{"PMI_FD=5"}, false},
		{[]string{"MPI_LOCALNRANKS=1"}, false},
		{[]string{"MV2_COMM_WORLD_RANK=3"}, false},
		{[]string{"ALPS_APP_PE=0"}, false},
	} {
		if got := Alone(c.environ); got != c.want {
			t.Errorf("%q: alone %t", c.environ, got)
		}
	}
}
