#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory. Tests of maint/graft on a small fake MPICH.
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

# A project of our shape, so that its files can be changed, and a fake MPICH.
mkdir -p "$dir/project/maint" "$dir/project/src/base" "$dir/mpich/maint" "$dir/mpich/src/mpid"
cp "$top/maint/graft" "$top/maint/lib.sh" "$dir/project/maint/"
echo one > "$dir/project/src/base/one.c"
echo two > "$dir/project/src/base/two.c"
echo 'm4_define([MPICH_VERSION_m4],[4.0.2])dnl' > "$dir/mpich/maint/version.m4"
echo 'include $(top_srcdir)/src/mpid/common/Makefile.mk' > "$dir/mpich/src/mpid/Makefile.mk"
graft()
{
    "$dir/project/maint/graft" "$dir/mpich" > "$dir/out" 2>&1
}
copy=$dir/mpich/src/mpid/windlass
same()
{
    diff -r "$dir/project/src" "$copy" > "$dir/diff" 2>&1 || fail "$1: the copy differs: $(cat "$dir/diff")"
}

graft || fail "first graft: $(cat "$dir/out")"
same "first graft"

touch -d '2001-01-01' "$copy/base/one.c" "$copy/base/two.c" "$dir/mpich/src/mpid/Makefile.mk"
graft || fail "second graft: $(cat "$dir/out")"
[ ! -s "$dir/out" ] || fail "a second graft is not silent: $(cat "$dir/out")"
[ -z "$(find "$dir/mpich/src" -type f -newermt 2002-01-01)" ] || fail "a second graft touched something"

# A file that went back to an older version must look new to make.
echo older > "$dir/project/src/base/one.c"
touch -d '2000-01-01' "$dir/project/src/base/one.c"
graft || fail "third graft: $(cat "$dir/out")"
same "a changed file"
[ "$(find "$copy" -type f -newermt 2002-01-01)" = "$copy/base/one.c" ] || fail "not the changed file alone was written"

rm "$dir/project/src/base/two.c"
mkdir -p "$dir/project/src/new"
echo three > "$dir/project/src/new/three.c"
graft || fail "fourth graft: $(cat "$dir/out")"
same "one file gone, one new"

rm -r "$dir/project/src/new"
graft || fail "fifth graft: $(cat "$dir/out")"
[ ! -d "$copy/new" ] || fail "an empty folder stays"

lines=$(grep -c windlass "$dir/mpich/src/mpid/Makefile.mk")
[ "$lines" = 1 ] || fail "$lines include lines instead of 1"

for version in 4.0.1 4.0.20 4.1 5.0.0; do
    echo "m4_define([MPICH_VERSION_m4],[$version])dnl" > "$dir/mpich/maint/version.m4"
    ! graft || fail "MPICH $version is not refused"
    grep -q "is MPICH $version; windlass is made for MPICH 4.0.2" "$dir/out" || fail "unclear: $(cat "$dir/out")"
done
rm "$dir/mpich/maint/version.m4"
! graft || fail "what is not MPICH is not refused"
grep -q 'is not the source of MPICH' "$dir/out" || fail "unclear: $(cat "$dir/out")"

[ $failures -eq 0 ]
