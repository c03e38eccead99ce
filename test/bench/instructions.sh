#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# instructions.sh [fast]: the instructions of calls on their short paths, counted by maint/bench: each
# at most what is written here, a few per cent above what they take with gcc 12 (MPI_Put may take 215
# by what Windlass promises; 100 with `fast`, the library without checks of arguments). UCX's own are in
# those of MPI_Send and MPI_Recv, and in the looks of a flush and an unlock.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if ! PREFIX=$(dirname "$(dirname "$MPICC")") "$WDL_TOP/maint/bench" rma --instructions --peers windlass \
    --no-packages --out "$dir" > "$dir/out" 2>&1; then
    echo "maint/bench rma --instructions fails:"
    cat "$dir/out"
    exit 1
fi
while read -r checked fast call; do
    most=$checked
    [ "${1-}" != fast ] || most=$fast
    awk -F '\t' -v call="$call" -v most="$most" '
        $1 == call { found = 1; if ($3 !~ /^[0-9.]+$/ || $3 > most) { print call ": " $3 " instructions, at most " most; exit 1 } }
        END { if (!found) { print call ": not counted"; exit 1 } }' "$dir/instructions.tsv" ||
        touch "$dir/failed"
done << 'END'
157 100 MPI_Put
156  99 MPI_Get
245 172 MPI_Accumulate
380 317 MPI_Accumulate of 64 bytes
195 139 MPI_Fetch_and_op
103  66 MPI_Win_flush
141 116 MPI_Win_lock
137 103 MPI_Win_unlock
165 141 MPI_Win_lock shared
143 103 MPI_Win_unlock shared
185 151 MPI_Win_lock exclusive
151 103 MPI_Win_unlock exclusive
450 400 MPI_Send
600 550 MPI_Recv
END
test ! -e "$dir/failed"
