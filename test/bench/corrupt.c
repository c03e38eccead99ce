/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * An MPI that loses the last element of what it moves, for the test that the benchmarks notice:
 * linked to a benchmark program, it stands between the program and the library. Calls by which the
 * benchmarks themselves agree on something are left alone; they use other types and operations.
 * With -DLATE, a row's first operations of as many elements are done: what they moved is still
 * there when the next ones lose it.
 */
#include <mpi.h>

enum { COUNTS_MAX = 8 };

/* Of one function in one row. */
struct calls {
    int row;
    struct {
        int elements;
        long number;
    } of[COUNTS_MAX];
};

/* Rows end with bench_check(), which agrees by MPI_MAX. */
static int row = 1;

#ifndef LATE
#define LATE 0                  /* -DLATE is 1 */
#endif

/* Elements this call of a function loses, after `honest` of as many elements. A benchmark's first
 * round fills a window of 64 messages, or 16 sets of buffers. */
static int lost(struct calls *calls, int count, long honest)
{
    int k = 0;
    if (calls->row != row)
        *calls = (struct calls) {.row = row };
    while (k < COUNTS_MAX - 1 && calls->of[k].number > 0 && calls->of[k].elements != count)
        k++;
    calls->of[k].elements = count;
    return calls->of[k].number++ >= honest * LATE;
}

enum { ONE = 1, A_WINDOW = 64, ALL_SETS = 16 };

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    static struct calls calls;
    int less = lost(&calls, count, ONE);
    return PMPI_Send(buf, count - less, type, dest, tag, comm);
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    static struct calls calls;
    int less = lost(&calls, count, A_WINDOW);
    return PMPI_Isend(buf, count - less, type, dest, tag, comm, request);
}

int MPI_Put(const void *buf, int count, MPI_Datatype type, int rank, MPI_Aint at, int there,
            MPI_Datatype type_there, MPI_Win win)
{
    static struct calls calls;
    int less = lost(&calls, count, ONE);
    return PMPI_Put(buf, count - less, type, rank, at, there - less, type_there, win);
}

int MPI_Rput(const void *buf, int count, MPI_Datatype type, int rank, MPI_Aint at, int there,
             MPI_Datatype type_there, MPI_Win win, MPI_Request *request)
{
    static struct calls calls;
    int less = lost(&calls, count, ONE);
    return PMPI_Rput(buf, count - less, type, rank, at, there - less, type_there, win, request);
}

int MPI_Get(void *buf, int count, MPI_Datatype type, int rank, MPI_Aint at, int there,
            MPI_Datatype type_there, MPI_Win win)
{
    static struct calls calls;
    int less = lost(&calls, count, ONE);
    return PMPI_Get(buf, count - less, type, rank, at, there - less, type_there, win);
}

int MPI_Accumulate(const void *buf, int count, MPI_Datatype type, int rank, MPI_Aint at, int there,
                   MPI_Datatype type_there, MPI_Op op, MPI_Win win)
{
    static struct calls calls;
    int less = lost(&calls, count, ONE);
    return PMPI_Accumulate(buf, count - less, type, rank, at, there - less, type_there, op, win);
}

int MPI_Get_accumulate(const void *buf, int count, MPI_Datatype type, void *result,
                       int result_count, MPI_Datatype result_type, int rank, MPI_Aint at, int there,
                       MPI_Datatype type_there, MPI_Op op, MPI_Win win)
{
    static struct calls calls;
    int less = lost(&calls, there, ONE);
    return PMPI_Get_accumulate(buf, op == MPI_NO_OP ? count : count - less, type, result,
                               result_count - less, result_type, rank, at, there - less,
                               type_there, op, win);
}

/* One update of two is lost. */
int MPI_Fetch_and_op(const void *buf, void *result, MPI_Datatype type, int rank, MPI_Aint at,
                     MPI_Op op, MPI_Win win)
{
    static struct calls calls;
    int less = lost(&calls, 1, ONE) && calls.of[0].number % 2;
    return PMPI_Fetch_and_op(buf, result, type, rank, at, less ? MPI_NO_OP : op, win);
}

int MPI_Compare_and_swap(const void *value, const void *compare, void *result, MPI_Datatype type,
                         int rank, MPI_Aint at, MPI_Win win)
{
    static struct calls calls;
    int less = lost(&calls, 1, ONE) && calls.of[0].number % 2;
    return PMPI_Compare_and_swap(less ? compare : value, compare, result, type, rank, at, win);
}

/* --- collectives: sums, and data of MPI_DOUBLE ------------------------------------------------ */

int MPI_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    static struct calls calls;
    int less = type == MPI_DOUBLE && lost(&calls, count, ALL_SETS);
    return PMPI_Bcast(buf, count - less, type, root, comm);
}

int MPI_Ibcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *r)
{
    static struct calls calls;
    int less = type == MPI_DOUBLE && lost(&calls, count, ALL_SETS);
    return PMPI_Ibcast(buf, count - less, type, root, comm, r);
}

int MPI_Reduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm)
{
    static struct calls calls;
    int less = op == MPI_SUM && lost(&calls, count, ALL_SETS);
    return PMPI_Reduce(out, in, count - less, type, op, root, comm);
}

int MPI_Ireduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request *r)
{
    static struct calls calls;
    int less = op == MPI_SUM && lost(&calls, count, ALL_SETS);
    return PMPI_Ireduce(out, in, count - less, type, op, root, comm, r);
}

int MPI_Allreduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    static struct calls calls;
    int less = op == MPI_SUM && lost(&calls, count, ALL_SETS);
    row += op == MPI_MAX;
    return PMPI_Allreduce(out, in, count - less, type, op, comm);
}

int MPI_Iallreduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *r)
{
    static struct calls calls;
    int less = op == MPI_SUM && lost(&calls, count, ALL_SETS);
    return PMPI_Iallreduce(out, in, count - less, type, op, comm, r);
}

int MPI_Scan(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    static struct calls calls;
    int less = op == MPI_SUM && lost(&calls, count, ALL_SETS);
    return PMPI_Scan(out, in, count - less, type, op, comm);
}

int MPI_Iscan(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request *r)
{
    static struct calls calls;
    int less = op == MPI_SUM && lost(&calls, count, ALL_SETS);
    return PMPI_Iscan(out, in, count - less, type, op, comm, r);
}

int MPI_Allgather(const void *out, int count, MPI_Datatype type, void *in, int in_count,
                  MPI_Datatype in_type, MPI_Comm comm)
{
    static struct calls calls;
    int less = lost(&calls, count, ALL_SETS);
    return PMPI_Allgather(out, count - less, type, in, in_count - less, in_type, comm);
}

int MPI_Iallgather(const void *out, int count, MPI_Datatype type, void *in, int in_count,
                   MPI_Datatype in_type, MPI_Comm comm, MPI_Request *r)
{
    static struct calls calls;
    int less = lost(&calls, count, ALL_SETS);
    return PMPI_Iallgather(out, count - less, type, in, in_count - less, in_type, comm, r);
}

int MPI_Alltoall(const void *out, int count, MPI_Datatype type, void *in, int in_count,
                 MPI_Datatype in_type, MPI_Comm comm)
{
    static struct calls calls;
    int less = lost(&calls, count, ALL_SETS);
    return PMPI_Alltoall(out, count - less, type, in, in_count - less, in_type, comm);
}

int MPI_Ialltoall(const void *out, int count, MPI_Datatype type, void *in, int in_count,
                  MPI_Datatype in_type, MPI_Comm comm, MPI_Request *r)
{
    static struct calls calls;
    int less = lost(&calls, count, ALL_SETS);
    return PMPI_Ialltoall(out, count - less, type, in, in_count - less, in_type, comm, r);
}

int MPI_Exscan(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    static struct calls calls;
    int less = op == MPI_SUM && lost(&calls, count, ALL_SETS);
    return PMPI_Exscan(out, in, count - less, type, op, comm);
}

int MPI_Gather(const void *out, int count, MPI_Datatype type, void *in, int in_count,
               MPI_Datatype in_type, int root, MPI_Comm comm)
{
    static struct calls calls;
    int less = lost(&calls, count, ALL_SETS);
    return PMPI_Gather(out, count - less, type, in, in_count - less, in_type, root, comm);
}

int MPI_Scatter(const void *out, int count, MPI_Datatype type, void *in, int in_count,
                MPI_Datatype in_type, int root, MPI_Comm comm)
{
    static struct calls calls;
    int less = lost(&calls, count, ALL_SETS);
    return PMPI_Scatter(out, count - less, type, in, in_count - less, in_type, root, comm);
}

int MPI_Reduce_scatter_block(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm)
{
    static struct calls calls;
    int less = lost(&calls, count, ALL_SETS);
    return PMPI_Reduce_scatter_block(out, in, count - less, type, op, comm);
}

/* All blocks lose as much. */
struct fewer {
    int counts[64];
};

static struct fewer fewer(const int *counts, MPI_Comm comm, int less)
{
    struct fewer f;
    int size;
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < size; i++)
        f.counts[i] = counts[i] - less;
    return f;
}

int MPI_Gatherv(const void *out, int count, MPI_Datatype type, void *in, const int *counts,
                const int *at, MPI_Datatype in_type, int root, MPI_Comm comm)
{
    static struct calls calls;
    int less = lost(&calls, count, ALL_SETS);
    struct fewer f = fewer(counts, comm, less);
    return PMPI_Gatherv(out, count - less, type, in, f.counts, at, in_type, root, comm);
}

int MPI_Scatterv(const void *out, const int *counts, const int *at, MPI_Datatype type, void *in,
                 int count, MPI_Datatype in_type, int root, MPI_Comm comm)
{
    static struct calls calls;
    int less = lost(&calls, count, ALL_SETS);
    struct fewer f = fewer(counts, comm, less);
    return PMPI_Scatterv(out, f.counts, at, type, in, count - less, in_type, root, comm);
}

int MPI_Allgatherv(const void *out, int count, MPI_Datatype type, void *in, const int *counts,
                   const int *at, MPI_Datatype in_type, MPI_Comm comm)
{
    static struct calls calls;
    int less = lost(&calls, count, ALL_SETS);
    struct fewer f = fewer(counts, comm, less);
    return PMPI_Allgatherv(out, count - less, type, in, f.counts, at, in_type, comm);
}

int MPI_Alltoallv(const void *out, const int *counts, const int *at, MPI_Datatype type, void *in,
                  const int *in_counts, const int *in_at, MPI_Datatype in_type, MPI_Comm comm)
{
    static struct calls calls;
    int less = lost(&calls, counts[0], ALL_SETS);
    struct fewer f = fewer(counts, comm, less), g = fewer(in_counts, comm, less);
    return PMPI_Alltoallv(out, f.counts, at, type, in, g.counts, in_at, in_type, comm);
}

int MPI_Reduce_scatter(const void *out, void *in, const int *counts, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm)
{
    static struct calls calls;
    int less = lost(&calls, counts[0], ALL_SETS);
    struct fewer f = fewer(counts, comm, less);
    return PMPI_Reduce_scatter(out, in, f.counts, type, op, comm);
}
