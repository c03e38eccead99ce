/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/bag. */
#include <string.h>
#include "mpid/rma/copybed.h"
#include "mpid/rma/win_impl.h"
#include "support/suite.h"

static const uint64_t one = 1, five = 5;

static struct wdl_rma_args add_u64(int target, int64_t disp, const uint64_t *value)
{
    return test_acc(target, disp, WDL_ROP_SUM, TEST_U64, 1, value, NULL);
}

static void open_as(struct bed *bed, int dynamic)
{
    bed_open_as(bed, (struct bed_kind){.mail = 1, .dynamic = dynamic});
}

/* Where processes outnumber processors there are no mailboxes. */
static void open_crowded(struct bed *bed, int dynamic)
{
    bed_open_as(bed, (struct bed_kind){.dynamic = dynamic});
    bed->win[0]->params.crowded = 1;
}

/* One cell for all of them, in their order: no message, no call of the system. */
START_TEST(many_are_one_cell)
{
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        enum { N = 20 };
        struct bed bed;
        uint64_t value[N];
        open_as(&bed, dynamic);
        int64_t at = dynamic ? attach(&bed, 1, 0, N * 8) : 0, unit = dynamic ? 8 : 1;
        for (int i = 0; i < N; i++) {
            value[i] = (uint64_t) i + 1;
            ck_assert_int_eq(operate(&bed, add_u64(1, at + i % 7 * unit, &value[i])), WDL_OK);
        }
        ck_assert_uint_eq(bed_word(&bed, 1, 0), 0);
        bed_done_there(&bed, 1);
        for (int i = 0; i < N; i++)
            ck_assert_int_eq(operate(&bed, test_acc(1, at, WDL_ROP_REPLACE, TEST_U64, 1, &value[i],
                                                    NULL)), WDL_OK);
        bed_done_there(&bed, 1);
        ck_assert_uint_eq(bed_word(&bed, 1, 0), N);
        for (int i = 1; i < 7; i++)
            ck_assert_uint_eq(bed_word(&bed, 1, i),
                              i < 6 ? 3u * ((unsigned) i + 1) + 21 : 7u + 14);
        ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 2 * N);
        ck_assert_uint_eq(bed_stats(&bed).ops_message, 0);
        ck_assert_int_eq(mover.calls, 0);
        bed_close(&bed);
    }
}
END_TEST

/* Another operator, element, length or target, and one more than it holds: what is in it first. */
START_TEST(what_is_different_waits_for_it)
{
    const uint32_t half[2] = {1, 1};
    const struct wdl_rma_args others[] = {
        test_acc(1, 0, WDL_ROP_BOR, TEST_U64, 1, &one, NULL),
        test_acc(1, 0, WDL_ROP_SUM, TEST_U32, 2, half, NULL),
        test_acc(1, 0, WDL_ROP_SUM, TEST_U64, 2, (uint64_t[]){1, 0}, NULL),
        add_u64(1, 0, &one), test_acc(1, 0, WDL_ROP_SUM, TEST_U64, 1, &one, &(uint64_t){0}),
        test_put(1, 4, &one, 8)};
    for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++) {
        struct bed bed;
        uint64_t n = k == 3 ? WDL_BAG_OPS : 3;
        open_as(&bed, 0);
        for (uint64_t i = 0; i < n; i++)
            ck_assert_int_eq(operate(&bed, add_u64(1, 0, &five)), WDL_OK);
        ck_assert_int_eq(operate(&bed, others[k]), WDL_AGAIN);
        ck_assert_uint_eq(bed_word(&bed, 1, 0), 0);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert_uint_eq(bed_word(&bed, 1, 0), 5 * n);
        ck_assert_int_eq(operate(&bed, others[k]), WDL_OK);
        TEST_DONE(&bed.w, bed_flush(&bed, 1));
        uint64_t add = k == 0 ? (5 * n | 1) - 5 * n : k == 1 ? UINT64_C(1) << 32 | 1 : k < 5;
        ck_assert_uint_eq(bed_word(&bed, 1, 0), 5 * n + add);
        bed_end(&bed);
    }
}
END_TEST

/* So many of each length as fit are one cell, and the next one waits for it; none is a message. */
START_TEST(longer_ones_are_fewer)
{
    static const size_t lengths[] = {8, 32, 40, 64, 200, 256, 264};
    enum { WORDS = 33 };
    for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
        struct bed bed;
        uint64_t in[WORDS];
        size_t words = lengths[k] / 8, most = wdl_bag_most(lengths[k]);
        int fits = lengths[k] <= WDL_BAG_EACH, n = 0;
        open_as(&bed, 0);
        for (size_t w = 0; w < words; w++)
            in[w] = w + 1;
        struct wdl_rma_args args = test_acc(1, 3, WDL_ROP_SUM, TEST_U64, (int) words, in, NULL);
        while (n < 300 && operate(&bed, args) == WDL_OK)
            n++;
        ck_assert_int_eq(n, fits ? (int) most : 1);
        ck_assert_uint_le(WDL_BAG_OPS * 8 + most * lengths[k], WDL_MAIL_AREA);
        bed_done_there(&bed, 1);
        for (size_t w = 0; w < words; w++)
            ck_assert_uint_eq(bed_word(&bed, 1, 3 + (int64_t) w), (uint64_t) n * (w + 1));
        ck_assert_uint_eq(bed_word(&bed, 1, 3 + (int64_t) words), 0);
        ck_assert_uint_eq(bed_stats(&bed).ops_message, 0);
        ck_assert_uint_eq(bed_stats(&bed).ops_mailed, (uint64_t) n);
        bed_end(&bed);
    }
}
END_TEST

/* For another target meanwhile, by message; each rank has its own. */
START_TEST(others_are_not_kept_waiting)
{
    struct bed bed;
    open_as(&bed, 0);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(operate(&bed, add_u64(1 + i % 2, 0, &one)), WDL_OK);
    TEST_DONE(&bed.w, wdl_win_flush(bed.win[0], -1, 0, &bed.step));
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 3);
    ck_assert_uint_eq(bed_word(&bed, 2, 0), 3);
    ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 3);
    ck_assert_uint_eq(bed_stats(&bed).ops_message, 3);
    bed_end(&bed);
}
END_TEST

/* Nobody takes it: its origin does it, each once, in order. */
START_TEST(what_nobody_takes_is_done_from_outside)
{
    enum { N = 5 };
    struct bed bed;
    uint64_t value[N];
    open_as(&bed, 0);
    for (int i = 0; i < N; i++) {
        value[i] = (uint64_t) i + 1;
        ck_assert_int_eq(operate(&bed, test_acc(1, 2, WDL_ROP_REPLACE, TEST_U64, 1, &value[i],
                                                NULL)), WDL_OK);
    }
    int looks = 0;
    while (bed_flush(&bed, 1) == WDL_AGAIN)
        ck_assert_int_le(++looks, WDL_MAIL_LOOKS);
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 0);
    ck_assert_uint_eq(bed_word(&bed, 1, 2), N);
    ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 0);
    ck_assert_uint_eq(bed_stats(&bed).ops_copied, N);
    ck_assert_int_eq(mover.calls, N);      /* nothing of it has to be read */
    ck_assert(wdl_mail_is_away(bed.win[0], 1));
    bed_close(&bed);
}
END_TEST

/* Does what it holds; nobody comes. */
static int run_alone(struct bed *bed, int target)
{
    int status = WDL_AGAIN;
    for (int looks = 0; status == WDL_AGAIN; looks++) {
        ck_assert_int_le(looks, WDL_MAIL_LOOKS + 2);
        status = bed_flush(bed, target);
    }
    return status;
}

/* Pairs of neighbours, half of them on each side of a border between regions: the words' places,
 * counted from there. */
enum { PAIRED = 100 };

static int64_t paired(int i)
{
    int k = i * 37 % PAIRED;
    return k / 2 * 3 + k % 2 - PAIRED / 4 * 3;
}

/* Many are read by one call and written by another, in any order, once for each region; nobody is
 * asked where processes outnumber processors, nor who did not come the last time. */
START_TEST(many_from_outside_are_two_calls)
{
    enum { PER = WDL_REGION_BYTES / UNIT };
    for (int crowded = 0; crowded < 2; crowded++)
        for (int dynamic = 0; dynamic < 2; dynamic++) {
            struct bed bed;
            uint64_t value[PAIRED];
            (crowded ? open_crowded : open_as)(&bed, dynamic);
            int64_t at = dynamic ? attach(&bed, 1, 0, BYTES) : 0, unit = dynamic ? UNIT : 1;
            uint64_t first = (uint64_t) (uintptr_t) bed.w.rank[1].memory % WDL_REGION_BYTES / UNIT;
            /* of two regions, and as much before it as is wanted there */
            int64_t border = dynamic ? PER - (int64_t) first : PER;
            border += border < PAIRED ? PER : 0;
            for (int again = 0; again < 2; again++) {
                mover.calls = 0;
                for (int i = 0; i < PAIRED; i++) {
                    value[i] = (uint64_t) i;
                    ck_assert_int_eq(operate(&bed, add_u64(1, at + (border + paired(i)) * unit,
                                                           &value[i])), WDL_OK);
                }
                ck_assert_int_le(mover.calls, again ? 0 : 3); /* the first one; what is attached */
                ck_assert_int_eq(run_alone(&bed, 1), WDL_OK);
                if (again)
                    ck_assert_int_eq(mover.calls, 4);
                ck_assert_int_eq(mover.pieces, PAIRED / 4);
            }
            for (int i = 0; i < PAIRED; i++)
                ck_assert_uint_eq(bed_word(&bed, 1, border + paired(i)), 2 * (uint64_t) i);
            ck_assert_uint_eq(bed_stats(&bed).ops_copied, 2 * PAIRED);
            bed_close(&bed);
        }
}
END_TEST

/* Without a mailbox, too, progress does what is held. */
START_TEST(progress_runs_what_is_held)
{
    struct bed bed;
    open_crowded(&bed, 0);
    struct wdl_rma *rma = bed.win[0]->rma;
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(operate(&bed, add_u64(1, i, &one)), WDL_OK);
    ck_assert_uint_eq(bed_word(&bed, 1, 4), 0);
    ck_assert_ptr_eq(rma->bagged, bed.win[0]);
    ck_assert_int_eq(wdl_batches_progress(rma), 1);
    ck_assert_ptr_null(rma->bagged);
    for (int i = 0; i < 5; i++)
        ck_assert_uint_eq(bed_word(&bed, 1, i), 1);
    bed_close(&bed);
}
END_TEST

/* Puts that are held do not make messages of what follows them. */
START_TEST(behind_held_puts_it_is_filled_as_ever)
{
    struct bed bed;
    open_crowded(&bed, 0);
    for (uint64_t i = 0; i < 4; i++) {
        ck_assert_int_eq(operate(&bed, test_put(1 + (int) i % 2, 8, &five, 8)), WDL_OK);
        for (int k = 0; k < 3; k++)
            ck_assert_int_eq(operate(&bed, add_u64(1, k, &one)), WDL_OK);
    }
    ck_assert_int_eq(bed_flush(&bed, -1), WDL_OK);
    for (int k = 0; k < 3; k++)
        ck_assert_uint_eq(bed_word(&bed, 1, k), 4);
    ck_assert_uint_eq(bed_word(&bed, 1, 8), 5);
    ck_assert_uint_eq(bed_word(&bed, 2, 8), 5);
    ck_assert_uint_eq(bed_stats(&bed).ops_message, 0);
    bed_close(&bed);
}
END_TEST

/* Those of one place, or that lie one over another, are done as they came. */
START_TEST(what_lies_over_another_keeps_its_order)
{
    enum { N = 40 };
    for (int length = 1; length <= 2; length++) {
        struct bed bed;
        uint64_t value[N][2], wanted[16] = {0};
        open_crowded(&bed, 0);
        for (int i = 0; i < N; i++) {
            int k = i * 7 % 11;
            value[i][0] = value[i][1] = (uint64_t) i + 1;
            memcpy(wanted + k, value[i], (size_t) length * 8);
            ck_assert_int_eq(operate(&bed, test_acc(1, k, WDL_ROP_REPLACE, TEST_U64, length,
                                                    value[i], NULL)), WDL_OK);
        }
        ck_assert_int_eq(run_alone(&bed, 1), WDL_OK);
        for (int k = 0; k < 16; k++)
            ck_assert_uint_eq(bed_word(&bed, 1, k), wanted[k]);
        bed_close(&bed);
    }
}
END_TEST

/* A page that cannot be read, or not be written: the others are done once. */
START_TEST(one_that_cannot_be_reached_fails_alone)
{
    enum { N = 20, BAD = 13 };
    for (int op = 0; op < 2; op++) {
        struct bed bed;
        open_crowded(&bed, 0);
        for (int i = 0; i < N; i++)
            ck_assert_int_eq(operate(&bed, test_acc(1, 19 - i, op ? WDL_ROP_REPLACE : WDL_ROP_SUM,
                                                    TEST_U64, 1, &five, NULL)), WDL_OK);
        mover.broken = bed.w.rank[1].memory + BAD * UNIT;
        ck_assert_int_eq(run_alone(&bed, 1), WDL_ERR_RANGE);
        for (int i = 0; i < N; i++)
            ck_assert_uint_eq(bed_word(&bed, 1, i), i == BAD ? 0 : 5);
        ck_assert_int_eq(run_alone(&bed, 1), WDL_OK);
        bed_close(&bed);
    }
}
END_TEST

/* From outside, too: a region that somebody has closed is waited for, each is done once. */
START_TEST(from_outside_it_goes_on_where_it_was)
{
    enum { PER = WDL_REGION_BYTES / UNIT };
    struct bed bed;
    open_crowded(&bed, 0);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(operate(&bed, add_u64(1, i % 2 * PER + i / 2, &one)), WDL_OK);
    bed.w.control[1].bulk[1] = 1 + 2;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
    bed.w.control[1].bulk[1] = 0;
    ck_assert_int_eq(run_alone(&bed, 1), WDL_OK);
    for (int i = 0; i < 4; i++) {
        ck_assert_uint_eq(bed_word(&bed, 1, i), 1);
        ck_assert_uint_eq(bed_word(&bed, 1, PER + i), 1);
    }
    bed_close(&bed);
}
END_TEST

/* One whose memory is not attached: it alone fails, at the synchronization. */
START_TEST(one_that_fails_is_the_only_one)
{
    struct bed bed;
    open_as(&bed, 1);
    int64_t at = attach(&bed, 1, 0, 16);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(operate(&bed, add_u64(1, at + 8 * (2 - i), &five)), WDL_OK);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
    ck_assert_uint_eq(bed_word(&bed, 1, 1), 0);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_ERR_RANGE);
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 5);
    ck_assert_uint_eq(bed_word(&bed, 1, 1), 5);
    ck_assert_uint_eq(bed_word(&bed, 1, 2), 0);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    bed_close(&bed);
}
END_TEST

/* A region that somebody has closed: it goes on there, each once. */
START_TEST(it_goes_on_where_it_was)
{
    enum { PER = WDL_REGION_BYTES / UNIT };
    struct bed bed;
    open_as(&bed, 0);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(operate(&bed, add_u64(1, i % 2 * PER, &one)), WDL_OK);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
    bed.w.control[1].bulk[1] = 1 + 2;
    bed.w.control[1].bulk_mode = WDL_BULK_ALWAYS;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), i == 0);        /* the first of them */
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
    }
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 1);
    bed.w.control[1].bulk[1] = 0;
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 3);
    ck_assert_uint_eq(bed_word(&bed, 1, PER), 3);
    bed_close(&bed);
}
END_TEST

/* A cell says anything: nothing is touched, and the origin does it itself. */
START_TEST(nonsense_is_refused)
{
    for (int what = 0; what < 8; what++) {
        struct bed bed;
        int64_t far = INT64_MAX;
        open_as(&bed, 0);
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(operate(&bed, add_u64(1, 1, &one)), WDL_OK);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
        struct wdl_mail *mail = &bed.w.control[1].mail[0];
        mail->rows.count = what == 0 ? 0 : what == 1 ? WDL_BAG_OPS + 1 : mail->rows.count;
        mail->bytes = what == 2 ? 0 : what == 3 ? 2 * WDL_BAG_EACH : mail->bytes;
        if (what == 7) { /* more than the area holds of that length */
            mail->bytes = WDL_BAG_EACH;
            mail->rows.count = (uint32_t) wdl_bag_most(WDL_BAG_EACH) + 1;
        }
        mail->host_type = what == 4 ? 0xdead : mail->host_type;
        mail->rop = what == 5 ? WDL_ROP_COUNT : mail->rop;
        char *second = bed.w.control[0].area.data + sizeof(far);
        int64_t known;
        memcpy(&known, second, sizeof(known));
        if (what == 6)
            memcpy(second, &far, sizeof(far));
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert_uint_eq(bed_word(&bed, 1, 1), 0);
        memcpy(second, &known, sizeof(known));
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
        ck_assert_uint_eq(bed_word(&bed, 1, 1), 3);
        bed_close(&bed);
    }
}
END_TEST

/* One that has been begun from outside is not one of them, however like it is. */
START_TEST(what_is_half_done_goes_on)
{
    struct bed bed;
    const uint64_t in[2] = {1, 10};
    open_as(&bed, 0);
    struct wdl_rma_args args = test_acc(1, 0, WDL_ROP_SUM, TEST_U64, 2, in, NULL);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(operate(&bed, args), WDL_OK);
    args.done = 8;
    ck_assert_int_eq(operate(&bed, args), WDL_AGAIN);
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
    ck_assert_int_eq(operate(&bed, args), WDL_OK);
    TEST_DONE(&bed.w, bed_flush(&bed, 1));
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 3);
    ck_assert_uint_eq(bed_word(&bed, 1, 1), 40);
    bed_close(&bed);
}
END_TEST

WDL_SUITE("rma/bag", many_are_one_cell, what_is_different_waits_for_it, longer_ones_are_fewer,
          others_are_not_kept_waiting, what_nobody_takes_is_done_from_outside,
          many_from_outside_are_two_calls, progress_runs_what_is_held,
          behind_held_puts_it_is_filled_as_ever,
          what_lies_over_another_keeps_its_order,
          one_that_cannot_be_reached_fails_alone, from_outside_it_goes_on_where_it_was,
          one_that_fails_is_the_only_one, it_goes_on_where_it_was,
          what_is_half_done_goes_on, nonsense_is_refused)
