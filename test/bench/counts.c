/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Calls whose instructions are counted: valgrind --tool=callgrind runs rank 0 and is told to
 * collect inside the called function alone, while rank 1 waits in a barrier, or takes or has sent
 * messages. The window is of MPI_Win_allocate; the data are 8 bytes (accumulate_64: 64). What
 * MPI_Recv receives is there.
 *
 *   counts --call put|get|accumulate|accumulate_64|fetch_and_op|flush|lock|unlock|lock_shared|
 *                 unlock_shared|lock_exclusive|unlock_exclusive|send|recv --times N
 *
 * Locks are NOCHECK if their names do not say what they are.
 */
#include <stdint.h>
#include "bench.h"

struct job {
    MPI_Win win;
    int64_t *memory, local, result;
    double one, eight[8];
    int peer;
};

static void put(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++)
        MPI_Put(&j->local, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, j->win);
}

static void get(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++)
        MPI_Get(&j->result, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, j->win);
}

static void accumulate(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++)
        MPI_Accumulate(&j->one, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, MPI_SUM, j->win);
}

static void accumulate_64(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++)
        MPI_Accumulate(j->eight, 8, MPI_DOUBLE, 1, 0, 8, MPI_DOUBLE, MPI_SUM, j->win);
}

static void fetch_and_op(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++)
        MPI_Fetch_and_op(&j->local, &j->result, MPI_INT64_T, 1, 0, MPI_SUM, j->win);
}

static void flush(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++)
        MPI_Win_flush(1, j->win);
}

/* Without lock_all. */
static inline void lock_put_unlock(const struct job *j, long n, int type, int assertion)
{
    for (long i = 0; i < n; i++) {
        MPI_Win_lock(type, 1, assertion, j->win);
        MPI_Put(&j->local, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, j->win);
        MPI_Win_unlock(1, j->win);
    }
}

static void nocheck(void *arg, long n)
{
    lock_put_unlock(arg, n, MPI_LOCK_SHARED, MPI_MODE_NOCHECK);
}

static void shared(void *arg, long n)
{
    lock_put_unlock(arg, n, MPI_LOCK_SHARED, 0);
}

static void exclusive(void *arg, long n)
{
    lock_put_unlock(arg, n, MPI_LOCK_EXCLUSIVE, 0);
}

static int is_locking(bench_fn fn)
{
    return fn == nocheck || fn == shared || fn == exclusive;
}

enum { DATA = 1, LAST = 2, ROOM = 16 };     /* tags; messages that any network takes at once */

static void send_one(struct job *j)
{
    MPI_Send(&j->local, 8, MPI_BYTE, j->peer, DATA, MPI_COMM_WORLD);
}

static void recv_one(struct job *j, int tag)
{
    MPI_Recv(&j->result, 8, MPI_BYTE, j->peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A sender that has to wait for room would count its waiting. */
static void send(void *arg, long n)
{
    for (long i = 1; i <= n; i++) {
        send_one(arg);
        if (i % ROOM == 0)
            recv_one(arg, DATA);
    }
}

static void take(void *arg, long n)
{
    for (long i = 1; i <= n; i++) {
        recv_one(arg, DATA);
        if (i % ROOM == 0)
            send_one(arg);
    }
}

static void recv(void *arg, long n)
{
    MPI_Probe(1, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (long i = 0; i < n; i++)
        recv_one(arg, DATA);
    recv_one(arg, LAST);
}

static void send_all(void *arg, long n)
{
    struct job *j = arg;
    for (long i = 0; i < n; i++)
        send_one(j);
    MPI_Send(&j->local, 8, MPI_BYTE, 0, LAST, MPI_COMM_WORLD);
}

static const struct call {
    const char *name;
    bench_fn fn, partner;       /* what ranks 0 and 1 do */
} calls[] = {{"put", put, NULL}, {"get", get, NULL}, {"accumulate", accumulate, NULL},
             {"accumulate_64", accumulate_64, NULL}, {"fetch_and_op", fetch_and_op, NULL},
             {"flush", flush, NULL}, {"lock", nocheck, NULL}, {"unlock", nocheck, NULL},
             {"lock_shared", shared, NULL}, {"unlock_shared", shared, NULL},
             {"lock_exclusive", exclusive, NULL}, {"unlock_exclusive", exclusive, NULL},
             {"send", send, take}, {"recv", recv, send_all}};

/* Rank 1's, after n times the call on memory that was zero. */
static int is_wrong(const struct job *j, bench_fn fn, long n)
{
    double sum, last;
    memcpy(&sum, j->memory, sizeof sum);
    memcpy(&last, j->memory + 7, sizeof last);
    if (fn == send)
        return j->result != j->local;
    if (fn == put || is_locking(fn))
        return j->memory[0] != j->local;
    if (fn == accumulate)
        return sum != (double) n * j->one;
    if (fn == accumulate_64)
        return sum != 0 || last != 7. * (double) n;
    if (fn == fetch_and_op)
        return j->memory[0] != n * j->local;
    return 0;
}

int main(int argc, char **argv)
{
    struct job j = {.local = 3,.one = 1 };
    struct bench b;
    const char *call = bench_option(argc, argv, "--call");
    const char *times = bench_option(argc, argv, "--times");
    const struct call *c = NULL;
    int status;
    MPI_Init(&argc, &argv);
    bench_begin(&b, argc, argv);
    for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (call && !strcmp(call, calls[i].name))
            c = &calls[i];
    if (!c || !times)
        bench_die("--call, one of those in the source, and --times N are wanted");
    for (int i = 0; i < 8; i++)
        j.eight[i] = i;
    j.peer = 1 - b.rank;
    MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &j.memory, &j.win);
    memset(j.memory, 0, 4096);
    MPI_Barrier(MPI_COMM_WORLD);
    bench_next(&b, call, 8);
    if (b.rank == 0) {
        int all = !is_locking(c->fn);
        if (all)
            MPI_Win_lock_all(0, j.win);
        c->fn(&j, atol(times));
        if (all)
            MPI_Win_unlock_all(j.win);
    } else if (b.rank == 1 && c->partner) {
        c->partner(&j, atol(times));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    bench_check(&b, b.rank == 1 && is_wrong(&j, c->fn, atol(times)));
    status = bench_end(&b);
    MPI_Win_free(&j.win);
    MPI_Finalize();
    return status;
}
