/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/array. */
#include "mpid/rma/array.h"
#include "host/testhost.h"
#include "support/suite.h"

enum { FEW = 4, MANY = 1000 };

static void check(const struct wdl_array *a, int used)
{
    const int *items = a->items;
    for (int i = 0; i < used; i++)
        ck_assert_int_eq(items[i], 7 * i);
}

static void push(struct wdl_array *a, int used)
{
    ck_assert_int_eq(wdl_array_grow(a, used), WDL_OK);
    ((int *) a->items)[used] = 7 * used;
}

START_TEST(it_keeps_what_is_in_it_and_no_more_than_four_times_that)
{
    struct test_host host;
    struct wdl_array a;
    int few[FEW];
    test_host_init(&host);
    wdl_array_init(&a, &host.host, few, FEW, sizeof(few[0]));
    for (int round = 0; round < 3; round++) {
        for (int used = 0; used < MANY; used++) {
            push(&a, used);
            check(&a, used + 1);
            ck_assert_int_le(a.room, used < FEW ? FEW : 2 * used);
            ck_assert_uint_eq(wdl_array_memory(&a), host.bytes);
        }
        for (int used = MANY; used-- > 0;) {
            wdl_array_trim(&a, used);
            check(&a, used);
            ck_assert_int_le(a.room, used < FEW ? 2 * FEW : 4 * used);
            ck_assert_uint_eq(wdl_array_memory(&a), host.bytes);
        }
        ck_assert_ptr_eq(a.items, few);
        ck_assert_int_eq(host.live, 0);
    }
    /* twice or half at a time */
    ck_assert_uint_le(host.allocations, 3 * 2 * 8);
    wdl_array_fini(&a);
}
END_TEST

START_TEST(a_few_need_no_memory)
{
    struct test_host host;
    struct wdl_array a;
    int few[FEW];
    test_host_init(&host);
    wdl_array_init(&a, &host.host, few, FEW, sizeof(few[0]));
    for (int round = 0; round < 3; round++) {
        for (int used = 0; used < FEW; used++)
            push(&a, used);
        for (int used = FEW; used >= 0; used--)
            wdl_array_trim(&a, used);
    }
    ck_assert_uint_eq(host.allocations, 0);
    wdl_array_fini(&a);
}
END_TEST

START_TEST(without_memory_it_stays_as_it_is)
{
    struct test_host host;
    struct wdl_array a;
    int few[FEW];
    test_host_init(&host);
    wdl_array_init(&a, &host.host, few, FEW, sizeof(few[0]));
    for (int used = 0; used < 8 * FEW; used++)
        push(&a, used);
    host.fail_after = 1;
    ck_assert_int_eq(wdl_array_grow(&a, 8 * FEW), WDL_ERR_NOMEM);
    check(&a, 8 * FEW);
    wdl_array_trim(&a, 2 * FEW);        /* a smaller one is memory, too */
    ck_assert_int_eq(a.room, 8 * FEW);
    check(&a, 2 * FEW);
    host.fail_after = 0;
    wdl_array_trim(&a, FEW);
    ck_assert_int_eq(a.room, 2 * FEW);
    check(&a, FEW);
    wdl_array_fini(&a);
    ck_assert_ptr_eq(a.items, few);
}
END_TEST

WDL_SUITE("rma/array", it_keeps_what_is_in_it_and_no_more_than_four_times_that,
          a_few_need_no_memory, without_memory_it_stays_as_it_is)
