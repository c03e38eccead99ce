/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of coll/select: every rank
 * takes the same row, one that applies, whatever is asked for; what is wrong has its error. */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/coll_impl.h"
#include "mpid/coll/ranks.h"
#include "support/suite.h"

enum { RANKS_MAX = 13, NODE_MAX = 32, NAMES = 24, CASES = 300 };

static struct ranks r;
static struct wdl_team *teams[NODE_MAX];

static const char *const names[NAMES] = {
    "node",      "levels",         "dissemination", "tree",     "scatter_ring",
    "circulant", "near",           "direct",        "bruck",    "ring",
    "pairwise",  "pairwise_entry", "near_entry",    "gathered", "doubling",
    "census",    "halving",        "custom",        "binomial", "knomial",
    "binary",    "flat",           "",              "trees"};

/* each: ranks of a node; 0: none shares memory. */
/* `each` ranks a node, in domains of so many, if not 0; whether few ranks go by them is up to
 * costs, or `anyway`. */
static void open_domains(int n, int each, int domain, int anyway)
{
    static struct wdl_coll_req reqs[NODE_MAX];
    struct wdl_sim_params sim = {.seed = 5, .ranks = n, .ordered = 1, .am_bytes_max = 1024};
    struct wdl_team_params params = {.id = 3};
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER};
    ranks_open(&r, &sim);
    r.domain_ranks = domain;
    if (anyway)
        ranks_prefer_levels(&r, 0);
    if (each)
        ranks_team_nodes(&r, &params, each, 1, teams);
    else
        ranks_team(&r, &params, teams);
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(wdl_coll_start(teams[i], &barrier, &reqs[i]), WDL_OK);
    ranks_finish(&r, reqs, 1);
}

static void open_team(int n, int each)
{
    open_domains(n, each, 0, 0);
}

static void close_team(void)
{
    ranks_drop(&r, teams);
    ranks_close(&r);
}

static void build(struct wdl_build *b)
{
    (void) b;
}

static struct wdl_coll_args args_of(enum wdl_coll_kind kind, size_t bytes)
{
    return (struct wdl_coll_args){.kind = kind,
                                  .flags = WDL_COLL_MPI,
                                  .bytes = bytes,
                                  .op = {ranks_sum, NULL, 4, WDL_COLL_COMMUTES, NULL},
                                  .build = kind == WDL_COLL_CUSTOM ? build : NULL};
}

static int row_of(int rank, const struct wdl_coll_args *args, const char *name)
{
    struct wdl_coll_args asked = *args;
    int status;
    asked.algorithm = name;
    int row = wdl_select_row(teams[rank], &asked, &status);
    ck_assert_int_eq(row >= 0, status == WDL_OK);
    ck_assert(row >= 0 || status == WDL_ERR_ARG);
    return row;
}

static struct wdl_coll_args any_args(struct wdl_prng *prng)
{
    enum wdl_coll_kind kind = (enum wdl_coll_kind) wdl_prng_below(prng, WDL_COLL_KIND_COUNT);
    size_t words = (size_t) 1 << wdl_prng_below(prng, 18);
    struct wdl_coll_args args = args_of(kind, 4 * wdl_prng_below(prng, words));
    args.root = (int) wdl_prng_below(prng, (uint64_t) r.n);
    args.op.commutes = (int) wdl_prng_below(prng, 3);
    args.flags = WDL_COLL_IN_NOSYNC << wdl_prng_below(prng, 3) |
                 WDL_COLL_OUT_NOSYNC << wdl_prng_below(prng, 3) |
                 (wdl_prng_chance(prng, 500) ? WDL_COLL_SINGLE : WDL_COLL_LOCAL);
    return args;
}

/* What is chosen is one of those that may be asked for, and of a name at most one is. */
START_TEST(all_ranks_take_one_that_applies)
{
    struct wdl_prng prng;
    wdl_prng_init(&prng, 21);
    for (int n = 1; n <= RANKS_MAX; n++)
        for (int each = 0; each <= 3; each++) {
            if (each == 3)
                open_domains(n, RANKS_MAX, 3, 1);
            else
                open_team(n, each == 2 ? 3 : each * RANKS_MAX);
            for (int c = 0; c < CASES; c++) {
                struct wdl_coll_args args = any_args(&prng);
                int chosen = row_of(0, &args, NULL), may = 0;
                ck_assert_int_ge(chosen, 0);
                for (int k = 0; k < NAMES; k++) {
                    int row = row_of(0, &args, names[k]);
                    may |= row == chosen;
                    for (int i = 1; i < n; i++)
                        ck_assert_int_eq(row_of(i, &args, names[k]), row);
                    ck_assert(row < 0 || k < NAMES - 2); /* the last two are no names */
                }
                ck_assert_int_eq(may, 1);
                for (int i = 1; i < n; i++)
                    ck_assert_int_eq(row_of(i, &args, NULL), chosen);
            }
            close_team();
        }
}
END_TEST

static int applies(enum wdl_coll_kind kind, size_t bytes, int commutes, const char *name)
{
    struct wdl_coll_args args = args_of(kind, bytes);
    args.op.commutes = commutes;
    return row_of(0, &args, name) >= 0;
}

START_TEST(where_rows_apply)
{
    static const char *const trees[] = {"binomial", "knomial", "binary", "flat"};
    open_team(7, 0);
    for (int kind = 0; kind < WDL_COLL_KIND_COUNT; kind++) { /* no memory is shared */
        ck_assert(!applies((enum wdl_coll_kind) kind, 28, 1, "node"));
        ck_assert(!applies((enum wdl_coll_kind) kind, 28, 1, "levels"));
        ck_assert(!applies((enum wdl_coll_kind) kind, 28, 1, "near"));
    }
    ck_assert(!applies(WDL_COLL_BROADCAST, 4, 1, "scatter_ring")); /* less than a byte a rank */
    ck_assert(applies(WDL_COLL_BROADCAST, 8, 1, "scatter_ring"));
    ck_assert(!applies(WDL_COLL_ALLREDUCE, 24, 1, "halving")); /* less than an element */
    ck_assert(applies(WDL_COLL_ALLREDUCE, 28, 1, "halving"));
    ck_assert(!applies(WDL_COLL_ALLREDUCE, 8, WDL_COLL_COMMUTES, "census"));
    ck_assert(applies(WDL_COLL_ALLREDUCE, 8, WDL_COLL_EXACT, "census"));
    ck_assert(applies(WDL_COLL_REDUCE, 1 << 16, WDL_COLL_COMMUTES, "circulant"));
    ck_assert(!applies(WDL_COLL_REDUCE, 1 << 16, 0, "circulant"));
    ck_assert(!applies(WDL_COLL_REDUCE, 8, WDL_COLL_COMMUTES, "circulant"));
    for (int k = 0; k < 4; k++)
        for (int commutes = 0; commutes < 2; commutes++) {
            ck_assert(applies(WDL_COLL_REDUCE, 28, commutes, trees[k]));
            ck_assert(applies(WDL_COLL_BROADCAST, 28, commutes, trees[k]));
        }
    close_team();
    open_team(NODE_MAX, 0);
    for (int k = 0; k < 4; k++) { /* a flat tree's root has more children than links */
        ck_assert_int_eq(applies(WDL_COLL_REDUCE, 28, 0, trees[k]), k < 3);
        ck_assert_int_eq(applies(WDL_COLL_BROADCAST, 28, 0, trees[k]), k < 3);
        ck_assert_int_eq(applies(WDL_COLL_SCATTER, 28, 0, trees[k]), k < 3);
        ck_assert_int_eq(applies(WDL_COLL_GATHER, 28, 0, trees[k]), k < 3);
    }
    close_team();
    open_team(7, 7);
    for (int kind = 0; kind < WDL_COLL_CUSTOM; kind++)
        ck_assert(applies((enum wdl_coll_kind) kind, 28, 0, "node"));
    close_team();
    open_team(7, 3);
    ck_assert(applies(WDL_COLL_BROADCAST, 28, 0, "levels"));
    ck_assert(applies(WDL_COLL_EXCHANGE, 28, 0, "levels"));
    ck_assert(!applies(WDL_COLL_EXCHANGE, 1 << 16, 0, "levels")); /* no board holds it */
    ck_assert(applies(WDL_COLL_EXCHANGE, 1 << 16, 0, "near_entry"));
    ck_assert(!applies(WDL_COLL_BROADCAST, 28, 0, "node"));
    close_team();
    open_domains(7, 7, 3, 1);
    for (int kind = 0; kind < WDL_COLL_CUSTOM; kind++) {
        ck_assert(applies((enum wdl_coll_kind) kind, 28, 0, "node"));
        ck_assert(applies((enum wdl_coll_kind) kind, 28, 0, "levels"));
        ck_assert(!applies((enum wdl_coll_kind) kind, 28, 1, "near")); /* all are */
    }
    close_team();
}
END_TEST

static void must_take(enum wdl_coll_kind kind, size_t bytes, const char *name)
{
    struct wdl_coll_args args = args_of(kind, bytes);
    int want = row_of(0, &args, name);
    ck_assert_int_ge(want, 0);
    ck_assert_msg(row_of(0, &args, NULL) == want, "%s of %zu: not %s", wdl_coll_kind_name(kind),
                  bytes, name);
}

/* Little that all look at each other for. Where a rank looks at one board, and of much, nothing is
 * faster than all boards. */
START_TEST(levels_among_the_domains_of_a_node)
{
    static const enum wdl_coll_kind all[] = {WDL_COLL_BARRIER, WDL_COLL_ALLREDUCE, WDL_COLL_REDUCE,
                                             WDL_COLL_GATHER};
    open_domains(NODE_MAX, NODE_MAX, NODE_MAX / 2, 0);
    for (int k = 0; k < 4; k++)
        must_take(all[k], all[k] == WDL_COLL_BARRIER ? 0 : 8, "levels");
    must_take(WDL_COLL_BROADCAST, 8, "node");
    for (int kind = WDL_COLL_BROADCAST; kind < WDL_COLL_CUSTOM; kind++)
        must_take((enum wdl_coll_kind) kind, 64 << 10, "node");
    struct wdl_coll_args args = args_of(WDL_COLL_BARRIER, 0);
    ck_assert_ptr_null(wdl_coll_express(teams[0], &args)); /* others could not come by it */
    close_team();
}
END_TEST

START_TEST(one_domain_changes_nothing)
{
    open_domains(NODE_MAX, NODE_MAX, NODE_MAX, 0);
    ck_assert_ptr_null(teams[0]->nodes);
    ck_assert_ptr_nonnull(teams[0]->express);
    for (int kind = 0; kind < WDL_COLL_CUSTOM; kind++)
        must_take((enum wdl_coll_kind) kind, kind == WDL_COLL_BARRIER ? 0 : 8, "node");
    close_team();
}
END_TEST

static void refused(const struct wdl_coll_args *args, int want)
{
    struct wdl_coll_req req = {0};
    ck_assert_int_eq(wdl_coll_start(teams[0], args, &req), want);
}

/* Nothing happens: the next number is still the next. */
START_TEST(wrong_arguments)
{
    static const uint32_t in = WDL_COLL_IN_MYSYNC, out = WDL_COLL_OUT_MYSYNC,
                          local = WDL_COLL_LOCAL;
    static const uint32_t flags[] = {0,
                                     in | out,
                                     in | local,
                                     out | local,
                                     in | out | local | WDL_COLL_SINGLE,
                                     in | out | local | WDL_COLL_IN_NOSYNC,
                                     in | out | local | WDL_COLL_OUT_ALLSYNC};
    open_team(3, 0);
    uint32_t next = teams[0]->next;
    struct wdl_coll_args args = args_of(WDL_COLL_REDUCE, 8);
    for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
        args.flags = flags[f];
        refused(&args, WDL_ERR_ARG);
    }
    for (int root = -1; root <= 3; root += 4) {
        args = args_of(WDL_COLL_REDUCE, 8);
        args.root = root;
        refused(&args, WDL_ERR_RANK);
    }
    args = args_of(WDL_COLL_REDUCE, 8);
    args.op.fn = NULL;
    refused(&args, WDL_ERR_OP);
    args = args_of(WDL_COLL_REDUCE, 10); /* two elements and a half */
    refused(&args, WDL_ERR_ARG);
    args = args_of(WDL_COLL_REDUCE, 8);
    args.op.elem_bytes = 0;
    refused(&args, WDL_ERR_ARG);
    args = args_of(WDL_COLL_BROADCAST, 8);
    args.variable = 1;
    refused(&args, WDL_ERR_ARG);
    args = args_of(WDL_COLL_BROADCAST, 8);
    args.build = build;
    refused(&args, WDL_ERR_ARG);
    args = args_of(WDL_COLL_CUSTOM, 8);
    args.build = NULL;
    refused(&args, WDL_ERR_ARG);
    args = args_of(WDL_COLL_KIND_COUNT, 8);
    refused(&args, WDL_ERR_ARG);
    args = args_of(WDL_COLL_SCAN, 8);
    args.algorithm = "tree"; /* of other kinds */
    refused(&args, WDL_ERR_ARG);
    ck_assert_uint_eq(teams[0]->next, next);
    close_team();
}
END_TEST

WDL_SUITE("mpid/coll/select", all_ranks_take_one_that_applies, where_rows_apply,
          levels_among_the_domains_of_a_node, one_domain_changes_nothing, wrong_arguments)
