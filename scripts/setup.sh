#!/usr/bin/env bash
# Makes sure that jmpi can be built and run here: Go, a C compiler, make, MPI (headers and mpirun) and
# OpenBLAS with CBLAS and LAPACK. Says nothing when all is there. What is missing is installed on Debian
# and Ubuntu, as root or with passwordless sudo; elsewhere the line to type is printed, exit code 1.
#
#   scripts/setup.sh         what building and running needs
#   scripts/setup.sh bench   ScaLAPACK too, for `jmpi bench --vs scalapack`
#   scripts/setup.sh browser only Chromium, in which tests open the page of `jmpi report`
#   scripts/setup.sh mpich   only MPICH beside another MPI, for `make test-mpich`; mpicc and mpirun stay those
#                            of the other one
#   scripts/setup.sh wheel   only a Python with NumPy and what makes and installs a wheel, for `make wheel`
#   scripts/setup.sh python  a Python with NumPy, h5py, pytest and what makes a wheel, for `make test-python`
#   scripts/setup.sh octave  Octave too, which reads the results in one of these tests
#   scripts/setup.sh nvrtc   only NVIDIA's run-time compiler, which compiles the GPU kernels where there is no
#                            GPU: libnvrtc11.2 from the non-free part of Debian 12. apt's own lists of
#                            sources stay as they are
set -uo pipefail
cd "$(dirname "$0")/.."

declare -A apt=([make]=make [cc]="gcc libc6-dev" [mpicc]=libopenmpi-dev [mpirun]=openmpi-bin
	[blas]=libopenblas-dev [scalapack]=libscalapack-openmpi-dev [octave]=octave
	[wheel]="python3-numpy python3-pip python3-setuptools python3-venv python3-wheel"
	[python]="python3-numpy python3-h5py python3-pytest python3-pip python3-setuptools python3-wheel")
declare -A dnf=([make]=make [cc]="gcc glibc-devel" [mpicc]=openmpi-devel [mpirun]=openmpi
	[blas]=openblas-devel [scalapack]=scalapack-openmpi [octave]=octave
	[wheel]="python3-numpy python3-pip python3-setuptools python3-wheel"
	[python]="python3-numpy python3-h5py python3-pytest python3-pip python3-setuptools python3-wheel")
declare -A zypper=([make]=make [cc]="gcc glibc-devel" [mpicc]=openmpi4-devel [mpirun]=openmpi4
	[blas]="libopenblas_pthreads-devel openblas-common-devel" [scalapack]=libscalapack2-openmpi4 [octave]=octave
	[wheel]="python3-numpy python3-pip python3-setuptools python3-wheel"
	[python]="python3-numpy python3-h5py python3-pytest python3-pip python3-setuptools python3-wheel")
declare -A pacman=([make]=make [cc]=gcc [mpicc]=openmpi [mpirun]=openmpi
	[blas]=blas-openblas [scalapack]=scalapack [octave]=octave
	[wheel]="python-numpy python-pip python-setuptools python-wheel"
	[python]="python-numpy python-h5py python-pytest python-pip python-setuptools python-wheel")

say() { echo "setup: $*" >&2; }
has() { command -v "$1" >/dev/null 2>&1; }

# type_this COMMAND: the user's part; ends the script.
type_this() {
	printf 'setup: to get it, type\n\n  %s\n\n' "$*" >&2
	exit 1
}

# check_go refuses a Go that is missing or older than go.mod asks for. With GOTOOLCHAIN=auto the go
# command itself fetches a newer one; where it cannot, it prints no version.
check_go() {
	local need have arch
	need=$(awk '$1 == "go" {print $2}' go.mod)
	have=$(go env GOVERSION 2>/dev/null | sed 's/^go//; s/ .*//')
	[[ -n $have && $(printf '%s\n' "$need" "$have" | sort -V | head -n 1) == "$need" ]] && return
	have=$(cd / && GOTOOLCHAIN=local go env GOVERSION 2>/dev/null)
	say "jmpi needs Go $need or newer; found: ${have:-none}"
	case $(uname -m) in
	x86_64) arch=amd64 ;;
	aarch64) arch=arm64 ;;
	*) arch=$(uname -m) ;;
	esac
	type_this "mkdir -p ~/.local/go$need && curl -fsSL https://go.dev/dl/go$need.linux-$arch.tar.gz |" \
		"tar -xz -C ~/.local/go$need --strip-components=1 && export PATH=~/.local/go$need/bin:\$PATH"
}

# builds SOURCE COMPILER FLAG...: whether the compiler turns the source into a program.
builds() { printf '%b' "$1" | "${@:2}" -x c - -o /dev/null "${libs[@]}" 2>/dev/null; }

# python [MODULE...] prints a Python that has NumPy, what makes a wheel, and these modules: the first on the
# PATH, or the system's own.
python() {
	local name
	for name in "${PYTHON:-python3}" /usr/bin/python3; do
		"$name" -c "import setuptools, numpy, pip, wheel${1+, $1}" 2>/dev/null && echo "$name" && return
	done
	return 1
}

# missing [bench|wheel|python|octave] prints which parts are not there, by the names of the tables above.
missing() {
	local cc=${CC:-gcc} mpicc=${MPICC:-mpicc} libs=()
	[[ ${1-} == wheel ]] && { python ensurepip >/dev/null || echo wheel; return; }
	has make || echo make
	builds '#include <stdlib.h>\nint main(void) { return 0; }' "$cc" || echo cc
	builds '#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }' "$mpicc" || echo mpicc
	has mpirun || echo mpirun
	read -ra libs <<<"${CGO_LDFLAGS-} $(pkg-config --libs openblas 2>/dev/null || echo -lopenblas)"
	builds 'void cblas_dgemm(void), dpotrf_(void);
int main(void) { cblas_dgemm(); dpotrf_(); return 0; }' "$cc" || echo blas
	[[ ${1-} != bench ]] || ldconfig -p | grep -q scalapack || echo scalapack
	[[ ${1-} != python && ${1-} != octave ]] || python h5py,pytest >/dev/null || echo python
	[[ ${1-} != octave ]] || has octave || echo octave
}

# packages MANAGER: the packages that hold the missing parts.
packages() {
	local -n name=$1
	local part names=()
	for part in $parts; do names+=("${name[$part]}"); done
	echo "${names[*]}"
}

# nvrtc installs NVRTC, from copies of apt's lists in which non-free is switched on.
nvrtc() {
	ldconfig -p | grep -q 'libnvrtc\.so' && return
	say "missing: libnvrtc"
	has apt-get || type_this "the CUDA toolkit of NVIDIA, or its part NVRTC; here is no apt-get"
	((EUID == 0)) || type_this "sudo scripts/setup.sh nvrtc"
	local dir
	dir=$(mktemp -d) && mkdir -p "$dir/sources" "$dir/lists/partial" || return
	local file
	for file in $(grep -l debian /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null); do
		cp "$file" "$dir/sources"
	done
	sed -i -E '/^(Components:|deb .* main\b)/ s/$/ contrib non-free/' "$dir"/sources/*
	local apt=(apt-get -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$dir/sources"
		-o "Dir::State::lists=$dir/lists" -o APT::Sandbox::User=root)
	say "apt-get install libnvrtc11.2 libnvrtc-builtins11.8, from non-free"
	"${apt[@]}" update -qq >/dev/null
	DEBIAN_FRONTEND=noninteractive "${apt[@]}" install -y -qq --no-install-recommends \
		libnvrtc11.2 libnvrtc-builtins11.8 >/dev/null </dev/null
	local code=$?
	rm -rf "$dir"
	return $code
}

# browser installs Chromium, unless there is one.
browser() {
	has chromium || has chromium-browser || has google-chrome && return
	say "missing: chromium"
	has apt-get || type_this "Chromium; here is no apt-get"
	((EUID == 0)) || type_this "sudo scripts/setup.sh browser"
	say "apt-get install chromium"
	apt-get update -qq >/dev/null
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null </dev/null
}

# mpich installs MPICH. On Debian mpicc and mpirun are links, which must not change.
mpich() {
	has "${MPICH_MPICC:-mpicc.mpich}" && has "${MPICH_MPIEXEC:-mpiexec.hydra}" && return
	say "missing: mpich"
	has apt-get || type_this "make test-mpich MPICH_MPICC=/path/to/mpicc MPICH_MPIEXEC=/path/to/mpiexec"
	((EUID == 0)) || type_this "sudo scripts/setup.sh mpich"
	local before after
	before=$(readlink -f "$(command -v mpicc)" "$(command -v mpirun)")
	say "apt-get install mpich libmpich-dev"
	apt-get update -qq >/dev/null
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mpich libmpich-dev \
		>/dev/null </dev/null || return
	after=$(readlink -f "$(command -v mpicc)" "$(command -v mpirun)")
	[[ $before == "$after" ]] && return
	say "mpicc and mpirun were" $before "and are" $after
	type_this "update-alternatives --config mpi && update-alternatives --config mpirun"
}

PATH=$PATH:/sbin:/usr/sbin # ldconfig, for users
case ${1-} in
nvrtc | browser | mpich) "$1"; exit ;;
which-python) python h5py,pytest; exit ;; # what `make test-python` runs
which-wheel) python ensurepip; exit ;; # and `make wheel`
wheel) ;;
*) check_go ;;
esac
parts=$(missing "$@")
[[ -n $parts ]] || exit 0
say "missing:" $parts

if has apt-get; then
	line="apt-get install -y --no-install-recommends $(packages apt)"
	sudo=()
	if ((EUID != 0)); then
		sudo -n true 2>/dev/null || type_this "sudo apt-get update && sudo $line"
		sudo=(sudo)
	fi
	say "$line"
	"${sudo[@]}" apt-get update -qq >/dev/null
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive $line -qq >/dev/null </dev/null || exit 1
	parts=$(missing "$@")
	[[ -n $parts ]] || exit 0
	say "still missing after the installation:" $parts
	exit 1
fi

say "on a cluster, load modules (their names differ: module avail), often: module load gcc openmpi openblas"
if has dnf; then
	type_this "sudo dnf install -y $(packages dnf) && source /etc/profile.d/modules.sh && module load mpi"
elif has zypper; then
	type_this "sudo zypper install -y $(packages zypper) && source /etc/profile"
elif has pacman; then
	type_this "sudo pacman -S --needed $(packages pacman)"
fi
say "or install a C compiler, make, Open MPI and OpenBLAS with their headers"
exit 1
