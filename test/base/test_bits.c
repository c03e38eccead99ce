/* Part of Windlass. See COPYRIGHT in the top-level directory. */
#include "base/bits.h"
#include "support/suite.h"

enum { N = 19 };

/* Each number by itself, in a set of no more bytes than it says. */
START_TEST(one_of_them)
{
    for (unsigned i = 0; i < N; i++) {
        unsigned char set[4] = {0, 0, 0, 0x5a};
        ck_assert_uint_eq(wdl_bits_bytes(N), 3);
        wdl_bits_add(set, i);
        for (unsigned k = 0; k < N; k++)
            ck_assert_int_eq(wdl_bits_have(set, k), k == i);
        wdl_bits_add(set, i);
        wdl_bits_add(set, (i + 1) % N);
        wdl_bits_drop(set, i);
        for (unsigned k = 0; k < N; k++)
            ck_assert_int_eq(wdl_bits_have(set, k), k == (i + 1) % N);
        ck_assert_uint_eq(set[3], 0x5a);
    }
}
END_TEST

START_TEST(none_at_all)
{
    ck_assert_int_eq(wdl_bits_have(NULL, 7), 0);
    wdl_bits_drop(NULL, 7);
    ck_assert_uint_eq(wdl_bits_bytes(0), 0);
    ck_assert_uint_eq(wdl_bits_bytes(8), 1);
    ck_assert_uint_eq(wdl_bits_bytes(9), 2);
}
END_TEST

WDL_SUITE("base/bits", one_of_them, none_at_all)
