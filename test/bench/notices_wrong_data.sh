#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# Every row that moves data says so when the MPI loses the last element, always or after a few calls
# (corrupt.c), and the program fails; without that MPI no row complains.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bench=$WDL_TOP/test/bench
status=0
complain()
{
    echo "$*"
    status=1
}
# one PROGRAM SOURCES ARGUMENT...; with so many ranks:
ranks=2
one()
{
    program=$1
    sources=
    for name in $2; do
        sources="$sources $bench/$name.c"
    done
    shift 2
    for with in '' "$bench/corrupt.c" "-DLATE $bench/corrupt.c"; do
        # shellcheck disable=SC2086
        "$MPICC" -std=gnu11 -O2 -o "$dir/$program" $sources $with || exit 1
        ended=0
        timeout 100 "$MPIEXEC" -n $ranks "$dir/$program" --batch 0.0001 "$@" > "$dir/out" 2>&1 ||
            ended=$?
        if [ -z "$with" ]; then
            [ $ended -eq 0 ] || complain "$program $*: status $ended: $(cat "$dir/out")"
            ! grep -q '^!' "$dir/out" || complain "$program $*: $(grep '^!' "$dir/out")"
            continue
        fi
        grep -q '^\.' "$dir/out" || complain "$program $with has no end: $(tail -n 5 "$dir/out")"
        [ $ended -ne 0 ] || complain "$program $with: wrong data, and status 0"
        # What moves no data cannot be wrong.
        sed -n 's/^>	//p' "$dir/out" |
            grep -Ev '	(i?barrier|fence|pscw|lock_all_unlock_all)	' > "$dir/began"
        [ -s "$dir/began" ] || complain "$program $with: no rows"
        sed -n 's/^!	//p' "$dir/out" > "$dir/noticed"
        cmp -s "$dir/began" "$dir/noticed" ||
            complain "$program $with, not noticed: $(diff "$dir/began" "$dir/noticed")"
    done
}
one p2p p2p --rows '/(8|1024)$'
one rma 'rma rma_ops rma_check' --window allocate --rows '/(0|8|512|1024|4096|32768)$'
one rma 'rma rma_ops rma_check' --window create --computing --away 0.02 \
    --rows '/(0|8|64|512|4096|32768|262144)$'
one coll coll --rows '/(8|1024)$'
one coll coll --more --rows '/(8|1024)$'
# More ranks than two processors: they meet asleep.
ranks=4
one rma 'rma rma_ops rma_check' --window allocate --rows '^(put_flush|get_flush|put_fence|pscw_put)/8$'
exit $status
