/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The first collective on MPI_COMM_WORLD waits for no communicator that has been freed, in which
 * others have yet to do what this rank has done. (To make one of a group takes messages alone.) On
 * several nodes, by the engine: so many broadcasts that their root would hear that all have some of
 * them.
 */
#include "testing.h"

enum { BROADCASTS = 8 };

int main(int argc, char **argv)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Request request;
    int word = 0;
    t_begin(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 1, &comm);
    MPI_Barrier(comm);
    if (t_rank > 0) /* rank 0 is in the collective on MPI_COMM_WORLD */
        MPI_Recv(&word, 1, MPI_INT, t_rank - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < BROADCASTS; i++) {
        word = t_rank == 0 ? 77 + i : 0;
        MPI_Bcast(&word, 1, MPI_INT, 0, comm);
        t_check(word == 77 + i, "broadcast %d of %d", i, word);
    }
    MPI_Comm_free(&comm);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (t_rank < t_size - 1)
        MPI_Send(&word, 1, MPI_INT, t_rank + 1, 2, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Group_free(&group);
    return t_end();
}
