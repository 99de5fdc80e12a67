#!/usr/bin/env bash
# Two or more hosts and Slurm on one machine, for tests: each host has its own network, name, processes,
# /dev/shm and temporary folder; files are shared. Needs root, and on Debian the packages slurm-wlm, munge and
# iproute2. What runs on this machine already, a Slurm or munge of its own too, is left alone.
#
#   scripts/cluster.sh up DIR [N]        starts node1 … nodeN (2); their files are in DIR
#   scripts/cluster.sh on DIR NODE COMMAND...    runs a command on a host
#   scripts/cluster.sh die DIR NODE      a host falls off the network, then all of its processes are killed
#   scripts/cluster.sh down DIR
#
# After `source DIR/env` this machine is the login node: srun, sbatch and squeue work. With DIR/hostfile and
# DIR/hostfile.mpich mpirun and mpiexec reach the hosts, by DIR/agent in place of ssh.
set -euo pipefail
net=10.77.7 bridge=jmpibr # nodeI has the address 10.77.7.I, this machine 10.77.7.254

say() { echo "cluster: $*" >&2; }

# lacks prints why there can be no cluster here, nothing if there can.
lacks() {
	local command debian="Debian: apt-get install slurm-wlm munge iproute2"
	((EUID == 0)) || { echo "needs root"; return; }
	for command in slurmctld slurmd munged sinfo ip nsenter unshare setsid; do
		command -v $command >/dev/null || { echo "no $command ($debian)"; return; }
	done
	ip link add $bridge type bridge 2>/dev/null || { echo "may not make a bridge, or $bridge is there"; return; }
	ip link del $bridge
	unshare --net --uts --ipc --mount --pid --fork true 2>/dev/null || echo "may not make namespaces"
}

# init NODE: the process of a host on which all others depend.
init() { cat "$dir/run/$1.init"; }

# on NODE COMMAND...
on() {
	local node=$1
	shift
	nsenter --target "$(init "$node")" --net --uts --ipc --mount --pid --wd="$here" env HOSTNAME="$node" "$@"
}

# host I starts a host.
host() {
	local node=node$1
	# shellcheck disable=SC2016
	setsid unshare --net --uts --ipc --mount --pid --fork --kill-child --mount-proc bash -c '
		hostname "$1" && mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs "$2/tmp" &&
			mount --bind "$2/hosts" /etc/hosts && touch "$2/run/$1.up" && { sleep infinity & wait; }' \
		x "$node" "$dir" </dev/null >"$dir/log/$node" 2>&1 &
	echo $! >"$dir/run/$node.unshare"
	until [[ -e $dir/run/$node.up ]] || ! kill -0 $!; do sleep 0.05; done
	pgrep -P $! >"$dir/run/$node.init"
	ip link add "jmpiv$1" type veth peer name eth0 netns "$(init "$node")"
	ip link set "jmpiv$1" master $bridge up
	on "$node" ip addr add "$net.$1/24" dev eth0
	on "$node" ip link set lo up
	on "$node" ip link set eth0 up
	on "$node" ip route add default via $net.254
}

# files N writes the configuration.
files() {
	local i self cores
	self=$(hostname -s) cores=$(nproc)
	rm -rf "$dir"/{run,state}
	mkdir -p "$dir"/{run,log,state,tmp}
	{
		printf '127.0.0.1 localhost\n%s %s\n' "$net.254" "$self"
		for ((i = 1; i <= $1; i++)); do echo "$net.$i node$i"; done
	} >"$dir/hosts"
	for ((i = 1; i <= $1; i++)); do echo "node$i slots=2"; done >"$dir/hostfile"
	for ((i = 1; i <= $1; i++)); do echo "node$i:2"; done >"$dir/hostfile.mpich"
	# cred_expire is how long a requeued job waits: 120 s by default. Its steps have the numbers of those before.
	# With 5 s, on a busy machine, MPI_Init of Open MPI crashed on files of such a step that were being removed.
	cat >"$dir/slurm.conf" <<-X
		ClusterName=jmpi
		SlurmctldHost=$self($net.254)
		SlurmUser=root
		SlurmdUser=root
		AuthType=auth/munge
		AuthInfo=socket=$dir/run/munge.socket,cred_expire=20
		CredType=cred/munge
		MpiDefault=none
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		SwitchType=switch/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core
		SlurmctldPort=16827
		SlurmdPort=16828
		StateSaveLocation=$dir/state
		SlurmdSpoolDir=$dir/run/spool.%n
		SlurmctldPidFile=$dir/run/slurmctld.pid
		SlurmdPidFile=$dir/run/slurmd.%n.pid
		SlurmctldLogFile=$dir/log/slurmctld
		SlurmdLogFile=$dir/log/slurmd.%n
		ReturnToService=2
		AccountingStorageType=accounting_storage/none
		JobAcctGatherType=jobacct_gather/none
		SlurmdTimeout=300
		OverTimeLimit=0
		SlurmdParameters=config_overrides
		GresTypes=gpu
		NodeName=node[1-$1] NodeAddr=$net.[1-$1] CPUs=$cores Gres=gpu:2 State=UNKNOWN
		PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
	X
	# GPUs that nobody has, so that jobs may ask for them.
	printf "NodeName=node[1-$1] Name=gpu File=/dev/%s\n" null zero >"$dir/gres.conf"
	# Each host has a folder of its own here: Slurm's PMIx makes files of the same names on every node.
	echo "PMIxCliTmpDirBase=$dir/tmp" >"$dir/mpi.conf"
	# What ssh is to mpirun: AGENT [OPTION...] HOST COMMAND... As ssh, it does not notice that a host has died.
	cat >"$dir/agent" <<-X
		#!/bin/bash
		while [[ \${1-} == -* ]]; do shift; done
		"$PWD/scripts/cluster.sh" on "$dir" "\$1" bash -c "\${*:2}"
		code=\$?
		[[ ! -e $dir/run/\$1.dead ]] || exec sleep 100
		exit \$code
	X
	chmod +x "$dir/agent"
	cat >"$dir/env" <<-X
		export SLURM_CONF=$dir/slurm.conf TMPDIR=$dir/tmp
		export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
		export OMPI_MCA_plm_rsh_agent=$dir/agent OMPI_MCA_mpi_yield_when_idle=1
		export OMPI_MCA_oob_tcp_if_include=$net.0/24 OMPI_MCA_btl_tcp_if_include=$net.0/24
		export UCX_NET_DEVICES=eth0
	X
}

up() {
	local i why n=${1:-2}
	why=$(lacks)
	[[ -z $why ]] || { say "$why"; exit 3; }
	files "$n"
	# shellcheck disable=SC1091
	source "$dir/env"
	dd if=/dev/urandom of="$dir/run/munge.key" bs=128 count=1 status=none
	chmod 400 "$dir/run/munge.key"
	munged --force --key-file="$dir/run/munge.key" --socket="$dir/run/munge.socket" \
		--pid-file="$dir/run/munged.pid" --log-file="$dir/log/munged" --seed-file="$dir/run/munge.seed" \
		2>"$dir/log/munged.start"
	ip link add $bridge type bridge
	ip addr add $net.254/24 dev $bridge
	ip link set $bridge up
	for ((i = 1; i <= n; i++)); do host "$i"; done
	slurmctld -f "$SLURM_CONF"
	for ((i = 1; i <= n; i++)); do
		mkdir -p "$dir/run/spool.node$i"
		on "node$i" slurmd -f "$SLURM_CONF" -N "node$i"
	done
	for _ in {1..100}; do
		[[ $(sinfo -h -t idle -o %D 2>/dev/null) == "$n" ]] && return
		sleep 0.2
	done
	sinfo >&2
	say "the nodes are not idle; see $dir/log"
	exit 1
}

# die NODE: nobody is told that its connections have ended.
die() {
	touch "$dir/run/$1.dead"
	ip link set "jmpiv${1#node}" down
	kill -9 "$(init "$1")"
}

down() {
	local file pid
	if [[ -s $dir/run/slurmctld.pid ]]; then
		pid=$(cat "$dir/run/slurmctld.pid")
		kill "$pid" 2>/dev/null || true
		for _ in {1..100}; do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done # it saves its state
	fi
	for file in "$dir"/run/*.init; do
		[[ -s $file ]] || continue
		kill -9 "$(cat "$file")" 2>/dev/null || true
	done
	[[ ! -s $dir/run/munged.pid ]] || kill "$(cat "$dir/run/munged.pid")" 2>/dev/null || true
	for file in /sys/class/net/jmpiv*; do
		[[ ! -e $file ]] || ip link del "${file##*/}" 2>/dev/null || true
	done
	ip link del $bridge 2>/dev/null || true
}

here=$PWD
cd "$(dirname "$0")/.."
command=${1-} dir=${2-}
[[ $command =~ ^(up|on|die|down)$ && -n $dir ]] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
$command "${@:3}"
