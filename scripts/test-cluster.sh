#!/usr/bin/env bash
# jmpi on two hosts, each in namespaces of its own, by mpirun, srun and sbatch: the same bits, hosts that die,
# jobs that go back to the queue, and the examples. Needs root, Slurm and munge (scripts/cluster.sh says which
# packages) and 12 minutes; skipped, in words, where these are not there. MPICH too if there is
# bin/jmpi-mpich.
#   scripts/test-cluster.sh [PART...]     parts: bits examples deaths requeue; all by default
set -uo pipefail
cd "$(dirname "$0")/.." || exit
here=$PWD jmpi=$PWD/bin/jmpi mpich=$PWD/bin/jmpi-mpich
[[ -x $jmpi ]] || { echo "no bin/jmpi: make build"; exit 1; }
if [[ ! -x $mpich ]] || ! command -v mpiexec.hydra >/dev/null; then
	mpich=''
	echo "skipped: MPICH (make test-mpich builds bin/jmpi-mpich)"
fi
source scripts/testing.sh
work=$(mktemp -d) && cd "$work" || exit 1
cluster() { "$here/scripts/cluster.sh" "$1" "$work/cluster" "${@:2}"; }
trap 'cluster down; cd / && rm -rf "$work"' EXIT
export JMPI_BACKEND=auto # no host has a GPU here

# fresh starts the hosts anew.
fresh() {
	cluster down
	cluster up || return
	# shellcheck disable=SC1091
	source "$work/cluster/env"
}
fresh
case $? in
0) ;;
3) echo "skipped: no hosts to test on"; exit 0 ;;
*) exit 1 ;;
esac
mpirun=(mpirun --hostfile "$work/cluster/hostfile")
hydra=(mpiexec.hydra -launcher ssh -launcher-exec "$work/cluster/agent" -f "$work/cluster/hostfile.mpich")
export OMPI_MCA_oob_tcp_keepalive_time=10 OMPI_MCA_oob_tcp_keepalive_intvl=5
export OMPI_MCA_oob_tcp_keepalive_probes=3

# local_run DIR INPUT FLAG...: the bits of one process with four devices here.
local_run() { "$jmpi" svd "$2" -o "$1" --devices-per-rank 4 "${@:3}" 2>err || exit 1; }
# alike COMMAND...: svd of a.npy by this command has these bits, on two hosts.
alike() {
	rm -rf b.svd
	timeout -k 5 90 "$@" svd a.npy -o b.svd >out 2>err </dev/null || { why="exits $?"; return 1; }
	equal a.svd b.svd S.npy U.npy V.npy && spread b.svd
}
# spread DIR: ranks of both hosts have made it.
spread() {
	if ! grep -q '"node1"' "$1/info.json" || ! grep -q '"node2"' "$1/info.json"; then
		why="not on both hosts"
		return 1
	fi
}
# script LINE: a batch script.
script() { printf '#!/bin/bash\n%s\n' "$1" >batch.sh; }
# submitted OPTION... SCRIPT ARG...: waits for the job, whose output becomes err.
submitted() {
	timeout -k 5 "${limit:-100}" sbatch -W -o err "$@" >out 2>&1 || { why="the job ends with $?"; return 1; }
}
batch() { # LINE
	rm -rf b.svd
	script "$1 svd a.npy -o b.svd"
	submitted -N2 -n4 batch.sh && equal a.svd b.svd S.npy U.npy V.npy && spread b.svd
}
lonely() { # COMMAND...
	timeout -k 5 60 "$@" svd a.npy -o x.svd >out 2>err </dev/null
	local code=$?
	why="exits $code"
	((code == 2)) && grep -q 'srun started 4 processes, but MPI sees this one alone' err
}

bits() {
	local n
	for n in 256x256 300x171; do
		"$jmpi" gen gauss -o a.npy --shape $n --seed 4 2>err || exit 1
		rm -rf a.svd && local_run a.svd a.npy
		test_that "$n: mpirun with a hostfile" alike "${mpirun[@]}" "$jmpi"
		test_that "$n: srun --mpi=pmix" alike srun --mpi=pmix -N2 -n4 "$jmpi"
		test_that "$n: mpirun in sbatch" batch "mpirun $jmpi"
		test_that "$n: srun in sbatch" batch "srun --mpi=pmix $jmpi"
		[[ -n $mpich ]] || continue
		test_that "$n: MPICH's mpiexec with a hostfile" alike "${hydra[@]}" "$mpich"
		test_that "$n: MPICH with srun --mpi=pmi2" alike srun --mpi=pmi2 -N2 -n4 "$mpich"
		test_that "$n: MPICH's mpiexec in sbatch" batch "mpiexec.hydra $mpich"
	done
	test_that "srun without PMIx" lonely srun --mpi=none -N2 -n4 "$jmpi"
	[[ -z $mpich ]] || test_that "MPICH with srun --mpi=pmix" lonely srun --mpi=pmix -N2 -n4 "$mpich"
}

# example RANKS-PER-NODE SCRIPT: an example, on a copy of its input.
example() {
	rm -rf e.svd e.checkpoint && cp a.npy e.npy
	JMPI=$jmpi submitted --ntasks-per-node="$1" --cpus-per-task=1 "${@:3}" "$here/examples/$2" e.npy || return 1
	[[ $(tail -n 1 err) == PASSED ]] || { why="the check has not passed"; return 1; }
	equal a.svd e.svd S.npy U.npy V.npy && spread e.svd
}
by_hosts() {
	rm -rf e.svd && cp a.npy e.npy
	JMPI=$jmpi timeout 60 "$here/examples/cluster.hostfile.sh" cluster/hostfile e.npy >out 2>err </dev/null ||
		{ why="exits $?"; return 1; }
	equal a.svd e.svd S.npy U.npy V.npy && spread e.svd
}
examples() {
	"$jmpi" gen gauss -o a.npy --shape 256x256 --seed 4 2>err || exit 1
	rm -rf a.svd && local_run a.svd a.npy
	test_that "examples/cluster.hostfile.sh" by_hosts
	test_that "examples/slurm.sbatch" example 2 slurm.sbatch
	test_that "examples/slurm-srun.sbatch" example 2 slurm-srun.sbatch
	test_that "examples/slurm-gpu-rank.sbatch" example 2 slurm-gpu-rank.sbatch --gpus-per-node=2
	test_that "examples/slurm-gpu-node.sbatch" example 1 slurm-gpu-node.sbatch --gpus-per-node=2
	test_that "examples/slurm-requeue.sbatch" example 2 slurm-requeue.sbatch
}

# A host dies: its link goes down, then all of its processes are killed. The job ends within 60 s of that, and
# nothing is left running on the other host. death CODE TEXT COMMAND...
death() {
	local job code before
	fresh || { why="no cluster"; return 1; }
	: >err
	timeout -k 5 120 "${@:3}" svd big.npy -o d.svd >out 2>err </dev/null &
	job=$!
	until grep -q ' sweep ' err || ! kill -0 $job 2>/dev/null; do sleep 0.1; done
	cluster die node2
	before=$SECONDS
	wait $job
	code=$?
	echo "        ended $((SECONDS - before)) s after the host, with exit code $code"
	((code == $1)) || { why="exits $code instead of $1"; return 1; }
	((SECONDS - before <= 60)) || { why="takes $((SECONDS - before)) s"; return 1; }
	grep -q "$2" err || { why="does not say '$2'"; return 1; }
	local gone='for ((i = 0; i < 20; i++)); do pgrep -f "svd big[.]npy" || exit 0; sleep 0.5; done; exit 1'
	cluster on node1 bash -c "$gone" >out || { why="left running: $(cat out)"; return 1; }
	[[ ! -e d.svd ]] || { why="there are results"; return 1; }
}
# `sbatch -W` looks after its job in ever longer pauses; this does so twice a second.
batch_death() { # CODE TEXT STARTER...
	script "${*:3} \"\$@\""
	cat >follow.sh <<-'X'
		job=$(sbatch --parsable "$@") || exit
		while [[ $(squeue -h -j "$job" -o %T) =~ PENDING|CONFIGURING|RUNNING ]]; do sleep 0.5; done
		exit "$(scontrol show job "$job" | sed -n 's/.* ExitCode=\([0-9]*\):.*/\1/p')"
	X
	death "$1" "$2" bash follow.sh -N2 -n4 -o err --open-mode=append --no-requeue batch.sh "$jmpi"
}
deaths() {
	# Under srun ranks are silent for less, since it waits for dead ranks (KillWait, 30 s) when the others have
	# ended.
	local silent='^jmpi: rank [23] on host node2 has been silent for' by_srun
	by_srun="$silent 24 s" silent="$silent 45 s"
	"$jmpi" gen gauss -o big.npy --shape 2500x2500 --seed 5 2>err || exit 1
	local lost='lost communication with a remote daemon'
	test_that "a host dies under mpirun" death 205 "$lost" "${mpirun[@]}" "$jmpi"
	test_that "a host dies under srun" death 6 "$by_srun" srun --mpi=pmix -N2 -n4 "$jmpi"
	test_that "a host dies under mpirun in sbatch" batch_death 205 "$lost" mpirun
	test_that "a host dies under srun in sbatch" batch_death 6 "$by_srun" srun --mpi=pmix
	[[ -n $mpich ]] || return
	test_that "a host dies under MPICH's mpiexec" death 6 "$silent" "${hydra[@]}" "$mpich"
	test_that "a host dies under MPICH and srun" death 137 "$by_srun" srun --mpi=pmi2 -N2 -n4 "$mpich"
}

# A job that is longer than its time limit of a minute goes back to the queue with a checkpoint, and ends with
# the bits of a run that nobody stopped. The first start has 8 s, enough for a sweep; each other one has 35 s,
# so that there are few.
requeued() {
	rm -rf r.svd r.checkpoint
	# shellcheck disable=SC2016
	script 'MARGIN=$((${SLURM_RESTART_COUNT:-0} ? 25 : 52)) exec bash "$@"'
	JMPI=$jmpi limit=900 submitted -N2 --ntasks-per-node=2 --cpus-per-task=1 --time=1 --requeue \
		--signal=B:USR1@1 --open-mode=append batch.sh "$here/examples/slurm-requeue.sbatch" r.npy || return 1
	local starts
	starts=$(grep -c ' INF start ' err)
	((starts >= 2)) || { why="it was done before its time limit: REQUEUE_N=$((n + 500))"; return 1; }
	echo "        started $starts times"
	[[ $(tail -n 1 err) == PASSED ]] || { why="the check has not passed"; return 1; }
	equal a.svd r.svd S.npy U.npy V.npy
}
requeue() {
	local n=${REQUEUE_N:-2500}
	fresh || exit 1
	"$jmpi" gen gauss -o r.npy --shape "${n}x$n" --seed 6 2>err || exit 1
	rm -rf a.svd && local_run a.svd r.npy
	test_that "a job of n = $n is hit by its time limit" requeued
}

(($#)) || set -- bits examples deaths requeue
for part; do
	[[ $part =~ ^(bits|examples|deaths|requeue)$ ]] || { echo "no part $part"; exit 2; }
	$part
done
totals
