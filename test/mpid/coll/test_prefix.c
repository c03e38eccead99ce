/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of coll/prefix: all ranks of a world in turn, their messages in arrays. Element g is the
 * string [g, g + 1) of the sequence 0, 1, 2, ...; the operator appends, and two strings that do not
 * touch cannot be appended: any other order or grouping fails at once, as does an element that does
 * not exist.
 */
#include "mpid/coll/prefix.h"
#include <stdlib.h>
#include <string.h>
#include "base/prng.h"
#include "base/status.h"
#include "support/must.h"
#include "support/suite.h"

#define RANKS_MAX 17
#define PLACES_MAX 700

struct string {
    int16_t lo, hi;
    char mark;                  /* 's': a string; else nothing may read it */
};

static void append(void *ctx, const void *left, void *inout, size_t count)
{
    const struct string *a = left;
    struct string *b = inout;
    ++*(long *) ctx;
    for (size_t i = 0; i < count; i++) {
        must(a[i].mark == 's' && b[i].mark == 's');
        must_cmp(a[i].hi, ==, b[i].lo);
        b[i].lo = a[i].lo;
    }
}

typedef struct string vector[PLACES_MAX];

static vector src[RANKS_MAX], dst[RANKS_MAX], sums[RANKS_MAX], before[RANKS_MAX], wire[RANKS_MAX];
static struct wdl_prefix ranks_of[RANKS_MAX];

static void world(const struct wdl_cyclic *layout, struct wdl_prefix_op *op)
{
    memset(src, 0, sizeof(src[0]) * (size_t) layout->ranks);
    memset(dst, 0, sizeof(dst[0]) * (size_t) layout->ranks);
    memset(sums, 0, sizeof(sums[0]) * (size_t) layout->ranks);
    memset(before, 0, sizeof(before[0]) * (size_t) layout->ranks);
    for (int g = 0; g < layout->count; g++) {
        must_cmp(wdl_cyclic_place(layout, g), <, PLACES_MAX);
        src[wdl_cyclic_rank(layout, g)][wdl_cyclic_place(layout, g)] =
            (struct string) { (int16_t) g, (int16_t) (g + 1), 's' };
    }
    for (int rank = 0; rank < layout->ranks; rank++) {
        wdl_prefix_init(&ranks_of[rank], layout, rank, op);
        wdl_prefix_blocks(&ranks_of[rank], src[rank], sums[rank]);
    }
}

static void exchange(int ranks, int round)
{
    struct wdl_prefix_round mine, theirs;
    for (int rank = 0; rank < ranks; rank++) {
        memset(wire[rank], 0, sizeof(wire[rank]));
        wdl_prefix_send(&ranks_of[rank], round, before[rank], sums[rank], wire[rank]);
        wdl_prefix_round(&ranks_of[rank], round, &mine);
        wdl_prefix_round(&ranks_of[mine.to], round, &theirs);
        must_cmp(theirs.from, ==, rank);
        must_cmp(theirs.recv_first, ==, mine.send_first);
        must_cmp(theirs.recv_rows, ==, mine.send_rows);
        must(mine.to != rank);
        /* no more than is said, all of it strings */
        for (int64_t row = 0; row < mine.send_rows; row++)
            must_cmp(wire[rank][row].mark, ==, 's');
        must_cmp(wire[rank][mine.send_rows].mark, ==, 0);
    }
    for (int rank = 0; rank < ranks; rank++) {
        wdl_prefix_round(&ranks_of[rank], round, &mine);
        if (mine.recv_rows > 0)
            wdl_prefix_take(&ranks_of[rank], round, wire[mine.from], before[rank]);
    }
}

/* The prefixes of all elements in `out`, laid out by `layout`. */
static void check_prefixes(const struct wdl_cyclic *layout, vector *out, int exclusive)
{
    for (int g = exclusive; g < layout->count; g++) {
        struct string s = out[wdl_cyclic_rank(layout, g)][wdl_cyclic_place(layout, g)];
        must_cmp(s.mark, ==, 's');
        must_cmp(s.lo, ==, 0);
        must_cmp(s.hi, ==, g + !exclusive);
    }
}

static void redistribute(const struct wdl_cyclic *from, const struct wdl_cyclic *to)
{
    for (int rank = 0; rank < from->ranks; rank++) {
        struct wdl_cyclic_walk walk;
        struct wdl_cyclic_run run;
        wdl_cyclic_walk(&walk, from, to, WDL_CYCLIC_FROM, rank);
        while (wdl_cyclic_next(&walk, &run))
            memcpy(&dst[run.to][run.to_place], &src[rank][run.from_place],
                   (size_t) run.count * sizeof(struct string));
    }
}

/* Prefixes into dst of the same layout, or in place and then to another layout. */
static void check_scan(const struct wdl_cyclic *layout, const struct wdl_cyclic *other,
                       int exclusive)
{
    long calls = 0;
    struct wdl_prefix_op op = { append, &calls, sizeof(struct string) };
    struct string carry;
    world(layout, &op);
    for (int round = 0; round < ranks_of[0].rounds; round++)
        exchange(layout->ranks, round);
    must(layout->count == 0 || 1 << ranks_of[0].rounds < 2 * layout->ranks);
    for (int rank = 0; rank < layout->ranks; rank++) {
        const struct wdl_prefix *prefix = &ranks_of[rank];
        memset(&carry, 0, sizeof(carry));
        wdl_prefix_finish(prefix, sums[rank], before[rank], &carry);
        memset(&carry, 0, sizeof(carry));
        wdl_prefix_scan(prefix, exclusive, src[rank], before[rank], other ? src[rank] : dst[rank],
                        &carry);
    }
    if (other)
        redistribute(layout, other);
    check_prefixes(other ? other : layout, dst, exclusive);
    /* nothing is written where no element is */
    for (int rank = 0; rank < layout->ranks; rank++) {
        int64_t place, n = wdl_cyclic_local(other ? other : layout, rank, &place);
        must(n == 0 || place == 0 || dst[rank][place - 1].mark == 0);
        must(dst[rank][n ? place + n : 0].mark == 0);
    }
}

/* Reduction over a binary tree of consecutive ranks, in a random shape. */
static void fold_ranks(struct wdl_prng *prng, int lo, int hi)
{
    if (hi - lo == 1)
        return;
    int mid = lo + 1 + (int) wdl_prng_below(prng, (uint64_t) (hi - lo - 1));
    int64_t first;
    fold_ranks(prng, lo, mid);
    fold_ranks(prng, mid, hi);
    wdl_prefix_join(&ranks_of[lo], lo, mid, hi, sums[lo], sums[mid]);
    int64_t rows = wdl_prefix_rows(&ranks_of[lo], lo, hi, &first);
    for (int64_t row = 0; row < ranks_of[lo].rows; row++)
        must_cmp(sums[mid][row].mark == 's', ==, row >= first && row < first + rows);
    memcpy(sums[lo], sums[mid], sizeof(sums[lo]));
}

static void check_reduce(const struct wdl_cyclic *layout, struct wdl_prng *prng)
{
    long calls = 0;
    struct wdl_prefix_op op = { append, &calls, sizeof(struct string) };
    struct string result = { 0, 0, 0 };
    world(layout, &op);
    fold_ranks(prng, 0, layout->ranks);
    must_cmp(wdl_prefix_fold_rows(&ranks_of[0], sums[0], &result), ==, layout->count > 0);
    if (layout->count == 0)
        return;
    must_cmp(result.lo, ==, 0);
    must_cmp(result.hi, ==, layout->count);
}

static void check_all(int ranks, int blk, int off, struct wdl_prng *prng)
{
    int most = blk ? 3 * blk * ranks + 1 : 10;
    for (int count = 0; count <= most; count++) {
        struct wdl_cyclic layout, other;
        int blk2 = (int) wdl_prng_below(prng, 6);
        int off2 = (int) wdl_prng_below(prng, (uint64_t) (ranks * (blk2 ? 2 * blk2 : 1)));
        must_cmp(wdl_cyclic_init(&layout, ranks, blk, off, count), ==, WDL_OK);
        must_cmp(wdl_cyclic_init(&other, ranks, blk2, off2, count), ==, WDL_OK);
        check_scan(&layout, (count + off) % 3 == 0 ? NULL : &other, (count + off) % 2);
        if (count % 4 == off % 4)
            check_reduce(&layout, prng);
    }
}

/* A slice of the ranks each, so that a failure says where. */
static void check_ranks(int lo, int hi)
{
    struct wdl_prng prng;
    wdl_prng_init(&prng, (uint64_t) lo);
    for (int ranks = lo; ranks <= hi; ranks++)
        for (int blk = 0; blk <= 4; blk++)
            for (int off = 0; off < (blk ? blk * ranks : ranks); off++)
                check_all(ranks, blk, off, &prng);
}

START_TEST(ranks_1_to_8)
{
    check_ranks(1, 8);
}
END_TEST

START_TEST(ranks_9_to_13)
{
    check_ranks(9, 13);
}
END_TEST

START_TEST(ranks_14_to_17)
{
    check_ranks(14, 17);
}
END_TEST

/* Offsets beyond the first row of the whole array. */
START_TEST(far_offsets)
{
    struct wdl_prng prng;
    wdl_prng_init(&prng, 99);
    for (int i = 0; i < 3000; i++) {
        struct wdl_cyclic layout;
        int ranks = 1 + (int) wdl_prng_below(&prng, RANKS_MAX);
        int blk = 1 + (int) wdl_prng_below(&prng, 9), cycle = blk * ranks;
        int off = (int) wdl_prng_below(&prng, (uint64_t) (9 * cycle));
        int count = (int) wdl_prng_below(&prng, (uint64_t) (4 * cycle));
        must_cmp(wdl_cyclic_init(&layout, ranks, blk, off, count), ==, WDL_OK);
        check_scan(&layout, NULL, i % 2);
        check_reduce(&layout, &prng);
    }
}
END_TEST

/* Work: a round folds no more than twice a row, whatever the operator costs. */
START_TEST(rounds_and_folds)
{
    for (int ranks = 2; ranks <= RANKS_MAX; ranks++) {
        struct wdl_cyclic layout;
        long calls = 0;
        struct wdl_prefix_op op = { append, &calls, sizeof(struct string) };
        must_cmp(wdl_cyclic_init(&layout, ranks, 2, 0, 8 * ranks), ==, WDL_OK);
        world(&layout, &op);
        must_cmp(ranks_of[0].rows, ==, 4);
        calls = 0;
        int log = 0;
        while (1 << log < ranks)
            log++;
        must_cmp(ranks_of[0].rounds, ==, log);
        for (int round = 0; round < log; round++)
            exchange(ranks, round);
        must_cmp(calls, <=, 2l * log * ranks);
    }
}
END_TEST

WDL_SUITE("coll/prefix", ranks_1_to_8, ranks_9_to_13, ranks_14_to_17, far_offsets, rounds_and_folds)
