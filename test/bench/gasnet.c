/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * GASNet's collectives in their nine synchronization modes, and the collectives of MPI they stand
 * beside; all ranks together, the slowest counts. Rows are named operation:IN,OUT with no, my or
 * all for NOSYNC, MYSYNC, ALLSYNC, and operation:mpi. An MPI without gasnet_coll.h does the latter.
 *
 * Operations go round 16 sets of buffers, each with data of its own. What is sent stays as it is
 * from batch to batch, since weak modes let ranks run ahead; the last operations, which are not
 * timed, have all data new.
 */
#include "bench.h"

#if __has_include(<gasnet_coll.h>)
#include <gasnet_coll.h>
#define HAS_GASNET 1
#else
#define HAS_GASNET 0
#endif

enum { SETS_MAX = 16, SETS_BYTES = 32 << 20, MODES = 9, MPI = MODES };
enum { BROADCAST, SCATTER, GATHER, GATHER_ALL, EXCHANGE, REDUCE, SCAN, OPS };

static const char *const names[OPS] = {
    "broadcast", "scatter", "gather", "gather_all", "exchange", "reduce", "scan"
};

struct job {
    struct bench bench;
    int op, mode, sets, last;
    long bytes, done;
    char *out[SETS_MAX], *in[SETS_MAX];
};

static int root_of(const struct job *j, int set)
{
    return set % j->bench.size;
}

/* --- the operations --------------------------------------------------------------------------- */

static void with_mpi(const struct job *j, int root, char *out, char *in)
{
    int bytes = (int) j->bytes, count = bytes / 8;
    switch (j->op) {
        case BROADCAST:
            MPI_Bcast(j->bench.rank == root ? out : in, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
            break;
        case SCATTER:
            MPI_Scatter(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
            break;
        case GATHER:
            MPI_Gather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
            break;
        case GATHER_ALL:
            MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
            break;
        case EXCHANGE:
            MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
            break;
        case REDUCE:
            MPI_Reduce(out, in, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
            break;
        default:
            MPI_Scan(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

#if HAS_GASNET
static void add(void *results, size_t result_count, const void *left_operands, size_t left_count,
                const void *right_operands, size_t elem_size, int flags, int arg)
{
    const double *left = left_operands, *right = right_operands;
    double *result = results;
    (void) left_count, (void) elem_size, (void) flags, (void) arg;
    for (size_t i = 0; i < result_count; i++)
        result[i] = left[i] + right[i];
}

static gasnet_coll_fn_entry_t functions[] = { {add, 0} };

static void start_gasnet(void)
{
    gasnet_coll_init(NULL, 0, functions, 1, 0);
}

static void with_gasnet(const struct job *j, int root, char *out, char *in)
{
    int flags = GASNET_COLL_LOCAL | GASNET_COLL_IN_NOSYNC << j->mode / 3 |
        GASNET_COLL_OUT_NOSYNC << j->mode % 3;
    gasnet_image_t image = (gasnet_image_t) root;
    size_t bytes = (size_t) j->bytes;
    switch (j->op) {
        case BROADCAST:
            gasnet_coll_broadcast(GASNET_TEAM_ALL, in, image, out, bytes, flags);
            break;
        case SCATTER:
            gasnet_coll_scatter(GASNET_TEAM_ALL, in, image, out, bytes, flags);
            break;
        case GATHER:
            gasnet_coll_gather(GASNET_TEAM_ALL, image, in, out, bytes, flags);
            break;
        case GATHER_ALL:
            gasnet_coll_gather_all(GASNET_TEAM_ALL, in, out, bytes, flags);
            break;
        case EXCHANGE:
            gasnet_coll_exchange(GASNET_TEAM_ALL, in, out, bytes, flags);
            break;
        case REDUCE:
            gasnet_coll_reduce(GASNET_TEAM_ALL, image, in, out, 0, 0, 8, bytes / 8, 0, 0,
                               flags | GASNET_COLL_ELEMENTWISE);
            break;
        default:
            gasnet_coll_scan(GASNET_TEAM_ALL, in, 0, 0, out, 0, 0, 8, bytes / 8, 0, 0,
                             flags | GASNET_COLL_ELEMENTWISE);
    }
}
#else
static void start_gasnet(void)
{
}

static void with_gasnet(const struct job *j, int root, char *out, char *in)
{
    (void) j, (void) root, (void) out, (void) in;
    bench_die("no gasnet_coll.h");
}
#endif

static void timed(void *arg, long n)
{
    struct job *j = arg;
    for (long k = 0; k < n; k++, j->done++) {
        int set = (int) (j->done % j->sets);
        if (j->mode == MPI)
            with_mpi(j, root_of(j, set), j->out[set], j->in[set]);
        else
            with_gasnet(j, root_of(j, set), j->out[set], j->in[set]);
    }
}

/* --- the data --------------------------------------------------------------------------------- */

static int computes(const struct job *j)
{
    return j->op == REDUCE || j->op == SCAN;
}

static long blocks_out(const struct job *j)
{
    return j->op == EXCHANGE || j->op == SCATTER ? j->bench.size : 1;
}

static long blocks_in(const struct job *j)
{
    return j->op == BROADCAST || j->op == SCATTER || computes(j) ? 1 : j->bench.size;
}

/* Whole numbers: their sums are exact. */
static double number(const struct job *j, int rank, int set, long e)
{
    return (double) (1 + (7 * rank + 3 * set + e + 5 * j->last) % 13);
}

static unsigned salt(const struct job *j, int from, int to, int set)
{
    return ((unsigned) ((j->last * SETS_MAX + set) * 1024 + from)) * 1024 + (unsigned) to;
}

static void fill(const struct job *j)
{
    for (int set = 0; set < j->sets; set++)
        for (int b = 0; b < blocks_out(j); b++) {
            char *at = j->out[set] + b * j->bytes;
            bench_fill(at, j->bytes, salt(j, j->bench.rank, b, set));
            for (long e = 0; computes(j) && e < j->bytes / 8; e++)
                ((double *) (void *) at)[e] = number(j, j->bench.rank, set, e);
        }
}

static int sum_is_wrong(const struct job *j, int set)
{
    const double *in = (const double *) (void *) j->in[set];
    for (long e = 0; e < j->bytes / 8; e++) {
        double sum = 0;
        for (int rank = 0; rank < (j->op == SCAN ? j->bench.rank + 1 : j->bench.size); rank++)
            sum += number(j, rank, set, e);
        if (in[e] != sum)
            return 1;
    }
    return 0;
}

static int set_is_wrong(const struct job *j, int set)
{
    int rank = j->bench.rank, root = root_of(j, set);
    if ((j->op == GATHER || j->op == REDUCE) && rank != root)
        return 0;
    if (computes(j))
        return sum_is_wrong(j, set);
    if (j->op == BROADCAST)
        return (rank != root || j->mode != MPI) &&
            bench_differs(j->in[set], 0, j->bytes, salt(j, root, 0, set));
    if (j->op == SCATTER)
        return bench_differs(j->in[set], 0, j->bytes, salt(j, root, rank, set));
    for (int from = 0; from < j->bench.size; from++)
        if (bench_differs(j->in[set] + from * j->bytes, 0, j->bytes,
                          salt(j, from, j->op == EXCHANGE ? rank : 0, set)))
            return 1;
    return 0;
}

static int is_wrong(const struct job *j)
{
    for (int set = 0; set < j->sets; set++)
        if (set_is_wrong(j, set))
            return 1;
    return 0;
}

static void row(struct job *j)
{
    long sets, all = j->bytes * (blocks_out(j) + blocks_in(j));
    char name[40];
    static const char *const sync[] = { "no", "my", "all" };
    snprintf(name, sizeof name, "%s:%s%s%s", names[j->op], j->mode == MPI ? "mpi" :
             sync[j->mode / 3], j->mode == MPI ? "" : ",", j->mode == MPI ? "" : sync[j->mode % 3]);
    if (j->mode != MPI && !HAS_GASNET) {
        j->bench.number++;      /* the same numbers everywhere */
        return;
    }
    if (!bench_next(&j->bench, name, j->bytes))
        return;
    sets = SETS_BYTES / all;
    j->sets = sets > SETS_MAX ? SETS_MAX : sets < 2 ? 2 : (int) sets;
    j->done = 0;
    j->last = 0;
    for (int set = 0; set < j->sets; set++) {
        j->out[set] = malloc((size_t) (j->bytes * blocks_out(j)));
        j->in[set] = calloc((size_t) j->bytes, (size_t) blocks_in(j));
        if (!j->out[set] || !j->in[set])
            bench_die("out of memory");
    }
    fill(j);
    MPI_Barrier(MPI_COMM_WORLD);
    timed(j, j->sets);          /* the first touch of memory */
    bench_together(&j->bench, timed, j);
    MPI_Barrier(MPI_COMM_WORLD);
    j->last = 1;
    j->done = 0;
    fill(j);
    MPI_Barrier(MPI_COMM_WORLD);
    timed(j, j->sets);
    MPI_Barrier(MPI_COMM_WORLD);
    bench_check(&j->bench, is_wrong(j));
    for (int set = 0; set < j->sets; set++) {
        free(j->out[set]);
        free(j->in[set]);
    }
}

int main(int argc, char **argv)
{
    static const long sizes[] = { 8, 4096, 262144 };
    struct job j = { 0 };
    int status;
    MPI_Init(&argc, &argv);
    start_gasnet();
    bench_begin(&j.bench, argc, argv);
    for (j.op = 0; j.op < OPS; j.op++)
        for (j.mode = 0; j.mode <= MPI; j.mode++)
            for (int i = 0; i < 3; i++) {
                j.bytes = sizes[i];
                row(&j);
            }
    status = bench_end(&j.bench);
    MPI_Finalize();
    return status;
}
