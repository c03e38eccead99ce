/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Simulated worlds of collectives in which one rank means another length, another root or another
 * operation than the rest: nobody waits for ever, nothing is written out of a rank's own bounds,
 * who does not end well says ERR_TRUNCATE, and what comes behind is right. In worlds without
 * mistakes nobody is told of one, however long ranks wait for each other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/assert.h"
#include "mpid/coll/coll_impl.h"
#include "mpid/coll/ranks.h"
#include "support/worlds.h"

enum { OPS_MAX = 40, RANKS_MAX = 17, LONG = 6000, GUARD = 2 * LONG, UNTOUCHED = 0x77 };
enum fault { NONE, LENGTH, ROOT, KIND };

struct options {
    uint64_t seed;
    int ranks, each, peeks, ordered, refuse, delay, ops, depth, faults, kind, attach, domain;
    int network; /* puts by itself; 1: where the target polls; 2: not at all */
};

struct side { /* a rank's part of a collective */
    struct wdl_coll_args args;
    size_t lists[4][RANKS_MAX]; /* src bytes, src at, dst bytes, dst at */
    char *src, *dst;
    size_t room; /* bytes of dst that may be written */
    struct wdl_coll_req req;
    struct wdl_run *express;
};

struct op {
    enum fault fault;
    int odd; /* the rank that means something else */
    struct side side[RANKS_MAX];
};

struct world {
    struct options o;
    struct ranks r;
    struct wdl_prng prng;
    struct wdl_team *teams[RANKS_MAX];
    struct op op[OPS_MAX];
    int begun[RANKS_MAX], over[RANKS_MAX];
    int closed; /* an operation has been mistaken for another */
    char failure[256];
};

static int below(struct world *w, int n)
{
    return (int) wdl_prng_below(&w->prng, (uint64_t) n);
}

/* On both sides of what decides: nothing, cells, packets, boards, the algorithms' costs. */
static size_t length(struct world *w)
{
    static const size_t some[] = {0,   4,   8,    128,  256,  260,  800,
                                  960, 964, 1800, 2048, 2052, 5000, LONG};
    return some[below(w, sizeof(some) / sizeof(some[0]))];
}

static size_t all_of(size_t lists[2][RANKS_MAX], int n)
{
    return lists[1][n - 1] + lists[0][n - 1];
}

/* What rank `i` has for rank `j`, by a number that all know. */
static size_t varied(uint64_t salt, int i, int j, size_t most)
{
    uint64_t h = (salt * 31 + (uint64_t) (17 * i + j)) * 0x9e3779b97f4a7c15u >> 40;
    return h % 3 == 0 ? 0 : h % (most / 4 + 1) * 4;
}

/* The lists of a rank; `odd` where it is mistaken about one of them. */
static void vary(struct world *w, struct side *s, int rank, int odd, uint64_t salt, size_t most)
{
    struct wdl_coll_args *a = &s->args;
    int n = w->o.ranks, of_one = a->kind == WDL_COLL_GATHER || a->kind == WDL_COLL_GATHER_ALL;
    int of_all = a->kind == WDL_COLL_SCATTER || a->kind == WDL_COLL_REDUCE_SCATTER;
    for (int i = 0; i < n; i++) {
        s->lists[0][i] = varied(salt, of_all ? 0 : rank, i, most);
        s->lists[2][i] = varied(salt, i, of_one ? 0 : rank, most);
    }
    a->bytes = of_one ? varied(salt, rank, 0, most) : varied(salt, 0, rank, most);
    if (odd && below(w, 2))
        a->bytes = length(w);
    else if (odd)
        s->lists[2 * below(w, 2)][below(w, n)] = length(w);
    if (a->kind == WDL_COLL_REDUCE_SCATTER)
        a->bytes = s->lists[0][rank];
    for (int l = 0; l < 4; l += 2)
        for (int i = 1; i < n; i++)
            s->lists[l + 1][i] = s->lists[l + 1][i - 1] + s->lists[l][i - 1];
    a->variable = 1;
    if (!of_one)
        a->src_blocks = (struct wdl_coll_blocks){s->lists[0], s->lists[1]};
    if (!of_all)
        a->dst_blocks = (struct wdl_coll_blocks){s->lists[2], s->lists[3]};
}

/* Bytes a rank gives and gets. */
static size_t given(const struct world *w, struct side *s)
{
    const struct wdl_coll_args *a = &s->args;
    int blocks = a->kind == WDL_COLL_SCATTER || a->kind == WDL_COLL_EXCHANGE ||
                 a->kind == WDL_COLL_REDUCE_SCATTER;
    if (!blocks)
        return a->bytes;
    return a->variable ? all_of(s->lists, w->o.ranks) : a->bytes * (size_t) w->o.ranks;
}

static size_t got(const struct world *w, struct side *s, int rank)
{
    const struct wdl_coll_args *a = &s->args;
    switch (a->kind) {
    case WDL_COLL_GATHER:
        if (rank != a->root)
            return 0;
        /* fallthrough */
    case WDL_COLL_GATHER_ALL:
    case WDL_COLL_EXCHANGE:
        return a->variable ? all_of(s->lists + 2, w->o.ranks) : a->bytes * (size_t) w->o.ranks;
    case WDL_COLL_REDUCE:
        return rank == a->root ? a->bytes : 0;
    case WDL_COLL_BARRIER:
        return 0;
    default:
        return a->bytes;
    }
}

static enum wdl_coll_kind kind_draw(struct world *w)
{
    return (enum wdl_coll_kind)(w->o.kind >= 0 ? w->o.kind : below(w, WDL_COLL_CUSTOM));
}

static size_t dst_bytes(const struct world *w, const struct side *s)
{
    return s->room + GUARD * (size_t) w->o.ranks;
}

static void side_make(struct world *w, struct side *s, int rank)
{
    size_t gives = given(w, s), all;
    s->room = got(w, s, rank);
    all = dst_bytes(w, s);
    s->src = malloc(gives + 1);
    s->dst = malloc(all);
    memset(s->src, rank + 1, gives);
    memset(s->dst, UNTOUCHED, all);
    s->args.src = s->src;
    s->args.dst = s->dst;
    if (w->o.attach)
        (void) wdl_coll_attach(w->r.one[rank].proc, s->dst, all);
}

static void op_make(struct world *w, struct op *op)
{
    struct wdl_coll_args all = {.kind = kind_draw(w),
                                .flags = WDL_COLL_MPI,
                                .root = below(w, w->o.ranks),
                                .bytes = length(w),
                                .op = {ranks_sum, NULL, 4, 1, NULL}};
    if (all.kind == WDL_COLL_REDUCE || all.kind == WDL_COLL_SCAN)
        all.flags |= below(w, 2) ? WDL_COLL_LEAVES : 0;
    uint64_t salt = wdl_prng_below(&w->prng, 1000);
    size_t most = length(w);
    int varies = all.kind >= WDL_COLL_SCATTER &&
                 (all.kind < WDL_COLL_REDUCE || all.kind == WDL_COLL_REDUCE_SCATTER) &&
                 below(w, 3) == 0 && (w->o.ordered || !w->o.faults);
    op->odd = below(w, w->o.ranks);
    op->fault = w->o.faults && below(w, 3) == 0 ? (enum fault)(1 + below(w, w->o.faults)) : NONE;
    w->closed |= op->fault == KIND;
    for (int i = 0; i < w->o.ranks; i++) {
        struct side *s = &op->side[i];
        int odd = i == op->odd && op->fault == LENGTH;
        s->args = all;
        if (odd)
            s->args.bytes = length(w);
        if (i == op->odd && op->fault == ROOT)
            s->args.root = below(w, w->o.ranks);
        if (i == op->odd && op->fault == KIND)
            s->args.kind = kind_draw(w);
        else if (varies)
            vary(w, s, i, odd, salt, most);
        side_make(w, s, i);
    }
}

static void op_free(struct world *w, struct op *op)
{
    for (int i = 0; i < w->o.ranks; i++) {
        const struct side *s = &op->side[i];
        while (w->o.attach &&
               wdl_coll_detach(w->r.one[i].proc, s->dst, dst_bytes(w, s)) == WDL_AGAIN)
            ranks_step(&w->r);
        free(s->src);
        free(s->dst);
    }
}

static void say(struct world *w, int k, int rank, const char *what)
{
    const struct side *s = &w->op[k].side[rank];
    if (!w->failure[0])
        snprintf(w->failure, sizeof(w->failure), "op %d, %s, rank %d, fault %d of rank %d: %s", k,
                 wdl_coll_kind_name(s->args.kind), rank, (int) w->op[k].fault, w->op[k].odd, what);
}

static void side_look(struct world *w, int k, int rank, int status)
{
    struct side *s = &w->op[k].side[rank];
    size_t all = s->room + GUARD * (size_t) w->o.ranks, at = s->room;
    while (at < all && s->dst[at] == UNTOUCHED)
        at++;
    if (at < all)
        say(w, k, rank, "is written to where it may not be");
    if (status == WDL_OK)
        return;
    if (status != WDL_ERR_TRUNCATE)
        say(w, k, rank, wdl_status_name(status));
    else if (w->op[k].fault == NONE && !w->closed)
        say(w, k, rank, "is told of a mistake that is none");
}

/* Sums are right wherever all mean the same. */
static void op_look(struct world *w, int k)
{
    uint32_t sum = 0;
    for (int i = 0; i < w->o.ranks; i++)
        sum += 0x1010101u * (uint32_t) (i + 1);
    for (int i = 0; i < w->o.ranks; i++) {
        const struct side *s = &w->op[k].side[i];
        if (w->op[k].fault != NONE || w->closed || s->args.kind != WDL_COLL_ALLREDUCE)
            continue;
        for (size_t at = 0; at < s->args.bytes; at += sizeof(sum))
            if (memcmp(s->dst + at, &sum, sizeof(sum)) != 0)
                say(w, k, i, "has another sum");
    }
}

/* The next of a rank's, if as many are under way as may be, ends. */
static void rank_act(struct world *w, int rank)
{
    int k = w->over[rank], status = WDL_AGAIN;
    if (w->begun[rank] > k) {
        struct side *s = &w->op[k].side[rank];
        if (s->express)
            status = wdl_coll_express_look(s->express);
        else if (s->req.done)
            status = s->req.status;
        if (status != WDL_AGAIN) {
            w->over[rank]++;
            side_look(w, k, rank, status);
        }
    }
    k = w->begun[rank];
    if (k == w->o.ops || k - w->over[rank] >= w->o.depth)
        return;
    struct side *s = &w->op[k].side[rank];
    w->begun[rank]++;
    s->express = below(w, 2) ? wdl_coll_express(w->teams[rank], &s->args) : NULL;
    if (s->express)
        return;
    status = wdl_coll_start(w->teams[rank], &s->args, &s->req);
    if (status != WDL_OK) {
        s->req.done = 1;
        s->req.status = status;
    }
}

static int is_over(const struct world *w)
{
    for (int i = 0; i < w->o.ranks; i++)
        if (w->over[i] < w->o.ops)
            return 0;
    return 1;
}

static void world_steps(struct world *w)
{
    long limit = 60000L * w->o.ranks + 6000L * w->o.ranks * w->o.ops;
    while (!is_over(w) && !w->failure[0]) {
        int rank = ranks_step(&w->r);
        if (below(w, 20) == 0)
            ranks_doubt(&w->r, rank);
        if (below(w, 3) == 0)
            rank_act(w, rank);
        wdl_team_check(w->teams[rank]);
        for (int i = 0; limit == 0 && i < w->o.ranks; i++)
            if (w->over[i] < w->begun[i])
                say(w, w->over[i], i, "waits for ever");
        limit--;
    }
}

/* Ranks tell each other cards, of which nobody needs to know. */
static void opened(void *ctx, const uint64_t *cards)
{
    (void) ctx;
    wdl_assert_cmp(cards[0], ==, 0);
}

static int world(const void *options)
{
    struct world *w = calloc(1, sizeof(*w));
    w->o = *(const struct options *) options;
    struct wdl_sim_params sim = {.seed = w->o.seed,
                                 .ranks = w->o.ranks,
                                 .ordered = w->o.ordered,
                                 .delay_ns_max = (uint64_t) w->o.delay,
                                 .refuse_permille = w->o.refuse,
                                 .pending_permille = 300,
                                 .am_bytes_max = 1024,
                                 .no_map = w->o.attach == 1,
                                 .no_rma = w->o.network == 2,
                                 .rma_needs_target = w->o.network == 1,
                                 .torn = w->o.seed & 1};
    struct wdl_team_params params = {
        .id = 5, .first_seq = 0xfffffff0u, .window = 16, .staging_bytes = w->o.seed & 8 ? 8192 : 0};
    params.opened = w->o.seed & 4 ? opened : NULL;
    wdl_prng_init(&w->prng, w->o.seed);
    ranks_open(&w->r, &sim);
    ranks_limit(&w->r, (int) (w->o.seed / 16 % 3));
    w->r.domain_ranks = w->o.domain;
    if (w->o.domain)
        ranks_prefer_levels(&w->r, w->o.seed % 2);
    if (w->o.each > 1)
        ranks_team_nodes(&w->r, &params, w->o.each, w->o.peeks, w->teams);
    else
        ranks_team(&w->r, &params, w->teams);
    for (int k = 0; k < w->o.ops; k++)
        op_make(w, &w->op[k]);
    world_steps(w);
    if (w->failure[0])
        return worlds_failed(w->failure);
    for (int k = 0; k < w->o.ops; k++)
        op_look(w, k);
    if (w->failure[0])
        return worlds_failed(w->failure);
    for (int k = 0; k < w->o.ops; k++)
        op_free(w, &w->op[k]);
    for (int i = 0; i < w->o.ranks; i++) /* what has no request may still wait */
        while (wdl_team_destroy(w->teams[i]) == WDL_AGAIN)
            ranks_doubt(&w->r, ranks_step(&w->r));
    while (!wdl_sim_quiescent(w->r.sim))
        ranks_step(&w->r);
    for (int i = 0; i < w->o.ranks && w->o.faults; i++)
        w->r.one[i].proc->stats.malformed = 0; /* what came for who had finished */
    ranks_close(&w->r);
    free(w);
    return 0;
}

static void options_of(uint64_t seed, void *options_out)
{
    struct options o = {.seed = seed, .kind = -1};
    struct wdl_prng p;
    wdl_prng_init(&p, seed * 77 + 1);
    static const int each[] = {1, 2, 3, 4, 64}; /* none, some, all ranks on one */
    o.ranks = 2 + (int) wdl_prng_below(&p, RANKS_MAX - 1);
    o.each = each[wdl_prng_below(&p, 5)];
    o.peeks = wdl_prng_chance(&p, 750);
    o.domain = o.each == 64 && o.peeks ? (int) (seed % 4) : 0;
    o.ordered = wdl_prng_chance(&p, 750);
    o.refuse = wdl_prng_chance(&p, 500) ? 0 : 300;
    o.delay = (int) wdl_prng_below(&p, 3) * 3000;
    o.ops = 12;
    o.depth = 1 << wdl_prng_below(&p, 4);
    o.faults = wdl_prng_chance(&p, 250) ? 0 : wdl_prng_chance(&p, 600) ? 1 : 3;
    o.attach = (int) wdl_prng_below(&p, 3);
    static const int network[] = {0, 0, 1, 2};
    o.network = network[seed % 4];
    *(struct options *) options_out = o;
}

static const struct worlds_option table[] = {
    WORLDS_OPTION(options, ranks),  WORLDS_OPTION(options, each),
    WORLDS_OPTION(options, peeks),  WORLDS_OPTION(options, ordered),
    WORLDS_OPTION(options, refuse), WORLDS_OPTION(options, delay),
    WORLDS_OPTION(options, ops),    WORLDS_OPTION(options, depth),
    WORLDS_OPTION(options, faults), WORLDS_OPTION(options, kind),
    WORLDS_OPTION(options, attach), WORLDS_OPTION(options, domain),
    WORLDS_OPTION(options, network)};
static const struct worlds worlds = {.program = "test/mpid/coll/fail_world",
                                     .count = 400,
                                     .options_bytes = sizeof(struct options),
                                     .options = table,
                                     .noptions = sizeof(table) / sizeof(table[0]),
                                     .options_of = options_of,
                                     .world = world};

int main(int argc, char **argv)
{
    return worlds_main(&worlds, argc, argv);
}
