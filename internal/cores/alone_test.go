package cores

import "testing"

// What users set does not make a process one of several; what launchers set does, also those that
// FindLauncher does not know.
func TestAlone(t *testing.T) {
	for _, c := range []struct {
		environment map[string]string
		want        bool
	}{
		{nil, true},
		{map[string]string{"OMPI_MCA_btl": "self", "PMIX_MCA_gds": "hash", "MPI_HOME": "/opt/mpi"}, true},
		{map[string]string{"SLURM_JOB_ID": "7", "SLURM_NTASKS": "8", "SLURM_PROCID": "0"}, true}, // a batch script
		{map[string]string{"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "0"}, false},
		{map[string]string{"OMPI_COMM_WORLD_SIZE": "1"}, false},
		{map[string]string{"PMIX_NAMESPACE": "prterun"}, false},
		{map[string]string{"PMI_FD": "5"}, false},
		{map[string]string{"MPI_LOCALNRANKS": "1"}, false},
		{map[string]string{"MV2_COMM_WORLD_RANK": "3"}, false},
		{map[string]string{"ALPS_APP_PE": "0"}, false},
	} {
		if got := Alone(func(name string) string { return c.environment[name] }); got != c.want {
			t.Errorf("%q: alone %t", c.environment, got)
		}
	}
}
