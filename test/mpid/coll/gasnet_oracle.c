/* Part of Windlass. See COPYRIGHT in the top-level directory. What a call of GASNet's collectives
 * must do to memory, and when. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/gasnet_world.h"

static void fail(const struct op *op, int node, const char *what, size_t byte)
{
    struct world *w = op->w;
    if (w->failure[0])
        return;
    snprintf(w->failure, sizeof(w->failure),
             "call %d %s%s flags %x image %zu bytes %zu of %d nodes, node %d: %s, byte %zu",
             op->index, op->kind->name, op->m ? "M" : "", (unsigned) op->flags, op->image,
             op->bytes, w->options.ranks, node, what, byte);
}

size_t world_draw(struct world *w, size_t below)
{
    return wdl_prng_below(&w->prng, below);
}

int unit_node(const struct op *op, size_t unit)
{
    const size_t *first = op->w->first;
    int lo = 0, hi = op->w->options.ranks;
    if (!op->m)
        return (int) unit;
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (first[mid] <= unit)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

size_t unit_at(const struct op *op, size_t unit, size_t each)
{
    size_t k = op->m ? unit - op->w->first[unit_node(op, unit)] : 0;
    return k * (((each + 7) & ~(size_t) 7) + GAP);
}

static void lists_make(struct side *s)
{
    const struct op *op = s->op;
    const struct world *w = op->w;
    int single = (op->flags & WDL_COLL_SINGLE) != 0;
    size_t from = single || !op->m ? 0 : w->first[s->node];
    size_t end = single || !op->m ? op->units : w->first[s->node + 1];
    s->src_list = calloc(end - from, sizeof(void *));
    s->dst_list = calloc(end - from, sizeof(void *));
    for (size_t u = from; u < end; u++) {
        const struct side *of = &op->sides[unit_node(op, u)];
        s->src_list[u - from] = of->src + unit_at(op, u, op->src_each);
        s->dst_list[u - from] = of->dst + unit_at(op, u, op->dst_each);
    }
    s->listed = end - from;
}

/* Of a node's unit; rooted: the root's alone are as large. */
static size_t unit_bytes(const struct op *op, int node, int rooted, size_t each)
{
    size_t bytes = op->kind->rooted == rooted && node != op->root ? 0 : each;
    return ((bytes + 7) & ~(size_t) 7) + GAP;
}

void areas_make(struct op *op, size_t src_each, size_t dst_each)
{
    struct world *w = op->w;
    op->src_each = src_each;
    op->dst_each = dst_each;
    for (int i = 0; i < w->options.ranks; i++) {
        struct side *s = &op->sides[i];
        size_t units = op->m ? w->images[i] : 1;
        s->src_bytes = units * unit_bytes(op, i, 1, src_each);
        s->dst_bytes = units * unit_bytes(op, i, 2, dst_each);
        s->src = malloc(s->src_bytes);
        s->give = malloc(s->src_bytes);
        s->dst = malloc(s->dst_bytes);
        s->want = malloc(s->dst_bytes);
        memset(s->src, GARBAGE, s->src_bytes);
        memset(s->dst, POISON, s->dst_bytes);
        memset(s->want, POISON, s->dst_bytes);
        if (w->options.attach)
            (void) wdl_coll_attach(w->ranks.one[i].proc, s->dst, s->dst_bytes);
        uint64_t x = (uint64_t) op->index * 1000003 + (uint64_t) i * 7919 + 1;
        for (size_t b = 0; b < s->src_bytes; b++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            s->give[b] = (char) (x >> 56);
        }
    }
    for (int i = 0; i < w->options.ranks && op->m; i++)
        lists_make(&op->sides[i]);
}

void op_free(struct op *op)
{
    for (int i = 0; i < op->w->options.ranks; i++) {
        struct side *s = &op->sides[i];
        void *all[] = {s->src,  s->dst,   s->give,  s->want,     s->src_list, s->dst_list,
                       s->here, s->there, s->nodes, s->partners, s->sizes,    s->come};
        for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
            free(all[k]);
    }
    free(op->sides);
    free(op->perm);
}

static void source_fill(struct side *s)
{
    memcpy(s->src, s->give, s->src_bytes);
}

/* Is it what it was told to be? */
static void all_are(const struct side *s, unsigned char value, const char *what)
{
    for (size_t i = 0; i < s->dst_bytes; i++)
        if ((unsigned char) s->dst[i] != value) {
            fail(s->op, s->node, what, i);
            return;
        }
}

static void result_check(const struct side *s)
{
    for (size_t i = 0; i < s->dst_bytes; i++)
        if (s->dst[i] != s->want[i]) {
            fail(s->op, s->node, "wrong result", i);
            return;
        }
}

static void scribble(struct side *s)
{
    s->loose = 1;
    memset(s->src, SCRIBBLE, s->src_bytes);
    memset(s->dst, SCRIBBLE, s->dst_bytes);
}

/* The lists are the node's again when its handle is done, whatever the OUT mode. */
static void lists_scribble(struct side *s)
{
    size_t n = (size_t) s->op->w->options.ranks;
    if (s->src_list) {
        memset(s->src_list, SCRIBBLE, s->listed * sizeof(void *));
        memset(s->dst_list, SCRIBBLE, s->listed * sizeof(void *));
    }
    if (s->here) {
        memset(s->here, SCRIBBLE, s->listed * sizeof(void *));
        memset(s->there, SCRIBBLE, s->listed * sizeof(void *));
        memset(s->nodes, SCRIBBLE, s->listed * sizeof(uint32_t));
        memset(s->partners, SCRIBBLE, s->partner_count * sizeof(uint32_t));
    }
    if (s->sizes)
        memset(s->sizes, SCRIBBLE, n * sizeof(size_t));
    if (s->come)
        memset(s->come, SCRIBBLE, n * sizeof(size_t));
}

int op_starting(struct side *s)
{
    struct op *op = s->op;
    int in = op->flags & WDL_COLL_IN, n = op->w->options.ranks;
    op->started++;
    if (!op->kind->moves)
        return op->flags;
    if (in == WDL_COLL_IN_NOSYNC && op->started == 1)
        for (int i = 0; i < n; i++)
            source_fill(&op->sides[i]);
    /* for a node that gives and gets nothing, all may be over before it, or all, have begun */
    if (in == WDL_COLL_IN_MYSYNC && !s->loose) {
        all_are(s, POISON, "written before the node has begun");
        source_fill(s);
    }
    if (in == WDL_COLL_IN_ALLSYNC && op->started == n)
        for (int i = 0; i < n; i++) {
            if (op->sides[i].loose)
                continue;
            all_are(&op->sides[i], POISON, "written before all have begun");
            source_fill(&op->sides[i]);
        }
    return lie_told(op->w->options.lie, op->flags);
}

void op_done(struct side *s, enum wdl_gas_error error)
{
    struct op *op = s->op;
    int out = op->flags & WDL_COLL_OUT, n = op->w->options.ranks;
    if (error)
        fail(op, s->node, "an error", (size_t) error);
    if (s->done++)
        fail(op, s->node, "done twice", 0);
    op->done++;
    if (!op->kind->moves) {
        if (op->started < n)
            fail(op, s->node, "left before all had come", 0);
        return;
    }
    lists_scribble(s);
    if (out == WDL_COLL_OUT_MYSYNC) {
        result_check(s);
        scribble(s);
        return;
    }
    if (op->done != (out == WDL_COLL_OUT_ALLSYNC ? 1 : n))
        return;
    for (int i = 0; i < n; i++) {
        result_check(&op->sides[i]);
        scribble(&op->sides[i]);
    }
}

void op_final(struct op *op)
{
    for (int i = 0; i < op->w->options.ranks; i++) {
        if (op->sides[i].done != 1)
            fail(op, i, "not done", 0);
        if (op->kind->moves)
            all_are(&op->sides[i], SCRIBBLE, "written after the exit synchronization");
    }
}
