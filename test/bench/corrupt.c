/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * An MPI that loses the last element of what it moves, for the test that the benchmarks notice:
 * linked to a benchmark program, it stands between the program and the library. Calls by which the
 * benchmarks themselves agree on something are left alone; they use other types and operations.
 */
#include <mpi.h>

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    return PMPI_Send(buf, count - 1, type, dest, tag, comm);
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    return PMPI_Isend(buf, count - 1, type, dest, tag, comm, request);
}

int MPI_Put(const void *buf, int count, MPI_Datatype type, int rank, MPI_Aint at, int there,
            MPI_Datatype type_there, MPI_Win win)
{
    return PMPI_Put(buf, count - 1, type, rank, at, there - 1, type_there, win);
}

int MPI_Rput(const void *buf, int count, MPI_Datatype type, int rank, MPI_Aint at, int there,
             MPI_Datatype type_there, MPI_Win win, MPI_Request *request)
{
    return PMPI_Rput(buf, count - 1, type, rank, at, there - 1, type_there, win, request);
}

int MPI_Get(void *buf, int count, MPI_Datatype type, int rank, MPI_Aint at, int there,
            MPI_Datatype type_there, MPI_Win win)
{
    return PMPI_Get(buf, count - 1, type, rank, at, there - 1, type_there, win);
}

int MPI_Accumulate(const void *buf, int count, MPI_Datatype type, int rank, MPI_Aint at, int there,
                   MPI_Datatype type_there, MPI_Op op, MPI_Win win)
{
    return PMPI_Accumulate(buf, count - 1, type, rank, at, there - 1, type_there, op, win);
}

int MPI_Get_accumulate(const void *buf, int count, MPI_Datatype type, void *result,
                       int result_count, MPI_Datatype result_type, int rank, MPI_Aint at, int there,
                       MPI_Datatype type_there, MPI_Op op, MPI_Win win)
{
    return PMPI_Get_accumulate(buf, count - 1, type, result, result_count - 1, result_type, rank,
                               at, there - 1, type_there, op, win);
}

/* One update of two is lost. */
int MPI_Fetch_and_op(const void *buf, void *result, MPI_Datatype type, int rank, MPI_Aint at,
                     MPI_Op op, MPI_Win win)
{
    static int odd;
    odd = !odd;
    return PMPI_Fetch_and_op(buf, result, type, rank, at, odd ? MPI_NO_OP : op, win);
}

int MPI_Compare_and_swap(const void *value, const void *compare, void *result, MPI_Datatype type,
                         int rank, MPI_Aint at, MPI_Win win)
{
    static int odd;
    odd = !odd;
    return PMPI_Compare_and_swap(odd ? compare : value, compare, result, type, rank, at, win);
}

/* --- collectives: sums, and data of MPI_DOUBLE ------------------------------------------------ */

#define LESS(count, type) ((type) == MPI_DOUBLE ? (count) - 1 : (count))
#define LESS_OF_SUM(count, op) ((op) == MPI_SUM ? (count) - 1 : (count))

int MPI_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    return PMPI_Bcast(buf, LESS(count, type), type, root, comm);
}

int MPI_Ibcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *r)
{
    return PMPI_Ibcast(buf, LESS(count, type), type, root, comm, r);
}

int MPI_Reduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm)
{
    return PMPI_Reduce(out, in, LESS_OF_SUM(count, op), type, op, root, comm);
}

int MPI_Ireduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request *r)
{
    return PMPI_Ireduce(out, in, LESS_OF_SUM(count, op), type, op, root, comm, r);
}

int MPI_Allreduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return PMPI_Allreduce(out, in, LESS_OF_SUM(count, op), type, op, comm);
}

int MPI_Iallreduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *r)
{
    return PMPI_Iallreduce(out, in, LESS_OF_SUM(count, op), type, op, comm, r);
}

int MPI_Scan(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return PMPI_Scan(out, in, LESS_OF_SUM(count, op), type, op, comm);
}

int MPI_Iscan(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request *r)
{
    return PMPI_Iscan(out, in, LESS_OF_SUM(count, op), type, op, comm, r);
}

int MPI_Allgather(const void *out, int count, MPI_Datatype type, void *in, int in_count,
                  MPI_Datatype in_type, MPI_Comm comm)
{
    return PMPI_Allgather(out, count - 1, type, in, in_count - 1, in_type, comm);
}

int MPI_Iallgather(const void *out, int count, MPI_Datatype type, void *in, int in_count,
                   MPI_Datatype in_type, MPI_Comm comm, MPI_Request *r)
{
    return PMPI_Iallgather(out, count - 1, type, in, in_count - 1, in_type, comm, r);
}

int MPI_Alltoall(const void *out, int count, MPI_Datatype type, void *in, int in_count,
                 MPI_Datatype in_type, MPI_Comm comm)
{
    return PMPI_Alltoall(out, count - 1, type, in, in_count - 1, in_type, comm);
}

int MPI_Ialltoall(const void *out, int count, MPI_Datatype type, void *in, int in_count,
                  MPI_Datatype in_type, MPI_Comm comm, MPI_Request *r)
{
    return PMPI_Ialltoall(out, count - 1, type, in, in_count - 1, in_type, comm, r);
}
