#!/usr/bin/env bash
# jmpi on several hosts that mpirun reaches by ssh. Every host needs jmpi and the input under the same path:
# a shared file system (the input may be a copy on each). Run it on any of the hosts.
#   examples/cluster.hostfile.sh HOSTFILE INPUT.npy       (hostfile.example shows the format)
#
# What a run will cost, before anything starts: jmpi plan --shape 20000x20000 --devices 4 --hostfile HOSTFILE
set -euo pipefail
hostfile=${1:?hostfile} input=${2:?input file}
jmpi=${JMPI:-$PWD/bin/jmpi}

# Open MPI's mpirun then notices after 25 s that a node has died; by default it waits for ever.
export OMPI_MCA_oob_tcp_keepalive_time=10 OMPI_MCA_oob_tcp_keepalive_intvl=5
export OMPI_MCA_oob_tcp_keepalive_probes=3

# All slots of the hostfile are used. The ranks of a host share its cores: --bind-to none leaves that to jmpi.
mpirun --hostfile "$hostfile" --bind-to none "$jmpi" svd "$input" -o "${input%.npy}.svd" --force

"$jmpi" check "$input" "${input%.npy}.svd"
