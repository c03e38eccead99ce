/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * thread_sole [flavour]: MPI_THREAD_MULTIPLE. All threads of a rank accumulate at the same places
 * of a target that the rank alone may update: under its exclusive lock, or between post and wait of
 * this one origin; and, by turns, where others are there, too. Nothing is lost.
 */
#include "sole.h"
#include <pthread.h>

enum { THREADS = 3, ROUNDS = 12 };

static struct t_win w;
static int target, passive;

static void *add(void *arg)
{
    double old[FEW];
    (void) arg;
    for (int i = 0; i < 2; i++)
        if (passive)
            add_all(&w, target, 0, old);
        else
            add_plain(&w, target, 0, old);
    return NULL;
}

/* Of all threads at once; how many of them. */
static int add_together(int at, int is_passive)
{
    pthread_t id[THREADS];
    target = at;
    passive = is_passive;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&id[i], NULL, add, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(id[i], NULL);
    return 2 * THREADS;
}

static int by_post(void)
{
    int left = (w.rank + w.size - 1) % w.size, right = (w.rank + 1) % w.size;
    MPI_Group all, post, start;
    MPI_Win_get_group(w.win, &all);
    MPI_Group_incl(all, 1, &left, &post);
    MPI_Group_incl(all, 1, &right, &start);
    MPI_Barrier(w.comm);
    MPI_Win_post(post, 0, w.win);
    MPI_Win_start(start, 0, w.win);
    int n = add_together(right, 0);
    MPI_Win_complete(w.win);
    MPI_Win_wait(w.win);
    MPI_Barrier(w.comm);
    MPI_Group_free(&all);
    MPI_Group_free(&post);
    MPI_Group_free(&start);
    return n;
}

int main(int argc, char **argv)
{
    int plain = 0, whole = 0;
    t_begin_at(&argc, &argv, MPI_THREAD_MULTIPLE);
    ones_fill();
    w = t_win_make(MPI_COMM_WORLD, t_flavour_of(argc, argv), CELLS, 1);
    for (int round = 0; round < ROUNDS; round++) {
        int at = (w.rank + round) % w.size;
        MPI_Win_lock(round % 3 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, at, 0, w.win);
        whole += add_together(at, 1);
        MPI_Win_unlock(at, w.win);
        if (round % 4 == 3)
            plain += by_post();
    }
    MPI_Barrier(w.comm);
    check_counts(&w, 0, plain + whole, whole);
    t_win_free(&w);
    return t_end();
}
