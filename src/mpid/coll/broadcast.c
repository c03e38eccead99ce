/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Broadcast: down a tree, each rank passing on what has come so far; or, for much data, a scatter
 * of the parts down the tree, and what gathers them, so that nobody sends more than twice the data:
 * a ring, or, where ranks are many, rounds round a circle.
 */
#include "mpid/coll/algo.h"

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

/* --- round a circle: part_at() places lie in own memory from the own part on ------------------ */

static size_t turned_at(const struct wdl_build *b, int parts)
{
    int place = away(b, b->rank) + parts;
    size_t round = place >= b->size ? b->args->bytes : 0;
    return round + part_at(b, place % b->size) - part_at(b, away(b, b->rank));
}

static int node_size(const struct wdl_build *b, int rank)
{
    struct wdl_place place;
    wdl_place_find(b, b->root, rank, 0, &place);
    return place.node.size;
}

/* What is in own memory, from place to place, and the RECVs it comes by. */
struct held {
    struct wdl_loc own;
    int count, by[32];
    size_t end[32];
};

static void held_add(struct held *held, int recv, size_t end)
{
    held->by[held->count] = recv;
    held->end[held->count++] = end;
}

static void held_send(struct wdl_build *b, const struct held *held, int send, size_t lo, size_t hi)
{
    size_t first = 0;
    for (int i = 0; i < held->count; first = held->end[i++]) {
        size_t at = lo > first ? lo : first, end = hi < held->end[i] ? hi : held->end[i];
        if (at < end)
            wdl_build_stream(b, held->by[i], at - first, send, at - lo, end - at);
    }
}

/* Each has `have` parts, and gets as many more, or what is left, but for those the scatter brings:
 * of a subtree of `size` ranks. */
static void join(struct wdl_build *b, int size, int k, struct held *held)
{
    int have = wdl_circle_parts(b->size, k + 1), all = wdl_circle_parts(b->size, k);
    int down = (b->rank - have + b->size) % b->size, up = (b->rank + have) % b->size;
    int theirs = node_size(b, down);
    int from = theirs > have ? theirs : have, at = size > have ? size : have;
    if (from < all) {
        size_t lo = turned_at(b, from - have), hi = turned_at(b, all - have);
        int send =
            wdl_edge_send(b, WDL_PHASE_DATA2, down, k, k, wdl_loc_at(held->own, lo), hi - lo);
        held_send(b, held, send, lo, hi);
    }
    if (at < all) {
        size_t lo = turned_at(b, at), hi = turned_at(b, all);
        struct wdl_loc to = wdl_loc_at(held->own, lo);
        held_add(held, wdl_edge_recv(b, WDL_PHASE_DATA2, up, k, k, to, hi - lo), hi);
    }
}

void wdl_broadcast_scatter_circle(struct wdl_build *b)
{
    size_t m = b->args->bytes, lo = part_at(b, away(b, b->rank));
    struct held held = {.own = b->from};
    struct wdl_place place;
    wdl_place_find(b, b->root, b->rank, 0, &place);
    if (b->rank != b->root)
        held.own = wdl_tmp(wdl_build_tmp(b, m));
    int recv = scatter(b, &place, held.own);
    held_add(&held, recv, turned_at(b, place.node.size));
    for (int k = wdl_log2_up(b->size) - 1; k >= 0; k--)
        join(b, place.node.size, k, &held);
    if (b->rank == b->root) {
        own_copy(b);
        return;
    }
    held_send(b, &held, wdl_build_copy(b, wdl_loc_at(b->to, lo), held.own, m - lo), 0, m - lo);
    if (lo)
        held_send(b, &held, wdl_build_copy(b, b->to, wdl_loc_at(held.own, m - lo), lo), m - lo, m);
}
