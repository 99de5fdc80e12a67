# What the end-to-end tests share; sourced by them. A test is a command that fails and says in `why` what is
# wrong. What the program printed last is in the file err.
# shellcheck shell=bash
passed=0 failed=0 why=

# test_that NAME COMMAND...: counts the outcome; after a failure shows what jmpi printed last.
test_that() {
	why=
	if "${@:2}"; then
		passed=$((passed + 1))
		echo "ok      $1"
	else
		failed=$((failed + 1))
		echo "FAILED  $1: $why"
		tail -n 60 err | sed 's/^/        /'
	fi
}

# totals prints how many tests passed; it fails if one has failed.
totals() {
	echo "$passed passed, $failed failed"
	((failed == 0))
}

# equal DIR DIR FILE...: the same bits.
equal() {
	local file
	for file in "${@:3}"; do
		cmp -s "$1/$file" "$2/$file" || { why="$file differs from that of $1"; return 1; }
	done
}
