#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# MPICH's configure with the device grafted in says clearly what it cannot do.
set -u
configure=$WDL_WORK/mpich/source/configure
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

# What the installed MPICH's configure found out is not looked for five times again, but for UCX, and the shell that reads
# a line fastest reads the 68,000 of it.
sed -n '/^[a-z]*_cv_[A-Za-z0-9_]*=/p' "$WDL_WORK/mpich/build/config.log" | grep -v '_uc[ps]_' > "$dir/known"
[ -s "$dir/known" ] || { echo "configure's findings are not in its config.log"; failures=1; }
CONFIG_SHELL=/bin/sh
export CONFIG_SHELL

# refuses TEXT ARGUMENT...: configure fails and its last words hold TEXT.
refuses()
{
    text=$1
    shift
    mkdir "$dir/build"
    cp "$dir/known" "$dir/cache"
    if (cd "$dir/build" && "$CONFIG_SHELL" "$configure" --cache-file=../cache --disable-fortran --disable-cxx "$@" > ../out 2>&1); then
        echo "not refused: $*"
        failures=$((failures + 1))
    elif ! tail -n 1 "$dir/out" | grep -qF -- "$text"; then
        echo "$*: expected '$text', got: $(tail -n 1 "$dir/out")"
        failures=$((failures + 1))
    fi
    rm -rf "$dir/build"
}

get='Install UCX 1.12 or newer (Debian: apt-get install libucx-dev), or say where it is with --with-ucx=DIR.'
refuses 'no netmod "nonsense"; the netmods there are: ucx' --with-device=windlass:nonsense
refuses "$get" --with-device=windlass:ucx --with-ucx=no
refuses "there is no $dir/nowhere/include/ucp/api/ucp.h" --with-device=windlass --with-ucx="$dir/nowhere"

# A UCX that calls itself 1.11, and one without a header (it stands before the system's).
header=$(echo '#include <ucp/api/ucp_version.h>' | cc -E - | sed -n 's/^# 1 "\(.*ucp_version.h\)".*/\1/p' | head -n 1)
mkdir -p "$dir/old/include/ucp/api" "$dir/none/ucp/api"
cp "$(dirname "$header")"/*.h "$dir/old/include/ucp/api/"
sed -i 's/UCP_VERSION(1, [0-9]*)$/UCP_VERSION(1, 11)/' "$dir/old/include/ucp/api/ucp_version.h"
refuses "too old for the windlass device. $get" --with-device=windlass:ucx --with-ucx="$dir/old"
echo '#error not here' > "$dir/none/ucp/api/ucp.h"
refuses "needs UCX and did not find it. $get" --with-device=windlass:ucx --with-ucx-include="$dir/none"

[ $failures -eq 0 ]
