/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of base/prng. */
#include "base/prng.h"
#include "support/suite.h"

START_TEST(the_seed_decides)
{
    struct wdl_prng a, b, c;
    int same = 0;
    wdl_prng_init(&a, 7);
    wdl_prng_init(&b, 7);
    wdl_prng_init(&c, 8);
    for (int i = 0; i < 100; i++) {
        uint64_t x = wdl_prng_next(&a);
        ck_assert_uint_eq(x, wdl_prng_next(&b));
        same += x == wdl_prng_next(&c);
    }
    ck_assert_int_eq(same, 0);
}
END_TEST

START_TEST(below_reaches_all_and_no_more)
{
    struct wdl_prng a;
    int seen[7] = { 0 };
    wdl_prng_init(&a, 0);
    for (int i = 0; i < 7000; i++) {
        uint64_t x = wdl_prng_below(&a, 7);
        ck_assert_uint_lt(x, 7);
        seen[x]++;
    }
    for (int i = 0; i < 7; i++)
        ck_assert_int_gt(seen[i], 700);
}
END_TEST

START_TEST(chance_is_a_share_of_a_thousand)
{
    struct wdl_prng a;
    int n = 0;
    wdl_prng_init(&a, 3);
    for (int i = 0; i < 10000; i++) {
        ck_assert(!wdl_prng_chance(&a, 0));
        ck_assert(wdl_prng_chance(&a, 1000));
        n += wdl_prng_chance(&a, 250);
    }
    ck_assert_int_gt(n, 2200);
    ck_assert_int_lt(n, 2800);
}
END_TEST

WDL_SUITE("base/prng", the_seed_decides, below_reaches_all_and_no_more,
          chance_is_a_share_of_a_thousand)
