/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Handles of gasnet_coll.h: what each call that synchronizes returns, and what it leaves in a list;
 * and under MPI_THREAD_MULTIPLE threads that synchronize what another one goes on starting.
 */
#include <gasnet_coll.h>
#include "testing.h"
#include <pthread.h>

enum { THREADS = 4, EACH = 60, ROUNDS = 12 };
enum { MINE = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL };

static gasnet_team_handle_t t = GASNET_TEAM_ALL;
static const gasnet_coll_handle_t invalid = GASNET_COLL_INVALID_HANDLE;

static gasnet_coll_handle_t to_all(int *all, int *one)
{
    return gasnet_coll_gather_all_nb(t, all, one, sizeof *one, MINE);
}

/* What all but node 0 call when node 0 says so is not done there before. */
static void results(void)
{
    gasnet_coll_handle_t h[3] = {invalid, invalid, invalid};
    int own[2] = {t_rank, t_rank + 100}, got[2][64], tell = t_rank == 0 && t_size > 1;
    t_check(gasnet_coll_try_sync(invalid) == GASNET_OK, "an invalid handle");
    t_check(gasnet_coll_try_sync_some(h, 3) == GASNET_OK, "some of invalid handles");
    t_check(gasnet_coll_try_sync_all(h, 3) == GASNET_OK, "all of invalid handles");
    t_check(gasnet_coll_try_sync_some(h, 0) == GASNET_OK, "some of none");
    t_check(gasnet_coll_try_sync_all(NULL, 0) == GASNET_OK, "all of none");
    h[1] = to_all(got[0], &own[0]);
    if (t_rank > 0) {
        gasnet_coll_wait_sync(h[1]);
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        gasnet_coll_wait_sync(to_all(got[1], &own[1]));
    } else {
        h[2] = to_all(got[1], &own[1]);
    }
    if (tell) {
        gasnet_coll_handle_t second = h[2];
        int result;
        while ((result = gasnet_coll_try_sync_some(h, 3)) == GASNET_ERR_NOT_READY)
            ;
        t_check(result == GASNET_OK && h[1] == invalid && h[2] == second, "some: %d", result);
        t_check(gasnet_coll_try_sync_some(h, 3) == GASNET_ERR_NOT_READY, "some: none is done");
        t_check(gasnet_coll_try_sync_all(h, 3) == GASNET_ERR_NOT_READY, "all: one is not done");
        t_check(gasnet_coll_try_sync(second) == GASNET_ERR_NOT_READY, "one that is not done");
        t_check(h[2] == second, "a handle that is not done has changed");
        for (int i = 1; i < t_size; i++)
            MPI_Send(NULL, 0, MPI_BYTE, i, 0, MPI_COMM_WORLD);
    }
    if (t_rank == 0) {
        int result;
        while ((result = gasnet_coll_try_sync_all(h, 3)) == GASNET_ERR_NOT_READY)
            ;
        t_check(result == GASNET_OK && h[1] == invalid && h[2] == invalid, "all: %d", result);
    }
    for (int i = 0; i < t_size; i++)
        t_check(got[0][i] == i && got[1][i] == i + 100, "node %d: %d, %d", i, got[0][i],
                got[1][i]);
}

/* --- threads: each has its own handles, and its own way --- */

static gasnet_coll_handle_t handles[2][THREADS][EACH];
static int from[2][THREADS][EACH], to[2][THREADS][EACH];

struct work {
    int turn, number;
};

static void *synchronize(void *arg)
{
    const struct work *work = arg;
    gasnet_coll_handle_t *h = handles[work->turn][work->number];
    switch (work->number) {
    case 0:
        for (int i = 0; i < EACH; i++)
            gasnet_coll_wait_sync(h[EACH - 1 - i]);
        break;
    case 1:
        for (int i = 0; i < EACH; i++)
            while (gasnet_coll_try_sync(h[i]) != GASNET_OK)
                ;
        break;
    case 2:
        while (gasnet_coll_try_sync_all(h, EACH) != GASNET_OK)
            (void) gasnet_coll_try_sync_some(h, EACH);
        break;
    default:
        gasnet_coll_wait_sync_some(h, EACH / 2);
        gasnet_coll_wait_sync_all(h, EACH);
    }
    return NULL;
}

static void begin(int turn, int round)
{
    for (int i = 0; i < EACH; i++)
        for (int k = 0; k < THREADS; k++) {
            gasnet_image_t root = (gasnet_image_t) ((i + k) % t_size);
            from[turn][k][i] = round * 1000000 + k * 1000 + i;
            to[turn][k][i] = -1;
            handles[turn][k][i] = gasnet_coll_broadcast_nb(t, &to[turn][k][i], root,
                                                           &from[turn][k][i], sizeof(int), MINE);
        }
}

static void threads(void)
{
    begin(0, 0);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread[THREADS];
        struct work work[THREADS];
        int turn = round % 2, wrong = 0;
        for (int k = 0; k < THREADS; k++) {
            work[k] = (struct work){turn, k};
            pthread_create(&thread[k], NULL, synchronize, &work[k]);
        }
        if (round + 1 < ROUNDS)
            begin(!turn, round + 1);
        for (int k = 0; k < THREADS; k++)
            pthread_join(thread[k], NULL);
        for (int k = 0; k < THREADS; k++)
            for (int i = 0; i < EACH; i++)
                wrong += to[turn][k][i] != from[turn][k][i];
        t_check(wrong == 0, "round %d: %d broadcasts are wrong", round, wrong);
    }
}

int main(int argc, char **argv)
{
    t_begin_at(&argc, &argv, MPI_THREAD_MULTIPLE);
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    results();
    threads();
    return t_end();
}
