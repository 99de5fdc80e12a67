#!/usr/bin/env bash
# jmpi on this machine: one process with all cores, then four MPI ranks. Both give the same bits.
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
