/* Part of Windlass. See COPYRIGHT in the top-level directory. GASNet's collectives, as the world
 * calls them: what each node gives, and what it must have in the end. */
#include <stdlib.h>
#include <string.h>
#include "base/assert.h"
#include "mpid/coll/gasnet_world.h"

/* --- functions on 32-bit words; COMPOSE: x -> a x + b of 16 bits --- */

static uint32_t apply(int fn, uint32_t x, uint32_t y)
{
    uint32_t a = x & 0xffff, b = x >> 16, c = y & 0xffff, d = y >> 16;
    if (fn == COMPOSE)
        return ((a * c) & 0xffff) | ((a * d + b) & 0xffff) << 16;
    return fn == SUM ? x + y : x * 31 + (y ^ x >> 7);
}

static void words(void *results, size_t result_count, const void *left_operands, size_t left_count,
                  const void *right_operands, size_t elem_size, int flags, int arg)
{
    uint32_t *out = results;
    const uint32_t *x = left_operands, *y = right_operands;
    (void) flags;
    wdl_assert_cmp(result_count, ==, left_count);
    wdl_assert_cmp(elem_size, ==, sizeof(*out));
    for (size_t i = 0; i < result_count; i++)
        out[i] = apply(arg, x[i], y[i]);
}

const struct wdl_gas_fn world_fns[FNS] = {{words, WDL_GAS_NONCOMM},
                                          {words, 0},
                                          {words, WDL_GAS_NONCOMM | WDL_GAS_NONASSOC}};

/* --- places --- */

static char *give(const struct op *op, size_t unit)
{
    return op->sides[unit_node(op, unit)].give + unit_at(op, unit, op->src_each);
}

static char *want(const struct op *op, size_t unit)
{
    return op->sides[unit_node(op, unit)].want + unit_at(op, unit, op->dst_each);
}

/* The root's image gives or gets for the whole node, at the node's first place. */
static char *root_give(const struct op *op)
{
    return op->sides[op->root].give;
}

/* A pointer that nobody may follow. */
static void *junk(void)
{
    return (void *) (uintptr_t) 0x10;
}

/* An address of the root's memory, if this node has to know it. */
static void *rooted(const struct side *s, char *at, int flags)
{
    return s->node == s->op->root || (flags & WDL_COLL_SINGLE) ? at : junk();
}

/* --- data movement --- */

static void broadcast_make(struct op *op)
{
    areas_make(op, op->bytes, op->bytes);
    for (size_t u = 0; u < op->units; u++)
        memcpy(want(op, u), root_give(op), op->bytes);
}

static wdl_gas_handle broadcast_start(struct side *s, struct wdl_gas_team *team, int flags)
{
    const struct op *op = s->op;
    void *from = rooted(s, op->sides[op->root].src, flags);
    return op->m ? wdl_gas_broadcastM_nb(team, s->dst_list, op->image, from, op->bytes, flags)
                 : wdl_gas_broadcast_nb(team, s->dst, op->image, from, op->bytes, flags);
}

static void scatter_make(struct op *op)
{
    areas_make(op, op->units * op->bytes, op->bytes);
    for (size_t u = 0; u < op->units; u++)
        memcpy(want(op, u), root_give(op) + u * op->bytes, op->bytes);
}

static wdl_gas_handle scatter_start(struct side *s, struct wdl_gas_team *team, int flags)
{
    const struct op *op = s->op;
    void *from = rooted(s, op->sides[op->root].src, flags);
    return op->m ? wdl_gas_scatterM_nb(team, s->dst_list, op->image, from, op->bytes, flags)
                 : wdl_gas_scatter_nb(team, s->dst, op->image, from, op->bytes, flags);
}

static void gather_make(struct op *op)
{
    areas_make(op, op->bytes, op->units * op->bytes);
    for (size_t u = 0; u < op->units; u++)
        memcpy(op->sides[op->root].want + u * op->bytes, give(op, u), op->bytes);
}

static wdl_gas_handle gather_start(struct side *s, struct wdl_gas_team *team, int flags)
{
    const struct op *op = s->op;
    void *to = rooted(s, op->sides[op->root].dst, flags);
    return op->m ? wdl_gas_gatherM_nb(team, op->image, to, s->src_list, op->bytes, flags)
                 : wdl_gas_gather_nb(team, op->image, to, s->src, op->bytes, flags);
}

static void gather_all_make(struct op *op)
{
    areas_make(op, op->bytes, op->units * op->bytes);
    for (size_t u = 0; u < op->units; u++)
        for (size_t v = 0; v < op->units; v++)
            memcpy(want(op, u) + v * op->bytes, give(op, v), op->bytes);
}

static wdl_gas_handle gather_all_start(struct side *s, struct wdl_gas_team *team, int flags)
{
    const struct op *op = s->op;
    return op->m ? wdl_gas_gather_allM_nb(team, s->dst_list, s->src_list, op->bytes, flags)
                 : wdl_gas_gather_all_nb(team, s->dst, s->src, op->bytes, flags);
}

static void exchange_make(struct op *op)
{
    areas_make(op, op->units * op->bytes, op->units * op->bytes);
    for (size_t u = 0; u < op->units; u++)
        for (size_t v = 0; v < op->units; v++)
            memcpy(want(op, u) + v * op->bytes, give(op, v) + u * op->bytes, op->bytes);
}

static wdl_gas_handle exchange_start(struct side *s, struct wdl_gas_team *team, int flags)
{
    const struct op *op = s->op;
    return op->m ? wdl_gas_exchangeM_nb(team, s->dst_list, s->src_list, op->bytes, flags)
                 : wdl_gas_exchange_nb(team, s->dst, s->src, op->bytes, flags);
}

/* Now and then so long that a block is not in the parcel of a put, which LOCAL permute is, too. */
static void long_draw(struct op *op)
{
    enum { LONG = 16384, NODES_MAX = 9 };
    if (op->w->options.ranks <= NODES_MAX && world_draw(op->w, 8) == 0)
        op->bytes += LONG;
}

static void permute_make(struct op *op)
{
    long_draw(op);
    op->perm = calloc(op->units, sizeof(uint32_t));
    for (size_t u = 0; u < op->units; u++)
        op->perm[u] = (uint32_t) u;
    for (size_t u = op->units - 1; u > 0; u--) {
        size_t v = world_draw(op->w, u + 1);
        uint32_t swap = op->perm[u];
        op->perm[u] = op->perm[v];
        op->perm[v] = swap;
    }
    areas_make(op, op->bytes, op->bytes);
    for (size_t u = 0; u < op->units; u++)
        memcpy(want(op, op->perm[u]), give(op, u), op->bytes);
}

static wdl_gas_handle permute_start(struct side *s, struct wdl_gas_team *team, int flags)
{
    const struct op *op = s->op;
    size_t first = op->m ? op->w->first[s->node] : (size_t) s->node;
    return wdl_gas_permuteM_nb(team, s->dst, op->m ? s->dst_list : NULL, s->src,
                               op->m ? s->src_list : NULL,
                               op->perm + (flags & WDL_COLL_LOCAL ? first : 0), op->bytes, flags);
}

/* --- arrays dealt in blocks --- */

static uint32_t *element(const struct op *op, int dst, size_t g)
{
    const struct deal *d = dst ? &op->to : &op->from;
    size_t index = g + d->off, block = d->blk ? index / d->blk : 0;
    size_t unit = d->blk ? block % op->units : d->off;
    size_t place = d->blk ? block / op->units * d->blk + index % d->blk : g;
    return (uint32_t *) (void *) (dst ? want(op, unit) : give(op, unit)) + place;
}

static size_t places(const struct op *op, const struct deal *d)
{
    return d->blk ? ((op->n + d->off) / (d->blk * op->units) + 1) * d->blk : op->n;
}

static void arrays_make(struct op *op, int scan)
{
    struct deal *d[] = {&op->from, &op->to};
    op->n = 1 + world_draw(op->w, 3 * op->units);
    op->fn = (int) world_draw(op->w, FNS);
    for (int i = 0; i < 2; i++) {
        d[i]->blk = world_draw(op->w, 4);
        if (op->w->options.ranks > 1000 &&
            !d[i]->blk) /* the oracle has room for all on each node */
            d[i]->blk = 4;
        d[i]->off = world_draw(op->w, d[i]->blk ? 2 * d[i]->blk * op->units : op->units);
    }
    if (world_draw(op->w, 2))
        op->to = op->from;
    areas_make(op, places(op, &op->from) * 4, scan ? places(op, &op->to) * 4 : 4);
}

static struct wdl_gas_array array(const struct side *s, int dst)
{
    const struct deal *d = dst ? &s->op->to : &s->op->from;
    return (struct wdl_gas_array){dst ? s->dst : s->src, d->blk, d->off};
}

static uint32_t fold(const struct op *op, size_t count)
{
    uint32_t sum = *element(op, 0, 0);
    for (size_t g = 1; g < count; g++)
        sum = apply(op->fn, sum, *element(op, 0, g));
    return sum;
}

static void reduce_make(struct op *op)
{
    arrays_make(op, 0);
    uint32_t sum = fold(op, op->n);
    memcpy(op->sides[op->root].want, &sum, sizeof(sum));
}

static void reduce_all_make(struct op *op)
{
    arrays_make(op, 0);
    uint32_t sum = fold(op, op->n);
    for (int i = 0; i < op->w->options.ranks; i++)
        memcpy(op->sides[i].want, &sum, sizeof(sum));
}

static wdl_gas_handle reduce_start(struct side *s, struct wdl_gas_team *team, int flags)
{
    const struct op *op = s->op;
    int everywhere = op->kind->make == reduce_all_make;
    return wdl_gas_reduceM_nb(team, everywhere ? WDL_GAS_EVERYWHERE : op->image,
                              everywhere ? s->dst : rooted(s, op->sides[op->root].dst, flags),
                              op->m ? s->src_list : NULL, array(s, 0), 4, op->n, (size_t) op->fn,
                              op->fn, flags);
}

static void scan_make(struct op *op)
{
    arrays_make(op, 1);
    int exclusive = (op->flags & WDL_COLL_EXCLUSIVE) != 0;
    uint32_t sum = 0;
    for (size_t g = 0; g < op->n; g++) {
        uint32_t x = *element(op, 0, g), next = g ? apply(op->fn, sum, x) : x;
        if (g || !exclusive)
            *element(op, 1, g) = exclusive ? sum : next;
        sum = next;
    }
}

static wdl_gas_handle scan_start(struct side *s, struct wdl_gas_team *team, int flags)
{
    const struct op *op = s->op;
    return wdl_gas_scanM_nb(team, op->m ? s->dst_list : NULL, array(s, 1),
                            op->m ? s->src_list : NULL, array(s, 0), 4, op->n, (size_t) op->fn,
                            op->fn, flags);
}

static int by_high_bits(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *) a >> 24, y = *(const uint32_t *) b >> 24;
    return x < y ? -1 : x > y;
}

static void sort_make(struct op *op)
{
    arrays_make(op, 1);
    for (size_t g = 0; g < op->n; g++) { /* equal ones keep their order */
        uint32_t x = *element(op, 0, g);
        size_t at = g;
        for (; at > 0 && by_high_bits(&x, element(op, 1, at - 1)) < 0; at--)
            *element(op, 1, at) = *element(op, 1, at - 1);
        *element(op, 1, at) = x;
    }
}

static wdl_gas_handle sort_start(struct side *s, struct wdl_gas_team *team, int flags)
{
    const struct op *op = s->op;
    return wdl_gas_sortM_nb(team, op->m ? s->dst_list : NULL, array(s, 1),
                            op->m ? s->src_list : NULL, array(s, 0), 4, op->n, by_high_bits, flags);
}

/* --- put and get: up to two blocks from each node to any others, or the other way --- */

enum { BLOCKS_MAX = 2 };

static void put_plan(struct op *op, int *other, size_t *place, size_t *most_out)
{
    int n = op->w->options.ranks;
    size_t *had = calloc((size_t) n, sizeof(*had));
    *most_out = BLOCKS_MAX;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < BLOCKS_MAX; k++) {
            int to = (int) world_draw(op->w, (size_t) n);
            int goes = op->basic ? k == 0 : world_draw(op->w, 3) != 0;
            other[i * BLOCKS_MAX + k] = goes ? to : -1;
            if (other[i * BLOCKS_MAX + k] < 0)
                continue;
            place[i * BLOCKS_MAX + k] = had[to]++;
            *most_out = had[to] > *most_out ? had[to] : *most_out;
        }
    free(had);
}

static void put_lists(struct op *op, int gets, const int *other, const size_t *place)
{
    int n = op->w->options.ranks;
    for (int i = 0; i < n; i++) {
        struct side *s = &op->sides[i];
        s->here = calloc(BLOCKS_MAX, sizeof(void *));
        s->there = calloc(BLOCKS_MAX, sizeof(void *));
        s->nodes = calloc(BLOCKS_MAX, sizeof(uint32_t));
        s->partners = calloc((size_t) n, sizeof(uint32_t));
        for (int k = 0; k < BLOCKS_MAX; k++) {
            int to = other[i * BLOCKS_MAX + k];
            if (to < 0)
                continue;
            struct side *t = &op->sides[to];
            size_t own = s->listed * op->bytes, far = place[i * BLOCKS_MAX + k] * op->bytes;
            s->here[s->listed] = (gets ? s->dst : s->src) + own;
            s->there[s->listed] = (gets ? t->src : t->dst) + far;
            s->nodes[s->listed++] = (uint32_t) to;
            if (gets)
                memcpy(s->want + own, t->give + far, op->bytes);
            else
                memcpy(t->want + far, s->give + own, op->bytes);
        }
    }
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < op->sides[i].listed; k++) {
            struct side *t = &op->sides[op->sides[i].nodes[k]];
            if (!t->partner_count || t->partners[t->partner_count - 1] != (uint32_t) i)
                t->partners[t->partner_count++] = (uint32_t) i;
        }
}

static void put_or_get_make(struct op *op, int gets)
{
    size_t count = (size_t) op->w->options.ranks * BLOCKS_MAX, most;
    int *other = calloc(count, sizeof(*other));
    size_t *place = calloc(count, sizeof(*place));
    op->basic = (int) world_draw(op->w, 2);
    long_draw(op);
    put_plan(op, other, place, &most);
    areas_make(op, (gets ? most : BLOCKS_MAX) * op->bytes, (gets ? BLOCKS_MAX : most) * op->bytes);
    put_lists(op, gets, other, place);
    free(other);
    free(place);
}

static void put_make(struct op *op)
{
    put_or_get_make(op, 0);
}

static void get_make(struct op *op)
{
    put_or_get_make(op, 1);
}

static wdl_gas_handle put_start(struct side *s, struct wdl_gas_team *team, int flags)
{
    int gets = s->op->kind->make == get_make;
    struct wdl_gas_put put = {.gets = gets,
                              .many = !s->op->basic,
                              .node = s->nodes[0],
                              .dst = gets ? s->here[0] : s->there[0],
                              .src = gets ? s->there[0] : s->here[0],
                              .nodes = s->nodes,
                              .dst_list = gets ? s->here : s->there,
                              .src_list = gets ? s->there : s->here,
                              .count = s->listed,
                              .partners = s->partners,
                              .partner_count = s->partner_count,
                              .nbytes = s->op->bytes};
    return wdl_gas_put_nb(team, &put, flags);
}

/* --- blocks of different sizes --- */

/* Block of `from`, for `to` where it has several. */
static size_t block(const struct op *op, int from, int to)
{
    uint64_t x = (uint64_t) op->index * 31 + (uint64_t) from * 7 + (uint64_t) to * 1009;
    x *= 0x9e3779b97f4a7c15u;
    return x >> 62 ? (x >> 32) % (op->bytes + 1) : 0;
}

static void sizes_make(struct op *op, size_t (*out)(const struct op *, int, int),
                       size_t (*in)(const struct op *, int, int))
{
    int n = op->w->options.ranks;
    for (int i = 0; i < n; i++) {
        struct side *s = &op->sides[i];
        s->sizes = calloc((size_t) n, sizeof(size_t));
        s->come = in ? calloc((size_t) n, sizeof(size_t)) : NULL;
        for (int k = 0; k < n; k++) {
            s->sizes[k] = out(op, i, k);
            if (in) /* LOCAL: to be heard, but for the own one of a gather_all */
                s->come[k] = (op->flags & WDL_COLL_SINGLE) || k == i ? in(op, i, k) : 777;
        }
    }
}

static size_t of_second(const struct op *op, int i, int k)
{
    (void) i;
    return block(op, k, 0);
}

static size_t to_other(const struct op *op, int i, int k)
{
    return block(op, i, k);
}

static size_t from_other(const struct op *op, int i, int k)
{
    return block(op, k, i);
}

static void scatterv_make(struct op *op)
{
    size_t at = 0;
    areas_make(op, op->units * op->bytes, op->bytes);
    sizes_make(op, of_second, NULL);
    for (int i = 0; i < op->w->options.ranks; i++) {
        memcpy(op->sides[i].want, root_give(op) + at, block(op, i, 0));
        at += block(op, i, 0);
    }
}

static wdl_gas_handle scatterv_start(struct side *s, struct wdl_gas_team *team, int flags)
{
    const struct op *op = s->op;
    return wdl_gas_scatterv_nb(team, s->dst, op->image, rooted(s, op->sides[op->root].src, flags),
                               NULL, s->sizes, flags);
}

static void gatherv_make(struct op *op)
{
    size_t at = 0;
    areas_make(op, op->bytes, op->units * op->bytes);
    sizes_make(op, of_second, NULL);
    for (int i = 0; i < op->w->options.ranks; i++) {
        memcpy(op->sides[op->root].want + at, op->sides[i].give, block(op, i, 0));
        at += block(op, i, 0);
    }
}

static wdl_gas_handle gatherv_start(struct side *s, struct wdl_gas_team *team, int flags)
{
    const struct op *op = s->op;
    return wdl_gas_gatherv_nb(team, op->image, rooted(s, op->sides[op->root].dst, flags), NULL,
                              s->src, s->sizes, flags);
}

static void gather_allv_make(struct op *op)
{
    areas_make(op, op->bytes, op->units * op->bytes);
    sizes_make(op, of_second, of_second);
    for (int i = 0; i < op->w->options.ranks; i++) {
        size_t at = 0;
        for (int k = 0; k < op->w->options.ranks; k++) {
            memcpy(op->sides[i].want + at, op->sides[k].give, block(op, k, 0));
            at += block(op, k, 0);
        }
    }
}

static wdl_gas_handle gather_allv_start(struct side *s, struct wdl_gas_team *team, int flags)
{
    return wdl_gas_gather_allv_nb(team, s->dst, NULL, s->src, s->come, flags);
}

static void exchangev_make(struct op *op)
{
    areas_make(op, op->units * op->bytes, op->units * op->bytes);
    sizes_make(op, to_other, from_other);
    for (int i = 0; i < op->w->options.ranks; i++) {
        size_t at = 0;
        for (int k = 0; k < op->w->options.ranks; k++) {
            size_t from = 0;
            for (int before = 0; before < i; before++)
                from += block(op, k, before);
            memcpy(op->sides[i].want + at, op->sides[k].give + from, block(op, k, i));
            at += block(op, k, i);
        }
    }
}

static wdl_gas_handle exchangev_start(struct side *s, struct wdl_gas_team *team, int flags)
{
    return wdl_gas_exchangev_nb(team, s->dst, NULL, s->come, s->src, NULL, s->sizes, flags);
}

/* --- */

static void barrier_make(struct op *op)
{
    (void) op;
}

static wdl_gas_handle barrier_start(struct side *s, struct wdl_gas_team *team, int flags)
{
    (void) s;
    (void) flags;
    return wdl_gas_barrier_nb(team);
}

/* Nodes: 4096 where little is kept a node; 1024 where the engine keeps lists of all nodes on each
 * (put, get, permute), or what each passes on of all (exchange); 512 where each sends to each
 * (rings of blocks that vary, which sort has, too, and exchangev). Lies: put, get and sort pack,
 * and the others fold, what is in a node's memory into other memory at once; so it does not matter
 * to them if that is free too early. */
enum {
    LISTED = 1,
    SRC_KNOWN = LISTED | WDL_GAS_SRC_IN_SEGMENT,
    DST_KNOWN = LISTED | WDL_GAS_DST_IN_SEGMENT
};
enum { FEW = 512, SOME = 1024, ALL_NODES = 4096 };

const struct kind kinds[] = {
    {"barrier", 0, 0, 0, 0, ALL_NODES, 0, 0, 0, barrier_make, barrier_start},
    {"broadcast", 1, 1, 0, 0, ALL_NODES, 0, SRC_KNOWN, LIE_AHEAD, broadcast_make, broadcast_start},
    {"scatter", 1, 1, 0, 0, ALL_NODES, 1, SRC_KNOWN, LIE_AHEAD, scatter_make, scatter_start},
    {"gather", 1, 1, 0, 0, ALL_NODES, 2, DST_KNOWN, LIE_AHEAD, gather_make, gather_start},
    {"reduce", 1, 1, 0, 0, ALL_NODES, 0, 0, LIE_NOT_OWN, reduce_make, reduce_start},
    {"put", 1, 0, WDL_COLL_LOCAL, 0, SOME, 0, 0, LIE_NOT_OWN, put_make, put_start},
    {"get", 1, 0, WDL_COLL_LOCAL, 0, SOME, 0, 0, LIE_NOT_OWN, get_make, put_start},
    {"permute", 1, 1, 0, 0, SOME, 0, 0, LIE_KNOWN, permute_make, permute_start},
    {"scatterv", 1, 0, 0, 0, ALL_NODES, 1, 0, LIE_KNOWN, scatterv_make, scatterv_start},
    {"gatherv", 1, 0, 0, 0, ALL_NODES, 2, 0, LIE_KNOWN, gatherv_make, gatherv_start},
    {"reduce_all", 1, 1, 0, 0, ALL_NODES, 0, 0, LIE_NOT_OWN, reduce_all_make, reduce_start},
    {"scan", 1, 1, 0, WDL_COLL_EXCLUSIVE, ALL_NODES, 0, 0, LIE_NOT_OWN, scan_make, scan_start},
    {"gather_all", 1, 1, 0, 0, ALL_NODES, 0, LISTED, LIE_AHEAD, gather_all_make, gather_all_start},
    {"exchange", 1, 1, 0, 0, SOME, 0, LISTED, LIE_AHEAD, exchange_make, exchange_start},
    {"gather_allv", 1, 0, 0, 0, FEW, 0, 0, LIE_KNOWN, gather_allv_make, gather_allv_start},
    {"exchangev", 1, 0, 0, 0, FEW, 0, 0, LIE_KNOWN, exchangev_make, exchangev_start},
    {"sort", 1, 1, 0, 0, FEW, 0, 0, LIE_NOT_OWN, sort_make, sort_start},
};
const int kind_count = sizeof(kinds) / sizeof(kinds[0]);
