#!/usr/bin/env bash
# The accuracy table of docs/performance.md: every kind of matrix at several shapes, decomposed on
# RANKS ranks (default 2) and checked. Each value of residual, orthU and orthV must be below 1
# (`jmpi check` itself passes below 10).
#
#   scripts/accuracy.sh [flags of jmpi svd]
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0 passed=0

row() { # KIND SHAPE FLAGS...
	bin/jmpi gen "$1" -o "$dir/a.npy" --shape "$2" "${@:3}"
	timeout 300 mpirun -np "${RANKS:-2}" bin/jmpi svd "$dir/a.npy" -o "$dir/out" --force --quiet "${svd[@]}"
	bin/jmpi check "$dir/a.npy" "$dir/out" >"$dir/verdict" || true
	sweeps=$(sed -n 's/^ *"sweeps": \([0-9]*\),/\1/p' "$dir/out/info.json")
	awk -v kind="$1" -v shape="$2" -v sweeps="$sweeps" '
		{ value[$1] = $3 }
		END {
			bad = !(value["residual"] < 1 && value["orthU"] < 1 && value["orthV"] < 1) || $1 != "PASSED"
			printf "%-12s %-10s %2d sweeps  residual %-8s orthU %-8s orthV %-8s sigma %-9s %s\n", kind, shape, sweeps,
				value["residual"], value["orthU"], value["orthV"], value["sigma"] == "" ? "-" : value["sigma"],
				bad ? "FAILED" : "ok"
			exit bad
		}' "$dir/verdict" && passed=$((passed + 1)) || failed=$((failed + 1))
}

svd=("$@")
for shape in 64x64 257x257 1000x1000 1024x1024 768x256; do
	for kind in gauss uniform geometric arithmetic graded-cols lowrank; do
		row $kind $shape
	done
done
for n in 64 257; do
	row hilbert ${n}x$n
	row kahan ${n}x$n
done
row spectrum2 256x256
row spectrum4 256x256
echo "$passed passed, $failed failed"
[[ $failed == 0 ]]
