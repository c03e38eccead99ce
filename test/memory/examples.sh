#!/bin/sh
# Part of Windlass. See COPYRIGHT in the top-level directory.
# Every example with 2 processes under valgrind: no invalid access, nothing definitely lost at the end.
set -u
. "$WDL_TOP/test/memory/clean.sh"

# A program that is not clean, to see that this is noticed.
cat > "$dir/lossy.c" << 'END'
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    volatile char *lost = malloc(77);
    lost[0] = 1;
    lost = NULL;
    MPI_Finalize();
    return 0;
}
END
"$MPICC" -g -O0 -o "$dir/lossy" "$dir/lossy.c" || exit 1
clean lossy "$dir/lossy" > "$dir/report"
if ! grep -q '77 bytes in 1 blocks are definitely lost' "$dir/report"; then
    echo "a loss is not noticed: $(cat "$dir/report")"
    exit 1
fi
failures=0

grep -v '^#' "$WDL_TOP/examples/testlist" | while read -r program _ rest; do
    [ -n "$program" ] || continue
    [ -x "$dir/$program" ] || "$MPICC" -g -O1 -o "$dir/$program" "$WDL_TOP/examples/$program.c" -lm || exit 1
    arguments=
    for word in $rest; do
        case $word in arg=*) arguments="$arguments ${word#arg=}" ;; esac
    done
    # shellcheck disable=SC2086
    clean "$program$(echo "$arguments" | tr ' ' -)" "$dir/$program" $arguments
    [ $failures -eq 0 ] || exit 1
done || exit 1
exit 0
