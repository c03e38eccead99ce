#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# A nonblocking collective that one process has begun and the others never call: the job ends. Where the process waits for
# the others in MPI_Finalize (on one node it does), that says what for.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
"$MPICC" -std=gnu11 -O2 -I"$WDL_TOP/test/mpi" -o "$dir/strays" "$WDL_TOP/test/mpi/finalize_strays.c" || exit 1
for ranks in 2 5; do
    timeout 60 "$MPIEXEC" -n $ranks "$dir/strays" begun > "$dir/out" 2>&1
    status=$?
    said='nonblocking collective was begun that not all processes of its communicator have called'
    [ $status -eq 0 ] && said='^ No Errors$'
    if [ $status -eq 124 ] || ! grep -q "$said" "$dir/out"; then
        echo "$ranks ranks: status $status, $(cat "$dir/out")"
        failures=$((failures + 1))
    fi
done
[ $failures -eq 0 ]
