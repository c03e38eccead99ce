/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Gather: up a binomial tree, each rank sending its subtree's blocks as one message that flows
 * while it fills; or straight to the root, which asks a few ranks at a time when the blocks are
 * large.
 */
#include "mpid/coll/algo.h"

enum { ASKED = 8 }; /* ranks that send to the root at a time */

/* Blocks of the places [place, place + ranks) in the root's buffer: at most two runs. A run
 * begins at its rank's block. */
static int tree_recv_root(struct wdl_build *b, const struct wdl_tree *tree, int i)
{
    int child = wdl_tree_child(tree, i, b->rank, b->size), ranks = wdl_tree_child_ranks(tree, i);
    size_t m = b->args->bytes, head = (size_t) (b->size - child) * m, all = (size_t) ranks * m;
    if (all <= head)
        return wdl_edge_recv(b, WDL_PHASE_DATA, child, 1 + i, 0, wdl_dst((size_t) child * m), all);
    size_t tmp = wdl_build_tmp(b, all);
    int recv = wdl_edge_recv(b, WDL_PHASE_DATA, child, 1 + i, 0, wdl_tmp(tmp), all);
    wdl_build_stream(b, recv, 0, wdl_build_copy(b, wdl_dst((size_t) child * m), wdl_tmp(tmp), head),
                     0, head);
    wdl_build_stream(b, recv, head, wdl_build_copy(b, wdl_dst(0), wdl_tmp(tmp + head), all - head),
                     0, all - head);
    return recv;
}

void wdl_gather_tree(struct wdl_build *b)
{
    int root = b->args->root;
    size_t m = b->args->bytes;
    struct wdl_tree tree;
    wdl_tree_init(&tree, b->rank, root, b->size);
    if (tree.parent < 0) {
        for (int i = 0; i < tree.nchild; i++)
            (void) tree_recv_root(b, &tree, i);
        wdl_build_copy(b, wdl_dst((size_t) root * m), wdl_src(0), m);
        return;
    }
    if (tree.nchild == 0) {
        wdl_edge_send(b, WDL_PHASE_DATA, tree.parent, tree.parent_link, 0, wdl_src(0), m);
        return;
    }
    size_t all = (size_t) tree.ranks * m, tmp = wdl_build_tmp(b, all);
    int send =
        wdl_edge_send(b, WDL_PHASE_DATA, tree.parent, tree.parent_link, 0, wdl_tmp(tmp), all);
    int own = wdl_build_copy(b, wdl_tmp(tmp), wdl_src(0), m);
    wdl_build_stream(b, own, 0, send, 0, m);
    if (all == 0)
        wdl_build_order(b, own, send);
    for (int i = 0; i < tree.nchild; i++) {
        size_t at = m << i, bytes = (size_t) wdl_tree_child_ranks(&tree, i) * m;
        int recv = wdl_edge_recv(b, WDL_PHASE_DATA, wdl_tree_child(&tree, i, root, b->size), 1 + i,
                                 0, wdl_tmp(tmp + at), bytes);
        wdl_build_stream(b, recv, 0, send, at, bytes);
        if (all == 0)
            wdl_build_order(b, recv, send);
    }
}

static void direct_root(struct wdl_build *b)
{
    const struct wdl_coll_args *args = b->args;
    int few = b->size < b->team->links, recvs[ASKED];
    for (int i = 1; i < b->size; i++) {
        int rank = (b->rank + i) % b->size, ready = WDL_CAR_NONE, *recv = &recvs[i % ASKED];
        size_t bytes = wdl_block_bytes(args, &args->dst_blocks, rank);
        struct wdl_loc to = wdl_dst(wdl_block_at(args, &args->dst_blocks, rank));
        int asked = !b->armed && (!few || bytes > b->team->params.cell_bytes);
        if (args->variable && bytes == 0) {
            *recv = WDL_CAR_NONE;
            continue;
        }
        if (asked) {
            ready = wdl_build_send(b, rank, wdl_role(b, WDL_PHASE_READY, 0), wdl_nowhere(), 0);
            if (i > ASKED)
                wdl_build_order(b, *recv, ready);
        }
        *recv = wdl_build_recv(b, rank, few ? wdl_role(b, WDL_PHASE_DATA, i) : wdl_role_bare(b, i),
                               to, bytes);
    }
    wdl_build_copy(b, wdl_dst(wdl_block_at(args, &args->dst_blocks, b->rank)), wdl_src(0),
                   wdl_block_bytes(args, &args->dst_blocks, b->rank));
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
    if (!b->armed && (!few || args->bytes > b->team->params.cell_bytes))
        wdl_build_order(
            b, wdl_build_recv(b, args->root, wdl_role(b, WDL_PHASE_READY, 0), wdl_nowhere(), 0),
            send);
}
