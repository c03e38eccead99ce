#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# Tests of maint/build-mpich and build-nemesis on trees that are no MPICH's.
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

# The library with the thread sanitizer is never the one without, wherever its step is interrupted.
build=$dir/work/mpich/build
mkdir -p "$build/lib/.libs" "$build/src/mpid/windlass" "$dir/bin"
printf 'lib/libmpi.la:\n\techo "$(CFLAGS)" > lib/.libs/libmpi.so; touch $@\n' > "$build/Makefile"
touch "$build/lib/libmpi.la" "$build/src/mpid/windlass/a.o"
echo plain > "$build/lib/.libs/libmpi.so"
printf '#!/bin/sh\ncase $* in *-delete) exit 1 ;; esac\nexec %s "$@"\n' "$(command -v find)" > "$dir/bin/find"
chmod +x "$dir/bin/find"
tsan()
{
    WORK=$dir/work PREFIX=$dir/prefix "$top/maint/build-mpich" tsan > "$dir/out" 2>&1
}
! PATH=$dir/bin:$PATH tsan || fail "tsan: is not interrupted"
tsan || fail "tsan: $(cat "$dir/out")"
grep -q 'sanitize=thread' "$dir/work/mpich/tsan/lib/.libs/libmpi.so" || fail "tsan: a library without the sanitizer"
[ ! -e "$dir/work/mpich/tsan/src/mpid/windlass/a.o" ] || fail "tsan: an object without the sanitizer"
[ "$(cat "$build/lib/.libs/libmpi.so")" = plain ] || fail "tsan: the other library is changed"

# A peer leaves what is installed, and nothing of what that was made from.
mkdir -p "$dir/source/maint" "$dir/nemesis/source.apt"
echo 'm4_define([MPICH_VERSION_m4],[4.0.2])dnl' > "$dir/source/maint/version.m4"
cat > "$dir/source/configure" << 'END'
#!/bin/sh
prefix=${1#--prefix=}
printf 'all:\ninstall:\n\tmkdir -p %s; touch %s/made\n' "$prefix" "$prefix" > Makefile
END
chmod +x "$dir/source/configure"
MPICH_SRC=$dir/source "$top/maint/build-nemesis" "$dir/nemesis" > "$dir/out" 2>&1 || fail "nemesis: $(cat "$dir/out")"
[ "$(cd "$dir/nemesis" && echo *)" = 'install installed' ] || fail "nemesis: there is $(ls "$dir/nemesis")"
[ -e "$dir/nemesis/install/made" ] || fail "nemesis: nothing is installed"

# Where autotools cannot build is refused.
! MPICH_SRC=$dir/source "$top/maint/build-nemesis" "$dir/a b" > "$dir/out" 2>&1 || fail "nemesis: a blank is not refused"
grep -q 'with a blank in its name' "$dir/out" || fail "nemesis: a blank: $(cat "$dir/out")"
! WORK="$dir/a b" PREFIX=$dir/prefix "$top/maint/build-mpich" copy > "$dir/out" 2>&1 || fail "a blank is not refused"
grep -q 'with a blank in its name' "$dir/out" || fail "a blank: $(cat "$dir/out")"

[ $failures -eq 0 ]
