#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# The installed MPI says what it is, and its compiler wrapper carries nothing of the build.
set -u
failures=0
fail()
{
    echo "$*"
    failures=$((failures + 1))
}
mpichversion | grep -q '^MPICH Version:[[:space:]]*4\.0\.2$' || fail "not MPICH 4.0.2: $(mpichversion)"
mpichversion | grep -q '^MPICH Device:[[:space:]]*windlass:ucx$' || fail "not windlass:ucx: $(mpichversion)"
for wrapper in mpicc mpicxx mpifort; do
    command -v $wrapper > /dev/null || continue
    case $($wrapper -show) in
        *ccache* | *"$WDL_WORK"*) fail "$wrapper depends on the build: $($wrapper -show)" ;;
    esac
done
[ $failures -eq 0 ]
