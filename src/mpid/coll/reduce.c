/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Reduce: up a binomial tree whose subtrees are runs of consecutive ranks, folded from the left in
 * a fixed order: the same result in every run, and right for operators that do not commute. For
 * those, another root than 0 gets the result in one more message, since the tree must begin at
 * rank 0.
 */
#include "mpid/coll/algo.h"

void wdl_reduce_tree(struct wdl_build *b)
{
    const struct wdl_coll_args *args = b->args;
    size_t m = args->bytes;
    int top = args->op.commutes ? args->root : 0, done = WDL_CAR_NONE;
    struct wdl_tree tree;
    struct wdl_loc sum = wdl_src(0);
    wdl_tree_init(&tree, b->rank, top, b->size);
    for (int i = 0; i < tree.nchild; i++) {
        struct wdl_loc come = wdl_tmp(wdl_build_tmp(b, m));
        int recv = wdl_edge_recv(b, WDL_PHASE_DATA, wdl_tree_child(&tree, i, top, b->size), 1 + i,
                                 0, come, m);
        int reduce = wdl_build_reduce(b, sum, come, m);
        wdl_build_stream(b, recv, 0, reduce, 0, m);
        wdl_build_stream(b, done, 0, reduce, 0, m);
        if (m == 0)
            wdl_build_order(b, recv, reduce);
        sum = come;
        done = reduce;
    }
    int next;
    if (tree.parent >= 0)
        next = wdl_edge_send(b, WDL_PHASE_DATA, tree.parent, tree.parent_link, 0, sum, m);
    else if (b->rank == args->root)
        next = wdl_build_copy(b, wdl_dst(0), sum, m);
    else
        next = wdl_edge_send(b, WDL_PHASE_DATA2, args->root, 0, 0, sum, m);
    wdl_build_stream(b, done, 0, next, 0, m);
    if (m == 0)
        wdl_build_order(b, done, next);
    if (b->rank == args->root && tree.parent >= 0 && top != args->root)
        wdl_edge_recv(b, WDL_PHASE_DATA2, top, 0, 0, wdl_dst(0), m);
}
