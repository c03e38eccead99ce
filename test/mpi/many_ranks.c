/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * More ranks than fit a word of 64 bits, and groups that are told along trees (more than 32 ranks
 * of several nodes): each rank with each other in windows of all flavours, by fence, by post,
 * start, complete and wait, by lock_all, and one after the other by an exclusive lock on one rank.
 */
#include "testing.h"

/* Words of a window: the ranks' own, then sums. */
enum { BY_PSCW, BY_LOCK_ALL, BY_LOCK, SUMS };

static struct t_win w;

static MPI_Aint at(int rank, int word)
{
    return w.at[rank] + word * (MPI_Aint) (w.flavour == T_DYNAMIC ? sizeof(int) : 1);
}

static void check_sum(int sum, int want)
{
    int have;
    memcpy(&have, w.base + (w.size + sum) * (int) sizeof have, sizeof have);
    t_check(have == want, "%s: sum %d is %d instead of %d", t_flavour_name[w.flavour], sum, have,
            want);
}

static void add_to_all(int sum)
{
    static const int one = 1; /* there until the epoch ends */
    for (int r = 0; r < w.size; r++)
        MPI_Accumulate(&one, 1, MPI_INT, r, at(r, w.size + sum), 1, MPI_INT, MPI_SUM, w.win);
}

static void fences(void)
{
    MPI_Win_fence(0, w.win);
    for (int r = 0; r < w.size; r++)
        MPI_Put(&w.rank, 1, MPI_INT, r, at(r, w.rank), 1, MPI_INT, w.win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
    for (int r = 0; r < w.size; r++) {
        int have;
        memcpy(&have, w.base + r * (int) sizeof have, sizeof have);
        t_check(have == r, "%s: rank %d has put %d", t_flavour_name[w.flavour], r, have);
    }
}

static void groups(void)
{
    MPI_Group all;
    MPI_Win_get_group(w.win, &all);
    MPI_Win_post(all, 0, w.win);
    MPI_Win_start(all, 0, w.win);
    add_to_all(BY_PSCW);
    MPI_Win_complete(w.win);
    MPI_Win_wait(w.win);
    check_sum(BY_PSCW, w.size);
    MPI_Group_free(&all);
}

static void locks(void)
{
    int have;
    MPI_Win_lock_all(0, w.win);
    add_to_all(BY_LOCK_ALL);
    MPI_Win_unlock_all(w.win);
    for (int k = 0; k < 2; k++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win);
        MPI_Get(&have, 1, MPI_INT, 0, at(0, w.size + BY_LOCK), 1, MPI_INT, w.win);
        MPI_Win_flush(0, w.win);
        have++;
        MPI_Put(&have, 1, MPI_INT, 0, at(0, w.size + BY_LOCK), 1, MPI_INT, w.win);
        MPI_Win_unlock(0, w.win);
    }
    MPI_Barrier(w.comm);
    MPI_Win_lock(MPI_LOCK_SHARED, w.rank, 0, w.win);
    check_sum(BY_LOCK_ALL, w.size);
    check_sum(BY_LOCK, w.rank == 0 ? 2 * w.size : 0);
    MPI_Win_unlock(w.rank, w.win);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    for (int f = 0; f < T_FLAVOURS; f++) {
        w = t_win_make(MPI_COMM_WORLD, (enum t_flavour) f, sizeof(int) * (size_t) (t_size + SUMS),
                       sizeof(int));
        fences();
        groups();
        locks();
        t_win_free(&w);
    }
    return t_end();
}
