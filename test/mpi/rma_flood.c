/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * rma_flood: rank 0 puts and accumulates without a pause, and without a flush, to the last rank,
 * which is not in MPI meanwhile and has nobody to serve it. What has no room waits in its call, and
 * fills no memory; nothing is lost.
 */
#include "testing.h"
#include <sys/resource.h>
#include <time.h>

enum { WORDS = 2, AWAY_MS = 300, GROWTH_MAX_KB = 64 << 10 };

static long resident_kb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void be_away(int ms)
{
    struct timespec time = {.tv_nsec = ms * 1000000L};
    nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    const int64_t one = 1;
    int64_t number, sum = -1, last = -1;
    t_begin(&argc, &argv);
    int target = t_size - 1;
    struct t_win w = t_win_make(MPI_COMM_WORLD, T_ALLOCATE, WORDS * sizeof(int64_t), 1);
    MPI_Win_lock_all(0, w.win);
    MPI_Barrier(w.comm);
    if (t_rank == target)
        be_away(AWAY_MS);
    long before = resident_kb();
    double until = MPI_Wtime() + AWAY_MS * 1e-3;
    for (number = 0; t_rank == 0 && MPI_Wtime() < until; number++) {
        MPI_Put(&one, 1, MPI_INT64_T, target, w.at[target], 1, MPI_INT64_T, w.win);
        MPI_Accumulate(&one, 1, MPI_INT64_T, target, w.at[target] + 8, 1, MPI_INT64_T, MPI_SUM,
                       w.win);
    }
    long more = resident_kb() - before;
    t_check(more < GROWTH_MAX_KB, "%ld rounds took %ld KiB", (long) number, more);
    if (t_rank == 0) {
        MPI_Fetch_and_op(NULL, &last, MPI_INT64_T, target, w.at[target], MPI_NO_OP, w.win);
        MPI_Fetch_and_op(NULL, &sum, MPI_INT64_T, target, w.at[target] + 8, MPI_NO_OP, w.win);
        MPI_Win_flush(target, w.win);
        t_check(last == 1 && sum == number, "%ld of %ld came", (long) sum, (long) number);
    }
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(w.comm);
    t_win_free(&w);
    return t_end();
}
