/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * MPI_Finalize while the progress thread has something to serve. What it does first is to delete
 * the attributes of MPI_COMM_SELF (MPI-4, 11.4.1), and their functions may communicate: the thread
 * must be out of the network's library from their first call on.
 */
#include "testing.h"
#include <unistd.h>

enum { WORDS = 1000, UPDATES = 100, ROUNDS = 50, APART_US = 3000 };

static int gone(MPI_Comm comm, int key, void *value, void *extra)
{
    int to = (t_rank + 1) % t_size, from = (t_rank + t_size - 1) % t_size;
    (void) comm;
    (void) key;
    (void) value;
    (void) extra;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request request[2];
        int out = 100 * t_rank + i, in = -1;
        MPI_Isend(&out, 1, MPI_INT, to, i, MPI_COMM_WORLD, &request[0]);
        MPI_Irecv(&in, 1, MPI_INT, from, i, MPI_COMM_WORLD, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        t_check(in == 100 * from + i, "round %d: %d from %d", i, in, from);
    }
    if (t_rank == 0 && !t_faults)
        printf(" No Errors\n");
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    static const double ones[WORDS] = {1};
    double *memory = t_alloc(sizeof(ones));
    MPI_Request request;
    MPI_Win win;
    int key;
    t_begin_at(&argc, &argv, MPI_THREAD_MULTIPLE);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, gone, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Comm_free_keyval(&key);
    memset(memory, 0, sizeof(ones));
    MPI_Win_create(memory, sizeof(ones), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < UPDATES; i++)
        MPI_Accumulate(ones, WORDS, MPI_DOUBLE, i % t_size, 0, WORDS, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_unlock_all(win);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_free(&win);
    free(memory);
    usleep((useconds_t) t_rank * APART_US);
    MPI_Finalize();
    return t_faults != 0;
}
