/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Processes that meet again and again, most of them more than there are processors: a message to
 * one of them is served although it never waits long, and what processors a process may use stays
 * as it was, even where the library has moved it.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 512, MEETINGS = 3000 };

static int rank, wrong;

/* Ranks 0 and 1 fence until what rank 2 adds to rank 0's memory, by a message since it has many
 * blocks, is there. */
static void fences_serve(void)
{
    MPI_Comm pair;
    MPI_Win meeting, served;
    MPI_Datatype blocks;
    double sums[2 * BLOCKS] = {0}, ones[BLOCKS];
    int *over;
    for (int i = 0; i < BLOCKS; i++)
        ones[i] = 1;
    MPI_Type_vector(BLOCKS, 1, 2, MPI_DOUBLE, &blocks);
    MPI_Type_commit(&blocks);
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &pair);
    MPI_Win_create(sums, sizeof sums, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &served);
    if (rank < 2) {
        const int yes = 1;
        MPI_Win_allocate(sizeof *over, 1, MPI_INFO_NULL, pair, &over, &meeting);
        *over = 0;
        for (MPI_Win_fence(0, meeting); !*over; MPI_Win_fence(0, meeting)) {
            MPI_Win_fence(0, meeting);
            if (rank == 0 && *(volatile double *) &sums[2 * BLOCKS - 2] > 0)
                for (int to = 0; to < 2; to++)
                    MPI_Put(&yes, 1, MPI_INT, to, 0, 1, MPI_INT, meeting);
        }
        MPI_Win_free(&meeting);
        MPI_Comm_free(&pair);
    } else if (rank == 2) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, served);
        MPI_Accumulate(ones, BLOCKS, MPI_DOUBLE, 0, 0, 1, blocks, MPI_SUM, served);
        MPI_Win_unlock(0, served);
    }
    MPI_Win_free(&served);
    for (int i = 0; i < 2 * BLOCKS; i++)
        if (sums[i] != (rank == 0 && i % 2 == 0)) {
            printf("rank %d: sum %d is %g\n", rank, i, sums[i]);
            wrong = 1;
            break;
        }
    MPI_Type_free(&blocks);
}

/* All begin on one processor. */
static void processors_stay_allowed(void)
{
    cpu_set_t before, one, after;
    MPI_Win win;
    int *memory;
    MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    if (sched_getaffinity(0, sizeof before, &before))
        exit(1);
    CPU_ZERO(&one);
    for (int p = 0; p < CPU_SETSIZE && CPU_COUNT(&one) == 0; p++)
        if (CPU_ISSET(p, &before))
            CPU_SET(p, &one);
    sched_setaffinity(0, sizeof one, &one);
    MPI_Win_fence(0, win);
    sched_setaffinity(0, sizeof before, &before);
    for (int i = 0; i < MEETINGS; i++)
        MPI_Win_fence(0, win);
    sched_getaffinity(0, sizeof after, &after);
    if (!CPU_EQUAL(&before, &after)) {
        printf("rank %d may use %d processors, %d before\n", rank, CPU_COUNT(&after),
               CPU_COUNT(&before));
        wrong = 1;
    }
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fences_serve();
    processors_stay_allowed();
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0 && !wrong)
        printf(" No Errors\n");
    MPI_Finalize();
    return wrong;
}
