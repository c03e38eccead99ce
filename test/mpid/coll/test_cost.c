/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What collectives cost: messages, exactly, per algorithm and synchronization mode; and whom a late
 * rank delays.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/cost.h"
#include "mpid/coll/nodes.h"
#include "mpid/coll/pattern.h"
#include "mpid/coll/ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS_MAX = 33, SMALL = 4, LARGE = 900 };

static struct ranks r;
static struct wdl_team *teams[RANKS_MAX];
static struct wdl_coll_req reqs[RANKS_MAX];
static char *src[RANKS_MAX], *dst[RANKS_MAX];

static void open_world(int n)
{
    struct wdl_sim_params sim = {.seed = 5, .ranks = n, .ordered = 1, .am_bytes_max = 1024};
    /* latency and gap equal: trees are binomial */
    struct wdl_team_params team = {.id = 3, .model = {1000, 1000, 0.1, 0.25, 0}};
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER};
    ranks_open(&r, &sim);
    ranks_team(&r, &team, teams);
    for (int i = 0; i < n; i++) {
        src[i] = calloc(RANKS_MAX, LARGE);
        dst[i] = calloc(RANKS_MAX, LARGE);
        ck_assert_int_eq(wdl_coll_start(teams[i], &barrier, &reqs[i]), WDL_OK);
    }
    ranks_finish(&r, reqs, 1);
}

static void close_world(void)
{
    ranks_drop(&r, teams);
    for (int i = 0; i < r.n; i++) {
        free(src[i]);
        free(dst[i]);
    }
    ranks_close(&r);
}

static void start(int i, struct wdl_coll_args args)
{
    args.src = src[i];
    args.dst = dst[i];
    ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
}

/* Messages of one collective in a quiet world, the second time (nothing is built any more). */
static void finish(struct wdl_coll_args args)
{
    for (int i = 0; i < r.n; i++)
        start(i, args);
    ranks_finish(&r, reqs, 1);
    while (!wdl_sim_quiescent(r.sim))
        ranks_step(&r);
    for (int k = 0; k < 20 * r.n; k++)
        ranks_step(&r);
}

/* Flags are among them, however they go, once it is known where they may be put. */
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
    return (int) (ranks_sent(&r) - before);
}

static int log2_up(int n)
{
    int log = 0;
    while (1 << log < n)
        log++;
    return log;
}

static struct wdl_coll_args args_of(enum wdl_coll_kind kind, const char *algorithm, size_t bytes)
{
    return (struct wdl_coll_args){.kind = kind,
                                  .flags = WDL_COLL_MPI,
                                  .algorithm = algorithm,
                                  .bytes = bytes,
                                  .op = {ranks_compose, NULL, 4, 0, NULL}};
}

static const char *const trees[] = {"binomial", "knomial", "binary", "flat"};

/* The lower bound of rooted collectives, n - 1 messages, is met; of the others in
 * ceil(log2 n) rounds, one message a rank and round. */
START_TEST(small_data_costs_the_lower_bound)
{
    for (int n = 1; n <= RANKS_MAX; n++) {
        int log = log2_up(n), group = 1, scan = 0;
        while (2 * group <= n)
            group *= 2;
        for (int k = 0; 1 << k < n; k++)
            scan += n - (1 << k);
        open_world(n);
        ck_assert_int_eq(messages(args_of(WDL_COLL_BARRIER, NULL, 0)), n * log);
        ck_assert_int_eq(messages(args_of(WDL_COLL_BROADCAST, "tree", SMALL)), n - 1);
        ck_assert_int_eq(messages(args_of(WDL_COLL_SCATTER, "tree", SMALL)), n - 1);
        ck_assert_int_eq(messages(args_of(WDL_COLL_GATHER, "tree", SMALL)), n - 1);
        ck_assert_int_eq(messages(args_of(WDL_COLL_REDUCE, "tree", SMALL)), n - 1);
        for (int k = 0; k < (n < 16 ? 4 : 3); k++) { /* all links of a flat one are the root's */
            ck_assert_int_eq(messages(args_of(WDL_COLL_BROADCAST, trees[k], SMALL)), n - 1);
            ck_assert_int_eq(messages(args_of(WDL_COLL_REDUCE, trees[k], SMALL)), n - 1);
        }
        for (int k = 0; k < 3; k++) {
            ck_assert_int_eq(messages(args_of(WDL_COLL_SCATTER, trees[k], SMALL)), n - 1);
            ck_assert_int_eq(messages(args_of(WDL_COLL_GATHER, trees[k], SMALL)), n - 1);
        }
        ck_assert_int_eq(messages(args_of(WDL_COLL_GATHER_ALL, "bruck", SMALL)), n * log);
        ck_assert_int_eq(messages(args_of(WDL_COLL_EXCHANGE, "bruck", SMALL)), n * log);
        ck_assert_int_eq(messages(args_of(WDL_COLL_ALLREDUCE, "doubling", SMALL)),
                         group * log2_up(group) + 2 * (n - group));
        ck_assert_int_eq(messages(args_of(WDL_COLL_SCAN, NULL, SMALL)), scan);
        close_world();
    }
}
END_TEST

/* Data longer than a cell: one ready flag more for each message. */
START_TEST(large_data_costs_a_ready_flag_per_edge)
{
    for (int n = 2; n <= RANKS_MAX; n++) {
        open_world(n);
        ck_assert_int_eq(messages(args_of(WDL_COLL_BROADCAST, "tree", LARGE)), 2 * (n - 1));
        ck_assert_int_eq(messages(args_of(WDL_COLL_REDUCE, "tree", LARGE)), 2 * (n - 1));
        for (int k = 0; k < (n < 16 ? 4 : 3); k++) {
            ck_assert_int_eq(messages(args_of(WDL_COLL_BROADCAST, trees[k], LARGE)), 2 * (n - 1));
            ck_assert_int_eq(messages(args_of(WDL_COLL_REDUCE, trees[k], LARGE)), 2 * (n - 1));
        }
        ck_assert_int_eq(messages(args_of(WDL_COLL_GATHER, "direct", LARGE)), 2 * (n - 1));
        ck_assert_int_eq(messages(args_of(WDL_COLL_GATHER_ALL, "ring", LARGE)), n * n);
        if (n < 16)
            ck_assert_int_eq(messages(args_of(WDL_COLL_EXCHANGE, "pairwise", LARGE)),
                             2 * n * (n - 1));
        else
            ck_assert_int_eq(messages(args_of(WDL_COLL_EXCHANGE, "pairwise_entry", LARGE)),
                             n * (n - 1) + n * log2_up(n));
        close_world();
    }
}
END_TEST

/* Kinds of steps by which this rank gets something: each has a ready flag. */
static int senders_to(int rank, int n, int blocks)
{
    struct wdl_pattern_circulant c;
    int kinds = 0;
    wdl_pattern_circulant(n, rank, &c);
    for (int i = 0; i < blocks - 1 + c.rounds; i++)
        if (wdl_pattern_circulant_block(&c, c.recv, blocks, i) >= 0)
            kinds |= 1 << wdl_pattern_circulant_kind(&c, blocks, i);
    return __builtin_popcount((unsigned) kinds);
}

/* The messages of one in as many blocks as it is fastest, which are many where bytes take long. */
static void comes_once(int n, struct wdl_coll_args args, int many)
{
    struct wdl_cost cost = wdl_cost_of(teams[0], &args);
    int blocks = wdl_cost_circulant_blocks(&cost), flags = 0;
    for (int i = 1; i < n; i++)
        flags += blocks == 1 ? 1 : senders_to(i, n, blocks);
    ck_assert_int_eq(blocks > 1, many);
    ck_assert_int_eq(messages(args), blocks * (n - 1) + flags);
}

/* In blocks: each comes once to each rank, and backwards goes once from it. */
START_TEST(a_block_comes_once)
{
    static const double byte_ns[] = {0.1, 10, 100};
    for (int n = 2; n <= RANKS_MAX; n++) {
        open_world(n);
        struct wdl_coll_args args = args_of(WDL_COLL_BROADCAST, "circulant", LARGE);
        for (int k = 0; k < 3; k++) {
            for (int i = 0; i < n; i++)
                teams[i]->params.model.byte = byte_ns[k];
            args.bytes = (size_t) (LARGE - SMALL * k); /* another graph */
            args.kind = WDL_COLL_BROADCAST;
            comes_once(n, args, n > 2 && k > 0);
            args.kind = WDL_COLL_REDUCE;
            args.op.commutes = WDL_COLL_COMMUTES;
            comes_once(n, args, n > 2 && k > 0);
        }
        close_world();
    }
}
END_TEST

/* The nine modes. Down: entry is a fan-in, exit a fan-in and a fan-out; up: both, then a fan-out;
 * all to all: dissemination each. NOSYNC and MYSYNC are free; LOCAL and SINGLE cost the same. */
START_TEST(a_mode_costs_what_its_definition_needs)
{
    static const uint32_t in[] = {WDL_COLL_IN_NOSYNC, WDL_COLL_IN_MYSYNC, WDL_COLL_IN_ALLSYNC};
    static const uint32_t out[] = {WDL_COLL_OUT_NOSYNC, WDL_COLL_OUT_MYSYNC, WDL_COLL_OUT_ALLSYNC};
    static const uint32_t address[] = {WDL_COLL_LOCAL, WDL_COLL_SINGLE};
    for (int n = 2; n <= 20; n += 3) {
        int edges = n - 1, all = n * log2_up(n);
        open_world(n);
        for (int k = 0; k < 18; k++) {
            uint32_t flags = in[k % 3] | out[k / 3 % 3] | address[k / 9];
            int enter = k % 3 == 2, leave = k / 3 % 3 == 2;
            struct wdl_coll_args args = args_of(WDL_COLL_BROADCAST, "tree", SMALL);
            args.flags = flags;
            args.root = n / 2;
            ck_assert_int_eq(messages(args), edges + enter * edges + leave * 2 * edges);
            args = args_of(WDL_COLL_GATHER, "tree", SMALL);
            args.flags = flags;
            args.root = n / 2;
            ck_assert_int_eq(messages(args), edges + enter * 2 * edges + leave * edges);
            args = args_of(WDL_COLL_GATHER_ALL, "bruck", SMALL);
            args.flags = flags;
            ck_assert_int_eq(messages(args), all + enter * all + leave * all);
        }
        close_world();
    }
}
END_TEST

START_TEST(an_operator_that_does_not_commute_costs_no_message_more)
{
    for (int n = 2; n <= 20; n++) {
        struct wdl_coll_args args = args_of(WDL_COLL_REDUCE, "tree", SMALL);
        open_world(n);
        for (args.root = 0; args.root < n; args.root++)
            ck_assert_int_eq(messages(args), n - 1);
        close_world();
    }
}
END_TEST

/* Start everywhere but on `late`, run until nothing moves; who is done is a bit of the result. */
static unsigned done_without(struct wdl_coll_args args, int late)
{
    unsigned done = 0;
    for (int i = 0; i < r.n; i++) {
        reqs[i].done = 0;
        if (i != late)
            start(i, args);
    }
    for (int k = 0; k < 2000; k++)
        ranks_step(&r);
    for (int i = 0; i < r.n; i++)
        done |= (unsigned) (reqs[i].done != 0) << i;
    start(late, args);
    ranks_finish(&r, reqs, 1);
    while (!wdl_sim_quiescent(r.sim))
        ranks_step(&r);
    for (int k = 0; k < 400; k++)
        ranks_step(&r);
    return done;
}

START_TEST(a_late_rank_delays_only_whom_the_mode_says)
{
    struct wdl_coll_args args = args_of(WDL_COLL_BROADCAST, "tree", SMALL);
    open_world(4); /* 0 -> 1, 0 -> 2 -> 3 */
    ck_assert_uint_eq(done_without(args, 1), 0xd);
    ck_assert_uint_eq(done_without(args, 2), 0x3);
    ck_assert_uint_eq(done_without(args, 3), 0x7);
    args.flags = WDL_COLL_IN_ALLSYNC | WDL_COLL_OUT_MYSYNC | WDL_COLL_LOCAL;
    ck_assert_uint_eq(done_without(args, 1), 0);
    args.flags = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_ALLSYNC | WDL_COLL_LOCAL;
    ck_assert_uint_eq(done_without(args, 1), 0);
    args.flags = WDL_COLL_IN_NOSYNC | WDL_COLL_OUT_NOSYNC | WDL_COLL_SINGLE;
    args.bytes = LARGE; /* the root waits for nobody, even where a ready flag must come */
    ck_assert_uint_eq(done_without(args, 1), 0xd);
    args.flags = WDL_COLL_MPI; /* 0 -> 3, 0 -> 2 -> 1 */
    ck_assert_uint_eq(done_without(args, 3), 0x6);
    ck_assert_uint_eq(done_without(args, 1), 0x9);
    /* a late root of a gather delays nobody when the blocks fit a cell, or when nobody asks */
    args = args_of(WDL_COLL_GATHER, "tree", SMALL);
    ck_assert_uint_eq(done_without(args, 0), 0xe);
    ck_assert_uint_eq(done_without(args, 3), 0x6);
    args.bytes = LARGE;
    ck_assert_uint_eq(done_without(args, 0), 0xc); /* 2 has sent on from its own memory */
    args.flags = WDL_COLL_IN_NOSYNC | WDL_COLL_OUT_NOSYNC | WDL_COLL_SINGLE;
    ck_assert_uint_eq(done_without(args, 0), 0xe);
    /* a scan waits for lower ranks alone */
    ck_assert_uint_eq(done_without(args_of(WDL_COLL_SCAN, NULL, SMALL), 2), 0x3);
    close_world();
}
END_TEST

/* A file of costs may say that a byte takes any time. */
START_TEST(a_byte_may_take_any_time)
{
    static const double bytes[] = {0, 1, 1e6, 1e11, 1e100};
    for (int n = 1; n <= 70; n++)
        for (unsigned i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
            struct wdl_coll coll = {.chunk_bytes = 8192};
            struct wdl_team team = {.coll = &coll, .size = n, .links = 16};
            struct wdl_coll_args args = args_of(WDL_COLL_BROADCAST, NULL, 8000);
            team.params.cell_bytes = 256;
            team.params.model =
                (struct wdl_coll_model){.latency = 1500, .gap = 400, .byte = bytes[i]};
            wdl_span_make(&team, n, team.links, &team.span);
            struct wdl_cost cost = wdl_cost_of(&team, &args);
            must(wdl_cost_is_fitted(&cost));
            must(wdl_cost_broadcast_tree(&cost) >= (n > 1 ? 2 : 1) * cost.latency);
            must(wdl_cost_broadcast_circulant(&cost) >= cost.latency);
        }
}
END_TEST

static struct wdl_team team_of(struct wdl_coll *coll, int ranks, double byte)
{
    struct wdl_team team = {.coll = coll, .size = ranks, .links = 16};
    team.params.cell_bytes = 256;
    team.params.model = (struct wdl_coll_model){.latency = 1500, .gap = 400, .byte = byte};
    wdl_span_make(&team, ranks, team.links, &team.span);
    return team;
}

/* Of a fitted tree; returns what it takes. */
static double select_tree(struct wdl_team *team, size_t bytes)
{
    struct wdl_coll_args args = args_of(WDL_COLL_BROADCAST, NULL, bytes);
    struct wdl_cost cost = wdl_cost_of(team, &args);
    int status;
    must(wdl_cost_is_fitted(&cost));
    must(wdl_select_row(team, &args, &status) >= 0);
    must_cmp(status, ==, WDL_OK);
    return wdl_cost_broadcast_tree(&cost);
}

/* Selecting the same again finds nothing again: not the tree, not the blocks. Another length, team
 * or model never gets what is kept for the first. */
START_TEST(what_a_selection_has_found_is_kept)
{
    static const size_t bytes[] = {300, 512, 1000, 4096, 5000, 8192};
    static struct wdl_coll coll = {.chunk_bytes = 8192}, none = {.chunk_bytes = 8192};
    for (int n = 2; n <= 40; n++)
        for (int k = 0; k < 3 * 6; k++) {
            struct wdl_team team = team_of(&coll, n, 1 + k / 6);
            struct wdl_team fresh = team_of(&none, n, 1 + k / 6);
            double ns = select_tree(&team, bytes[k % 6]);
            uint64_t found = coll.fitted_found, walks = coll.blocktime.walks;
            memset(none.fitted, 0, sizeof(none.fitted));
            must(ns == select_tree(&fresh, bytes[k % 6]));
            must(ns == select_tree(&team, bytes[k % 6]));
            must_cmp(coll.fitted_found, ==, found);
            must_cmp(coll.blocktime.walks, ==, walks);
            must_cmp(found, ==, none.fitted_found); /* one each */
        }
    must_cmp(coll.fitted_found, ==, 39 * 3 * 6);
}
END_TEST

WDL_SUITE("mpid/coll/cost", a_byte_may_take_any_time, what_a_selection_has_found_is_kept,
          small_data_costs_the_lower_bound, large_data_costs_a_ready_flag_per_edge,
          a_block_comes_once, a_mode_costs_what_its_definition_needs,
          an_operator_that_does_not_commute_costs_no_message_more,
          a_late_rank_delays_only_whom_the_mode_says)
