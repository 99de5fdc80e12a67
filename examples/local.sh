#!/usr/bin/env bash
# jmpi on this machine: one process with all cores, then four MPI ranks. Both give the same bits here, since
# this shape leads to the same ordering on one device and on four (info.json: fine_block_columns).
# Then a hyperbolic SVD on two ranks.
#   examples/local.sh [path of jmpi]
set -euo pipefail
jmpi=${1:-bin/jmpi}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# 768×512, singular values known: geometric from 1 down to 1e-8.
"$jmpi" gen geometric -o "$dir/a.npy" --shape 768x512 --cond 1e8 --seed 1

"$jmpi" svd "$dir/a.npy" -o "$dir/one.svd"
# --oversubscribe is for machines with fewer than four cores; Open MPI knows it, MPICH does not need it.
mpirun --oversubscribe -np 4 "$jmpi" svd "$dir/a.npy" -o "$dir/four.svd"

cmp "$dir/one.svd/S.npy" "$dir/four.svd/S.npy"
"$jmpi" check "$dir/a.npy" "$dir/four.svd"

# The hyperbolic SVD: 60 columns with the sign +1, then 196 with -1. The eigenvalues of A·D·Aᵀ are
# known, and checked.
"$jmpi" gen spectrum1 -o "$dir/g.npy" --shape 256x256 --positive 60
mpirun --oversubscribe -np 2 "$jmpi" svd "$dir/g.npy" -o "$dir/g.hsvd" --signature 60
"$jmpi" check "$dir/g.npy" "$dir/g.hsvd"
