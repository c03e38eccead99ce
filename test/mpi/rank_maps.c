/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Communicators of every shape of rank map: strides, reversals, irregular tables, duplicates of
 * duplicates whose originals are freed, intercommunicators, merges in both orders. In each, rank i
 * must reach whom the group says.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int world_rank, world_size, errors;

/* Everyone sends its world rank to the next; the group of the communicator says what must come. */
static void check(MPI_Comm comm, const char *what)
{
    int rank, size, inter, remote, got = -1, from, wanted;
    MPI_Group group, world;
    MPI_Comm_test_inter(comm, &inter);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (inter) {
        MPI_Comm_remote_size(comm, &remote);
        MPI_Comm_remote_group(comm, &group);
    } else {
        remote = size;
        MPI_Comm_group(comm, &group);
    }
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Request request[2];
    MPI_Status status[2];
    int both = size < remote ? size : remote;   /* ranks that have a partner on the other side */
    if (rank < both) {
        from = inter ? rank : (rank + size - 1) % size;
        MPI_Irecv(&got, 1, MPI_INT, from, 7, comm, &request[0]);
        MPI_Isend(&world_rank, 1, MPI_INT, inter ? rank : (rank + 1) % size, 7, comm, &request[1]);
        MPI_Waitall(2, request, status);
        MPI_Group_translate_ranks(group, 1, &from, world, &wanted);
        if (got != wanted) {
            errors++;
            printf("%s: rank %d of %d got a message of %d instead of %d\n", what, rank, size, got,
                   wanted);
        }
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Barrier(comm);
}

static void check_split(int color, int key, const char *what)
{
    MPI_Comm comm, copy, again;
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm);
    if (comm == MPI_COMM_NULL)
        return;
    check(comm, what);
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_free(&comm);
    MPI_Comm_dup(copy, &again);
    MPI_Comm_free(&copy);
    check(again, what);
    MPI_Comm_disconnect(&again);
}

static void check_inter(int high)
{
    MPI_Comm half, inter, copy, merged;
    int low_half = world_rank < world_size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, low_half, -world_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low_half ? world_size - 1 : world_size / 2 - 1,
                         5, &inter);
    check(inter, "intercommunicator");
    MPI_Comm_dup(inter, &copy);
    MPI_Comm_free(&inter);
    check(copy, "duplicate of an intercommunicator");
    MPI_Intercomm_merge(copy, low_half ? high : !high, &merged);
    check(merged, "merged");
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
    check(merged, "merged, origins gone");
    MPI_Comm_free(&merged);
}

int main(int argc, char **argv)
{
    int total = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);

    check(MPI_COMM_WORLD, "world");
    check(MPI_COMM_SELF, "self");
    check_split(0, world_rank, "identity");
    check_split(0, -world_rank, "reversed");
    check_split(world_rank % 2, world_rank, "stride 2");
    check_split(world_rank == 0 ? MPI_UNDEFINED : 0, world_rank, "offset");
    check_split(0, world_rank * 7 % 5, "irregular");
    if (world_size > 1) {
        check_inter(0);
        check_inter(1);
    }

    MPI_Reduce(&errors, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (world_rank == 0 && total == 0)
        printf(" No Errors\n");
    MPI_Finalize();
    return errors != 0;
}
