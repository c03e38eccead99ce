/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Who waits for a collective whose data comes a part at a time, and takes each part itself, does
 * not sleep for want of one: it sleeps after YIELD_US in which nothing has come (progress.c). Did
 * it sleep sooner, the other side would find no room meanwhile, and sleep in turn: 32 MiB took 50
 * ms instead of 5.
 *
 * The library's calls of ppoll come here. The result shows what has come: at so many places of it
 * there was another number before. (In a reduce of two the other one puts parts there, too, while
 * the root may sleep.)
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "testing.h"

enum { COUNT = 4 << 20, PLACES = 512, TIMES = 4 };
enum { YIELD_US = 1000 };       /* the default of MPIR_CVAR_WINDLASS_YIELD_US */

static pthread_t caller;
static const double *result;    /* NULL: nobody waits for one */
static double awake_us;         /* since then */
static int come, naps, early;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e6 + (double) t.tv_nsec * 1e-3;
}

static int places_come(void)
{
    int n = 0;
    for (int i = 0; i < PLACES; i++)
        n += __atomic_load_n((const uint64_t *) (const void *) &result[COUNT / PLACES * i],
                             __ATOMIC_RELAXED) != 0;
    return n;
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *time, const sigset_t *mask)
{
    struct timespec left = time ? *time : (struct timespec){0};
    int ours = result && pthread_equal(pthread_self(), caller);
    if (ours) {
        int now = places_come();
        naps++;
        early += now != come && awake_us > 0 && now_us() - awake_us < YIELD_US;
        come = now;
    }
    /* the system writes down what is left of the time */
    int ready = (int) syscall(SYS_ppoll, fds, n, time ? &left : NULL, mask, sizeof(uint64_t));
    if (ours)
        awake_us = now_us();
    return ready;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"bcast", "allreduce", "scan", "allgather"};
    t_begin(&argc, &argv);
    int size = t_size;
    double *own = t_alloc(COUNT * sizeof(double));
    double *all = t_alloc((size_t) size * COUNT * sizeof(double));
    caller = pthread_self();
    for (int i = 0; i < COUNT; i++)
        own[i] = i % 1000 + 1;
    for (int k = 0; k < (int) (sizeof(names) / sizeof(names[0])); k++)
        for (int times = 0; times < TIMES; times++) {
            memset(all, 0, (size_t) size * COUNT * sizeof(double));
            if (k == 0 && t_rank == 0)
                memcpy(all, own, COUNT * sizeof(double));
            /* of what all give, what another one gives */
            result = all + (k == 3 && t_rank == 0 ? COUNT : 0);
            come = places_come();
            awake_us = 0;
            switch (k) {
                case 0: MPI_Bcast(all, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD); break;
                case 1: MPI_Allreduce(own, all, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); break;
                case 2: MPI_Scan(own, all, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); break;
                default: MPI_Allgather(own, COUNT, MPI_DOUBLE, all, COUNT, MPI_DOUBLE,
                                       MPI_COMM_WORLD);
            }
            const double *at = result;
            int ranks = k == 1 ? size : k == 2 ? t_rank + 1 : 1;
            result = NULL;
            t_check(early == 0, "%s: asleep %d times of %d though something had come", names[k],
                    early, naps);
            early = naps = 0;
            for (int i = 0; i < COUNT; i++)
                if (at[i] != ranks * (i % 1000 + 1.0)) {
                    t_fault("%s: element %d is %g", names[k], i, at[i]);
                    break;
                }
        }
    free(own);
    free(all);
    return t_end();
}
