#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# A /dev/shm that is full: windows that do not fit are MPI_ERR_NO_MEM on all ranks, smaller ones still work. /dev/shm is
# replaced by a small one, which nobody else sees. Needs the right to mount, root's or a user's in a namespace of his own:
# without it this is a failure, not a pass.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
"$MPICC" -std=gnu11 -O2 -I"$WDL_TOP/test/mpi" -o "$dir/no_memory" "$WDL_TOP/test/mpi/no_memory.c" || exit 1
if unshare -m true 2> "$dir/out"; then
    apart=-m
elif unshare -rm true 2>> "$dir/out"; then
    apart=-rm
else
    echo "neither is permitted: unshare -m, unshare -rm: $(cat "$dir/out")"
    exit 1
fi

# in_small SIZE COMMAND...: run it where /dev/shm has that size.
in_small()
{
    size=$1
    shift
    unshare $apart sh -c 'size=$1; shift
        mount -t tmpfs -o size="$size" tmpfs /dev/shm || exit 1
        "$@"' sh "$size" "$@"
}

for way in full filled kept; do
    for n in 1 2 5; do
        in_small 64m timeout 100 "$MPIEXEC" -n $n "$dir/no_memory" $way > "$dir/out" 2>&1
        status=$?
        if [ $status -ne 0 ] || [ "$(cat "$dir/out")" != ' No Errors' ]; then
            echo "$way with $n ranks: status $status, $(cat "$dir/out")"
            failures=$((failures + 1))
        fi
    done
done
# Long collectives of one node's ranks leave it to others where there is not plenty of it, and some of the own.
"$MPICC" -std=gnu11 -O2 -I"$WDL_TOP/test/mpi" -o "$dir/coll_long" "$WDL_TOP/test/mpi/coll_long.c" || exit 1
for way in '64m 4 little' '2g 3 many'; do
    set -- $way
    in_small "$1" env MPIR_CVAR_ODD_EVEN_CLIQUES=0 MPIR_CVAR_NUM_CLIQUES=1 \
        timeout 100 "$MPIEXEC" -n "$2" "$dir/coll_long" "$3" > "$dir/out" 2>&1
    status=$?
    if [ $status -ne 0 ] || [ "$(cat "$dir/out")" != ' No Errors' ]; then
        echo "coll_long $3: status $status, $(cat "$dir/out")"
        failures=$((failures + 1))
    fi
done
# Too little for UCX's shared memory: it says so. Without that, a window's few pages are enough.
case ${UCX_TLS:-} in
    tcp*) want='^ No Errors$' ;;
    *) want='Is there room in /dev/shm?' ;;
esac
in_small 1m timeout 100 "$MPIEXEC" -n 2 "$dir/no_memory" full > "$dir/out" 2>&1
grep -q "$want" "$dir/out" || { cat "$dir/out"; failures=$((failures + 1)); }
# Not even room for what the start shares on a node.
in_small 4k env UCX_TLS=tcp,self MPIR_CVAR_ODD_EVEN_CLIQUES=0 MPIR_CVAR_NUM_CLIQUES=1 \
    timeout 100 "$MPIEXEC" -n 4 "$dir/no_memory" full > "$dir/out" 2>&1
grep -q '/dev/shm has no room for [0-9]* bytes' "$dir/out" || { cat "$dir/out"; failures=$((failures + 1)); }
[ $failures -eq 0 ]
