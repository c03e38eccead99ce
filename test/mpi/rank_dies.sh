#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# A process that dies ends the job within seconds, its rank is named, and nothing stays: no file in /dev/shm, no process.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
seconds_max=20
fail()
{
    echo "$*"
    failures=$((failures + 1))
}

command -v pgrep > /dev/null || { echo 'there is no pgrep to find processes with (Debian: procps)'; exit 1; }
"$MPICC" -std=gnu11 -O2 -I"$WDL_TOP/test/mpi" -o "$dir/dying" "$WDL_TOP/test/mpi/dying.c" || exit 1

# Files of this user that are younger than this test and that no process has mapped; others' come and go.
left_in_shm()
{
    for file in $(find /dev/shm -user "$(id -un)" -newer "$dir/dying" -type f); do
        grep -qF "$file" /proc/[0-9]*/maps 2> /dev/null || echo "$file"
    done
}

# dies NP RANK WAY WHERE WORDS: and stderr holds WORDS about this rank, and no other rank is named. How a process
# ended is known only until hydra has taken note of it.
dies()
{
    begin=$(date +%s)
    timeout 60 "$MPIEXEC" -n "$1" "$dir/dying" "$2" "$3" "$4" > "$dir/out" 2> "$dir/err" &&
        fail "$*: status 0"
    took=$(($(date +%s) - begin))
    [ $took -le $seconds_max ] || fail "$*: the job ended after $took s"
    if [ "${3%_SLOW}" = ABORT ]; then
        grep -q "$5" "$dir/err" || fail "$*: not said: $(cat "$dir/err")"
        ! grep -q 'before it called MPI_Finalize' "$dir/err" || fail "$*: $(cat "$dir/err")"
    else
        who="windlass: rank $2 of MPI_COMM_WORLD (process [0-9]* on $(hostname))"
        grep -qE "^$(echo "$who" | sed 's/[()]/\\&/g') ($5|is gone) before it called MPI_Finalize$" "$dir/err" ||
            fail "$*: the rank is not named: $(cat "$dir/err" "$dir/out")"
        [ "$(grep -c '^windlass: rank' "$dir/err")" -le 1 ] || fail "$*: named more than once: $(cat "$dir/err")"
    fi
    left=$(pgrep -fl "$dir/dying")
    if [ -n "$left" ]; then     # one that is being killed is there for a moment
        sleep 2
        left=$(pgrep -fl "$dir/dying")
    fi
    [ -z "$left" ] || fail "$*: processes are left: $left"
}

dies 2 1 KILL messages 'was killed by signal 9'
dies 4 2 KILL window 'was killed by signal 9'
dies 4 0 KILL collectives 'was killed by signal 9'
dies 5 3 KILL computing 'was killed by signal 9'
dies 8 6 KILL collectives 'was killed by signal 9'
dies 4 1 KILL private 'was killed by signal 9'
dies 3 2 KILL long 'was killed by signal 9'
# The others wait for the one that dies.
for place in recv recv_any ssend probe lock private_lock fence pscw free finalize; do
    dies 3 1 KILL $place 'was killed by signal 9'
done
dies 3 1 EXIT fence 'ended with status 3'
dies 3 1 SEGV window 'was killed by signal 11'
dies 3 0 EXIT messages 'ended with status 3'
dies 3 2 ABORT computing 'Abort(4) on rank 2 of MPI_COMM_WORLD'
dies 3 0 ABORT_SLOW computing 'Abort(4) on rank 0 of MPI_COMM_WORLD'
left=$(left_in_shm)
if [ -n "$left" ]; then         # a moment of a job beside us?
    sleep 2
    for file in $left; do
        [ ! -e "$file" ] || fail "left in /dev/shm: $file"
    done
fi
[ $failures -eq 0 ]
