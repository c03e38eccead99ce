#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# Starting: without mpiexec, with 64 processes in seconds, in one session, and with transports that
# cannot be used.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
fail()
{
    echo "$*"
    failures=$((failures + 1))
}
"$MPICC" -std=gnu11 -O2 -I"$WDL_TOP/test/mpi" -o "$dir/hello" "$WDL_TOP/test/mpi/hello.c" || exit 1

(cd "$dir" && timeout 20 ./hello > out 2>&1) || fail "without mpiexec: status $?"
[ "$(cat "$dir/out")" = ' No Errors' ] || fail "without mpiexec: $(cat "$dir/out")"

# A few seconds on two free cores; the limit is for a machine that has other work.
timeout 60 "$MPIEXEC" -n 64 "$dir/hello" > "$dir/out" 2>&1 || fail "64 processes: status $?"
[ "$(cat "$dir/out")" = ' No Errors' ] || fail "64 processes: $(cat "$dir/out")"

# Process groups of their own, to be ended with their children, but one session, which is what Linux
# shares the processors among.
"$MPIEXEC" -n 3 sh -c 'cut -d " " -f 5,6 "/proc/$$/stat"' > "$dir/out" 2>&1
[ "$(cut -d ' ' -f 1 "$dir/out" | sort -u | wc -l)" = 3 ] || fail "process groups: $(cat "$dir/out")"
[ "$(cut -d ' ' -f 2 "$dir/out" | sort -u | wc -l)" = 1 ] || fail "sessions: $(cat "$dir/out")"

# refused TLS TEXT [WHAT]: two processes, whatever is the first they do, end with an error that holds TEXT, soon.
refused()
{
    UCX_TLS=$1 timeout 30 "$MPIEXEC" -n 2 "$dir/hello" ${3:+"$3"} > "$dir/out" 2>&1
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] || fail "UCX_TLS=$1 ${3-}: status $status"
    grep -qF -- "$2" "$dir/out" || fail "UCX_TLS=$1 ${3-}: no '$2' in: $(cat "$dir/out")"
}
(cd "$dir" && timeout 20 ./hello session > out 2>&1) || fail "sessions without mpiexec: status $?"
[ "$(cat "$dir/out")" = ' No Errors' ] || fail "sessions without mpiexec: $(cat "$dir/out")"
refused nonsense "UCX_TLS is 'nonsense': unset it, or name transports that \`ucx_info -d\` lists"
(
    ulimit -n 25
    ! UCX_TLS=tcp,self timeout 30 "$MPIEXEC" -n 2 "$dir/hello" > "$dir/out" 2>&1
) || fail "with 25 open files it starts"
grep -q 'may have 25 files open: raise that (ulimit -n)' "$dir/out" || fail "25 open files: $(cat "$dir/out")"
for what in '' ends reduces shows; do
    refused self 'cannot be reached' $what
done
for what in ends reduces shows; do
    timeout 30 "$MPIEXEC" -n 2 "$dir/hello" $what > "$dir/out" 2>&1 || fail "hello $what: status $?"
    [ "$(cat "$dir/out")" = ' No Errors' ] || fail "hello $what: $(cat "$dir/out")"
done
[ $failures -eq 0 ]
