/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A process that waits long sleeps: it uses little processor time and still wakes up soon. For a
 * message, for one of several, and for what goes by MPICH's schedules: a communicator, a collective
 * of neighbours.
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static MPI_Comm pair, line;
static int rank;

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

static void message(void)
{
    double data = 0;
    if (rank == 0)
        MPI_Send(&data, 1, MPI_DOUBLE, 1, 0, pair);
    else
        MPI_Recv(&data, 1, MPI_DOUBLE, 0, 0, pair, MPI_STATUS_IGNORE);
}

static void duplicate(void)
{
    MPI_Comm made;
    MPI_Request request;
    MPI_Comm_idup(pair, &made, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&made);
}

static void neighbours(void)
{
    int mine = rank, theirs[2] = {-1, -1};
    MPI_Request request;
    MPI_Ineighbor_allgather(&mine, 1, MPI_INT, theirs, 1, MPI_INT, line, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void any(int some)
{
    double data[2] = {0};
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int count, indices[2];
    for (int i = 0; i < 2; i++)
        if (rank == 0)
            MPI_Isend(&data[i], 1, MPI_DOUBLE, 1, i, pair, &requests[i]);
        else
            MPI_Irecv(&data[i], 1, MPI_DOUBLE, 0, i, pair, &requests[i]);
    if (some)
        MPI_Waitsome(2, requests, &count, indices, statuses);
    else
        MPI_Waitany(2, requests, &count, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, statuses);
}

static void any_message(void)
{
    any(0);
}

static void some_messages(void)
{
    any(1);
}

/* Rank 0 comes a second late. */
static int uses_much(const char *name, void (*wait_in)(void))
{
    MPI_Barrier(pair);
    if (rank == 0)
        usleep(1000000);
    double used = processor_seconds();
    wait_in();
    used = processor_seconds() - used;
    if (used > 0.25)
        printf("%s: waiting one second took %.2f s of processor time\n", name, used);
    return used > 0.25;
}

int main(int argc, char **argv)
{
    int wrong = 0, size, periodic = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &pair);
    MPI_Comm_rank(pair, &rank);
    MPI_Comm_size(pair, &size);
    MPI_Cart_create(pair, 1, &size, &periodic, 0, &line);
    wrong += uses_much("message", message);
    wrong += uses_much("MPI_Waitany", any_message);
    wrong += uses_much("MPI_Waitsome", some_messages);
    wrong += uses_much("MPI_Comm_idup", duplicate);
    wrong += uses_much("MPI_Ineighbor_allgather", neighbours);
    MPI_Reduce(rank ? &wrong : MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, 0, pair);
    if (rank == 0 && !wrong)
        printf(" No Errors\n");
    MPI_Comm_free(&line);
    MPI_Comm_free(&pair);
    MPI_Finalize();
    return wrong;
}
