#!/usr/bin/env bash
# The flags with which cgo finds MPI and OpenBLAS.
#
#   scripts/mpiflags.sh                prints CGO_CFLAGS=... and CGO_LDFLAGS=...
#   scripts/mpiflags.sh go build ...   runs the command with both in its environment
#
# MPICC names the compiler wrapper of the MPI library (default: mpicc). Flags that CGO_CFLAGS and
# CGO_LDFLAGS hold already come first, so they win.
set -euo pipefail

mpicc=${MPICC:-mpicc}

# ask OPTION...: the answer of the wrapper to the first option that it knows. Open MPI has
# --showme:*, MPICH and Intel MPI have -compile_info and -link_info, and -show for both.
ask() {
	local option
	for option; do "$mpicc" "$option" 2>/dev/null && return; done
	echo "mpiflags: $mpicc does not tell its flags;" \
		"set MPICC to the wrapper of your MPI, or run scripts/setup.sh" >&2
	return 1
}

# keep PATTERN FLAG...: the flags that match the pattern; a flag of two words keeps its second.
keep() {
	local pattern=$1 kept=()
	shift
	while (($#)); do
		if [[ $1 =~ ^(-Xlinker|-isystem)$ && $1 =~ $pattern ]]; then
			kept+=("$1" "${2:-}")
			shift
		elif [[ $1 =~ $pattern ]]; then
			kept+=("$1")
		fi
		shift
	done
	echo "${kept[*]}"
}

compile=$(ask --showme:compile -compile_info -show)
link=$(ask --showme:link -link_info -show)
# shellcheck disable=SC2086 # the wrappers print words to be split
{
	compile=$(keep '^(-I|-D|-pthread$|-isystem$)' $compile)
	link=$(keep '^(-L|-l|-Wl,|-pthread$|-Xlinker$|.*\.(so|a)$)' $link)
}

# OpenBLAS: where it lies. Its headers are not used, and must not hide the cblas.h of gonum/netlib.
link+=" $(pkg-config --libs openblas 2>/dev/null || echo -lopenblas)"

# cgo's own default, -O2 -g, holds only while CGO_CFLAGS is unset.
export CGO_CFLAGS="-O2 -g ${CGO_CFLAGS:+$CGO_CFLAGS }$compile"
export CGO_LDFLAGS="${CGO_LDFLAGS:+$CGO_LDFLAGS }$link"
# One set of flags for the program, the tests and the linters: the C kernels, which take long, compile once.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath"

if (($#)); then
	exec "$@"
fi
printf '%s\n' "CGO_CFLAGS=$CGO_CFLAGS" "CGO_LDFLAGS=$CGO_LDFLAGS"
