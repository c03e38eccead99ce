/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Runs simulated worlds of collectives. Without arguments: many seeds, and lies that must be
 * caught. A failure prints the command that repeats it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/assert.h"
#include "mpid/coll/coll_impl.h"
#include "mpid/coll/world.h"
#include "support/worlds.h"

static void req_done(struct wdl_coll_req *req)
{
    struct side *s = wdl_container_of(req, struct side, req);
    s->op->w->out[s->op->group->members[s->rank]]--;
    op_done(s);
}

static void groups_make(struct world *w)
{
    int n = w->options.ranks;
    w->groups = calloc((size_t) w->options.teams, sizeof(w->groups[0]));
    for (int g = 0; g < w->options.teams; g++) {
        struct group *group = &w->groups[g];
        group->index = g;
        group->members = calloc((size_t) n, sizeof(int));
        group->rank_of = calloc((size_t) n, sizeof(int));
        group->teams = calloc((size_t) n, sizeof(group->teams[0]));
        for (int i = 0; i < n; i++) {
            group->rank_of[i] = -1;
            if (g == 0 || wdl_prng_chance(&w->prng, 600))
                group->members[group->size++] = i;
        }
        if (!group->size)
            group->members[group->size++] = g % n;
        for (int i = group->size - 1; g > 0 && i > 0; i--) {
            int j = (int) wdl_prng_below(&w->prng, (uint64_t) i + 1), t = group->members[i];
            group->members[i] = group->members[j];
            group->members[j] = t;
        }
        for (int i = 0; i < group->size; i++)
            group->rank_of[group->members[i]] = i;
    }
}

static int pick(struct wdl_prng *prng, int fixed, int n)
{
    return fixed >= 0 ? fixed : (int) wdl_prng_below(prng, (uint64_t) n);
}

/* The operator's context is the caller's again when the request is done. An element of seven: its
 * size divides no piece of a message. */
static void compose_wide(void *ctx, const void *left, void *inout, size_t count)
{
    wdl_assert(!ctx || !((const struct side *) ctx)->done); /* the oracle has none */
    ranks_compose(NULL, left, inout, 7 * count);
}

static void sum(void *ctx, const void *left, void *inout, size_t count)
{
    wdl_assert(!ctx || !((const struct side *) ctx)->done); /* the oracle has none */
    ranks_sum(NULL, left, inout, count);
}

static int turn_of(const struct options *o, int index)
{
    int kind = index % (WDL_COLL_REDUCE_SCATTER - (o->without > 0));
    return kind + (o->without && kind >= o->without);
}

static void op_choose(struct world *w, struct op *op, int index)
{
    const struct options *o = &w->options;
    struct wdl_prng *p = &w->prng;
    op->w = w;
    op->index = index;
    op->group = &w->groups[wdl_prng_below(p, (uint64_t) o->teams)];
    int size = op->group->size;
    struct wdl_coll_args *a = &op->args;
    a->kind = (enum wdl_coll_kind) pick(p, o->turn ? turn_of(o, index) : o->kind, WDL_COLL_CUSTOM);
    a->flags = (uint32_t) (WDL_COLL_IN_NOSYNC << pick(p, o->in, 3) | WDL_COLL_OUT_NOSYNC
                                                                         << pick(p, o->out, 3));
    a->flags |= wdl_prng_chance(p, 500) ? WDL_COLL_SINGLE : WDL_COLL_LOCAL;
    if (o->in < 0 && o->out < 0 && wdl_prng_chance(p, 300))
        a->flags = WDL_COLL_MPI;
    a->root = (int) wdl_prng_below(p, (uint64_t) size);
    a->bytes =
        wdl_prng_chance(p, 500) ? wdl_prng_below(p, 64) : wdl_prng_below(p, (uint64_t) o->bytes);
    a->op = (struct wdl_coll_op){.fn = compose_wide, .elem_bytes = 28};
    int exact = op->index % 3 ? WDL_COLL_EXACT : WDL_COLL_COMMUTES;
    if (wdl_prng_chance(p, 300))
        a->op = (struct wdl_coll_op){.fn = sum, .elem_bytes = 4, .commutes = exact};
    int moves = a->kind == WDL_COLL_SCATTER || a->kind == WDL_COLL_GATHER ||
                a->kind == WDL_COLL_GATHER_ALL || a->kind == WDL_COLL_EXCHANGE ||
                a->kind == WDL_COLL_REDUCE_SCATTER;
    size_t unit = wdl_coll_reduces(a->kind) ? a->op.elem_bytes : 1;
    if (wdl_coll_reduces(a->kind))
        a->bytes -= a->bytes % a->op.elem_bytes;
    if (a->kind == WDL_COLL_SCAN && wdl_prng_chance(p, 500))
        a->flags |= WDL_COLL_EXCLUSIVE;
    if ((a->kind == WDL_COLL_SCAN || a->kind == WDL_COLL_REDUCE) &&
        (a->flags & WDL_COLL_OUT_MYSYNC) && wdl_prng_chance(p, 300))
        a->flags |= WDL_COLL_LEAVES;
    if ((a->kind == WDL_COLL_GATHER_ALL || a->kind >= WDL_COLL_REDUCE) &&
        (a->flags & WDL_COLL_IN_MYSYNC))
        op->in_place = wdl_prng_chance(p, 300);
    if (o->turn) /* so many: each has something for each, or the oracle folds for each */
        a->bytes = wdl_coll_reduces(a->kind) ? unit : moves ? 1 : a->bytes;
    else if (moves && wdl_prng_chance(p, 300)) {
        a->variable = 1;
        op->counts = calloc((size_t) size * (size_t) size, sizeof(size_t));
        for (int i = 0; i < size * size; i++)
            op->counts[i] =
                wdl_prng_chance(p, 300) ? 0 : unit * wdl_prng_below(p, a->bytes / unit + 1);
    }
    op_make(op);
    for (int i = 0; i < op->group->size && w->options.attach; i++)
        (void) wdl_coll_attach(w->ranks.one[op->group->members[i]].proc, op->sides[i].dst,
                               op->sides[i].dst_bytes);
}

static const char *const names[WDL_COLL_KIND_COUNT][7] = {
    [WDL_COLL_BARRIER] = {"dissemination", "node", "levels"},
    [WDL_COLL_BROADCAST] = {"tree", "scatter_ring", "circulant", "node", "levels"},
    [WDL_COLL_SCATTER] = {"tree", "direct", "node", "levels", "near"},
    [WDL_COLL_GATHER] = {"tree", "direct", "node", "levels", "near"},
    [WDL_COLL_GATHER_ALL] = {"bruck", "ring", "node", "levels"},
    [WDL_COLL_EXCHANGE] = {"bruck", "pairwise", "pairwise_entry", "node", "levels", "near",
                           "near_entry"},
    [WDL_COLL_REDUCE] = {"tree", "circulant", "node", "levels"},
    [WDL_COLL_ALLREDUCE] = {"gathered", "doubling", "halving", "node", "levels", "census"},
    [WDL_COLL_SCAN] = {"doubling", "node", "levels"},
    [WDL_COLL_REDUCE_SCATTER] = {"pairwise", "pairwise_entry", "node", "levels"}};

static int peer_of(void *ctx, int rank)
{
    return ((const struct seat *) ctx)->group->members[rank];
}

/* Now and then an algorithm that would not have been chosen. */
static const char *name_of(const struct op *op)
{
    static const char *const trees[] = {"binomial", "knomial", "binary", "flat", "tree"};
    int choice = op->index % 8;
    if (choice == 7 || op->w->options.turn)
        return NULL;
    const char *name = names[op->args.kind][choice];
    return name && !strcmp(name, "tree") ? trees[op->w->options.seed / 7 % 5] : name;
}

/* Whether that applies is known when the team is open, and must be known to all ranks alike. */
static int is_too_early(const struct op *op, int rank)
{
    const char *name = name_of(op);
    int tells = name && (!strcmp(name, "levels") || !strncmp(name, "near", 4) ||
                         (!strcmp(name, "node") && op->w->options.domain));
    return tells && !op->group->teams[op->group->rank_of[rank]]->open;
}

/* Start the side's collective. */
static void side_start(struct world *w, struct side *s)
{
    struct wdl_coll_args args;
    struct wdl_team *team = s->op->group->teams[s->rank];
    op_starting(s, &args);
    args.op.ctx = s;
    s->req.fn = req_done;
    int me = s->op->group->members[s->rank];
    const char *name = name_of(s->op);
    if ((!name || !strcmp(name, "node")) && !w->express[me] && wdl_prng_chance(&w->prng, 700) &&
        (s->express = wdl_coll_express(team, &args))) {
        w->express[me] = s;
        return;
    }
    args.algorithm = name;
    if (args.algorithm && wdl_coll_start(team, &args, &s->req) == WDL_OK)
        return;
    args.algorithm = NULL;
    int status = wdl_coll_start(team, &args, &s->req);
    if (status != WDL_OK)
        world_fail(w, s->op, s->rank, wdl_status_name(status), 0);
}

static void express_look(struct world *w, int rank)
{
    struct side *s = w->express[rank];
    int status = s ? wdl_coll_express_look(s->express) : WDL_AGAIN;
    if (status == WDL_AGAIN)
        return;
    w->express[rank] = NULL;
    s->req.status = status;
    req_done(&s->req);
}

/* Segments are there for the ranks of one node: options.node consecutive ranks of the world. Where
 * there are cards, not before those are known. */
static void *segment(void *ctx, int rank)
{
    const struct seat *seat = ctx;
    const struct group *group = seat->group;
    wdl_assert(seat->open);
    if (group->members[rank] / seat->node != group->members[seat->rank] / seat->node)
        return NULL;
    return group->segments[rank];
}

/* All ranks live in one process. */
static int peek(void *ctx, int rank, const void *there, void *here, size_t bytes)
{
    wdl_assert(segment(ctx, rank));
    memcpy(here, there, bytes);
    return WDL_OK;
}

static int poke(void *ctx, int rank, const void *here, void *there, size_t bytes)
{
    return peek(ctx, rank, here, there, bytes);
}

/* Some have no more memory. A seat's card, and its place in it. */
enum { STAGING_CARD = 1 << 20 };

static void *staging(void *ctx, size_t bytes, uint64_t *card_out)
{
    struct seat *seat = ctx;
    wdl_assert(!seat->staging);
    if ((seat->group->index + seat->rank) % 4 == 3)
        return NULL;
    seat->staging = aligned_alloc(64, bytes);
    seat->staging_bytes = bytes;
    *card_out = STAGING_CARD * (uint64_t) (seat->rank + 1);
    return seat->staging;
}

static void *staging_of(void *ctx, int rank, uint64_t card, size_t bytes)
{
    wdl_assert(segment(ctx, rank));
    const struct seat *seat = &((const struct seat *) ctx)->group->seats[rank];
    uint64_t at = card - STAGING_CARD * (uint64_t) (rank + 1);
    wdl_assert(seat->staging && at <= seat->staging_bytes && bytes <= seat->staging_bytes - at);
    return seat->staging + at;
}

static int node_of(void *ctx, int rank)
{
    const struct seat *seat = ctx;
    const struct group *group = seat->group;
    return group->shm[seat->rank].peek ? group->members[rank] / seat->node : -1;
}

static int domain_of(void *ctx, int rank)
{
    const struct seat *seat = ctx;
    unsigned member = (unsigned) seat->group->members[rank];
    return seat->domain > 0 ? (int) member / seat->domain : (int) (member * 2654435761u >> 30);
}

static uint64_t card_of(const struct group *group, int rank)
{
    return ((uint64_t) group->index << 40) + 77 * (uint64_t) rank + 1;
}

static void opened(void *ctx, const uint64_t *cards)
{
    struct seat *seat = ctx;
    for (int i = 0; i < seat->group->size; i++)
        wdl_assert_cmp(cards[i], ==, card_of(seat->group, i));
    seat->open = 1;
}

/* What no rank of a group has written to, each by its own word, is as it was. */
static void untouched_is_zero(const struct group *group, size_t from, size_t to)
{
    for (int i = 0; i < group->size && group->segments && from < to; i++) {
        const char *at = group->segments[i];
        wdl_assert_cmp(at[from], ==, 0);
        wdl_assert_cmp(memcmp(at + from, at + from + 1, to - from - 1), ==, 0);
    }
}

static void group_ends(struct world *w, struct group *group)
{
    size_t from = 0, to = SIZE_MAX;
    for (int i = 0; i < group->size; i++) {
        size_t own_from, own_to;
        wdl_team_untouched(group->teams[i], &own_from, &own_to);
        while (wdl_team_destroy(group->teams[i]) == WDL_AGAIN) {
            ranks_step(&w->ranks);
            wdl_team_untouched(group->teams[i], &own_from, &own_to);
        }
        from = own_from > from ? own_from : from;
        to = own_to < to ? own_to : to;
    }
    untouched_is_zero(group, from, to);
}

static void segments_make(struct world *w, struct group *group, struct wdl_team_params *params)
{
    struct wdl_proc *proc = w->ranks.one[group->members[params->rank]].proc;
    size_t bytes = wdl_coll_shm_bytes(proc, params);
    if (!group->segments) {
        group->segments = calloc((size_t) group->size, sizeof(char *));
        group->shm = calloc((size_t) group->size, sizeof(group->shm[0]));
        for (int i = 0; i < group->size; i++) {
            group->segments[i] = aligned_alloc(64, (bytes + 63) & ~(size_t) 63);
            memset(group->segments[i], 0, bytes);
        }
    }
    group->shm[params->rank] = (struct wdl_coll_shm){.segment = segment,
                                                     .peek = w->options.seed % 5 ? peek : NULL,
                                                     .poke = w->options.seed % 5 ? poke : NULL,
                                                     .staging = staging,
                                                     .staging_of = staging_of,
                                                     .crowded = w->options.seed / 5 % 2,
                                                     .ctx = &group->seats[params->rank]};
    params->shm = &group->shm[params->rank];
    params->node_of = node_of;
    params->domain_of = w->options.domain ? domain_of : NULL;
}

/* Trees from binomial to flat. */
static const struct wdl_coll_model models[] = {{1000, 1000, 0.1, 0.25, 0},
                                               {300, 100, 5, 1, 0},
                                               {1500, 400, 0.1, 0.25, 0},
                                               {8000, 300, 0.1, 0.25, 0}};

static void team_make(struct world *w, int rank, struct group *group)
{
    if (!group->seats)
        group->seats = calloc((size_t) group->size, sizeof(group->seats[0]));
    struct seat *seat = &group->seats[group->rank_of[rank]];
    *seat = (struct seat){.group = group,
                          .rank = group->rank_of[rank],
                          .node = w->options.node,
                          .domain = w->options.domain,
                          .open = w->options.seed & 2};
    uint32_t first_seq = w->options.seed / 7 % 2 ? 64 * (uint32_t) group->index :
        0xfffffff0u + (uint32_t) group->index;
    struct wdl_team_params params = {.id = 100 + (uint32_t) group->index,
                                     .rank = group->rank_of[rank],
                                     .size = group->size,
                                     .peer_of = peer_of,
                                     .ctx = seat,
                                     .window = w->options.window,
                                     .cell_bytes = w->options.seed & 1 ? 64 : 0,
                                     .staging_bytes = 16384,
                                     .first_seq = first_seq,
                                     .poison = 1};
    params.model = models[group->index % 4];
    params.opened_ctx = seat;
    if (!seat->open) {
        params.opened = opened;
        params.card = card_of(group, params.rank);
    }
    if (w->options.node > 1)
        segments_make(w, group, &params);
    int status = wdl_team_create(w->ranks.one[rank].proc, &params, &group->teams[params.rank]);
    wdl_assert_cmp(status, ==, WDL_OK);
}

/* One thing for a rank to do: make its next team, start its next collective; 1 when it has
 * nothing left. */
static int rank_act(struct world *w, int rank)
{
    express_look(w, rank);
    if (w->made[rank] < w->options.teams) {
        struct group *group = &w->groups[w->made[rank]++];
        if (group->rank_of[rank] >= 0)
            team_make(w, rank, group);
        return 0;
    }
    while (w->at[rank] < w->options.ops && w->ops[w->at[rank]].group->rank_of[rank] < 0)
        w->at[rank]++;
    if (w->at[rank] == w->options.ops)
        return w->out[rank] == 0;
    if (w->out[rank] >= w->options.depth || is_too_early(&w->ops[w->at[rank]], rank))
        return 0;
    struct op *op = &w->ops[w->at[rank]++];
    struct side *s = &op->sides[op->group->rank_of[rank]];
    w->out[rank]++;
    side_start(w, s);
    return 0;
}

static void world_steps(struct world *w)
{
    int n = w->options.ranks, idle = 0;
    long limit = 400000 + 4000L * n * (w->options.ops + 10);
    while (idle < n && !w->failure[0]) {
        int rank = ranks_step(&w->ranks), finished = 0;
        if (w->options.seed & 4) /* who is late means no other than the rest */
            ranks_doubt(&w->ranks, rank);
        if (wdl_prng_chance(&w->prng, 300))
            finished = rank_act(w, rank);
        for (int g = 0; g < w->made[rank] && n < 10; g++)
            if (w->groups[g].rank_of[rank] >= 0)
                wdl_team_check(w->groups[g].teams[w->groups[g].rank_of[rank]]);
        if (finished)
            for (idle = 0; idle < n && w->at[idle] == w->options.ops && w->out[idle] == 0; idle++)
                ;
        if (limit-- == 0)
            snprintf(w->failure, sizeof(w->failure), "stuck");
    }
}

static int world(const void *options)
{
    const struct options *o = options;
    struct world w = {.options = *o};
    struct wdl_sim_params sim = {.seed = o->seed,
                                 .ranks = o->ranks,
                                 .ordered = o->ordered,
                                 .delay_ns_max = (uint64_t) o->delay,
                                 .refuse_permille = o->refuse,
                                 .pending_permille = 300,
                                 .am_bytes_max = 1024,
                                 .no_map = o->attach == 1,
                                 .no_rma = o->network == 2,
                                 .rma_needs_target = o->network == 1,
                                 .torn = o->seed & 1};
    wdl_prng_init(&w.prng, o->seed);
    ranks_open(&w.ranks, &sim);
    ranks_limit(&w.ranks, o->pools);
    if (o->domain)
        ranks_prefer_levels(&w.ranks, o->seed % 4 == 1);
    groups_make(&w);
    w.ops = calloc((size_t) o->ops, sizeof(w.ops[0]));
    w.at = calloc((size_t) o->ranks * 3, sizeof(int));
    w.express = calloc((size_t) o->ranks, sizeof(w.express[0]));
    w.out = w.at + o->ranks;
    w.made = w.out + o->ranks;
    for (int i = 0; i < o->ops; i++)
        op_choose(&w, &w.ops[i], i);
    world_steps(&w);
    for (int i = 0; i < o->ops && !w.failure[0]; i++)
        op_final(&w.ops[i]);
    if (w.failure[0])
        return worlds_failed(w.failure);
    for (int g = 0; g < o->teams; g++)
        group_ends(&w, &w.groups[g]);
    ranks_close(&w.ranks);
    for (int i = 0; i < o->ops; i++)
        op_final(&w.ops[i]);
    for (int i = 0; i < o->ops; i++)
        op_free(&w.ops[i]);
    for (int g = 0; g < o->teams; g++) {
        free(w.groups[g].members);
        free(w.groups[g].rank_of);
        free(w.groups[g].teams);
        for (int i = 0; w.groups[g].segments && i < w.groups[g].size; i++) {
            free(w.groups[g].segments[i]);
            free(w.groups[g].seats[i].staging);
        }
        free(w.groups[g].segments);
        free(w.groups[g].shm);
        free(w.groups[g].seats);
    }
    free(w.groups);
    free(w.ops);
    free(w.at);
    free(w.express);
    return w.failure[0] != 0;
}

static const int nodes[] = {1, 3, 64}; /* none, some, all ranks on one */

static void options_of(uint64_t seed, void *options_out)
{
    struct options o = {.seed = seed, .kind = -1, .in = -1, .out = -1};
    struct wdl_prng p;
    wdl_prng_init(&p, seed * 77 + 1);
    o.ranks = wdl_prng_chance(&p, 20)    ? 100 + (int) wdl_prng_below(&p, 60)
              : wdl_prng_chance(&p, 200) ? 10 + (int) wdl_prng_below(&p, 30)
                                         : 1 + (int) wdl_prng_below(&p, 9);
    o.node = nodes[seed % 3];
    static const int domain[] = {0, 2, 5, -1};
    o.domain = o.node == 64 ? domain[seed / 3 % 4] : 0;
    o.ordered = wdl_prng_chance(&p, 500);
    o.refuse = wdl_prng_chance(&p, 500) ? 0 : 300;
    o.delay = (int) wdl_prng_below(&p, 3) * 3000;
    o.teams = 1 + (int) wdl_prng_below(&p, 3);
    o.ops = o.ranks > 60 ? 10 : o.ranks > 9 ? 30 : 60;
    o.depth = 1 << wdl_prng_below(&p, 8);
    o.window = 8 << wdl_prng_below(&p, 4);
    o.bytes = o.ranks > 60 ? 300 : o.ranks > 9 ? 2000 : 5000;
    o.attach = (int) wdl_prng_below(&p, 3);
    o.pools = (int) wdl_prng_below(&p, 3);
    static const int network[] = {0, 0, 1, 2};
    o.network = network[seed / 3 % 4];
    *(struct options *) options_out = o;
}

/* The engine is told less than the oracle checks, in worlds of so many ranks a node. */
static int lies_at;

static void lie(void *options, int lie, int kind)
{
    struct options *o = options;
    o->ranks = 2 + (int) (o->seed % 6);
    o->kind = kind;
    o->delay = 3000;
    o->node = lies_at;
    o->in = lie_in(lie);
    o->out = lie_out(lie);
    o->lie = lie;
}

static const char *kind_name(int kind)
{
    return wdl_coll_kind_name((enum wdl_coll_kind) kind);
}

static int more(uint64_t seeds);

static const struct worlds_option table[] = {
    WORLDS_OPTION(options, ranks), WORLDS_OPTION(options, ordered), WORLDS_OPTION(options, refuse),
    WORLDS_OPTION(options, delay), WORLDS_OPTION(options, teams),   WORLDS_OPTION(options, ops),
    WORLDS_OPTION(options, depth), WORLDS_OPTION(options, window),  WORLDS_OPTION(options, bytes),
    WORLDS_OPTION(options, kind),  WORLDS_OPTION(options, in),      WORLDS_OPTION(options, out),
    WORLDS_OPTION(options, lie),   WORLDS_OPTION(options, node),    WORLDS_OPTION(options, attach),
    WORLDS_OPTION(options, pools), WORLDS_OPTION(options, turn),    WORLDS_OPTION(options, domain),
    WORLDS_OPTION(options, network), WORLDS_OPTION(options, without)};
static const struct worlds worlds = {.program = "test/mpid/coll/world",
                                     .count = 500,
                                     .options_bytes = sizeof(struct options),
                                     .options = table,
                                     .noptions = sizeof(table) / sizeof(table[0]),
                                     .options_of = options_of,
                                     .world = world,
                                     .more = more,
                                     .lie = lie,
                                     .kind_name = kind_name,
                                     .lie_seeds = 59};

/* Worlds that found what the first seeds do not: a ready flag that tells of no memory, in a shared
 * cell where an older one did. */
static const struct options found[] = {{.seed = 3179,
                                        .ranks = 4,
                                        .ordered = 1,
                                        .delay = 6000,
                                        .teams = 1,
                                        .ops = 60,
                                        .depth = 2,
                                        .window = 8,
                                        .bytes = 5000,
                                        .kind = -1,
                                        .in = -1,
                                        .out = -1,
                                        .node = 64,
                                        .attach = 1}};

/* In these two a rank's own source has been read when it has what it waits for in any case. */
static int must_be_seen(int kind, int lie)
{
    return lie != LIE_MY_OUT_NO || (kind != WDL_COLL_ALLREDUCE && kind != WDL_COLL_REDUCE_SCATTER);
}

static int lies_caught(void)
{
    for (int at = 0; at < 3; at++)
        for (int kind = WDL_COLL_BROADCAST; kind < WDL_COLL_CUSTOM; kind++)
            for (int lie = LIE_NONE + 1; lie < LIES_OF_ALL; lie++) {
                lies_at = nodes[at];
                if (must_be_seen(kind, lie) && !worlds_lie_caught(&worlds, lie, kind))
                    return 0;
            }
    return 1;
}

/* Every kind once, but for one in which each sends to each; another number of seeds makes other
 * modes. */
static int many_ranks(int ranks, int without, uint64_t seeds, int ordered)
{
    struct options o = {.seed = (uint64_t) ranks + 2 * seeds + (uint64_t) ordered,
                        .ranks = ranks,
                        .without = without,
                        .ordered = ordered,
                        .delay = 2000,
                        .teams = 1,
                        .ops = WDL_COLL_REDUCE_SCATTER - (without > 0),
                        .depth = 2,
                        .window = 8,
                        .bytes = 64,
                        .kind = -1,
                        .in = -1,
                        .out = -1,
                        .node = 1,
                        .turn = 1};
    return !worlds_run(&worlds, &o);
}

/* Both orders of messages. Where each gets something from each, so many take most of the time:
 * one of these kinds in each order, the other among fewer. */
static int very_many_ranks(uint64_t seeds)
{
    static const int without[] = {WDL_COLL_EXCHANGE, WDL_COLL_GATHER_ALL};
    for (int ordered = 0; ordered < 2; ordered++)
        if (!many_ranks(1024, 0, seeds, ordered) ||
            !many_ranks(4096, without[ordered], seeds, ordered))
            return 0;
    return 1;
}

/* One node with more ranks than could all look at all boards, in domains of their order or any. */
static int many_domains(void)
{
    static const struct {
        int ranks, domain;
    } of[] = {{33, 17}, {48, -1}, {72, 12}, {100, -1}, {130, 65}, {256, 32}};
    int missed = 0;
    for (int i = 0; i < (int) (sizeof(of) / sizeof(of[0])) && !missed; i++) {
        struct options o = {.seed = 7000 + (uint64_t) i,
                            .ranks = of[i].ranks,
                            .ordered = i % 2,
                            .delay = 3000,
                            .teams = 2,
                            .ops = 12,
                            .depth = 3,
                            .window = 16,
                            .bytes = 300,
                            .kind = -1,
                            .in = -1,
                            .out = -1,
                            .node = 256,
                            .domain = of[i].domain};
        missed += worlds_run(&worlds, &o);
    }
    return missed;
}

static int more(uint64_t seeds)
{
    /* each lie is told in a copy of this process, so as long as it is small */
    int missed = worlds_once() && !lies_caught();
    missed = missed || many_domains();
    for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++)
        missed += worlds_run(&worlds, &found[i]);
    return missed || (worlds_once() && !very_many_ranks(seeds));
}

int main(int argc, char **argv)
{
    return worlds_main(&worlds, argc, argv);
}
