package cores

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

func TestLauncher(t *testing.T) {
	srun := []string{"SLURM_STEP_ID", "0", "SLURM_STEP_NUM_TASKS", "7", "SLURM_PROCID", "6", "SLURM_LOCALID",
		"0", "SLURM_NODEID", "3", "SLURM_STEP_TASKS_PER_NODE", "2(x3),1"}
	tests := []struct {
		name string
		env  []string
		want Launcher
	}{
		{"alone", nil, Launcher{Size: 1, LocalSize: 1}},
		{"batch script of Slurm", []string{"SLURM_NTASKS", "8", "SLURM_PROCID", "0", "SLURM_TASKS_PER_NODE", "8"},
			Launcher{Size: 1, LocalSize: 1}},
		{"mpirun", []string{"OMPI_COMM_WORLD_SIZE", "6", "OMPI_COMM_WORLD_RANK", "4",
			"OMPI_COMM_WORLD_LOCAL_SIZE", "3", "OMPI_COMM_WORLD_LOCAL_RANK", "1"},
			Launcher{"Open MPI", 4, 6, 1, 3, false}},
		{"mpirun in a step of Slurm", append([]string{"OMPI_COMM_WORLD_SIZE", "2", "OMPI_COMM_WORLD_RANK", "1",
			"OMPI_COMM_WORLD_LOCAL_SIZE", "2", "OMPI_COMM_WORLD_LOCAL_RANK", "1"}, srun...),
			Launcher{"Open MPI", 1, 2, 1, 2, false}},
		{"mpiexec of MPICH", []string{"PMI_SIZE", "4", "PMI_RANK", "3", "MPI_LOCALNRANKS", "2", "MPI_LOCALRANKID",
			"1"}, Launcher{"Hydra", 3, 4, 1, 2, false}},
		{"srun", srun, Launcher{"Slurm", 6, 7, 0, 1, false}},
		{"flux run in a step of Slurm", append([]string{"FLUX_JOB_SIZE", "5", "FLUX_TASK_RANK", "4",
			"FLUX_JOB_NNODES", "2", "FLUX_TASK_LOCAL_ID", "1", "PMI_RANK", "4", "PMI_SIZE", "5"}, srun...),
			Launcher{"Flux", 4, 5, 1, 3, false}},
		{"jsrun", []string{"JSM_NAMESPACE_SIZE", "6", "JSM_NAMESPACE_RANK", "5", "JSM_NAMESPACE_LOCAL_RANK", "1",
			"JSM_NAMESPACE_LOCAL_SIZE", "2"}, Launcher{"JSM", 5, 6, 1, 2, false}},
		{"mpiexec of PALS", []string{"PALS_RANKID", "3", "PALS_LOCAL_RANKID", "1", "PALS_LOCAL_SIZE", "2",
			"PMI_SIZE", "4"}, Launcher{"PALS", 3, 4, 1, 2, false}},
		{"mpiexec --pmi=pmix of PALS", []string{"PALS_RANKID", "3", "PALS_LOCAL_RANKID", "1", "PALS_LOCAL_SIZE",
			"2", "PMIX_RANK", "3"}, Launcher{"PALS", 3, 4, 1, 2, true}},
		{"PMI", []string{"PMI_RANK", "1", "PMI_SIZE", "3"}, Launcher{"PMI", 1, 3, 0, 1, false}},
		{"PMIx", []string{"PMIX_RANK", "1"}, Launcher{"PMIx", 1, 2, 0, 1, true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, launcher(env(test.env...))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestTasksOnNode(t *testing.T) {
	for node, want := range []int{2, 2, 2, 1, 5, 1} { // node 5 is not in the list
		if got := tasksOnNode("2(x3),1,5", node); got != want {
			t.Errorf("node %d: %d tasks, want %d", node, got, want)
		}
	}
	if got := tasksOnNode("", 0); got != 1 {
		t.Errorf("no list: %d tasks, want 1", got)
	}
}

// The variables are those that Open MPI 4.1.4 was seen to set.
func TestBoundByDefault(t *testing.T) {
	const bound, mapping = "OMPI_MCA_orte_bound_at_launch", "OMPI_MCA_rmaps_base_mapping_policy"
	tests := []struct {
		options  string
		env      []string
		byItself bool
		explicit string
	}{
		{"", []string{bound, "1"}, true, ""},
		{"--map-by node", []string{bound, "1", mapping, "node"}, true, ""},
		{"--map-by ppr:1:node", []string{bound, "1", mapping, "ppr:1:node"}, true, ""},
		{"--bind-to none", []string{"OMPI_MCA_hwloc_base_binding_policy", "none"}, false,
			"OMPI_MCA_hwloc_base_binding_policy"},
		{"--bind-to core", []string{bound, "1", "OMPI_MCA_hwloc_base_binding_policy", "core"}, false,
			"OMPI_MCA_hwloc_base_binding_policy"},
		{"--map-by slot:PE=1", []string{bound, "1", mapping, "slot:PE=1"}, false, mapping},
		{"--map-by socket", []string{bound, "1", mapping, "socket"}, false, mapping},
		{"--rankfile f", []string{bound, "1", "OMPI_MCA_orte_rankfile", "f"}, false, "OMPI_MCA_orte_rankfile"},
		{"no mpirun", nil, false, ""},
	}
	for _, test := range tests {
		byItself, explicit := boundByDefault(env(test.env...))
		if byItself != test.byItself || explicit != test.explicit {
			t.Errorf("mpirun %s: %v, %q; want %v, %q", test.options, byItself, explicit, test.byItself, test.explicit)
		}
	}
}
