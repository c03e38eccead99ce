/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * MPI_THREAD_MULTIPLE: each thread scans on a communicator of its own, with an operator and a type
 * of its own, while now and then a rank is late: every result is that operator's.
 */
#include "testing.h"
#include <pthread.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 400, LATE = 20 };

static MPI_Comm comm[THREADS];
static int wrong[THREADS];

/* Rank r's operand in that round; what ranks 0 .. r make of theirs. */
static long operand(int r, int round)
{
    return 1 + (r * 7 + round * 3) % 5;
}

static long expected(int thread, int r, int round)
{
    long all = operand(0, round);
    for (int i = 1; i <= r; i++) {
        long one = operand(i, round);
        all = thread == 0 ? all + one : thread == 1 ? all * one : one > all ? one : all;
    }
    return all;
}

static void *scans(void *arg)
{
    int me = (int) (intptr_t) arg;
    MPI_Op op = me == 0 ? MPI_SUM : me == 1 ? MPI_PROD : MPI_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        long want = expected(me, t_rank, round), in = operand(t_rank, round), out = 0;
        double in_real = (double) in, out_real = 0;
        if (round % LATE == t_rank)
            usleep(300);
        if (me == 1)
            MPI_Scan(&in_real, &out_real, 1, MPI_DOUBLE, op, comm[me]);
        else
            MPI_Scan(&in, &out, 1, MPI_LONG, op, comm[me]);
        wrong[me] += me == 1 ? out_real != (double) want : out != want;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    t_begin_at(&argc, &argv, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, scans, (void *) (intptr_t) i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        t_check(wrong[i] == 0, "thread %d: %d of %d results are wrong", i, wrong[i], ROUNDS);
        MPI_Comm_free(&comm[i]);
    }
    return t_end();
}
