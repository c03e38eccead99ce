/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/mailserve: operations that stop half way, and what a target makes of a cell full of
 * nonsense.
 */
#include <string.h>
#include "mpid/rma/copybed.h"
#include "mpid/rma/win_impl.h"
#include "support/suite.h"

static const uint64_t one = 1;

/* Their origin says anything, or they are not all in the window: refused there, and judged as any
 * other operation. */
START_TEST(blocks_are_checked)
{
    enum { N = 10 };
    struct bed bed;
    uint64_t from[N] = {1};
    bed_open_mail(&bed);
    struct test_host *host = &bed.w.rank[0].host;
    wdl_type type = test_type_vector(host, TEST_U64, N, 1, 2);
    for (int what = 0; what < 6; what++) {
        struct wdl_mail *mail = bed_cell(&bed, 1);
        struct wdl_rma_args put = test_put(1, 5, from, 8 * N);
        put.remote = test_typed(host, NULL, 1, type);
        ck_assert_int_eq(operate(&bed, put), WDL_OK);
        ck_assert(mail->is_rows);
        mail->rows.stride = what == 0 ? INT64_MAX / 4 : what == 1 ? -16 :
            what == 2 ? BYTES : mail->rows.stride;
        mail->rows.count = what == 3 ? N + 1 : mail->rows.count;
        mail->bytes = what == 4 ? WDL_MAIL_BYTES : mail->bytes;
        mail->kind = what == 5 ? WDL_RMA_CAS : mail->kind;
        bed_served(&bed, 1);
        ck_assert_uint_eq(bed_word(&bed, 1, 5), 0);
        TEST_DONE(&bed.w, bed_flush(&bed, 1));
        ck_assert_uint_eq(bed_word(&bed, 1, 5), 1);
        memset(bed.w.rank[1].memory, 0, BYTES);
    }
    test_type_end(host, type);
    bed_end(&bed);
}
END_TEST

/* Pairs with gaps are such blocks, an element each, whose operands come without gaps. */
START_TEST(pairs_are_blocks)
{
    struct bed bed;
    struct test_double_int from[80], *memory;
    bed_open_mail(&bed);
    struct test_host *host = &bed.w.rank[0].host;
    memory = (struct test_double_int *) (void *) bed.w.rank[1].memory;
    for (int n = 1; n <= 72; n += n < 8 ? 1 : 32) {
        for (int i = 0; i < n; i++) {
            from[i] = (struct test_double_int){i % 3, i};
            memset(&memory[i], 0x33, sizeof(memory[i]));
            memory[i].value = 1;
            memory[i].index = 500;
        }
        struct wdl_mail *mail = bed_cell(&bed, 1);
        struct wdl_rma_args acc = test_acc(1, 0, WDL_ROP_MAXLOC, TEST_DOUBLE_INT, n, from, NULL);
        acc.origin = test_typed(host, from, n, TEST_DOUBLE_INT);
        acc.remote = test_typed(host, NULL, n, TEST_DOUBLE_INT);
        ck_assert_int_eq(operate(&bed, acc), WDL_OK);
        ck_assert_int_eq(bed.win[0]->mailbox.mail && mail->is_rows, n > 1);
        if (n > 1)
            bed_served(&bed, 1);
        TEST_DONE(&bed.w, bed_flush(&bed, 1));
        for (int i = 0; i < n; i++) {
            ck_assert(memory[i].value == (i % 3 == 2 ? 2 : 1));
            ck_assert_int_eq(memory[i].index, i % 3 == 0 ? 500 : i);
            ck_assert_mem_eq((char *) &memory[i] + 12, "\x33\x33\x33\x33", 4);
        }
    }
    bed_end(&bed);
}
END_TEST

/* A cell says anything: it is refused, and nothing is touched. */
START_TEST(nonsense_is_refused)
{
    struct bed bed;
    bed_open_mail(&bed);
    for (int what = 0; what < 7; what++) {
        struct wdl_mail *mail = bed_cell(&bed, 1);
        ck_assert_int_eq(operate(&bed, test_acc(1, 0, WDL_ROP_SUM, TEST_U64, 1, &one, NULL)),
                         WDL_OK);
        ck_assert(bed.win[0]->mailbox.mail == mail);
        mail->kind = what == 0 ? WDL_MAIL_KINDS : what == 1 ? 255 : mail->kind;
        mail->bytes = what == 2 ? WDL_MAIL_AREA + 1 : what == 3 ? 0 : mail->bytes;
        mail->origin = what == 4 ? RANKS : mail->origin;
        mail->host_type = what == 5 ? 0xdead : mail->host_type;
        mail->disp = what == 6 ? INT64_MAX : mail->disp;
        bed_served(&bed, 1);
        ck_assert(wdl_status_is_error(bed_flush(&bed, 1)));
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
        ck_assert_uint_eq(bed_word(&bed, 1, 0), 0);
    }
    bed_close(&bed);
}
END_TEST

/* An element whose lock another process holds: it goes on when it can, once. */
START_TEST(an_operation_goes_on_where_it_was)
{
    struct bed bed;
    const long double half = 0.5L;
    long double sum = 0;
    bed_open_as(&bed, (struct bed_kind){.dynamic = 2, .mail = 1});
    int64_t there = attach(&bed, 1, 0, 64);
    uint64_t *stripes = &bed.w.control[1].stripes;
    ck_assert_int_eq(operate(&bed, test_acc(1, there, WDL_ROP_SUM, TEST_LD, 1, &half, NULL)),
                     WDL_OK);
    ck_assert(bed.win[0]->mailbox.mail);
    *stripes = UINT64_MAX;
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 0);
    for (int i = 0; i < 2 * WDL_MAIL_LOOKS; i++)
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
    *stripes = 0;
    bed_served(&bed, 1);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    memcpy(&sum, bed.w.rank[1].memory, sizeof(sum));
    ck_assert(sum == half);
    bed_close(&bed);
}
END_TEST

/* Memory of a dynamic window that is mapped is changed behind what was handed over. */
START_TEST(what_is_mapped_stays_behind)
{
    struct bed bed;
    uint64_t old = 0;
    bed_open_as(&bed, (struct bed_kind){.dynamic = 2, .mail = 1});
    int64_t plain = attach(&bed, 1, 0, 64);
    ck_assert_int_eq(operate(&bed, test_acc(1, plain, WDL_ROP_SUM, TEST_U64, 1, &one, NULL)),
                     WDL_OK);
    ck_assert(bed.win[0]->mailbox.mail);
    struct wdl_region offered = {.base = (uint64_t) (uintptr_t) bed.w.rank[1].memory + 1024,
                                 .bytes = 64, .offer = 1, .serial = 9};
    ck_assert_int_eq(wdl_win_attach_region(bed.win[1], &offered), WDL_OK);
    ck_assert_int_eq(TEST_WAIT(&bed.w, operate(&bed, test_acc(1, (int64_t) offered.base,
                                                              WDL_ROP_SUM, TEST_U64, 1, &one,
                                                              &old))), WDL_OK);
    ck_assert(!bed.win[0]->mailbox.mail);
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 1);
    TEST_DONE(&bed.w, bed_flush(&bed, 1));
    ck_assert_int_gt(view.calls, 0);
    bed_end(&bed);
}
END_TEST

/* One that is half done, since somebody is in the next region, goes on later, and its old values
 * are all there. */
START_TEST(half_done_ones_go_on)
{
    struct bed bed;
    const uint64_t add[4] = {1, 2, 3, 4}, before[4] = {10, 20, 30, 40};
    uint64_t old[4] = {0}, now[4];
    bed_open_as(&bed, (struct bed_kind){.dynamic = 2, .mail = 1});
    char *memory = bed.w.rank[1].memory;
    uintptr_t regions = ((uintptr_t) memory + 64) / WDL_REGION_BYTES + 1;
    char *border = (char *) (regions * WDL_REGION_BYTES);
    struct wdl_win_control *control = &bed.w.control[1];
    int64_t there = attach(&bed, 1, (int) (border - 16 - memory), 32);
    memcpy(border - 16, before, sizeof(before));
    control->bulk_mode = WDL_BULK_MODE;
    control->bulk[regions % WDL_WIN_REGIONS] = 1;
    ck_assert_int_eq(operate(&bed, test_acc(1, there, WDL_ROP_SUM, TEST_U64, 4, add, old)), WDL_OK);
    for (int looks = 0; looks < 3; looks++)
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 0);
    memcpy(now, border - 16, sizeof(now));
    ck_assert(now[0] == 11 && now[1] == 22 && now[2] == 30 && now[3] == 40);
    control->bulk[regions % WDL_WIN_REGIONS] = 0;
    bed_served(&bed, 1);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    memcpy(now, border - 16, sizeof(now));
    for (int i = 0; i < 4; i++) {
        ck_assert_uint_eq(old[i], before[i]);
        ck_assert_uint_eq(now[i], before[i] + add[i]);
    }
    bed_close(&bed);
}
END_TEST

WDL_SUITE("rma/mailserve", blocks_are_checked, pairs_are_blocks, nonsense_is_refused,
          an_operation_goes_on_where_it_was, what_is_mapped_stays_behind, half_done_ones_go_on)
