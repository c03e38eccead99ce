/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Runs simulated worlds of GASNet's collectives. Without arguments: many seeds, lies that must be
 * caught, and a few worlds of many nodes. A failure prints the command that repeats it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/assert.h"
#include "mpid/coll/gasnet_world.h"
#include "support/worlds.h"

/* The kinds that take `most` nodes, one after the other. */
static const struct kind *in_turn(const struct options *o, int index)
{
    int count = 0, k = 0;
    if (o->half)
        index = 2 * index + o->half - 1;
    for (int i = 0; i < kind_count; i++)
        count += kinds[i].most >= o->most;
    for (int left = index % count;; k++)
        if (kinds[k].most >= o->most && left-- == 0)
            return &kinds[k];
}

static int pick(struct world *w, int fixed, int n)
{
    return fixed >= 0 ? fixed : (int) world_draw(w, (size_t) n);
}

/* Of blocks whose places all nodes know: a list's, where a node has an image, or the root's. */
static int segments_draw(struct world *w, const struct op *op)
{
    int flags = (world_draw(w, 2) ? WDL_GAS_DST_IN_SEGMENT : 0) |
                (world_draw(w, 2) ? WDL_GAS_SRC_IN_SEGMENT : 0);
    if (!op->kind->known || !(op->flags & WDL_COLL_SINGLE))
        return 0;
    return flags & (op->m && w->options.images == 1 ? flags : op->kind->known);
}

static void op_choose(struct world *w, struct op *op, int index)
{
    const struct options *o = &w->options;
    op->w = w;
    op->index = index;
    op->kind = o->kind == IN_TURN ? in_turn(o, index) : &kinds[pick(w, o->kind, kind_count)];
    op->flags = WDL_COLL_IN_NOSYNC << pick(w, o->in, 3) | WDL_COLL_OUT_NOSYNC << pick(w, o->out, 3);
    op->flags |= op->kind->scope    ? op->kind->scope
                 : world_draw(w, 2) ? WDL_COLL_SINGLE
                                    : WDL_COLL_LOCAL;
    op->flags |= world_draw(w, 2) ? op->kind->more : 0;
    /* with an image a node M forms are the others, and list all nodes on each */
    op->m = op->kind->lists && o->ranks < 1000 ? (int) world_draw(w, 2) : 0;
    op->flags |= segments_draw(w, op);
    op->units = op->m ? w->first[o->ranks] : (size_t) o->ranks;
    op->image = world_draw(w, w->first[o->ranks]);
    while (w->first[op->root + 1] <= op->image)
        op->root++;
    op->bytes = 1 + world_draw(w, world_draw(w, 2) && o->bytes > 64 ? 64 : (size_t) o->bytes);
    op->sides = calloc((size_t) o->ranks, sizeof(op->sides[0]));
    for (int i = 0; i < o->ranks; i++) {
        op->sides[i].op = op;
        op->sides[i].node = i;
    }
    op->kind->make(op);
}

/* Now and then calls that follow each other are one operation. */
static void aggregates_choose(struct world *w)
{
    for (int i = 0; i + 1 < w->options.ops; i++)
        w->ops[i].together =
            w->ops[i].kind->moves && w->ops[i + 1].kind->moves && world_draw(w, 4) == 0;
}

static int same_peer(void *ctx, int rank)
{
    (void) ctx;
    return rank;
}

static const char *in(const char *there, const char *at, const char *to, size_t bytes)
{
    return at && there >= at && there < at + bytes ? to + (there - at) : NULL;
}

/* Nobody looks for its own memory at another but by an address that all have alike. */
static const char *alike(void *ctx, int own, int peer, const char *there)
{
    const struct world *w = ctx;
    for (int i = 0; i < w->options.ops; i++) {
        const struct side *s = &w->ops[i].sides[own], *to = &w->ops[i].sides[peer];
        const char *src = in(there, s->src, to->src, s->src_bytes);
        const char *dst = in(there, s->dst, to->dst, s->dst_bytes);
        if (src || dst)
            return src ? src : dst;
    }
    return there;
}

/* What is at the same place of their memory is at one address. */
static const void *stands_for(void *ctx, const void *at)
{
    const struct world *w = ctx;
    for (int node = 0; node < w->options.ranks; node++) {
        const char *first_one = alike(ctx, node, 0, at);
        if (first_one != at)
            return first_one;
    }
    return at;
}

static void teams_make(struct world *w)
{
    /* trees from binomial to flat */
    static const struct wdl_coll_model models[] = {{1000, 1000, 0.1, 0.25, 0},
                                                   {1500, 400, 0.1, 0.25, 0},
                                                   {8000, 300, 0.1, 0.25, 0}};
    int n = w->options.ranks;
    struct wdl_team_params nodes = {0};
    w->images = calloc((size_t) n, sizeof(size_t));
    w->first = calloc((size_t) n + 1, sizeof(size_t));
    w->teams = calloc((size_t) n, sizeof(w->teams[0]));
    for (int i = 0; i < n; i++) {
        w->images[i] = w->options.images ? (size_t) w->options.images : 1 + (size_t) i % IMAGES_MAX;
        w->first[i + 1] = w->first[i] + w->images[i];
    }
    size_t staging = w->options.seed % 2 ? 16384 : 0; /* without, others fetch */
    nodes = (struct wdl_team_params){.id = 100,
                                     .size = n,
                                     .peer_of = same_peer,
                                     .window = w->options.window,
                                     .cell_bytes = 64,
                                     .staging_bytes = staging,
                                     .model = models[w->options.seed % 3],
                                     .poison = 1,
                                     .stands_for = stands_for,
                                     .stands_for_ctx = w};
    w->memory = (struct gasnet_memory){
        .alike = alike, .ctx = w, .proc = w->ranks.one[0].proc, .each = w->options.node};
    for (int i = 0; i < n; i++) {
        struct wdl_gas_params params = {
            .team = nodes, .images = w->images, .fns = world_fns, .fn_count = FNS};
        params.team.rank = i;
        if (w->options.node)
            params.memory = gasnet_memory(&w->memory);
        int status = wdl_gas_init(w->ranks.one[i].proc, &params, &w->teams[i]);
        wdl_assert_cmp(status, ==, WDL_OK);
    }
}

static void start_next(struct world *w, int node)
{
    struct op *op = &w->ops[w->at[node]++];
    struct side *s = &op->sides[node];
    int flags = op_starting(s) | (op->together ? WDL_GAS_AGGREGATE : 0);
    w->out[node]++;
    s->handle = op->kind->start(s, w->teams[node], flags);
    wdl_assert_cmp(s->handle == NULL, ==, op->together != 0);
}

/* Handles that are done: the calls that went with it, too. */
static void sync_all(struct world *w, int node)
{
    for (int i = w->at[node] - 1, left = w->out[node]; left > 0; i--) {
        struct side *s = &w->ops[i].sides[node];
        enum wdl_gas_error error;
        left -= !s->done;
        if (!s->handle || !wdl_gas_try_sync(s->handle, &error))
            continue;
        s->handle = NULL;
        int first = i;
        while (first > 0 && w->ops[first - 1].together)
            first--;
        for (int k = i; k >= first; k--, w->out[node]--)
            op_done(&w->ops[k].sides[node], error);
        left -= i - first;
        i = first;
    }
}

/* A node has waited long where nothing moves: it asks, and what it hears is no news to it. */
static void doubt(struct world *w, int node)
{
    for (int twice = 0; twice < 2; twice++)
        ranks_doubt(&w->ranks, node);
}

static void world_steps(struct world *w)
{
    int n = w->options.ranks, ended = 0;
    unsigned char *has_ended = calloc((size_t) n, 1);
    long limit = 400000 + 6000L * n * (w->options.ops + 10);
    while (ended < n && !w->failure[0]) {
        int node = ranks_step(&w->ranks);
        int may = w->at[node] < w->options.ops &&
                  (w->out[node] < w->options.depth || w->ops[w->at[node] - 1].together);
        sync_all(w, node);
        if (w->options.seed % 2 && limit % 16 == 0)
            doubt(w, node);
        if (may && world_draw(w, 3) == 0)
            start_next(w, node);
        if (w->at[node] == w->options.ops && w->out[node] == 0 && !has_ended[node]) {
            has_ended[node] = 1;
            ended++;
        }
        if (limit-- == 0)
            snprintf(w->failure, sizeof(w->failure), "stuck");
    }
    free(has_ended);
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
                                 .no_rma = o->attach == 3,
                                 .rma_needs_target = o->attach == 1 && o->ordered,
                                 .torn = o->seed & 1};
    wdl_prng_init(&w.prng, o->seed);
    ranks_open(&w.ranks, &sim);
    ranks_limit(&w.ranks, o->pools);
    teams_make(&w);
    w.ops = calloc((size_t) o->ops, sizeof(w.ops[0]));
    w.at = calloc((size_t) o->ranks * 2, sizeof(int));
    w.out = w.at + o->ranks;
    for (int i = 0; i < o->ops; i++)
        op_choose(&w, &w.ops[i], i);
    aggregates_choose(&w);
    world_steps(&w);
    for (int i = 0; i < o->ranks && !w.failure[0]; i++)
        while (wdl_gas_team_destroy(w.teams[i]) == WDL_AGAIN)
            ranks_step(&w.ranks);
    for (int i = 0; i < o->ops && !w.failure[0]; i++)
        op_final(&w.ops[i]);
    if (w.failure[0])
        return worlds_failed(w.failure);
    ranks_close(&w.ranks);
    for (int i = 0; i < o->ops; i++)
        op_free(&w.ops[i]);
    free(w.ops);
    free(w.at);
    free(w.images);
    free(w.first);
    free(w.teams);
    return 0;
}

/* None, two and all share one. */
enum { ON_ONE = 64 };

static int node_of_seed(uint64_t seed)
{
    static const int node[] = {0, 2, ON_ONE};
    return node[seed % 3];
}

static void options_of(uint64_t seed, void *options_out)
{
    struct options o = {.seed = seed, .kind = -1, .in = -1, .out = -1};
    struct wdl_prng p;
    wdl_prng_init(&p, seed * 77 + 1);
    o.ranks = wdl_prng_chance(&p, 200) ? 10 + (int) wdl_prng_below(&p, 24)
                                       : 2 + (int) wdl_prng_below(&p, 8);
    o.ordered = wdl_prng_chance(&p, 500);
    o.refuse = wdl_prng_chance(&p, 500) ? 0 : 300;
    o.delay = (int) wdl_prng_below(&p, 3) * 3000;
    o.ops = o.ranks > 9 ? 25 : 50;
    o.depth = 1 << wdl_prng_below(&p, 6);
    o.window = 8 << wdl_prng_below(&p, 4);
    o.bytes = o.ranks > 9 ? 500 : 3000;
    o.images = (int) wdl_prng_below(&p, 3);
    o.attach = (int) wdl_prng_below(&p, 4);
    o.pools = (int) wdl_prng_below(&p, 3);
    o.node = node_of_seed(seed);
    *(struct options *) options_out = o;
}

/* The engine is told less than the oracle checks, in worlds of one place. */
static int lies_at;

static void lie(void *options, int lie, int kind)
{
    struct options *o = options;
    o->ranks = 3 + (int) (o->seed % 5);
    o->kind = kind;
    o->ops = 20;
    o->delay = 3000;
    o->node = lies_at;
    o->in = lie_in(lie);
    o->out = lie_out(lie);
    o->lie = lie;
    if (lie == LIE_MY_IN_NO) /* where it is told to go ahead */
        o->images = 1;
}

static const char *kind_name(int kind)
{
    return kinds[kind].name;
}

static int more(uint64_t seeds);

static const struct worlds_option table[] = {
    WORLDS_OPTION(options, ranks),  WORLDS_OPTION(options, ordered), WORLDS_OPTION(options, refuse),
    WORLDS_OPTION(options, delay),  WORLDS_OPTION(options, ops),     WORLDS_OPTION(options, depth),
    WORLDS_OPTION(options, window), WORLDS_OPTION(options, bytes),   WORLDS_OPTION(options, images),
    WORLDS_OPTION(options, kind),   WORLDS_OPTION(options, in),      WORLDS_OPTION(options, out),
    WORLDS_OPTION(options, lie),    WORLDS_OPTION(options, attach),  WORLDS_OPTION(options, node),
    WORLDS_OPTION(options, most),   WORLDS_OPTION(options, pools),   WORLDS_OPTION(options, half)};
static const struct worlds worlds = {.program = "test/mpid/coll/gasnet_world",
                                     .count = 300,
                                     .options_bytes = sizeof(struct options),
                                     .options = table,
                                     .noptions = sizeof(table) / sizeof(table[0]),
                                     .options_of = options_of,
                                     .world = world,
                                     .more = more,
                                     .lie = lie,
                                     .kind_name = kind_name,
                                     .lie_seeds = 79};

static int lies_caught(void)
{
    for (int at = 0; at < 3; at++)
        for (int kind = 0; kind < kind_count; kind++)
            for (int lie = LIE_NONE + 1; lie < LIES; lie++) {
                lies_at = node_of_seed((uint64_t) at);
                if (kinds[kind].sees >> lie & 1 && !worlds_lie_caught(&worlds, lie, kind))
                    return 0;
            }
    return 1;
}

/* All kinds that take so many nodes, or half of them, in a world of their own; another number of
 * seeds makes other modes. */
static int many_nodes(int ranks, int half, uint64_t seeds, int ordered)
{
    struct options o = {.seed = (uint64_t) ranks + 2 * seeds + (uint64_t) ordered,
                        .ranks = ranks,
                        .ordered = ordered,
                        .delay = 2000,
                        .depth = ranks > 1000 ? 1 : 4,
                        .window = 8,
                        .bytes = ranks > 1000 ? 3 : 64,
                        .images = 1,
                        .kind = IN_TURN,
                        .most = ranks,
                        .half = half,
                        .in = -1,
                        .out = -1};
    for (int i = 0; i < kind_count; i++)
        o.ops += kinds[i].most >= ranks;
    o.ops = half ? (o.ops + (half == 1)) / 2 : o.ops;
    return !worlds_run(&worlds, &o);
}

static int more(uint64_t seeds)
{
    /* each lie is told in a copy of this process, so as long as it is small */
    if (worlds_once() && !lies_caught())
        return 1;
    int missed = 0, once = worlds_once();
    for (int ordered = 0; ordered < 2 && !missed; ordered++)
        missed = !many_nodes(512, 0, seeds, ordered) ||
                 (once && !(many_nodes(1024, 0, seeds, ordered) &&
                            many_nodes(4096, 1 + ordered, seeds, ordered)));
    return missed;
}

int main(int argc, char **argv)
{
    return worlds_main(&worlds, argc, argv);
}
