/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * thread_long [seed]: several threads of a rank put and get 100 KiB to 1 MiB on one window at the
 * same time, each at places of its own, on created, attached and allocated memory, while the other
 * ranks do the same, or wait in MPI. Each reads back what it has put, byte by byte.
 */
#include <pthread.h>
#include "testing.h"

enum { THREADS = 3, LEAST = 100 << 10, MOST = 1 << 20, TURNS = 12, ROUNDS = 6 };
enum { WINDOWS = 3 };         /* created, dynamic, allocated */

static struct t_win win[WINDOWS];
static int w;

static struct work {
    pthread_t thread;
    int number;
    uint64_t random;
    char *out, *in;
} work[THREADS];

static long draw(struct work *me, long below)
{
    me->random = me->random * 6364136223846793005u + 1442695040888963407u;
    return (long) ((me->random >> 33) % (uint64_t) below);
}

static void turn(struct work *me, int k)
{
    int target = (t_rank + 1 + (int) draw(me, t_size - 1)) % t_size, asks = (int) draw(me, 2);
    int n = LEAST + (int) draw(me, draw(me, 2) ? MOST - LEAST : 3 * LEAST);
    MPI_Aint at = win[w].at[target] + (MPI_Aint) (t_rank * THREADS + me->number) * MOST;
    MPI_Request request;
    long wrong = 0;
    for (int i = 0; i < n; i++)
        me->out[i] = (char) (i * 13 + i / 4096 + k * 31 + me->number * 7 + t_rank);
    memset(me->in, 0, (size_t) n);
    if (asks) {
        MPI_Rput(me->out, n, MPI_BYTE, target, at, n, MPI_BYTE, win[w].win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Put(me->out, n, MPI_BYTE, target, at, n, MPI_BYTE, win[w].win);
    }
    MPI_Win_flush(target, win[w].win);
    if (asks) {
        MPI_Rget(me->in, n, MPI_BYTE, target, at, n, MPI_BYTE, win[w].win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Get(me->in, n, MPI_BYTE, target, at, n, MPI_BYTE, win[w].win);
        MPI_Win_flush(target, win[w].win);
    }
    for (int i = 0; i < n; i++)
        wrong += me->in[i] != me->out[i];
    t_check(wrong == 0, "thread %d, window %d, %d bytes to and from %d: %ld wrong", me->number, w,
            n, target, wrong);
}

static void *turns(void *arg)
{
    for (int k = 0; k < TURNS; k++)
        turn(arg, k);
    return NULL;
}

/* Of all ranks, or of one. */
static void round_of(int all)
{
    MPI_Win_lock_all(0, win[w].win);
    if (all || t_rank == 0) {
        for (int i = 0; i < THREADS; i++)
            pthread_create(&work[i].thread, NULL, turns, &work[i]);
        for (int i = 0; i < THREADS; i++)
            pthread_join(work[i].thread, NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win[w].win);
}

int main(int argc, char **argv)
{
    static const enum t_flavour flavour[WINDOWS] = {T_CREATE, T_DYNAMIC, T_ALLOCATE};
    t_begin_at(&argc, &argv, MPI_THREAD_MULTIPLE);
    uint64_t seed = argc > 1 ? (uint64_t) atoll(argv[1]) : 1;
    MPI_Aint room = (MPI_Aint) t_size * THREADS * MOST;
    for (int i = 0; i < THREADS; i++)
        work[i] = (struct work){.number = i, .random = seed * 1000 + (uint64_t) (t_rank * 10 + i),
                                .out = malloc(MOST), .in = malloc(MOST)};
    for (int i = 0; i < WINDOWS; i++)
        win[i] = t_win_make(MPI_COMM_WORLD, flavour[i], (size_t) room, 1);
    for (int round = 0; round < ROUNDS; round++) {
        w = round % WINDOWS;
        round_of(round >= WINDOWS);
    }
    for (int i = 0; i < WINDOWS; i++)
        t_win_free(&win[i]);
    for (int i = 0; i < THREADS; i++) {
        free(work[i].out);
        free(work[i].in);
    }
    return t_end();
}
