/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * thread_flushes [create|allocate|dynamic]: MPI_THREAD_MULTIPLE. One thread of each rank issues
 * operations to a neighbour, short and long, and the others flush the same window all the while, by
 * each of MPI's flushes. What was issued before a thread's flush began is at the target as it
 * returns, whoever issued it; nothing is lost, nothing is done twice.
 *
 * Then a thread issues without a pause, and flushes nothing, until another one's flushes have
 * returned: what is issued while a flush waits it does not wait for.
 */
#include "testing.h"
#include <pthread.h>

enum { FLUSHERS = 3, ROUNDS = 300, LONG_EVERY = 50, LONG_BYTES = 300000, COUNTED = 10 };
/* Places in a window: a number that only grows, a sum, the round by MPI_Put; of the second part the
 * number, and what is issued without a pause; then long puts. */
enum { NUMBER = 0, SUM = 8, ROUND = 16, COUNT = 24, PAUSELESS = 32, LONGS = 64 };

static struct t_win w;
static int next;
static _Atomic int64_t issued; /* the last round whose operations have been begun */
static _Atomic int over, faults, flushes;

static void fault(int condition)
{
    if (!condition)
        faults++;
}

static MPI_Aint at(int place)
{
    return w.at[next] + place;
}

static void *flusher(void *arg)
{
    int me = (int) (intptr_t) arg;
    while (!over) {
        int64_t least = issued, number = -1;
        if (me == 0)
            MPI_Win_flush(next, w.win);
        else
            MPI_Win_flush_all(w.win);
        MPI_Fetch_and_op(NULL, &number, MPI_INT64_T, next, at(NUMBER), MPI_NO_OP, w.win);
        if (me == 2)
            MPI_Win_flush_local_all(w.win);
        else
            MPI_Win_flush_local(next, w.win);
        fault(number >= least);
        flushes++;
    }
    return NULL;
}

static void issue(const char *longs)
{
    static int64_t round[ROUNDS + 1];
    const int64_t one = 1;
    for (int64_t i = 1; i <= ROUNDS; i++) {
        int64_t back = -1;
        round[i] = i;
        MPI_Put(&round[i], 1, MPI_INT64_T, next, at(ROUND), 1, MPI_INT64_T, w.win);
        MPI_Accumulate(&one, 1, MPI_INT64_T, next, at(SUM), 1, MPI_INT64_T, MPI_SUM, w.win);
        MPI_Accumulate(&round[i], 1, MPI_INT64_T, next, at(NUMBER), 1, MPI_INT64_T, MPI_REPLACE,
                       w.win);
        issued = i;
        if (i % LONG_EVERY == 0)
            MPI_Put(longs, LONG_BYTES, MPI_BYTE, next, at(LONGS), LONG_BYTES, MPI_BYTE, w.win);
        MPI_Win_flush(next, w.win);
        MPI_Get(&back, 1, MPI_INT64_T, next, at(ROUND), 1, MPI_INT64_T, w.win);
        MPI_Win_flush(next, w.win);
        fault(back == i);
    }
}

/* Flushes that another thread does not make easy; each is to complete what came before it. */
static void counted(void)
{
    for (int64_t i = 1; i <= COUNTED; i++) {
        int64_t number = i, back = -1;
        MPI_Put(&number, 1, MPI_INT64_T, next, at(COUNT), 1, MPI_INT64_T, w.win);
        if (i % 2)
            MPI_Win_flush(next, w.win);
        else
            MPI_Win_flush_all(w.win);
        MPI_Get(&back, 1, MPI_INT64_T, next, at(COUNT), 1, MPI_INT64_T, w.win);
        if (i % 3)
            MPI_Win_flush_local(next, w.win);
        else
            MPI_Win_flush_local_all(w.win);
        fault(back == i);
    }
    over = 1;
}

/* Puts, gets, accumulates, or all of them. */
static void *issue_on(void *arg)
{
    int kind = (int) (intptr_t) arg;
    int64_t into[64];
    const int64_t one = 1;
    for (int64_t i = 0; !over; i++) {
        int now = kind < 3 ? kind : (int) (i % 3);
        if (now == 0)
            MPI_Put(&one, 1, MPI_INT64_T, next, at(PAUSELESS), 1, MPI_INT64_T, w.win);
        else if (now == 1)
            MPI_Get(&into[i % 64], 1, MPI_INT64_T, next, at(PAUSELESS), 1, MPI_INT64_T, w.win);
        else
            MPI_Accumulate(&one, 1, MPI_INT64_T, next, at(PAUSELESS + 8), 1, MPI_INT64_T, MPI_SUM,
                           w.win);
    }
    MPI_Win_flush_local(next, w.win);
    return NULL;
}

static void without_a_pause(void)
{
    for (int kind = 0; kind < 4; kind++) {
        pthread_t id;
        over = 0;
        pthread_create(&id, NULL, issue_on, (void *) (intptr_t) kind);
        counted();
        pthread_join(id, NULL);
    }
}

int main(int argc, char **argv)
{
    pthread_t id[FLUSHERS];
    t_begin_at(&argc, &argv, MPI_THREAD_MULTIPLE);
    w = t_win_make(MPI_COMM_WORLD, t_flavour_of(argc, argv), LONGS + LONG_BYTES, 1);
    next = (w.rank + 1) % w.size;
    char *longs = t_alloc(LONG_BYTES);
    memset(longs, 1 + w.rank, LONG_BYTES);
    MPI_Win_lock_all(0, w.win);
    for (int i = 0; i < FLUSHERS; i++)
        pthread_create(&id[i], NULL, flusher, (void *) (intptr_t) i);
    issue(longs);
    while (flushes < FLUSHERS) /* by whom else there is nobody to be disturbed */
        MPI_Win_flush(next, w.win);
    over = 1;
    for (int i = 0; i < FLUSHERS; i++)
        pthread_join(id[i], NULL);
    without_a_pause();
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(w.comm);
    MPI_Win_lock(MPI_LOCK_SHARED, w.rank, 0, w.win);
    int64_t sum;
    memcpy(&sum, w.base + SUM, sizeof sum);
    t_check(sum == ROUNDS, "%ld accumulates came instead of %d", (long) sum, ROUNDS);
    memset(longs, 1 + (w.rank + w.size - 1) % w.size, LONG_BYTES);
    t_check(memcmp(w.base + LONGS, longs, LONG_BYTES) == 0, "the long put is not whole");
    MPI_Win_unlock(w.rank, w.win);
    t_check(faults == 0, "%d faults in threads", faults);
    free(longs);
    t_win_free(&w);
    return t_end();
}
