/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * counter [TICKETS]: a work counter on rank 0. Every rank draws tickets with MPI_Fetch_and_op until
 * they are used up and notes which it got; every ticket must have been drawn exactly once. Ordinary
 * MPI-3.
 */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Is it a whole number from `least` to `most`? */
static int number(const char *text, long least, long most, long *out)
{
    char *end;
    *out = strtol(text, &end, 10);
    return end != text && !*end && *out >= least && *out <= most;
}

int main(int argc, char **argv)
{
    int rank, size, bad = 0;
    long tickets = 20000, mine = 0, *counter;
    const long one = 1;
    double seconds;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2 || (argc > 1 && !number(argv[1], 1, INT_MAX, &tickets))) {
        if (rank == 0)
            fprintf(stderr, "usage: counter [TICKETS]\n");
        MPI_Finalize();
        return 2;
    }
    int *drawn = calloc((size_t) tickets, sizeof(int));
    MPI_Win_allocate(rank == 0 ? sizeof(long) : 0, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &counter, &win);
    MPI_Win_lock_all(0, win);
    if (rank == 0)
        *counter = 0;
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);

    seconds = MPI_Wtime();
    for (;;) {
        long ticket;
        MPI_Fetch_and_op(&one, &ticket, MPI_LONG, 0, 0, MPI_SUM, win);
        MPI_Win_flush(0, win);
        if (ticket >= tickets)
            break;
        drawn[ticket]++;
        mine++;
    }
    seconds = MPI_Wtime() - seconds;
    MPI_Win_unlock_all(win);

    MPI_Allreduce(MPI_IN_PLACE, drawn, (int) tickets, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (long i = 0; i < tickets; i++)
        bad |= drawn[i] != 1;
    if (rank == 0)
        printf("counter %ld tickets, %d ranks: %.3f million a second, %s\n", tickets, size,
               (double) tickets / seconds * 1e-6,
               bad ? "WRONG: a ticket was lost or drawn twice" : "each drawn once");
    free(drawn);
    MPI_Win_free(&win);
    MPI_Finalize();
    return bad;
}
