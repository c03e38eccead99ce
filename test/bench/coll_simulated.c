/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Collectives in simulated time. coll_simulated [RANKS_MAX]: for three networks, from 2 ranks to
 * RANKS_MAX (default 65536), lines of
 *
 *   = network operation bytes ranks nanoseconds messages least-nanoseconds
 *   ! network operation ranks per-mille: the worst of all numbers of ranks, by the times of the
 *     tree and of the rounds that the engine chooses; per mille of the least
 *   > network operation how-many ranks: numbers of ranks beyond 1.1 of it, and the greatest
 *
 * Up to 256 ranks the engine runs; beyond, its graphs are walked through, where they send nothing
 * longer than a packet and not more than MESSAGES_MAX messages; what is neither has no line.
 * `least` is a bound that no algorithm can beat: all must hear of one (LogP's optimal tree) or of
 * all (least.h), and each rank's data must come through its port.
 */
#include <stdio.h>
#include <stdlib.h>
#include "mpid/coll/nodes.h"
#include "mpid/coll/simtime.h"

enum { ENGINE_RANKS_MAX = 256, ENGINE_BYTES_MAX = 1 << 28, MESSAGES_MAX = 1 << 22 };

static const struct {
    enum wdl_coll_kind kind;
    const char *name;
    int all; /* every rank hears of each */
    int blocks; /* ... and gets one from it */
} operations[] = {{WDL_COLL_BARRIER, "barrier", 1, 0},
                  {WDL_COLL_BROADCAST, "bcast", 0, 0},
                  {WDL_COLL_REDUCE, "reduce", 0, 0},
                  {WDL_COLL_ALLREDUCE, "allreduce", 1, 0},
                  {WDL_COLL_GATHER_ALL, "allgather", 1, 1},
                  {WDL_COLL_EXCHANGE, "alltoall", 1, 1},
                  {WDL_COLL_SCAN, "scan", 0, 0}};
static const size_t sizes[] = {8, 64, 512, 4096, 32768, 262144};
static const int ranks[] = {2,    3,    4,    5,    7,    8,     12,    16,    24,
                            32,   48,   64,   100,  128,  256,   512,   1000,  1024,
                            1025, 2048, 4096, 5000, 8192, 16384, 32768, 65535, 65536};
enum {
    OPERATIONS = sizeof(operations) / sizeof(operations[0]),
    SIZES = sizeof(sizes) / sizeof(sizes[0]),
    RANKS = sizeof(ranks) / sizeof(ranks[0])
};

static uint64_t least(const struct simtime_network *network, int operation, size_t bytes, int p)
{
    const struct wdl_sim_loggp *l = &network->loggp;
    size_t come = bytes * (operations[operation].blocks ? (size_t) p - 1 : 1);
    uint64_t heard =
        operations[operation].all ? simtime_least(network, p) : simtime_optimum(network, p, 0);
    uint64_t port = 2 * l->o_ns + l->l_ns + (come ? (come - 1) * l->byte_ps / 1000 : 0);
    return heard > port ? heard : port;
}

static void row(const struct simtime_network *network, int operation, size_t bytes, int p)
{
    struct simtime_call call = {.kind = operations[operation].kind, .bytes = bytes};
    struct simtime_result result;
    size_t memory = bytes * (size_t) p * (operations[operation].blocks ? (size_t) p : 1);
    if (p <= ENGINE_RANKS_MAX && memory <= ENGINE_BYTES_MAX)
        result = simtime_engine(network, p, &call);
    else if (!simtime_walk(network, p, &call, MESSAGES_MAX, &result))
        return;
    printf("=\t%s\t%s\t%zu\t%d\t%llu\t%llu\t%llu\n", network->name, operations[operation].name,
           bytes, p, (unsigned long long) result.ns, (unsigned long long) result.messages,
           (unsigned long long) least(network, operation, bytes, p));
    fflush(stdout);
}

struct worst {
    int ranks, beyond, last;
    double ratio;
};

static void worst_note(struct worst *worst, int ranks, double ratio)
{
    if (ratio > worst->ratio) {
        worst->ratio = ratio;
        worst->ranks = ranks;
    }
    if (ratio > 1.1) {
        worst->beyond++;
        worst->last = ranks;
    }
}

static void worst_print(const char *network, const char *operation, const struct worst *worst)
{
    printf("!\t%s\t%s\t%d\t%.0f\n", network, operation, worst->ranks, 1000 * worst->ratio);
    printf(">\t%s\t%s\t%d\t%d\n", network, operation, worst->beyond, worst->last);
    fflush(stdout);
}

static void every_number(const struct simtime_network *network, int most)
{
    static struct wdl_coll coll; /* keeps the last spans found, and no other team asks */
    struct wdl_team team = {.coll = &coll, .params.model = simtime_model(network)};
    struct worst barrier = {0}, broadcast = {0};
    for (int p = 2; p <= most; p++) {
        struct wdl_span span;
        wdl_span_make(&team, p, 0, &span);
        const struct wdl_span_tree *tree = &span.tree[WDL_SPAN_OPTIMAL];
        struct wdl_tree_shape best = wdl_tree_optimal(p, tree->shape.eel_ps, tree->shape.gap_ps);
        worst_note(&barrier, p,
                   (double) span.spread.time_ps / (1000.0 * (double) simtime_least(network, p)));
        worst_note(&broadcast, p, (double) tree->ps / (double) wdl_tree_time_ps(&best, 0));
    }
    worst_print(network->name, "barrier", &barrier);
    worst_print(network->name, "bcast", &broadcast);
}

int main(int argc, char **argv)
{
    int most = argc > 1 ? atoi(argv[1]) : 65536;
    for (int n = 0; n < SIMTIME_NETWORKS; n++)
        every_number(&simtime_networks[n], most);
    for (int n = 0; n < SIMTIME_NETWORKS; n++)
        for (int k = 0; k < OPERATIONS; k++)
            for (int s = 0; s < (operations[k].kind == WDL_COLL_BARRIER ? 1 : SIZES); s++)
                for (int i = 0; i < RANKS && ranks[i] <= most; i++)
                    row(&simtime_networks[n], k,
                        operations[k].kind == WDL_COLL_BARRIER ? 0 : sizes[s], ranks[i]);
    return 0;
}
