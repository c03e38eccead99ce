#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# MPIR_CVAR_WINDLASS_COLL_MODEL and _ALGORITHM: rank 0's count, whatever others have, and what the file says decides the
# shape of trees, and which of MPI's calls the engine takes; or the costs are measured. Every process is a node of its
# own, if nothing else is said.
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
(cat "$dir/flat" && printf 'wins barrier 1\nwins allreduce 1 64 128\nwins broadcast 2\nwins reduce 0\n') > "$dir/wins"

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
ends_well 'flat, all' '' -n 8 -env $model "$dir/flat" -env $algorithm broadcast:tree "$1" children 7
ends_well 'binomial, all' '' -n 8 -env $model "$dir/binomial" -env $algorithm broadcast:tree "$1" children 3
ends_well 'flat, rank 0' '' -n 1 -env $model "$dir/flat" -env $algorithm broadcast:tree "$1" children 7 : \
    -n 7 "$1" children 7
ends_well 'binomial, rank 0' '' -n 1 -env $model "$dir/binomial" -env $algorithm broadcast:tree "$1" children 3 : \
    -n 7 "$1" children 3
ends_well 'rank 0 flat, others binomial' '' -n 1 -env $model "$dir/flat" -env $algorithm broadcast:tree "$1" children 7 : \
    -n 7 -env $model "$dir/binomial" -env $algorithm broadcast:nothing "$1" children 7
ends_well 'the costs of the file' '' -n 1 -env $model "$dir/flat" "$1" costs 100000000 1000 100 200 0 : \
    -n 2 "$1" costs 100000000 1000 100 200 0
ends_well 'the costs by default' '' -n 3 "$1" costs 1500000 400000 100 250 0

for ranks in 2 4; do
    for nodes in 1 2; do
        ends_well "measured, $ranks ranks, $nodes nodes" '' \
            -n $ranks -env MPIR_CVAR_NUM_CLIQUES $nodes -env $model measure "$1" measured 0
    done
done
domains=MPIR_CVAR_WINDLASS_COLL_DOMAINS
ends_well 'measured, two domains' '' -n 4 -env MPIR_CVAR_NUM_CLIQUES 1 -env $domains 2 -env $model measure "$1" measured 1
ends_well 'measured, as many domains as ranks' '' \
    -n 3 -env MPIR_CVAR_NUM_CLIQUES 1 -env $domains 3 -env $model measure "$1" measured 1
ends_well 'measured, two nodes of two domains' '' \
    -n 6 -env MPIR_CVAR_NUM_CLIQUES 2 -env $domains 2 -env $model measure "$1" measured 1
ends_well 'measured by TCP' '' -n 3 -env UCX_TLS tcp,self -env $model measure "$1" measured 0
ends_well 'measured for rank 0' '' -n 1 -env $model measure "$1" measured 0 : -n 3 "$1" measured 0
ends_well 'measured, trees by name' '' -n 4 -env $model measure -env $algorithm broadcast:tree "$1" measured 0
ends_well 'measured for rank 0, the others have files' '' -n 1 -env $model measure "$1" measured 0 : \
    -n 3 -env $model "$dir/none" "$1" measured 0
ends_well 'a file for rank 0, the others measure' '' -n 1 -env $model "$dir/flat" "$1" costs 100000000 1000 100 200 0 : \
    -n 3 -env $model measure "$1" costs 100000000 1000 100 200 0
ends_well 'measured, but for rank 0' "windlass: $model: measure: it is not said to rank 0; it is not used" \
    -n 1 "$dir/hello" : -n 3 -env $model measure "$dir/hello"
ends_well 'measured, one process' '' -n 1 -env $model measure "$1" costs 1500000 400000 100 250 0
(cd "$dir" && cp flat measure) || exit 1
ends_well 'a file called measure' '' -n 2 -wdir "$dir" -env $model ./measure "$1" costs 100000000 1000 100 200 0

auto=MPIR_CVAR_WINDLASS_COLL
ends_well 'by default the engine takes' '' -n 2 -env $auto auto "$1" engine 1 allreduce 32768 reduce 32768
ends_well 'by default MPICH takes' '' -n 2 -env $auto auto "$1" engine 0 allreduce 64 allreduce 8192 barrier 0 bcast 8 reduce 64
ends_well 'by the file the engine takes' '' -n 1 -env $auto auto -env $model "$dir/wins" "$1" engine 1 \
    allreduce 64 allreduce 128 barrier 0 : -n 1 -env $auto auto "$1" engine 1 allreduce 64 allreduce 128 barrier 0
ends_well 'by the file MPICH takes' '' -n 2 -env $auto auto -env $model "$dir/wins" "$1" engine 0 \
    allreduce 56 allreduce 136 allreduce 32768 bcast 8 reduce 32768

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
