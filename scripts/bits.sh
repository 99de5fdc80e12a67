#!/usr/bin/env bash
# scripts/bits.sh OLD NEW: do two programs compute the same bits? Compares the checksums of S, U and V for
# every kind of matrix, the SVD and the hyperbolic SVD, 1 to 4 ranks, and all --vectors, --v and
# --precondition. OLD's are kept in bin/bits.SUM, so that they are computed once. ORDER (96) is the order of
# the matrices. Exits 1 if some differ.
set -uo pipefail
export LC_ALL=C JMPI_BACKEND=cpu JMPI_QUIET=true
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
(($# == 2)) || { echo "usage: scripts/bits.sh OLD NEW" >&2; exit 2; }
old=$(realpath "$1") new=$(realpath "$2") n=${ORDER:-96}
kept=$(dirname "$old")/bits.$(cksum <"$old" | tr -c '0-9\n' .).$n
kinds=(gauss uniform geometric arithmetic graded-cols graded-rows graded-both hilbert kahan lowrank
	spectrum1 spectrum2 spectrum3 spectrum4)
work=$(mktemp -d) && cd "$work" || exit 2
trap 'rm -rf "$work"' EXIT

# sums PROGRAM NAME RANKS INPUT FLAG...: a line with the exit code and the checksums.
sums() {
	local start=() code result
	(($3 == 1)) || start=("${MPIRUN:-mpirun}" -np "$3")
	timeout 120 "${start[@]}" "$1" svd "$4" -o r.svd --force "${@:5}" >out 2>err </dev/null
	code=$?
	printf '%s: %d' "$2 on $3 ${*:5}" "$code"
	for result in S U V; do [[ -e r.svd/$result.npy ]] && printf ' %s' "$(cksum <r.svd/$result.npy)"; done
	echo
	rm -rf r.svd
}

# all PROGRAM: the lines of all cases, of matrices that OLD has made.
all() {
	local kind file ranks vectors v p
	for kind in "${kinds[@]}" tall wide; do
		file=$kind.npy
		for ranks in 1 2 3 4; do sums "$1" $kind $ranks $file; done
		for vectors in u v none; do sums "$1" $kind 2 $file --vectors $vectors; done
		for v in accumulate solve; do sums "$1" $kind 2 $file --v $v; done
		for p in none qr qrcp qrcp-lq qr-lq; do sums "$1" $kind 2 $file --precondition $p; done
		sums "$1" $kind 2 $file --scheme nested --variant block
		[[ $kind != wide ]] || continue
		for ranks in 1 3; do sums "$1" $kind $ranks $file --signature 1; done
		for ranks in 1 2 3 4; do sums "$1" $kind $ranks $file --signature $((n / 2)); done
		for vectors in u v none; do sums "$1" $kind 3 $file --signature $((n / 2)) --vectors $vectors; done
		for p in none qr; do sums "$1" $kind 2 $file --signature $((n / 2)) --precondition $p; done
	done
}

for kind in "${kinds[@]}"; do
	"$old" gen $kind -o $kind.npy --shape "${n}x$n" --seed 1 || exit 2
done
"$old" gen gauss -o tall.npy --shape "$((20 * n))x$n" --seed 1 || exit 2
"$old" gen gauss -o wide.npy --shape "${n}x$((2 * n))" --seed 1 || exit 2
[[ -e $kept ]] || { all "$old" >all.old && mv all.old "$kept"; } || exit 2
all "$new" >all.new
if diff "$kept" all.new; then
	echo "$(wc -l <all.new) runs: the same bits"
else
	echo "other bits: < $old, > $new"
	exit 1
fi
