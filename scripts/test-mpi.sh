#!/usr/bin/env bash
# End-to-end tests of bin/jmpi under mpirun, against docs/contract.md. It is run by `make test-mpi`,
# which builds the program and sets the environment in which Open MPI starts many ranks here.
set -uo pipefail
cd "$(dirname "$0")/.."
[[ -n ${OMPI_MCA_rmaps_base_oversubscribe-} ]] || exec make test-mpi
jmpi=$PWD/bin/jmpi
source scripts/testing.sh
work=$(mktemp -d) && cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT
export JMPI_BACKEND=cpu # the same tests where there are GPUs; scripts/test-gpu.sh tests those

# run RANKS SECONDS ARG...: jmpi on so many ranks (1: without mpirun); what it prints is in out and err.
run() {
	local ranks=$1 seconds=$2 start=()
	shift 2
	((ranks == 1)) || start=("${MPIRUN:-mpirun}" -np "$ranks")
	timeout -k 5 "$seconds" "${start[@]}" "$jmpi" "$@" >out 2>err </dev/null
}

# solve RANKS INPUT DIR FLAG...
solve() {
	run "$1" 60 svd "$2" -o "$3" "${@:4}" || { why="svd exits $?"; return 1; }
}

# verdict CODE LINE INPUT DIR: `jmpi check` must exit so and end so.
verdict() {
	run 1 60 check "$3" "$4"
	local code=$?
	((code == $1)) && [[ $(tail -n 1 out) == "$2" ]] || { why="check exits $code: $(tail -n 1 out)"; return 1; }
}

# files: the files here, but for out and err, with their checksums.
files() { find . -type f ! -name out ! -name err -exec cksum {} + | sort; }

# refused CODE RANKS ARG...: within 10 s this exit code, one line of ours on stderr, and no new or
# changed file.
refused() {
	local before code
	before=$(files)
	run "$2" 10 "${@:3}"
	code=$?
	((code == $1)) || { why="exits $code instead of $1"; return 1; }
	[[ $(grep -c '^jmpi: ' err) == 1 ]] || { why="$(grep -c '^jmpi: ' err) lines beginning 'jmpi: '"; return 1; }
	[[ $before == "$(files)" ]] || { why="left files behind"; return 1; }
}

# npy DTYPE SHAPE BYTES: an .npy file, header of 128 bytes and then the data, as printf escapes.
npy() {
	printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '$1', 'fortran_order': False, 'shape': ($2), }"
	printf '%b' "$3"
}

# times N TEXT
times() { for ((i = 0; i < $1; i++)); do printf %s "$2"; done; }

# Every number of ranks and every kind of shape gives the right answer: square, odd, prime, tall, wide,
# fewer columns than devices.
right() { solve "$1" "$2" r.svd --force && verdict 0 PASSED "$2" r.svd; }
for shape in 64x64 257x257 400x96 96x130 257x31 31x257 1x1 2x2 3x3 7x1 1x7; do
	test_that "gen $shape" run 1 60 gen gauss -o "a$shape.npy" --shape "$shape" --seed 1
	for ranks in 1 2 3 4 5; do test_that "svd of $shape on $ranks ranks" right "$ranks" "a$shape.npy"; done
done
for shape in '0, 5' '5, 0' '0, 0'; do
	npy '<f8' "$shape" '' >empty.npy
	for ranks in 1 4; do test_that "svd of ($shape) on $ranks ranks" right "$ranks" empty.npy; done
done

# One ordering, the same bits: however four devices are split into ranks, for one, two and four devices of
# an order that is a power of two, and from run to run.
same() { # INPUT RANKS DEVICES-PER-RANK FLAG...
	solve "$2" "$1" b.svd --force --devices-per-rank "$3" "${@:4}" && equal a.svd b.svd S.npy U.npy V.npy
}
test_that "gen 256x256" run 1 60 gen gauss -o square.npy --shape 256x256 --seed 2
test_that "gen 700x256" run 1 60 gen graded-cols -o tall.npy --shape 700x256 --seed 3
test_that "gen 256x256, geometric" run 1 60 gen geometric -o decaying.npy --shape 256x256 --cond 1e14 --seed 3
test_that "gen 256x200, rows graded" run 1 60 gen graded-rows -o rows.npy --shape 256x200 --seed 3
for input in square.npy tall.npy decaying.npy rows.npy; do
	test_that "$input on 4 ranks" solve 4 "$input" a.svd --force
	for split in '4 1' '2 2' '1 4' '1 1' '2 1' '1 2'; do
		test_that "$input has the same bits on ranks, devices a rank: $split" same "$input" $split
	done
done
test_that "square.npy nested on 4 ranks" solve 4 square.npy a.svd --force --scheme nested
for split in '2 2' '1 4'; do
	test_that "square.npy nested has the same bits on ranks, devices a rank: $split" \
		same square.npy $split --scheme nested
done

# The same S whatever vectors are asked for, and no file that was not asked for.
vectors() { # VALUE FILES
	solve 2 square.npy v.svd --force --vectors "$1" && equal a.svd v.svd S.npy || return 1
	[[ $(cd v.svd && echo *.npy) == "$2" ]] || { why="files: $(ls v.svd)"; return 1; }
}
test_that "square.npy on 2 ranks" solve 2 square.npy a.svd --force
test_that "vectors u" vectors u "S.npy U.npy"
test_that "vectors v" vectors v "S.npy V.npy"
test_that "vectors none" vectors none "S.npy"
modes() { solve 2 "$1" v.svd --force "${@:2}" && verdict 0 PASSED "$1" v.svd && equal a.svd v.svd S.npy; }
for input in square.npy decaying.npy rows.npy; do
	test_that "$input on 2 ranks" solve 2 "$input" a.svd --force
	for v in accumulate solve; do test_that "$input has the same S with --v $v" modes "$input" --v $v; done
done
test_that "square.npy on 2 ranks" solve 2 square.npy a.svd --force

# A part of the spectrum: the same S, fewer columns, the same bits however the devices are split, a check that
# passes, and no more bytes than that.
some() { # INPUT COLUMNS FLAG...
	solve 2 "$1" v.svd --force "${@:3}" && verdict 0 PASSED "$1" v.svd || return 1
	grep -q "^leading = .*PASSED" out || { why="no row leading: $(tail -n 1 out)"; return 1; }
	local m n
	read -r m n < <(sed -n '/"shape"/,/]/p' a.svd/info.json | grep -o '[0-9]*' | head -n 2 | xargs)
	cmp -s <(tail -c +129 v.svd/S.npy) <(tail -c +129 a.svd/S.npy | head -c $((8 * $2))) ||
		{ why="other singular values"; return 1; }
	local sizes="$((128 + 8 * $2)) $((128 + 8 * $2 * m)) $((128 + 8 * $2 * n))"
	[[ $(stat -c %s v.svd/S.npy v.svd/U.npy v.svd/V.npy | xargs) == "$sizes" ]] ||
		{ why="sizes: $(stat -c %s v.svd/*.npy | xargs)"; return 1; }
	solve 1 "$1" b.svd --force --devices-per-rank 2 "${@:3}" && equal v.svd b.svd S.npy U.npy V.npy || return 1
	solve 4 "$1" v.svd --force "${@:3}" && solve 2 "$1" b.svd --force --devices-per-rank 2 "${@:3}" &&
		equal v.svd b.svd S.npy U.npy V.npy
}
for input in square.npy tall.npy decaying.npy rows.npy a96x130.npy; do
	test_that "$input on 2 ranks" solve 2 "$input" a.svd --force
	test_that "17 of $input" some "$input" 17 --k 17
done
test_that "decaying.npy on 2 ranks" solve 2 decaying.npy a.svd --force
test_that "128 of decaying.npy by --rtol" some decaying.npy 128 --rtol 1e-7 # σ = 1, …, 1e-14
for input in square.npy rows.npy; do
	test_that "$input on 2 ranks" solve 2 "$input" a.svd --force
	test_that "9 of $input by --k and --rtol" some "$input" 9 --rtol 1e-9 --k 9
done
test_that "--k of a hyperbolic SVD" refused 2 2 svd square.npy -o x.svd --signature 3 --k 4

# A matrix that is much taller than wide, and what one rank of four takes for it: the matrix has 40 MB.
very_tall() {
	solve 4 tallest.npy t.svd && verdict 0 PASSED tallest.npy t.svd || return 1
	local peak
	peak=$(sed -n '/"peak_bytes"/,/]/p' t.svd/info.json | grep -o '[0-9]*' | sort -n | tail -n 1)
	((peak < 150000000)) || { why="a rank took $peak bytes"; return 1; }
}
test_that "gen 100000x50" run 1 60 gen gauss -o tallest.npy --shape 100000x50
test_that "svd of 100000x50 on 4 ranks" very_tall
rm -rf tallest.npy t.svd

# The hyperbolic SVD: of a matrix with known eigenvalues, on any number of ranks, and what cannot be.
test_that "gen spectrum3" run 1 60 gen spectrum3 -o h.npy --shape 256x256 --positive 100
test_that "hyperbolic SVD on 1 rank" solve 1 h.npy a.svd --force --signature h.signature.npy
hyperbolic() {
	solve "$1" h.npy h.svd --force --signature h.signature.npy && verdict 0 PASSED h.npy h.svd || return 1
	grep -q '^lambda = .*PASSED' out
}
for ranks in 1 2 3 4; do test_that "hyperbolic SVD on $ranks ranks" hyperbolic $ranks; done
test_that "hyperbolic SVD has the same bits on 1 and 4 ranks" equal a.svd h.svd S.npy U.npy V.npy
test_that "hyperbolic SVD of all signs +1" solve 2 square.npy h.svd --force --signature 256
test_that "it is the SVD" solve 2 square.npy a.svd --force
test_that "it has the same bits" equal a.svd h.svd S.npy U.npy V.npy
for ranks in 1 3; do
	test_that "signature of a wide matrix on $ranks" refused 3 $ranks svd a31x257.npy -o x.svd --signature 3
	test_that "signature beyond the columns on $ranks" refused 2 $ranks svd square.npy -o x.svd --signature 257
	test_that "signature of another length on $ranks" \
		refused 3 $ranks svd a64x64.npy -o x.svd --signature h.signature.npy
	test_that "signature with qrcp on $ranks" \
		refused 2 $ranks svd square.npy -o x.svd --signature 9 --precondition qrcp
	npy '<f8' '4, 2' "$(times 8 '\x00\x00\x00\x00\x00\x00\xf0\x3f')" >equal.npy
	test_that "no hyperbolic SVD on $ranks" refused 4 $ranks svd equal.npy -o x.svd --signature 1 --quiet
done

# The short form, --force, and a check that can fail.
short() { run 4 60 square.npy && equal a.svd square.svd S.npy; }
swapped() {
	rm -f b.svd/V.npy && solve 2 square.npy b.svd --force --vectors u || return 1
	[[ ! -e b.svd/V.npy ]] || { why="an old file is left"; return 1; }
}
foreign() {
	mkdir -p f.svd && touch f.svd/thesis || return 1
	refused 3 2 svd square.npy -o f.svd --force && [[ -e f.svd/thesis ]]
}
# reads INPUT FLAG...: what the run reads lies in DIR, as a file of results.
reads() {
	refused 3 2 svd "$1" -o i.svd --force "${@:2}" || return 1
	grep -q 'which the run reads' err || { why="does not say that the run reads it"; return 1; }
}
unknown() { # MESSAGE
	refused 3 2 svd square.npy -o w.svd --force || return 1
	grep -q "$1" err || { why="does not say '$1'"; return 1; }
}
# differ FLAG VALUE: rank 1 gets a flag that rank 0 has not.
differ() {
	local solve=("$jmpi" svd square.npy -o differ.svd) code
	timeout -k 5 10 "${MPIRUN:-mpirun}" -np 1 "${solve[@]}" : -np 1 "${solve[@]}" "$@" >out 2>err </dev/null
	code=$?
	((code == 2)) && [[ $(grep -c '^jmpi: ' err) == 1 && ! -e differ.svd ]] ||
		{ why="other options on one rank are not refused: exit code $code"; return 1; }
}
test_that "mpirun jmpi INPUT" short
test_that "--force swaps the whole folder" swapped
test_that "--force spares what is no result" foreign
test_that "results whose S.npy is read" solve 2 square.npy i.svd
npy '<f8' '256,' "$(times 256 '\x00\x00\x00\x00\x00\x00\xf0\x3f')" >i.svd/S.npy
test_that "--force spares the signature" reads square.npy --signature i.svd/S.npy
test_that "--force spares the signature by another path" reads square.npy --signature f.svd/../i.svd/S.npy
test_that "--force spares the input" reads i.svd/U.npy
mkdir -p w.svd/S.npy && cp a.svd/info.json w.svd
test_that "--force spares a folder S.npy" unknown 'holds a folder S.npy'
rmdir w.svd/S.npy && echo '{"version": 3}' >w.svd/info.json
test_that "--force spares the info.json of another program" unknown 'w.svd/info.json was not written by jmpi'

# One rank killed with SIGKILL at any time: DIR holds the old results or the new ones, and the next run clears
# up.
killed() { # INPUT SECONDS
	local ranks
	"${MPIRUN:-mpirun}" -np 3 "$jmpi" svd "$1" -o k.svd --force >out 2>err </dev/null &
	sleep "$2"
	mapfile -t ranks < <(running "$jmpi" | cut -d " " -f 2)
	((${#ranks[@]} == 0)) || kill -9 "${ranks[RANDOM % ${#ranks[@]}]}"
	wait $! 2>/dev/null
	all_end "$jmpi" || return 1
	equal k0.svd k.svd S.npy U.npy V.npy || equal k1.svd k.svd S.npy U.npy V.npy ||
		{ why="half of the results of two runs"; return 1; }
}
cleared() {
	solve 3 square.npy k.svd --force || return 1
	[[ -z $(echo .k.svd.*) ]] || { why="left: $(echo .k.svd.*)"; return 1; }
}
test_that "results to be replaced" solve 3 square.npy k0.svd
begin=$EPOCHREALTIME
test_that "results that replace them" solve 3 decaying.npy k1.svd
took=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN {print b - a}')
cp -r k0.svd k.svd
for i in {1..10}; do
	moment=$(awk -v t="$took" -v i="$i" -v seed="$RANDOM" 'BEGIN {srand(seed); print t*(i - rand())/10}')
	((i % 2)) && input=decaying.npy || input=square.npy
	test_that "killed after $moment s of $took" killed $input "$moment"
done
shopt -s nullglob
test_that "the next run clears up" cleared
shopt -u nullglob
test_that "another --strategy on rank 1" differ --strategy roundrobin
test_that "another --max-sweeps on rank 1" differ --max-sweeps 3
test_that "other --vectors on rank 1" differ --vectors none
test_that "another --silence on rank 1" differ --silence 0
for strategy in mmstep brentluk roundrobin br; do
	test_that "square.npy by $strategy on 1 rank" solve 1 square.npy b.svd --force --strategy "$strategy"
done
run 1 60 gen gauss -o other.npy --shape 256x256 --seed 4
test_that "check fails for another matrix" verdict 5 FAILED other.npy a.svd

# A rank that never starts MPI ends the job too.
missing() {
	timeout -k 5 60 "${MPIRUN:-mpirun}" -np 1 "$jmpi" svd square.npy -o s.svd --silence 1 : \
		-np 1 sleep 40 >out 2>err </dev/null
	local code=$?
	((code == 6)) || { why="exits $code instead of 6"; return 1; }
	[[ $(grep -c '^jmpi: .*MPI has not started in 5s' err) == 1 ]] || { why="no line says so"; return 1; }
	[[ ! -e s.svd ]] || { why="s.svd is there"; return 1; }
}
test_that "a rank that does not start MPI" missing
# A rank that is stopped ends the job after the set time. One line names it, and nothing is left running.
stopped() { # RANK SECONDS-AFTER-START
	local job before code
	: >err # of the run before, which has started
	timeout -k 5 60 "${MPIRUN:-mpirun}" -np 4 "$jmpi" svd halted.npy -o s.svd --silence 5 >out 2>err </dev/null &
	job=$!
	until grep -q ' start ' err || ! kill -0 "$job"; do sleep 0.1; done
	sleep "$2"
	kill -STOP "$(pid_of "$1" "$jmpi")" || { why="no rank $1"; return 1; }
	before=$SECONDS
	wait "$job"
	code=$?
	((code == 6)) || { why="exits $code instead of 6"; return 1; }
	((SECONDS - before <= 15)) || { why="takes $((SECONDS - before)) s to end"; return 1; }
	[[ $(grep -c "^jmpi: rank $1 on host .* has been silent for 5 s" err) == 1 ]] ||
		{ why="no line names rank $1"; return 1; }
	none_left "$jmpi" || return 1
	[[ ! -e s.svd ]] || { why="there are results"; return 1; }
}
test_that "gen 2000x2000" run 1 60 gen gauss -o halted.npy --shape 2000x2000 --seed 5
for after in 0 1 4; do
	for victim in 0 3; do test_that "rank $victim is stopped after $after s" stopped "$victim" "$after"; done
done
rm -rf halted.npy .s.svd.* # what a killed run leaves

# Bad input. The folder that is there already stays as it is; below a file nothing can be made, even by root.
one='\x00\x00\x00\x00\x00\x00\xf0\x3f'
nan='\x00\x00\x00\x00\x00\x00\xf8\x7f'
inf='\x00\x00\x00\x00\x00\x00\xf0\x7f'
npy '<f8' '4, 20' "$(times 56 "$one")$nan$(times 23 "$one")" >nan.npy
npy '<f8' '4, 20' "$(times 79 "$one")$inf" >inf.npy
npy '<c16' '2, 2' "$(times 8 "$one")" >complex.npy
npy '|O' '2, 2' "$(times 4 "$one")" >object.npy
head -c 5000 square.npy >truncated.npy
: >blank.npy
echo "no matrix" >text.npy
mkdir there && echo mine >there/file
placed() {
	refused "$@" || return 1
	grep -q "row 3, column 17" err || { why="does not say where the NaN is"; return 1; }
}
for ranks in 1 4; do
	test_that "missing input on $ranks" refused 3 "$ranks" svd missing.npy -o x.svd
	test_that "input is a folder on $ranks" refused 3 "$ranks" svd there -o x.svd
	test_that "NaN on $ranks" placed 3 "$ranks" svd nan.npy -o x.svd
	for bad in inf complex object truncated blank text; do
		test_that "$bad input on $ranks" refused 3 "$ranks" svd "$bad.npy" -o x.svd
	done
	test_that "output exists on $ranks" refused 3 "$ranks" svd square.npy -o there
	test_that "output below a file on $ranks" refused 3 "$ranks" svd square.npy -o text.npy/x.svd
	test_that "output in /proc on $ranks" refused 3 "$ranks" svd square.npy -o /proc/x.svd
	test_that "unknown flag on $ranks" refused 2 "$ranks" svd square.npy -o x.svd --no-such-flag
	test_that "unknown strategy on $ranks" refused 2 "$ranks" svd square.npy -o x.svd --strategy nonsense
	test_that "unknown backend on $ranks" refused 2 "$ranks" svd square.npy -o x.svd --backend nonsense
done

# Each of three ranks has a copy of the input, in a folder of its own. give FILE RANK...: these get a copy.
give() {
	local rank
	for rank in "${@:2}"; do mkdir -p "copy$rank" && cp "$1" "copy$rank/" || return 1; done
}
# put FILE BYTE: another byte there.
put() { printf '\x55' | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
# ends CODE TEXT COMMAND...: after an error there is one line of ours on stderr, with TEXT, and
# nothing is left.
ends() {
	timeout -k 5 60 "${@:3}" >out 2>err </dev/null
	local code=$?
	((code == $1)) || { why="exits $code instead of $1"; return 1; }
	((code == 0)) && return
	[[ $(grep -c '^jmpi: ' err) == 1 && $(grep '^jmpi: ' err) == *"$2"* ]] ||
		{ why="not one line with '$2'"; return 1; }
	[[ -z $(find . -name '*x.svd*') ]] || { why="left files behind"; return 1; }
}
# apart CODE TEXT INPUT FLAG...: svd of the copies into x.svd ends so.
apart() {
	local each=() rank
	for rank in 0 1 2; do
		each+=(: -np 1 sh -c 'cd "$0" && exec "$@"' "copy$rank" "$jmpi" svd "$3" -o ../x.svd "${@:4}")
	done
	ends "$1" "$2" "${MPIRUN:-mpirun}" "${each[@]:1}"
}
alike() { apart 0 '' "$1" && solve 3 "$1" y.svd --force && equal y.svd x.svd S.npy U.npy V.npy; }
{ echo '%%MatrixMarket matrix array real general' && echo 40 30 && seq 1000 2199; } >array.mtx
tail -c 9600 square.npy >raw.40x30.colmajor.f64
for input in square.npy array.mtx raw.40x30.colmajor.f64; do
	give $input 0 1 2
	test_that "equal copies of $input" alike $input
	rm -rf x.svd
	for rank in 0 1 2; do
		give $input 0 1 2
		put copy$rank/$input $(($(stat -c %s $input) - 2 - 1000 * rank))
		test_that "stale copy of $input on rank $rank" apart 3 "rank $rank (" $input
	done
done
npy '<f8' '4, 20' "$(times 80 "$one")" | tee copy0/ones.npy >copy2/ones.npy
npy '<f8' '4, 20' "$nan$(times 79 "$one")" >copy1/ones.npy
test_that "NaN in the copy of rank 1, where rank 0 reads" apart 3 "rank 1 (" ones.npy
give square.npy 0 1 2
cp a64x64.npy copy2/square.npy
test_that "another shape on rank 2" apart 3 "64×64 float64, not 256×256" square.npy
give h.npy 0 1 2
give h.signature.npy 0 1 2
npy '<f8' 256, "$(times 256 "$one")" >copy1/h.signature.npy
test_that "another signature on rank 1" apart 3 "rank 1 (" h.npy --signature h.signature.npy
test_that "gen 1600x1500" run 1 60 gen gauss -o large.npy --shape 1600x1500
give large.npy 0 1 2
for byte in 3 7 11 15; do put copy2/large.npy $((byte << 20)); done
test_that "one number in 4 MiB, --verify-input" apart 3 "rank 2 (" large.npy --verify-input
export JMPI_VERIFY_INPUT=true
test_that "one number in 4 MiB, JMPI_VERIFY_INPUT" apart 3 "rank 2 (" large.npy
unset JMPI_VERIFY_INPUT
give large.npy 0 1 2
for ((byte = 5000; byte < 19200000; byte += 40960)); do put copy1/large.npy $byte; done
test_that "one number in a tenth of the pages" apart 3 "rank 1 (" large.npy
rm -r copy? large.npy

# A file is written to again and again while it is read: changing TEXT COMMAND...
changing() {
	while sleep 0.02; do "${@:2}"; done &
	local writer=$! result=0
	ends 3 "$1" "${MPIRUN:-mpirun}" -np 3 "$jmpi" svd changing.mtx -o x.svd --quiet || result=1
	kill $writer
	wait $writer 2>/dev/null
	return $result
}
# shorter: and whole again.
shorter() { truncate -s 10000000 changing.mtx && sleep 0.02 && cat whole.mtx >changing.mtx; }
{ echo '%%MatrixMarket matrix array real general' && echo 1600 1500 && seq 1000001 3400000; } >changing.mtx
cp changing.mtx whole.mtx
test_that "input written to while it is read" changing "changed while it was read" put changing.mtx 9999999
test_that "input cut while it is read" changing "" shorter
rm whole.mtx changing.mtx

# Limits of the process, a launcher that MPI does not know, names of files that are no text, and values that
# stop a machine.
limited() { (ulimit "$1" "$2" && refused 6 "$3" svd square.npy -o x.svd && grep -q "ulimit $1 $2" err); }
for ranks in 1 2; do
	test_that "ulimit -v on $ranks" limited -v 2000000 $ranks
	test_that "ulimit -d on $ranks" limited -d 300000 $ranks
done
lonely() {
	(export "${@:2}" && refused 2 1 svd square.npy -o x.svd) || return 1
	grep -q "$1 started .* processes, but MPI sees this one alone" err
}
test_that "a lonely rank of Flux" \
	lonely 'flux run' FLUX_JOB_SIZE=4 FLUX_TASK_RANK=0 FLUX_JOB_NNODES=2 PMI_SIZE=4
test_that "a lonely rank of PALS" lonely mpiexec PALS_RANKID=0 PALS_LOCAL_RANKID=0 PALS_LOCAL_SIZE=2
test_that "a lonely rank of JSM" lonely jsrun JSM_NAMESPACE_SIZE=6 JSM_NAMESPACE_RANK=0
odd=$'new\nline\e[31m\a'
named() {
	refused "$@" || return 1
	grep -qF 'new\nline\x1b[31m\a' err || { why="does not show the name"; return 1; }
	! LC_ALL=C grep -q $'\e\\|\a' err || { why="prints control characters"; return 1; }
}
cp square.npy "$odd.npy"
for ranks in 1 2; do
	test_that "no file of an odd name on $ranks" named 3 $ranks svd "$odd.mtx" -o x.svd
	test_that "no folder of an odd name on $ranks" named 3 $ranks svd square.npy -o "$odd/x.svd"
done
test_that "no results of an odd name" named 3 1 check square.npy "$odd"
test_that "an odd flag" refused 2 1 svd square.npy "--$odd"
odd_results() {
	solve 2 "$odd.npy" "$odd" || return 1
	! LC_ALL=C grep -q $'\e\\|\a' err || { why="prints escape codes"; return 1; }
	[[ -e $odd/S.npy ]]
}
test_that "svd of an odd name" odd_results
test_that "an empty output" refused 2 2 svd square.npy -o ''
test_that "10000 threads" refused 2 2 svd square.npy -o x.svd --threads 10000
nearly_equal() {
	solve 2 near.npy n.svd --signature 1 || return 1
	grep -Eq 'use --check: .*as large as [0-9.]+e-[0-9]+ norm_of_V=' err || { why="no such warning"; return 1; }
}
npy '<f8' '2, 2' "$one$one$(times 8 '\x00')\x48\xaf\xbc\x9a\xf2\xd7\x7a\x3e" >near.npy
test_that "columns of different signs that nearly agree" nearly_equal

# What a run takes is what was expected, and the rank of a matrix without elements is a number.
# list NAME: the numbers of a list in info.json, their sum.
list() {
	sed -n "/\"$1\"/,/]/p" e.svd/info.json | grep -o '[0-9][0-9]*' | awk '{ sum += $1 } END { print sum + 0 }'
}
expected() { # RANKS INPUT FLAG...
	solve "$1" "$2" e.svd --force "${@:3}" || return 1
	local peak estimate
	peak=$(list peak_bytes) estimate=$(list estimated_bytes)
	((peak > estimate / 2 && peak < estimate * 5 / 4)) ||
		{ why="took $peak bytes, expected $estimate"; return 1; }
}
test_that "gen 1000x1000" run 1 60 gen gauss -o large.npy --shape 1000x1000
test_that "gen 200000x40" run 1 60 gen gauss -o tallest.npy --shape 200000x40
test_that "memory of 1000x1000" expected 1 large.npy
test_that "memory of 1000x1000 without vectors" expected 2 large.npy --vectors none
test_that "memory of 1000x1000, preconditioned" expected 1 large.npy --precondition qrcp-lq --v accumulate
test_that "memory of 200000x40" expected 1 tallest.npy
no_rank() {
	solve 2 empty.npy e.svd --force || return 1
	sed -n '/"rank"/,/}/p' e.svd/info.json | grep -q '"value": 0'
}
test_that "rank of an empty matrix" no_rank
rm -rf large.npy tallest.npy e.svd

# The self-test, and GPUs asked for where none is to be seen.
export CUDA_VISIBLE_DEVICES=
selftest() {
	run "$1" 60 selftest && [[ $(tail -n 1 out) == PASSED ]] ||
		{ why="selftest exits $?: $(tail -n 1 out)"; return 1; }
}
for ranks in 1 2; do
	test_that "selftest on $ranks" selftest "$ranks"
	test_that "--backend cuda without a GPU on $ranks" refused 6 "$ranks" svd square.npy -o x.svd --backend cuda
done

totals
