/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * threads [create|allocate|dynamic]: MPI_THREAD_MULTIPLE. Threads that send to the same thread
 * elsewhere, that work on one window of this flavour together and each on its own, and that wait
 * for requests of each other.
 */
#include "testing.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 60, WORDS = 64 };

static struct t_win one;
static MPI_Comm comm_of[THREADS];
static MPI_Request passed[THREADS];
static int passed_value[THREADS];
static pthread_barrier_t meet;
static _Atomic int faults;

static void fault(int condition)
{
    if (!condition)
        faults++;
}

/* Every thread with its like on the neighbours, in one communicator, by its tag. */
static void messages(int me)
{
    int next = (t_rank + 1) % t_size, previous = (t_rank + t_size - 1) % t_size;
    static int out[THREADS][1 << 14], in[THREADS][1 << 14];
    for (int k = 0; k < ROUNDS; k++) {
        int n = k % 6 == 5 ? 1 << 14 : 1 + k;
        MPI_Request request[2];
        for (int i = 0; i < n; i++)
            out[me][i] = t_rank * 1000 + me * 100 + k + i;
        MPI_Irecv(in[me], n, MPI_INT, previous, me, MPI_COMM_WORLD, &request[0]);
        MPI_Isend(out[me], n, MPI_INT, next, me, MPI_COMM_WORLD, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        for (int i = 0; i < n; i++)
            fault(in[me][i] == previous * 1000 + me * 100 + k + i);
    }
}

/* Collectives and windows at the same time, each thread on its own communicator. */
static void own_window(int me)
{
    long *base, one_more = 1, sum;
    MPI_Win win;
    int rank = t_rank, all = 0;
    for (int k = 0; k < 3; k++) {
        MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, comm_of[me], &base, &win);
        MPI_Win_lock_all(0, win);
        *base = 0;
        MPI_Win_sync(win);
        MPI_Barrier(comm_of[me]);
        for (int i = 0; i < ROUNDS; i++) {
            MPI_Accumulate(&one_more, 1, MPI_LONG, i % t_size, 0, 1, MPI_LONG, MPI_SUM, win);
            if (i % 8 == 7)
                MPI_Win_flush(i % t_size, win);
        }
        MPI_Win_flush_all(win);
        MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, comm_of[me]);
        fault(all == t_size * (t_size - 1) / 2);
        MPI_Get_accumulate(NULL, 0, MPI_LONG, &sum, 1, MPI_LONG, t_rank, 0, 1, MPI_LONG, MPI_NO_OP,
                           win);
        MPI_Win_unlock_all(win);
        int mine = 0;
        for (int i = 0; i < ROUNDS; i++)
            mine += i % t_size == t_rank;
        fault(sum == (long) mine * t_size);
        MPI_Barrier(comm_of[me]);
        MPI_Win_free(&win);
    }
}

/* All threads of all ranks in one lock_all epoch of one window: sums, tickets, own slots,
 * requests. */
static void same_window(int me)
{
    int target = (t_rank + me) % t_size;
    long one_more = 1, ticket[ROUNDS], value, back;
    MPI_Aint at = one.at[target], slot = at + 8 * (MPI_Aint) (8 + t_rank * THREADS + me);
    for (int k = 0; k < ROUNDS; k++) {
        MPI_Request request;
        MPI_Accumulate(&one_more, 1, MPI_LONG, target, at, 1, MPI_LONG, MPI_SUM, one.win);
        MPI_Fetch_and_op(&one_more, &ticket[k], MPI_LONG, 0, one.at[0] + 8, MPI_SUM, one.win);
        value = 100 * k + me;
        MPI_Rput(&value, 1, MPI_LONG, target, slot, 1, MPI_LONG, one.win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (k % 3 == 0)
            MPI_Win_flush_all(one.win);
        else
            MPI_Win_flush(target, one.win);
        MPI_Rget(&back, 1, MPI_LONG, target, slot, 1, MPI_LONG, one.win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        fault(back == value);
        MPI_Win_flush(0, one.win);
        fault(k == 0 || ticket[k] > ticket[k - 1]);
    }
}

/* One thread begins, another waits. */
static void handed_over(int me)
{
    for (int k = 0; k < ROUNDS; k++) {
        int next = (t_rank + 1) % t_size, previous = (t_rank + t_size - 1) % t_size;
        int other = (me + 1) % THREADS, value = 7 * k + me;
        MPI_Irecv(&passed_value[me], 1, MPI_INT, previous, 100 + me, MPI_COMM_WORLD, &passed[me]);
        pthread_barrier_wait(&meet);
        MPI_Send(&value, 1, MPI_INT, next, 100 + me, MPI_COMM_WORLD);
        MPI_Wait(&passed[other], MPI_STATUS_IGNORE);
        fault(passed_value[other] == 7 * k + other);
        pthread_barrier_wait(&meet);
    }
}

static void *thread(void *arg)
{
    int me = (int) (intptr_t) arg;
    messages(me);
    own_window(me);
    same_window(me);
    handed_over(me);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t id[THREADS];
    t_begin_at(&argc, &argv, MPI_THREAD_MULTIPLE);
    enum t_flavour flavour = t_flavour_of(argc, argv);
    one = t_win_make(MPI_COMM_WORLD, flavour, 8 * (8 + (size_t) t_size * THREADS), 1);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm_of[i]);
    pthread_barrier_init(&meet, NULL, THREADS);
    MPI_Win_lock_all(0, one.win);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&id[i], NULL, thread, (void *) (intptr_t) i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(id[i], NULL);
    MPI_Win_unlock_all(one.win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, t_rank, 0, one.win);
    long *have = (long *) (void *) one.base;
    t_check(have[0] == THREADS * ROUNDS, "%ld accumulates came instead of %d", have[0],
            THREADS * ROUNDS);
    t_check(t_rank || have[1] == (long) t_size * THREADS * ROUNDS, "%ld tickets were drawn",
            have[1]);
    MPI_Win_unlock(t_rank, one.win);
    t_check(faults == 0, "%d faults in threads", faults);
    t_win_free(&one);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comm_of[i]);
    return t_end();
}
