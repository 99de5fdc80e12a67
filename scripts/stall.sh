#!/usr/bin/env bash
# scripts/stall.sh [RUNS [CORE…]]: does a run stand still? Starts RUNS short runs (2000) of `jmpi svd` on 4
# ranks, of four kinds in turn: n = 600 and 1500, with and without GOGC=1. Each run has two of the cores (all
# that this process may use), so that half as many runs as there are cores go on at a time. A signal ends the
# series early. Prints, for each kind, how many runs there were, the median and the longest in seconds, and
# those that failed or hung. Exits 1 if one did, or took more than 10 times the median of its kind. It needs
# bin/jmpi and mpirun only. SECONDS_EACH (300) is how long a run may take.
set -uo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."
jmpi=$PWD/bin/jmpi runs=${1:-2000} limit=${SECONDS_EACH:-300}
shift
cores=("$@")
if ((${#cores[@]} == 0)); then
	cores=($(taskset -cp $$ | sed 's/.*: //; s/,/\n/g' | awk -F- '{ for (i = $1; i <= $NF; i++) print i }'))
fi
lanes=$((${#cores[@]} / 2))
((lanes > 0)) || { echo "stall.sh: two cores are needed, and there are: ${cores[*]}" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'kill $(jobs -p)' INT TERM # and what has been done is told

# Open MPI 4 and 5: run as root, start more ranks than cores, bind none of them; and log nothing.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
export JMPI_BACKEND=cpu JMPI_QUIET=true

sizes=(600 1500)
for n in "${sizes[@]}"; do
	"$jmpi" gen gauss -o "$work/$n.npy" --shape "${n}x$n" --seed 1 || exit 2
done

# one LANE KIND: appends a line to the lane's file: kind, seconds, exit code. The right one is 4,
# not converged.
one() {
	local n=${sizes[$2 % 2]} kind start end code
	kind="n = $n"
	local variables=()
	(($2 / 2 % 2 == 0)) || { kind+=", GOGC=1"; variables=(GOGC=1); }
	start=$(date +%s.%N)
	env "${variables[@]}" timeout -k 10 "$limit" "${MPIRUN:-mpirun}" -np 4 "$jmpi" \
		svd "$work/$n.npy" -o "$work/$1.svd" --force --max-sweeps 1 >"$work/$1.log" 2>&1 </dev/null &
	child=$!
	wait "$child"
	code=$?
	end=$(date +%s.%N)
	printf '%s\t%s\t%d\n' "$kind" "$(echo "$end $start" | awk '{ print $1 - $2 }')" "$code" >>"$work/$1.runs"
	((code == 4)) || { echo "a run of $kind exits $code:"; tail -n 5 "$work/$1.log"; } >&2
}

# lane LANE: its share of the runs, which begins with another kind than that of the lane before.
lane() {
	local child=
	trap 'kill $child; exit' TERM
	taskset -cp "${cores[2 * $1]},${cores[2 * $1 + 1]}" "$BASHPID" >/dev/null || exit 2
	for ((run = $1; run < runs; run += lanes)); do one "$1" $(((run / lanes + $1) % 4)); done
}

echo "$runs runs, $lanes at a time"
for ((i = 0; i < lanes; i++)); do lane "$i" & done
wait # ends at once on a signal
wait

# Sorted by kind and time, so the median of a kind is known when its last run is read.
cat "$work"/*.runs | sort -t "$(printf '\t')" -k 1,1 -k 2,2g | awk -F '\t' -v runs="$runs" '
	function report(i, median, slow) {
		median = seconds[int((n + 1) / 2)]
		for (i = 1; i <= n; i++) slow += seconds[i] > 10 * median
		printf "%-16s %5d runs  median %7.2f s  longest %7.2f s", kind, n, median, seconds[n]
		printf "  %d above 10 medians  %d failed  %d hung\n", slow, failed, hung
		bad += slow + failed + hung
		total += n
		n = failed = hung = 0
	}
	NR > 1 && $1 != kind { report() }
	{ kind = $1; seconds[++n] = $2; late = $3 == 124 || $3 == 137; hung += late; failed += !late && $3 != 4 }
	END { report(); bad += total != runs; print total " runs: " (bad ? "BAD" : "GOOD"); exit bad > 0 }'
