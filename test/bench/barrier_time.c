/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * MPI_Barrier with more processes than processors: nobody may burn a neighbour's time slice. It
 * prints what it measured.
 */
#include <mpi.h>
#include <stdio.h>

#define ROUNDS 2000
#define TRIES 3                 /* the best counts: other programs may be running */

int main(int argc, char **argv)
{
    double best_us = 0;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 100; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int try = 0; try < TRIES; try++) {
        double start = MPI_Wtime();
        for (int i = 0; i < ROUNDS; i++)
            MPI_Barrier(MPI_COMM_WORLD);
        double us = (MPI_Wtime() - start) / ROUNDS * 1e6;
        if (try == 0 || us < best_us)
            best_us = us;
    }
    if (rank == 0) {
        printf("MPI_Barrier, %d processes: %.1f microseconds, the best average of %d times %d\n",
               size, best_us, TRIES, ROUNDS);
    }
    MPI_Finalize();
    return 0;
}
