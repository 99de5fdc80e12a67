#!/usr/bin/env bash
# The hyperbolic SVD of the paper's spectra 1 and 3, the eigenvalues beside the known Λ, and its sweeps beside
# those of the SVD of the same matrix. Each residual, orthU and orthV must be below 1, check must pass, and
# the sweeps be at most 3 more than the SVD's.
#
#   scripts/hyperbolic.sh [N... [-- flags of jmpi svd]]     default 256 1000; RANKS: ranks (default "1 2 3 4")
set -euo pipefail
cd "$(dirname "$0")/.."
sizes=()
while (($#)) && [[ $1 != -- ]]; do sizes+=("$1") && shift; done
((${#sizes[@]})) || sizes=(256 1000)
svd=("${@:2}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0 passed=0

sweeps() { sed -n 's/^ *"sweeps": \([0-9]*\),/\1/p' "$dir/out/info.json"; }

row() { # RANKS KIND N POSITIVE
	local plain
	timeout 300 mpirun -np "$1" bin/jmpi svd "$dir/a.npy" -o "$dir/out" --force --quiet --vectors none \
		"${svd[@]}"
	plain=$(sweeps)
	timeout 300 mpirun -np "$1" bin/jmpi svd "$dir/a.npy" -o "$dir/out" --force --quiet \
		--signature "$dir/a.signature.npy" "${svd[@]}"
	bin/jmpi check "$dir/a.npy" "$dir/out" >"$dir/verdict" || true
	awk -v row="$(printf '%-10s %5d %5d %5d' "$2" "$3" "$4" "$1")" -v sweeps="$(sweeps)" -v plain="$plain" '
		{ value[$1] = $3 }
		END {
			bad = !(value["residual"] < 1 && value["orthU"] < 1 && value["orthV"] < 1) || $1 != "PASSED" ||
				sweeps > plain + 3 || value["lambda"] == ""
			printf "%s  %3d %3d  residual %-8s orthU %-6s orthV %-6s lambda %-9s %s\n", row, sweeps, plain,
				value["residual"], value["orthU"], value["orthV"], value["lambda"], bad ? "FAILED" : "ok"
			exit bad
		}' "$dir/verdict" && passed=$((passed + 1)) || failed=$((failed + 1))
}

echo "kind           n    +1 ranks  sweeps of HSVD, SVD"
for n in "${sizes[@]}"; do
	for kind in spectrum1 spectrum3; do
		for positive in $((n / 2)) 1 $((n - 1)); do
			bin/jmpi gen "$kind" -o "$dir/a.npy" --shape "${n}x$n" --positive "$positive"
			for ranks in ${RANKS:-1 2 3 4}; do row "$ranks" "$kind" "$n" "$positive"; done
		done
	done
done
echo "$passed passed, $failed failed"
[[ $failed == 0 ]]
