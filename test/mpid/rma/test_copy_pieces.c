/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/copy: data in many pieces, and how many of them the system has to look up.
 */
#include <string.h>
#include "mpid/rma/copybed.h"
#include "support/suite.h"

/* One element of a type on both sides. */
static struct wdl_rma_args blocks(enum wdl_rma_kind kind, char *here, wdl_type type,
                                  struct test_host *host)
{
    struct wdl_rma_args args = test_get(1, 0, here, 0);
    args.kind = kind;
    args.origin = test_typed(host, here, 1, type);
    args.remote = test_typed(host, NULL, 1, type);
    return args;
}

/* Every piece of the target's in one call; a get of close ones, what is between them too, as one
 * piece, and nothing of it arrives. */
START_TEST(a_vector_is_one_call)
{
    static char here[8192], back[8192];
    struct bed bed;
    struct wdl_win_stats stats;
    bed_open(&bed, 0);
    struct test_host *host = &bed.w.rank[0].host;
    wdl_type type = test_type_vector(host, TEST_U64, 512, 1, 2);
    char *there = bed.w.rank[1].memory;
    for (int i = 0; i < 8192; i++)
        here[i] = (char) (i * 7 + 1);
    memset(there, 3, 8192);
    ck_assert_int_eq(operate(&bed, blocks(WDL_RMA_PUT, here, type, host)), WDL_OK);
    ck_assert_int_eq(mover.calls, 1);
    ck_assert_int_eq(mover.pieces, 512);
    for (int i = 0; i < 8192; i++)
        ck_assert_int_eq(there[i], i % 16 < 8 ? here[i] : 3);
    memset(back, 9, sizeof(back));
    mover.calls = 0;
    ck_assert_int_eq(operate(&bed, blocks(WDL_RMA_GET, back, type, host)), WDL_OK);
    ck_assert_int_eq(mover.calls, 1);
    ck_assert_int_eq(mover.pieces, 1);
    for (int i = 0; i < 8192; i++)
        ck_assert_int_eq(back[i], i % 16 < 8 ? here[i] : 9);
    wdl_win_stats_get(bed.win[0], &stats);
    ck_assert_uint_eq(stats.ops_copied, 2);
    test_type_end(host, type);
    bed_close(&bed);
}
END_TEST

/* A get reads 2 KiB in vain to save a piece, and no more. */
START_TEST(what_lies_apart_is_read_apart)
{
    static const int blocks[2] = {8, 8};
    char back[16];
    struct bed bed;
    bed_open(&bed, 0);
    struct test_host *host = &bed.w.rank[0].host;
    for (int gap = 2047; gap <= 2049; gap++) {
        int displs[2] = {64, 72 + gap};
        wdl_type type = test_type_indexed(host, TEST_U8, 2, blocks, displs);
        struct wdl_rma_args get = test_get(1, 1, back, 16);
        memset(bed.w.rank[1].memory + 8 + 64, gap, 8);
        memset(bed.w.rank[1].memory + 8 + 72 + gap, gap + 1, 8);
        get.remote = test_typed(host, NULL, 1, type);
        mover.calls = 0;
        ck_assert_int_eq(operate(&bed, get), WDL_OK);
        ck_assert_int_eq(mover.calls, 1);
        ck_assert_int_eq(mover.pieces, gap <= 2048 ? 1 : 2);
        for (int i = 0; i < 16; i++)
            ck_assert_int_eq(back[i], (char) (gap + i / 8));
        test_type_end(host, type);
    }
    bed_close(&bed);
}
END_TEST

/* What is between the pieces may be no memory: then they are read one by one, and what is wrong
 * with them is said. */
START_TEST(holes_that_cannot_be_read_are_left_out)
{
    static char back[8192];
    struct bed bed;
    bed_open(&bed, 0);
    struct test_host *host = &bed.w.rank[0].host;
    wdl_type type = test_type_vector(host, TEST_U64, 512, 1, 2);
    struct wdl_rma_args get = blocks(WDL_RMA_GET, back, type, host);
    memset(bed.w.rank[1].memory, 5, 8192);
    mover.fail_at = 1;
    ck_assert_int_eq(operate(&bed, get), WDL_OK);
    ck_assert_int_eq(mover.calls, 2);
    ck_assert_int_eq(mover.pieces, 512);
    for (int i = 0; i < 8192; i++)
        ck_assert_int_eq(back[i], i % 16 < 8 ? 5 : 0);
    get.origin = test_bytes(back, 4095); /* shorter than what is to be read */
    mover.calls = mover.fail_at = 0;
    ck_assert_int_eq(operate(&bed, get), WDL_ERR_TRUNCATE);
    ck_assert_int_eq(mover.calls, 0);
    test_type_end(host, type);
    bed_close(&bed);
}
END_TEST

/* Where messages are served, more than 32 short pieces go by message: a put's always, a get's that
 * are not close. */
START_TEST(many_short_pieces_go_by_message)
{
    static const struct {
        enum wdl_rma_kind kind;
        int pieces, block, stride, copied;
    } rows[] = {
        {WDL_RMA_PUT, 32, 8, 16, 1},      {WDL_RMA_PUT, 33, 8, 16, 0},
        {WDL_RMA_PUT, 33, 1024, 1025, 0}, {WDL_RMA_PUT, 33, 1025, 1026, 1},
        {WDL_RMA_GET, 33, 8, 1900, 1},    {WDL_RMA_GET, 33, 8, 2100, 0},
        {WDL_RMA_GET, 32, 8, 2100, 1},    {WDL_RMA_GET, 33, 1025, 1030, 1},
        {WDL_RMA_GET, 80, 800, 840, 0}, /* close, but more than is read at once */
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static char here[BYTES], want[BYTES];
        struct bed bed;
        struct wdl_win_stats stats;
        bed_open_as(&bed, (struct bed_kind){.attended = 1});
        struct test_host *host = &bed.w.rank[0].host;
        int put = rows[i].kind == WDL_RMA_PUT;
        char *there = bed.w.rank[1].memory, *to = put ? there : here, *from = put ? here : there;
        wdl_type type = test_type_vector(host, TEST_U8, rows[i].pieces, rows[i].block,
                                         rows[i].stride);
        for (int k = 0; k < BYTES; k++)
            here[k] = there[k] = (char) (k * 7);
        memset(from, 77, BYTES);
        memcpy(want, to, BYTES);
        for (int k = 0; k < rows[i].pieces; k++)
            memset(want + k * rows[i].stride, 77, (size_t) rows[i].block);
        struct wdl_rma_args args = blocks(rows[i].kind, here, type, host);
        ck_assert_int_eq(operate(&bed, args), WDL_OK);
        TEST_DONE(&bed.w, wdl_win_flush(bed.win[0], 1, 0, &bed.step));
        ck_assert_mem_eq(to, want, BYTES);
        wdl_win_stats_get(bed.win[0], &stats);
        ck_assert_uint_eq(stats.ops_copied, (unsigned) rows[i].copied);
        ck_assert_uint_eq(stats.ops_message, !rows[i].copied);
        ck_assert_int_eq(mover.calls, rows[i].copied);
        test_type_end(host, type);
        bed_end(&bed);
    }
}
END_TEST

WDL_SUITE("rma/copy, pieces", a_vector_is_one_call, what_lies_apart_is_read_apart,
          holes_that_cannot_be_read_are_left_out, many_short_pieces_go_by_message)
