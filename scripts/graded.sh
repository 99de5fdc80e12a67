#!/usr/bin/env bash
# The relative error of every singular value of graded matrices, beside that of LAPACK's dgesdd: kinds
# graded-cols and graded-rows, gradings to 1e-12 and 1e-20, in random order and sorted, against the true
# singular values (`jmpi gen --reference`). The error must be at most 1e-13 for N ≤ 128 and 1e-12 beyond, and
# S.npy the same, bit by bit, in all modes.
#
#   scripts/graded.sh [N [flags of jmpi svd]]
#
# N is the order, at most 512 (default 128). RANKS is the number of ranks (default 2).
set -euo pipefail
cd "$(dirname "$0")/.."
modes=("--vectors both" "--vectors u" "--vectors v" "--vectors none" "--v accumulate" "--v solve")
n=${1:-128}
svd=("${@:2}")
bound=$(awk -v n="$n" 'BEGIN { print n <= 128 ? 1e-13 : 1e-12 }')
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0 passed=0

# value NAME: of a row of the verdict.
value() { awk -v name="$1" '$1 == name { print $3 }' "$dir/verdict"; }

row() { # KIND COND ORDER FLAGS OF jmpi gen...
	local mode errors=() sweeps=- bits=same rival=- vs=(--vs dgesdd)
	bin/jmpi gen "$1" -o "$dir/a.npy" --shape "${n}x$n" --cond "$2" --reference "${@:4}"
	rm -rf "$dir/first" "$dir/out"
	for mode in "${modes[@]}"; do
		# shellcheck disable=SC2086 # a mode is many words
		timeout 600 mpirun -np "${RANKS:-2}" bin/jmpi svd "$dir/a.npy" -o "$dir/out" --quiet $mode "${svd[@]}" ||
			{ bits=failed && break; }
		bin/jmpi check "$dir/a.npy" "$dir/out" "${vs[@]}" >"$dir/verdict" || true
		errors+=("$(value sigma)")
		if [[ ! -e $dir/first ]]; then
			rival=$(value dgesdd) vs=()
			sweeps=$(sed -n 's/^ *"sweeps": \([0-9]*\),/\1/p' "$dir/out/info.json")
			mv "$dir/out" "$dir/first"
		else
			cmp -s "$dir/first/S.npy" "$dir/out/S.npy" || bits=differ
			rm -r "$dir/out"
		fi
	done
	# The largest error; whatever is no number, as NaN and Inf, fails.
	printf '%s\n' "${errors[@]}" | awk -v row="$(printf '%-12s %-6s %-7s %4d' "$1" "$2" "$3" "$n")" \
		-v sweeps="$sweeps" -v bits="$bits" -v rival="$rival" -v bound="$bound" '
		!/^[0-9]/ || $1 + 0 > bound { bad = 1 }
		NR == 1 || $1 + 0 > worst + 0 { worst = $1 }
		END {
			bad = bad || bits != "same"
			printf "%s  %6s  %-9s %-9s %-7s %s\n", row, sweeps, worst == "" ? "-" : worst, rival, bits,
				bad ? "FAILED" : "ok"
			exit bad
		}' && passed=$((passed + 1)) || failed=$((failed + 1))
}

printf '%-12s %-6s %-7s %4s  %6s  %-9s %-9s %-7s bound %s\n' \
	kind cond order n sweeps error dgesdd S.npy "$bound"
for kind in graded-cols graded-rows; do
	for cond in 1e12 1e20; do
		row $kind $cond random
		row $kind $cond sorted --sorted
	done
done
echo "$passed passed, $failed failed"
[[ $failed == 0 ]]
