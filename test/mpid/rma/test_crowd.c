/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/crowd. */
#include "mpid/rma/crowd.h"
#include <string.h>
#include "support/suite.h"

/* So many updates one after the other: how many of them close the region. */
static int closing(struct wdl_crowd *crowd, struct wdl_win_control *control, int place, int n)
{
    int closed = 0;
    for (int i = 0; i < n; i++)
        if (!wdl_crowd_is(crowd)) {
            wdl_crowd_closed(crowd, control, place);
            closed++;
        }
    return closed;
}

START_TEST(who_is_alone_closes)
{
    struct wdl_win_control control = {.bulk_by = 0};
    struct wdl_crowd crowd = {0};
    ck_assert_int_eq(closing(&crowd, &control, 0, 1000), 1000);
    ck_assert_uint_eq(control.bulk_by, 1);
    ck_assert_uint_eq(crowd.span, 0);
}
END_TEST

/* Whoever closes after somebody else goes the other way, twice as long each time in a row. */
START_TEST(who_meets_others_goes_the_other_way)
{
    struct wdl_win_control control = {.bulk_by = 2};
    struct wdl_crowd crowd = {0};
    uint32_t span = WDL_CROWD_LEAST;
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(closing(&crowd, &control, 0, 1), 1);
        ck_assert_uint_eq(control.bulk_by, 1);
        ck_assert_uint_eq(crowd.left, span);
        ck_assert_int_eq(closing(&crowd, &control, 0, (int) span), 0);
        span = 2 * span < WDL_CROWD_MOST ? 2 * span : WDL_CROWD_MOST;
        control.bulk_by = 2;
    }
    ck_assert_uint_eq(span, WDL_CROWD_MOST);
    wdl_crowd_met(&crowd);      /* it could not close */
    ck_assert_int_eq(closing(&crowd, &control, 0, WDL_CROWD_MOST), 0);
}
END_TEST

/* Who has been alone for a while begins as one who has met nobody; not before. */
START_TEST(who_is_alone_again)
{
    for (int alone = WDL_CROWD_ALONE - 1; alone <= WDL_CROWD_ALONE; alone++) {
        struct wdl_win_control control = {.bulk_by = 1};
        struct wdl_crowd crowd = {0};
        for (int i = 0; i < 3; i++)
            wdl_crowd_met(&crowd);
        crowd.left = 0;
        ck_assert_int_eq(closing(&crowd, &control, 0, WDL_CROWD_ALONE - 1), WDL_CROWD_ALONE - 1);
        wdl_crowd_met(&crowd);  /* those do not count any more */
        crowd.left = 0;
        ck_assert_int_eq(closing(&crowd, &control, 0, alone), alone);
        wdl_crowd_met(&crowd);
        ck_assert_uint_eq(crowd.left, WDL_CROWD_LEAST * (alone == WDL_CROWD_ALONE ? 1 : 16));
    }
}
END_TEST

/* Two by turns come to one try in so many. */
START_TEST(two_by_turns)
{
    struct wdl_win_control control = {.bulk_by = 0};
    struct wdl_crowd crowd[2];
    int closed = 0;
    memset(crowd, 0, sizeof(crowd));
    for (int i = 0; i < 400000; i++)
        closed += closing(&crowd[i % 2], &control, i % 2, 1);
    ck_assert_int_lt(closed, 150);
    ck_assert_int_gt(closed, 2);
    ck_assert_int_eq(closing(&crowd[0], &control, 0, 100000) > 90000, 1);  /* the other has gone */
}
END_TEST

/* How many updates of n elements until the mode is to be raised, with `others` operations beside
 * each; -1: not in a million instructions. */
static long until_raised(struct wdl_crowd *crowd, size_t n, uint64_t others)
{
    uint64_t ops = crowd->ops;
    for (long i = 1; i * ((long) n - 1) <= 1000000; i++) {
        ops += 1 + others;
        if (!wdl_crowd_is(crowd) && wdl_crowd_raises(crowd, n, ops))
            return i;
    }
    return -1;
}

/* The first that is looked at when so many have been saved. */
static long looked_at(long saved, long n)
{
    return (saved / (n - 1) / WDL_CROWD_SAMPLE - 1) * WDL_CROWD_SAMPLE + 1;
}

START_TEST(few_raise_the_mode)
{
    struct wdl_crowd crowd = {0};
    ck_assert_int_eq(until_raised(&crowd, 2, 0), looked_at(WDL_CROWD_RAISE, 2));
    ck_assert_uint_eq(crowd.saved + crowd.few + crowd.left, 0);
    ck_assert_int_eq(until_raised(&crowd, 5, 0), looked_at(WDL_CROWD_RAISE, 5));
    /* not where others lose more by it */
    for (uint64_t others = 0; others < 8; others++) {
        crowd = (struct wdl_crowd){0};
        ck_assert_int_eq(until_raised(&crowd, 7, others) > 0, others * WDL_CROWD_COST <= 6);
    }
    /* of late */
    enum { ENOUGH = WDL_CROWD_RAISE / WDL_CROWD_SAMPLE + 1 };
    for (uint64_t ops = 0; ops < 3; ops++) {
        crowd = (struct wdl_crowd){.ops = 1000};
        uint64_t most = WDL_CROWD_RAISE / WDL_CROWD_COST + WDL_CROWD_SAMPLE;
        ck_assert_int_eq(wdl_crowd_raises(&crowd, ENOUGH, 1000 + most - 1 + ops), ops < 2);
        ck_assert_uint_eq(crowd.ops, 1000 + most - 1 + ops);
        ck_assert_uint_eq(crowd.left, ops < 2 ? 0 : WDL_CROWD_SAMPLE - 1);
    }
    /* later where others have been met */
    crowd = (struct wdl_crowd){0};
    for (int more = 0; more < 4; more++) {
        wdl_crowd_met(&crowd);
        crowd.left = 0;
        ck_assert_int_eq(until_raised(&crowd, 2, 0),
                         looked_at(WDL_CROWD_RAISE * (1 + (1 << more)), 2));
    }
}
END_TEST

WDL_SUITE("rma/crowd", who_is_alone_closes, who_meets_others_goes_the_other_way, who_is_alone_again,
          two_by_turns, few_raise_the_mode)
