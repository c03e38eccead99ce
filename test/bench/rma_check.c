/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The windows, what their memory is before a row, and what it must be after it.
 */
#include "rma.h"

/* Small whole numbers: any sum of them that a row can reach is exact. */
static double value(long i)
{
    return (double) (1 + i % 13);
}

static int is_sum(enum leaves leaves)
{
    return leaves == LEAVES_SUM || leaves == LEAVES_SUM_FETCHED || leaves == LEAVES_SUM_VECTOR;
}

/* What the first double of the first `total` operations sums up to. */
static double first_sum(long total)
{
    double sum = (double) (total / 8) * 36;
    for (long i = 0; i < total % 8; i++)
        sum += rma_addend(i);
    return sum;
}

/* What an operation of a row of maxima gives, all but its first element: less than there is, as
 * most of a program's do, but for the last one. */
enum { MOST_THERE = 50 };

static int most(const struct job *j, long i)
{
    return (int) (1 + i % 13) + 100 * j->last;
}

static int is_most(enum leaves leaves)
{
    return leaves == LEAVES_MOST || leaves == LEAVES_MOST_PAIRS;
}

static long most_count(const struct job *j)
{
    return j->bytes /
        (long) (j->op->leaves == LEAVES_MOST ? sizeof(int) : sizeof(struct rma_pair));
}

static void most_set(const struct job *j, char *at, long i, int number, int index)
{
    if (j->op->leaves == LEAVES_MOST)
        ((int *) at)[i] = number;
    else
        ((struct rma_pair *) at)[i] = (struct rma_pair){number, index};
}

static void most_fill(struct job *j)
{
    for (long i = 0; i < most_count(j); i++)
        most_set(j, j->local, i, most(j, i), (int) i);
}

static int most_is_wrong(const struct job *j)
{
    const int *numbers = (const int *) j->memory;
    const struct rma_pair *pairs = (const struct rma_pair *) j->memory;
    for (long i = 0; i < most_count(j); i++) {
        int want = i == 0 ? (int) rma_most(j->total - 1) : most(j, i);
        if (j->op->leaves == LEAVES_MOST ? numbers[i] != want :
            pairs[i].number != want || pairs[i].index != i)
            return 1;
    }
    return 0;
}

static unsigned salt(const struct job *j, int rank)
{
    return (unsigned) (2 * rank + j->last);
}

static int is_got(enum leaves leaves)
{
    return leaves == LEAVES_GET || leaves == LEAVES_GET_VECTOR;
}

static int is_vector(enum leaves leaves)
{
    return leaves >= LEAVES_PUT_VECTOR;
}

/* Whether double number i of what the row reaches is moved. */
static int touches(const struct job *j, long i)
{
    return !is_vector(j->op->leaves) || i / (j->count / BLOCKS) % 2 == 0;
}

static void own_memory_begin(struct job *j)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, j->bench.rank, 0, j->win);
}

static void own_memory_end(struct job *j)
{
    MPI_Win_unlock(j->bench.rank, j->win);
    bench_meet(&j->bench);
}

void rma_prepare(struct job *j)
{
    const struct rma_op *op = j->op;
    long bytes = rma_reach(op, j->bytes);
    j->count = (int) (j->bytes / 8);
    j->total = j->surprises = 0;
    j->found = -1;
    j->last = 0;
    j->lock_type = op->lock_type;
    j->lock_assertion = op->lock_assertion;
    memset(j->result, 0, (size_t) bytes);
    if (is_sum(op->leaves))
        for (long i = 0; i < bytes / 8; i++)
            ((double *) j->local)[i] = value(i);
    else if (is_most(op->leaves))
        most_fill(j);
    else
        bench_fill(j->local, bytes, salt(j, j->bench.rank));
    bench_meet(&j->bench);
    own_memory_begin(j);
    if (is_got(op->leaves))
        bench_fill(j->memory, bytes, salt(j, j->bench.rank));
    else
        memset(j->memory, 0, (size_t) bytes);
    for (long i = 0; is_most(op->leaves) && i < most_count(j); i++)
        most_set(j, j->memory, i, MOST_THERE, -1);
    own_memory_end(j);
}

/* Sums need none: every operation adds to every element. */
void rma_renew(struct job *j)
{
    long bytes = rma_reach(j->op, j->bytes);
    j->last = 1;
    if (is_sum(j->op->leaves))
        return;
    if (is_most(j->op->leaves)) {
        most_fill(j);
        return;
    }
    bench_fill(j->local, bytes, salt(j, j->bench.rank));
    if (!is_got(j->op->leaves))
        return;
    MPI_Barrier(MPI_COMM_WORLD);        /* the target is inside MPI until rank 0's epoch ends */
    own_memory_begin(j);
    bench_fill(j->memory, bytes, salt(j, j->bench.rank));
    own_memory_end(j);
}

static int sums_are_wrong(const struct job *j, const double *sums, long total)
{
    if (sums[0] != first_sum(total))
        return 1;
    for (long i = 1; i < rma_reach(j->op, j->bytes) / 8; i++)
        if (sums[i] != (touches(j, i) ? (double) total * value(i) : 0))
            return 1;
    return 0;
}

/* A vector's bytes; the ones between its blocks are still zero. It ends with its last block: what
 * is behind that is nobody's. `local` has served by now. */
static int vector_is_wrong(struct job *j, const char *at, int from)
{
    const char zeros[8] = { 0 };
    long first = !is_got(j->op->leaves), end = 2 * j->count - j->count / BLOCKS;
    bench_fill(j->local, rma_reach(j->op, j->bytes), salt(j, from));
    for (long i = first; i < end; i++)
        if (memcmp(at + 8 * i, touches(j, i) ? j->local + 8 * i : zeros, 8) != 0)
            return 1;
    return 0;
}

/* Of bytes that came from rank `from`. Those put begin with a stamp. */
static int bytes_are_wrong(struct job *j, const char *at, int from)
{
    int stamped = !is_got(j->op->leaves);
    if (stamped && bench_stamp_differs(at, j->total - 1, j->last))
        return 1;
    if (is_vector(j->op->leaves))
        return vector_is_wrong(j, at, from);
    return bench_differs(at, 8 * stamped, j->bytes, salt(j, from));
}

/* What the row left in this rank's exposed memory. */
static int target_is_wrong(struct job *j)
{
    switch (j->op->leaves) {
        case LEAVES_PUT:
        case LEAVES_PUT_VECTOR:
            return bytes_are_wrong(j, j->memory, j->left);
        case LEAVES_SUM:
        case LEAVES_SUM_FETCHED:
        case LEAVES_SUM_VECTOR:
            return sums_are_wrong(j, (const double *) j->memory, j->total);
        case LEAVES_MOST:
        case LEAVES_MOST_PAIRS:
            return most_is_wrong(j);
        case LEAVES_COUNT:
            return *(const int64_t *) j->memory != j->total;
        default:
            return 0;
    }
}

/* What the row brought to this rank's own memory. */
static int origin_is_wrong(struct job *j)
{
    switch (j->op->leaves) {
        case LEAVES_GET:
        case LEAVES_GET_VECTOR:
            return bytes_are_wrong(j, j->result, j->right);
        case LEAVES_SUM_FETCHED:
            return sums_are_wrong(j, (const double *) j->result, j->total - 1);
        case LEAVES_COUNT:
            return j->surprises > 0 || j->found != j->total - 1;
        default:
            return 0;
    }
}

int rma_is_wrong(struct job *j)
{
    const struct rma_op *op = j->op;
    int wrong = 0;
    MPI_Barrier(MPI_COMM_WORLD);        /* as in rma_renew() */
    own_memory_begin(j);
    if (rma_is_active(op) || j->bench.rank == TARGET)
        wrong |= target_is_wrong(j);
    if (rma_is_active(op) || j->bench.rank == 0)
        wrong |= origin_is_wrong(j);
    own_memory_end(j);
    return wrong;
}

/* --- windows ---------------------------------------------------------------------------------- */

void rma_window_begin(struct job *j, const char *kind, long space)
{
    MPI_Aint at = 0;
    if (!strcmp(kind, "allocate")) {
        MPI_Win_allocate(space, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &j->memory, &j->win);
    } else if (!strcmp(kind, "create")) {
        j->memory = malloc((size_t) space);
        MPI_Win_create(j->memory, space, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &j->win);
    } else if (!strcmp(kind, "dynamic")) {
        j->memory = malloc((size_t) space);
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &j->win);
        MPI_Win_attach(j->win, j->memory, space);
        MPI_Get_address(j->memory, &at);
        MPI_Sendrecv(&at, 1, MPI_AINT, j->left, 0, &j->at, 1, MPI_AINT, j->right, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    } else {
        bench_die("--window wants allocate, create or dynamic");
    }
    j->local = malloc((size_t) space);
    j->result = malloc((size_t) space);
    if (!j->memory || !j->local || !j->result)
        bench_die("out of memory");
}

void rma_window_end(struct job *j, const char *kind)
{
    if (!strcmp(kind, "dynamic"))
        MPI_Win_detach(j->win, j->memory);
    MPI_Win_free(&j->win);
    if (strcmp(kind, "allocate") != 0)
        free(j->memory);
    free(j->local);
    free(j->result);
}
