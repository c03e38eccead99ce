/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * 65,535 collectives outstanding at a time: MPI's on one communicator, GASNet's on one team. They
 * are begun before any is looked at, and ended in another order, the last one first on every other
 * rank; no result is another's.
 */
#include <gasnet_coll.h>
#include "testing.h"

enum { MANY = 65535 };

static int from[MANY], to[MANY];

static void fill(int seed)
{
    for (int i = 0; i < MANY; i++) {
        from[i] = i * 7 + t_rank + seed;
        to[i] = -1;
    }
}

static void requests(void)
{
    MPI_Request *request = t_alloc(MANY * sizeof *request);
    int wrong = 0;
    fill(0);
    for (int i = 0; i < MANY; i++)
        if (i % 4 == 3) {
            MPI_Ibarrier(MPI_COMM_WORLD, &request[i]);
        } else if (i % 4 == 2) {
            to[i] = t_rank == i % t_size ? i : -1;
            MPI_Ibcast(&to[i], 1, MPI_INT, i % t_size, MPI_COMM_WORLD, &request[i]);
        } else {
            MPI_Iallreduce(&from[i], &to[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request[i]);
        }
    for (int i = 0; i < MANY; i++)
        MPI_Wait(&request[t_rank % 2 ? i : MANY - 1 - i], MPI_STATUS_IGNORE);
    for (int i = 0; i < MANY; i++)
        if (i % 4 != 3)
            wrong += to[i] != (i % 4 == 2 ? i : t_size * i * 7 + t_size * (t_size - 1) / 2);
    t_check(wrong == 0, "MPI: %d results are wrong", wrong);
    free(request);
}

static void handles(void)
{
    gasnet_coll_handle_t *handle = t_alloc(MANY * sizeof *handle);
    int wrong = 0, flags = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL;
    fill(1000);
    for (int i = 0; i < MANY; i++)
        handle[i] = gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, &to[i],
                                             (gasnet_image_t) (i % t_size), &from[i], sizeof(int),
                                             flags);
    for (int i = 0; i < MANY; i++)
        gasnet_coll_wait_sync(handle[t_rank % 2 ? i : MANY - 1 - i]);
    for (int i = 0; i < MANY; i++)
        wrong += to[i] != i * 7 + i % t_size + 1000;
    t_check(wrong == 0, "GASNet: %d results are wrong", wrong);
    free(handle);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    requests();
    handles();
    return t_end();
}
