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
    wdl_build_copy(b, wdl_dst(0), wdl_src(0), b->args->bytes);
}

void wdl_broadcast_tree(struct wdl_build *b)
{
    size_t bytes = b->args->bytes;
    int root = b->args->root, recv = WDL_CAR_NONE;
    struct wdl_tree tree;
    wdl_tree_init(&tree, b->rank, root, b->size);
    if (tree.parent >= 0)
        recv =
            wdl_edge_recv(b, WDL_PHASE_DATA, tree.parent, 0, tree.parent_link, wdl_dst(0), bytes);
    for (int i = tree.nchild - 1; i >= 0; i--) {
        int child = wdl_tree_child(&tree, i, root, b->size);
        int send = wdl_edge_send(b, WDL_PHASE_DATA, child, 0, 1 + i,
                                 recv == WDL_CAR_NONE ? wdl_src(0) : wdl_dst(0), bytes);
        if (bytes)
            wdl_build_stream(b, recv, 0, send, 0, bytes);
        else
            wdl_build_order(b, recv, send);
    }
    if (tree.parent < 0)
        own_copy(b);
}

/* Part of the data that starts at place `place`: parts differ by at most one byte. */
static size_t part_at(const struct wdl_build *b, int place)
{
    size_t each = b->args->bytes / (size_t) b->size, more = b->args->bytes % (size_t) b->size;
    return each * (size_t) place + ((size_t) place < more ? (size_t) place : more);
}

static int owns(const struct wdl_build *b, const struct wdl_tree *tree, int place)
{
    return (place - tree->place + b->size) % b->size < tree->ranks;
}

/* The ring: in step j this place sends part place - j to the right, unless the scatter has brought
 * it there already, and gets part place - j - 1 from the left. `recv` is the scatter's, of the
 * bytes from `lo` on. */
static void ring(struct wdl_build *b, const struct wdl_tree *tree, int recv, size_t lo)
{
    int size = b->size, right = (b->rank + 1) % size, left = (b->rank - 1 + size) % size;
    int go = WDL_CAR_NONE, before = WDL_CAR_NONE;
    struct wdl_tree next;
    wdl_tree_init(&next, right, b->args->root, size);
    if (!b->armed && tree->ranks < size)
        wdl_build_send(b, left, wdl_role(b, WDL_PHASE_READY2, 0), wdl_nowhere(), 0);
    if (!b->armed && next.ranks < size)
        go = wdl_build_recv(b, right, wdl_role(b, WDL_PHASE_READY2, 0), wdl_nowhere(), 0);
    for (int j = 0; j < size - 1; j++) {
        int out = (tree->place - j + size) % size, in = (tree->place - j - 1 + size) % size;
        if (!owns(b, &next, out)) {
            size_t at = part_at(b, out), bytes = part_at(b, out + 1) - at;
            int send = wdl_build_send(b, right, wdl_role_bare(b, j),
                                      tree->parent < 0 ? wdl_src(at) : wdl_dst(at), bytes);
            wdl_build_order(b, go, send);
            if (owns(b, tree, out))
                wdl_build_stream(b, recv, at - lo, send, 0, bytes);
            else
                wdl_build_stream(b, before, 0, send, 0, bytes);
        }
        if (!owns(b, tree, in)) {
            size_t at = part_at(b, in), bytes = part_at(b, in + 1) - at;
            before = wdl_build_recv(b, left, wdl_role_bare(b, j), wdl_dst(at), bytes);
        }
    }
}

void wdl_broadcast_scatter_ring(struct wdl_build *b)
{
    int root = b->args->root, recv = WDL_CAR_NONE;
    struct wdl_tree tree;
    wdl_tree_init(&tree, b->rank, root, b->size);
    size_t lo = part_at(b, tree.place), hi = part_at(b, tree.place + tree.ranks);
    if (tree.parent >= 0)
        recv = wdl_edge_recv(b, WDL_PHASE_DATA, tree.parent, 0, tree.parent_link, wdl_dst(lo),
                             hi - lo);
    for (int i = tree.nchild - 1; i >= 0; i--) {
        int first = tree.place + (1 << i);
        size_t at = part_at(b, first), end = part_at(b, first + wdl_tree_child_ranks(&tree, i));
        int send = wdl_edge_send(b, WDL_PHASE_DATA, wdl_tree_child(&tree, i, root, b->size), 0,
                                 1 + i, tree.parent < 0 ? wdl_src(at) : wdl_dst(at), end - at);
        wdl_build_stream(b, recv, at - lo, send, 0, end - at);
    }
    ring(b, &tree, recv, lo);
    if (tree.parent < 0)
        own_copy(b);
}
