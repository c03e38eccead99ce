#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# MPIR_CVAR_WINDLASS_COLL_MODEL and _ALGORITHM: rank 0's count, whatever others have, and what the file says decides the
# shape of trees. Every process is a node of its own.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
for program in coll_model hello; do
    "$MPICC" -std=gnu11 -O2 -I"$WDL_TOP/test/mpi" -o "$dir/$program" "$WDL_TOP/test/mpi/$program.c" || exit 1
done
model=MPIR_CVAR_WINDLASS_COLL_MODEL
algorithm=MPIR_CVAR_WINDLASS_COLL_ALGORITHM
export MPIR_CVAR_ODD_EVEN_CLIQUES=0 MPIR_CVAR_NUM_CLIQUES=8 MPIR_CVAR_WINDLASS_COLL=engine
# A message takes 100 us, and the next follows at once: the root sends to all. It follows when the first has come: binomial.
printf 'latency 100000\ngap 1\nbyte 0.1\nreduce 0.2\n' > "$dir/flat"
printf 'latency 1000\ngap 1000\nbyte 0.1\nreduce 0.2\n' > "$dir/binomial"
printf 'latency 1000\n' > "$dir/wrong"

# ends_well WHAT TEXT ARGUMENTS...: mpiexec with these ends soon without an error, and on stderr there is TEXT alone, or
# nothing.
ends_well()
{
    what=$1 text=$2
    shift 2
    timeout 60 "$MPIEXEC" "$@" > "$dir/out" 2> "$dir/err"
    status=$?
    [ $status -eq 0 ] && [ "$(cat "$dir/out")" = ' No Errors' ] && [ "$(cat "$dir/err")" = "$text" ] && return
    echo "$what: status $status, $(cat "$dir/out" "$dir/err")"
    failures=$((failures + 1))
}

set -- "$dir/coll_model"
ends_well 'flat, all' '' -n 8 -env $model "$dir/flat" -env $algorithm broadcast:tree "$1" 7
ends_well 'binomial, all' '' -n 8 -env $model "$dir/binomial" -env $algorithm broadcast:tree "$1" 3
ends_well 'flat, rank 0' '' -n 1 -env $model "$dir/flat" -env $algorithm broadcast:tree "$1" 7 : -n 7 "$1" 7
ends_well 'binomial, rank 0' '' -n 1 -env $model "$dir/binomial" -env $algorithm broadcast:tree "$1" 3 : -n 7 "$1" 3
ends_well 'rank 0 flat, others binomial' '' -n 1 -env $model "$dir/flat" -env $algorithm broadcast:tree "$1" 7 : \
    -n 7 -env $model "$dir/binomial" -env $algorithm broadcast:nothing "$1" 7
ends_well 'algorithm, rank 0' '' -n 1 -env $algorithm barrier:dissemination "$dir/hello" : -n 3 "$dir/hello"
ends_well 'flat, but rank 0' "windlass: $model: $dir/flat: it is not said to rank 0; it is not used" \
    -n 1 "$dir/hello" : -n 3 -env $model "$dir/flat" "$dir/hello"
ends_well 'algorithm, rank 3' "windlass: $algorithm: barrier:dissemination: it is not said to rank 0; it is not used" \
    -n 3 "$dir/hello" : -n 1 -env $algorithm barrier:dissemination "$dir/hello"
ends_well 'no such file, rank 0' "windlass: $model: $dir/none: No such file or directory; it is not used" \
    -n 1 -env $model "$dir/none" "$dir/hello" : -n 3 "$dir/hello"
ends_well 'wrong, rank 0' "windlass: $model: $dir/wrong: latency, gap, byte and reduce are not all there; it is not used" \
    -n 1 -env $model "$dir/wrong" "$dir/hello" : -n 3 "$dir/hello"
ends_well 'one process' '' -n 1 -env $model "$dir/flat" "$dir/hello"
[ $failures -eq 0 ]
