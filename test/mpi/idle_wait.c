/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A process that waits long for a message sleeps: it uses little processor time and still wakes up
 * soon.
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    int rank, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        double sent = 0;
        usleep(1000000);
        sent = MPI_Wtime();
        MPI_Send(&sent, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        double sent, used = processor_seconds();
        MPI_Recv(&sent, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        used = processor_seconds() - used;
        if (used > 0.25) {
            printf("waiting one second took %.2f s of processor time\n", used);
            wrong = 1;
        }
    }
    MPI_Reduce(rank ? &wrong : MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && !wrong)
        printf(" No Errors\n");
    MPI_Finalize();
    return wrong;
}
