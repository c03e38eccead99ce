/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Functions of gasnet_coll_init: they may read memory of other nodes; and, but for those that are
 * AMSAFE, they and sort's comparison are called by the program's own thread, however busy it is.
 */
#include <gasnet_coll.h>
#include <gasnet.h>
#include "testing.h"
#include <pthread.h>
#include <unistd.h>

enum { READS, ADDS, ADDS_ANYWHERE, FNS, WORDS = 3000, ROUNDS = 12, KEPT = 1000 };
enum {
    MINE = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL,
    VECTOR = MINE | GASNET_COLL_ELEMENTWISE
};

static const gasnet_team_handle_t t = GASNET_TEAM_ALL;
static gasnet_seginfo_t *segment;
static pthread_t program;
static long own[WORDS], sum[WORDS];

static void add(void *results, size_t n, const void *left, size_t n_left, const void *right,
                size_t elem_size, int flags, int arg)
{
    long *to = results;
    const long *x = left, *y = right;
    t_check(n == n_left && elem_size == sizeof *to, "%zu and %zu elements", n, n_left);
    t_check(flags & GASNET_COLL_AMSAFE || pthread_equal(pthread_self(), program),
            "a function is called by another thread");
    (void) arg;
    for (size_t i = 0; i < n; i++)
        to[i] = x[i] + y[i];
}

static void read_and_add(void *results, size_t n, const void *left, size_t n_left,
                         const void *right, size_t elem_size, int flags, int arg)
{
    int other = (t_rank + 1) % t_size;
    long there = -1;
    gasnet_get(&there, (gasnet_node_t) other, segment[other].addr, sizeof there);
    t_check(there == KEPT + other, "node %d has %ld", other, there);
    add(results, n, left, n_left, right, elem_size, flags, arg);
}

static int ascending(const void *a, const void *b)
{
    const long *x = a, *y = b;
    t_check(pthread_equal(pthread_self(), program), "another thread compares");
    return (*x > *y) - (*x < *y);
}

static void fill(int round)
{
    for (int i = 0; i < WORDS; i++)
        own[i] = i + t_rank + round;
}

static void is_sum(int ranks, int words, int round, const char *what)
{
    for (int i = 0; i < words; i++)
        t_check(sum[i] == (long) ranks * (i + round) + ranks * (ranks - 1) / 2,
                "%s: word %d is %ld", what, i, sum[i]);
}

/* Others send what belongs to the collective meanwhile. */
static void functions_read(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        size_t words = round % 2 ? WORDS : 4;
        fill(round);
        gasnet_coll_reduce_all(t, sum, own, 0, 0, sizeof own[0], words, READS, 0, VECTOR);
        is_sum(t_size, (int) words, round, "reduce_all");
        gasnet_coll_wait_sync(
            gasnet_coll_scan_nb(t, sum, 0, 0, own, 0, 0, sizeof own[0], words, READS, 0, VECTOR));
        is_sum(t_rank + 1, (int) words, round, "scan");
    }
}

/* Some come late, and all have something else to do when their part is. */
static void functions_wait(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        size_t func = round % 4 == 0 ? ADDS_ANYWHERE : ADDS, blk = 8;
        int sorts = round % 4 == 1;
        fill(round);
        if (t_rank % 2 != round % 2)
            usleep(3000);
        gasnet_coll_handle_t h =
            sorts ? gasnet_coll_sort_nb(t, sum, blk, 0, own, blk, 0, sizeof own[0],
                                        blk * (size_t) t_size, ascending, MINE)
                  : gasnet_coll_reduce_all_nb(t, sum, own, 0, 0, sizeof own[0], WORDS, func, 0,
                                              VECTOR);
        double until = MPI_Wtime() + 0.03;
        while (MPI_Wtime() < until) /* it computes */
            ;
        gasnet_coll_wait_sync(h);
        if (!sorts)
            is_sum(t_size, WORDS, round, "reduce_all");
        for (size_t i = 1; sorts && i < blk; i++)
            t_check(sum[i - 1] <= sum[i], "not in order: %ld, %ld", sum[i - 1], sum[i]);
    }
}

int main(int argc, char **argv)
{
    gasnet_coll_fn_entry_t fns[FNS] = {
        {read_and_add, 0}, {add, 0}, {add, GASNET_COLL_AMSAFE}};
    program = pthread_self();
    t_begin(&argc, &argv);
    t_check(gasnet_init(&argc, &argv) == GASNET_OK, "init");
    t_check(gasnet_attach(NULL, 0, 1 << 16, 0) == GASNET_OK, "attach");
    segment = calloc((size_t) t_size, sizeof *segment);
    gasnet_getSegmentInfo(segment, t_size);
    *(long *) segment[t_rank].addr = KEPT + t_rank;
    gasnet_coll_init(NULL, 0, fns, FNS, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    functions_read();
    functions_wait();
    MPI_Barrier(MPI_COMM_WORLD);
    free(segment);
    return t_end();
}
