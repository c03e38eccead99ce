/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Reduce: up a tree whose subtrees are runs of consecutive ranks, folded in a fixed order, each
 * child at the end of what its parent has already: the same result in every run, and right for
 * operators that do not commute, for which the runs do not wrap.
 */
#include "mpid/coll/algo.h"

/* What a rank has folded so far: the CAR and where it puts it. */
struct part {
    int car;
    struct wdl_loc at;
};

/* Fold what came from a child, above our own run of ranks or below it. */
static void part_fold(struct wdl_build *b, struct part *part, int recv, struct wdl_loc come,
                      int above)
{
    size_t m = b->args->bytes;
    if (!above && part->at.buf == WDL_BUF_SRC) { /* the result may not go into the source */
        struct wdl_loc own = wdl_tmp(wdl_build_tmp(b, m));
        part->car = wdl_build_copy(b, own, part->at, m);
        part->at = own;
    }
    struct wdl_loc left = above ? part->at : come, inout = above ? come : part->at;
    int reduce = wdl_build_reduce(b, left, inout, m);
    wdl_build_stream(b, recv, 0, reduce, 0, m);
    wdl_build_stream(b, part->car, 0, reduce, 0, m);
    *part = (struct part){reduce, inout};
}

void wdl_reduce_tree(struct wdl_build *b)
{
    const struct wdl_coll_args *args = b->args;
    size_t m = args->bytes;
    struct wdl_place place;
    struct part part = {WDL_CAR_NONE, b->from};
    int ordered = !args->op.commutes, next;
    wdl_place_find(b, b->root, b->rank, ordered, &place);
    for (int i = place.node.children - 1; i >= 0; i--) {
        const struct wdl_tree_child *child = &place.child[i];
        struct wdl_loc come = wdl_tmp(wdl_build_tmp(b, m));
        int recv = wdl_edge_recv(b, WDL_PHASE_DATA, child->rank, 1 + i, 0, come, m);
        part_fold(b, &part, recv, come, !ordered || child->first > b->rank);
    }
    if (place.node.parent >= 0)
        next =
            wdl_edge_send(b, WDL_PHASE_DATA, place.node.parent, 1 + place.node.link, 0, part.at, m);
    else
        next = wdl_build_copy(b, b->to, part.at, m);
    wdl_build_stream(b, part.car, 0, next, 0, m);
}
