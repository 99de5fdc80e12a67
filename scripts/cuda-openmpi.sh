#!/usr/bin/env bash
# Builds Open MPI with CUDA support from Debian's own source package, as root on Debian 12; jmpi built with
# Debian's Open MPI runs on it unchanged (docs/gpu.md). It takes minutes; no GPU is needed.
#
#   scripts/cuda-openmpi.sh PREFIX     PREFIX/bin/mpirun, PREFIX/lib/libmpi.so.40, …
#
# Only cuda.h of the CUDA toolkit is needed: of CUDA_HOME if that is set, else of Debian's nvidia-cuda-dev
# (non-free; 774 MB are fetched, only the headers are unpacked). The folder can be moved afterwards: set
# OPAL_PREFIX to where it lies.
set -euo pipefail
prefix=$(mkdir -p "${1:?usage: $0 PREFIX}" && cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A private copy of apt's lists of sources, with source packages and non-free switched on.
mkdir -p "$work/sources" "$work/lists/partial"
cp /etc/apt/sources.list.d/*.sources "$work/sources"
sed -i -E -e 's/^Types: deb$/Types: deb deb-src/' \
	-e 's/^Components: main$/Components: main contrib non-free/' \
	"$work"/sources/*
apt=(apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/sources"
	-o "Dir::State::lists=$work/lists" -o APT::Sandbox::User=root)
"${apt[@]}" update
cd "$work"

cuda=${CUDA_HOME-}
if [[ -z $cuda ]]; then
	"${apt[@]}" download nvidia-cuda-dev
	cuda=$work/cuda
	mkdir "$cuda"
	dpkg-deb --fsys-tarfile nvidia-cuda-dev_*.deb |
		tar -x -C "$cuda" --wildcards --strip-components=2 './usr/include/*'
	rm nvidia-cuda-dev_*.deb
fi
test -s "$cuda/include/cuda.h"

"${apt[@]}" source --download-only openmpi
tar xf openmpi_*.orig.tar.xz
cd openmpi-*/
log() { "$@" >build.log 2>&1 || { tail -n 20 build.log; exit 1; }; }
log ./configure --prefix="$prefix" --with-cuda="$cuda" --disable-static --enable-shared \
	--disable-dependency-tracking --enable-mpi-fortran=no --disable-oshmem --disable-java \
	--without-verbs --without-ucx --without-ofi \
	--with-libevent=internal --with-hwloc=internal --with-pmix=internal \
	--enable-mca-no-build=coll-hcoll,coll-ml,io-romio321,crs,snapc,op-avx
log make -j"$(nproc)"
log make install
rm -rf "$prefix/share/man"
find "$prefix" -name '*.so*' -type f -exec strip --strip-unneeded {} +
du -sh "$prefix"
