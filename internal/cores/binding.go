package cores

import "strings"

// boundByDefault tells whether Open MPI bound this process without being asked to, and otherwise which
// variable asked for a binding ("" if none did).
func boundByDefault(getenv func(string) string) (bool, string) {
	for _, name := range []string{
		"OMPI_MCA_hwloc_base_binding_policy", // --bind-to
		"OMPI_MCA_hwloc_base_bind_to_core",   // --bind-to-core, --bind-to-socket of old
		"OMPI_MCA_hwloc_base_bind_to_socket",
		"OMPI_MCA_hwloc_base_cpu_list", // --cpu-list
		"OMPI_MCA_hwloc_base_cpu_set",  // --cpu-set
		"OMPI_MCA_orte_rankfile",       // --rankfile
		"OMPI_MCA_rmaps_rank_file_path",
		"OMPI_MCA_rmaps_base_cpus_per_rank", // --cpus-per-proc
		"OMPI_MCA_rmaps_base_cpus_per_proc",
	} {
		if getenv(name) != "" {
			return false, name
		}
	}
	const mapping = "OMPI_MCA_rmaps_base_mapping_policy" // --map-by: a PE=n, or anything below a node
	policy := strings.ToLower(getenv(mapping))
	for _, word := range []string{"pe=", "hwthread", "core", "cache", "socket", "package", "numa", "board"} {
		if strings.Contains(policy, word) {
			return false, mapping
		}
	}
	return getenv("OMPI_MCA_orte_bound_at_launch") == "1", ""
}
