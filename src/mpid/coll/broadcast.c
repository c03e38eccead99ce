/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Broadcast: down a tree, each rank passing on what has come so far; or, for much data, a scatter
 * of the parts down the tree and a ring that gathers them, so that nobody sends more than twice
 * the data.
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
    int root = b->root, recv = WDL_CAR_NONE, is_root = b->rank == root;
    struct wdl_place place;
    wdl_place_find(b, root, b->rank, 0, &place);
    int i = away(b, b->rank);
    size_t lo = part_at(b, i), hi = part_at(b, i + place.node.size);
    if (!is_root)
        recv = wdl_edge_recv(b, WDL_PHASE_DATA, place.node.parent, 0, 1 + place.node.link,
                             wdl_loc_at(b->to, lo), hi - lo);
    for (int c = 0; c < place.node.children; c++) {
        const struct wdl_tree_child *child = &place.child[c];
        int first = away(b, child->rank);
        size_t at = part_at(b, first), bytes = part_at(b, first + child->size) - at;
        int send = wdl_edge_send(b, WDL_PHASE_DATA, child->rank, 0, 1 + c,
                                 wdl_loc_at(is_root ? b->from : b->to, at), bytes);
        wdl_build_stream(b, recv, at - lo, send, 0, bytes);
    }
    ring(b, &place.node, recv, lo);
    if (is_root)
        own_copy(b);
}
