#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# Tests of maint/quickstart with every tool it calls replaced: the steps, resuming, packages, failures.
set -u
top=${WDL_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
fail()
{
    echo "$*"
    failures=$((failures + 1))
}
says()
{
    grep -qF -- "$1" "$dir/out" || fail "expected '$1', got: $(cat "$dir/out")"
}
tool()
{
    printf '#!/bin/sh\n%s\n' "$2" > "$1"
    chmod +x "$1"
}

mkdir -p "$dir/project/maint" "$dir/project/examples" "$dir/bin" "$dir/prefix/bin" "$dir/prefix/include"
cp "$top/maint/quickstart" "$top/maint/lib.sh" "$dir/project/maint/"
echo 'int main(void) { return 0; }' > "$dir/project/examples/one.c"
printf '# a comment\none 4 arg=-x arg=2 resultTest=AnyOutput\n' > "$dir/project/examples/testlist"
touch "$dir/prefix/include/mpi.h"
# Steps are recorded with their arguments; FAIL names the one that fails.
tool "$dir/project/maint/build-mpich" 'echo "$*" >> "'"$dir"'/steps"; echo "output of $1"; [ "$1" != "${FAIL-}" ]'
tool "$dir/prefix/bin/mpicc" 'while [ "$1" != -o ]; do shift; done; echo : > "$2"; chmod +x "$2"'
tool "$dir/prefix/bin/mpiexec" '[ -z "${BAD_EXAMPLE-}" ] || { echo boom; exit 3; }; echo "ran $*"'
tool "$dir/prefix/bin/mpichversion" 'echo "MPICH Device:    windlass:ucx"'
tool "$dir/bin/dpkg-query" 'for p; do :; done; [ "$p" != "${MISSING-}" ] && echo "install ok installed"'
tool "$dir/bin/id" 'echo "${FAKE_ID-1000}"'
tool "$dir/bin/sudo" 'exit 1'
tool "$dir/bin/apt-get" 'echo "apt-get $*" >> "'"$dir"'/apt"'
quickstart()
{
    : > "$dir/steps"
    PATH="$dir/bin:$PATH" WORK="$dir/work" PREFIX="$dir/prefix" \
        "$dir/project/maint/quickstart" "$@" > "$dir/out" 2>&1 < /dev/null
}

quickstart --help || fail "--help fails"
says 'quickstart [OPTIONS] [-- ARGUMENTS]'
[ ! -s "$dir/steps" ] || fail "--help does something"
! quickstart --nonsense || fail "an unknown option is not refused"
! quickstart --jobs many || fail "--jobs many is not refused"

quickstart -- --enable-g=dbg 'X=a b' || fail "$(cat "$dir/out")"
[ "$(cat "$dir/steps")" = "copy
graft
autogen
configure -- --enable-g=dbg X=a b
build
install" ] || fail "wrong steps: $(cat "$dir/steps")"
says '[8/8] examples'
says "mpicc       $dir/prefix/bin/mpicc"
says "mpiexec     $dir/prefix/bin/mpiexec"
says 'device      windlass:ucx'
says "ran -n 4 $dir/work/examples/one -x 2"
grep -q 'output of build' "$dir/work/log/build.log" || fail "the log is not complete"

! FAIL=configure quickstart || fail "a failed step goes unnoticed"
says "MPICH's configure: FAILED, status 1, log $dir/work/log/configure.log"
says 'output of configure'
[ "$(tail -n 1 "$dir/steps")" = 'configure --' ] || fail "goes on after a failure: $(cat "$dir/steps")"

tool "$dir/project/maint/build-mpich" '[ "$1" != build ] || { echo "  CC       a.lo"; sleep 2; }'
PROGRESS_S=1 quickstart || fail "$(cat "$dir/out")"
grep -Eq '^\[6/8\] build \.\.\. [0-9]+:[0-9]{2}, 1 files compiled$' "$dir/out" ||
    fail "no progress line: $(cat "$dir/out")"
! grep -q 'maint/quickstart: line' "$dir/out" || fail "the shell complains: $(cat "$dir/out")"

tool "$dir/project/maint/build-mpich" 'echo "$JOBS" > "'"$dir"'/jobs"'
JOBS=7 quickstart && [ "$(cat "$dir/jobs")" = 7 ] || fail "JOBS=7: $(cat "$dir/jobs")"
JOBS=7 quickstart --jobs 3 && [ "$(cat "$dir/jobs")" = 3 ] || fail "--jobs 3: $(cat "$dir/jobs")"
! JOBS=many quickstart || fail "JOBS=many is not refused"

! BAD_EXAMPLE=1 quickstart || fail "a failed example goes unnoticed"
says 'FAILED with status 3'

! MISSING=libucx-dev quickstart || fail "missing packages go unnoticed"
says 'apt-get update && apt-get install -y --no-install-recommends libucx-dev'
[ ! -s "$dir/steps" ] && [ ! -e "$dir/apt" ] || fail "goes on without packages"
MISSING=libucx-dev quickstart --no-packages || fail "--no-packages: $(cat "$dir/out")"
FAKE_ID=0 MISSING=libucx-dev quickstart || fail "as root: $(cat "$dir/out")"
grep -q 'install -y --no-install-recommends libucx-dev' "$dir/apt" || fail "as root nothing is installed"

# What can never be built in is refused before anything is installed.
rm "$dir/apt"
! PATH="$dir/bin:$PATH" FAKE_ID=0 MISSING=libucx-dev WORK="$dir/a b" PREFIX="$dir/prefix" \
    "$dir/project/maint/quickstart" > "$dir/out" 2>&1 < /dev/null || fail "a blank in WORK is not refused"
says 'with a blank in its name'
[ ! -e "$dir/apt" ] || fail "packages are installed first"
# clang's sanitizers are a package that clang only recommends; rank_dies.sh wants pgrep.
for package in libclang-rt-dev procps; do
    ! MISSING=$package quickstart || fail "$package is not wanted"
done

[ $failures -eq 0 ]
