/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * LogGP's parameters between rank 0 and the last rank, in nanoseconds, as lines `= name value`:
 *
 *   overhead  o, of a send call of one byte that finds the network idle
 *   latency   o + L + o, half a round trip of one byte
 *   gap       g, between messages of one byte sent in a row
 *   byte      G, of one byte more in a long message
 *   reduce    of one byte of a sum of doubles
 *
 * Each is the least of ROUNDS averages. Ordinary MPI; maint/tune runs it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 20, TURNS = 200, TRAIN = 256, SHORT = 16384, LONG = 262144, TAG = 5 };

static int rank, other;
static char *data;
static MPI_Status status[TRAIN];

static void turn(int bytes)
{
    if (rank == 0) {
        MPI_Send(data, bytes, MPI_CHAR, other, TAG, MPI_COMM_WORLD);
        MPI_Recv(data, bytes, MPI_CHAR, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(data, bytes, MPI_CHAR, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(data, bytes, MPI_CHAR, other, TAG, MPI_COMM_WORLD);
    }
}

/* Half a round trip. */
static double half_turn(int bytes)
{
    int turns = bytes > 1 ? TURNS / 10 : TURNS;
    double began = MPI_Wtime();
    for (int i = 0; i < turns; i++)
        turn(bytes);
    return (MPI_Wtime() - began) / turns / 2;
}

/* From the first of `count` messages to the answer to the last. */
static double train(int count)
{
    static MPI_Request requests[TRAIN];
    double began = MPI_Wtime();
    for (int i = 0; i < count; i++) {
        if (rank == 0)
            MPI_Isend(data, 1, MPI_CHAR, other, TAG, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(data + i, 1, MPI_CHAR, other, TAG, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(count, requests, status);
    if (rank == 0)
        MPI_Recv(data, 1, MPI_CHAR, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(data, 1, MPI_CHAR, other, TAG, MPI_COMM_WORLD);
    return MPI_Wtime() - began;
}

static double gap(void)
{
    return (train(TRAIN) - train(TRAIN / 4)) / (TRAIN - TRAIN / 4);
}

/* The call alone; the turn behind it lets the network come to rest. */
static double overhead(void)
{
    double sum = 0;
    for (int i = 0; i < TURNS / 4; i++) {
        double began = MPI_Wtime();
        if (rank == 0)
            MPI_Send(data, 1, MPI_CHAR, other, TAG, MPI_COMM_WORLD);
        sum += MPI_Wtime() - began;
        if (rank != 0)
            MPI_Recv(data, 1, MPI_CHAR, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        turn(1);
    }
    return sum / (TURNS / 4);
}

static double byte_more(void)
{
    return (half_turn(LONG) - half_turn(SHORT)) / (LONG - SHORT);
}

static double reduce(void)
{
    int count = SHORT / (int) sizeof(double);
    double began = MPI_Wtime();
    for (int i = 0; i < 10; i++)
        MPI_Reduce_local(data, data + SHORT, count, MPI_DOUBLE, MPI_SUM);
    return (MPI_Wtime() - began) / 10 / SHORT;
}

static void least(const char *name, double (*measure)(void))
{
    double best = 0;
    for (int i = 0; i < ROUNDS; i++) {
        turn(1);
        double seconds = measure();
        if (seconds > 0 && (best == 0 || seconds < best))
            best = seconds;
    }
    if (rank == 0)
        printf("= %s %.4f\n", name, best * 1e9);
}

static double latency(void)
{
    return half_turn(1);
}

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    data = calloc(LONG, 1);
    if (size < 2 || !data)
        MPI_Abort(MPI_COMM_WORLD, 1);
    other = rank == 0 ? size - 1 : 0;
    if (rank == 0 || rank == size - 1) {
        least("overhead", overhead);
        least("latency", latency);
        least("gap", gap);
        least("byte", byte_more);
        least("reduce", reduce);
    }
    MPI_Finalize();
    free(data);
    return 0;
}
