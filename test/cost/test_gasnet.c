/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Exact numbers of messages of every call of gasnet_coll.h in every mode, scope and length: between
 * nodes of one rank each, and on one node; beside what nothing can do without. LOCAL costs what
 * SINGLE does, where the same is known.
 */
#include <string.h>
#include "mpid/coll/gasnet_calls.h"
#include "support/must.h"
#include "support/suite.h"

enum { IN = WDL_COLL_IN_NOSYNC, OUT = WDL_COLL_OUT_NOSYNC };
enum { CELL = 64, SHORT = 4, LONG = 100 }; /* bytes */
enum { MANY = 16 }; /* ranks of which each cannot have a link to each */

static int is(int flag)
{
    return (with.flags & flag) != 0;
}

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

/* --- what is counted --- */

/* A tree's edges: everybody else must get a message, or send one. */
static int edges(void)
{
    return r.n - 1;
}

/* Everybody hears of everybody in ceil(log2 n) rounds, in each of which everybody sends one. The
 * fewest rounds; the fewest messages are 2 (n - 1). */
static int rounds(void)
{
    return r.n * log2_up(r.n);
}

/* The fold of the L ranks below grows to that of 2 L or 2 L + 1, as n - 1 has it in binary: from
 * the rank L below, whose own fold of L must not be empty, or from the one L + 1 below. */
static int prefixes(void)
{
    int sum = 0, below = 0;
    for (int bit = log2_up(r.n) - 1; bit >= 0; bit--) {
        int odd = (r.n - 1) >> bit & 1;
        sum += r.n - (below + 1);
        below = 2 * below + odd;
    }
    return sum;
}

static int ring(void)
{
    return r.n * (r.n - 1);
}

static int doubling(void)
{
    int log = log2_down(r.n), more = r.n - (1 << log);
    return log * (1 << log) + 2 * more;
}

/* Between two nodes of different numbers of images, if what lies on the images, one element each,
 * becomes one block a node, as long on all. */
static int deal(void)
{
    static char goes[RANKS_MAX][RANKS_MAX];
    size_t each = (first[r.n] + (size_t) r.n - 1) / (size_t) r.n;
    int pairs = 0;
    memset(goes, 0, sizeof(goes));
    for (int i = 0; i < r.n; i++)
        for (size_t u = first[i]; u < first[i + 1]; u++)
            if (u / each != (size_t) i && !goes[i][u / each]++)
                pairs++;
    return pairs;
}

/* --- */

struct cost {
    int data;
    /* who gets something long says first that there is a place for it, unless the entry's
     * synchronization has said so of all; and flags that are needed in any case */
    int ready, always;
    int hears; /* from all in its first stage: nothing is left for IN_ALLSYNC to do */
    int least; /* of data, for anybody */
};

static int is_long(void)
{
    return with.nbytes == LONG;
}

/* Blocks straight to who gets them. Where ranks are many, who may send is told when. */
static struct cost straight(int pairs, int more)
{
    return (struct cost){pairs + more, is_long() || r.n >= MANY ? pairs : 0, .least = pairs};
}

/* To the partner, who does not know how much: a head, in which little is; of more it says when that
 * can come. */
static struct cost telling(void)
{
    int more = is_long() ? 2 * r.n : 0;
    return (struct cost){r.n + more, r.n >= MANY ? r.n : 0, .least = r.n};
}

/* Each asks its partner, and is answered as soon as that is there: by asking it has said that there
 * is a place for the answer. Where ranks are many, who may ask is told when. */
static struct cost asking(void)
{
    return (struct cost){2 * r.n, r.n >= MANY ? r.n : 0, .least = r.n};
}

/* A graph of its own: its rounds, with ready flags where it is long; and arrays dealt anew before
 * and behind it, whose blocks all have one. */
static struct cost custom(int own, int deals, int least)
{
    return (struct cost){own + deals, (is_long() ? own : 0) + deals, .least = least};
}

/* All hear first what all have: `before`. */
static struct cost heard(int before, struct cost then)
{
    return (struct cost){before + then.data, 0, then.ready, 1, then.least};
}

/* Many say to all to which units they give, in rounds: the longer ones have ready flags. */
static int numbers_wait(int m)
{
    size_t most = 1;
    int waits = 0;
    for (int i = 0; i < r.n && m; i++)
        most = images[i] > most ? images[i] : most;
    for (int have = 1; have < r.n; have *= 2) {
        size_t blocks = (size_t) (r.n - have < have ? r.n - have : have);
        waits += blocks * most * sizeof(uint32_t) > CELL ? r.n : 0;
    }
    return waits;
}

/* Where nobody waits for all, who gives tells who gets it, among many that it comes first, and to
 * whom each gives all hear meanwhile; else all they give, before. */
static struct cost turning(int m)
{
    if (is(WDL_COLL_IN_ALLSYNC) || is(WDL_COLL_OUT_ALLSYNC))
        return heard(m ? ring() + r.n : rounds(), straight(r.n, 0));
    struct cost cost = telling();
    cost.data += rounds() + (r.n >= MANY ? r.n + numbers_wait(m) : 0);
    return cost;
}

static struct cost sorting(int deals, size_t elements)
{
    /* how many offers, the offers, how many are below each, which may be more than a cell; one
     * round of them, for a node has few elements. Sizes of parts; none moves. */
    int fixed = rounds() + ring() + r.n + doubling() + rounds();
    fixed += elements * sizeof(int64_t) > CELL ? doubling() : 0;
    return (struct cost){2 * deals + fixed, deals, deals, .least = 2 * edges()};
}

static struct cost cost_of(const struct call *call)
{
    int e = edges(), m = call->m, local = is(WDL_COLL_LOCAL);
    int tree = is_long() ? e : 0, round = is_long() ? rounds() : 0, deals = m ? deal() : 0;
    const char *name = call->name;
    if (!strcmp(name, "barrier"))
        return (struct cost){rounds(), .least = 2 * e};
    if (!strncmp(name, "broadcast", 9) || !strcmp(name, "scatter") || !strcmp(name, "gather"))
        return (struct cost){e, tree, .least = e};
    if (!strncmp(name, "scatter", 7))
        return (struct cost){e, tree, .least = e};
    if (!strncmp(name, "gather_all", 10) && (m || name[10])) {
        struct cost cost = {ring(), r.n, .least = 2 * e};
        return local && !m ? heard(rounds(), cost) : cost;
    }
    if (!strcmp(name, "gather_all") || !strcmp(name, "exchange"))
        return (struct cost){rounds(), round, .least = 2 * e};
    if (!strncmp(name, "gather", 6))
        return straight(e, 0);
    if (!strcmp(name, "exchangeM"))
        return straight(ring(), 0);
    if (!strcmp(name, "exchangev"))
        return local ? heard(rounds(), straight(r.n, 0)) : straight(r.n, 0);
    if (!strncmp(name, "permute", 7))
        return local ? turning(m) : straight(r.n, 0);
    if (!strncmp(name, "get", 3))
        return asking();
    if (!strcmp(name, "put"))
        return straight(r.n, 0);
    if (!strcmp(name, "putM"))
        return telling();
    if (!strncmp(name, "reduce_all", 10))
        return custom(2 * e, deals, 2 * e);
    if (!strncmp(name, "reduce", 6))
        return custom(e, deals, e);
    if (!strcmp(name, "scan_dealt")) /* of single elements */
        return (struct cost){prefixes() + r.n, r.n, .least = e};
    if (!strncmp(name, "scan", 4))
        return custom(prefixes(), 2 * deals, e);
    return sorting(deals, m ? first[r.n] : (size_t) r.n);
}

/* Downwards the data is the news that all have entered. What comes to the root has told it that all
 * is over; what leaves it has not. */
static int entry(const struct call *call)
{
    int flow_all = call->shape != DOWN && call->shape != UP;
    return flow_all ? rounds() : call->shape == DOWN ? edges() : 2 * edges();
}

static int leaving(const struct call *call)
{
    int flow_all = call->shape != DOWN && call->shape != UP;
    return flow_all ? rounds() : call->shape == DOWN ? 2 * edges() : edges();
}

static int between_nodes(const struct call *call)
{
    struct cost cost = cost_of(call);
    must_cmp(cost.data, >=, cost.least);
    if (call->shape == NOTHING)
        return cost.data;
    int sum = cost.data + cost.always;
    if (is(WDL_COLL_OUT_ALLSYNC))
        sum += leaving(call);
    if (!is(WDL_COLL_IN_ALLSYNC))
        return sum + cost.ready;
    return sum + (cost.hears ? cost.ready : entry(call));
}

/* None, but for what is in graphs of its own: a message where it is longer than a cell, or has a
 * role for each pair. */
static int on_one_node(const struct call *call)
{
    const char *name = call->name;
    int deals = call->m ? deal() : 0;
    if (!strncmp(name, "sort", 4))
        return 2 * deals;
    if (!strncmp(name, "get", 3) || !strncmp(name, "put", 3)) /* who gets it fetches */
        return 0;
    if (!strcmp(name, "scan_dealt"))
        return r.n;
    if (!strncmp(name, "reduce", 6) || !strncmp(name, "scan", 4)) {
        struct cost cost = cost_of(call);
        if (!call->m) /* vectors: as MPI's */
            return 0;
        return is_long() ? cost.data : !strncmp(name, "scan", 4) ? 2 * deals : deals;
    }
    return 0;
}

/* --- */

static void settle(void)
{
    while (!wdl_sim_quiescent(r.sim))
        ranks_step(&r);
    for (int k = 0; k < 20 * r.n; k++)
        ranks_step(&r);
}

static void run(const struct call *call)
{
    gasnet_calls_prepare(call);
    gasnet_all(call->start);
    settle();
}

static const struct call *named(const char *name)
{
    for (int k = 0; k < gasnet_call_count; k++)
        if (!strcmp(gasnet_calls[k].name, name))
            return &gasnet_calls[k];
    must(!"a call of that name");
    return NULL;
}

enum { LANES = 4 };

/* Credit for many more in all teams of the engine. */
static void quiet(void)
{
    int flags = with.flags;
    with.flags = WDL_COLL_IN_ALLSYNC | WDL_COLL_OUT_ALLSYNC | WDL_COLL_LOCAL;
    run(named("barrier"));
    for (int k = 0; k < LANES; k++)
        run(named("gather_allv"));
    with.flags = flags;
}

static void count(const struct call *call, int node, int (*wanted)(const struct call *call))
{
    static const int scopes[] = {WDL_COLL_SINGLE, WDL_COLL_LOCAL};
    for (int k = 0; k < 9 * 4; k++) {
        int scope = scopes[k / 9 % 2], mode = k % 9;
        if (call->scope && call->scope != scope)
            continue;
        with.flags = IN << mode % 3 | OUT << mode / 3 | scope;
        with.nbytes = k / 18 ? LONG : SHORT;
        quiet();
        uint64_t before = wdl_sim_counts(r.sim)->sent;
        run(call);
        int sent = (int) (wdl_sim_counts(r.sim)->sent - before), all = wanted(call);
        if (sent != all)
            ck_abort_msg("%s of %zu bytes, flags %x, %d nodes%s: %d messages, not %d", call->name,
                         with.nbytes, (unsigned) with.flags, r.n, node ? " in one" : "", sent, all);
    }
}

/* M forms where nodes have different numbers of images. */
static void all_calls(int n, int node, int (*wanted)(const struct call *call))
{
    for (int m = 0; m < 2; m++) {
        struct wdl_sim_params sim = {.seed = (uint64_t) n,
                                     .ranks = n,
                                     .ordered = 1,
                                     .am_bytes_max = 1024,
                                     .no_rma = 1}; /* flags are messages */
        gasnet_open_nodes(&sim, m ? 0 : 1, node);
        settle();
        if (!node) /* one of several: of each, test_coll has the numbers */
            gasnet_prefer("ALLREDUCE:doubling,BROADCAST:tree,GATHER_ALL:bruck,EXCHANGE:bruck");
        for (int k = 0; k < gasnet_call_count; k++)
            if (gasnet_calls[k].m == m)
                count(&gasnet_calls[k], node, wanted);
        gasnet_close();
    }
}

START_TEST(messages_between_few_nodes)
{
    static const int sizes[] = {2, 3, 4, 5, 8, 9};
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
        all_calls(sizes[k], 0, between_nodes);
}
END_TEST

START_TEST(messages_between_many_nodes)
{
    all_calls(MANY + 1, 0, between_nodes);
}
END_TEST

START_TEST(messages_on_one_node)
{
    static const int sizes[] = {2, 3, 5, 8};
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
        all_calls(sizes[k], RANKS_MAX, on_one_node);
}
END_TEST

/* --- ahead, into segments --------------------------------------------------------------------- */

/* Each block once, from its place to its place; each that is long has its ready flag, which nobody
 * waits for, and who gets it is told. On a node there is no message. */
static void count_ahead(const struct call *call, int node)
{
    enum { TIMES = 3 }; /* first contacts are made */
    uint64_t pairs = (uint64_t) (call->shape == ALL ? ring() : edges());
    uint64_t each = with.nbytes > CELL ? 2 : 1;
    for (int k = 0; k < TIMES; k++) {
        quiet();
        struct wdl_coll_stats before = ranks_stats(&r), after;
        uint64_t sent = wdl_sim_counts(r.sim)->sent;
        run(call);
        after = ranks_stats(&r);
        if (k < TIMES - 1)
            continue;
        must_cmp(after.sent - before.sent, ==, node ? 0 : each * pairs);
        if (is_long()) /* put, or a message where the ready flag has come before it begins */
            continue;
        must_cmp(after.placed_bytes - before.placed_bytes, ==,
                 each == 1 ? 0 : pairs * with.nbytes);
        /* little data; flags are put */
        must_cmp(wdl_sim_counts(r.sim)->sent - sent, ==, each == 1 && !node ? pairs : 0);
    }
}

static void ahead(int n, int node)
{
    enum { BOARDFUL = 2049 };
    static const size_t bytes[] = {SHORT, LONG, BOARDFUL};
    struct wdl_sim_params sim = {
        .seed = (uint64_t) n, .ranks = n, .ordered = 1, .am_bytes_max = 1024};
    gasnet_open_nodes(&sim, 1, node);
    for (int i = 0; i < n; i++)
        must_cmp(wdl_coll_attach(r.one[i].proc, dst[i][0], ROOM), ==, WDL_OK);
    settle();
    for (int k = 0; k < gasnet_call_count; k++)
        for (int l = 0; l < 3 && gasnet_calls[k].m && gasnet_is_move(&gasnet_calls[k]); l++) {
            with.flags = WDL_COLL_IN_NOSYNC | (k & 1 ? WDL_COLL_OUT_NOSYNC : WDL_COLL_OUT_MYSYNC) |
                         WDL_COLL_SINGLE | WDL_GAS_DST_IN_SEGMENT;
            with.nbytes = bytes[l];
            if (!node || l != 1) /* else it depends on the kind whether a board holds it */
                count_ahead(&gasnet_calls[k], node);
        }
    for (int i = 0; i < n; i++)
        while (wdl_coll_detach(r.one[i].proc, dst[i][0], ROOM) == WDL_AGAIN)
            ranks_step(&r);
    gasnet_close();
}

START_TEST(messages_ahead)
{
    static const int sizes[] = {2, 3, 5, 8};
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
        for (int node = 0; node < 2; node++)
            ahead(sizes[k], node * RANKS_MAX);
}
END_TEST

WDL_SUITE("cost/gasnet", messages_between_few_nodes, messages_between_many_nodes,
          messages_on_one_node, messages_ahead)
