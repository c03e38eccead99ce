#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# A limit on the size of files (ulimit -f), which counts for those in memory, too, and beyond which the system sends a
# signal: programs start, without what does not fit, and windows that do not fit are MPI_ERR_NO_MEM on all ranks.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
for program in no_memory coll_cases; do
    "$MPICC" -std=gnu11 -O2 -I"$WDL_TOP/test/mpi" -o "$dir/$program" "$WDL_TOP/test/mpi/$program.c" || exit 1
done

# run KILOBYTES ARGUMENTS...: mpiexec with them where no file may be longer.
run()
{
    (
        ulimit -f "$1"
        shift
        exec timeout 60 "$MPIEXEC" "$@"
    ) > "$dir/out" 2>&1
    status=$?
}

# limited KILOBYTES ARGUMENTS...: the same, and nothing goes wrong.
limited()
{
    run "$@"
    if [ $status -ne 0 ] || [ "$(cat "$dir/out")" != ' No Errors' ]; then
        echo "$*: status $status, $(cat "$dir/out")"
        failures=$((failures + 1))
    fi
}

for kilobytes in 400000 200000 80000; do
    limited $kilobytes -n 2 "$dir/no_memory" files
    limited $kilobytes -n 5 "$dir/no_memory" files
done
# Less than what UCX shares, if it shares memory, or than the start does.
for kilobytes in 300 100 10; do
    run $kilobytes -n 3 "$dir/coll_cases"
    [ $status -eq 0 ] || grep -q '(ulimit -f)' "$dir/out" || { cat "$dir/out"; failures=$((failures + 1)); }
    ! grep -q 'signal' "$dir/out" || { cat "$dir/out"; failures=$((failures + 1)); }
done
limited 80000 -n 3 "$dir/coll_cases"
[ $failures -eq 0 ]
