#!/usr/bin/env bash
# End-to-end tests of bin/jmpi-mpich under MPICH's mpiexec, beside bin/jmpi under Open MPI's mpirun. It is run
# by `make test-mpich`, which builds both and sets the environment in which Open MPI starts many ranks here.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
[[ -n ${OMPI_MCA_rmaps_base_oversubscribe-} ]] || exec make test-mpich
mpich=$PWD/bin/jmpi-mpich open=$PWD/bin/jmpi
mpiexec=${MPICH_MPIEXEC:-mpiexec.hydra} mpirun=${MPIRUN:-mpirun}
source scripts/testing.sh
work=$(mktemp -d) && cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT
export JMPI_BACKEND=cpu

# run RANKS SECONDS ARG...: under MPICH; what jmpi prints is in out and err.
run() { timeout -k 5 "$2" "$mpiexec" -n "$1" "$mpich" "${@:3}" >out 2>err </dev/null; }

# one_line TEXT: jmpi has printed one line, with this text.
one_line() {
	local lines
	lines=$(grep '^jmpi: ' err)
	[[ $(wc -l <<<"$lines") == 1 && $lines == *"$1"* ]] || { why="not one line with '$1'"; return 1; }
}

# The libraries. Each program is linked with its own, and knows who starts it.
linked() { # PROGRAM LIBRARY OTHER
	ldd "$1" >out 2>err
	grep -q "^[[:space:]]*$2" out && ! grep -q "^[[:space:]]*$3" out && return
	why="not linked with $2 alone"
	return 1
}
starter() { # TEXT WARNINGS COMMAND...
	timeout 60 "${@:3}" env >out 2>err || { why="env exits $?"; return 1; }
	why=$(grep ^launcher out)
	grep -q "^launcher *$1: rank 0 of 2, rank 0 of 2 on this host" out || return
	why="another warning"
	(($(grep -c 'WARNING: jmpi is linked with another MPI library' out) == $2))
}
test_that "bin/jmpi-mpich is linked with MPICH" linked "$mpich" libmpich libmpi.so.40
test_that "bin/jmpi is linked with Open MPI" linked "$open" libmpi.so.40 libmpich
test_that "jmpi env under MPICH" starter Hydra 0 "$mpiexec" -n 2 "$mpich"
test_that "jmpi env of Open MPI under MPICH" starter Hydra 1 "$mpiexec" -n 2 "$open"
test_that "jmpi env of MPICH under Open MPI" starter 'Open MPI' 1 "$mpirun" -np 2 "$mpich"
lonely() {
	timeout -k 5 60 "$@" svd a.npy -o x.svd >out 2>err </dev/null
	local code=$?
	((code == 2)) || { why="exits $code instead of 2"; return 1; }
	grep -q 'mpirun started 2 processes, but MPI sees this one alone; start them by: mpirun -np 2' err ||
		{ why="does not say so"; return 1; }
	[[ ! -e x.svd ]] || { why="there are results"; return 1; }
}
"$open" gen gauss -o a.npy --shape 256x256 --seed 2 2>err || exit 1
test_that "the program of MPICH under Open MPI" lonely "$mpirun" -np 2 "$mpich"
test_that "the program of Open MPI under MPICH" lonely "$mpiexec" -n 2 "$open"

# The same bits on 1, 2 and 4 ranks as under Open MPI.
"$open" gen graded-rows -o rows.npy --shape 256x200 --seed 3 2>err || exit 1
"$open" gen spectrum3 -o h.npy --shape 256x256 --positive 100 2>err || exit 1
same() { # RANKS INPUT FLAG...
	run "$1" 60 svd "$2" -o m.svd --force --check "${@:3}" || { why="exits $?"; return 1; }
	[[ $(tail -n 1 err) == PASSED || $(tail -n 1 out) == PASSED ]] || { why="not checked"; return 1; }
	equal o.svd m.svd S.npy U.npy V.npy
}
for input in a.npy rows.npy h.npy; do
	flags=()
	[[ $input != h.npy ]] || flags=(--signature h.signature.npy)
	timeout 60 "$mpirun" -np 2 "$open" svd $input -o o.svd --force "${flags[@]}" 2>err || exit 1
	for ranks in 1 2 4; do test_that "$input on $ranks ranks" same $ranks $input "${flags[@]}"; done
done
test_that "selftest on 2 ranks" run 2 60 selftest

# Exit codes of docs/contract.md, one line each.
ends() { # CODE TEXT ARG...
	run 2 30 "${@:3}"
	local code=$?
	((code == $1)) || { why="exits $code instead of $1"; return 1; }
	one_line "$2"
}
header="{'descr': '<f8', 'fortran_order': False, 'shape': (4, 2), }"
printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$header" >equal.npy
for _ in {1..8}; do printf '\x00\x00\x00\x00\x00\x00\xf0\x3f'; done >>equal.npy
test_that "exit code 2" ends 2 'has no flag' svd a.npy -o x.svd --no-such-flag
test_that "exit code 3" ends 3 missing.npy svd missing.npy -o x.svd
test_that "exit code 4" ends 4 'no hyperbolic' svd equal.npy -o x.svd --signature 1 --quiet
test_that "exit code 6" ends 6 'no GPU' svd a.npy -o x.svd --backend cuda

# A rank that is killed, stopped or gets a signal, and mpiexec that gets one. Nothing is left running.
"$open" gen gauss -o big.npy --shape 1500x1500 --seed 5 2>err || exit 1
hit() { # CODE TEXT SECONDS SIGNAL RANK: RANK is `mpiexec` for the launcher; TEXT is empty for no line
	local job code before target
	: >err
	timeout -k 5 60 "$mpiexec" -n 4 "$mpich" svd big.npy -o x.svd --silence 4 >out 2>err </dev/null &
	job=$!
	until grep -q ' sweep ' err || ! kill -0 $job 2>/dev/null; do sleep 0.1; done
	target=$(pgrep -P $job) # of timeout
	[[ $5 == mpiexec ]] || target=$(pid_of "$5" "$mpich")
	before=$SECONDS
	kill -"$4" "$target" || { why="no $5"; return 1; }
	wait $job
	code=$?
	((code == $1)) || { why="exits $code instead of $1"; return 1; }
	((SECONDS - before <= $3)) || { why="takes $((SECONDS - before)) s to end"; return 1; }
	[[ -z $2 ]] || one_line "$2" || return 1
	none_left "$mpich" || return 1
	[[ ! -e x.svd ]] || { why="there are results"; return 1; }
}
test_that "SIGKILL to rank 0" hit 9 '' 10 KILL 0
test_that "SIGKILL to rank 3" hit 9 '' 10 KILL 3
test_that "SIGTERM to rank 2" hit 6 'jmpi: rank 2 on ' 10 TERM 2
test_that "SIGTERM to mpiexec" hit 6 'stopped by signal 15' 10 TERM mpiexec
test_that "SIGUSR1 to mpiexec" hit 6 'stopped by signal 10' 10 USR1 mpiexec
test_that "SIGSTOP to rank 1" hit 6 'jmpi: rank 1 on host' 10 STOP 1
cleared() {
	run 2 60 svd a.npy -o x.svd || { why="exits $?"; return 1; }
	[[ -z $(compgen -G '.x.svd*') ]] || { why="left: $(compgen -G '.x.svd*')"; return 1; }
}
test_that "the next run clears up" cleared

totals
