/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Reduce to all. Doubling: in round k partners 2^k places apart hold the folds of two neighbouring
 * runs of ranks and both compute lower op upper, so every rank has the same bits, in order.
 * Halving: each round on half of what is left of the vector, then the way back; nobody sends or
 * folds more than about twice the vector. If the operator commutes, round a circle of any number of
 * ranks; else the same pairs. Where they work in pairs, ranks beyond a power of two share a place
 * with their neighbour (pattern.h). Gathered: everyone gets all vectors and folds them itself, all
 * in one order: where ranks are no power of two, and vectors short, that takes a round less. Census
 * (Bar-Noy, Kipnis and Schieber): a vector a round, and no more rounds than the next power of two
 * takes, but every rank folds in another order.
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

/* A rank knows the fold of `known` ranks below it, and of those and its own; it tells one of the
 * two, so that all know twice as many, or one more: as the bits of P - 1 say. */
void wdl_allreduce_census(struct wdl_build *b)
{
    size_t m = b->args->bytes;
    int rounds = wdl_log2_up(b->size), known = 0, have = WDL_CAR_NONE;
    /* in place the source is overwritten: without the own vector, and with it */
    struct wdl_loc mine = wdl_tmp(wdl_build_tmp(b, m)), below = mine, all = mine;
    int copy = wdl_build_copy(b, mine, b->from, m), with = copy;
    for (int k = 0; k < rounds; k++) {
        int own = (b->size - 1) >> (rounds - 1 - k) & 1, d = known + own;
        int up = (b->rank + d) % b->size, down = (b->rank - d + b->size) % b->size;
        struct wdl_loc come = wdl_tmp(wdl_build_tmp(b, m));
        int send = wdl_edge_send(b, WDL_PHASE_DATA, up, k, k, own ? all : below, m);
        int recv = wdl_edge_recv(b, WDL_PHASE_DATA, down, k, k, come, m);
        wdl_build_order(b, own ? with : have, send);
        if (known > 0) {
            int fold = wdl_build_reduce(b, below, come, m);
            wdl_build_order(b, recv, fold);
            wdl_build_order(b, have, fold);
            recv = fold;
        }
        have = recv;
        below = come;
        known += d;
        all = wdl_tmp(wdl_build_tmp(b, m));
        with = wdl_build_reduce(b, below, all, m);
        int again = wdl_build_copy(b, all, mine, m);
        wdl_build_order(b, copy, again);
        wdl_build_order(b, again, with);
        wdl_build_order(b, have, with);
    }
    wdl_build_order(b, with, wdl_build_copy(b, b->to, all, m));
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
        args->op.fn(args->op.ctx, first + place_of(rank, size, r, m), sum, m / args->op.elem_bytes);
    return WDL_OK;
}

void wdl_allreduce_gathered(struct wdl_build *b)
{
    size_t m = b->args->bytes, at, sum;
    int all = wdl_bruck_collect(b, WDL_PHASE_DATA, b->from, b->args->bytes, m, &at);
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

/* A step of the way back: so much of the vector, folded by all, goes to one rank, other parts come
 * from another. Nobody must be ready: who gets it has sent here on the way there. */
struct back {
    int to, from;
    size_t give_at, give, get_at, get;
};

static int join(struct wdl_build *b, const struct back *back, int k, int done)
{
    uint32_t role = wdl_role(b, WDL_PHASE_DATA2, k);
    int send = wdl_build_send(b, back->to, role, wdl_tmp(back->give_at), back->give);
    int recv = wdl_build_recv(b, back->from, role, wdl_tmp(back->get_at), back->get);
    int both = wdl_build_join(b);
    wdl_build_order(b, done, send);
    wdl_build_order(b, done, both);
    wdl_build_order(b, recv, both);
    return both;
}

static void halving_in_pairs(struct wdl_build *b)
{
    struct wdl_pattern_group g = wdl_pattern_group_of(b->size, b->rank);
    size_t unit = b->args->op.elem_bytes;
    int64_t count = (int64_t) (b->args->bytes / unit);
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
        struct back back = {pair.partner,
                            pair.partner,
                            sum.at + (size_t) pair.keep_first * unit,
                            (size_t) pair.keep_count * unit,
                            sum.at + (size_t) pair.give_first * unit,
                            (size_t) pair.give_count * unit};
        done = join(b, &back, k, done);
    }
    finish(b, &g, sum, done);
}

/* --- round a circle ---------------------------------------------------------------------------
 * P parts of the vector lie in own memory in the order rank, rank + 1, ... Of these the first P,
 * ceil(P / 2), ceil(P / 4), ... 1 are still being folded: the others have been sent on. In the end
 * the first part is folded by all; and the same way back. */

static size_t part_at(const struct wdl_build *b, int part)
{
    size_t unit = b->args->op.elem_bytes, count = b->args->bytes / unit;
    return count * (size_t) part / (size_t) b->size * unit;
}

/* Where the part `i` behind our own begins in own memory. */
static size_t turned_at(const struct wdl_build *b, int i)
{
    int part = b->rank + i;
    size_t round = part >= b->size ? b->args->bytes : 0;
    return round + part_at(b, part % b->size) - part_at(b, b->rank);
}

/* The later half goes to whose own part it begins with; what comes is folded to the first one. */
static int circle_fold(struct wdl_build *b, int k, size_t sum, int done)
{
    int left = wdl_pattern_halved(b->size, k + 1), gone = wdl_pattern_halved(b->size, k) - left;
    int up = (b->rank + left) % b->size, down = (b->rank - left + b->size) % b->size;
    size_t bytes = turned_at(b, gone), away = turned_at(b, left);
    struct wdl_loc come = wdl_tmp(wdl_build_tmp(b, bytes));
    int send = wdl_edge_send(b, WDL_PHASE_DATA, up, k, k, wdl_tmp(sum + away),
                             turned_at(b, left + gone) - away);
    int recv = wdl_edge_recv(b, WDL_PHASE_DATA, down, k, k, come, bytes);
    int reduce = wdl_build_reduce(b, come, wdl_tmp(sum), bytes);
    wdl_build_order(b, done, send);
    wdl_build_order(b, done, reduce);
    wdl_build_order(b, recv, reduce);
    return reduce;
}

/* What comes is made of what was sent from there, which is gone by then. */
static int circle_join(struct wdl_build *b, int k, size_t sum, int done)
{
    int have = wdl_pattern_halved(b->size, k + 1), more = wdl_pattern_halved(b->size, k) - have;
    size_t at = turned_at(b, have);
    struct back back = {(b->rank - have + b->size) % b->size,
                        (b->rank + have) % b->size,
                        sum,
                        turned_at(b, more),
                        sum + at,
                        turned_at(b, have + more) - at};
    return join(b, &back, k, done);
}

static void halving_round_a_circle(struct wdl_build *b)
{
    size_t m = b->args->bytes, sum = wdl_build_tmp(b, m), own = part_at(b, b->rank);
    int rounds = wdl_log2_up(b->size), done = wdl_build_join(b);
    wdl_build_order(b, wdl_build_copy(b, wdl_tmp(sum), wdl_loc_at(b->from, own), m - own), done);
    wdl_build_order(b, wdl_build_copy(b, wdl_tmp(sum + m - own), b->from, own), done);
    for (int k = 0; k < rounds; k++)
        done = circle_fold(b, k, sum, done);
    for (int k = rounds - 1; k >= 0; k--)
        done = circle_join(b, k, sum, done);
    wdl_build_order(b, done, wdl_build_copy(b, wdl_loc_at(b->to, own), wdl_tmp(sum), m - own));
    wdl_build_order(b, done, wdl_build_copy(b, b->to, wdl_tmp(sum + m - own), own));
}

void wdl_allreduce_halving(struct wdl_build *b)
{
    if (b->args->op.commutes)
        halving_round_a_circle(b);
    else
        halving_in_pairs(b);
}
