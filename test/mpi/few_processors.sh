#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# Ranks that may use but one of the machine's processors, as in a container, take turns there.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$MPICC" -std=gnu11 -O2 -I"$WDL_TOP/test/mpi" -o "$dir/offers" "$WDL_TOP/test/mpi/offers.c" || exit 1
one=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
taskset -c "$one" timeout 100 "$MPIEXEC" -n 2 "$dir/offers" > "$dir/out" 2>&1
status=$?
if [ $status -ne 0 ] || [ "$(cat "$dir/out")" != ' No Errors' ]; then
    echo "on processor $one: status $status, $(cat "$dir/out")"
    exit 1
fi
