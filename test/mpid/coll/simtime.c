/* Part of Windlass. See COPYRIGHT in the top-level directory. Collectives in simulated time: the
 * networks, and the engine on them. */
#include "mpid/coll/simtime.h"
#include <stdlib.h>
#include "base/assert.h"
#include "mpid/coll/least.h"
#include "mpid/coll/ranks.h"
#include "mpid/coll/tree.h"
#include "mpid/coll/wire.h"

enum { HEADERS = sizeof(struct wdl_am_hdr) + sizeof(struct wdl_coll_pkt), QUIET_NS = 1000000000 };

const struct simtime_network simtime_networks[SIMTIME_NETWORKS] = {
    {"gm", {.o_ns = 500, .l_ns = 6000, .g_ns = 6000, .byte_ps = 4000, .free_bytes = HEADERS}},
    {"vapi", {.o_ns = 500, .l_ns = 9000, .g_ns = 3500, .byte_ps = 1250, .free_bytes = HEADERS}},
    {"mpi", {.o_ns = 5000, .l_ns = 180000, .g_ns = 24000, .byte_ps = 10000, .free_bytes = HEADERS}},
};

struct wdl_coll_model simtime_model(const struct simtime_network *network)
{
    const struct wdl_sim_loggp *p = &network->loggp;
    /* operators take no time in the simulation */
    return (struct wdl_coll_model){.latency = (double) (2 * p->o_ns + p->l_ns),
                                   .gap = (double) (p->g_ns > p->o_ns ? p->g_ns : p->o_ns),
                                   .byte = (double) p->byte_ps / 1000};
}

uint64_t simtime_optimum(const struct simtime_network *network, int ranks, size_t bytes)
{
    const struct wdl_sim_loggp *p = &network->loggp;
    uint64_t wire = bytes ? (bytes - 1) * p->byte_ps / 1000 * 1000 : 0; /* whole ns, as there */
    uint64_t gap = 1000 * (p->g_ns > p->o_ns ? p->g_ns : p->o_ns) + wire;
    struct wdl_tree_shape tree =
        wdl_tree_optimal(ranks, 1000 * (2 * p->o_ns + p->l_ns) + wire, gap);
    return wdl_tree_time_ps(&tree, 0) / 1000;
}

uint64_t simtime_least(const struct simtime_network *network, int ranks)
{
    const struct wdl_sim_loggp *p = &network->loggp;
    return least_all(ranks, 2 * p->o_ns + p->l_ns, p->g_ns > p->o_ns ? p->g_ns : p->o_ns);
}

struct wdl_coll_args simtime_args(const struct simtime_call *call)
{
    int commutes = call->ordered ? 0 : call->rounds ? WDL_COLL_COMMUTES : WDL_COLL_EXACT;
    return (struct wdl_coll_args){.kind = call->kind,
                                  .flags = WDL_COLL_MPI,
                                  .root = call->root,
                                  .bytes = call->bytes,
                                  .algorithm = call->algorithm,
                                  .op = {ranks_sum, NULL, 4, commutes, NULL}};
}

/* Starts it everywhere, at one instant, on memory that holds one block a rank or one in all. */
static struct simtime_result run(struct ranks *r, struct wdl_team **teams,
                                 const struct simtime_call *call)
{
    int many = call->kind == WDL_COLL_SCATTER || call->kind == WDL_COLL_GATHER ||
               call->kind == WDL_COLL_GATHER_ALL || call->kind == WDL_COLL_EXCHANGE ||
               call->kind == WDL_COLL_REDUCE_SCATTER;
    size_t bytes = call->bytes * (many ? (size_t) r->n : 1);
    char *memory = calloc((size_t) r->n * 2, bytes + 1);
    struct wdl_coll_req *reqs = calloc((size_t) r->n, sizeof(reqs[0]));
    struct wdl_coll_args args = simtime_args(call);
    wdl_assert(memory && reqs);
    uint64_t sent = ranks_sent(r), puts = wdl_sim_counts(r->sim)->puts;
    for (int i = 0; i < r->n; i++) {
        args.src = memory + (size_t) (2 * i) * bytes;
        args.dst = memory + (size_t) (2 * i + 1) * bytes;
        int status = wdl_coll_start(teams[i], &args, &reqs[i]);
        wdl_assert_cmp(status, ==, WDL_OK);
    }
    uint64_t ns = ranks_timed(r, reqs);
    for (int i = 0; i < r->n; i++)
        wdl_assert_cmp(reqs[i].status, ==, WDL_OK);
    free(memory);
    free(reqs);
    wdl_sim_advance(r->sim, QUIET_NS); /* nobody is busy any more */
    return (struct simtime_result){ns, ranks_sent(r) - sent,
                                   wdl_sim_counts(r->sim)->puts - puts};
}

/* When all know where their flags go. */
static struct simtime_result run_settled(struct ranks *r, struct wdl_team **teams,
                                         const struct simtime_call *call)
{
    static const struct simtime_call barrier = {.kind = WDL_COLL_BARRIER};
    struct simtime_result result;
    uint64_t asked;
    do {
        asked = ranks_stats(r).questions;
        (void) run(r, teams, &barrier); /* credit: nothing is put in between */
        result = run(r, teams, call);
    } while (ranks_stats(r).questions > asked);
    return result;
}

void simtime_engines(const struct simtime_network *network, int ranks,
                     const struct simtime_call *calls, int count, struct simtime_result *results)
{
    struct ranks r;
    struct wdl_sim_params sim = {.seed = 1,
                                 .ranks = ranks,
                                 .ordered = 1,
                                 .loggp = network->loggp,
                                 .am_bytes_max = SIMTIME_PACKET + HEADERS};
    struct wdl_team_params params = {.id = 1, .window = 8, .model = simtime_model(network)};
    struct wdl_team **teams = calloc((size_t) ranks, sizeof(teams[0]));
    wdl_assert(teams);
    ranks_open(&r, &sim);
    ranks_team(&r, &params, teams);
    (void) ranks_timed(&r, NULL);
    wdl_sim_advance(r.sim, QUIET_NS);
    for (int i = 0; i < count; i++)
        results[i] = run_settled(&r, teams, &calls[i]);
    ranks_drop(&r, teams);
    ranks_close(&r);
    free(teams);
}

struct simtime_result simtime_engine(const struct simtime_network *network, int ranks,
                                     const struct simtime_call *call)
{
    struct simtime_result result;
    simtime_engines(network, ranks, call, 1, &result);
    return result;
}
