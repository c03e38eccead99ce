/* Part of Windlass. See COPYRIGHT in the top-level directory. */
#include "base/smooth.h"
#include "support/suite.h"

START_TEST(the_first_is_believed)
{
    ck_assert_uint_eq(wdl_smoothed(0, 700, 4), 700);
    ck_assert_uint_eq(wdl_smoothed(0, 0, 4), 1); /* 0 would be: not known */
    ck_assert_uint_eq(wdl_smoothed(1, 0, 4), 1);
}
END_TEST

START_TEST(others_by_a_part)
{
    ck_assert_uint_eq(wdl_smoothed(1000, 1400, 4), 1100);
    ck_assert_uint_eq(wdl_smoothed(1000, 600, 4), 900);
    ck_assert_uint_eq(wdl_smoothed(1000, 1001, 2), 1001);
}
END_TEST

START_TEST(one_alone_says_little)
{
    ck_assert_uint_eq(wdl_smoothed(1000, 1000000, 4), 1250); /* as 2000 would */
    ck_assert_uint_eq(wdl_smoothed(1000, 1, 4), 875);   /* as 500 */
    ck_assert_uint_eq(wdl_smoothed(0, UINT64_MAX, 4), UINT32_MAX / 4);
    uint32_t ns = 1;
    for (int k = 0; k < 100; k++)
        ns = wdl_smoothed(ns, UINT64_MAX, 2);
    ck_assert_uint_eq(ns, UINT32_MAX / 4);
}
END_TEST

WDL_SUITE("base/smooth", the_first_is_believed, others_by_a_part, one_alone_says_little)
