/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Two ranks hold a shared lock each and take the other's; two more want each of these alone in the
 * meantime. Whoever holds a lock does not wait behind those who may be waiting for it: no circle.
 */
#include "testing.h"
#include <unistd.h>

enum { ROUNDS = 20, RANKS = 6, HELD_US = 3000 };

static void read_from(MPI_Win win, int target)
{
    int value;
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Get(&value, 1, MPI_INT, target, 0, 1, MPI_INT, win);
    MPI_Win_flush(target, win);
    t_check(value >= 0 && value <= ROUNDS, "rank %d has %d", target, value);
}

int main(int argc, char **argv)
{
    int *memory;
    MPI_Win win;
    t_begin(&argc, &argv);
    t_check(t_size >= RANKS, "%d ranks are wanted", RANKS);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t_rank, 0, win);
    *memory = 0;
    MPI_Win_unlock(t_rank, win);
    for (int round = 1; round <= ROUNDS; round++) {
        int own = 4 + t_rank % 2, other = 5 - t_rank % 2;
        MPI_Barrier(MPI_COMM_WORLD);
        if (t_rank < 2) {
            read_from(win, own);
            usleep(HELD_US);
            for (int i = 0; i < 2; i++) {
                read_from(win, other);
                MPI_Win_unlock(other, win);
            }
            MPI_Win_unlock(own, win);
        } else if (t_rank < 4) {
            usleep(HELD_US / 2);
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, own, 0, win);
            MPI_Put(&round, 1, MPI_INT, own, 0, 1, MPI_INT, win);
            MPI_Win_unlock(own, win);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, t_rank, 0, win);
    t_check(*memory == (t_rank < 4 ? 0 : ROUNDS), "%d", *memory);
    MPI_Win_unlock(t_rank, win);
    MPI_Win_free(&win);
    return t_end();
}
