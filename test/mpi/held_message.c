/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * MPI_THREAD_MULTIPLE: a thread is in an operator of a collective for a while, so that what comes
 * for collectives cannot be taken. Another thread of its process that waits meanwhile sleeps and
 * looks, and does not poll all the time. Polls are counted, so other work on the machine changes
 * nothing.
 */
#define _GNU_SOURCE
#include "testing.h"
#include <pthread.h>
#include <unistd.h>

enum { OPERATOR_US = 400000, RECEIVER = 1, POLLS_MAX = 100000, TAG = 7 };
enum { LOOK_US = 100, LOOKS = 50000 };

static int in_operator; /* 1: the receiver's */

static void slow_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < *count; i++)
        ((int *) inout)[i] += ((int *) in)[i];
    if (t_rank != RECEIVER)
        return;
    __atomic_store_n(&in_operator, 1, __ATOMIC_RELEASE);
    usleep(OPERATOR_US);
}

static void *sum(void *comm)
{
    int mine = t_rank + 1, all = 0;
    MPI_Op op;
    MPI_Op_create(slow_sum, 1, &op);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, op, *(MPI_Comm *) comm);
    MPI_Op_free(&op);
    t_check(all == t_size * (t_size + 1) / 2, "the sum is %d", all);
    return NULL;
}

/* Rank 0 has its barrier's message sent to the receiver while that one is in the operator, and at
 * last what the receiver waits for. */
static void receive(MPI_Comm barriers)
{
    char at = 0;
    MPI_Request barrier;
    if (t_rank == RECEIVER) {
        for (int i = 0; i < LOOKS && !__atomic_load_n(&in_operator, __ATOMIC_ACQUIRE); i++)
            usleep(LOOK_US);
        t_check(in_operator, "the operator is not called here");
        MPI_Send(&at, 1, MPI_CHAR, 0, TAG, MPI_COMM_WORLD);
        unsigned long long polls = t_counter("windlass_polls");
        MPI_Recv(&at, 1, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        polls = t_counter("windlass_polls") - polls;
        t_check(polls > 0 && polls <= POLLS_MAX, "%llu polls, 1 to %d are wanted", polls,
                POLLS_MAX);
    } else if (t_rank == 0) {
        MPI_Recv(&at, 1, MPI_CHAR, RECEIVER, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Ibarrier(barriers, &barrier);
    if (t_rank == 0) {
        usleep(OPERATOR_US / 4 * 3);
        MPI_Send(&at, 1, MPI_CHAR, RECEIVER, TAG, MPI_COMM_WORLD);
    }
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Comm sums, barriers;
    pthread_t thread;
    int provided;
    t_begin_at(&argc, &argv, MPI_THREAD_MULTIPLE);
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_dup(MPI_COMM_WORLD, &sums);
    MPI_Comm_dup(MPI_COMM_WORLD, &barriers);
    MPI_Barrier(barriers); /* from now on its messages have a place to go to */
    if (pthread_create(&thread, NULL, sum, &sums)) {
        printf("no thread is to be had\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    receive(barriers);
    pthread_join(thread, NULL);
    MPI_Comm_free(&sums);
    MPI_Comm_free(&barriers);
    MPI_T_finalize();
    return t_end();
}
