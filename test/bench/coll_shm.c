/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Time of small collectives of the standalone engine through shared cells: processes on one node,
 * no network. coll_shm [RANKS] [ITERATIONS] [request]: a line per collective, microseconds per call
 * on rank 0; with a third argument by requests instead of the express lane.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/assert.h"
#include "host/testhost.h"
#include "mpid/coll/coll.h"
#include "netmod/sim/sim.h"

static int ranks = 2, iterations = 100000, by_request;
static char *memory;
static size_t segment_bytes;

static void *segment(void *ctx, int rank)
{
    (void) ctx;
    return memory + (size_t) rank * segment_bytes;
}

static int peer_of(void *ctx, int rank)
{
    (void) ctx;
    return rank;
}

static void sum(void *ctx, const void *left, void *inout, size_t count)
{
    const double *l = left;
    double *r = inout;
    (void) ctx;
    for (size_t i = 0; i < count; i++)
        r[i] += l[i];
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

enum { SPINS = 200 };

static void give_way(int spins)
{
    if (spins > SPINS || ranks > 2) /* let the others run */
        sched_yield();
}

static void once(struct wdl_proc *proc, struct wdl_team *team, const struct wdl_coll_args *args)
{
    struct wdl_run *lane = by_request ? NULL : wdl_coll_express(team, args);
    if (lane) {
        for (int spins = 0; wdl_coll_express_look(lane) == WDL_AGAIN; spins++)
            give_way(spins);
        return;
    }
    struct wdl_coll_req req = {.done = 0};
    int status = wdl_coll_start(team, args, &req);
    wdl_assert_cmp(status, ==, WDL_OK);
    for (int spins = 0; !req.done; spins++) {
        wdl_proc_progress(proc);
        give_way(spins);
    }
}

static void measure(int rank, struct wdl_proc *proc, struct wdl_team *team, const char *name,
                    const struct wdl_coll_args *args)
{
    for (int i = 0; i < iterations / 10; i++)
        once(proc, team, args);
    double start = seconds();
    for (int i = 0; i < iterations; i++)
        once(proc, team, args);
    if (rank == 0)
        printf("%-12s %2d ranks %6zu bytes: %8.3f us\n", name, ranks, args->bytes,
               1e6 * (seconds() - start) / iterations);
    fflush(stdout);
}

static void run(int rank)
{
    static char data[2][65536];
    struct test_host host;
    struct wdl_sim_params sim = {.seed = 1, .ranks = ranks, .ordered = 1};
    struct wdl_proc *proc;
    struct wdl_team *team;
    char err[128];
    struct wdl_coll_shm shm = {.segment = segment};
    struct wdl_team_params params = {
        .id = 1, .rank = rank, .size = ranks, .peer_of = peer_of, .shm = &shm};
    test_host_init(&host);
    struct wdl_proc_params p = {.host = host.host,
                                .netmod = &wdl_nm_sim_ops,
                                .rank = rank,
                                .peers = ranks,
                                .fabric = wdl_sim_create(&sim)};
    int status = wdl_proc_create(&p, &proc, err, sizeof(err));
    wdl_assert_cmp(status, ==, WDL_OK);
    status = wdl_coll_init(proc);
    wdl_assert_cmp(status, ==, WDL_OK);
    segment_bytes = (wdl_coll_shm_bytes(proc, &params) + 4095) & ~(size_t) 4095;
    status = wdl_team_create(proc, &params, &team);
    wdl_assert_cmp(status, ==, WDL_OK);
    struct wdl_coll_args args = {.kind = WDL_COLL_BARRIER, .flags = WDL_COLL_MPI};
    measure(rank, proc, team, "barrier", &args);
    args.src = data[0];
    args.dst = data[1];
    args.bytes = 8;
    args.op = (struct wdl_coll_op){sum, NULL, 8, 1, NULL};
    args.kind = WDL_COLL_ALLREDUCE;
    measure(rank, proc, team, "allreduce", &args);
    args.bytes = 256;
    measure(rank, proc, team, "allreduce", &args);
    args.bytes = 8;
    args.kind = WDL_COLL_BROADCAST;
    measure(rank, proc, team, "broadcast", &args);
    args.kind = WDL_COLL_GATHER_ALL;
    measure(rank, proc, team, "gather_all", &args);
    args.kind = WDL_COLL_EXCHANGE;
    measure(rank, proc, team, "exchange", &args);
}

int main(int argc, char **argv)
{
    ranks = argc > 1 ? atoi(argv[1]) : ranks;
    iterations = argc > 2 ? atoi(argv[2]) : iterations;
    by_request = argc > 3;
    memory =
        mmap(NULL, (size_t) ranks << 24, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    wdl_assert(memory != MAP_FAILED);
    for (int i = 1; i < ranks; i++)
        if (fork() == 0) {
            run(i);
            _exit(0);
        }
    run(0);
    while (wait(NULL) > 0)
        ;
    return 0;
}
