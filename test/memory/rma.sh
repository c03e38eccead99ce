#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# Every one-sided call on every flavour of window under valgrind, on one node and on two: nothing is used that nobody has set.
set -u
. "$WDL_TOP/test/memory/clean.sh"

"$MPICC" -g -O1 -I"$WDL_TOP/test/mpi" -o "$dir/rma_matrix" "$WDL_TOP/test/mpi/rma_matrix.c" || exit 1
clean one-node "$dir/rma_matrix"
export MPIR_CVAR_NUM_CLIQUES=2
clean two-nodes "$dir/rma_matrix"
[ $failures -eq 0 ]
