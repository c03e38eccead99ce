/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A structure that all ranks replace and read as MPI_BYTE is never seen half old and half new,
 * whatever path the operations take: programs that build lists in windows depend on it. `many`
 * after the flavour: for windows whose operations take less than a microsecond; ten seconds are
 * enough where they do not.
 */
#include "testing.h"

enum { BYTES = 16, TURNS = 500, MANY = 100000, SECONDS = 10 };

int main(int argc, char **argv)
{
    char mine[BYTES], seen[BYTES];
    t_begin(&argc, &argv);
    struct t_win w = t_win_make(MPI_COMM_WORLD, t_flavour_of(argc, argv), BYTES, 1);
    int torn = 0, changed = 0, turns = argc > 2 ? MANY : TURNS;
    char before = 0;
    MPI_Win_lock_all(0, w.win);
    MPI_Barrier(w.comm);
    double begin = MPI_Wtime();
    for (int k = 0; k < turns && (k < TURNS || MPI_Wtime() - begin < SECONDS); k++) {
        memset(mine, 1 + (k + w.rank * 31) % 100, BYTES);
        MPI_Accumulate(mine, BYTES, MPI_BYTE, 0, w.at[0], BYTES, MPI_BYTE, MPI_REPLACE, w.win);
        MPI_Get_accumulate(NULL, 0, MPI_BYTE, seen, BYTES, MPI_BYTE, 0, w.at[0], BYTES, MPI_BYTE,
                           MPI_NO_OP, w.win);
        MPI_Win_flush(0, w.win);
        for (int i = 1; i < BYTES; i++)
            torn += seen[i] != seen[0];
        changed += seen[0] != before;
        before = seen[0];
    }
    MPI_Win_unlock_all(w.win);
    t_check(torn == 0, "%d bytes were of another structure than the first", torn);
    t_check(changed > 0, "nothing was replaced");
    t_win_free(&w);
    return t_end();
}
