/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A target that computes, and does not call MPI, delays nobody: it turns in a loop until it sees
 * the operations of rank 0 in its memory, and gives up after long. On every flavour of window, and
 * for every kind of operation, with locks of both kinds. With the argument "alone", an operation at
 * a time: within a node these need nobody at the target, not even a thread. With the argument
 * "quiet": what the progress thread costs a process that has nothing to do; "waiting": ... and a
 * nonblocking collective that waits for another rank.
 */
#include "testing.h"
#include <sys/resource.h>
#include <unistd.h>

enum { CELLS = 64, ROUNDS = 20 };
static const double GIVE_UP_S = 20;
static int alone;               /* a flush after every operation */

static void operate(const struct t_win *w, int target, int64_t round)
{
    int64_t one = 1, old, big[CELLS / 2];
    MPI_Win_lock(round % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, w->win);
    MPI_Accumulate(&one, 1, MPI_INT64_T, target, w->at[target] + 8, 1, MPI_INT64_T, MPI_SUM,
                   w->win);
    if (alone)
        MPI_Win_flush(target, w->win);
    MPI_Fetch_and_op(&one, &old, MPI_INT64_T, target, w->at[target] + 16, MPI_SUM, w->win);
    MPI_Win_flush(target, w->win);
    t_check(old == round, "ticket %d instead of %d", (int) old, (int) round);
    for (int i = 0; i < CELLS / 2; i++)
        big[i] = round * 100 + i;
    MPI_Put(big, CELLS / 2, MPI_INT64_T, target, w->at[target] + 24, CELLS / 2, MPI_INT64_T,
            w->win);
    MPI_Win_flush(target, w->win);
    memset(big, 0, sizeof big);
    MPI_Get(big, CELLS / 2, MPI_INT64_T, target, w->at[target] + 24, CELLS / 2, MPI_INT64_T,
            w->win);
    MPI_Win_unlock(target, w->win);
    for (int i = 0; i < CELLS / 2; i++)
        t_check(big[i] == round * 100 + i, "cell %d is %d", i, (int) big[i]);
}

/* Rank 0 operates on the last rank, and then says so there. */
static void one_flavour(enum t_flavour flavour)
{
    struct t_win w = t_win_make(MPI_COMM_WORLD, flavour, CELLS * 8, 1);
    int target = w.size - 1;
    MPI_Barrier(w.comm);
    if (w.rank == 0) {
        int64_t done = 1;
        for (int64_t round = 0; round < ROUNDS; round++)
            operate(&w, target, round);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win);
        MPI_Accumulate(&done, 1, MPI_INT64_T, target, w.at[target], 1, MPI_INT64_T, MPI_REPLACE,
                       w.win);
        MPI_Win_unlock(target, w.win);
    } else if (w.rank == target) {
        const volatile int64_t *done = (int64_t *) w.base;
        double start = MPI_Wtime(); /* a clock, no progress */
        while (!*done && MPI_Wtime() - start < GIVE_UP_S)
            ;
        t_check(*done, "%s: nothing came while the target computed", t_flavour_name[flavour]);
    }
    MPI_Barrier(w.comm);
    t_win_free(&w);
}

static double seconds(struct timeval t)
{
    return (double) t.tv_sec + (double) t.tv_usec * 1e-6;
}

/* A sleep with so many wake-ups of the thread, and a few more: what it took, of a core. */
static double sleep_cheaply(double wakes_per_s, double spare)
{
    struct rusage before, after;
    double slept = MPI_Wtime();
    getrusage(RUSAGE_SELF, &before);
    sleep(2);
    getrusage(RUSAGE_SELF, &after);
    slept = MPI_Wtime() - slept;
    double used = seconds(after.ru_utime) + seconds(after.ru_stime) - seconds(before.ru_utime) -
                  seconds(before.ru_stime);
    long wakes = after.ru_nvcsw - before.ru_nvcsw;
    t_check((double) wakes <= slept * wakes_per_s + spare, "%ld wake-ups in %g s of sleep", wakes,
            slept);
    return used / slept;
}

/* The thread wakes every 20 ms, since a peer's first message may not wake it. */
static double quiet(void)
{
    struct t_win w = t_win_make(MPI_COMM_WORLD, T_CREATE, CELLS * 8, 1);
    double took = sleep_cheaply(50, 10);
    MPI_Barrier(w.comm);
    t_win_free(&w);
    return took;
}

/* What comes through memory wakes nobody: every 16 ms after a while, more often at first. */
static double waiting(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    double took = sleep_cheaply(62.5, 60);
    if (rank != 0)
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return took;
}

/* Under 1 % of a core on every rank. Other programs on the machine make each wake-up dearer, and
 * none makes one cheaper: the least of three tries counts. */
static void is_cheap(double (*sleeps)(void))
{
    enum { TRIES = 3 };
    double took = 1;
    for (int i = 0; i < TRIES && took > 0.01; i++) {
        double own = sleeps();
        MPI_Allreduce(&own, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    t_check(took <= 0.01, "a sleep took %g of a core", took);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    if (argc > 1 && strcmp(argv[1], "quiet") == 0) {
        is_cheap(quiet);
        return t_end();
    }
    if (argc > 1 && strcmp(argv[1], "waiting") == 0) {
        is_cheap(waiting);
        return t_end();
    }
    alone = argc > 1 && strcmp(argv[1], "alone") == 0;
    for (int flavour = 0; flavour < T_FLAVOURS; flavour++)
        if (flavour != T_SHARED || !getenv("MPIR_CVAR_NUM_CLIQUES"))
            one_flavour((enum t_flavour) flavour);
    return t_end();
}
