#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# maint/bench with our library alone: one short round of each kind, every row with the right data.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0
for kind in p2p rma coll; do
    if ! PREFIX=$(dirname "$(dirname "$MPICC")") "$WDL_TOP/maint/bench" $kind --quick --rounds 1 \
        --batch 0.0005 --limit 100 --peers windlass --no-packages --out "$dir/$kind" > "$dir/out" 2>&1; then
        echo "maint/bench $kind fails:"
        cat "$dir/out" "$dir/$kind/log"
        status=1
    fi
    # A head, and more rows of ours than a run that stopped early would have.
    rows=$(awk -F '\t' '$6 == "windlass" && $8 > 0' "$dir/$kind/rows.tsv" | wc -l)
    if [ "$rows" -lt 11 ]; then
        echo "maint/bench $kind: $rows rows"
        status=1
    fi
done
exit $status
