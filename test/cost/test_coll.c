/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Exact numbers of messages and of rounds, per algorithm of the collectives, beside what no
 * algorithm can do without. A round: every rank sends and receives one message at most; small data,
 * for which nobody must be ready. What synchronization and long data add: test/mpid/coll/test_cost.
 */
#include "mpid/coll/simtime.h"
#include "support/must.h"
#include "support/suite.h"

enum { ROUND_NS = 1000 };

/* The next message may follow when this one has arrived. */
static const struct simtime_network rounds = {
    "rounds", {.l_ns = ROUND_NS, .g_ns = ROUND_NS, .free_bytes = 1 << 20}};

static int log2_down(int p)
{
    int log = 0;
    while (2 << log <= p)
        log++;
    return log;
}

static int log2_up(int p)
{
    return log2_down(p) + (p & (p - 1) ? 1 : 0);
}

struct cost {
    int rounds;
    long long messages;
};

/* Once to all others: each must get a message, and those who have it double at best in a round. */
static struct cost least_rooted(int p)
{
    return (struct cost){log2_up(p), p - 1};
}

/* All from all: each must hear of p - 1 others, which doubles at best. The fewest messages are
 * those of a reduction and a broadcast. */
static struct cost least_all(int p)
{
    return (struct cost){log2_up(p), 2 * (p - 1)};
}

/* log rounds of p messages */
static struct cost every_round(int p)
{
    return (struct cost){log2_up(p), (long long) p * log2_up(p)};
}

/* Ranks beyond a power of two give their data to a neighbour, and get the result from it. */
static struct cost doubling(int p)
{
    int log = log2_down(p), more = p - (1 << log);
    return (struct cost){log + (more ? 2 : 0), (long long) log * (1 << log) + 2 * more};
}

/* There and back. */
static struct cost halving(int p)
{
    return (struct cost){2 * log2_up(p), 2 * (long long) p * log2_up(p)};
}

/* Rank r hears from r - 1, r - 2, r - 4, .. as far as there are ranks. */
static struct cost scan(int p)
{
    struct cost cost = {log2_up(p), 0};
    for (int k = 1; k < p; k *= 2)
        cost.messages += p - k;
    return cost;
}

/* To each of the others, one after another. */
static struct cost pairwise(int p)
{
    return (struct cost){p - 1, (long long) p * (p - 1)};
}

static struct cost from_root(int p)
{
    return (struct cost){p - 1, p - 1};
}

/* Before the data go round the ring, each says to its left that it is ready. */
static struct cost ring(int p)
{
    return (struct cost){p, (long long) p * p};
}

/* Between the heads of nodes of NODE ranks each. */
enum { NODE = 4 };

static int heads(int p)
{
    return (p + NODE - 1) / NODE;
}

static struct cost heads_rooted(int p)
{
    return least_rooted(heads(p));
}

static struct cost heads_all(int p)
{
    return least_all(heads(p));
}

static struct cost heads_every_round(int p)
{
    return every_round(heads(p));
}

static struct cost heads_doubling(int p)
{
    return doubling(heads(p));
}

static struct cost heads_scan(int p)
{
    return scan(heads(p));
}

static struct cost heads_pairwise(int p)
{
    return pairwise(heads(p));
}

static struct cost heads_ring(int p)
{
    return ring(heads(p));
}

static const struct {
    enum wdl_coll_kind kind;
    const char *algorithm;
    struct cost (*least)(int p), (*ours)(int p);
    int most; /* ranks for which it may be asked for like that */
} rows[] = {
    {WDL_COLL_BARRIER, "dissemination", least_all, every_round, 5000},
    {WDL_COLL_BROADCAST, "tree", least_rooted, least_rooted, 5000},
    {WDL_COLL_REDUCE, "tree", least_rooted, least_rooted, 5000},
    {WDL_COLL_SCATTER, "tree", least_rooted, least_rooted, 32},
    {WDL_COLL_SCATTER, "direct", least_rooted, from_root, 15},
    {WDL_COLL_GATHER, "tree", least_rooted, least_rooted, 32},
    {WDL_COLL_GATHER, "direct", least_rooted, from_root, 15},
    {WDL_COLL_GATHER_ALL, "bruck", least_all, every_round, 32},
    {WDL_COLL_GATHER_ALL, "ring", least_all, ring, 100},
    {WDL_COLL_EXCHANGE, "bruck", least_all, every_round, 32},
    {WDL_COLL_EXCHANGE, "pairwise", least_all, pairwise, 15},
    {WDL_COLL_ALLREDUCE, "gathered", least_all, every_round, 130},
    {WDL_COLL_ALLREDUCE, "census", least_all, every_round, 5000},
    {WDL_COLL_ALLREDUCE, "doubling", least_all, doubling, 5000},
    {WDL_COLL_ALLREDUCE, "halving", least_all, halving, 32},
    {WDL_COLL_SCAN, "doubling", least_rooted, scan, 5000},
    {WDL_COLL_REDUCE_SCATTER, "pairwise", least_all, pairwise, 15},
    {WDL_COLL_BARRIER, "levels", heads_all, heads_every_round, 130},
    {WDL_COLL_BROADCAST, "levels", heads_rooted, heads_rooted, 130},
    {WDL_COLL_REDUCE, "levels", heads_rooted, heads_rooted, 130},
    {WDL_COLL_ALLREDUCE, "levels", heads_all, heads_doubling, 130},
    {WDL_COLL_SCATTER, "levels", heads_rooted, heads_rooted, 64},
    {WDL_COLL_GATHER, "levels", heads_rooted, heads_rooted, 64},
    {WDL_COLL_EXCHANGE, "levels", heads_all, heads_pairwise, 60},
    {WDL_COLL_SCAN, "levels", heads_rooted, heads_scan, 130},
    {WDL_COLL_GATHER_ALL, "levels", heads_all, heads_ring, 130},
    {WDL_COLL_REDUCE_SCATTER, "levels", heads_all, heads_pairwise, 60},
};

static struct simtime_call call_of(unsigned i, int p)
{
    struct simtime_call call = {.kind = rows[i].kind, .algorithm = rows[i].algorithm, .bytes = 4};
    if (rows[i].kind == WDL_COLL_BARRIER)
        call.bytes = 0;
    if (rows[i].algorithm[0] == 'h')
        call.bytes = 4 * (size_t) p; /* something for each to own */
    return call;
}

static void look(unsigned i, int p)
{
    struct simtime_call call = call_of(i, p);
    struct simtime_result result;
    struct cost least = rows[i].least(p), ours = rows[i].ours(p);
    if (rows[i].algorithm[0] == 'l') {
        call.node = NODE;
        call.root = p - 1; /* of a node that may be smaller than the others */
    }
    must(simtime_walk(&rounds, p, &call, 1 << 30, &result));
    if (result.ns != (uint64_t) ours.rounds * ROUND_NS ||
        result.messages != (uint64_t) ours.messages)
        ck_abort_msg("%s %s, %d ranks: %llu ns, %llu messages; not %d rounds, %lld messages",
                     wdl_coll_kind_name(call.kind), call.algorithm, p,
                     (unsigned long long) result.ns, (unsigned long long) result.messages,
                     ours.rounds, ours.messages);
    must_cmp(ours.rounds, >=, least.rounds);
    must_cmp(ours.messages, >=, least.messages);
}

START_TEST(messages_and_rounds)
{
    int least;
    static const int many[] = {31,  32,  33,   63,   64,   65,   100, 129,
                               130, 1000, 1023, 1024, 1025, 4095, 5000};
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        least = rows[i].algorithm[0] == 'l' ? NODE + 1 : 2; /* one node has no levels */
        for (int p = least; p <= 30 && p <= rows[i].most; p++)
            look(i, p);
        for (unsigned k = 0; k < sizeof(many) / sizeof(many[0]); k++)
            if (many[k] <= rows[i].most)
                look(i, many[k]);
    }
}
END_TEST

/* Of those messages, flags: a barrier's all, a ring's that say who is ready. */
static uint64_t flags_of(unsigned i, int p)
{
    if (rows[i].kind == WDL_COLL_BARRIER)
        return (uint64_t) rows[i].ours(p).messages;
    return rows[i].algorithm[0] == 'r' ? (uint64_t) p : 0;
}

/* The engine takes as many as the walk, in the same time; and flags are puts, which leaves a
 * barrier without a message. */
START_TEST(flags_are_puts)
{
    static const int some[] = {2, 5, 8, 13};
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (unsigned k = 0; k < sizeof(some) / sizeof(some[0]); k++) {
            if (rows[i].algorithm[0] == 'l') /* the walk's alone */
                continue;
            int p = some[k];
            struct simtime_call call = call_of(i, p);
            struct cost ours = rows[i].ours(p);
            struct simtime_result result = simtime_engine(&rounds, p, &call);
            must_cmp(result.ns, ==, ours.rounds * ROUND_NS);
            must_cmp(result.messages, ==, ours.messages);
            must_cmp(result.puts, ==, flags_of(i, p));
        }
}
END_TEST

WDL_SUITE("cost/coll", messages_and_rounds, flags_are_puts)
