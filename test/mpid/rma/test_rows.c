/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/rows. */
#include <string.h>
#include "base/copy.h"
#include "mpid/rma/rows.h"
#include "support/suite.h"

/* Every length, into blocks and out of them, forwards and backwards: those bytes and no others. */
START_TEST(blocks_and_nothing_between)
{
    enum { MAX = 70, N = 5, ROOM = 3 * N * MAX };
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

/* What may be updated in place: whole elements in ascending order, aligned where an instruction
 * updates them. */
START_TEST(what_can_be_updated)
{
    static uint64_t memory[8];
    char *at = (char *) memory;
    const struct wdl_element u64 = {.basic = WDL_BASIC_U64, .packed_bytes = 8, .extent = 8},
        pair = {.basic = WDL_BASIC_WIDE, .packed_bytes = 12, .extent = 16};
    const struct wdl_rows can[] = {{at, 8, 8, 4}, {at, 16, 8, 4}, {at, 24, 16, 2}};
    const struct wdl_rows cannot[] = {{at, -8, 8, 4}, {at, 0, 8, 4}, {at, 8, 16, 2},
                                      {at + 4, 8, 8, 4}, {at, 12, 8, 4}, {at, 16, 12, 2}};
    const struct wdl_rows pairs[] = {{at, 16, 12, 4}, {at + 1, 12, 12, 4}, {at, 25, 24, 2}};
    const struct wdl_rows no_pairs[] = {{at, -16, 12, 3}, {at, 11, 12, 3}, {at, 16, 16, 2}};
    for (int i = 0; i < 3; i++) {
        ck_assert(wdl_rows_have(&can[i], &u64));
        ck_assert(wdl_rows_have(&pairs[i], &pair));
        ck_assert(!wdl_rows_have(&no_pairs[i], &pair));
    }
    for (int i = 0; i < 6; i++)
        ck_assert(!wdl_rows_have(&cannot[i], &u64));
}
END_TEST

static uint64_t stopped(void *ctx)
{
    (void) ctx;
    return 0;
}

/* From any byte on, any number of them, into a row and out of it, whatever a block's length: those
 * bytes and no others. */
START_TEST(parts_of_blocks)
{
    enum { MAX = 150, N = 5, GAP = 7, ROOM = N * (MAX + GAP) };
    static const int lengths[] = {1, 3, 8, 63, 64, 65, MAX};
    char memory[ROOM], row[N * MAX + 1], want[ROOM];
    struct wdl_bypass bypass;
    wdl_bypass_init(&bypass, stopped, NULL);
    for (unsigned k = 0; k < 2 * sizeof(lengths) / sizeof(lengths[0]); k++) {
        int64_t bytes = lengths[k / 2], stride = k % 2 ? -(bytes + GAP) : bytes + GAP;
        struct wdl_rows rows = {memory + (k % 2 ? (N - 1) * (bytes + GAP) : 0), stride,
                                (size_t) bytes, N};
        for (int64_t at = 0; at < N * bytes; at += 1 + at / 64)
            for (int64_t n = 1; at + n <= N * bytes; n += 1 + n / 7) {
                for (int i = 0; i < ROOM; i++)
                    memory[i] = (char) (i * 7 + 1);
                memset(row, 0, sizeof(row));
                wdl_rows_pack(&rows, (size_t) at, row, (size_t) n, &bypass);
                for (int64_t i = 0; i < n; i++)
                    want[i] = rows.base[(at + i) / bytes * stride + (at + i) % bytes];
                ck_assert_mem_eq(row, want, (size_t) n);
                ck_assert_int_eq(row[n], 0);
                memset(row, 77, sizeof(row));
                memcpy(want, memory, ROOM);
                for (int64_t i = 0; i < n; i++)
                    want[rows.base - memory + (at + i) / bytes * stride + (at + i) % bytes] = 77;
                wdl_rows_unpack(&rows, (size_t) at, row, (size_t) n);
                ck_assert_mem_eq(memory, want, ROOM);
            }
    }
}
END_TEST

/* The same of many bytes, which are gathered first where blocks are short. */
START_TEST(long_parts_of_blocks)
{
    enum { ALL = 5 * WDL_COPY_LONG, GAP = 24, ROOM = ALL / 8 * (8 + GAP) };
    static const size_t lengths[] = {8, 72, 1000, WDL_COPY_LONG - 1, WDL_COPY_LONG, ALL / 2, ALL};
    static char memory[ROOM], row[ALL + 1], want[ALL + 1];
    struct wdl_bypass bypass;
    wdl_bypass_init(&bypass, stopped, NULL);
    for (size_t i = 0; i < ROOM; i++)
        memory[i] = (char) (i * 7 + i / 251);
    for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
        size_t bytes = lengths[k], all = ALL / bytes * bytes;
        struct wdl_rows rows = {memory, (int64_t) (bytes + GAP), bytes, ALL / bytes};
        for (size_t at = 0; at < all; at += 1 + all / 7)
            for (size_t n = WDL_COPY_LONG - 1; at + n <= all; n += 1 + n / 3) {
                memset(row, 0, sizeof(row));
                memset(want, 0, sizeof(want));
                wdl_rows_pack(&rows, at, row, n, &bypass);
                for (size_t i = 0; i < n; i++)
                    want[i] = memory[(at + i) / bytes * (bytes + GAP) + (at + i) % bytes];
                ck_assert_mem_eq(row, want, sizeof(row));
            }
    }
}
END_TEST

WDL_SUITE("rma/rows", blocks_and_nothing_between, parts_of_blocks, long_parts_of_blocks,
          what_can_be_updated)
