#!/usr/bin/env bash
# Tests on GPUs, also on a node that has no Go:
#
#   make test-gpu                here, with Go: builds bin/jmpi and the test programs bin/*.test, then runs
#                                what can run here
#   scripts/test-gpu.sh build    only builds
#   scripts/test-gpu.sh run      on the GPU node, in a copy of this folder with bin/: tests, the table of
#                                results last
#   scripts/test-gpu.sh run PART...   only some of: primitives messages checks splits
#                                     failures files memory sanitizer
#
# CUDA_MPI=PREFIX names an Open MPI that was built with CUDA, for the tests of messages from GPU memory
# (docs/gpu.md). What the machine lacks is skipped, in words. The exit code is 0 if nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

# Packages with tests on GPUs. Of the last ones those run that have GPU in their names.
packages=(kernels/cuda internal/rivals dist dist/jacobi dist/matrix dist/refine)
parts=(primitives messages checks splits failures files memory sanitizer)

build() {
	local package
	make build || return
	for package in "${packages[@]}"; do
		scripts/mpiflags.sh go test -c -ldflags '-s -w' -o "bin/$(basename "$package").test" \
			"./$package" || return
	done
	ls -l bin
}

usage() {
	echo "usage: scripts/test-gpu.sh build, or: scripts/test-gpu.sh run [PART...], of ${parts[*]}" >&2
	exit 2
}

case ${1-} in
build) build; exit ;;
run) shift ;;
*) usage ;;
esac
for part; do [[ " ${parts[*]} " == *" $part "* ]] || usage; done
(($# == 0)) || parts=("$@")

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
jmpi=$PWD/bin/jmpi
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
source scripts/testing.sh
logs=("$work/err" "$work/out") table=()

# result WORD NAME TEXT: a line of the table, printed at once too.
result() {
	local line
	printf -v line '%-8s %-58s %s' "$@"
	table+=("$line")
	echo "$line"
}

# run SECONDS COMMAND...: what it prints is in out and err.
run() { timeout -k 5 "$1" "${@:2}" >"$work/out" 2>"$work/err" </dev/null; }

# jmpi_on RANKS ARG...: jmpi on so many ranks; mpi holds the launcher of the MPI that is tested.
jmpi_on() {
	local ranks=$1 start=()
	shift
	((ranks == 1)) || start=("${mpi[@]}" -np "$ranks")
	run 120 "${start[@]}" "$jmpi" "$@"
}

program() { # NAME PATTERN: a test program of Go; the figure is the number of its tests
	local code
	cp "bin/$1.test" "$work"
	# Tests look for their files in the folder of their package.
	(cd "${3-.}" && run 480 "$work/$1.test" -test.v -test.run "$2" -test.timeout 470s)
	code=$?
	figure="$(grep -c '^ *--- PASS' "$work/out") passed, $(grep -c '^ *--- SKIP' "$work/out") skipped"
	((code == 0)) && return
	why="exit code $code, $(grep -c '^ *--- FAIL' "$work/out") failed:"
	why+=" $(grep -m 3 '^ *--- FAIL' "$work/out" | tr -s ' \n' ' ')"
	return 1
}

# each_of FOLDER: the tests of a package that have GPU in their names, one by one
each_of() {
	local name names
	names=$("bin/$(basename "$1").test" -test.list '^Test.*GPU' </dev/null)
	[[ $names == *GPU* ]] || test_that "$1: a test on GPUs" false
	for name in $names; do test_that "$1: $name" program "$(basename "$1")" "^$name\$" "$1"; done
}

# solve RANKS INPUT DIR FLAG...
solve() {
	jmpi_on "$1" svd "$2" -o "$3" --force --quiet --backend cuda "${@:4}" || {
		why="svd exits $?: $(grep -m 1 '^jmpi' "$work/err")"
		return 1
	}
}

# checked KIND SHAPE GEN-FLAGS...: residual and orthogonality of one GPU's result, each below 1
checked() {
	"$jmpi" gen "$1" -o "$work/a.npy" --shape "$2" "${@:3}" || { why="gen exits $?"; return 1; }
	solve 1 "$work/a.npy" "$work/out.svd" --devices-per-rank 1 || return
	run 120 "$jmpi" check "$work/a.npy" "$work/out.svd"
	figure="$(sed -n 's/^ *"sweeps": \([0-9]*\),/\1/p' "$work/out.svd/info.json") sweeps"
	figure+=$(awk '/=/ { printf ", %s %s", $1, $3 }' "$work/out")
	[[ $(tail -n 1 "$work/out") == PASSED ]] && awk '/^(residual|orth)/ && !($3 < 1) { exit 1 }' "$work/out" ||
		{ why=$figure; return 1; }
}

selftest() { # RANKS
	jmpi_on "$1" selftest --backend cuda || {
		why="selftest exits $?: $(grep FAILED "$work/out" | head -n 3 | tr '\n' ' ')"
		return 1
	}
	figure="$(grep -c 'PASSED (' "$work/out") primitives and paths"
	figure+=$(sed -n 's/^% messages between ranks: /; messages: /p' "$work/out")
}

# split DIRECT INPUT RANKS DEVICES: the same bits as $work/one.svd, with messages from GPU memory
# (true) or staged (false)
split() {
	local mode=off
	[[ $1 == false ]] || mode=auto
	solve "$3" "$2" "$work/split.svd" --devices-per-rank "$4" --gpu-direct $mode &&
		equal "$work/one.svd" "$work/split.svd" S.npy U.npy V.npy || return
	figure=$(tr -d '\n' <"$work/split.svd/info.json" | sed -n 's/.*"transport": {\([^}]*\)}.*/\1/p' | tr -s ' ')
	[[ $figure == *"\"direct\": $1"* ]] || { why="not sent so: $figure"; return 1; }
}

# staged_and_direct NAME INPUT RANKS DEVICES: the bits of $work/one.svd on so many ranks, by either
# kind of message
staged_and_direct() {
	if [[ -z $mpirun ]]; then
		skip "$1" "no mpirun"
		return
	fi
	mpi=("$mpirun")
	test_that "$1, staged" split false "$2" "$3" "$4"
	if [[ -z ${CUDA_MPI-} ]]; then
		skip "$1, direct" "CUDA_MPI is not set"
		return
	fi
	mpi=("${cuda_mpi[@]}")
	test_that "$1, direct" split true "$2" "$3" "$4"
}

# splits_of INPUT: g GPUs in one rank against the same GPUs in 2 and 4 ranks; where there is one GPU
# only, two ranks share it
splits_of() {
	local input=$1 name g ranks
	name=$(basename "$1")
	for g in 2 4; do
		if ((g > gpus)); then
			skip "$name: bits of $g GPUs however split" "this node shows $gpus"
			continue
		fi
		test_that "$name: 1 rank × $g GPUs" solve 1 "$input" "$work/one.svd" --devices-per-rank "$g"
		for ((ranks = 2; ranks <= g; ranks *= 2)); do
			staged_and_direct "$name: same bits, $ranks × $((g / ranks))" "$input" "$ranks" $((g / ranks))
		done
	done
	if ((gpus == 1)) && [[ -n $mpirun ]]; then
		mpi=("$mpirun")
		test_that "$name: 2 ranks share the GPU" solve 2 "$input" "$work/one.svd" --gpu-direct off
		staged_and_direct "$name: same bits, 2 ranks share the GPU" "$input" 2 1
	fi
}

# exchange RANKS: the rates of the longest messages, by path and ways
exchange() {
	jmpi_on "$1" bench exchange --backend cuda --sizes 1M,256M || {
		why="bench exchange exits $?: $(grep -m 1 '^jmpi' "$work/err")"
		return 1
	}
	figure=$(awk '!/^%/ && $3 > 1e8 { printf "%s%s ×%d %.0f GB/s", n++ ? ", " : "", $1, $2, $5 }' "$work/out")
}

# sanitized TOOL KIND SHAPE FLAG...: a small solve under a tool of compute-sanitizer, which not every host
# allows, and which is slow
sanitized() {
	local code text name="compute-sanitizer $1, $2 $3 ${*:4}"
	"$jmpi" gen "$2" -o "$work/small.npy" --shape "$3"
	run 75 compute-sanitizer --tool "$1" --error-exitcode 99 \
		"$jmpi" svd "$work/small.npy" -o "$work/san.svd" --force --quiet --backend cuda --devices-per-rank 1 \
		"${@:4}"
	code=$?
	text=$(grep -h '=========' "$work/out" "$work/err")
	if ((code == 124 || code == 137)); then
		skip "$name" "not done in 75 s"
	elif grep -qi 'not supported' <<<"$text"; then
		skip "$name" "$(grep -i -m 1 'not supported' <<<"$text")"
	else
		figure=$(grep -m 1 SUMMARY <<<"$text")
		why="exit code $code: $(head -n 2 <<<"$text" | tr '\n' ' ')"
		test_that "$name" verdict "$code" "$figure" "$why"
	fi
}

# verdict CODE FIGURE WHY: of a command that was run before
verdict() {
	figure=$2 why=$3
	(($1 == 0))
}

# says CODE PATTERN COMMAND...: the command, which starts svd, exits so, and one line on stderr, of
# all ranks together, matches
says() {
	local code lines
	"${@:3}" -o "$work/said.svd" --force --quiet
	code=$?
	lines=$(grep -E '^jmpi|on CPUs' "$work/err")
	figure="exit $code: ${lines#jmpi: }" why="exit $code: $lines"
	((code == $1)) && [[ $(wc -l <<<"$lines") == 1 && $lines =~ $2 ]]
}

# number NAME: a number of info.json, or the first of a list
number() {
	tr -d '\n' <"$work/out.svd/info.json" | grep -o "\"$1\": *[[ ]*[0-9.e+-]*" | head -n 1 | sed 's/.*[: []//'
}

# beyond SECONDS INPUT FLAG...: from start to end a run of one GPU takes no more than so much longer than the
# decomposition
beyond() {
	local begin end phase
	rm -rf "$work/out.svd"
	begin=$EPOCHREALTIME
	jmpi_on 1 svd "$2" -o "$work/out.svd" --quiet --backend cuda --devices-per-rank 1 "${@:3}"
	why="svd exits $?: $(grep -m 1 '^jmpi' "$work/err")"
	end=$EPOCHREALTIME
	[[ -e $work/out.svd/info.json ]] || return
	# "seconds" of the decomposition comes before those of the sweeps.
	figure=$(awk -v wall="$begin $end" -v compute="$(number seconds)" 'BEGIN {
		split(wall, t, " "); wall = t[2] - t[1]
		printf "%.2f s, %.2f s of it beyond the decomposition", wall, wall - compute }')
	for phase in mpi devices reserve read upload download write sync; do
		figure+=", $phase $(printf '%.3f' "$(number $phase)")"
	done
	why=$figure
	awk -v limit="$1" '{ exit !($3 < limit) }' <<<"$figure"
}

# takes INPUT MATRIX-BYTES FLAG...: what a run takes on the GPU is what was expected, to a tenth, and that in
# the memory of the host no more than a quarter of the matrix, or 64 MiB, above what a small run takes, base
takes() {
	local code host
	rm -rf "$work/out.svd"
	jmpi_on 1 svd "$1" -o "$work/out.svd" --quiet --backend cuda --devices-per-rank 1 "${@:3}"
	code=$?
	((code == 0)) || { why="svd exits $code: $(grep -m 1 '^jmpi' "$work/err")"; return 1; }
	host=$(($(number peak_bytes) - ${base:-0}))
	figure=$(awk -v peak="$(number device_peak_bytes)" -v expected="$(number device_estimated_bytes)" \
		-v host=$host 'BEGIN {
		printf "%.3f of %.0f MB on the GPU, %.0f MB more than a small run on the host", peak / expected,
			expected / 1e6, host / 1e6 }')
	why=$figure
	((host <= $2 / 4 || host <= 64 << 20)) && awk '{ exit !($1 > 0.9 && $1 < 1.1) }' <<<"$figure"
}

# fits N: a matrix of order N has room on a GPU of this kind, with all vectors, where memory is short
fits() {
	local least room
	least=$("$jmpi" plan --backend cuda --devices 1 --shape "$1x$1" | awk '/at the least/ { print $4 }')
	room=$("$jmpi" env | awk 'match($0, /[0-9.]+ GiB, compute/) { print substr($0, RSTART) + 0; exit }')
	figure=$(awk -v least="$least" -v room="$room" 'BEGIN { printf "%.1f of %.1f GiB", least / 2^30, room }')
	why=$figure
	awk '{ exit !($1 < $3 - 1) }' <<<"$figure"
}

# one_blind ARG...: jmpi on two ranks, the second of which sees no GPU
one_blind() {
	run 120 "$mpirun" -np 1 "$jmpi" "$@" : -np 1 env CUDA_VISIBLE_DEVICES= "$jmpi" "$@"
}

primitives() {
	local package
	test_that "primitives: the shared tests of all back ends" program cuda . kernels/cuda
	test_that "cuSOLVER and cuBLAS, the rivals" program rivals 'CUSOLVER|Device' internal/rivals
	for package in "${packages[@]:2}"; do each_of "$package"; done
	test_that "selftest" selftest 1
}

messages() {
	if [[ -z $mpirun ]]; then
		skip "selftest on 2 ranks, exchange" "no mpirun"
		return
	fi
	mpi=("$mpirun")
	test_that "selftest on 2 ranks" selftest 2
	test_that "exchange between 2 ranks" exchange 2
	if [[ -n ${CUDA_MPI-} ]]; then
		mpi=("${cuda_mpi[@]}")
		test_that "exchange between 2 ranks, CUDA_MPI" exchange 2
	fi
}

# The rows of scripts/accuracy.sh, and larger ones.
checks() {
	local kind shape
	for shape in 64x64 257x257 1000x1000 1024x1024 768x256; do
		for kind in gauss uniform geometric arithmetic graded-cols lowrank; do
			test_that "check of $kind $shape" checked $kind $shape
		done
	done
	for shape in 64x64 257x257; do
		for kind in hilbert kahan; do test_that "check of $kind $shape" checked $kind $shape; done
	done
	for kind in spectrum2 spectrum4; do test_that "check of $kind 256x256" checked $kind 256x256; done
	for kind in gauss uniform geometric arithmetic graded-cols lowrank; do
		test_that "check of $kind 4096x4096" checked $kind 4096x4096
	done
}

splits() {
	"$jmpi" gen gauss -o "$work/square.npy" --shape 1024x1024 --seed 2
	"$jmpi" gen graded-cols -o "$work/tall.npy" --shape 1400x512 --seed 3
	splits_of "$work/square.npy"
	splits_of "$work/tall.npy"
}

failures() {
	local input=$work/small.npy large=$work/large.200000x200000.colmajor.f64 ranks=1
	"$jmpi" gen gauss -o "$input" --shape 80x70
	CUDA_VISIBLE_DEVICES='' test_that "no GPU, --backend cuda" \
		says 6 'no GPU' jmpi_on 1 svd "$input" --backend cuda
	if [[ -n $mpirun ]]; then
		ranks=2 mpi=("$mpirun")
		test_that "one of 2 ranks without a GPU, --backend cuda" \
			says 6 'rank 1.*no GPU' one_blind svd "$input" --backend cuda
		test_that "one of 2 ranks without a GPU, --backend auto" \
			says 0 'computing on CPUs' one_blind svd "$input"
	else
		skip "one of 2 ranks without a GPU" "no mpirun"
	fi
	if truncate -s $((8 * 200000 * 200000)) "$large"; then # takes no room on the disk
		test_that "a matrix that is too large, $ranks ranks" \
			says 6 'devices would do|take more hosts' jmpi_on $ranks svd "$large" --backend cuda --vectors none
	else
		skip "a matrix that is too large" "$work takes no file of 320 GB"
	fi
}

# The page cache is warm: the matrix was written just before.
files() {
	"$jmpi" gen gauss -o "$work/large.npy" --shape 8192x8192
	test_that "file to files, 8192x8192, the first run" beyond 15 "$work/large.npy"
	test_that "file to files, 8192x8192: 1.5 s and the decomposition" beyond 1.5 "$work/large.npy"
	rm "$work/large.npy"
}

memory() {
	local input=$work/large.npy flags kind shape base
	"$jmpi" gen gauss -o "$input" --shape 256x256
	jmpi_on 1 svd "$input" -o "$work/out.svd" --force --quiet --backend cuda --devices-per-rank 1
	base=$(number peak_bytes)
	while read -r kind shape flags; do
		"$jmpi" gen "$kind" -o "$input" --shape "$shape"
		# shellcheck disable=SC2086 # flags are words
		test_that "memory, $kind $shape $flags" takes "$input" $((8 * ${shape/x/ * })) $flags
	done <<-END
		gauss 4096x4096
		gauss 4096x4096 --v accumulate
		gauss 4096x4096 --vectors none
		graded-cols 4096x4096
		gauss 8192x8192
		gauss 400000x256
		gauss 16384x16384
	END
	rm "$input"
	# As many as when the matrix lay on the hosts, and 3·(m + n)·n/2 numbers on the GPU.
	test_that "the largest matrix" fits "$(awk -v room="$("$jmpi" env |
		awk 'match($0, /[0-9.]+ GiB, compute/) { print substr($0, RSTART) + 0; exit }')" \
		'BEGIN { printf "%d", sqrt(room * 2^30 / 24) }')"
}

sanitizer() {
	local tool
	if ! command -v compute-sanitizer >/dev/null; then
		skip "compute-sanitizer memcheck, racecheck" "not installed"
		return
	fi
	for tool in memcheck racecheck; do
		sanitized $tool gauss 80x70 --block 20
		sanitized $tool lowrank 90x60 --block 10 # with broken pivots
		sanitized $tool gauss 80x70 --block 20 --signature 30
	done
}

gpus=$(CUDA_DEVICE_ORDER=PCI_BUS_ID "$jmpi" env | sed -n 's/^gpus *\([0-9]*\).*/\1/p')
"$jmpi" env
cuda_mpi=(env "OPAL_PREFIX=${CUDA_MPI-}" "PATH=${CUDA_MPI-}/bin:$PATH"
	"LD_LIBRARY_PATH=${CUDA_MPI-}/lib:${LD_LIBRARY_PATH-}"
	"${CUDA_MPI-}/bin/mpirun" --mca pml ob1 --mca btl self,smcuda -x OPAL_PREFIX -x LD_LIBRARY_PATH)
mpirun=$(command -v "${MPIRUN:-mpirun}" || true)
if [[ -z $gpus ]]; then
	skip "all tests on GPUs" "$("$jmpi" env | sed -n 's/^gpus *//p')"
else
	for part in "${parts[@]}"; do $part; done
fi

echo
printf '%s\n' "${table[@]}"
totals
