/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Messages. Ranks 0 and 1 exchange them when there are two; with more there is the barrier alone,
 * where nobody may burn a neighbour's time slice.
 *
 *   half_round_trip   MPI_Send and MPI_Recv there and back, half of it
 *   bandwidth         windows of 64 messages, each window acknowledged; per message
 *   rate              1024 messages of 8 bytes between acknowledgements; per message
 */
#include "bench.h"

enum { WINDOW = 64, RATE_WINDOWS = 16 };

struct job {
    struct bench bench;
    long bytes;
    char *out, *in;             /* rank 1 of half_round_trip sends back what came in */
    unsigned salt;
    long turn;                  /* round trips or windows so far */
    int last;                   /* this one is not timed */
};

/* --- there and back --------------------------------------------------------------------------- */

static void round_trips(void *arg, long n)
{
    struct job *j = arg;
    int bytes = (int) j->bytes;
    for (long i = 0; i < n; i++) {
        if (j->bench.rank == 0) {
            bench_stamp(j->out, j->turn++, j->last);
            MPI_Send(j->out, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(j->in, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(j->in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(j->in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
}

/* --- windows ---------------------------------------------------------------------------------- */

static void acknowledge(const struct job *j)
{
    char word = 0;
    if (j->bench.rank == 1)
        MPI_Send(&word, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    else
        MPI_Recv(&word, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A slot of the receiver's memory per message: receives under way may not share memory. */
static void window(struct job *j)
{
    MPI_Request requests[WINDOW];
    MPI_Status statuses[WINDOW];        /* gcc takes MPICH's MPI_STATUSES_IGNORE for an array */
    int bytes = (int) j->bytes;
    bench_stamp(j->out, j->turn++, j->last);
    for (int k = 0; k < WINDOW; k++) {
        if (j->bench.rank == 0)
            MPI_Isend(j->out, bytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &requests[k]);
        else
            MPI_Irecv(j->in + k * j->bytes, bytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &requests[k]);
    }
    MPI_Waitall(WINDOW, requests, statuses);
}

static void one_window(void *arg, long n)
{
    for (long i = 0; i < n; i++) {
        window(arg);
        acknowledge(arg);
    }
}

static void many_windows(void *arg, long n)
{
    for (long i = 0; i < n; i++) {
        for (int k = 0; k < RATE_WINDOWS; k++)
            window(arg);
        acknowledge(arg);
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Slots of what came: at rank 0 what rank 1 sent back, or at rank 1 a whole window. */
static int is_wrong(const struct job *j, int slots)
{
    if (slots == 1 && j->bench.rank == 1)
        return 0;
    if (slots > 1 && j->bench.rank == 0)
        return 0;
    for (int k = 0; k < slots; k++) {
        const char *slot = j->in + k * j->bytes;
        if (bench_stamp_differs(slot, j->turn - 1, 1) ||
            bench_differs(slot, 8, j->bytes, j->salt))
            return 1;
    }
    return 0;
}

static void message_row(struct job *j, const char *name, long bytes, bench_fn fn, int slots,
                        int messages)
{
    if (!bench_next(&j->bench, name, bytes))
        return;
    j->bytes = bytes;
    j->turn = 0;
    j->last = 0;
    j->out = malloc((size_t) bytes);
    j->in = calloc((size_t) slots, (size_t) bytes);
    if (!j->out || !j->in)
        bench_die("out of memory");
    bench_fill(j->out, bytes, ++j->salt);
    fn(j, 1);                   /* the first touch of memory */
    j->bench.per = messages;
    bench_together(&j->bench, fn, j);
    j->bench.per = 1;
    j->last = 1;
    bench_fill(j->out, bytes, ++j->salt);
    fn(j, 1);
    bench_check(&j->bench, is_wrong(j, slots));
    free(j->out);
    free(j->in);
}

static void barriers(void *arg, long n)
{
    (void) arg;
    for (long i = 0; i < n; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    struct job j = { 0 };
    int status;
    MPI_Init(&argc, &argv);
    bench_begin(&j.bench, argc, argv);
    if (j.bench.size == 2) {
        for (long bytes = 8; bytes <= BENCH_BYTES_MAX; bytes *= 2)
            message_row(&j, "half_round_trip", bytes, round_trips, 1, 2);
        for (long bytes = 8; bytes <= BENCH_BYTES_MAX; bytes *= 2)
            message_row(&j, "bandwidth", bytes, one_window, WINDOW, WINDOW);
        message_row(&j, "rate", 8, many_windows, WINDOW, WINDOW * RATE_WINDOWS);
    }
    if (bench_next(&j.bench, "barrier", 0))
        bench_together(&j.bench, barriers, &j);
    status = bench_end(&j.bench);
    MPI_Finalize();
    return status;
}
