#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# Windows that are not freed before MPI_Finalize: it frees them, and says how many; within an epoch the job ends, and
# it is said why.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
fail()
{
    echo "$*: status $status, $(cat "$dir/out" "$dir/err")"
    failures=$((failures + 1))
}

"$MPICC" -std=gnu11 -O2 -I"$WDL_TOP/test/mpi" -o "$dir/win_left" "$WDL_TOP/test/mpi/win_left.c" || exit 1

# leaves NP WAY
leaves()
{
    timeout 60 "$MPIEXEC" -n "$1" "$dir/win_left" "$2" > "$dir/out" 2> "$dir/err"
    status=$?
}

# freed NP WAY: as many windows in all, of which nothing else is said.
freed()
{
    leaves "$1" "$2"
    [ $status -eq 0 ] || fail "$*"
    [ "$(cat "$dir/out")" = ' No Errors' ] || fail "$*"
    said='^windlass: MPI_Finalize frees [0-9]* windows* that the program has not freed: MPI_Win_free is to be called before it$'
    ! grep -v "$said" "$dir/err" || fail "$*"
    sum=$(sed -n 's/.* frees \([0-9]*\) .*/\1/p' "$dir/err" | awk '{ n += $1 } END { print n + 0 }')
    [ "$sum" -eq "$3" ] || fail "$* were not said"
}

# within NP EPOCH WORDS
within()
{
    leaves "$1" "$2"
    [ $status -ne 0 ] && [ $status -ne 124 ] || fail "$*"
    grep -q "MPI_Finalize within an epoch of a window: .*MPI_Win_free.*$3" "$dir/err" || fail "$*"
    ! grep -q 'assertion failed' "$dir/err" || fail "$*"
}

export MPIR_CVAR_ODD_EVEN_CLIQUES=0
for nodes in 1 2; do
    export MPIR_CVAR_NUM_CLIQUES=$nodes
    freed 1 all 4
    freed 2 all $((3 + nodes))
    freed 5 all $((3 + nodes))
    freed 3 self 3
done
within 2 fence "MPI_Win_fence's"
within 2 start "MPI_Win_start's"
within 3 post "MPI_Win_post's"
within 2 lock "MPI_Win_lock's"
within 1 lock_all "MPI_Win_lock_all's"
within 3 lock_all "MPI_Win_lock_all's"
[ $failures -eq 0 ]
