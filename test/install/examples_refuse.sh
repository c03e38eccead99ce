#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# Examples say how they are called, and fail, where they are called wrongly; they do not do something else.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

for name in heat gups counter order; do
    "$MPICC" -std=gnu11 -O2 -o "$dir/$name" "$WDL_TOP/examples/$name.c" -lm || exit 1
done
while read -r name arguments; do
    # shellcheck disable=SC2086
    timeout 60 "$MPIEXEC" -n 2 "$dir/$name" $arguments > "$dir/out" 2>&1 < /dev/null
    status=$?
    if [ $status -ne 2 ] || [ "$(grep -c "^usage: $name " "$dir/out")" -ne 1 ]; then
        echo "$name $arguments: status $status: $(cat "$dir/out")"
        failures=$((failures + 1))
    fi
done << END
heat nonsense
heat fence x
heat fence 3
heat fence 64 0
heat fence 64 8 more
gups nonsense
gups fetch x
gups fetch 10 0
counter x
counter 0
counter 10x
order x
order -5
END
[ $failures -eq 0 ]
