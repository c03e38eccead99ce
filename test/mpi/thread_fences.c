/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * thread_fences [create|allocate|dynamic]: MPI_THREAD_MULTIPLE. One thread of each rank fences, and
 * another one issues operations to a neighbour all the while, short and long (seed 001, RMA +
 * Threads): each fence ends, whatever is issued beside it, and nothing is lost or done twice.
 */
#include "testing.h"
#include <pthread.h>
#include <sched.h>

enum { FENCES = 60, LEAST = 200, LONG_EVERY = 64, LONG_BYTES = 100000 };
/* Places in a window: a sum, one by MPI_Fetch_and_op, long puts. */
enum { SUM = 0, FETCHED = 8, LONGS = 16 };

static struct t_win w;
static int next;
static char *longs;
static _Atomic int over;
static _Atomic int64_t issued;

/* No less than LEAST, so that the fences have something to wait for. */
static void *issue(void *arg)
{
    static const int64_t one = 1;
    static int64_t before;
    (void) arg;
    for (int64_t i = 1; !over || i <= LEAST; i++) {
        MPI_Accumulate(&one, 1, MPI_INT64_T, next, w.at[next] + SUM, 1, MPI_INT64_T, MPI_SUM,
                       w.win);
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, next, w.at[next] + FETCHED, MPI_SUM, w.win);
        if (i % LONG_EVERY == 0)
            MPI_Put(longs, LONG_BYTES, MPI_BYTE, next, w.at[next] + LONGS, LONG_BYTES, MPI_BYTE,
                    w.win);
        issued = i;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static const int assertions[] = {0, MPI_MODE_NOPUT, MPI_MODE_NOSTORE};
    pthread_t id;
    int64_t came, sums[2];
    t_begin_at(&argc, &argv, MPI_THREAD_MULTIPLE);
    w = t_win_make(MPI_COMM_WORLD, t_flavour_of(argc, argv), LONGS + LONG_BYTES, 1);
    int last = (w.rank + w.size - 1) % w.size;
    next = (w.rank + 1) % w.size;
    longs = t_alloc(LONG_BYTES);
    memset(longs, 1 + w.rank, LONG_BYTES);
    MPI_Win_fence(0, w.win);
    pthread_create(&id, NULL, issue, NULL);
    while (issued == 0)
        sched_yield();
    for (int i = 0; i < FENCES; i++)
        MPI_Win_fence(assertions[i % 3], w.win);
    over = 1;
    pthread_join(id, NULL);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
    int64_t mine = issued;
    MPI_Sendrecv(&mine, 1, MPI_INT64_T, next, 0, &came, 1, MPI_INT64_T, last, 0, w.comm,
                 MPI_STATUS_IGNORE);
    memcpy(sums, w.base, sizeof sums);
    t_check(sums[0] == came && sums[1] == came, "%ld and %ld came of %ld", (long) sums[0],
            (long) sums[1], (long) came);
    memset(longs, 1 + last, LONG_BYTES);
    t_check(memcmp(w.base + LONGS, longs, LONG_BYTES) == 0, "the long put is not whole");
    free(longs);
    t_win_free(&w);
    return t_end();
}
