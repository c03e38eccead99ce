/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of coll/blockcyclic. The oracle deals the whole array out, element by element, as one deals
 * cards: no division.
 */
#include "mpid/coll/blockcyclic.h"
#include <string.h>
#include "base/prng.h"
#include "base/status.h"
#include "support/must.h"
#include "support/suite.h"

#define COUNT_MAX 200
#define RANKS_MAX 9

struct deal {
    int rank[COUNT_MAX], place[COUNT_MAX];      /* of element g */
    int local[RANKS_MAX], first[RANKS_MAX];     /* first: -1 where there is none */
};

static void deal(struct deal *d, int ranks, int blk, int off, int count)
{
    int rank = 0, row = 0, phase = 0;
    memset(d->local, 0, sizeof(d->local));
    memset(d->first, 0xff, sizeof(d->first));
    for (int i = 0; i < (blk ? off : 0) + count; i++) {
        int g = i - (blk ? off : 0);
        if (g >= 0) {
            d->rank[g] = blk ? rank : off;
            d->place[g] = blk ? row * blk + phase : g;
            if (d->local[d->rank[g]]++ == 0)
                d->first[d->rank[g]] = d->place[g];
        }
        if (++phase == blk) {
            phase = 0;
            rank++;
        }
        if (rank == ranks) {
            rank = 0;
            row++;
        }
    }
}

static void check_layout(int ranks, int blk, int off, int count)
{
    static struct deal d;
    struct wdl_cyclic layout;
    int before[RANKS_MAX] = { 0 };
    int64_t place;
    must_cmp(wdl_cyclic_init(&layout, ranks, blk, off, count), ==, WDL_OK);
    deal(&d, ranks, blk, off, count);
    for (int g = 0; g < count; g++) {
        int rank = wdl_cyclic_rank(&layout, g);
        must_cmp(rank, ==, d.rank[g]);
        must_cmp(wdl_cyclic_place(&layout, g), ==, d.place[g]);
        must_cmp(wdl_cyclic_before(&layout, rank, g), ==, before[rank]);
        must_cmp(wdl_cyclic_element(&layout, rank, before[rank]), ==, g);
        must_cmp(wdl_cyclic_before(&layout, g % ranks, g), ==, before[g % ranks]);
        before[rank]++;
    }
    for (int rank = 0; rank < ranks; rank++) {
        must_cmp(wdl_cyclic_local(&layout, rank, &place), ==, d.local[rank]);
        must(d.local[rank] == 0 || place == d.first[rank]);
    }
}

START_TEST(layouts)
{
    for (int ranks = 1; ranks <= 7; ranks++)
        for (int blk = 0; blk <= 5; blk++)
            for (int off = 0; off < (blk ? 2 * blk * ranks + 1 : ranks); off++)
                for (int count = 0, most = blk ? 3 * blk * ranks + 1 : 20; count <= most;
                     count += 1 + count / 12)
                    check_layout(ranks, blk, off, count);
}
END_TEST

/* All runs from all ranks, seen from both sides, are all elements once, as dealt; runs that could
 * be longer are none. */
static void check_pair(int ranks, const int a[2], const int b[2], int count)
{
    static struct deal from, to;
    struct wdl_cyclic src, dst;
    int64_t counts[2][RANKS_MAX][RANKS_MAX];
    must_cmp(wdl_cyclic_init(&src, ranks, a[0], a[1], count), ==, WDL_OK);
    must_cmp(wdl_cyclic_init(&dst, ranks, b[0], b[1], count), ==, WDL_OK);
    deal(&from, ranks, a[0], a[1], count);
    deal(&to, ranks, b[0], b[1], count);
    for (int side = 0; side < 2; side++) {
        int seen = 0;
        for (int rank = 0; rank < ranks; rank++) {
            struct wdl_cyclic_walk walk;
            struct wdl_cyclic_run run;
            int64_t end = 0;
            memset(counts[side][rank], 0, sizeof(counts[side][rank]));
            wdl_cyclic_walk(&walk, &src, &dst, side ? WDL_CYCLIC_TO : WDL_CYCLIC_FROM, rank);
            while (wdl_cyclic_next(&walk, &run)) {
                must_cmp(side ? run.to : run.from, ==, rank);
                must_cmp(run.count, >=, 1);
                must_cmp(run.g, >=, end);
                end = run.g + run.count;
                for (int64_t i = 0; i < run.count; i++, seen++) {
                    must_cmp(from.rank[run.g + i], ==, run.from);
                    must_cmp(to.rank[run.g + i], ==, run.to);
                    must_cmp(from.place[run.g + i], ==, run.from_place + i);
                    must_cmp(to.place[run.g + i], ==, run.to_place + i);
                }
                counts[side][rank][side ? run.from : run.to] += run.count;
            }
        }
        must_cmp(seen, ==, count);
    }
    for (int i = 0; i < ranks; i++)
        for (int j = 0; j < ranks; j++)
            must_cmp(counts[0][i][j], ==, counts[1][j][i]);
}

START_TEST(two_layouts)
{
    for (int ranks = 1; ranks <= 5; ranks++)
        for (int blk = 0; blk <= 4; blk++)
            for (int blk2 = 0; blk2 <= 4; blk2++)
                for (int off = 0; off < (blk ? blk * ranks + 1 : ranks); off++)
                    for (int off2 = 0; off2 < (blk2 ? blk2 * ranks + 1 : ranks); off2++)
                        for (int count = 0; count < 50; count += 1 + count / 4)
                            check_pair(ranks, (int[2]) { blk, off }, (int[2]) { blk2, off2 },
                                       count);
}
END_TEST

START_TEST(two_layouts_at_random)
{
    struct wdl_prng prng;
    wdl_prng_init(&prng, 5);
    for (int i = 0; i < 5000; i++) {
        int ranks = 1 + (int) wdl_prng_below(&prng, RANKS_MAX), pair[2][2];
        for (int j = 0; j < 2; j++) {
            pair[j][0] = (int) wdl_prng_below(&prng, 30);
            pair[j][1] = (int) wdl_prng_below(&prng, pair[j][0] ? 500 : (uint64_t) ranks);
        }
        check_pair(ranks, pair[0], pair[1], (int) wdl_prng_below(&prng, COUNT_MAX + 1));
    }
}
END_TEST

START_TEST(what_is_no_layout)
{
    struct wdl_cyclic l;
    ck_assert_int_eq(wdl_cyclic_init(&l, 0, 1, 0, 1), WDL_ERR_ARG);
    ck_assert_int_eq(wdl_cyclic_init(&l, 4, -1, 0, 1), WDL_ERR_ARG);
    ck_assert_int_eq(wdl_cyclic_init(&l, 4, 1, -1, 1), WDL_ERR_ARG);
    ck_assert_int_eq(wdl_cyclic_init(&l, 4, 1, 0, -1), WDL_ERR_ARG);
    ck_assert_int_eq(wdl_cyclic_init(&l, 4, 0, 4, 1), WDL_ERR_ARG);
    ck_assert_int_eq(wdl_cyclic_init(&l, 4, 0, 3, INT64_MAX), WDL_ERR_ARG);
    ck_assert_int_eq(wdl_cyclic_init(&l, 4, INT64_MAX / 2, 0, 1), WDL_ERR_ARG);
    ck_assert_int_eq(wdl_cyclic_init(&l, 3, (int64_t) 1 << 61, 0, 1), WDL_ERR_ARG);
    ck_assert_int_eq(wdl_cyclic_init(&l, 4, 1, INT64_MAX, 1), WDL_ERR_ARG);
    ck_assert_int_eq(wdl_cyclic_init(&l, 4, 1, (int64_t) 1 << 62, 1), WDL_ERR_ARG);
    ck_assert_int_eq(wdl_cyclic_init(&l, 4, 0, 3, 0), WDL_OK);
}
END_TEST

/* A layout near the limits: the arithmetic does not overflow. */
START_TEST(large_numbers)
{
    struct wdl_cyclic l;
    int64_t n = (int64_t) 1 << 61, place, sum = 0;
    ck_assert_int_eq(wdl_cyclic_init(&l, 1000, ((int64_t) 1 << 62) / 1000, n - 7, n), WDL_OK);
    for (int rank = 0; rank < 1000; rank++)
        sum += wdl_cyclic_local(&l, rank, &place);
    ck_assert_int_eq(sum, n);
    for (int64_t g = 0; g < n; g += n / 977) {
        int rank = wdl_cyclic_rank(&l, g);
        must_cmp(wdl_cyclic_element(&l, rank, wdl_cyclic_before(&l, rank, g)), ==, g);
    }
}
END_TEST

WDL_SUITE("coll/blockcyclic", layouts, two_layouts, two_layouts_at_random, what_is_no_layout,
          large_numbers)
