/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * order [NUMBERS]: random numbers, dealt to the ranks one by one, are put in order and into one
 * block a rank by gasnet_coll_sort. That they are is checked by GASNet's collectives too: a scan
 * tells each rank the largest number below its block, and sums of all numbers before and after are
 * reduced together, as one aggregate. For Windlass: its library has gasnet_coll.h beside mpi.h.
 */
#include <gasnet_coll.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SUM, LARGEST }; /* the table of functions */

static void sum(void *results, size_t result_count, const void *left, size_t left_count,
                const void *right, size_t elem_size, int flags, int arg)
{
    const uint64_t *x = left, *y = right;
    uint64_t *out = results;
    (void) left_count, (void) elem_size, (void) flags, (void) arg;
    for (size_t i = 0; i < result_count; i++)
        out[i] = x[i] + y[i];
}

static void largest(void *results, size_t result_count, const void *left, size_t left_count,
                    const void *right, size_t elem_size, int flags, int arg)
{
    const uint64_t *x = left, *y = right;
    uint64_t *out = results;
    (void) left_count, (void) elem_size, (void) flags, (void) arg;
    for (size_t i = 0; i < result_count; i++)
        out[i] = x[i] > y[i] ? x[i] : y[i];
}

static gasnet_coll_fn_entry_t table[] = {{sum, 0}, {largest, 0}};

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 27;
}

/* Are the rank's `own` numbers, and all in front of them, in order? */
static int in_order(const uint64_t *numbers, size_t own, size_t ranks)
{
    uint64_t last = own ? numbers[own - 1] : 0, before = 0;
    int flags = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL;
    gasnet_coll_scan(GASNET_TEAM_ALL, &before, 1, 0, &last, 1, 0, sizeof last, ranks, LARGEST, 0,
                     flags | GASNET_COLL_SCAN_EXCLUSIVE);
    for (size_t i = 0; i < own; before = numbers[i++])
        if (numbers[i] < before)
            return 0;
    return 1;
}

/* Is it a whole number from `least` to `most`? */
static int number(const char *text, long least, long most, long *out)
{
    char *end;
    *out = strtol(text, &end, 10);
    return end != text && !*end && *out >= least && *out <= most;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    gasnet_coll_init(NULL, 0, table, 2, 0);
    size_t ranks = gasnet_coll_team_size(GASNET_TEAM_ALL);
    size_t rank = gasnet_coll_team_rank(GASNET_TEAM_ALL);
    long numbers_all = 200000;
    if (argc > 2 || (argc > 1 && !number(argv[1], 1, 1L << 32, &numbers_all))) {
        if (rank == 0)
            fprintf(stderr, "usage: order [NUMBERS]\n");
        MPI_Finalize();
        return 2;
    }
    size_t n = (size_t) numbers_all, each = (n + ranks - 1) / ranks;
    size_t own = rank * each >= n ? 0 : n - rank * each < each ? n - rank * each : each;
    uint64_t *dealt = calloc(each, sizeof *dealt), *numbers = calloc(each, sizeof *numbers);
    uint64_t state = rank, sums[2] = {0, 0}, parts[2] = {0, 0};
    int flags = GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC | GASNET_COLL_LOCAL;
    for (size_t i = 0; i * ranks + rank < n; i++) {
        dealt[i] = next_random(&state);
        parts[0] += dealt[i];
    }
    double begin = MPI_Wtime();
    gasnet_coll_sort(GASNET_TEAM_ALL, numbers, each, 0, dealt, 1, 0, sizeof *dealt, n, by_value,
                     flags);
    double seconds = MPI_Wtime() - begin;
    for (size_t i = 0; i < own; i++)
        parts[1] += numbers[i];
    (void) gasnet_coll_reduce_all_nb(GASNET_TEAM_ALL, &sums[0], &parts[0], 1, 0, sizeof sums[0],
                                     ranks, SUM, 0, flags | GASNET_COLL_AGGREGATE);
    gasnet_coll_wait_sync(gasnet_coll_reduce_all_nb(GASNET_TEAM_ALL, &sums[1], &parts[1], 1, 0,
                                                    sizeof sums[1], ranks, SUM, 0, flags));
    int good = in_order(numbers, own, ranks) && sums[0] == sums[1], all = 0;
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0)
        printf("order %zu numbers, %zu ranks: %.3f million a second, %s\n", n, ranks,
               (double) n / seconds / 1e6, all ? "in order" : "NOT in order");
    free(dealt);
    free(numbers);
    MPI_Finalize();
    return !all;
}
