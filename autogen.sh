#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# Makes ./configure. Needed after a clone; a tarball of `make dist` has it already.
set -eu
cd "$(dirname "$0")"
for tool in autoconf automake; do
    command -v $tool > /dev/null || {
        echo "autogen.sh: $tool is missing (Debian: apt-get install autoconf automake)" >&2
        exit 1
    }
done
autoreconf --install --force "$@"
