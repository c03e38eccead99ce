/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Reduce: up a tree whose subtrees are runs of consecutive ranks, folded in a fixed order, each
 * child at the end of what its parent has already: the same result in every run, and right for
 * operators that do not commute, for which the runs do not wrap. Of more data, if they do commute,
 * in blocks on a circulant graph: a broadcast's steps, backwards.
 */
#include "mpid/coll/circulant.h"

/* What a rank has folded so far: the CAR and where it puts it. */
struct part {
    int car;
    struct wdl_loc at;
};

/* Fold what came from a child, above our own run of ranks or below it. */
static void part_fold(struct wdl_build *b, struct part *part, int recv, struct wdl_loc come,
                      int above, size_t m)
{
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
        part_fold(b, &part, recv, come, !ordered || child->first > b->rank, m);
    }
    if (place.node.parent >= 0)
        next =
            wdl_edge_send(b, WDL_PHASE_DATA, place.node.parent, 1 + place.node.link, 0, part.at, m);
    else
        next = wdl_build_copy(b, b->to, part.at, m);
    wdl_build_stream(b, part.car, 0, next, 0, m);
}

/* --- in blocks, on a circulant graph ---------------------------------------------------------- */

/* What comes by the steps of a kind lies one behind the other. */
struct coming {
    size_t tmp[WDL_PATTERN_CIRCULANT_MAX];
    size_t stride;
};

/* How many of them are before step i, of the same kind. */
static size_t outs_before(const struct wdl_build *b, const struct wdl_circulant *c, int i)
{
    size_t count = 0;
    for (int k = i % c->pattern.rounds; k < i && k < c->steps; k += c->pattern.rounds)
        count += wdl_circulant_step(b, c, k).out >= 0;
    return count;
}

static void coming_find(struct wdl_build *b, struct wdl_circulant *c, struct coming *coming)
{
    int rounds = c->pattern.rounds, asked = wdl_ready_wanted_bare(b, b->args->bytes);
    struct wdl_circulant_step s;
    coming->stride = 0;
    for (int k = 0; k < c->blocks; k++) {
        size_t bytes = wdl_circulant_at(b, c, k + 1) - wdl_circulant_at(b, c, k);
        coming->stride = bytes > coming->stride ? bytes : coming->stride;
    }
    for (int k = rounds - 1; k >= 0; k--) {
        if (!wdl_circulant_first(b, c, k, WDL_CIRCULANT_OUT, &s))
            continue;
        size_t all = outs_before(b, c, k + rounds * c->steps);
        coming->tmp[s.kind] = wdl_build_tmp(b, all * coming->stride);
        if (asked)
            wdl_build_send(b, s.to, wdl_role(b, WDL_PHASE_READY, s.kind), wdl_nowhere(), 0);
    }
    for (int k = rounds - 1; k >= 0 && asked; k--)
        if (wdl_circulant_first(b, c, k, WDL_CIRCULANT_IN, &s))
            c->go[s.kind] = wdl_build_recv(b, s.from, wdl_role(b, WDL_PHASE_READY, s.kind),
                                           wdl_nowhere(), 0);
}

static void block_fold(struct wdl_build *b, const struct wdl_circulant *c,
                       const struct coming *coming, int i, struct part *parts)
{
    struct wdl_circulant_step s = wdl_circulant_step(b, c, i);
    if (s.out >= 0) {
        size_t bytes = wdl_circulant_at(b, c, s.out + 1) - wdl_circulant_at(b, c, s.out);
        size_t slot = coming->stride * outs_before(b, c, i);
        struct wdl_loc come = wdl_tmp(coming->tmp[s.kind] + slot);
        int recv = wdl_build_recv(b, s.to, wdl_role_bare(b, i), come, bytes);
        part_fold(b, &parts[s.out], recv, come, 1, bytes);
    }
    if (s.in >= 0) {
        size_t bytes = wdl_circulant_at(b, c, s.in + 1) - wdl_circulant_at(b, c, s.in);
        int send = wdl_build_send(b, s.from, wdl_role_bare(b, i), parts[s.in].at, bytes);
        wdl_build_order(b, c->go[s.kind], send);
        wdl_build_stream(b, parts[s.in].car, 0, send, 0, bytes);
    }
}

void wdl_reduce_circulant(struct wdl_build *b)
{
    struct part parts[WDL_CIRCULANT_BLOCKS_MAX];
    struct wdl_circulant c;
    struct coming coming;
    wdl_circulant_find(b, &c);
    coming_find(b, &c, &coming);
    for (int k = 0; k < c.blocks; k++)
        parts[k] = (struct part){WDL_CAR_NONE, wdl_loc_at(b->from, wdl_circulant_at(b, &c, k))};
    for (int i = c.steps - 1; i >= 0; i--)
        block_fold(b, &c, &coming, i, parts);
    for (int k = 0; k < c.blocks && b->rank == b->root; k++) {
        size_t at = wdl_circulant_at(b, &c, k), bytes = wdl_circulant_at(b, &c, k + 1) - at;
        int copy = wdl_build_copy(b, wdl_loc_at(b->to, at), parts[k].at, bytes);
        wdl_build_stream(b, parts[k].car, 0, copy, 0, bytes);
    }
}
