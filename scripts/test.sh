#!/usr/bin/env bash
# Runs `go test` on the given packages. Prints a line for each package, each skipped test with its reason,
# all output of a package that fails, and the totals as the last line.
set -uo pipefail
cd "$(dirname "$0")/.."

scripts/mpiflags.sh go test -v -timeout 25m "$@" 2>&1 </dev/null | awk '
	function flush_lines(i) { for (i = 0; i < lines; i++) print line[i]; lines = 0 }
	/^=== /         { test = $3; next }
	/^ *--- PASS: / { passed++; next }
	/^ *--- SKIP: / { skipped++; sub(/^ */, "", said[$3]); print "skipped " $3 ": " said[$3]; next }
	/^ *--- FAIL: / { failed++ }
	/^ok  \t/       { ok++; lines = 0; print; fflush(); next }
	/^FAIL\t/       { bad++; flush_lines(); print; fflush(); next }
	!/^(PASS$|\?   \t)/ { said[test] = $0; line[lines++] = $0 }
	END {
		flush_lines()
		printf "%d tests passed, %d failed, %d skipped; %d packages passed, %d failed\n",
			passed, failed, skipped, ok, bad
	}'
exit "${PIPESTATUS[0]}"
