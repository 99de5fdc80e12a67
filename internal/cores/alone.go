package cores

import "strings"

// marks begin the names of what launchers of MPI, batch systems and their libraries tell the processes that
// they start. A user sets none of them.
var marks = []string{"ALPS_", "FLUX_TASK", "HYDRA_", "JSM_", "MPIRUN_", "MPI_LOCAL", "MV2_COMM", "OMPI_COMM_",
	"OMPI_UNIVERSE", "PALS_", "PJM_", "PLE_", "PMIX_", "PMI_", "PMI2_", "PRTE_"}

// Alone tells whether nothing in the environment says that this process was started by a launcher, or as one
// of several. Then it is the only rank.
func Alone(environ []string) bool {
	variables := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = value
		for _, mark := range marks {
			if strings.HasPrefix(name, mark) {
				return false
			}
		}
	}
	return launcher(func(name string) string { return variables[name] }).Name == ""
}
