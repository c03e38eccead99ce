/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * How long collectives take, exactly, on three networks in simulated time: against the model's
 * optimum.
 */
#include <stdlib.h>
#include "mpid/coll/simtime.h"
#include "support/must.h"
#include "support/suite.h"

enum { ANY = 1 << 30 };

static void walk_is(const struct simtime_network *network, int ranks,
                    const struct simtime_call *call, const struct simtime_result *engine)
{
    struct simtime_result walk;
    must(simtime_walk(network, ranks, call, ANY, &walk));
    if (walk.ns != engine->ns || walk.messages != engine->messages)
        ck_abort_msg("%s, %d ranks, %s, %zu bytes: %llu ns, %llu messages; walk %llu, %llu",
                     network->name, ranks, wdl_coll_kind_name(call->kind), call->bytes,
                     (unsigned long long) engine->ns, (unsigned long long) engine->messages,
                     (unsigned long long) walk.ns, (unsigned long long) walk.messages);
}

START_TEST(the_walk_is_the_engine)
{
    static const int ranks[] = {1, 2, 3, 5, 8, 13, 17, 32, 33};
    static const struct simtime_call calls[] = {
        {.kind = WDL_COLL_BARRIER},
        {.kind = WDL_COLL_BROADCAST, .bytes = 8},
        {.kind = WDL_COLL_BROADCAST, .bytes = 4000, .algorithm = "tree"},
        {.kind = WDL_COLL_REDUCE, .bytes = 8},
        {.kind = WDL_COLL_REDUCE, .bytes = 1000},
        {.kind = WDL_COLL_ALLREDUCE, .bytes = 8},
        {.kind = WDL_COLL_ALLREDUCE, .bytes = 4000},
        {.kind = WDL_COLL_SCAN, .bytes = 8},
        {.kind = WDL_COLL_GATHER, .bytes = 8},
        {.kind = WDL_COLL_GATHER, .bytes = 300, .algorithm = "direct"},
        {.kind = WDL_COLL_SCATTER, .bytes = 8},
        {.kind = WDL_COLL_GATHER_ALL, .bytes = 8},
        {.kind = WDL_COLL_GATHER_ALL, .bytes = 2000, .algorithm = "ring"},
        {.kind = WDL_COLL_EXCHANGE, .bytes = 8},
        {.kind = WDL_COLL_EXCHANGE, .bytes = 400},
        {.kind = WDL_COLL_REDUCE_SCATTER, .bytes = 8},
    };
    enum { CALLS = sizeof(calls) / sizeof(calls[0]) };
    for (int n = 0; n < SIMTIME_NETWORKS; n++)
        for (unsigned i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
            struct simtime_result results[CALLS];
            simtime_engines(&simtime_networks[n], ranks[i], calls, CALLS, results);
            for (int k = 0; k < CALLS; k++)
                walk_is(&simtime_networks[n], ranks[i], &calls[k], &results[k]);
        }
}
END_TEST

/* A reduction takes as long as a broadcast, but for who receives what first. */
START_TEST(a_broadcast_takes_the_optimal_time)
{
    static const int many[] = {200, 255, 256, 257, 600, 1000, 1023, 1024, 1025, 2500, 4097};
    enum { FEW = 130, MANY = sizeof(many) / sizeof(many[0]) };
    static const struct simtime_call broadcast = {.kind = WDL_COLL_BROADCAST, .bytes = 1};
    static const struct simtime_call reduce = {.kind = WDL_COLL_REDUCE, .bytes = 4};
    for (int n = 0; n < SIMTIME_NETWORKS; n++)
        for (int i = 2; i < FEW + MANY; i++) {
            int p = i < FEW ? i : many[i - FEW];
            struct simtime_result walk;
            must(simtime_walk(&simtime_networks[n], p, &broadcast, ANY, &walk));
            must_cmp(walk.ns, ==, simtime_optimum(&simtime_networks[n], p, 1));
            must_cmp(walk.messages, ==, p - 1);
            uint64_t least = simtime_optimum(&simtime_networks[n], p, 4);
            must(simtime_walk(&simtime_networks[n], p, &reduce, ANY, &walk));
            must_cmp(walk.ns, >=, least);
            must_cmp(100 * walk.ns, <=, 101 * least);
        }
}
END_TEST

WDL_SUITE("mpid/coll/simtime", the_walk_is_the_engine, a_broadcast_takes_the_optimal_time)
