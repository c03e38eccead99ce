/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Prefix reduction. Everything is one join of neighbouring runs of blocks, in all rows at once: a
 * run is [row P + lo, row P + hi), with lo possibly negative (it reaches into the row above).
 */
#include "mpid/coll/prefix.h"
#include <string.h>
#include "base/assert.h"

struct span {
    int64_t first, end;         /* rows */
};

void wdl_prefix_init(struct wdl_prefix *prefix, const struct wdl_cyclic *layout, int rank,
                     const struct wdl_prefix_op *op)
{
    int64_t blk = layout->blk, above = layout->off / blk / layout->ranks * layout->ranks;
    wdl_assert(rank >= 0 && rank < layout->ranks);
    wdl_assert(op->bytes > 0);
    *prefix = (struct wdl_prefix) {.layout = *layout,.op = *op,.rank = rank };
    prefix->first = layout->off / blk - above;
    prefix->last = prefix->first - 1;
    if (layout->count == 0)
        return;
    prefix->last = (layout->off + layout->count - 1) / blk - above;
    prefix->rows = prefix->last / layout->ranks + 1;
    while (1ll << prefix->rounds < layout->ranks)
        prefix->rounds++;
}

/* The rows in which the run [lo, hi) of blocks has elements; -P <= lo <= hi <= P. */
static struct span rows_of(const struct wdl_prefix *prefix, int lo, int hi)
{
    int p = prefix->layout.ranks;
    wdl_assert(-p <= lo && lo <= hi && hi <= p);
    if (lo == hi || prefix->rows == 0 || prefix->last < lo)
        return (struct span) { 0, 0 };
    /* the last block of the run, row p + hi - 1, must not be before `first`; the first one not
     * behind `last` */
    int64_t need = prefix->first - (hi - 1);
    struct span span = {.first = need > 0 ? (need + p - 1) / p : 0 };
    span.end = (prefix->last - lo) / p + 1;
    if (span.end > prefix->rows)
        span.end = prefix->rows;
    return span.end > span.first ? span : (struct span) { 0, 0 };
}

static const char *entry(const struct wdl_prefix *prefix, const void *vector, int64_t row)
{
    return (const char *) vector + row * (int64_t) prefix->op.bytes;
}

static char *entry_of(const struct wdl_prefix *prefix, void *vector, int64_t row)
{
    return (char *) vector + row * (int64_t) prefix->op.bytes;
}

static void copy(const struct wdl_prefix *prefix, void *to, const void *from, int64_t rows)
{
    if (rows > 0)
        memcpy(to, from, (size_t) rows * prefix->op.bytes);
}

/* inout[row] = left[row] op inout[row], where `a` are the rows of left, `b` those of inout; left
 * begins at row left_at, inout at row inout_at. */
static void join(const struct wdl_prefix *prefix, struct span a, struct span b, const void *left,
                 int64_t left_at, void *inout, int64_t inout_at)
{
    for (int64_t row = a.first, end; row < a.end; row = end) {
        const char *from = entry(prefix, left, row - left_at);
        char *to = entry_of(prefix, inout, row - inout_at);
        int both = row >= b.first && row < b.end;
        end = both ? b.end : row < b.first ? b.first : a.end;
        end = end < a.end ? end : a.end;
        if (both)
            prefix->op.fn(prefix->op.ctx, from, to, (size_t) (end - row));
        else
            copy(prefix, to, from, end - row);
    }
}

static struct span clip(struct span span, struct span to)
{
    if (span.first < to.first)
        span.first = to.first;
    if (span.end > to.end)
        span.end = to.end;
    return span.end > span.first ? span : (struct span) { to.first, to.first };
}

void wdl_prefix_join(const struct wdl_prefix *prefix, int lo, int mid, int hi, const void *left,
                     void *inout)
{
    wdl_assert(lo >= 0);
    join(prefix, rows_of(prefix, lo, mid), rows_of(prefix, mid, hi), left, 0, inout, 0);
}

int64_t wdl_prefix_rows(const struct wdl_prefix *prefix, int lo, int hi, int64_t *first_out)
{
    wdl_assert(lo >= 0);
    struct span span = rows_of(prefix, lo, hi);
    *first_out = span.first;
    return span.end - span.first;
}

int wdl_prefix_fold_rows(const struct wdl_prefix *prefix, const void *sums, void *result)
{
    if (prefix->rows == 0)
        return 0;
    copy(prefix, result, entry(prefix, sums, prefix->rows - 1), 1);
    for (int64_t row = prefix->rows - 2; row >= 0; row--)
        prefix->op.fn(prefix->op.ctx, entry(prefix, sums, row), result, 1);
    return 1;
}

/* The rank's elements of one row, as places; *count_out > 0 in the rows of rows_of(rank, rank +
 * 1). */
static int64_t block_at(const struct wdl_prefix *prefix, int64_t row, int64_t * count_out)
{
    const struct wdl_cyclic *layout = &prefix->layout;
    int64_t place, local = wdl_cyclic_local(layout, prefix->rank, &place), end = place + local;
    int64_t lo = (layout->off / layout->blk / layout->ranks + row) * layout->blk;
    int64_t hi = lo + layout->blk;
    lo = lo > place ? lo : place;
    hi = hi < end ? hi : end;
    *count_out = hi - lo;
    return lo;
}

/* Folded from the right: in place, without copies. */
void wdl_prefix_blocks(const struct wdl_prefix *prefix, const void *src, void *sums)
{
    struct span own = rows_of(prefix, prefix->rank, prefix->rank + 1);
    for (int64_t row = own.first; row < own.end; row++) {
        int64_t count, place = block_at(prefix, row, &count);
        wdl_assert_cmp(count, >, 0);
        char *sum = entry_of(prefix, sums, row);
        copy(prefix, sum, entry(prefix, src, place + count - 1), 1);
        for (int64_t i = place + count - 2; i >= place; i--)
            prefix->op.fn(prefix->op.ctx, entry(prefix, src, i), sum, 1);
    }
}

/* L before the round; does it read a one, and how far does it reach? */
struct reach {
    int have, own, distance;
};

static struct reach reach_of(const struct wdl_prefix *prefix, int round)
{
    int top = prefix->rounds - 1 - round, all = prefix->layout.ranks - 1;
    wdl_assert(round >= 0 && round < prefix->rounds);
    struct reach reach = {.have = (int) ((int64_t) all >> (top + 1)),.own = all >> top & 1 };
    reach.distance = reach.have + reach.own;
    return reach;
}

/* What the rank `sender` sends: the rows of its message that a receiver has a row for. */
static struct span message(const struct wdl_prefix *prefix, const struct reach *reach, int sender)
{
    int p = prefix->layout.ranks;
    int64_t rows = prefix->rows - (sender + reach->distance >= p);
    return clip(rows_of(prefix, sender - reach->have, sender + reach->own),
                (struct span) { 0, rows });
}

void wdl_prefix_round(const struct wdl_prefix *prefix, int round, struct wdl_prefix_round *out)
{
    struct reach reach = reach_of(prefix, round);
    int p = prefix->layout.ranks, to = prefix->rank + reach.distance;
    int from = prefix->rank - reach.distance;
    to -= to >= p ? p : 0;
    from += from < 0 ? p : 0;
    struct span send = message(prefix, &reach, prefix->rank), recv = message(prefix, &reach, from);
    *out = (struct wdl_prefix_round) {.to = to,.from = from,
        .send_first = send.first,.send_rows = send.end - send.first,
        .recv_first = recv.first,.recv_rows = recv.end - recv.first
    };
}

void wdl_prefix_send(const struct wdl_prefix *prefix, int round, const void *before,
                     const void *sums, void *out)
{
    struct reach reach = reach_of(prefix, round);
    struct span all = message(prefix, &reach, prefix->rank);
    int rank = prefix->rank;
    struct span v = clip(rows_of(prefix, rank - reach.have, rank), all);
    struct span s = clip(rows_of(prefix, rank, rank + reach.own), all);
    copy(prefix, entry_of(prefix, out, s.first - all.first), entry(prefix, sums, s.first),
         s.end - s.first);
    join(prefix, v, s, before, 0, out, all.first);
}

void wdl_prefix_take(const struct wdl_prefix *prefix, int round, const void *in, void *before)
{
    struct reach reach = reach_of(prefix, round);
    int lo = prefix->rank - reach.have, from = prefix->rank - reach.distance;
    struct span come = rows_of(prefix, from - reach.have, lo);
    join(prefix, come, rows_of(prefix, lo, prefix->rank), in, come.first, before, 0);
}

void wdl_prefix_finish(const struct wdl_prefix *prefix, const void *sums, void *before, void *carry)
{
    int rank = prefix->rank, p = prefix->layout.ranks, have = 0;
    struct span v = rows_of(prefix, rank - (p - 1), rank), s = rows_of(prefix, rank, rank + 1);
    for (int64_t row = 0; row < prefix->rows; row++) {
        char *excl = entry_of(prefix, before, row);
        int has_v = row >= v.first && row < v.end, has_s = row >= s.first && row < s.end;
        if (have && has_v)
            prefix->op.fn(prefix->op.ctx, carry, excl, 1);
        else if (have)
            copy(prefix, excl, carry, 1);
        have |= has_v;
        if (!has_s) {
            if (have)
                copy(prefix, carry, excl, 1);
            continue;
        }
        /* carry = excl op sum, in carry */
        copy(prefix, carry, entry(prefix, sums, row), 1);
        if (have)
            prefix->op.fn(prefix->op.ctx, excl, carry, 1);
        have = 1;
    }
}

static void swap(char *a, char *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        char c = a[i];
        a[i] = b[i];
        b[i] = c;
    }
}

/* One block: `left` is the fold of all before it, or NULL. */
static void scan_inclusive(const struct wdl_prefix *prefix, const char *src, const char *left,
                           char *dst, int64_t count)
{
    size_t bytes = prefix->op.bytes;
    if (dst != src)
        memcpy(dst, src, (size_t) count * bytes);
    for (; count > 0; count--, left = dst, dst += bytes)
        if (left)
            prefix->op.fn(prefix->op.ctx, left, dst, 1);
}

/* The element makes the next carry in its own place, then they change places. */
static void scan_exclusive(const struct wdl_prefix *prefix, const char *src, const char *left,
                           char *dst, int64_t count, char *carry)
{
    size_t bytes = prefix->op.bytes;
    if (left) {
        memcpy(carry, left, bytes);
    } else {
        memcpy(carry, src, bytes);
        count--, src += bytes, dst += bytes;
    }
    if (dst != src)
        memcpy(dst, src, (size_t) count * bytes);
    for (; count > 0; count--, dst += bytes) {
        prefix->op.fn(prefix->op.ctx, carry, dst, 1);
        swap(carry, dst, bytes);
    }
}

void wdl_prefix_scan(const struct wdl_prefix *prefix, int exclusive, const void *src,
                     const void *before, void *dst, void *carry)
{
    struct span own = rows_of(prefix, prefix->rank, prefix->rank + 1);
    for (int64_t row = own.first; row < own.end; row++) {
        int64_t count, place = block_at(prefix, row, &count);
        int begins = row * prefix->layout.ranks + prefix->rank == prefix->first;
        const char *left = begins ? NULL : entry(prefix, before, row);
        const char *from = entry(prefix, src, place);
        char *to = entry_of(prefix, dst, place);
        if (exclusive)
            scan_exclusive(prefix, from, left, to, count, carry);
        else
            scan_inclusive(prefix, from, left, to, count);
    }
}
