/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Scatter: down a tree, each rank passing on its children's blocks as they come; or
 * straight from the root.
 */
#include "mpid/coll/algo.h"

enum { SENDING = 8 }; /* ranks that have not asked, to which the root sends at a time */

static void tree_root(struct wdl_build *b, const struct wdl_place *place)
{
    size_t m = b->args->bytes;
    for (int i = 0; i < place->node.children; i++) {
        const struct wdl_tree_child *child = &place->child[i];
        size_t all = (size_t) child->size * m, head = (size_t) (b->size - child->rank) * m;
        struct wdl_loc from = wdl_src((size_t) child->rank * m);
        if (all <= head) {
            wdl_edge_send(b, WDL_PHASE_DATA, child->rank, 0, 1 + i, from, all);
            continue;
        }
        size_t tmp = wdl_build_tmp(b, all);
        int one = wdl_build_copy(b, wdl_tmp(tmp), from, head);
        int two = wdl_build_copy(b, wdl_tmp(tmp + head), wdl_src(0), all - head);
        int send = wdl_edge_send(b, WDL_PHASE_DATA, child->rank, 0, 1 + i, wdl_tmp(tmp), all);
        wdl_build_stream(b, one, 0, send, 0, head);
        wdl_build_stream(b, two, 0, send, head, all - head);
    }
    wdl_build_copy(b, wdl_dst(0), wdl_src((size_t) b->rank * m), m);
}

void wdl_scatter_tree(struct wdl_build *b)
{
    size_t m = b->args->bytes;
    struct wdl_place place;
    wdl_place_find(b, b->args->root, b->rank, 0, &place);
    int parent = place.node.parent, link = 1 + place.node.link;
    if (parent < 0) {
        tree_root(b, &place);
        return;
    }
    if (place.node.children == 0) {
        wdl_edge_recv(b, WDL_PHASE_DATA, parent, 0, link, wdl_dst(0), m);
        return;
    }
    size_t all = (size_t) place.node.size * m, tmp = wdl_build_tmp(b, all);
    int recv = wdl_edge_recv(b, WDL_PHASE_DATA, parent, 0, link, wdl_tmp(tmp), all);
    for (int i = 0; i < place.node.children; i++) {
        const struct wdl_tree_child *child = &place.child[i];
        size_t at = (size_t) wdl_ring_distance(b, b->rank, child->rank) * m;
        size_t bytes = (size_t) child->size * m;
        int send =
            wdl_edge_send(b, WDL_PHASE_DATA, child->rank, 0, 1 + i, wdl_tmp(tmp + at), bytes);
        wdl_build_stream(b, recv, at, send, 0, bytes);
    }
    wdl_build_stream(b, recv, 0, wdl_build_copy(b, wdl_dst(0), wdl_tmp(tmp), m), 0, m);
}

/* The root has a ready flag from each other rank: in a link of its own where there are as many. */
static uint32_t direct_ready(const struct wdl_build *b, int d)
{
    return wdl_role_ready(b, WDL_PHASE_READY, d, d);
}

void wdl_scatter_direct(struct wdl_build *b)
{
    const struct wdl_coll_args *args = b->args;
    int root = args->root, sends[SENDING];
    if (b->rank != root) {
        int i = (b->rank - root + b->size) % b->size;
        if (args->variable && args->bytes == 0)
            return;
        if (wdl_ready_wanted(b, args->bytes))
            wdl_ready_send(b, root, direct_ready(b, i), wdl_dst(0), args->bytes);
        wdl_build_recv(b, root, wdl_role(b, WDL_PHASE_DATA, 0), wdl_dst(0), args->bytes);
        return;
    }
    for (int i = 0; i < SENDING; i++)
        sends[i] = WDL_CAR_NONE;
    for (int i = 1; i < b->size; i++) {
        int rank = (root + i) % b->size, *lane = &sends[i % SENDING];
        size_t bytes = wdl_block_bytes(args, &args->src_blocks, rank);
        if (args->variable && bytes == 0)
            continue;
        int send = wdl_build_send(b, rank, wdl_role(b, WDL_PHASE_DATA, 0),
                                  wdl_src(wdl_block_at(args, &args->src_blocks, rank)), bytes);
        if (wdl_ready_wanted(b, bytes)) { /* waits for its rank alone */
            wdl_ready_for(b, wdl_ready_recv(b, rank, direct_ready(b, i)), send, 0);
            continue;
        }
        wdl_build_order(b, *lane, send);
        *lane = send;
    }
    wdl_build_own(b, wdl_dst(0), args->bytes, wdl_src(wdl_block_at(args, &args->src_blocks, root)),
                  wdl_block_bytes(args, &args->src_blocks, root));
}
