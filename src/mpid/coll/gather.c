/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Gather: up a tree, each rank sending its subtree's blocks as one message that flows
 * while it fills; or straight to the root, which asks when the blocks are large.
 */
#include "mpid/coll/algo.h"

/* A child's blocks go into the root's buffer: one run of ranks, or two where it wraps. */
static void tree_recv_root(struct wdl_build *b, const struct wdl_place *place, int i)
{
    const struct wdl_tree_child *child = &place->child[i];
    size_t m = b->args->bytes, all = (size_t) child->size * m;
    size_t head = (size_t) (b->size - child->rank) * m;
    struct wdl_loc to = wdl_dst((size_t) child->rank * m);
    if (all <= head) {
        wdl_edge_recv(b, WDL_PHASE_DATA, child->rank, 1 + i, 0, to, all);
        return;
    }
    size_t tmp = wdl_build_tmp(b, all);
    int recv = wdl_edge_recv(b, WDL_PHASE_DATA, child->rank, 1 + i, 0, wdl_tmp(tmp), all);
    int one = wdl_build_copy(b, to, wdl_tmp(tmp), head);
    int two = wdl_build_copy(b, wdl_dst(0), wdl_tmp(tmp + head), all - head);
    wdl_build_stream(b, recv, 0, one, 0, head);
    wdl_build_stream(b, recv, head, two, 0, all - head);
}

void wdl_gather_tree(struct wdl_build *b)
{
    int root = b->args->root;
    size_t m = b->args->bytes;
    struct wdl_place place;
    wdl_place_find(b, root, b->rank, 0, &place);
    int parent = place.node.parent, link = 1 + place.node.link;
    if (parent < 0) {
        for (int i = 0; i < place.node.children; i++)
            tree_recv_root(b, &place, i);
        wdl_build_copy(b, wdl_dst((size_t) root * m), wdl_src(0), m);
        return;
    }
    if (place.node.children == 0) {
        wdl_edge_send(b, WDL_PHASE_DATA, parent, link, 0, wdl_src(0), m);
        return;
    }
    size_t all = (size_t) place.node.size * m, tmp = wdl_build_tmp(b, all);
    int send = wdl_edge_send(b, WDL_PHASE_DATA, parent, link, 0, wdl_tmp(tmp), all);
    wdl_build_stream(b, wdl_build_copy(b, wdl_tmp(tmp), wdl_src(0), m), 0, send, 0, m);
    for (int i = 0; i < place.node.children; i++) {
        const struct wdl_tree_child *child = &place.child[i];
        size_t at = (size_t) wdl_ring_distance(b, b->rank, child->rank) * m;
        size_t bytes = (size_t) child->size * m;
        int recv =
            wdl_edge_recv(b, WDL_PHASE_DATA, child->rank, 1 + i, 0, wdl_tmp(tmp + at), bytes);
        wdl_build_stream(b, recv, 0, send, at, bytes);
    }
}

static void direct_root(struct wdl_build *b)
{
    const struct wdl_coll_args *args = b->args;
    int few = b->size < b->team->links;
    for (int i = 1; i < b->size; i++) {
        int rank = (b->rank + i) % b->size;
        size_t bytes = wdl_block_bytes(args, &args->dst_blocks, rank);
        struct wdl_loc to = wdl_dst(wdl_block_at(args, &args->dst_blocks, rank));
        if (args->variable && bytes == 0)
            continue;
        if (few ? wdl_ready_wanted(b, bytes) : wdl_ready_wanted_bare(b, bytes))
            wdl_ready_send(b, rank, wdl_role(b, WDL_PHASE_READY, 0), to, bytes);
        wdl_build_recv(b, rank, few ? wdl_role(b, WDL_PHASE_DATA, i) : wdl_role_bare(b, i), to,
                       bytes);
    }
    wdl_build_own(b, wdl_dst(wdl_block_at(args, &args->dst_blocks, b->rank)),
                  wdl_block_bytes(args, &args->dst_blocks, b->rank), wdl_src(0), args->bytes);
}

void wdl_gather_direct(struct wdl_build *b)
{
    const struct wdl_coll_args *args = b->args;
    int few = b->size < b->team->links, i = (b->rank - args->root + b->size) % b->size;
    if (i == 0) {
        direct_root(b);
        return;
    }
    if (args->variable && args->bytes == 0)
        return;
    int send =
        wdl_build_send(b, args->root, few ? wdl_role(b, WDL_PHASE_DATA, i) : wdl_role_bare(b, i),
                       wdl_src(0), args->bytes);
    if (few ? wdl_ready_wanted(b, args->bytes) : wdl_ready_wanted_bare(b, args->bytes))
        wdl_ready_for(b, wdl_ready_recv(b, args->root, wdl_role(b, WDL_PHASE_READY, 0)), send, 0);
}
