#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# Tests of maint/get-mpich with MPICH_SRC, and of the private apt configuration, without a network.
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
get()
{
    MPICH_SRC=$1 "$top/maint/get-mpich" "$dir/$2" > "$dir/out" 2>&1
}
says()
{
    grep -q -- "$1" "$dir/out" || fail "expected '$1', got: $(cat "$dir/out")"
}

mkdir -p "$dir/good/maint" "$dir/bad/maint" "$dir/empty"
echo 'm4_define([MPICH_VERSION_m4],[4.0.2])dnl' > "$dir/good/maint/version.m4"
echo 'm4_define([MPICH_VERSION_m4],[4.2.1])dnl' > "$dir/bad/maint/version.m4"
touch -d '2001-01-01' "$dir/good/maint/version.m4"
(cd "$dir" && tar -c -J -f good.tar.xz good && tar -c -f bad.tar bad && echo rubbish > rubbish.tar)

for source in good good.tar.xz; do
    get "$dir/$source" made || fail "$source: $(cat "$dir/out")"
    diff -r "$dir/good" "$dir/made" || fail "$source: not the same"
    [ "$(stat -c %Y "$dir/made/maint/version.m4")" = "$(stat -c %Y "$dir/good/maint/version.m4")" ] ||
        fail "$source: times are not kept"
    get /nonexistent made || fail "what is there is not taken as it is: $(cat "$dir/out")"
    rm -r "$dir/made"
done
for source in bad bad.tar; do
    ! get "$dir/$source" made || fail "$source is not refused"
    says 'is MPICH 4.2.1; windlass is made for MPICH 4.0.2 and no other'
done
! get "$dir/empty" made || fail "an empty directory is not refused"
says 'is not the source of MPICH'
! get "$dir/rubbish.tar" made || fail "rubbish is not refused"
says 'cannot be unpacked'
! get "$dir/nothing" made || fail "a missing directory is not refused"
says 'there is no such directory or tarball'
touch "$dir/good/config.status"
! get "$dir/good" made || fail "a configured source is not refused"
says 'has been configured in place'
[ ! -e "$dir/made" ] && [ ! -e "$dir/made.part" ] || fail "a refusal leaves something behind"

# An apt that records how it is called, and a machine with sources of both forms.
mkdir -p "$dir/bin" "$dir/machine/parts"
cat > "$dir/bin/apt-config" << END
#!/bin/sh
echo "list='$dir/machine/sources.list'"
echo "parts='$dir/machine/parts'"
END
cat > "$dir/bin/apt-get" << 'END'
#!/bin/sh
[ "$1" = -c ] || exit 9
case $* in
    *update*) cp "$2" "${2%/*}/seen.conf" ;;
    *source*) tar -c -J -f mpich_4.0.2.orig.tar.xz -C "$FAKE_SOURCE" good ;;
esac
END
cat > "$dir/bin/apt-cache" << 'END'
#!/bin/sh
echo "Version: ${FAKE_VERSION}-3"
END
chmod +x "$dir/bin/"*
rm "$dir/good/config.status"
echo 'deb [signed-by=/k] http://archive.invalid/debian stable main' > "$dir/machine/sources.list"
echo '# deb http://no.invalid/debian stable main' >> "$dir/machine/sources.list"
printf 'Types: deb\nURIs: http://archive.invalid/debian\nSuites: x\nComponents: main\n' > "$dir/machine/parts/a.sources"
from_archive()
{
    env -u MPICH_SRC PATH="$dir/bin:$PATH" FAKE_SOURCE="$dir" FAKE_VERSION="$1" \
        "$top/maint/get-mpich" "$dir/archive" > "$dir/out" 2>&1
}
! from_archive 4.3.0 || fail "an archive without 4.0.2 is not refused"
says 'no source package of MPICH 4.0.2 (it has: 4.3.0-3)'
says 'MPICH_SRC='
from_archive 4.0.2 || fail "from the archive: $(cat "$dir/out")"
diff -r "$dir/good" "$dir/archive" || fail "from the archive: not the same"
[ "$(cat "$dir/archive.apt/sources.list")" = \
    'deb-src [signed-by=/k] http://archive.invalid/debian stable main' ] || fail "sources.list is wrong"
grep -qx 'Types: deb-src' "$dir/archive.apt/sources.list.d/a.sources" || fail "a.sources is wrong"
grep -q "^Dir::State::lists \"$dir/archive.apt/lists\"" "$dir/archive.apt/seen.conf" || fail "apt writes elsewhere"

[ $failures -eq 0 ]
