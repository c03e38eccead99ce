/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The one-sided operations: each n times. Rank 0 works on rank TARGET, or every rank on its right
 * neighbour.
 */
#include "rma.h"

/* --- operations under lock_all ---------------------------------------------------------------- */

/* Operation number i of the call puts what the one before did not. */
static void stamp(struct job *j, long i)
{
    bench_stamp(j->local, j->total + i, j->last);
}

static void stamp_sum(struct job *j, long i)
{
    ((double *) j->local)[0] = rma_addend(j->total + i);
}

/* What the operation before got is not there any more. */
static void spoil(struct job *j)
{
    memset(j->result, 0, 8);
}

static void put(struct job *j, long i)
{
    stamp(j, i);
    MPI_Put(j->local, (int) j->bytes, MPI_BYTE, j->right, j->at, (int) j->bytes, MPI_BYTE, j->win);
}

static void put_flush(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        put(j, i);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void get_flush(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        spoil(j);
        MPI_Get(j->result, (int) j->bytes, MPI_BYTE, TARGET, j->at, (int) j->bytes, MPI_BYTE,
                j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void accumulate_flush(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        stamp_sum(j, i);
        MPI_Accumulate(j->local, j->count, MPI_DOUBLE, TARGET, j->at, j->count, MPI_DOUBLE, MPI_SUM,
                       j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void get_accumulate_flush(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        stamp_sum(j, i);
        MPI_Get_accumulate(j->local, j->count, MPI_DOUBLE, j->result, j->count, MPI_DOUBLE, TARGET,
                           j->at, j->count, MPI_DOUBLE, MPI_SUM, j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

/* --- of other types, by other operators --- */

static void accumulate_complex_flush(void *arg, long n)
{
    struct job *j = arg;
    int count = j->count / 2;
    for (long i = 0; i < n; i++) {
        stamp_sum(j, i);
        MPI_Accumulate(j->local, count, MPI_C_DOUBLE_COMPLEX, TARGET, j->at, count,
                       MPI_C_DOUBLE_COMPLEX, MPI_SUM, j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void accumulate_max_int_flush(void *arg, long n)
{
    struct job *j = arg;
    int count = (int) (j->bytes / (long) sizeof(int));
    for (long i = 0; i < n; i++) {
        ((int *) j->local)[0] = (int) rma_most(j->total + i);
        MPI_Accumulate(j->local, count, MPI_INT, TARGET, j->at, count, MPI_INT, MPI_MAX, j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void accumulate_maxloc_flush(void *arg, long n)
{
    struct job *j = arg;
    int count = (int) (j->bytes / (long) sizeof(struct rma_pair));
    for (long i = 0; i < n; i++) {
        ((struct rma_pair *) j->local)[0].number = (double) rma_most(j->total + i);
        MPI_Accumulate(j->local, count, MPI_DOUBLE_INT, TARGET, j->at, count, MPI_DOUBLE_INT,
                       MPI_MAXLOC, j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void accumulate_replace_flush(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        stamp(j, i);
        MPI_Accumulate(j->local, j->count, MPI_DOUBLE, TARGET, j->at, j->count, MPI_DOUBLE,
                       MPI_REPLACE, j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void get_accumulate_no_op_flush(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        spoil(j);
        MPI_Get_accumulate(NULL, 0, MPI_DOUBLE, j->result, j->count, MPI_DOUBLE, TARGET, j->at,
                           j->count, MPI_DOUBLE, MPI_NO_OP, j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void fetch_and_op_flush(void *arg, long n)
{
    struct job *j = arg;
    int64_t one = 1;
    for (long i = 0; i < n; i++) {
        MPI_Fetch_and_op(&one, &j->found, MPI_INT64_T, TARGET, j->at, MPI_SUM, j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void compare_and_swap_flush(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        int64_t seen = j->total + i, next = seen + 1;
        MPI_Compare_and_swap(&next, &seen, &j->found, MPI_INT64_T, TARGET, j->at, j->win);
        MPI_Win_flush(TARGET, j->win);
        j->surprises += j->found != seen;
    }
}

static void puts_flush(void *arg, long n)
{
    struct job *j = arg;
    int each = (int) (j->bytes / MANY);
    for (long i = 0; i < n; i++) {
        stamp(j, i);
        for (int k = 0; k < MANY; k++)
            MPI_Put(j->local + each * k, each, MPI_BYTE, TARGET, j->at + each * k, each, MPI_BYTE,
                    j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void accumulates_flush(void *arg, long n)
{
    struct job *j = arg;
    int each = (int) (j->bytes / MANY), count = each / 8;
    for (long i = 0; i < n; i++) {
        stamp_sum(j, i);
        for (int k = 0; k < MANY; k++)
            MPI_Accumulate(j->local + each * k, count, MPI_DOUBLE, TARGET, j->at + each * k, count,
                           MPI_DOUBLE, MPI_SUM, j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void vector_put(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        stamp(j, i);
        MPI_Put(j->local, 1, j->vector, TARGET, j->at, 1, j->vector, j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void vector_get(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        spoil(j);
        MPI_Get(j->result, 1, j->vector, TARGET, j->at, 1, j->vector, j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

static void vector_accumulate(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        stamp_sum(j, i);
        MPI_Accumulate(j->local, 1, j->vector, TARGET, j->at, 1, j->vector, MPI_SUM, j->win);
        MPI_Win_flush(TARGET, j->win);
    }
}

/* The wait completes at the origin; unlock_all, outside the batches, at the target. */
static void rput_wait(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        MPI_Request request;
        stamp(j, i);
        MPI_Rput(j->local, (int) j->bytes, MPI_BYTE, TARGET, j->at, (int) j->bytes, MPI_BYTE,
                 j->win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* --- locks ------------------------------------------------------------------------------------ */

static void lock_put_unlock(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        MPI_Win_lock(j->lock_type, TARGET, j->lock_assertion, j->win);
        put(j, i);
        MPI_Win_unlock(TARGET, j->win);
    }
}

static void lock_all(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        MPI_Win_lock_all(0, j->win);
        MPI_Win_unlock_all(j->win);
    }
}

/* --- every rank to its right neighbour -------------------------------------------------------- */

static void put_fence(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        put(j, i);
        MPI_Win_fence(0, j->win);
    }
}

/* Reads all of it, as a program does that has waited for it. */
static void look_at(const char *memory, long bytes)
{
    uint64_t sum = 0, word;
    for (long at = 0; at + (long) sizeof word <= bytes; at += (long) sizeof word) {
        memcpy(&word, memory + at, sizeof word);
        sum += word;
    }
    __asm__ volatile ("" : : "r" (sum) : "memory");
}

static void put_fence_read(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        put(j, i);
        MPI_Win_fence(0, j->win);
        look_at(j->memory, j->bytes);
        MPI_Win_fence(0, j->win);
    }
}

static void fence(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++)
        MPI_Win_fence(0, j->win);
}

static void pscw_put(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        MPI_Win_post(j->from, 0, j->win);
        MPI_Win_start(j->to, 0, j->win);
        put(j, i);
        MPI_Win_complete(j->win);
        MPI_Win_wait(j->win);
    }
}

static void pscw(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++) {
        MPI_Win_post(j->from, 0, j->win);
        MPI_Win_start(j->to, 0, j->win);
        MPI_Win_complete(j->win);
        MPI_Win_wait(j->win);
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

long rma_bytes(const struct rma_op *op, int i)
{
    static const long blocks[] = { 8, 64, 1024, 4096 }, few[] = {16, 1024, 65536, 1048576};
    switch (op->sizes) {
        case NO_BYTES:
            return i == 0 ? 0 : -1;
        case A_WORD:
            return i == 0 ? 8 : -1;
        case ALL_SIZES:
            return i < BENCH_SIZES ? bench_sizes[i] : -1;
        case MANY_SIZES:
            return MANY * bench_sizes[i] <= BENCH_BYTES_MAX ? MANY * bench_sizes[i] : -1;
        case FEW_SIZES:
            return i < (int) (sizeof few / sizeof few[0]) ? few[i] : -1;
        default:
            return i < (int) (sizeof blocks / sizeof blocks[0]) ? BLOCKS * blocks[i] : -1;
    }
}

const struct rma_op rma_ops[] = {
    {"put_flush", put_flush, LEAVES_PUT, ON_LOCK_ALL, ALL_SIZES, 0, 0},
    {"get_flush", get_flush, LEAVES_GET, ON_LOCK_ALL, ALL_SIZES, 0, 0},
    {"accumulate_flush", accumulate_flush, LEAVES_SUM, ON_LOCK_ALL, ALL_SIZES, 0, 0},
    {"get_accumulate_flush", get_accumulate_flush, LEAVES_SUM_FETCHED, ON_LOCK_ALL, ALL_SIZES, 0,
     0},
    {"accumulate_complex_flush", accumulate_complex_flush, LEAVES_SUM, ON_LOCK_ALL, FEW_SIZES, 0,
     0},
    {"accumulate_max_int_flush", accumulate_max_int_flush, LEAVES_MOST, ON_LOCK_ALL, FEW_SIZES, 0,
     0},
    {"accumulate_maxloc_flush", accumulate_maxloc_flush, LEAVES_MOST_PAIRS, ON_LOCK_ALL, FEW_SIZES,
     0, 0},
    {"accumulate_replace_flush", accumulate_replace_flush, LEAVES_PUT, ON_LOCK_ALL, FEW_SIZES, 0,
     0},
    {"get_accumulate_no_op_flush", get_accumulate_no_op_flush, LEAVES_GET, ON_LOCK_ALL, FEW_SIZES,
     0, 0},
    {"fetch_and_op_flush", fetch_and_op_flush, LEAVES_COUNT, ON_LOCK_ALL, A_WORD, 0, 0},
    {"compare_and_swap_flush", compare_and_swap_flush, LEAVES_COUNT, ON_LOCK_ALL, A_WORD, 0, 0},
    {"put_x64_flush", puts_flush, LEAVES_PUT, ON_LOCK_ALL, MANY_SIZES, 0, 0},
    {"accumulate_x64_flush", accumulates_flush, LEAVES_SUM, ON_LOCK_ALL, MANY_SIZES, 0, 0},
    {"vector512_put_flush", vector_put, LEAVES_PUT_VECTOR, ON_LOCK_ALL, VECTOR_SIZES, 0, 0},
    {"vector512_get_flush", vector_get, LEAVES_GET_VECTOR, ON_LOCK_ALL, VECTOR_SIZES, 0, 0},
    {"vector512_accumulate_flush", vector_accumulate, LEAVES_SUM_VECTOR, ON_LOCK_ALL, VECTOR_SIZES,
     0, 0},
    {"rput_wait", rput_wait, LEAVES_PUT, ON_LOCK_ALL, ALL_SIZES, 0, 0},
    {"lock_shared_put_unlock", lock_put_unlock, LEAVES_PUT, ON_LOCK, ALL_SIZES, MPI_LOCK_SHARED, 0},
    {"lock_exclusive_put_unlock", lock_put_unlock, LEAVES_PUT, ON_LOCK, ALL_SIZES,
     MPI_LOCK_EXCLUSIVE, 0},
    {"lock_nocheck_put_unlock", lock_put_unlock, LEAVES_PUT, ON_LOCK, ALL_SIZES, MPI_LOCK_SHARED,
     MPI_MODE_NOCHECK},
    {"lock_all_unlock_all", lock_all, LEAVES_NOTHING, ON_LOCK, NO_BYTES, 0, 0},
    {"put_fence", put_fence, LEAVES_PUT, ON_FENCES, ALL_SIZES, 0, 0},
    {"put_fence_read", put_fence_read, LEAVES_PUT, ON_FENCES, ALL_SIZES, 0, 0},
    {"fence", fence, LEAVES_NOTHING, ON_FENCES, NO_BYTES, 0, 0},
    {"pscw_put", pscw_put, LEAVES_PUT, ON_PSCW, ALL_SIZES, 0, 0},
    {"pscw", pscw, LEAVES_NOTHING, ON_PSCW, NO_BYTES, 0, 0},
    {NULL, NULL, LEAVES_NOTHING, ON_LOCK, NO_BYTES, 0, 0}
};
