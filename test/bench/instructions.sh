#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# The instructions of calls on their short paths, counted by maint/bench: each at most what is
# written here, a few per cent above what they take with gcc 12 (MPI_Put may take 215 by what
# Windlass promises). UCX's own are in those of MPI_Send and MPI_Recv, and in the looks of a flush
# and an unlock.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if ! PREFIX=$(dirname "$(dirname "$MPICC")") "$WDL_TOP/maint/bench" rma --instructions --peers windlass \
    --no-packages --out "$dir" > "$dir/out" 2>&1; then
    echo "maint/bench rma --instructions fails:"
    cat "$dir/out"
    exit 1
fi
while read -r most call; do
    awk -F '\t' -v call="$call" -v most="$most" '
        $1 == call { found = 1; if ($3 !~ /^[0-9.]+$/ || $3 > most) { print call ": " $3 " instructions, at most " most; exit 1 } }
        END { if (!found) { print call ": not counted"; exit 1 } }' "$dir/instructions.tsv" ||
        touch "$dir/failed"
done << 'END'
157 MPI_Put
156 MPI_Get
245 MPI_Accumulate
380 MPI_Accumulate of 64 bytes
195 MPI_Fetch_and_op
103 MPI_Win_flush
141 MPI_Win_lock
137 MPI_Win_unlock
165 MPI_Win_lock shared
143 MPI_Win_unlock shared
185 MPI_Win_lock exclusive
151 MPI_Win_unlock exclusive
450 MPI_Send
600 MPI_Recv
END
test ! -e "$dir/failed"
