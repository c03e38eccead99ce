/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Collectives, blocking, and started then waited for; all ranks together, the slowest counts. In
 * rows with "overlap" each rank computes for 100 microseconds between start and wait: what is
 * beyond 100 is what the computation did not hide. Roots go round. `bytes` is one rank's
 * contribution, for alltoall what one rank has for another, and every operation has other buffers
 * than the one before, with another first element; the last operations, which are not timed, have
 * all elements new.
 *
 *   coll           those that a benchmark of collectives has
 *   coll --more    the others, blocking
 */
#include "bench.h"

enum { STARTED, BLOCKING, OVERLAPS };   /* struct coll, blocking */
enum { SETS_MAX = 16, SETS_BYTES = 32 << 20, STAMPS = 1000,
    OVERLAP_BYTES_MAX = 262144, RANKS_MAX = 64
};

struct job {
    struct bench bench;
    int count;                  /* doubles of a contribution */
    int sets;
    double *out[SETS_MAX], *in[SETS_MAX];
    long done;                  /* operations so far */
    int last;                   /* these are not timed */
    const struct coll *coll;
    int counts[RANKS_MAX], displs[RANKS_MAX];   /* of blocks that might vary */
};

/* Starts operation number `i`; blocking ones leave the request alone. */
typedef void (*start_fn) (const struct job *j, long i, double *out, double *in, MPI_Request *r);

struct coll {
    const char *name;
    start_fn start;
    int blocking;               /* OVERLAPS: it is not, and something is computed meanwhile */
    enum {
        MOVES_NOTHING, IS_BCAST, IS_REDUCE, IS_ALLREDUCE, IS_SCAN, IS_EXSCAN, IS_SCATTER,
        IS_REDUCE_SCATTER, IS_GATHER, IS_ALLGATHER, IS_ALLTOALL
    } is;
};

static int root_of(const struct job *j, long i)
{
    return (int) (i % j->bench.size);
}

/* --- the operations --------------------------------------------------------------------------- */

#define START(name_)                                                                             \
    static void name_(const struct job *j, long i, double *out, double *in, MPI_Request *r)
#define WORLD MPI_COMM_WORLD
#define UNUSED(x) ((void) (x))

START(barrier)
{
    UNUSED(j), UNUSED(i), UNUSED(out), UNUSED(in), UNUSED(r);
    MPI_Barrier(WORLD);
}

START(ibarrier)
{
    UNUSED(j), UNUSED(i), UNUSED(out), UNUSED(in);
    MPI_Ibarrier(WORLD, r);
}

START(bcast)
{
    int root = root_of(j, i);
    UNUSED(r);
    MPI_Bcast(j->bench.rank == root ? out : in, j->count, MPI_DOUBLE, root, WORLD);
}

START(ibcast)
{
    int root = root_of(j, i);
    MPI_Ibcast(j->bench.rank == root ? out : in, j->count, MPI_DOUBLE, root, WORLD, r);
}

START(reduce)
{
    UNUSED(r);
    MPI_Reduce(out, in, j->count, MPI_DOUBLE, MPI_SUM, root_of(j, i), WORLD);
}

START(ireduce)
{
    MPI_Ireduce(out, in, j->count, MPI_DOUBLE, MPI_SUM, root_of(j, i), WORLD, r);
}

START(allreduce)
{
    UNUSED(i), UNUSED(r);
    MPI_Allreduce(out, in, j->count, MPI_DOUBLE, MPI_SUM, WORLD);
}

START(iallreduce)
{
    UNUSED(i);
    MPI_Iallreduce(out, in, j->count, MPI_DOUBLE, MPI_SUM, WORLD, r);
}

START(scan)
{
    UNUSED(i), UNUSED(r);
    MPI_Scan(out, in, j->count, MPI_DOUBLE, MPI_SUM, WORLD);
}

START(iscan)
{
    UNUSED(i);
    MPI_Iscan(out, in, j->count, MPI_DOUBLE, MPI_SUM, WORLD, r);
}

START(allgather)
{
    UNUSED(i), UNUSED(r);
    MPI_Allgather(out, j->count, MPI_DOUBLE, in, j->count, MPI_DOUBLE, WORLD);
}

START(iallgather)
{
    UNUSED(i);
    MPI_Iallgather(out, j->count, MPI_DOUBLE, in, j->count, MPI_DOUBLE, WORLD, r);
}

START(alltoall)
{
    UNUSED(i), UNUSED(r);
    MPI_Alltoall(out, j->count, MPI_DOUBLE, in, j->count, MPI_DOUBLE, WORLD);
}

START(ialltoall)
{
    UNUSED(i);
    MPI_Ialltoall(out, j->count, MPI_DOUBLE, in, j->count, MPI_DOUBLE, WORLD, r);
}

START(gather)
{
    UNUSED(r);
    MPI_Gather(out, j->count, MPI_DOUBLE, in, j->count, MPI_DOUBLE, root_of(j, i), WORLD);
}

START(gatherv)
{
    UNUSED(r);
    MPI_Gatherv(out, j->count, MPI_DOUBLE, in, j->counts, j->displs, MPI_DOUBLE, root_of(j, i),
                WORLD);
}

START(scatter)
{
    UNUSED(r);
    MPI_Scatter(out, j->count, MPI_DOUBLE, in, j->count, MPI_DOUBLE, root_of(j, i), WORLD);
}

START(scatterv)
{
    UNUSED(r);
    MPI_Scatterv(out, j->counts, j->displs, MPI_DOUBLE, in, j->count, MPI_DOUBLE, root_of(j, i),
                 WORLD);
}

START(allgatherv)
{
    UNUSED(i), UNUSED(r);
    MPI_Allgatherv(out, j->count, MPI_DOUBLE, in, j->counts, j->displs, MPI_DOUBLE, WORLD);
}

START(alltoallv)
{
    UNUSED(i), UNUSED(r);
    MPI_Alltoallv(out, j->counts, j->displs, MPI_DOUBLE, in, j->counts, j->displs, MPI_DOUBLE,
                  WORLD);
}

START(reduce_scatter)
{
    UNUSED(i), UNUSED(r);
    MPI_Reduce_scatter(out, in, j->counts, MPI_DOUBLE, MPI_SUM, WORLD);
}

START(reduce_scatter_block)
{
    UNUSED(i), UNUSED(r);
    MPI_Reduce_scatter_block(out, in, j->count, MPI_DOUBLE, MPI_SUM, WORLD);
}

START(exscan)
{
    UNUSED(i), UNUSED(r);
    MPI_Exscan(out, in, j->count, MPI_DOUBLE, MPI_SUM, WORLD);
}

static const struct coll colls[] = {
    {"barrier", barrier, 1, MOVES_NOTHING}, {"ibarrier", ibarrier, 0, MOVES_NOTHING},
    {"bcast", bcast, 1, IS_BCAST}, {"ibcast", ibcast, 0, IS_BCAST},
    {"reduce", reduce, 1, IS_REDUCE}, {"ireduce", ireduce, 0, IS_REDUCE},
    {"allreduce", allreduce, 1, IS_ALLREDUCE}, {"iallreduce", iallreduce, 0, IS_ALLREDUCE},
    {"scan", scan, 1, IS_SCAN}, {"iscan", iscan, 0, IS_SCAN},
    {"allgather", allgather, 1, IS_ALLGATHER}, {"iallgather", iallgather, 0, IS_ALLGATHER},
    {"alltoall", alltoall, 1, IS_ALLTOALL}, {"ialltoall", ialltoall, 0, IS_ALLTOALL},
    {"ibarrier_overlap", ibarrier, OVERLAPS, MOVES_NOTHING},
    {"ibcast_overlap", ibcast, OVERLAPS, IS_BCAST},
    {"ireduce_overlap", ireduce, OVERLAPS, IS_REDUCE},
    {"iallreduce_overlap", iallreduce, OVERLAPS, IS_ALLREDUCE},
    {"iscan_overlap", iscan, OVERLAPS, IS_SCAN},
    {"iallgather_overlap", iallgather, OVERLAPS, IS_ALLGATHER},
    {"ialltoall_overlap", ialltoall, OVERLAPS, IS_ALLTOALL},
    {NULL, NULL, 0, MOVES_NOTHING}
};

static const struct coll more[] = {
    {"gather", gather, 1, IS_GATHER}, {"gatherv", gatherv, 1, IS_GATHER},
    {"scatter", scatter, 1, IS_SCATTER}, {"scatterv", scatterv, 1, IS_SCATTER},
    {"allgatherv", allgatherv, 1, IS_ALLGATHER}, {"alltoallv", alltoallv, 1, IS_ALLTOALL},
    {"reduce_scatter", reduce_scatter, 1, IS_REDUCE_SCATTER},
    {"reduce_scatter_block", reduce_scatter_block, 1, IS_REDUCE_SCATTER},
    {"exscan", exscan, 1, IS_EXSCAN},
    {NULL, NULL, 0, MOVES_NOTHING}
};

/* The first element of what `rank` sends in operation i. */
static double stamp(const struct job *j, int rank, long i)
{
    return (double) (i % STAMPS + rank + 10 * STAMPS * j->last);
}

static void compute(void)
{
    const double until = bench_now() + 100e-6;
    while (bench_now() < until) {
    }
}

static void timed(void *arg, long n)
{
    struct job *j = arg;
    for (long k = 0; k < n; k++, j->done++) {
        int set = (int) (j->done % j->sets);
        MPI_Request request;
        if (j->count)
            j->out[set][0] = stamp(j, j->bench.rank, j->done);
        j->coll->start(j, j->done, j->out[set], j->in[set], &request);
        if (j->coll->blocking == OVERLAPS)
            compute();
        if (j->coll->blocking != BLOCKING)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* --- the data --------------------------------------------------------------------------------- */

/* Element e of what `rank` sends in operation i. Whole numbers: their sums are exact. */
static double sent(const struct job *j, int rank, long e, long i)
{
    return e == 0 ? stamp(j, rank, i) : (double) (1 + (7 * rank + e + 5 * j->last) % 13);
}

static double sum(const struct job *j, int ranks, long e, long i)
{
    double sum = 0;
    for (int rank = 0; rank < ranks; rank++)
        sum += sent(j, rank, e, i);
    return sum;
}

static long out_length(const struct job *j)
{
    const int is = j->coll->is;
    return is == IS_ALLTOALL || is == IS_SCATTER || is == IS_REDUCE_SCATTER ?
        (long) j->count * j->bench.size : j->count;
}

static long in_length(const struct job *j)
{
    return j->coll->is >= IS_GATHER ? (long) j->count * j->bench.size : j->count;
}

/* Element e of what this rank got in operation i; -1: nothing is to arrive. */
static double wanted(const struct job *j, long e, long i)
{
    int rank = j->bench.rank, root = root_of(j, i);
    switch (j->coll->is) {
        case IS_BCAST:
            return rank == root ? -1 : sent(j, root, e, i);
        case IS_REDUCE:
            return rank == root ? sum(j, j->bench.size, e, i) : -1;
        case IS_ALLREDUCE:
            return sum(j, j->bench.size, e, i);
        case IS_SCAN:
            return sum(j, rank + 1, e, i);
        case IS_EXSCAN:
            return rank > 0 ? sum(j, rank, e, i) : -1;
        case IS_SCATTER:
            return sent(j, root, (long) rank * j->count + e, i);
        case IS_REDUCE_SCATTER:
            return sum(j, j->bench.size, (long) rank * j->count + e, i);
        case IS_GATHER:
            return rank == root ? sent(j, (int) (e / j->count), e % j->count, i) : -1;
        case IS_ALLGATHER:
            return sent(j, (int) (e / j->count), e % j->count, i);
        case IS_ALLTOALL:
            return sent(j, (int) (e / j->count), (long) rank * j->count + e % j->count, i);
        default:
            return -1;
    }
}

/* What the last operation of each set brought. */
static int is_wrong(const struct job *j)
{
    for (long i = j->done > j->sets ? j->done - j->sets : 0; i < j->done; i++) {
        const double *in = j->in[i % j->sets];
        for (long e = 0; e < in_length(j) && wanted(j, e, i) >= 0; e++)
            if (in[e] != wanted(j, e, i))
                return 1;
    }
    return 0;
}

static void fill(const struct job *j)
{
    for (int set = 0; set < j->sets; set++)
        for (long e = 0; e < out_length(j); e++)
            j->out[set][e] = sent(j, j->bench.rank, e, 0);
}

static void buffers_begin(struct job *j)
{
    long sets = SETS_BYTES / (8 * (out_length(j) + in_length(j)) + 1);
    for (int rank = 0; rank < j->bench.size; rank++) {
        j->counts[rank] = j->count;
        j->displs[rank] = rank * j->count;
    }
    j->sets = sets > SETS_MAX ? SETS_MAX : sets < 2 ? 2 : (int) sets;
    for (int set = 0; set < j->sets; set++) {
        j->out[set] = malloc((size_t) (8 * out_length(j) + 8));
        j->in[set] = malloc((size_t) (8 * in_length(j) + 8));
        if (!j->out[set] || !j->in[set])
            bench_die("out of memory");
        memset(j->in[set], 0, (size_t) (8 * in_length(j)));
    }
}

static void buffers_end(struct job *j)
{
    for (int set = 0; set < j->sets; set++) {
        free(j->out[set]);
        free(j->in[set]);
    }
}

static void row(struct job *j, long bytes)
{
    if (!bench_next(&j->bench, j->coll->name, bytes))
        return;
    j->count = (int) (bytes / 8);
    j->done = 0;
    j->last = 0;
    buffers_begin(j);
    fill(j);
    timed(j, j->sets);          /* the first touch of memory */
    bench_together(&j->bench, timed, j);
    j->last = 1;
    fill(j);
    timed(j, j->sets);
    bench_check(&j->bench, is_wrong(j));
    buffers_end(j);
}

int main(int argc, char **argv)
{
    struct job j = { 0 };
    int status;
    MPI_Init(&argc, &argv);
    bench_begin(&j.bench, argc, argv);
    if (j.bench.size > RANKS_MAX)
        bench_die("more than 64 ranks");
    for (j.coll = bench_flag(argc, argv, "--more") ? more : colls; j.coll->name; j.coll++) {
        if (j.coll->is == MOVES_NOTHING)
            row(&j, 0);
        else
            for (int i = 0; i < BENCH_SIZES; i++)
                if (j.coll->blocking != OVERLAPS || bench_sizes[i] <= OVERLAP_BYTES_MAX)
                    row(&j, bench_sizes[i]);
    }
    status = bench_end(&j.bench);
    MPI_Finalize();
    return status;
}
