/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * lock_order [flavour]: everybody takes two locks, in the same order, and uses them in one order or
 * the other: nobody waits for ever. Of two targets of a window, of two windows, of a target and
 * then of all targets of another window, of all targets of a window and then of one of another.
 */
#include "testing.h"

enum { ROUNDS = 60, WAYS = 4 };

/* Others who share the lock may do the same at one time. */
static void add_one_shared(struct t_win *w, int target)
{
    int64_t value = 1;
    MPI_Accumulate(&value, 1, MPI_INT64_T, target, w->at[target], 1, MPI_INT64_T, MPI_SUM, w->win);
    MPI_Win_flush(target, w->win);
}

static void add_one(struct t_win *w, int target)
{
    int64_t value;
    MPI_Get(&value, 1, MPI_INT64_T, target, w->at[target], 1, MPI_INT64_T, w->win);
    MPI_Win_flush(target, w->win);
    value++;
    MPI_Put(&value, 1, MPI_INT64_T, target, w->at[target], 1, MPI_INT64_T, w->win);
    MPI_Win_flush(target, w->win);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    enum t_flavour flavour = t_flavour_of(argc, argv);
    struct t_win one = t_win_make(MPI_COMM_WORLD, flavour, 64, 8);
    struct t_win other = t_win_make(MPI_COMM_WORLD, flavour, 64, 8);
    for (int round = 0; round < ROUNDS * WAYS; round++) {
        int way = round % WAYS, last = one.size - 1;
        int first_all = way == 3 && one.rank % 3 == 0, second_all = way == 2 && one.rank % 3 == 0;
        struct t_win *second = way == 0 ? &one : &other;
        void (*add_first)(struct t_win *, int) = first_all ? add_one_shared : add_one;
        MPI_Barrier(one.comm);
        if (first_all)
            MPI_Win_lock_all(0, one.win);
        else
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, one.win);
        if (second_all)
            MPI_Win_lock_all(0, second->win);
        else
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, second->win);
        if (one.rank % 2)
            add_first(&one, 0);
        add_one(second, last);
        if (one.rank % 2 == 0)
            add_first(&one, 0);
        if (second_all)
            MPI_Win_unlock_all(second->win);
        else
            MPI_Win_unlock(last, second->win);
        if (first_all)
            MPI_Win_unlock_all(one.win);
        else
            MPI_Win_unlock(0, one.win);
    }
    MPI_Barrier(one.comm);
    int64_t sum[2] = {0}, all[2];
    int64_t *own[2] = {(int64_t *) (void *) one.base, (int64_t *) (void *) other.base};
    struct t_win *windows[2] = {&one, &other};
    for (int i = 0; i < 2; i++) {
        MPI_Win_lock(MPI_LOCK_SHARED, windows[i]->rank, 0, windows[i]->win);
        sum[i] = *own[i];
        MPI_Win_unlock(windows[i]->rank, windows[i]->win);
    }
    MPI_Allreduce(sum, all, 2, MPI_INT64_T, MPI_SUM, one.comm);
    /* the first lock keeps everybody else out of all that is used under it, or those who share it
     * add to its window by atomic updates, and use the second one alone */
    t_check(all[0] == (int64_t) one.size * ROUNDS * (WAYS + 1), "%lld rounds", (long long) all[0]);
    t_check(all[1] == (int64_t) one.size * ROUNDS * (WAYS - 1), "%lld rounds, second window",
            (long long) all[1]);
    t_win_free(&other);
    t_win_free(&one);
    return t_end();
}
