/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Reduce to all. Doubling: in round k partners 2^k places apart hold the folds of two neighbouring
 * runs of ranks and both compute lower op upper, so every rank has the same bits, in order.
 * Halving: the same pairs, each round on half of what is left of the vector, then the way back;
 * nobody sends or folds more than about twice the vector. Ranks beyond a power of two share a place
 * with their neighbour (pattern.h). Gathered: everyone gets all vectors and folds them itself, all
 * in one order: where ranks are no power of two, and vectors short, that takes a round less.
 */
#include <string.h>
#include "mpid/coll/algo.h"
#include "mpid/coll/pattern.h"

/* sum = lower op upper, where `come` is the partner's; *sum moves to where the result is. */
static int fold_with(struct wdl_build *b, struct wdl_loc *sum, struct wdl_loc come, int upper,
                     size_t bytes, const int before[3])
{
    int reduce =
        upper ? wdl_build_reduce(b, come, *sum, bytes) : wdl_build_reduce(b, *sum, come, bytes);
    for (int i = 0; i < 3; i++)
        wdl_build_order(b, before[i], reduce);
    if (!upper)
        *sum = come;
    return reduce;
}

/* A rank without a place: give, and get the result. */
static void give(struct wdl_build *b, const struct wdl_pattern_group *g)
{
    size_t m = b->args->bytes;
    wdl_edge_send(b, WDL_PHASE_DATA, g->taker, g->rounds, g->rounds, b->from, m);
    wdl_edge_recv(b, WDL_PHASE_DATA2, g->taker, g->rounds, g->rounds, b->to, m);
}

/* The vector, with that of the rank we work for folded in. */
static int take(struct wdl_build *b, const struct wdl_pattern_group *g, struct wdl_loc *sum)
{
    size_t m = b->args->bytes;
    *sum = wdl_tmp(wdl_build_tmp(b, m));
    int own = wdl_build_copy(b, *sum, b->from, m);
    if (g->giver < 0)
        return own;
    struct wdl_loc come = wdl_tmp(wdl_build_tmp(b, m));
    int recv = wdl_edge_recv(b, WDL_PHASE_DATA, g->giver, g->rounds, g->rounds, come, m);
    return fold_with(b, sum, come, 0, m, (int[3]){recv, own, WDL_CAR_NONE});
}

/* The result goes to the destination, and to the rank we work for. */
static void finish(struct wdl_build *b, const struct wdl_pattern_group *g, struct wdl_loc sum,
                   int done)
{
    size_t m = b->args->bytes;
    if (g->giver >= 0)
        wdl_build_order(b, done,
                        wdl_edge_send(b, WDL_PHASE_DATA2, g->giver, g->rounds, g->rounds, sum, m));
    wdl_build_order(b, done, wdl_build_copy(b, b->to, sum, m));
}

void wdl_allreduce_doubling(struct wdl_build *b)
{
    size_t m = b->args->bytes;
    struct wdl_pattern_group g = wdl_pattern_group_of(b->size, b->rank);
    struct wdl_loc sum;
    if (g.place < 0) {
        give(b, &g);
        return;
    }
    int done = take(b, &g, &sum);
    for (int k = 0; k < g.rounds; k++) {
        struct wdl_pattern_pair pair = wdl_pattern_double(b->size, g.place, k);
        struct wdl_loc come = wdl_tmp(wdl_build_tmp(b, m));
        int send = wdl_edge_send(b, WDL_PHASE_DATA, pair.partner, k, k, sum, m);
        int recv = wdl_edge_recv(b, WDL_PHASE_DATA, pair.partner, k, k, come, m);
        int sent = pair.upper ? send : WDL_CAR_NONE; /* then the fold goes where we send from */
        wdl_build_order(b, done, send);
        done = fold_with(b, &sum, come, pair.upper, m, (int[3]){recv, done, sent});
    }
    finish(b, &g, sum, done);
}

/* Own memory has this rank's vector first. */
static size_t place_of(int rank, int size, int whose, size_t bytes)
{
    return (size_t) (whose >= rank ? whose - rank : whose - rank + size) * bytes;
}

/* From the right, on every rank alike, behind the vectors of all: those may still be on their way
 * to others. */
static int fold_gathered(struct wdl_run *run, int at)
{
    const struct wdl_coll_args *args = &run->args;
    int rank = run->team->rank, size = run->team->size;
    size_t m = args->bytes;
    char *first = wdl_run_at(run, wdl_tmp((size_t) at));
    char *sum = first + (size_t) size * m;
    memcpy(sum, first + place_of(rank, size, size - 1, m), m);
    for (int r = size - 2; r >= 0; r--)
        args->op.fn(args->op.ctx, first + place_of(rank, size, r, m), sum,
                    m / args->op.elem_bytes);
    return WDL_OK;
}

void wdl_allreduce_gathered(struct wdl_build *b)
{
    size_t m = b->args->bytes, at, sum;
    int all = wdl_bruck_collect(b, b->from, m, &at);
    int fold = wdl_build_call(b, fold_gathered, (int) at, 0);
    sum = at + (size_t) b->size * m;
    wdl_build_order(b, all, fold);
    wdl_build_order(b, fold, wdl_build_copy(b, b->to, wdl_tmp(sum), m));
}

/* A halving round: keep half of what is left, folded with the partner's. */
static int halve(struct wdl_build *b, const struct wdl_pattern_pair *pair, int k, size_t sum,
                 int done)
{
    size_t unit = b->args->op.elem_bytes, bytes = (size_t) pair->keep_count * unit;
    size_t keep = sum + (size_t) pair->keep_first * unit,
           away = sum + (size_t) pair->give_first * unit;
    struct wdl_loc come = wdl_tmp(wdl_build_tmp(b, bytes)), own = wdl_tmp(keep);
    int send = wdl_edge_send(b, WDL_PHASE_DATA, pair->partner, k, k, wdl_tmp(away),
                             (size_t) pair->give_count * unit);
    int recv = wdl_edge_recv(b, WDL_PHASE_DATA, pair->partner, k, k, come, bytes);
    int reduce = fold_with(b, &own, come, pair->upper || b->args->op.commutes, bytes,
                           (int[3]){recv, done, WDL_CAR_NONE});
    wdl_build_order(b, done, send);
    if (own.at == keep)
        return reduce;
    int copy = wdl_build_copy(b, wdl_tmp(keep), come, bytes);
    wdl_build_order(b, reduce, copy);
    return copy;
}

/* The way back: each gives what it has, folded by all, and gets the partner's. */
static int join(struct wdl_build *b, const struct wdl_pattern_pair *pair, int k, size_t sum,
                int done)
{
    size_t unit = b->args->op.elem_bytes;
    int send = wdl_edge_send(b, WDL_PHASE_DATA2, pair->partner, k, k,
                             wdl_tmp(sum + (size_t) pair->keep_first * unit),
                             (size_t) pair->keep_count * unit);
    int recv = wdl_edge_recv(b, WDL_PHASE_DATA2, pair->partner, k, k,
                             wdl_tmp(sum + (size_t) pair->give_first * unit),
                             (size_t) pair->give_count * unit);
    int both = wdl_build_join(b);
    wdl_build_order(b, done, send);
    wdl_build_order(b, done, both);
    wdl_build_order(b, recv, both);
    return both;
}

void wdl_allreduce_halving(struct wdl_build *b)
{
    struct wdl_pattern_group g = wdl_pattern_group_of(b->size, b->rank);
    int64_t count = (int64_t) (b->args->bytes / b->args->op.elem_bytes);
    struct wdl_loc sum;
    if (g.place < 0) {
        give(b, &g);
        return;
    }
    int done = take(b, &g, &sum);
    for (int k = 0; k < g.rounds; k++) {
        struct wdl_pattern_pair pair =
            wdl_pattern_halve(b->size, g.place, k, WDL_PATTERN_NEAR, count);
        done = halve(b, &pair, k, sum.at, done);
    }
    for (int k = g.rounds - 1; k >= 0; k--) {
        struct wdl_pattern_pair pair =
            wdl_pattern_halve(b->size, g.place, k, WDL_PATTERN_NEAR, count);
        done = join(b, &pair, k, sum.at, done);
    }
    finish(b, &g, sum, done);
}
