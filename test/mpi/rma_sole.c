/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * rma_sole [flavour]: accumulates of all kinds at the same places, by turns under exclusive locks,
 * under shared ones, in lock_all, between post and wait of one origin and of two, between fences:
 * nothing is lost. Then the same with windlass_nonoverlapping, each rank at places of its own: all
 * have exclusive locks of one rank at a time.
 */
#include "sole.h"

enum { ROUNDS = 24 };

static double old[FEW];

static void by_lock(const struct t_win *w, int target, int exclusive)
{
    MPI_Win_lock(exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, w->win);
    add_all(w, target, 0, old);
    MPI_Win_unlock(target, w->win);
}

static void by_lock_all(const struct t_win *w, int target)
{
    MPI_Win_lock_all(0, w->win);
    add_all(w, target, 0, old);
    MPI_Win_unlock_all(w->win);
}

/* To the right, who posts to us alone; or to both neighbours, who post to both. */
static void by_post(const struct t_win *w, int both)
{
    int left = (w->rank + w->size - 1) % w->size, right = (w->rank + 1) % w->size;
    int origins[2] = {left, right}, targets[2] = {right, left}, n = both && left != right ? 2 : 1;
    MPI_Group all, post, start;
    MPI_Win_get_group(w->win, &all);
    MPI_Group_incl(all, n, origins, &post);
    MPI_Group_incl(all, n, targets, &start);
    MPI_Win_post(post, 0, w->win);
    MPI_Win_start(start, 0, w->win);
    for (int i = 0; i < n; i++)
        add_plain(w, targets[i], 0, old);
    MPI_Win_complete(w->win);
    MPI_Win_wait(w->win);
    MPI_Group_free(&all);
    MPI_Group_free(&post);
    MPI_Group_free(&start);
}

static void by_fence(const struct t_win *w, int target)
{
    MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win);
    add_plain(w, target, 0, old);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
}

static void storm(const struct t_win *w)
{
    int plain = 0, whole = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int target = (w->rank + round) % w->size;
        by_lock(w, target, 1);
        by_lock(w, target, round % 2);
        by_lock_all(w, target);
        by_lock(w, target, 1);
        whole += 4;
        if (round % 4 < 3)
            continue;
        MPI_Barrier(w->comm);
        by_post(w, 0);
        by_post(w, 1);
        plain += 1 + (w->size > 2 ? 2 : 1);
        by_fence(w, target);
        plain++;
        MPI_Barrier(w->comm);
    }
    MPI_Barrier(w->comm);
    check_counts(w, 0, plain + whole, whole);
    MPI_Barrier(w->comm);
}

/* Everybody is at rank 0 at the same time. */
static void apart(const struct t_win *w)
{
    MPI_Aint own = (MPI_Aint) w->rank * CELLS;
    for (int round = 0; round < ROUNDS; round++) {
        int kind = round % 3;
        if (kind == 2)
            MPI_Win_lock_all(0, w->win);
        else
            MPI_Win_lock(kind ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, w->win);
        add_all(w, 0, own, old);
        MPI_Barrier(w->comm);
        if (kind == 2)
            MPI_Win_unlock_all(w->win);
        else
            MPI_Win_unlock(0, w->win);
        if (round % 4 == 0) {
            MPI_Barrier(w->comm);
            MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win);
            add_plain(w, 0, own, old);
            MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
        }
    }
    MPI_Barrier(w->comm);
    for (int from = 0; w->rank == 0 && from < w->size; from++)
        check_counts(w, (MPI_Aint) from * CELLS, ROUNDS + ROUNDS / 4, ROUNDS);
    MPI_Barrier(w->comm);
}

int main(int argc, char **argv)
{
    MPI_Info info;
    t_begin(&argc, &argv);
    enum t_flavour flavour = t_flavour_of(argc, argv);
    ones_fill();
    struct t_win w = t_win_make(MPI_COMM_WORLD, flavour, CELLS, 1);
    storm(&w);
    t_win_free(&w);
    MPI_Info_create(&info);
    w = t_win_make(MPI_COMM_WORLD, flavour, CELLS * (size_t) t_size, 1);
    MPI_Info_set(info, "windlass_nonoverlapping", "true");
    MPI_Win_set_info(w.win, info);
    apart(&w);
    /* taken back: locks keep others out again, and all may be at one place */
    MPI_Info_set(info, "windlass_nonoverlapping", "false");
    MPI_Win_set_info(w.win, info);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w.rank, 0, w.win);
    memset(w.base, 0, CELLS);
    MPI_Win_unlock(w.rank, w.win);
    MPI_Barrier(w.comm);
    storm(&w);
    MPI_Info_free(&info);
    t_win_free(&w);
    return t_end();
}
