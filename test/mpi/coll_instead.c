/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Collectives that MPICH 4.0.2 gets wrong: MPI_Ialltoallw in place, of types whose extent is
 * negative or beyond an int; MPI_Ibcast between two groups, from any rank; negative counts of
 * reductions. The persistent ones, too.
 */
#include "testing.h"

enum { COUNT = 3, RANKS_MAX = 16, APART = 16 }; /* bytes from block to block */

static void wait_for(MPI_Request *request)
{
    t_expect(MPI_SUCCESS, MPI_Wait(request, MPI_STATUS_IGNORE));
}

/* Rank r's element e of the block for rank i. */
static int value(int r, int i, int e)
{
    return 1000 * r + 10 * i + e;
}

static void in_place(MPI_Aint extent, int count, int persistent)
{
    MPI_Aint before = extent < 0 ? -extent * (count - 1) : 0;
    MPI_Aint behind = extent > 0 ? extent * (count - 1) : 0;
    char *memory = t_alloc((size_t) (before + APART * t_size + behind)), *first = memory + before;
    int counts[RANKS_MAX], displs[RANKS_MAX];
    MPI_Datatype types[RANKS_MAX], type;
    MPI_Request request;
    MPI_Type_create_resized(MPI_INT, 0, extent, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < t_size; i++) {
        counts[i] = count;
        displs[i] = APART * i;
        types[i] = type;
    }
    if (persistent)
        MPI_Alltoallw_init(MPI_IN_PLACE, NULL, NULL, NULL, first, counts, displs, types,
                           MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int times = 0; times < 1 + persistent; times++) {
        for (int i = 0; i < t_size; i++)
            for (int e = 0; e < count; e++)
                *(int *) (void *) (first + displs[i] + e * extent) = value(t_rank, i, e);
        if (persistent)
            MPI_Start(&request);
        else
            t_expect(MPI_SUCCESS,
                     MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, first, counts, displs, types,
                                    MPI_COMM_WORLD, &request));
        wait_for(&request);
        for (int i = 0; i < t_size; i++)
            for (int e = 0; e < count; e++) {
                int got = *(int *) (void *) (first + displs[i] + e * extent);
                t_check(got == value(i, t_rank, e), "extent %ld: %d of %d from %d",
                        (long) extent, got, e, i);
            }
    }
    if (persistent)
        MPI_Request_free(&request);
    MPI_Type_free(&type);
    free(memory);
}

/* The first group's rank `root` tells the second. */
static void between(MPI_Comm both, int first, int root, int persistent)
{
    int data[COUNT], at = !first ? root : root == t_rank ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Request request;
    for (int k = 0; k < COUNT; k++)
        data[k] = at == MPI_ROOT ? value(root, 7, k) : -1;
    if (persistent) {
        MPI_Bcast_init(data, COUNT, MPI_INT, at, both, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        wait_for(&request);
        MPI_Request_free(&request);
    } else {
        t_expect(MPI_SUCCESS, MPI_Ibcast(data, COUNT, MPI_INT, at, both, &request));
        wait_for(&request);
    }
    for (int k = 0; k < COUNT && !first; k++)
        t_check(data[k] == value(root, 7, k), "from %d: %d", root, data[k]);
}

static void groups(void)
{
    int half = t_size / 2, first = t_rank < half;
    MPI_Comm own, both;
    MPI_Comm_split(MPI_COMM_WORLD, first, t_rank, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, first ? half : 0, 1, &both);
    MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    for (int root = 0; root < half; root++)
        for (int persistent = 0; persistent < 2; persistent++)
            between(both, first, root, persistent);
    MPI_Comm_free(&both);
    MPI_Comm_free(&own);
}

static void negative(MPI_Comm comm)
{
    int a[4] = {0}, b[4] = {0};
    MPI_Request request;
    t_expect(MPI_ERR_COUNT, MPI_Allreduce(a, b, -1, MPI_INT, MPI_SUM, comm));
    t_expect(MPI_ERR_COUNT, MPI_Reduce(a, b, -1, MPI_INT, MPI_SUM, 0, comm));
    t_expect(MPI_ERR_COUNT, MPI_Scan(a, b, -1, MPI_INT, MPI_SUM, comm));
    t_expect(MPI_ERR_COUNT, MPI_Exscan(a, b, -2, MPI_INT, MPI_SUM, comm));
    t_expect(MPI_ERR_COUNT, MPI_Reduce_scatter_block(a, b, -1, MPI_INT, MPI_SUM, comm));
    t_expect(MPI_ERR_COUNT, MPI_Iallreduce(a, b, -1, MPI_INT, MPI_SUM, comm, &request));
    t_expect(MPI_ERR_COUNT, MPI_Iscan(a, b, -1, MPI_INT, MPI_SUM, comm, &request));
    t_expect(MPI_ERR_COUNT,
             MPI_Allreduce_init(a, b, -1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    a[0] = 1;
    t_expect(MPI_SUCCESS, MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, comm));
    int size;
    MPI_Comm_size(comm, &size);
    t_check(b[0] == size, "afterwards %d of %d", b[0], size);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int persistent = 0; persistent < 2; persistent++) {
        in_place(4, COUNT, persistent);
        in_place(-APART * RANKS_MAX, COUNT, persistent);
        in_place((MPI_Aint) 1 << 31, 1, persistent);
        in_place(((MPI_Aint) 1 << 31) + 8, 1, persistent);
    }
    if (t_size > 1) { /* who is alone copies, above the device */
        groups();
        negative(MPI_COMM_WORLD);
    }
    return t_end();
}
