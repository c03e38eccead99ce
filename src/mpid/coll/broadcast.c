/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Broadcast: down a tree, each rank passing on what has come so far; for more data, in blocks on a
 * circulant graph, all of whose ranks send and receive a block in every round (pattern.h), so that
 * little more than the data passes a port; or a scatter of the parts down the tree, and a ring that
 * gathers them.
 */
#include "mpid/coll/algo.h"
#include "mpid/coll/cost.h"
#include "mpid/coll/pattern.h"

/* The root's own copy of the data. */
static void own_copy(struct wdl_build *b)
{
    wdl_build_copy(b, b->to, b->from, b->args->bytes);
}

void wdl_broadcast_tree(struct wdl_build *b)
{
    size_t bytes = b->args->bytes;
    int root = b->root, recv = WDL_CAR_NONE, is_root = b->rank == root;
    struct wdl_place place;
    wdl_place_find(b, root, b->rank, 0, &place);
    if (!is_root)
        recv = wdl_edge_recv(b, WDL_PHASE_DATA, place.node.parent, 0, 1 + place.node.link, b->to,
                             bytes);
    for (int i = 0; i < place.node.children; i++) {
        int send = wdl_edge_send(b, WDL_PHASE_DATA, place.child[i].rank, 0, 1 + i,
                                 is_root ? b->from : b->to, bytes);
        wdl_build_stream(b, recv, 0, send, 0, bytes);
    }
    if (is_root)
        own_copy(b);
}

/* Part of the data that starts at place `place`: parts differ by at most one byte. */
static size_t part_at(const struct wdl_build *b, int place)
{
    size_t each = b->args->bytes / (size_t) b->size, more = b->args->bytes % (size_t) b->size;
    return each * (size_t) place + ((size_t) place < more ? (size_t) place : more);
}

/* Distance from the root, and from one subtree's head. */
static int away(const struct wdl_build *b, int rank)
{
    return wdl_ring_distance(b, b->root, rank);
}

static int owns(const struct wdl_build *b, const struct wdl_tree_node *node, int part)
{
    return (part - away(b, node->rank) + b->size) % b->size < node->size;
}

/* Down the tree: this rank's subtree's parts, its own first, come to `own`; returns what brings
 * them. */
static int scatter(struct wdl_build *b, const struct wdl_place *place, struct wdl_loc own)
{
    b->in_order = 1; /* what is behind the scatter can wait for it */
    int recv = WDL_CAR_NONE, i = away(b, b->rank);
    size_t lo = part_at(b, i), all = part_at(b, i + place->node.size) - lo;
    if (place->node.parent >= 0)
        recv = wdl_edge_recv(b, WDL_PHASE_DATA, place->node.parent, 0, 1 + place->node.link, own,
                             all);
    for (int c = 0; c < place->node.children; c++) {
        const struct wdl_tree_child *child = &place->child[c];
        int first = away(b, child->rank);
        size_t at = part_at(b, first) - lo, bytes = part_at(b, first + child->size) - lo - at;
        int send = wdl_edge_send(b, WDL_PHASE_DATA, child->rank, 0, 1 + c, wdl_loc_at(own, at),
                                 bytes);
        wdl_build_stream(b, recv, at, send, 0, bytes);
    }
    return recv;
}

/* The ring: in step j this rank, i parts from the root, sends part i - j to the right, unless the
 * scatter has brought it there already, and gets part i - j - 1 from the left. `recv` is the
 * scatter's, of the bytes from `lo` on. */
static void ring(struct wdl_build *b, const struct wdl_tree_node *node, int recv, size_t lo)
{
    int size = b->size, right = (b->rank + 1) % size, left = (b->rank - 1 + size) % size;
    int go = WDL_CAR_NONE, before = WDL_CAR_NONE, i = away(b, b->rank);
    struct wdl_place next;
    wdl_place_find(b, b->root, right, 0, &next);
    int asked = wdl_ready_wanted_bare(b, b->args->bytes);
    if (asked && node->size < size)
        wdl_ready_send(b, left, wdl_role(b, WDL_PHASE_READY2, 0), b->to, b->args->bytes);
    if (asked && next.node.size < size)
        go = wdl_ready_recv(b, right, wdl_role(b, WDL_PHASE_READY2, 0));
    for (int j = 0; j < size - 1; j++) {
        int out = (i - j + size) % size, in = (i - j - 1 + size) % size;
        if (!owns(b, &next.node, out)) {
            size_t at = part_at(b, out), bytes = part_at(b, out + 1) - at;
            int send = wdl_build_send(b, right, wdl_role_bare(b, j),
                                      wdl_loc_at(i ? b->to : b->from, at), bytes);
            wdl_ready_for(b, go, send, at);
            if (owns(b, node, out))
                wdl_build_stream(b, recv, at - lo, send, 0, bytes);
            else
                wdl_build_stream(b, before, 0, send, 0, bytes);
        }
        if (!owns(b, node, in)) {
            size_t at = part_at(b, in), bytes = part_at(b, in + 1) - at;
            before =
                wdl_build_recv(b, left, wdl_role_bare(b, j), wdl_loc_at(b->to, at), bytes);
        }
    }
}

void wdl_broadcast_scatter_ring(struct wdl_build *b)
{
    int is_root = b->rank == b->root;
    size_t lo = part_at(b, away(b, b->rank));
    struct wdl_place place;
    wdl_place_find(b, b->root, b->rank, 0, &place);
    int recv = scatter(b, &place, is_root ? b->from : wdl_loc_at(b->to, lo));
    ring(b, &place.node, recv, lo);
    if (is_root)
        own_copy(b);
}

/* --- in blocks, on a circulant graph ---------------------------------------------------------- */

struct circulant {
    struct wdl_pattern_circulant pattern;
    int blocks, size; /* size: the graph's */
    int go[WDL_PATTERN_CIRCULANT_MAX]; /* by kind: that the rank above may be sent to */
    int recv[WDL_CIRCULANT_BLOCKS_MAX]; /* by block */
};

static size_t block_at(const struct wdl_build *b, const struct circulant *c, int block)
{
    size_t n = (size_t) c->blocks, at = (size_t) block, bytes = b->args->bytes;
    return bytes / n * at + bytes % n * at / n;
}

/* The rank so far above; -1: it is the root, or the graph's alone. */
static int above(const struct wdl_build *b, const struct circulant *c, int skip)
{
    int place = (int) (((int64_t) away(b, b->rank) + skip) % c->size);
    return place == 0 || place >= b->size ? -1 : (b->root + place) % b->size;
}

/* A step of this rank: the block it sends to, or gets from, the rank of that kind; -1: none. */
struct circulant_step {
    int kind, out, to, in, from;
};

static struct circulant_step step(const struct wdl_build *b, const struct circulant *c, int i)
{
    const struct wdl_pattern_circulant *p = &c->pattern;
    int kind = wdl_pattern_circulant_kind(p, c->blocks, i);
    struct circulant_step s = {.kind = kind, .out = -1, .in = -1, .from = -1};
    s.to = above(b, c, p->skip[kind]);
    if (s.to >= 0)
        s.out = wdl_pattern_circulant_block(p, p->send, c->blocks, i);
    if (b->rank != b->root)
        s.in = wdl_pattern_circulant_block(p, p->recv, c->blocks, i);
    if (s.in >= 0) /* one block comes from a rank below, others from all sides */
        s.from = (b->rank - p->skip[kind] + b->size) % b->size;
    return s;
}

/* Who sends to us may, kind by kind in the order of the steps; and who we send to says so. */
static void ready(struct wdl_build *b, struct circulant *c)
{
    int rounds = c->pattern.rounds, steps = c->blocks - 1 + rounds;
    for (int k = 0; k < rounds; k++) {
        struct circulant_step s = {.in = -1, .out = -1};
        for (int i = k; i < steps && s.in < 0; i += rounds)
            s = step(b, c, i);
        if (s.in >= 0)
            wdl_ready_send(b, s.from, wdl_role(b, WDL_PHASE_READY, s.kind), b->to, b->args->bytes);
    }
    for (int k = 0; k < rounds; k++) {
        struct circulant_step s = {.in = -1, .out = -1};
        for (int i = k; i < steps && s.out < 0; i += rounds)
            s = step(b, c, i);
        if (s.out >= 0)
            c->go[s.kind] = wdl_ready_recv(b, s.to, wdl_role(b, WDL_PHASE_READY, s.kind));
    }
}

static void step_build(struct wdl_build *b, struct circulant *c, const struct circulant_step *s)
{
    int is_root = b->rank == b->root;
    if (s->out >= 0) {
        size_t at = block_at(b, c, s->out), bytes = block_at(b, c, s->out + 1) - at;
        struct wdl_loc from = wdl_loc_at(is_root ? b->from : b->to, at);
        int send = wdl_build_send(b, s->to, wdl_role_bare(b, s->out), from, bytes);
        wdl_ready_for(b, c->go[s->kind], send, at);
        if (!is_root)
            wdl_build_stream(b, c->recv[s->out], 0, send, 0, bytes);
    }
    if (s->in >= 0) {
        size_t at = block_at(b, c, s->in), bytes = block_at(b, c, s->in + 1) - at;
        c->recv[s->in] = wdl_build_recv(b, s->from, wdl_role_bare(b, s->in),
                                        wdl_loc_at(b->to, at), bytes);
    }
}

void wdl_broadcast_circulant(struct wdl_build *b)
{
    struct wdl_cost cost = wdl_cost_of_build(b);
    struct circulant c = {.blocks = wdl_cost_circulant_blocks(&cost)};
    c.size = c.blocks > 1 ? b->size : b->span->one_size;
    wdl_pattern_circulant(c.size, away(b, b->rank), &c.pattern);
    b->in_order = 1;
    for (int k = 0; k < c.pattern.rounds; k++)
        c.go[k] = WDL_CAR_NONE;
    if (wdl_ready_wanted_bare(b, b->args->bytes))
        ready(b, &c);
    for (int i = 0; i < c.blocks - 1 + c.pattern.rounds; i++) {
        struct circulant_step s = step(b, &c, i);
        step_build(b, &c, &s);
    }
    if (b->rank == b->root)
        own_copy(b);
}
