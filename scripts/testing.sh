# What the end-to-end tests share; sourced by them. A test is a command that fails and says in `why` what is
# wrong; it may say in `figure` what it has measured. What the program printed last is in the files of `logs`.
# shellcheck shell=bash
passed=0 failed=0 skipped=0 why='' figure='' logs=(err)

# result WORD NAME TEXT prints a line.
result() { printf '%-7s %s%s\n' "$1" "$2" "${3:+: $3}"; }

# test_that NAME COMMAND...: counts the outcome; after a failure shows what was printed last.
test_that() {
	local begin=$SECONDS
	why='' figure=''
	if "${@:2}"; then
		passed=$((passed + 1))
		result ok "$1" "${figure:+$figure, }$((SECONDS - begin)) s"
	else
		failed=$((failed + 1))
		result FAILED "$1" "$why"
		grep -h -m 3 -A 3 -E "^(panic|fatal error|runtime|SIG[A-Z]+):" "${logs[@]}" 2>/dev/null |
			sed "s/^/        /"
		tail -q -n 60 "${logs[@]}" 2>/dev/null | sed 's/^/        /'
	fi
}

# skip NAME REASON
skip() {
	skipped=$((skipped + 1))
	result skipped "$1" "$2"
}

# totals prints how many tests passed; it fails if one has failed.
totals() {
	echo "$passed passed, $failed failed, $skipped skipped; $SECONDS s"
	((failed == 0))
}

# equal DIR DIR FILE...: the same bits.
equal() {
	local file
	for file in "${@:3}"; do
		cmp -s "$1/$file" "$2/$file" || { why="$file differs from that of $1"; return 1; }
	done
}

# running PROGRAM: its processes that run in this folder, a line "RANK PID" for each.
running() {
	local process rank
	for process in /proc/[0-9]*; do
		[[ $process/cwd -ef . && $process/exe -ef $1 ]] || continue
		rank=$(tr '\0' '\n' 2>/dev/null <"$process/environ" | sed -nE 's/^(OMPI_COMM_WORLD_RANK|PMI_RANK)=//p')
		echo "$rank ${process#/proc/}"
	done
}

# pid_of RANK PROGRAM
pid_of() { running "$2" | sed -n "s/^$1 //p"; }

# all_end PROGRAM: its processes end within 10 s. Where one was killed, others outlive mpirun by some seconds:
# what they write then would stand in the next test's output.
all_end() {
	local i
	for i in {1..100}; do
		why=$(running "$1")
		[[ -n $why ]] || return 0
		sleep 0.1
	done
	why="running after 10 s: $why"
	return 1
}

# none_left PROGRAM: nothing is left running.
none_left() {
	sleep 0.5
	why=$(running "$1")
	[[ -z $why ]] || { why="left running: $why"; return 1; }
}
