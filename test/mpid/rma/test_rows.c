/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/rows. */
#include <string.h>
#include "mpid/rma/rows.h"
#include "support/suite.h"

/* Every length, into blocks and out of them, forwards and backwards: those bytes and no others. */
START_TEST(blocks_and_nothing_between)
{
    enum { MAX = 40, N = 5, ROOM = 3 * N * MAX };
    char from[ROOM], to[ROOM], want[ROOM];
    for (int i = 0; i < ROOM; i++)
        from[i] = (char) (i % 127 + 1);
    for (int64_t bytes = 1; bytes <= MAX; bytes++)
        for (int64_t gap = 0; gap < 3; gap++)
            for (int back = 0; back < 2; back++) {
                int64_t stride = back ? -(bytes + gap) : bytes + gap;
                struct wdl_rows apart = {to + (back ? 2 * N * MAX : 0), stride, (size_t) bytes, N};
                struct wdl_rows packed = wdl_rows_packed(from, &apart);
                memset(to, 0, ROOM);
                memset(want, 0, ROOM);
                for (int64_t i = 0; i < N; i++)
                    memcpy(want + (apart.base - to) + i * stride, from + i * bytes, (size_t) bytes);
                wdl_rows_copy(&apart, &packed);
                ck_assert_mem_eq(to, want, ROOM);
                char again[N * MAX + 1] = "";
                packed.base = again;
                wdl_rows_copy(&packed, &apart);
                ck_assert_mem_eq(again, from, (size_t) (N * bytes));
                ck_assert_int_eq(again[N * bytes], 0);
            }
}
END_TEST

/* What may be updated in place: whole, aligned elements in ascending order. */
START_TEST(what_can_be_updated)
{
    static uint64_t memory[8];
    char *at = (char *) memory;
    const struct wdl_element u64 = {.basic = WDL_BASIC_U64, .packed_bytes = 8, .extent = 8},
        none = {.basic = WDL_BASIC_NONE, .packed_bytes = 8, .extent = 8};
    const struct wdl_rows can[] = {{at, 8, 8, 4}, {at, 16, 8, 4}, {at, 24, 16, 2}};
    const struct wdl_rows cannot[] = {{at, -8, 8, 4}, {at, 0, 8, 4}, {at, 8, 16, 2},
                                      {at + 4, 8, 8, 4}, {at, 12, 8, 4}, {at, 16, 12, 2}};
    for (int i = 0; i < 3; i++) {
        ck_assert(wdl_rows_have(&can[i], &u64));
        ck_assert(!wdl_rows_have(&can[i], &none));
    }
    for (int i = 0; i < 6; i++)
        ck_assert(!wdl_rows_have(&cannot[i], &u64));
}
END_TEST

WDL_SUITE("rma/rows", blocks_and_nothing_between, what_can_be_updated)
