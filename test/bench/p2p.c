/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Point-to-point between ranks 0 and 1: round trips, and streams of messages with many under way.
 *
 * --rows REGEX   --batch SECONDS
 */
#include "bench.h"

enum { LARGEST = 4 << 20, UNDER_WAY = 64 };

struct job {
    struct bench bench;
    char *memory;
    int bytes;
    MPI_Request request[UNDER_WAY];
    MPI_Status status[UNDER_WAY];
};

/* One operation is a round trip; half of it is reported. */
static void round_trip(void *arg, long n)
{
    struct job *j = arg;
    int other = 1 - j->bench.rank;
    for (long i = 0; i < n; i++) {
        if (j->bench.rank == 0) {
            MPI_Send(j->memory, j->bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD);
            MPI_Recv(j->memory, j->bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (j->bench.rank == 1) {
            MPI_Recv(j->memory, j->bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(j->memory, j->bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD);
        }
    }
}

/* One operation is UNDER_WAY messages one way, and a word back. */
static void stream(void *arg, long n)
{
    struct job *j = arg;
    char word = 0;
    for (long i = 0; i < n; i++) {
        for (int k = 0; k < UNDER_WAY; k++)
            if (j->bench.rank == 0)
                MPI_Isend(j->memory, j->bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &j->request[k]);
            else
                MPI_Irecv(j->memory, j->bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &j->request[k]);
        MPI_Waitall(UNDER_WAY, j->request, j->status);
        if (j->bench.rank == 0)
            MPI_Recv(&word, 1, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&word, 1, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
    }
}

/* What a receiver gets is what was sent. */
static void check(struct job *j)
{
    for (int bytes = 1; bytes <= LARGEST; bytes *= 7) {
        for (int i = 0; i < bytes; i++)
            j->memory[i] = (char) (j->bench.rank == 0 ? i * 7 + i / 251 + bytes : 0);
        if (j->bench.rank == 0)
            MPI_Send(j->memory, bytes, MPI_BYTE, 1, 4, MPI_COMM_WORLD);
        if (j->bench.rank == 1)
            MPI_Recv(j->memory, bytes, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < bytes && j->bench.rank < 2; i++)
            if (j->memory[i] != (char) (i * 7 + i / 251 + bytes))
                bench_die("bytes were not moved");
    }
}

int main(int argc, char **argv)
{
    struct job j = { 0 };
    MPI_Init(&argc, &argv);
    bench_begin(&j.bench, argc, argv);
    if (j.bench.size != 2)
        bench_die("two ranks are needed");
    j.memory = calloc(1, LARGEST);
    check(&j);
    /* the row's name says how many messages one operation is */
    for (j.bytes = 8; j.bytes <= LARGEST; j.bytes *= 8) {
        bench_together(&j.bench, "round_trip/2", j.bytes, round_trip, &j);
        bench_together(&j.bench, "stream/64", j.bytes, stream, &j);
    }
    j.bytes = 1 << 20;
    bench_together(&j.bench, "stream/64", j.bytes, stream, &j);
    free(j.memory);
    MPI_Finalize();
    return 0;
}
