/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Collectives in two levels on teams of several nodes, or of several domains of one: results, with
 * operators that want their order; messages, or stores from domain to domain, exactly: none within,
 * those of one level between the heads.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/levels.h"
#include "mpid/coll/ranks.h"
#include "support/suite.h"

/* More than a cell, and what fits a packet; half a board and more; more than a board. */
enum { RANKS_MAX = 13, SMALL = 4, LARGE = 900, MIDDLE = 1500, LONG = 5000 };

static struct ranks r;
static struct wdl_team *teams[RANKS_MAX];
static struct wdl_coll_req reqs[RANKS_MAX];
static struct wdl_coll_shm shm[RANKS_MAX];
static char *segments[RANKS_MAX], *src[RANKS_MAX], *dst[RANKS_MAX];
static int node_by_rank[RANKS_MAX], nodes, gaps;
static int domains; /* all are on one node: these are its domains */

static int node_of(void *ctx, int rank)
{
    (void) ctx;
    return domains ? 7 : 7 + node_by_rank[rank];
}

static int domain_of(void *ctx, int rank)
{
    (void) ctx;
    return 3 + node_by_rank[rank];
}

static void *segment(void *ctx, int rank)
{
    int own = (int) ((struct wdl_coll_shm *) ctx - shm);
    return node_of(NULL, own) == node_of(NULL, rank) ? segments[rank] : NULL;
}

static int peek(void *ctx, int rank, const void *there, void *here, size_t bytes)
{
    ck_assert_ptr_nonnull(segment(ctx, rank));
    memcpy(here, there, bytes);
    return WDL_OK;
}

static int poke(void *ctx, int rank, const void *here, void *there, size_t bytes)
{
    return peek(ctx, rank, here, there, bytes);
}

static int peer_of(void *ctx, int rank)
{
    (void) ctx;
    return rank;
}

/* What rank i has for rank j where blocks vary, at most `most`; of one block, for 0. */
static size_t varied(size_t most, int i, int j)
{
    return (most / 7 & ~(size_t) 3) * (size_t) ((5 * i + 3 * j) % 7);
}

static size_t varied_of(const struct wdl_coll_args *a, int from, int to)
{
    if (a->kind == WDL_COLL_EXCHANGE)
        return varied(a->bytes, from, to);
    return varied(a->bytes,
                  a->kind == WDL_COLL_SCATTER || a->kind == WDL_COLL_REDUCE_SCATTER ? to : from, 0);
}

/* The block lists of a rank; in its destination with gaps between them. */
static void vary(struct wdl_coll_args *args, int rank)
{
    static size_t lists[RANKS_MAX][4][RANKS_MAX];
    size_t most = args->bytes, (*l)[RANKS_MAX] = lists[rank], from = 0, to = 0;
    for (int i = 0; i < r.n; i++) {
        l[0][i] = varied_of(args, rank, i);
        l[1][i] = from;
        l[2][i] = varied_of(args, i, rank);
        l[3][i] = to;
        from += l[0][i];
        to += l[2][i] + 4 * (size_t) (gaps && i % 2);
    }
    int gives = args->kind == WDL_COLL_GATHER || args->kind == WDL_COLL_GATHER_ALL;
    args->src_blocks = (struct wdl_coll_blocks){l[0], l[1]};
    args->dst_blocks = (struct wdl_coll_blocks){l[2], l[3]};
    args->bytes = varied(most, rank, 0);
    if (gives) /* one block, not one for each */
        args->src_blocks = (struct wdl_coll_blocks){NULL, NULL};
}

static void finish(struct wdl_coll_args all)
{
    for (int i = 0; i < r.n; i++) {
        struct wdl_coll_args args = all;
        if (args.variable)
            vary(&args, i);
        args.src = src[i];
        args.dst = dst[i];
        ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
    }
    ranks_finish(&r, reqs, 1);
    for (int i = 0; i < r.n; i++)
        ck_assert_int_eq(reqs[i].status, WDL_OK);
    while (!wdl_sim_quiescent(r.sim))
        ranks_step(&r);
    for (int k = 0; k < 20 * r.n; k++)
        ranks_step(&r);
}

/* On the nodes of node_by_rank. */
static void open_ranks(int n)
{
    struct wdl_sim_params sim = {.seed = 5, .ranks = n, .ordered = 1, .am_bytes_max = 1024};
    struct wdl_team_params p = {.id = 3, .size = n, .peer_of = peer_of, .node_of = node_of};
    p.model = (struct wdl_coll_model){1000, 1000, 0.1, 0.25, 0}; /* trees are binomial */
    p.model.across = 100; /* as long as a gap there: heads go by rounds, too */
    p.domain_of = domains ? domain_of : NULL;
    ranks_open(&r, &sim);
    if (domains) /* however few they are */
        ranks_prefer_levels(&r, 0);
    for (p.rank = 0; p.rank < n; p.rank++) {
        shm[p.rank] = (struct wdl_coll_shm){
            .segment = segment, .peek = peek, .poke = poke, .ctx = &shm[p.rank]};
        size_t bytes = (wdl_coll_shm_bytes(r.one[p.rank].proc, &p) + 63) & ~(size_t) 63;
        segments[p.rank] = aligned_alloc(64, bytes);
        memset(segments[p.rank], 0, bytes);
        src[p.rank] = calloc(RANKS_MAX, LONG);
        dst[p.rank] = calloc(RANKS_MAX, LONG);
    }
    for (p.rank = 0; p.rank < n; p.rank++) {
        p.shm = &shm[p.rank];
        ck_assert_int_eq(wdl_team_create(r.one[p.rank].proc, &p, &teams[p.rank]), WDL_OK);
    }
    finish((struct wdl_coll_args){.kind = WDL_COLL_BARRIER});
    for (int i = 0; i < n; i++) {
        ck_assert_ptr_nonnull(teams[i]->nodes);
        ck_assert_int_eq(teams[i]->nodes->domains, domains);
        ck_assert_int_eq(teams[i]->on_node, domains);
    }
}

static void open_world(int n, int per, int interleaved)
{
    nodes = (n + per - 1) / per;
    for (int i = 0; i < n; i++)
        node_by_rank[i] = interleaved ? i % nodes : i / per;
    open_ranks(n);
}

static void close_world(void)
{
    ranks_drop(&r, teams);
    for (int i = 0; i < r.n; i++) {
        free(segments[i]);
        free(src[i]);
        free(dst[i]);
    }
    ranks_close(&r);
}

/* --- results ---------------------------------------------------------------------------------- */

static struct wdl_coll_args args_of(enum wdl_coll_kind kind, size_t bytes)
{
    return (struct wdl_coll_args){.kind = kind,
                                  .flags = WDL_COLL_MPI,
                                  .algorithm = "levels",
                                  .bytes = bytes,
                                  .op = {ranks_compose, NULL, 4, 0, NULL}};
}

/* Bytes from `at` on, in order, from rank 0 on. */
static size_t fold_expected(char *sum, size_t at, size_t bytes, int last)
{
    memcpy(sum, src[last] + at, bytes);
    for (int i = last - 1; i >= 0; i--)
        ranks_compose(NULL, src[i] + at, sum, bytes / 4);
    return bytes;
}

/* Where in the source of `from` the block for `to` begins, and in the destination of `to`. */
static size_t block_bytes(const struct wdl_coll_args *a, int from, int to)
{
    return a->variable ? varied_of(a, from, to) : a->bytes;
}

static size_t source_at(const struct wdl_coll_args *a, int from, int to)
{
    size_t at = 0;
    for (int i = 0; i < to && a->kind != WDL_COLL_GATHER && a->kind != WDL_COLL_GATHER_ALL; i++)
        at += block_bytes(a, from, i);
    return at;
}

/* A block from everyone; returns where the last one ends. */
static size_t blocks_expected(const struct wdl_coll_args *a, int rank, char *want)
{
    size_t at = 0;
    for (int i = 0; i < r.n; i++) {
        memcpy(want + at, src[i] + source_at(a, i, rank), block_bytes(a, i, rank));
        at += block_bytes(a, i, rank) + (gaps && a->variable && i % 2 ? 4 : 0);
    }
    return at;
}

/* What a rank must have in the end, and how long it is. */
static size_t expected(struct wdl_coll_args a, int rank, char *want)
{
    int is_root = rank == a.root;
    size_t own = block_bytes(&a, rank, rank);
    switch (a.kind) {
    case WDL_COLL_BROADCAST:
        memcpy(want, src[a.root], a.bytes);
        return a.bytes;
    case WDL_COLL_GATHER:
        return is_root ? blocks_expected(&a, rank, want) : 0;
    case WDL_COLL_GATHER_ALL:
    case WDL_COLL_EXCHANGE:
        return blocks_expected(&a, rank, want);
    case WDL_COLL_SCATTER:
        own = block_bytes(&a, a.root, rank);
        memcpy(want, src[a.root] + source_at(&a, a.root, rank), own);
        return own;
    case WDL_COLL_SCAN:
        rank -= (a.flags & WDL_COLL_EXCLUSIVE) != 0;
        return rank < 0 ? 0 : fold_expected(want, 0, a.bytes, rank);
    case WDL_COLL_REDUCE_SCATTER:
        return fold_expected(want, source_at(&a, rank, rank), own, r.n - 1);
    default:
        return a.kind == WDL_COLL_ALLREDUCE || is_root ? fold_expected(want, 0, a.bytes, r.n - 1)
                                                       : 0;
    }
}

/* A byte for each place and rank, over again after PERIOD. */
static void src_fill(char *to, int begin)
{
    enum { PERIOD = 1024 };
    for (int k = 0; k < PERIOD; k++)
        to[k] = (char) (begin + k * 7 / 4);
    for (size_t k = PERIOD, left = LONG * RANKS_MAX - k; left > 0; k += PERIOD) {
        size_t bytes = left < PERIOD ? left : PERIOD;
        memcpy(to + k, to, bytes);
        left -= bytes;
    }
}

static void call(struct wdl_coll_args args)
{
    static unsigned char salt;
    static char want[LONG * RANKS_MAX], wants[RANKS_MAX][LONG * RANKS_MAX];
    size_t bytes[RANKS_MAX];
    salt++;
    for (int i = 0; i < r.n; i++) {
        src_fill(src[i], salt + 31 * i);
        memset(dst[i], 0x77, LONG * RANKS_MAX);
    }
    memset(want, 0x77, sizeof(want));
    memset(wants, 0x77, sizeof(wants));
    for (int i = 0; i < r.n; i++)
        bytes[i] = expected(args, i, wants[i]);
    finish(args);
    for (int i = 0; i < r.n; i++) {
        ck_assert_msg(memcmp(dst[i], wants[i], bytes[i]) == 0, "%s%s of %zu, root %d, rank %d",
                      wdl_coll_kind_name(args.kind), args.variable ? " that vary" : "", args.bytes,
                      args.root, i);
        ck_assert_msg(memcmp(dst[i] + bytes[i], want, sizeof(want) - bytes[i]) == 0,
                      "%s of %zu, root %d, rank %d: more is written", wdl_coll_kind_name(args.kind),
                      args.bytes, args.root, i);
    }
}

static const enum wdl_coll_kind kinds[] = {WDL_COLL_BROADCAST,     WDL_COLL_REDUCE,
                                           WDL_COLL_ALLREDUCE,     WDL_COLL_SCAN,
                                           WDL_COLL_GATHER,        WDL_COLL_SCATTER,
                                           WDL_COLL_EXCHANGE,      WDL_COLL_GATHER_ALL,
                                           WDL_COLL_REDUCE_SCATTER};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static int has_near(enum wdl_coll_kind kind)
{
    return kind == WDL_COLL_GATHER || kind == WDL_COLL_SCATTER || kind == WDL_COLL_EXCHANGE;
}

/* In two levels, unless boards have no room for it; near, if it is of blocks; of blocks that
 * vary. */
static void call_twice(struct wdl_coll_args args)
{
    size_t board = teams[0]->params.board_bytes;
    int short_ones = args.kind == WDL_COLL_EXCHANGE;
    int nothing = args.kind == WDL_COLL_REDUCE_SCATTER && args.bytes == 0;
    if (!nothing && (!short_ones || wdl_levels_shown(teams[0], &args) <= board))
        call(args);
    if (has_near(args.kind) && !domains) {
        args.algorithm = "near";
        call(args);
    }
    args.variable = (has_near(args.kind) && !domains) || args.kind == WDL_COLL_GATHER_ALL ||
                    args.kind == WDL_COLL_REDUCE_SCATTER;
    gaps = args.root % 2 && args.kind != WDL_COLL_REDUCE_SCATTER;
    if (args.variable)
        call(args);
}

/* Every kind that applies here, of each length, to and from some roots. */
static void call_all(int step)
{
    static const size_t sizes[] = {0, SMALL, LARGE, MIDDLE, LONG};
    for (int k = 0; k < 5 * KINDS; k++)
        for (int root = 0; root < r.n; root += step) {
            struct wdl_coll_args args = args_of(kinds[k % KINDS], sizes[k / KINDS]);
            args.root = root;
            if (root % 2)
                args.flags |= WDL_COLL_EXCLUSIVE;
            if (teams[0]->nodes->in_order || !wdl_coll_reduces(args.kind))
                call_twice(args);
        }
}

static void roots_and_orders(int of_one_node)
{
    domains = of_one_node;
    for (int n = 3; n <= RANKS_MAX; n += 2)
        for (int per = 2; per < n && per < 6; per++) {
            open_world(n, per, 0);
            call_all(1 + n / 4);
            close_world();
        }
}

START_TEST(every_root_and_order)
{
    roots_and_orders(0);
}
END_TEST

static void sizes_and_orders(int of_one_node)
{
    struct wdl_prng prng;
    domains = of_one_node;
    wdl_prng_init(&prng, 3);
    for (int round = 0; round < 24; round++) {
        int n = 3 + (int) wdl_prng_below(&prng, RANKS_MAX - 2), in_order = round % 2, shared = 0;
        nodes = 1;
        for (int i = 0; i < n; i++) {
            int choice = (int) wdl_prng_below(&prng, 4);
            nodes += !choice;
            node_by_rank[i] = in_order ? nodes : choice;
            for (int k = 0; k < i; k++)
                shared += node_by_rank[k] == node_by_rank[i];
        }
        if (shared == 0 || shared == n * (n - 1) / 2)
            continue; /* no levels */
        open_ranks(n);
        call_all(1 + n / 3);
        close_world();
    }
}

START_TEST(nodes_of_any_size_and_order)
{
    sizes_and_orders(0);
}
END_TEST

static void interleave(int of_one_node)
{
    domains = of_one_node;
    open_world(8, 4, 1);
    struct wdl_coll_args args = args_of(WDL_COLL_REDUCE, SMALL);
    ck_assert_int_eq(wdl_coll_start(teams[0], &args, &reqs[0]), WDL_ERR_ARG);
    args.algorithm = NULL;
    call(args);
    args.kind = WDL_COLL_ALLREDUCE;
    call(args);
    call(args_of(WDL_COLL_BROADCAST, LONG));
    args = args_of(WDL_COLL_ALLREDUCE, SMALL);
    args.op = (struct wdl_coll_op){ranks_sum, NULL, 4, 1, NULL};
    finish(args);
    for (int i = 1; i < r.n; i++)
        ck_assert_int_eq(memcmp(dst[i], dst[0], SMALL), 0);
    close_world();
}

START_TEST(nodes_that_interleave_keep_the_order_of_operands)
{
    interleave(0);
}
END_TEST

/* --- messages --------------------------------------------------------------------------------- */

/* What the graphs used last have stored for others, all of them in other domains. */
static int stores(void)
{
    int sum = 0;
    for (int i = 0; i < r.n; i++) {
        const struct wdl_graph *g = wdl_container_of(teams[i]->graphs.next, struct wdl_graph, link);
        for (int k = 0; k < g->ncars; k++)
            if (g->cars[k].kind == WDL_CAR_SEND && g->cars[k].shm) {
                ck_assert_int_ne(node_by_rank[g->cars[k].peer], node_by_rank[i]);
                sum++;
            }
    }
    return sum;
}

/* ... and stores. Flags are among them, however they go, once it is known where they may be put. */
static int messages(struct wdl_coll_args args)
{
    uint64_t before = 0, asked;
    int round = 0;
    do { /* the second time nothing is built any more */
        asked = ranks_stats(&r).questions;
        finish((struct wdl_coll_args){.kind = WDL_COLL_BARRIER}); /* credit for many more */
        before = ranks_sent(&r);
        finish(args);
    } while (++round < 2 || ranks_stats(&r).questions > asked);
    if (args.bytes <= SMALL && domains)
        ck_assert_uint_eq(ranks_sent(&r), before);
    return stores() + (int) (ranks_sent(&r) - before);
}

static int doubling(int n)
{
    int group = 1, log = 0;
    for (; 2 * group <= n; log++)
        group *= 2;
    return group * log + 2 * (n - group);
}

static void heads_send(int of_one_node)
{
    domains = of_one_node;
    for (int n = 3; n <= RANKS_MAX; n++) {
        open_world(n, 2, 0);
        int log = wdl_pattern_rounds(nodes, 2);
        struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER, .algorithm = "levels"};
        ck_assert_int_eq(messages(barrier), nodes * log);
        for (int k = 0; k < 2; k++) {
            struct wdl_coll_args args = args_of(kinds[k], SMALL);
            args.root = n / 2;
            ck_assert_int_eq(messages(args), nodes - 1);
            args.bytes = LARGE; /* a ready flag for each */
            ck_assert_int_eq(messages(args), 2 * (nodes - 1));
        }
        for (int k = WDL_COLL_SCATTER; k <= WDL_COLL_GATHER; k++) {
            struct wdl_coll_args args = args_of((enum wdl_coll_kind) k, SMALL);
            args.root = n / 2;
            ck_assert_int_eq(messages(args), nodes - 1);
            if (domains)
                continue;
            args.algorithm = "near"; /* one each, but for the root's node */
            int near = n % 2 && args.root == n - 1 ? 1 : 2;
            ck_assert_int_eq(messages(args), n - near);
        }
        ck_assert_int_eq(messages(args_of(WDL_COLL_EXCHANGE, SMALL)), nodes * (nodes - 1));
        ck_assert_int_eq(messages(args_of(WDL_COLL_ALLREDUCE, SMALL)), doubling(nodes));
        ck_assert_int_eq(messages(args_of(WDL_COLL_SCAN, SMALL)), nodes * log - (1 << log) + 1);
        ck_assert_int_eq(messages(args_of(WDL_COLL_GATHER_ALL, SMALL)), nodes * nodes);
        close_world();
    }
}

static int flags_of(enum wdl_coll_kind kind)
{
    int rooted = kind == WDL_COLL_BROADCAST || kind == WDL_COLL_SCATTER ||
                 kind == WDL_COLL_GATHER || kind == WDL_COLL_REDUCE;
    return rooted ? 3 * (nodes - 1) : 2 * nodes * wdl_pattern_rounds(nodes, 2);
}

/* Entry and exit synchronization: up, down and up, or to all twice. A ring needs no ready flags
 * behind an entry. */
static void heads_synchronize(int of_one_node)
{
    domains = of_one_node;
    for (int n = 3; n <= RANKS_MAX; n++) {
        open_world(n, 2, 0);
        for (int k = 0; k < KINDS; k++) {
            struct wdl_coll_args args = args_of(kinds[k], SMALL);
            args.root = n / 2;
            int data = messages(args);
            args.flags = WDL_COLL_IN_ALLSYNC | WDL_COLL_OUT_ALLSYNC | WDL_COLL_LOCAL;
            ck_assert_int_eq(messages(args), data + flags_of(args.kind));
            if (!has_near(args.kind) || domains)
                continue;
            args.algorithm = "near";
            args.flags = WDL_COLL_MPI;
            data = messages(args);
            args.flags = WDL_COLL_IN_ALLSYNC | WDL_COLL_OUT_ALLSYNC | WDL_COLL_LOCAL;
            ck_assert_int_eq(messages(args), data + flags_of(args.kind));
        }
        close_world();
    }
}

START_TEST(only_heads_send)
{
    heads_send(0);
}
END_TEST

START_TEST(only_heads_synchronize)
{
    heads_synchronize(0);
}
END_TEST

START_TEST(chosen_where_there_are_nodes)
{
    domains = 0;
    open_world(12, 4, 0);
    struct wdl_coll_args args = args_of(WDL_COLL_BROADCAST, SMALL);
    args.algorithm = NULL;
    ck_assert_int_eq(messages(args), nodes - 1);
    args.kind = WDL_COLL_REDUCE;
    ck_assert_int_eq(messages(args), nodes - 1);
    args.kind = WDL_COLL_ALLREDUCE;
    ck_assert_int_eq(messages(args), doubling(nodes));
    args.kind = WDL_COLL_BARRIER;
    ck_assert_int_eq(messages(args), nodes * 2);
    close_world();
}
END_TEST

/* --- domains of one node ---------------------------------------------------------------------- */

START_TEST(domains_every_root_and_order)
{
    roots_and_orders(1);
}
END_TEST

START_TEST(domains_of_any_size_and_order)
{
    sizes_and_orders(1);
}
END_TEST

START_TEST(domains_that_interleave_keep_the_order_of_operands)
{
    interleave(1);
}
END_TEST

START_TEST(only_heads_store_in_other_domains)
{
    heads_send(1);
}
END_TEST

START_TEST(only_heads_synchronize_domains)
{
    heads_synchronize(1);
}
END_TEST

WDL_SUITE("mpid/coll/levels", every_root_and_order,
          nodes_that_interleave_keep_the_order_of_operands, nodes_of_any_size_and_order,
          only_heads_send, only_heads_synchronize, chosen_where_there_are_nodes,
          domains_every_root_and_order, domains_that_interleave_keep_the_order_of_operands,
          domains_of_any_size_and_order, only_heads_store_in_other_domains,
          only_heads_synchronize_domains)
