/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Scans of ranks that share a node (node.h). Of little data each rank shows its prefix besides its
 * operand, if that fits the board, and else folds what those below show. Of much, each makes
 * everybody's results for a part of the vector: the prefixes of the part, one from the other, where
 * the operands are staged; and takes its own from there. Of what is too much for that each follows
 * the rank below. Where not all have found room, and of too much for an exclusive scan, whose
 * results are nobody's prefix, each folds by itself. Always in the same order: the same bits.
 */
#include <string.h>
#include "base/copy.h"
#include "mpid/coll/node.h"
#include "mpid/coll/staging.h"

/* Only ranks below have something for us, only ranks above take from us. */
static int below(struct wdl_run *run, struct wdl_car_run *c)
{
    for (; c->next < wdl_node_place(run->team); c->next++) {
        int rank = wdl_node_rank(run->team, c->next);
        if (!wdl_board_seen(run, rank, WDL_BOARD_DATA))
            return WDL_AGAIN;
        (void) wdl_node_note(run, wdl_node_agrees(run, rank));
    }
    c->next = 0;
    return WDL_OK;
}

int wdl_node_above(struct wdl_run *run, struct wdl_car_run *c, enum wdl_place_on_board place)
{
    int first = wdl_node_place(run->team) + 1;
    for (; first + c->next < wdl_node_size(run->team); c->next++)
        if (!wdl_board_seen(run, wdl_node_rank(run->team, first + c->next), place))
            return WDL_AGAIN;
    return WDL_OK;
}

int wdl_node_prefix(struct wdl_run *run, struct wdl_car_run *c)
{
    int hi = wdl_node_place(run->team) - ((run->args.flags & WDL_COLL_EXCLUSIVE) != 0);
    if (below(run, c) == WDL_AGAIN)
        return WDL_AGAIN;
    if (hi < 0 || run->status != WDL_OK)
        return WDL_OK;
    return wdl_node_note(run, wdl_node_fold_apart(run, hi, 0));
}

int wdl_node_put_before(struct wdl_run *run, int owner, const char *left)
{
    const struct wdl_coll_op *op = &run->args.op;
    size_t chunk = wdl_node_chunk(&run->args), bytes = run->args.bytes;
    int far = owner != run->team->rank && !wdl_node_on_board(run), status = WDL_OK;
    char *to = run->apart ? run->apart : run->args.dst;
    for (size_t done = 0; done < bytes && status == WDL_OK; done += chunk) {
        size_t n = bytes - done < chunk ? bytes - done : chunk;
        if (far)
            status = wdl_board_fetch(run, owner, left + done, run->tmp, n);
        if (status == WDL_OK)
            op->fn(op->ctx, far ? run->tmp : left + done, to + done, n / op->elem_bytes);
    }
    return status;
}

/* --- on one node ------------------------------------------------------------------------------ */

/* The rank whose prefix is our result; -1: there is none. */
static int highest(const struct wdl_run *run)
{
    return run->team->rank - ((run->args.flags & WDL_COLL_EXCLUSIVE) != 0);
}

static char *staged_by(const struct wdl_run *run, int rank)
{
    return wdl_staging_of(run, rank, wdl_node_sheet(run, rank), run->args.bytes);
}

static int all_have_staged(const struct wdl_run *run)
{
    int staged = 0;
    for (int r = 0; r < run->team->size; r++)
        staged += wdl_node_sheet(run, r)->staged != 0;
    return staged == run->team->size;
}

/* Our part of every rank's prefix, in the place of its operand. */
static int make_prefixes(struct wdl_run *run)
{
    const struct wdl_coll_op *op = &run->args.op;
    size_t at = wdl_node_part_at(run, run->team->rank);
    size_t bytes = wdl_node_part_at(run, run->team->rank + 1) - at;
    char *left = staged_by(run, 0);
    for (int r = 1; r < run->team->size && bytes > 0; r++) {
        char *next = staged_by(run, r);
        if (!left || !next)
            return WDL_ERR_PROTO;
        op->fn(op->ctx, left + at, next + at, bytes / op->elem_bytes);
        left = next;
    }
    return WDL_OK;
}

/* The part of our result that a rank has made. */
static int take_prefix(struct wdl_run *run, int rank)
{
    size_t at = wdl_node_part_at(run, rank), bytes = wdl_node_part_at(run, rank + 1) - at;
    if (highest(run) < 0 || bytes == 0)
        return WDL_OK;
    const char *prefix = staged_by(run, highest(run));
    if (!prefix)
        return WDL_ERR_PROTO;
    wdl_copy_wide((char *) run->args.dst + at, prefix + at, bytes);
    return WDL_OK;
}

static int scan_by_parts(struct wdl_run *run, struct wdl_car_run *c)
{
    WDL_NODE_STEP(c, 2, wdl_node_note(run, make_prefixes(run)));
    WDL_NODE_STEP(c, 3, wdl_node_post(run, WDL_BOARD_DONE));
    WDL_NODE_STEP(c, 4, wdl_node_note(run, take_prefix(run, run->team->rank)));
    return wdl_node_each(run, c, WDL_BOARD_DONE, take_prefix);
}

/* --- too much to be staged: one rank after the other --- */

enum { FAILED = -1 };           /* of sheet->filled, here bytes of a result that are there */

static int goes_one_by_one(const struct wdl_run *run)
{
    return !(run->args.flags & WDL_COLL_EXCLUSIVE) &&
           run->args.bytes > run->team->params.staging_bytes / 2;
}

/* dst = the prefix of rank `below` at `from` before our operand; below < 0: there is none. */
static int put_behind(struct wdl_run *run, int below, const char *from, size_t at, size_t bytes)
{
    const struct wdl_coll_op *op = &run->args.op;
    size_t chunk = wdl_node_chunk(&run->args);
    char *dst = (char *) run->args.dst + at;
    const char *src = (const char *) run->args.src + at;
    int status = WDL_OK;
    for (size_t i = 0, n; i < bytes && status == WDL_OK; i += n) {
        n = bytes - i < chunk ? bytes - i : chunk;
        if (dst != src)
            wdl_copy_wide(dst + i, src + i, n);
        if (below < 0)
            continue;
        status = wdl_board_fetch(run, below, from + at + i, run->tmp, n);
        if (status == WDL_OK)
            op->fn(op->ctx, run->tmp, dst + i, n / op->elem_bytes);
    }
    return status;
}

/* Part by part, as far as the rank below has come. Whoever fails tells the ranks above. */
static int follow(struct wdl_run *run)
{
    enum { LOOKS = 40, PARTS = 8 };
    int me = run->team->rank, below = me - 1, looks = LOOKS, status = run->status;
    struct wdl_sheet *own = (struct wdl_sheet *) (void *) wdl_board_sheet(run, me);
    const struct wdl_sheet *left = below < 0 ? NULL : wdl_node_sheet(run, below);
    /* the lowest rank's operand is its prefix, and is there */
    const char *from = below == 0 ? left->src : left ? left->dst : NULL;
    size_t all = run->args.bytes, part = PARTS * wdl_node_chunk(&run->args);
    while (run->taken < all && status == WDL_OK) {
        size_t at = run->taken, n = all - at < part ? all - at : part;
        /* pairs with the stores below */
        size_t there = below > 0 ? __atomic_load_n(&left->filled, __ATOMIC_ACQUIRE) : all;
        if (there < at + n && looks-- > 0)
            continue;
        if (there < at + n)
            return WDL_AGAIN;
        status = there == (size_t) FAILED ? WDL_ERR_TRUNCATE :
            put_behind(run, below, from, at, n);
        run->taken += n;
        if (status == WDL_OK)
            __atomic_store_n(&own->filled, run->taken, __ATOMIC_RELEASE);
    }
    run->taken = 0;
    if (status != WDL_OK)
        __atomic_store_n(&own->filled, (size_t) FAILED, __ATOMIC_RELEASE);
    return wdl_node_note(run, status);
}

/* No result goes back to its owner while the rank above reads it. One that means another length
 * does not, and may not say so. */
static int until_read(struct wdl_run *run)
{
    int above = run->team->rank + 1;
    if (above == run->team->size)
        return WDL_OK;
    if (!wdl_board_seen(run, above, WDL_BOARD_DATA))
        return WDL_AGAIN;
    int status = wdl_node_agrees(run, above);
    if (status != WDL_OK)
        return wdl_node_note(run, status);
    return wdl_board_seen(run, above, WDL_BOARD_DONE) ? WDL_OK : WDL_AGAIN;
}

static int scan_one_by_one(struct wdl_run *run, struct wdl_car_run *c)
{
    int me = run->team->rank;
    WDL_NODE_STEP(c, 1, me == 0 ? WDL_OK : wdl_node_one(run, me - 1, WDL_BOARD_DATA,
                                                        wdl_node_agrees));
    WDL_NODE_STEP(c, 2, follow(run));
    WDL_NODE_STEP(c, 3, wdl_node_post(run, WDL_BOARD_DONE));
    return until_read(run);
}

/* The ranks up to `hi`, from the lowest on, at [at, at + bytes): *sum_out is one of two chunks. */
static int fold_up(struct wdl_run *run, int hi, size_t at, size_t bytes, char **sum_out)
{
    const struct wdl_coll_op *op = &run->args.op;
    char *sum = run->tmp, *next = run->tmp + wdl_node_chunk(&run->args);
    int status = wdl_node_look(run, 0, at, sum, bytes);
    for (int r = 1; r <= hi && status == WDL_OK; r++) {
        status = wdl_node_look(run, r, at, next, bytes);
        if (status == WDL_OK)
            op->fn(op->ctx, sum, next, bytes / op->elem_bytes);
        char *other = sum;
        sum = next;
        next = other;
    }
    *sum_out = sum;
    return status;
}

static int prefix_up(struct wdl_run *run)
{
    size_t chunk = wdl_node_chunk(&run->args), bytes = run->args.bytes;
    char *to = highest(run) < 0 ? NULL : wdl_node_apart(run), *sum;
    int status = WDL_OK;
    for (size_t at = 0; to && at < bytes && status == WDL_OK; at += chunk) {
        size_t n = bytes - at < chunk ? bytes - at : chunk;
        status = fold_up(run, highest(run), at, n, &sum);
        if (status == WDL_OK)
            memcpy(to + at, sum, n);
    }
    return status;
}

/* Nobody's source is overwritten while others read it. */
static int scan_from_below(struct wdl_run *run, struct wdl_car_run *c)
{
    WDL_NODE_STEP(c, 2, wdl_node_note(run, prefix_up(run)));
    WDL_NODE_STEP(c, 3, wdl_node_post(run, WDL_BOARD_DONE));
    if (run->staged)
        return WDL_OK;
    WDL_NODE_STEP(c, 4, wdl_node_above(run, c, WDL_BOARD_DONE));
    return wdl_node_apart_end(run);
}

/* The highest rank below whose prefix is there, if those between have shown their operands: the
 * lowest rank's operand is its prefix. -1: not yet. */
static int prefix_below(const struct wdl_run *run)
{
    int r = run->team->rank - 1;
    while (r > 0 && !wdl_board_seen(run, r, WDL_BOARD_LAST)) {
        if (!wdl_board_seen(run, r, WDL_BOARD_DATA))
            return -1;
        r--;
    }
    return r > 0 || wdl_board_seen(run, 0, WDL_BOARD_DATA) ? r : -1;
}

static int all_agree_from(struct wdl_run *run, int from)
{
    int same = from == 0 ||
               wdl_board_length_at(run, from, WDL_BOARD_LAST) == wdl_board_own_length(run);
    for (int r = from == 0 ? 0 : from + 1; r < run->team->rank && same; r++)
        same = wdl_node_agrees(run, r) == WDL_OK;
    return same;
}

/* right = left op what rank r shows; returns it. */
static char *join(const struct wdl_run *run, const char *left, int r, char *right)
{
    const struct wdl_coll_op *op = &run->args.op;
    memcpy(right, wdl_board_sheet(run, r), run->args.bytes);
    op->fn(op->ctx, left, right, run->args.bytes / op->elem_bytes);
    return right;
}

/* From the left, so that the bits are the same however many prefixes were there. Our own goes to
 * our board, for those above. */
static void join_all(struct wdl_run *run, int from)
{
    const struct wdl_coll_args *a = &run->args;
    int me = run->team->rank;
    char *own = wdl_board_second(run, me), *dst = a->dst;
    const char *left = from == 0 ? wdl_board_sheet(run, 0) : wdl_board_second(run, from);
    for (int r = from + 1; r < me; r++)
        left = join(run, left, r, left == dst ? own : dst);
    if (left == own || (a->flags & WDL_COLL_EXCLUSIVE && left != dst)) {
        memcpy(dst, left, a->bytes);
        left = dst;
    }
    if (a->flags & WDL_COLL_EXCLUSIVE && me == run->team->size - 1)
        return;
    join(run, left, me, own);
    if (!(a->flags & WDL_COLL_EXCLUSIVE))
        memcpy(dst, own, a->bytes);
}

/* Each takes the prefix of the rank below, if that has come so far, and else of one further down
 * and what those between show: who runs one after the other reads one board, and who comes last
 * waits for nobody's turn. */
static int join_below(struct wdl_run *run)
{
    int me = run->team->rank, from;
    if (me == 0) {
        if (!(run->args.flags & WDL_COLL_EXCLUSIVE) && run->args.dst != run->args.src)
            memcpy(run->args.dst, run->args.src, run->args.bytes);
        return WDL_OK;
    }
    from = prefix_below(run);
    if (from < 0)
        return WDL_AGAIN;
    if (!all_agree_from(run, from))
        return wdl_node_note(run, WDL_ERR_TRUNCATE);
    join_all(run, from);
    return me < run->team->size - 1 ? wdl_node_post(run, WDL_BOARD_LAST) : WDL_OK;
}

static int scan_little(struct wdl_run *run, struct wdl_car_run *c)
{
    if (run->args.bytes > 0 && wdl_board_second(run, run->team->rank))
        WDL_NODE_STEP(c, 1, join_below(run));
    WDL_NODE_STEP(c, 1, wdl_node_prefix(run, c));
    /* one below may believe that we fetch from it */
    return run->status == WDL_OK ? WDL_OK : wdl_node_post(run, WDL_BOARD_DONE);
}

int wdl_node_scan(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_coll_args *a = &run->args;
    WDL_NODE_STEP(c, 0, wdl_node_show(run, a->src, a->bytes));
    if (wdl_node_on_board(run))
        return scan_little(run, c);
    if (goes_one_by_one(run))
        return scan_one_by_one(run, c);
    WDL_NODE_STEP(c, 1, wdl_node_all_agree(run, c));
    return all_have_staged(run) ? scan_by_parts(run, c) : scan_from_below(run, c);
}
