#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# Misuse of gasnet_coll.h: every node that sees it says on stderr who it is, which call that was, and the error's name.
# With a callback the program goes on; without one the job ends, soon, with an error. So it does in gasnet.h, where there
# are no callbacks.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
"$MPICC" -std=gnu11 -O2 -o "$dir/gasnet_said" "$WDL_TOP/test/mpi/gasnet_said.c" || exit 1

fault()
{
    echo "$*:"
    cat "$dir/out" "$dir/err"
    failures=$((failures + 1))
}

# how_often FILE PATTERN: so often it is there, wherever mpiexec ends lines of several processes.
how_often()
{
    tr -d '\n' < "$dir/$1" | grep -o "$2" | wc -l
}

# ended MISTAKE LINE [callback]: the job ends, soon, with an error, and somebody says why.
ended()
{
    timeout 60 "$MPIEXEC" -n 3 "$dir/gasnet_said" "$1" ${3:+"$3"} > "$dir/out" 2> "$dir/err"
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] || fault "$1, ended: status $status"
    [ "$(how_often err "windlass: [a-z]* [012]: $2")" -gt 0 ] || fault "$1, ended: nobody says $2"
    [ "$(how_often out 'goes on')" = 0 ] || fault "$1, ended: somebody goes on"
}

# goes_on MISTAKE LINE [callback]: the program does, and each node says that, once.
goes_on()
{
    timeout 60 "$MPIEXEC" -n 3 "$dir/gasnet_said" "$1" ${3:+"$3"} > "$dir/out" 2> "$dir/err" ||
        fault "$1, going on: status $?"
    [ "$(how_often out 'goes on')" = 3 ] || fault "$1, going on: not all do"
    for rank in 0 1 2; do
        [ "$(how_often err "windlass: rank $rank: $2")" = 1 ] || fault "$1: rank $rank does not say $2"
    done
    [ "$(how_often err windlass:)" = 3 ] || fault "$1: more is said"
}

# said MISTAKE CALL NAME
said()
{
    line="gasnet_coll_$2: GASNET_COLL_ERR_$3: "
    goes_on "$1" "$line" callback
    ended "$1" "$line"
}

said flags broadcast FLAGS
said sync gather_all SYNC
said neither exchange ADDRESSES
said both gather ADDRESSES
said root scatter ROOT
said unaligned sort ALIGNMENT
said aggregate gather_all AGGREGATE
said handle sync HANDLE
said open team_free AGGREGATE
freed='GASNET_COLL_ERR_INIT: .* a freed team'
for callback in '' callback; do
    ended freed "gasnet_coll_broadcast: $freed" $callback
    ended freed_long_ago "gasnet_coll_barrier_notify: $freed" $callback
    ended freed_twice "gasnet_coll_team_free: $freed" $callback
done
goes_on open_at_end 'gasnet_coll_team_free: GASNET_COLL_ERR_AGGREGATE: '
dead='the handle is dead: it has been synchronized before'
ended wait_syncnb "gasnet_wait_syncnb: $dead"
ended try_syncnb "gasnet_try_syncnb: $dead"
ended wait_reused "gasnet_wait_syncnb: $dead"
ended lacking 'gasnet_init: it has failed'

# Before gasnet_init there is nothing to end, and nothing to say.
for code in 0 7; do
    timeout 60 "$dir/gasnet_said" exit $code > "$dir/out" 2> "$dir/err"
    status=$?
    [ $status = $code ] || fault "gasnet_exit($code) first: status $status"
    [ ! -s "$dir/out" ] && [ ! -s "$dir/err" ] || fault "gasnet_exit($code) first: something is said"
done
[ $failures -eq 0 ]
