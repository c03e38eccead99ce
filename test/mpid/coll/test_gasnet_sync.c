/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * How weak the synchronization modes are: for every call, mode, scope of addresses and place of the
 * nodes, whose handles a late node delays, exactly. First what the definitions (seed 002) demand
 * whatever the implementation; then, by name, what delays beyond that, and why.
 */
#include <string.h>
#include "mpid/coll/board.h"
#include "mpid/coll/gasnet_calls.h"
#include "mpid/coll/tree.h"
#include "support/suite.h"

enum { IN = WDL_COLL_IN_NOSYNC, OUT = WDL_COLL_OUT_NOSYNC, SHORT = 8, LONG = 300 };
enum { LONGER = 3000 }; /* than a board, or a packet */
enum { HUGE = 20000 }; /* where only one of two nodes knows how much moves, it is not copied */
enum { MANY = 16 }; /* ranks: each has no cell for each */
enum { CELL = 64, BOARD = 2048 }; /* of the teams of gasnet_ranks */
enum place { MESSAGES, ONE_NODE, NODES, PLACES };

static enum place place;
static int each; /* ranks on one of several nodes */

static int is(int flag)
{
    return (with.flags & flag) != 0;
}

/* --- beside the calls of all: node 0 has several partners; some only give, or do nothing --- */

static uint32_t nodes[RANKS_MAX][1], partners[RANKS_MAX][RANKS_MAX];
static void *here[RANKS_MAX][1], *there[RANKS_MAX][1];

/* Node i with `other` (-1: nobody); and guests, from one to before another. */
static void start_with(int i, int gets, int many, int other, int first_guest, int end_guest)
{
    size_t at = (size_t) (i % 3) * with.nbytes; /* nobody looks at what is there */
    struct wdl_gas_put put = {.gets = gets, .many = many, .nbytes = with.nbytes};
    for (int k = first_guest; k < end_guest; k++)
        partners[i][put.partner_count++] = (uint32_t) k;
    nodes[i][0] = (uint32_t) other;
    here[i][0] = (gets ? dst : src)[i][0];
    there[i][0] = other < 0 ? NULL : (gets ? src : dst)[other][0] + (gets ? 0 : at);
    put.node = nodes[i][0];
    put.nodes = nodes[i];
    put.count = other >= 0;
    put.partners = partners[i];
    put.dst_list = gets ? here[i] : there[i];
    put.src_list = gets ? there[i] : here[i];
    put.dst = put.dst_list[0];
    put.src = put.src_list[0];
    handle[i] = wdl_gas_put_nb(team[i], &put, with.flags);
}

static void put_to_one(int i)
{
    start_with(i, 0, 0, i == 0, i == 0 ? 1 : 0, i == 0 ? r.n : i == 1);
}

static void putM_to_one(int i)
{
    start_with(i, 0, 1, i == 0 ? -1 : 0, 1, i == 0 ? r.n : 1);
}

static void putM_of_one(int i)
{
    start_with(i, 0, 1, i == 0 ? 1 : -1, 0, i == 1);
}

static void getM_of_one(int i)
{
    start_with(i, 1, 1, i == 0 ? -1 : 0, 1, i == 0 ? r.n : 1);
}

static const struct call sparse[] = {
    {"put_to_one", ALONG, WDL_COLL_LOCAL, 0, put_to_one},
    {"putM_to_one", ALONG, WDL_COLL_LOCAL, 0, putM_to_one},
    {"putM_of_one", ALONG, WDL_COLL_LOCAL, 0, putM_of_one},
    {"getM_of_one", ALONG, WDL_COLL_LOCAL, 0, getM_of_one},
};
enum { SPARSE = sizeof(sparse) / sizeof(sparse[0]) };

static int gives(const struct call *call, int from, int to)
{
    if (call->start == put_to_one)
        return from == 0 ? to == 1 : to == 0;
    if (call->start == putM_to_one)
        return from != 0 && to == 0;
    if (call->start == putM_of_one)
        return from == 0 && to == 1;
    return call->start == getM_of_one ? from == 0 && to != 0 : gasnet_gives(call, from, to);
}

/* --- the definitions --- */

static int takes_part(const struct call *call, int i)
{
    int all = call < sparse || call >= sparse + SPARSE;
    for (int k = 0; k < r.n && !all; k++)
        if (k != i && (gives(call, i, k) || gives(call, k, i)))
            return 1;
    return all;
}

/* Does anything come into its memory, its own included? */
static int gets(const struct call *call, int i)
{
    for (int k = 0; k < r.n; k++)
        if (k != i && gives(call, k, i))
            return 1;
    return (call->shape == UP && i == with.root) || call->shape == ABOVE ||
           (call->shape == DOWN && i == with.root);
}

/* With LOCAL what exchangev fills in are sizes, too: that one gives nothing it alone knows. */
static int hears(const struct call *call)
{
    return !strcmp(call->name, "exchangev") && is(WDL_COLL_LOCAL);
}

/* What comes into memory has to come before the last handle is done, and who gets it is the one who
 * can tell; so that is who waits where OUT_NOSYNC leaves it open. Who only gives is through with
 * OUT_MYSYNC when its memory has been read; with OUT_NOSYNC at once; and who does neither in any
 * case. Before all have entered nothing moves with IN_ALLSYNC. Who has done nothing of it yet has
 * not touched its memory. */
static int must_wait(const struct call *call, int late, int i)
{
    if (call->shape == NOTHING || is(WDL_COLL_OUT_ALLSYNC) || hears(call))
        return 1;
    if (is(WDL_COLL_IN_ALLSYNC))
        return (is(WDL_COLL_OUT_MYSYNC) && takes_part(call, i)) || gets(call, i);
    return gives(call, late, i);
}

/* --- what waits longer, and why --- */

enum way {
    /* Through memory of the engine's: whoever gives may leave when that is filled. */
    ENGINE,
    /* Straight to who gets it. What is longer than a cell has no place until that one is there: it
     * stays where it is, and OUT_MYSYNC waits for it. */
    STRAIGHT,
    /* Along a tree: ceil(log n) rounds in place of n - 1. Data passes through ranks, and so waits
     * for them; what is long stays where it is, as with STRAIGHT. */
    TREE,
    /* On one node, what is too long for a board is fetched from where it is, and OUT_MYSYNC waits
     * for that. */
    BOARDS,
    /* ... and of blocks of different lengths what does not fit behind a sheet that says where they
     * are. */
    SHEET,
    /* Down between heads of nodes, of whom the others of a node hear: like a tree. */
    HEADS,
    /* Within a node SHEET, between nodes STRAIGHT; what is gathered is shown. */
    NEAR,
    /* Only who asks knows whose memory it wants: with OUT_MYSYNC who gives waits for that. */
    ASKED,
    /* An array whose units are not dealt to nodes evenly is folded where its elements lie side by
     * side, as many on every node: a block waits for whatever is in it. */
    DEALT
};

static const struct row {
    const char *name;
    enum way way[PLACES];
} rows[] = {
    {"barrier", {ENGINE, ENGINE, ENGINE}},
    {"broadcast", {TREE, ENGINE, HEADS}},
    {"broadcastM", {TREE, ENGINE, HEADS}},
    {"scatter", {TREE, BOARDS, HEADS}},
    {"scatterM", {STRAIGHT, SHEET, NEAR}},
    {"scatterv", {STRAIGHT, SHEET, NEAR}},
    {"gather", {TREE, ENGINE, ENGINE}},
    {"gatherM", {STRAIGHT, ENGINE, NEAR}},
    {"gatherv", {STRAIGHT, ENGINE, NEAR}},
    {"gather_all", {ENGINE, ENGINE, ENGINE}},
    {"gather_allM", {ENGINE, ENGINE, ENGINE}},
    {"gather_allv", {ENGINE, ENGINE, ENGINE}},
    {"exchange", {ENGINE, ENGINE, ENGINE}},
    {"exchangeM", {ENGINE, ENGINE, ENGINE}},
    {"exchangev", {STRAIGHT, SHEET, NEAR}},
    {"permute", {STRAIGHT, SHEET, NEAR}}, /* SINGLE; LOCAL puts */
    {"permuteM", {STRAIGHT, SHEET, NEAR}},
    {"put", {ENGINE, ENGINE, ENGINE}},
    {"putM", {ENGINE, ENGINE, ENGINE}},
    {"get", {ASKED, ASKED, ASKED}},
    {"getM", {ASKED, ASKED, ASKED}},
    {"put_to_one", {ENGINE, ENGINE, ENGINE}},
    {"putM_to_one", {ENGINE, ENGINE, ENGINE}},
    {"putM_of_one", {ENGINE, ENGINE, ENGINE}},
    {"getM_of_one", {ASKED, ASKED, ASKED}},
    {"reduce", {ENGINE, ENGINE, ENGINE}},
    {"reduceM", {ENGINE, ENGINE, ENGINE}},
    {"reduce_all", {ENGINE, ENGINE, ENGINE}},
    {"reduce_allM", {ENGINE, ENGINE, ENGINE}},
    {"scan", {ENGINE, ENGINE, ENGINE}},
    {"scanM", {DEALT, DEALT, DEALT}},
    {"scan_dealt", {ENGINE, ENGINE, ENGINE}},
    {"sort", {ENGINE, ENGINE, ENGINE}},
    {"sortM", {ENGINE, ENGINE, ENGINE}},
};

static const struct row *row_of(const struct call *call)
{
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
        if (!strcmp(rows[k].name, call->name))
            return &rows[k];
    ck_abort_msg("%s has no row", call->name);
    return NULL;
}

static int node_of(int i)
{
    return each ? i / each : i;
}

static int one_node(int a, int b)
{
    return place == ONE_NODE || (place == NODES && node_of(a) == node_of(b));
}

/* LOCAL permute puts: each node knows how many blocks it gets, and not from whom. */
static int is_put(const struct call *call)
{
    return !strncmp(call->name, "put", 3) ||
           (!strncmp(call->name, "permute", 7) && is(WDL_COLL_LOCAL));
}

static enum way way_of(const struct call *call)
{
    if (is_put(call))
        return with.nbytes == HUGE ? STRAIGHT : ENGINE;
    return row_of(call)->way[place];
}

static int is_broadcast(const struct call *call)
{
    return !strncmp(call->name, "broadcast", 9);
}

/* Among so many, from member 0; latency and gap are equal in these teams, and so is what more bytes
 * take. What is broadcast in one packet longer than a cell goes the other way round the ring. */
static struct wdl_tree_node in_tree(const struct call *call, int count, int i)
{
    struct wdl_tree_shape shape = wdl_tree_optimal(count, 1000001, 1000001);
    struct wdl_tree_node node;
    int turned = is_broadcast(call) && with.nbytes > CELL && with.nbytes < LONGER;
    wdl_tree_find(&shape, 0, turned ? (count - i) % count : i, &node);
    if (turned && node.parent >= 0)
        node.parent = (count - node.parent) % count;
    return node;
}

static int is_above(const struct call *call, int count, int above, int i)
{
    while (i >= 0 && i != above)
        i = in_tree(call, count, i).parent;
    return i >= 0;
}

/* Are `bytes` from the caller's memory kept there until `to` is ready? */
static int stays(size_t bytes)
{
    return is(WDL_COLL_OUT_MYSYNC) && bytes > CELL;
}

/* From the root down, or up to it; a leaf's block and what the root has are in the caller's memory,
 * and what is broadcast is so everywhere. */
static int tree_waits(const struct call *call, int late, int i)
{
    struct wdl_tree_node own = in_tree(call, r.n, i), other = in_tree(call, r.n, late);
    if (call->shape == UP)
        return own.parent == late && own.children == 0 && stays(with.nbytes);
    int broadcast = is_broadcast(call);
    size_t bytes = with.nbytes * (size_t) (broadcast ? 1 : other.size);
    return is_above(call, r.n, late, i) ||
           (other.parent == i && (i == 0 || broadcast) && stays(bytes));
}

static int heads_wait(const struct call *call, int late, int i)
{
    int nodes = (r.n + each - 1) / each, is_head = i % each == 0, late_is = late % each == 0;
    struct wdl_tree_node other = in_tree(call, nodes, node_of(late));
    if (late_is && is_above(call, nodes, node_of(late), node_of(i)))
        return 1;
    int broadcast = is_broadcast(call);
    size_t bytes = with.nbytes * (size_t) (broadcast ? 1 : each * other.size);
    return is_head && late_is && other.parent == node_of(i) && (i == 0 || broadcast) &&
           stays(bytes);
}

static int straight_waits(const struct call *call, int late, int i)
{
    return gives(call, i, late) && stays(with.nbytes);
}

/* What goes from one node to another in one call. */
static size_t block_of(const struct call *call, int from, int to)
{
    size_t blocks = call->m && call->shape == DOWN ? first[to + 1] - first[to] : 1;
    return gives(call, from, to) ? blocks * with.nbytes : 0;
}

static int sheet_waits(const struct call *call, int late, int i)
{
    size_t all = sizeof(struct wdl_sheet);
    for (int k = 0; k < r.n; k++)
        if (k == i || one_node(i, k))
            all += sizeof(struct wdl_sheet_block) + (k == i ? 0 : block_of(call, i, k));
    return gives(call, i, late) && is(WDL_COLL_OUT_MYSYNC) && all > BOARD;
}

static int near_waits(const struct call *call, int late, int i)
{
    if (node_of(late) != node_of(i))
        return straight_waits(call, late, i);
    return call->shape != UP && sheet_waits(call, late, i);
}

static int dealt_waits(int late, int i)
{
    size_t each = (first[r.n] + (size_t) r.n - 1) / (size_t) r.n;
    return first[late] / each <= (first[i + 1] - 1) / each;
}

static int waits_longer(const struct call *call, int late, int i)
{
    if (is(WDL_COLL_IN_ALLSYNC))
        return 0;
    switch (way_of(call)) {
    case STRAIGHT:
        return straight_waits(call, late, i);
    case TREE:
        return tree_waits(call, late, i);
    case BOARDS:
        return is(WDL_COLL_OUT_MYSYNC) && gives(call, i, late) &&
               (size_t) r.n * with.nbytes > BOARD;
    case SHEET:
        return sheet_waits(call, late, i);
    case HEADS:
        return heads_wait(call, late, i);
    case NEAR:
        return near_waits(call, late, i);
    case ASKED:
        return is(WDL_COLL_OUT_MYSYNC) && gives(call, i, late);
    case DEALT:
        return dealt_waits(late, i);
    default:
        return 0;
    }
}

/* --- in segments ------------------------------------------------------------------------------ */

/* Between nodes, and long ones on a node, go into the destination of who has not come, or out of
 * its source. Of all that who gives may be done, and with OUT_NOSYNC who fetches. */
static int fetched(const struct call *call)
{
    int is_long = with.nbytes * (size_t) (gasnet_is_of_each(call) ? r.n : 1) > BOARD;
    int puts = is(WDL_GAS_DST_IN_SEGMENT) && !is_broadcast(call);
    return place == ONE_NODE && is(WDL_GAS_SRC_IN_SEGMENT) &&
           (is(WDL_COLL_OUT_NOSYNC) || (is_long && !puts));
}

static int waits_in_segments(const struct call *call, int late, int i)
{
    /* a root that has fetched all there is knows that it is over, and says so */
    if (is(WDL_COLL_OUT_ALLSYNC))
        return !(fetched(call) && call->shape == UP) || late == with.root;
    if (fetched(call))
        return is(WDL_COLL_OUT_MYSYNC) && gives(call, i, late);
    return gives(call, late, i);
}

static int waits_without(const struct call *call, int late, int i)
{
    return must_wait(call, late, i) || waits_longer(call, late, i);
}

static int (*waits_for)(const struct call *call, int late, int i) = waits_without;

/* --- */

static void settle(void)
{
    for (int k = 0; k < 150 * r.n; k++)
        ranks_step(&r);
}

static int is_done(int i)
{
    enum wdl_gas_error error;
    if (!handle[i] || !wdl_gas_try_sync(handle[i], &error))
        return 0;
    ck_assert_int_eq(error, WDL_GAS_FINE);
    handle[i] = NULL;
    return 1;
}

static void delays(const struct call *call, int late)
{
    gasnet_calls_prepare(call);
    for (int i = 0; i < r.n; i++)
        if (i != late)
            call->start(i);
    settle();
    for (int i = 0; i < r.n; i++) {
        if (i == late)
            continue;
        int waits = !is_done(i);
        if (waits != waits_for(call, late, i))
            ck_abort_msg("%s of %zu bytes, flags %x, place %d: node %d of %d %s node %d",
                         call->name, with.nbytes, (unsigned) with.flags, (int) place, i, r.n,
                         waits ? "waits for" : "does not wait for", late);
    }
    call->start(late);
    for (int i = 0; i < r.n; i++)
        while (handle[i] && !is_done(i))
            ranks_step(&r);
    settle();
}

/* Every mode with both scopes (of many ranks, what puts) and all lengths; all of few ranks are late
 * in turn. */
static void modes(const struct call *call)
{
    static const int scopes[] = {WDL_COLL_SINGLE, WDL_COLL_LOCAL};
    static const size_t bytes[] = {SHORT, LONG, HUGE};
    enum { FEW = 5 };
    int vectors = !strncmp(call->name, "reduce", 6) || !strcmp(call->name, "scan");
    int lengths = call->shape == ALONG || (vectors && !call->m) ? 3 : 2;
    for (int k = 0; k < 9 * 2 * lengths; k++) {
        int scope = scopes[k / 9 % 2], mode = k % 9;
        if (call->scope && call->scope != scope)
            continue;
        with.flags = IN << mode % 3 | OUT << mode / 3 | scope;
        with.nbytes = bytes[k / 18];
        if (r.n >= MANY && !is_put(call))
            continue;
        if (r.n > FEW)
            delays(call, (int) draw((size_t) r.n));
        for (int late = 0; late < r.n && r.n <= FEW; late++)
            delays(call, late);
    }
}

/* M forms where nodes have different numbers of images, and go ways of their own. */
static void at_place(int n, int m)
{
    struct wdl_sim_params sim = {
        .seed = (uint64_t) n, .ranks = n, .ordered = n & 1, .am_bytes_max = 1024};
    each = place == MESSAGES   ? 0
           : place == ONE_NODE ? RANKS_MAX
           : n >= MANY         ? 6
           : n > 6             ? 3
                               : 2; /* 3 nodes at most */
    gasnet_open_nodes(&sim, m ? 0 : 1, each);
    if (place == MESSAGES)
        gasnet_prefer("BROADCAST:tree"); /* a circle has another order */
    settle();
    for (int k = 0; k < gasnet_call_count; k++)
        if (gasnet_calls[k].m == m)
            modes(&gasnet_calls[k]);
    for (int k = 0; k < SPARSE && !m; k++)
        modes(&sparse[k]);
    gasnet_close();
}

static void at_places(enum place where)
{
    static const int sizes[] = {2, 3, 4, 5, 6, 8, 9};
    place = where;
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
        for (int m = 0; m < 2; m++)
            at_place(sizes[k], m);
}

START_TEST(a_late_node_delays_by_messages)
{
    at_places(MESSAGES);
}
END_TEST

START_TEST(a_late_node_delays_on_its_own_node)
{
    at_places(ONE_NODE);
}
END_TEST

START_TEST(a_late_node_delays_on_several_nodes)
{
    at_places(NODES);
}
END_TEST

/* More than there are cells for. */
START_TEST(a_late_node_delays_puts_of_many)
{
    for (place = MESSAGES; place < PLACES; place++)
        for (int m = 0; m < 2; m++)
            at_place(place == NODES ? MANY : MANY + 3, m);
}
END_TEST

/* Two of it, which are one aggregate: what that is made of goes ahead as it does alone. */
static const struct call *twice;

static void twice_start(int i)
{
    with.flags |= WDL_GAS_AGGREGATE;
    twice->start(i);
    ck_assert_ptr_null(handle[i]);
    with.flags &= ~WDL_GAS_AGGREGATE;
    twice->start(i);
}

static void delays_twice(const struct call *call, int late)
{
    struct call both = *call;
    both.start = twice_start;
    twice = call;
    delays(&both, late);
}

/* Calls whose addresses all know: M forms, an image a node; a gather's is its root's. */
static void segment_modes(const struct call *call)
{
    static const int in_segment[] = {WDL_GAS_DST_IN_SEGMENT,
                                     WDL_GAS_DST_IN_SEGMENT | WDL_GAS_SRC_IN_SEGMENT,
                                     WDL_GAS_SRC_IN_SEGMENT};
    static const size_t bytes[] = {SHORT, LONG, LONGER};
    int ways = place == ONE_NODE && call->m ? 3 : call->m ? 2 : 1;
    for (int k = 0; k < 3 * 3 * ways; k++) {
        with.flags = WDL_COLL_IN_NOSYNC | OUT << k % 3 | WDL_COLL_SINGLE | in_segment[k / 9];
        with.nbytes = bytes[k / 3 % 3];
        for (int late = 0; late < r.n; late++) {
            delays(call, late);
            delays_twice(call, late);
        }
    }
}

static void in_segments(int n, int seed)
{
    struct wdl_sim_params sim = {.seed = (uint64_t) n,
                                 .ranks = n,
                                 .ordered = seed & 1,
                                 .delay_ns_max = 3000,
                                 .am_bytes_max = 1024,
                                 .no_map = seed >> 1 & 1};
    each = place == MESSAGES ? 0 : place == ONE_NODE ? RANKS_MAX : n > 2 ? 2 : 1;
    gasnet_open_nodes(&sim, 1, each);
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(wdl_coll_attach(r.one[i].proc, dst[i][0], ROOM), WDL_OK);
    settle();
    waits_for = waits_in_segments;
    for (int k = 0; k < gasnet_call_count; k++)
        if (gasnet_is_move(&gasnet_calls[k]) &&
            (gasnet_calls[k].m || gasnet_calls[k].shape == UP))
            segment_modes(&gasnet_calls[k]);
    waits_for = waits_without;
    for (int i = 0; i < n; i++)
        while (wdl_coll_detach(r.one[i].proc, dst[i][0], ROOM) == WDL_AGAIN)
            ranks_step(&r);
    gasnet_close();
}

START_TEST(a_late_node_delays_nobody_who_gives_to_its_segment)
{
    static const int sizes[] = {2, 3, 5};
    for (place = MESSAGES; place < PLACES; place++)
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
            for (int seed = 0; seed < 4; seed++)
                in_segments(sizes[k], seed);
}
END_TEST

WDL_SUITE("mpid/coll/gasnet_sync", a_late_node_delays_by_messages,
          a_late_node_delays_on_its_own_node, a_late_node_delays_on_several_nodes,
          a_late_node_delays_puts_of_many,
          a_late_node_delays_nobody_who_gives_to_its_segment)
