/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Exact numbers of messages and of rounds, per algorithm of the collectives, beside what no
 * algorithm can do without. A round: every rank sends and receives one message at most; small data,
 * for which nobody must be ready. What synchronization and long data add: test/mpid/coll/test_cost.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/ranks.h"
#include "mpid/coll/simtime.h"
#include "mpid/coll/tree.h"
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

/* The rounds that each child of a k-nomial tree's head needs for its own ranks, in the order in
 * which the head sends; returns how many children. */
enum { ARITY = 4, KNOMIAL_CHILDREN = 32 };

static int knomial_below(int n, int (*rounds)(int n), int below[KNOMIAL_CHILDREN])
{
    int children = 0, power = 1;
    while (power * ARITY < n)
        power *= ARITY;
    for (; n > 1; n = power, power /= ARITY)
        for (int left = n - power; left > 0; left -= power)
            below[children++] = rounds(left < power ? left : power);
    return children;
}

static int knomial_down(int n)
{
    int below[KNOMIAL_CHILDREN], latest = 0, children = knomial_below(n, knomial_down, below);
    for (int i = 0; i < children; i++)
        latest = latest > i + 1 + below[i] ? latest : i + 1 + below[i];
    return latest;
}

/* Who is ready first is heard first. */
static int knomial_up(int n)
{
    int below[KNOMIAL_CHILDREN], latest = 0, children = knomial_below(n, knomial_up, below);
    for (int i = 0; i < children; i++) {
        int heard = below[i];
        for (int k = 0; k < children; k++)
            heard += below[k] >= below[i];
        latest = latest > heard ? latest : heard;
    }
    return latest;
}

static struct cost knomial(int p)
{
    return (struct cost){knomial_down(p), p - 1};
}

static struct cost knomial_back(int p)
{
    return (struct cost){knomial_up(p), p - 1};
}

/* The greater half of the others first. */
static int binary_down(int n)
{
    int far = n > 1 ? 1 + binary_down(n / 2) : 0, near = n > 2 ? 2 + binary_down((n - 1) / 2) : 0;
    return far > near ? far : near;
}

static struct cost binary(int p)
{
    return (struct cost){binary_down(p), p - 1};
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

/* All wait for all first: dissemination. */
static struct cost entered(struct cost cost, int p)
{
    return (struct cost){cost.rounds + log2_up(p), cost.messages + (long long) p * log2_up(p)};
}

static struct cost pairwise_entry(int p)
{
    return entered(pairwise(p), p);
}

/* Down a binomial tree; then round the ring, but for the parts that are there already. Each but the
 * root says that it is ready. */
static struct cost scatter_ring(int p)
{
    struct wdl_tree_shape tree = wdl_tree_optimal(p, 1000, 1000);
    long long passed = 0; /* parts of others that came down the tree */
    for (int r = 1; r < p; r++) {
        struct wdl_tree_node node;
        wdl_tree_find(&tree, 0, r, &node);
        passed += node.size - 1;
    }
    return (struct cost){log2_up(p) + p - 1,
                         p - 1 + (p - 1) * (long long) (p - 1) + p - 1 - passed};
}

/* One block, and a ready flag for each message. Flags for one rank come all at once and queue at
 * its port: so this many rounds at most. */
static struct cost circulant(int p)
{
    return (struct cost){2 * log2_up(p), 2 * (p - 1)};
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

/* Straight between ranks of different nodes: with the root's, the last, or all with all. */
static struct cost near_rooted(int p)
{
    int other = p - 1 - (p - 1) % NODE;
    return (struct cost){other, other};
}

static struct cost near_pairwise(int p)
{
    long long pairs = 0;
    for (int r = 0; r < p; r++)
        pairs += p - (r / NODE < heads(p) - 1 ? NODE : p - (heads(p) - 1) * NODE);
    return (struct cost){p - 1, pairs};
}

/* Heads alone wait for each other, and begin with their data when their ports have heard the last
 * of that: later than the others, whose blocks then meet theirs. So this many rounds at most. */
static struct cost near_entry(int p)
{
    struct cost in = heads_every_round(p), data = near_pairwise(p);
    return (struct cost){2 * in.rounds + data.rounds + NODE - 1, in.messages + data.messages};
}

static const struct row {
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
    {WDL_COLL_BROADCAST, "scatter_ring", least_rooted, scatter_ring, 100},
    {WDL_COLL_BROADCAST, "circulant", least_rooted, circulant, 130},
    {WDL_COLL_REDUCE, "circulant", least_rooted, circulant, 130},
    {WDL_COLL_EXCHANGE, "pairwise_entry", least_all, pairwise_entry, 60},
    {WDL_COLL_REDUCE_SCATTER, "pairwise_entry", least_all, pairwise_entry, 60},
    {WDL_COLL_BROADCAST, "binomial", least_rooted, least_rooted, 5000},
    {WDL_COLL_BROADCAST, "knomial", least_rooted, knomial, 1024},
    {WDL_COLL_BROADCAST, "binary", least_rooted, binary, 5000},
    {WDL_COLL_BROADCAST, "flat", least_rooted, from_root, 15},
    {WDL_COLL_REDUCE, "binomial", least_rooted, least_rooted, 5000},
    {WDL_COLL_REDUCE, "knomial", least_rooted, knomial_back, 1024},
    {WDL_COLL_REDUCE, "binary", least_rooted, binary, 5000},
    {WDL_COLL_REDUCE, "flat", least_rooted, from_root, 15},
    {WDL_COLL_SCATTER, "binomial", least_rooted, least_rooted, 32},
    {WDL_COLL_SCATTER, "knomial", least_rooted, knomial, 32},
    {WDL_COLL_SCATTER, "binary", least_rooted, binary, 32},
    {WDL_COLL_GATHER, "binomial", least_rooted, least_rooted, 32},
    {WDL_COLL_GATHER, "knomial", least_rooted, knomial_back, 32},
    {WDL_COLL_GATHER, "binary", least_rooted, binary, 32},
    {WDL_COLL_SCATTER, "near", heads_rooted, near_rooted, 15},
    {WDL_COLL_GATHER, "near", heads_rooted, near_rooted, 15},
    {WDL_COLL_EXCHANGE, "near", heads_all, near_pairwise, 15},
    {WDL_COLL_EXCHANGE, "near_entry", heads_all, near_entry, 60},
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

static int has_nodes(const struct row *row)
{
    return row->algorithm[0] == 'l' || row->algorithm[0] == 'n';
}

static size_t bytes_of(const struct row *row, int p)
{
    enum { MUCH = 8000 };
    if (row->ours == circulant) /* for what is short it may not be asked */
        return MUCH;
    if (row->ours == scatter_ring || row->ours == halving)
        return 4 * (size_t) p; /* something for each to own */
    return row->kind == WDL_COLL_BARRIER ? 0 : 4;
}

static struct simtime_call call_of(const struct row *row, int p)
{
    return (struct simtime_call){.kind = row->kind,
                                 .algorithm = row->algorithm,
                                 .bytes = bytes_of(row, p)};
}

static void look(const struct row *row, int p, int domains)
{
    struct simtime_call call = call_of(row, p);
    struct simtime_result result;
    struct cost least = row->least(p), ours = row->ours(p);
    if (has_nodes(row)) {
        call.node = NODE;
        call.domains = domains;
        call.root = p - 1; /* of a node that may be smaller than the others */
    }
    must(simtime_walk(&rounds, p, &call, 1 << 30, &result));
    int took = (int) (result.ns / ROUND_NS);
    int at_most = row->ours == circulant || row->ours == near_entry;
    int right = at_most ? took <= ours.rounds : result.ns == (uint64_t) ours.rounds * ROUND_NS;
    if (!right || result.messages != (uint64_t) ours.messages)
        ck_abort_msg("%s %s, %d ranks: %llu ns, %llu messages; not %d rounds, %lld messages",
                     wdl_coll_kind_name(call.kind), call.algorithm, p,
                     (unsigned long long) result.ns, (unsigned long long) result.messages,
                     ours.rounds, ours.messages);
    must_cmp(took, >=, least.rounds);
    must_cmp(ours.messages, >=, least.messages);
}

START_TEST(messages_and_rounds)
{
    int least;
    static const int many[] = {31,  32,   33,   63,   64,   65,   100, 129,
                               130, 1000, 1023, 1024, 1025, 4095, 5000};
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        least = has_nodes(&rows[i]) ? NODE + 1 : 2; /* one node has no levels */
        for (int p = least; p <= 30 && p <= rows[i].most; p++)
            look(&rows[i], p, 0);
        for (unsigned k = 0; k < sizeof(many) / sizeof(many[0]); k++)
            if (many[k] <= rows[i].most)
                look(&rows[i], many[k], 0);
    }
}
END_TEST

/* Of those messages, flags: a barrier's all; one for each who is to get what is long, or to let a
 * ring begin; an entry's. */
static uint64_t flags_of(const struct row *row, int p)
{
    long long messages = row->ours(p).messages, flags = 0;
    if (row->kind == WDL_COLL_BARRIER)
        flags = messages;
    else if (strcmp(row->algorithm, "ring") == 0)
        flags = p;
    else if (row->ours == circulant || row->ours == scatter_ring)
        flags = p - 1;
    else if (strcmp(row->algorithm, "pairwise_entry") == 0)
        flags = messages - (long long) p * (p - 1);
    return (uint64_t) flags;
}

/* The engine takes as many as the walk, in the same time; and flags are puts, which leaves a
 * barrier without a message. */
START_TEST(flags_are_puts)
{
    static const int some[] = {2, 5, 8, 13};
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (unsigned k = 0; k < sizeof(some) / sizeof(some[0]); k++) {
            if (has_nodes(&rows[i])) /* the walk's alone */
                continue;
            int p = some[k];
            struct simtime_call call = call_of(&rows[i], p);
            struct cost ours = rows[i].ours(p);
            struct simtime_result result = simtime_engine(&rounds, p, &call);
            must_cmp(result.ns, <=, (uint64_t) ours.rounds * ROUND_NS);
            must(result.ns == (uint64_t) ours.rounds * ROUND_NS || rows[i].ours == circulant);
            must_cmp(result.messages, ==, (uint64_t) ours.messages);
            must_cmp(result.puts, ==, flags_of(&rows[i], p));
        }
}
END_TEST

/* Every kind on a node: no message. Operands are of 4 bytes, which all kinds take. */
START_TEST(on_a_node_nothing_is_sent)
{
    enum { RANKS = 5 };
    struct ranks r;
    struct wdl_team *teams[RANKS];
    static struct wdl_coll_req reqs[RANKS]; /* nobody is called */
    static char src[RANKS][4 * RANKS], dst[RANKS][4 * RANKS];
    struct wdl_sim_params sim = {.seed = 1, .ranks = RANKS, .ordered = 1};
    struct wdl_team_params params = {.id = 3};
    ranks_open(&r, &sim);
    ranks_team_nodes(&r, &params, RANKS, 1, teams);
    for (int i = 0; i < RANKS; i++) { /* the team opens */
        struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER};
        must_cmp(wdl_coll_start(teams[i], &barrier, &reqs[i]), ==, WDL_OK);
    }
    ranks_finish(&r, reqs, 1);
    for (int kind = WDL_COLL_BARRIER; kind < WDL_COLL_CUSTOM; kind++) {
        struct wdl_coll_args args = {.kind = (enum wdl_coll_kind) kind,
                                     .flags = WDL_COLL_MPI,
                                     .bytes = 4,
                                     .op = {ranks_sum, NULL, 4, WDL_COLL_EXACT, NULL},
                                     .algorithm = "node"};
        for (int i = 0; i < RANKS; i++) {
            args.src = src[i];
            args.dst = dst[i];
            must_cmp(wdl_coll_start(teams[i], &args, &reqs[i]), ==, WDL_OK);
        }
        ranks_finish(&r, reqs, 1);
        must_cmp(wdl_sim_counts(r.sim)->sent, ==, 0);
    }
    ranks_drop(&r, teams);
    ranks_close(&r);
}
END_TEST

/* What is stored from one domain to another is what is sent from one node to another: between heads
 * alone. */
START_TEST(stores_between_domains)
{
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int p = NODE + 1; rows[i].algorithm[0] == 'l' && p <= rows[i].most; p += 1 + p / 20)
            look(&rows[i], p, 1);
}
END_TEST

WDL_SUITE("cost/coll", messages_and_rounds, flags_are_puts, stores_between_domains,
          on_a_node_nothing_is_sent)
