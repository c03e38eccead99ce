/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Reduce to all. Doubling: in round k partners 2^k apart hold the folds of two neighbouring runs
 * of ranks and both compute lower op upper, so every rank has the same bits, in order. Halving:
 * the same pairs, each round on half the vector, then the way back; nobody sends or folds more
 * than about twice the vector. Ranks beyond a power of two fold with their neighbour first.
 */
#include "mpid/coll/algo.h"

struct fold {
    int log, group; /* the power of two */
    int place; /* in it, or -1: our neighbour below works for us */
    int neighbour; /* whom we work for, or who works for us; -1 */
};

static struct fold fold_of(const struct wdl_build *b)
{
    struct fold f = {.neighbour = -1};
    while (2 << f.log <= b->size)
        f.log++;
    f.group = 1 << f.log;
    int extra = b->size - f.group;
    if (b->rank < 2 * extra) {
        f.neighbour = b->rank ^ 1;
        f.place = b->rank & 1 ? -1 : b->rank / 2;
    } else {
        f.place = b->rank - extra;
    }
    return f;
}

static int fold_rank(const struct wdl_build *b, const struct fold *f, int place)
{
    int extra = b->size - f->group;
    return place < extra ? 2 * place : place + extra;
}

/* sum = lower op upper, where `come` is the partner's; returns the CAR, *sum moves to where the
 * result is. */
static int fold_with(struct wdl_build *b, struct wdl_loc *sum, struct wdl_loc come, int lower,
                     size_t bytes, const int before[3])
{
    int reduce =
        lower ? wdl_build_reduce(b, come, *sum, bytes) : wdl_build_reduce(b, *sum, come, bytes);
    for (int i = 0; i < 3; i++)
        wdl_build_order(b, before[i], reduce);
    if (!lower)
        *sum = come;
    return reduce;
}

/* Ranks beyond the power of two: give, and get the result. */
static void fold_out(struct wdl_build *b, const struct fold *f)
{
    size_t m = b->args->bytes;
    wdl_edge_send(b, WDL_PHASE_DATA, f->neighbour, f->log, f->log, wdl_src(0), m);
    wdl_edge_recv(b, WDL_PHASE_DATA2, f->neighbour, f->log, f->log, wdl_dst(0), m);
}

static int fold_in(struct wdl_build *b, const struct fold *f, struct wdl_loc *sum, int done)
{
    if (f->neighbour < 0)
        return done;
    size_t m = b->args->bytes;
    struct wdl_loc come = wdl_tmp(wdl_build_tmp(b, m));
    int recv = wdl_edge_recv(b, WDL_PHASE_DATA, f->neighbour, f->log, f->log, come, m);
    return fold_with(b, sum, come, 0, m, (int[3]){recv, done, WDL_CAR_NONE});
}

static void fold_back(struct wdl_build *b, const struct fold *f, struct wdl_loc sum, int done)
{
    if (f->neighbour >= 0)
        wdl_build_order(b, done,
                        wdl_edge_send(b, WDL_PHASE_DATA2, f->neighbour, f->log, f->log, sum,
                                      b->args->bytes));
}

void wdl_allreduce_doubling(struct wdl_build *b)
{
    size_t m = b->args->bytes;
    struct fold f = fold_of(b);
    if (f.place < 0) {
        fold_out(b, &f);
        return;
    }
    struct wdl_loc sum = wdl_tmp(wdl_build_tmp(b, m));
    int done = wdl_build_copy(b, sum, wdl_src(0), m);
    done = fold_in(b, &f, &sum, done);
    for (int k = 0; k < f.log; k++) {
        int partner = fold_rank(b, &f, f.place ^ 1 << k), lower = f.place >> k & 1;
        struct wdl_loc come = wdl_tmp(wdl_build_tmp(b, m));
        int send = wdl_edge_send(b, WDL_PHASE_DATA, partner, k, k, sum, m);
        int recv = wdl_edge_recv(b, WDL_PHASE_DATA, partner, k, k, come, m);
        wdl_build_order(b, done, send);
        done =
            fold_with(b, &sum, come, lower, m, (int[3]){recv, done, lower ? send : WDL_CAR_NONE});
    }
    fold_back(b, &f, sum, done);
    wdl_build_order(b, done, wdl_build_copy(b, wdl_dst(0), sum, m));
}

/* Where the vector is cut for the places that share their bits below k. */
struct cut {
    size_t lo, hi;
};

static struct cut cut_half(const struct wdl_build *b, struct cut c, int upper)
{
    size_t unit = b->args->op.elem_bytes, mid = c.lo + (c.hi - c.lo) / unit / 2 * unit;
    return upper ? (struct cut){mid, c.hi} : (struct cut){c.lo, mid};
}

void wdl_allreduce_halving(struct wdl_build *b)
{
    size_t m = b->args->bytes, sum = wdl_build_tmp(b, m);
    struct fold f = fold_of(b);
    if (f.place < 0) {
        fold_out(b, &f);
        return;
    }
    struct cut cuts[32] = {{0, m}};
    struct wdl_loc start = wdl_tmp(sum);
    int done = wdl_build_copy(b, start, wdl_src(0), m);
    done = fold_in(b, &f, &start, done);
    sum = start.at;
    for (int k = 0; k < f.log; k++) {
        int partner = fold_rank(b, &f, f.place ^ 1 << k), lower = f.place >> k & 1;
        struct cut keep = cut_half(b, cuts[k], lower), give = cut_half(b, cuts[k], !lower);
        size_t bytes = keep.hi - keep.lo;
        struct wdl_loc come = wdl_tmp(wdl_build_tmp(b, bytes)), own = wdl_tmp(sum + keep.lo);
        int send = wdl_edge_send(b, WDL_PHASE_DATA, partner, k, k, wdl_tmp(sum + give.lo),
                                 give.hi - give.lo);
        int recv = wdl_edge_recv(b, WDL_PHASE_DATA, partner, k, k, come, bytes);
        wdl_build_order(b, done, send);
        int reduce = fold_with(b, &own, come, lower || b->args->op.commutes, bytes,
                               (int[3]){recv, done, WDL_CAR_NONE});
        if (own.at == come.at) {
            done = wdl_build_copy(b, wdl_tmp(sum + keep.lo), come, bytes);
            wdl_build_order(b, reduce, done);
        } else {
            done = reduce;
        }
        cuts[k + 1] = keep;
    }
    for (int k = f.log - 1; k >= 0; k--) {
        int partner = fold_rank(b, &f, f.place ^ 1 << k), lower = f.place >> k & 1;
        struct cut mine = cuts[k + 1], theirs = cut_half(b, cuts[k], !lower);
        int send = wdl_edge_send(b, WDL_PHASE_DATA2, partner, k, k, wdl_tmp(sum + mine.lo),
                                 mine.hi - mine.lo);
        int recv = wdl_edge_recv(b, WDL_PHASE_DATA2, partner, k, k, wdl_tmp(sum + theirs.lo),
                                 theirs.hi - theirs.lo);
        int join = wdl_build_join(b);
        wdl_build_order(b, done, send);
        wdl_build_order(b, done, join);
        wdl_build_order(b, recv, join);
        done = join;
    }
    fold_back(b, &f, wdl_tmp(sum), done);
    wdl_build_order(b, done, wdl_build_copy(b, wdl_dst(0), wdl_tmp(sum), m));
}
