/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Collectives go on while their ranks compute: with MPIR_CVAR_WINDLASS_PROGRESS_THREAD=on all ranks
 * but 0 begin one and turn in a loop without MPI until rank 0, which comes last and waits, has its
 * own done and sends them a signal; they give up after long. Nonblocking, persistent, and GASNet's.
 */
#include "testing.h"
#include <gasnet_coll.h>
#include <signal.h>
#include <unistd.h>

enum { LONG = 50000, RANKS_MAX = 8 };
static const double GIVE_UP_S = 20;

static volatile sig_atomic_t told;
static pid_t pid[RANKS_MAX];
static double *in, *out; /* t_size blocks of LONG */

static void on_signal(int number)
{
    (void) number;
    told = 1;
}

enum kind { BARRIER, BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, ALLTOALL, SCAN,
    PERSISTENT, GASNET, KINDS
};
static const char *const name[KINDS] = { "barrier", "bcast", "reduce", "allreduce", "gather",
    "scatter", "allgather", "alltoall", "scan", "allreduce_init", "gasnet_coll_gather_all"
};

struct going {
    MPI_Request request;
    gasnet_coll_handle_t handle;
};

static struct going begin(enum kind kind, int n)
{
    struct going g = {.request = MPI_REQUEST_NULL, .handle = GASNET_COLL_INVALID_HANDLE};
    MPI_Comm comm = MPI_COMM_WORLD;
    int last = t_size - 1;
    if (kind == BARRIER)
        MPI_Ibarrier(comm, &g.request);
    if (kind == BCAST)
        MPI_Ibcast(t_rank == last ? in : out, n, MPI_DOUBLE, last, comm, &g.request);
    if (kind == REDUCE)
        MPI_Ireduce(in, out, n, MPI_DOUBLE, MPI_SUM, 0, comm, &g.request);
    if (kind == ALLREDUCE)
        MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, comm, &g.request);
    if (kind == GATHER)
        MPI_Igather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, 0, comm, &g.request);
    if (kind == SCATTER)
        MPI_Iscatter(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, last, comm, &g.request);
    if (kind == ALLGATHER)
        MPI_Iallgather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, comm, &g.request);
    if (kind == ALLTOALL)
        MPI_Ialltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, comm, &g.request);
    if (kind == SCAN)
        MPI_Iscan(in, out, n, MPI_DOUBLE, MPI_SUM, comm, &g.request);
    if (kind == PERSISTENT) {
        MPI_Allreduce_init(in, out, n, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &g.request);
        MPI_Start(&g.request);
    }
    if (kind == GASNET)
        g.handle = gasnet_coll_gather_all_nb(GASNET_TEAM_ALL, out, in, (size_t) n * sizeof in[0],
                                             GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC |
                                             GASNET_COLL_LOCAL);
    return g;
}

static void end(struct going *g, enum kind kind)
{
    MPI_Wait(&g->request, MPI_STATUS_IGNORE);
    if (kind == PERSISTENT)
        MPI_Request_free(&g->request);
    gasnet_coll_wait_sync(g->handle);
}

/* Element i of block b of a rank's. */
static double value(int rank, int b, int i)
{
    return rank * 1000 + b * 100 + i % 97;
}

/* What element i of block b of the result is to be; -1: anything. */
static double expected(enum kind kind, int b, int i)
{
    double sum = 0;
    int last = t_size - 1;
    switch (kind) {
        case BCAST:
            return b == 0 && t_rank != last ? value(last, 0, i) : -1;
        case REDUCE:
        case ALLREDUCE:
        case PERSISTENT:
        case SCAN:
            for (int r = 0; r <= (kind == SCAN ? t_rank : last); r++)
                sum += value(r, 0, i);
            return b == 0 && (kind != REDUCE || t_rank == 0) ? sum : -1;
        case GATHER:
            return t_rank == 0 ? value(b, 0, i) : -1;
        case SCATTER:
            return b == 0 ? value(last, t_rank, i) : -1;
        case ALLGATHER:
        case GASNET:
            return value(b, 0, i);
        case ALLTOALL:
            return value(b, t_rank, i);
        default:
            return -1;
    }
}

static void check(enum kind kind, int n)
{
    for (int b = 0; b < t_size; b++)
        for (int i = 0; i < n; i++) {
            double want = expected(kind, b, i), got = out[b * n + i];
            t_check(want < 0 || got == want, "%s of %d: %g instead of %g", name[kind], n, got,
                    want);
        }
}

static void compute(enum kind kind, int n)
{
    double start = MPI_Wtime(); /* a clock, no progress */
    while (!told && MPI_Wtime() - start < GIVE_UP_S)
        ;
    t_check(told, "%s of %d: rank 0 still waits, since this one computes", name[kind], n);
}

static void one(enum kind kind, int n)
{
    for (int b = 0; b < t_size; b++)
        for (int i = 0; i < n; i++)
            in[b * n + i] = value(t_rank, b, i);
    memset(out, 0, sizeof out[0] * (size_t) t_size * LONG);
    told = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0)
        usleep(2000); /* the others are there before, and alone cannot do it */
    struct going going = begin(kind, n);
    if (t_rank != 0)
        compute(kind, n);
    end(&going, kind);
    for (int r = 1; r < t_size && t_rank == 0; r++)
        kill(pid[r], SIGUSR1);
    check(kind, n);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    pid_t own = getpid();
    MPI_Allgather(&own, sizeof own, MPI_BYTE, pid, sizeof own, MPI_BYTE, MPI_COMM_WORLD);
    in = calloc((size_t) t_size * LONG, sizeof in[0]);
    out = calloc((size_t) t_size * LONG, sizeof out[0]);
    for (enum kind kind = 0; kind < KINDS; kind++) {
        one(kind, 1);
        one(kind, 1000);
        one(kind, LONG);
    }
    free(in);
    free(out);
    return t_end();
}
