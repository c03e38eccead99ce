/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A rank that works on mapped memory while the others sleep offers its processor now and then,
 * where ranks outnumber processors: a program may repeat such calls until somebody else, who needs
 * that processor, has changed something. Where they do not, it never does. Offers are counted.
 * How many processors there are is what the ranks, bound to none, may use, or what the user says.
 */
#define _GNU_SOURCE
#include "testing.h"
#include <sched.h>

enum { FLUSHES = 1 << 17, AT_MOST_EACH = 256, AT_LEAST_EACH = 1024, SPARE = 2 };

static int processors(void)
{
    cpu_set_t may_use;
    const char *said = getenv("MPIR_CVAR_WINDLASS_PROCESSORS");
    t_check(sched_getaffinity(0, sizeof may_use, &may_use) == 0, "sched_getaffinity fails");
    return said ? atoi(said) : CPU_COUNT(&may_use);
}

static void work(MPI_Win win)
{
    int crowded = t_size > processors();
    long least = crowded ? FLUSHES / AT_LEAST_EACH - SPARE : 0;
    long most = crowded ? FLUSHES / AT_MOST_EACH + SPARE : 0;
    unsigned long long before = t_counter("windlass_offers");
    for (long i = 0; i < FLUSHES; i++) {
        MPI_Put(&i, 1, MPI_LONG, t_size - 1, 0, 1, MPI_LONG, win);
        MPI_Win_flush(t_size - 1, win);
    }
    long made = (long) (t_counter("windlass_offers") - before);
    t_check(made >= least && made <= most, "%ld offers in %d flushes, not %ld to %ld", made,
            FLUSHES, least, most);
}

int main(int argc, char **argv)
{
    long *memory;
    int thread;
    MPI_Win win;
    t_begin(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &thread);
    MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock_all(0, win);
    if (t_rank == 0)
        work(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_T_finalize();
    return t_end();
}
