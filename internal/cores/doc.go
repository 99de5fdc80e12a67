// Package cores decides how many threads this process may run, and on which cores. It also knows what
// launchers say of their processes, and tells a rank that MPI does not know from a process started alone.
//
// A core is a physical core; its hardware threads ("CPUs" in the kernel's words) are counted once,
// because two threads of dense linear algebra on one core gain nothing.
//
// Let C be the cores that the launcher left to this node, L the ranks on it and r the local rank.
// The fair share of rank r is the block of cores [r·C/L, (r+1)·C/L), in the order of sockets, so a
// share crosses as few sockets as it can. Threads of a rank, unless --threads says otherwise:
//
//	min(cores in the affinity mask, fair share, SLURM_CPUS_PER_TASK, CPU quota / L), at least 1
//
// The minimum of mask and share is right for both kinds of masks: for one that all ranks share
// (the whole node, a socket) the share is smaller, for one of the rank's own the mask is.
//
// Open MPI 4 binds every rank of a run with one or two ranks to one core, unless asked otherwise. Such a rank
// is moved to its fair share. It is told from a binding that the user asked for by the environment that
// mpirun hands down: OMPI_MCA_orte_bound_at_launch is 1 in both cases, but every option of mpirun that asks
// for a binding is there too, as OMPI_MCA_… (--bind-to: hwloc_base_binding_policy, --map-by:
// rmaps_base_mapping_policy, and so on). The cores that mpirun itself may use bound the widening, because
// Open MPI does not look at its own mask: "taskset -c 1 mpirun" binds rank 0 to core 0.
package cores
