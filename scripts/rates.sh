#!/usr/bin/env bash
# Measures the rates of devices for jmpi plan, and whole decompositions beside them:
#
#   scripts/rates.sh gpu FILE    on one GPU
#   scripts/rates.sh gpus FILE   on two of them, as one rank, and the path between them: FILE has rates of one
#   scripts/rates.sh cpu FILE    on two cores: FILE.1x1 one rank of one thread, FILE.1x2 one of two threads,
#                                FILE.2x1 two ranks of one thread
#
# internal/rates/h200.json was made by the first two, on top of the file that was there. JMPI names the
# program, KINDS kinds besides gauss, LARGEST the largest order (16384; of CPUs 2048).
set -uo pipefail
jmpi=${JMPI:-bin/jmpi} what=${1-} file=${2-}

gpu=(--backend cuda --check sample --rates "$file" --vs float64)

# bench N REPEAT FLAG...: rows of decompositions of order N; before is the launcher
before=()
bench() {
	local n=$1
	"${before[@]}" "$jmpi" bench --quiet --shape "${n}x$n" --repeat "$2" "${@:3}" 2>&1 | grep -vE '^%|^$'
}

# orders FLAG...: of all orders, the rates first
orders() {
	local n
	for n in 8192 512 1024 2048 4096 16384; do
		((n > ${LARGEST:-16384})) && continue
		bench $n $((n > 8192 ? 1 : n > 2048 ? 3 : 9)) "${gpu[@]}" "$@"
	done
}

case $what in
gpu)
	orders --devices-per-rank 1
	for kind in ${KINDS-geometric graded-cols graded-rows}; do
		for n in 1024 4096; do
			bench $n 3 "${gpu[@]}" --kind "$kind" --devices-per-rank 1
		done
	done
	;;
gpus) orders --devices-per-rank 2 ;;
cpu)
	export OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE-SkylakeX}
	for run in 1x1 1x2 2x1; do
		[[ $run == 2x1 ]] && before=(mpirun --bind-to core -x OPENBLAS_CORETYPE -np 2)
		for n in 2048 1024; do
			((n > ${LARGEST:-2048})) ||
				bench $n 3 --backend cpu --check none --threads "${run#*x}" --rates "$file.$run"
		done
	done
	;;
*)
	echo "usage: scripts/rates.sh gpu|gpus|cpu FILE" >&2
	exit 2
	;;
esac
