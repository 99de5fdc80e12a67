package cores

import "slices"

// told are variables by which launchers of MPI tell a process that it is one of several: its rank, their
// number, or where to ask. FindLauncher knows more of some of them.
var told = []string{"ALPS_APP_PE", "FLUX_TASK_RANK", "HYDI_CONTROL_FD", "JSM_NAMESPACE_RANK",
	"JSM_NAMESPACE_SIZE", "LAMRANK", "MPIRUN_RANK", "MPISPAWN_ID", "MPI_LOCALNRANKS", "MPI_LOCALRANKID",
	"MP_CHILD", "MV2_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_UNIVERSE_SIZE",
	"PALS_RANKID",
	"PLE_RANK_ON_NODE", "PMI2_FD", "PMI2_RANK", "PMIX_NAMESPACE", "PMIX_RANK", "PMI_FD", "PMI_ID", "PMI_PORT",
	"PMI_RANK", "PMI_SIZE"}

// Alone tells whether nothing in the environment says that a launcher started this process, or as one of
// several. Then it is the only rank.
func Alone(getenv func(string) string) bool {
	return launcher(getenv).Name == "" &&
		!slices.ContainsFunc(told, func(name string) bool { return getenv(name) != "" })
}
