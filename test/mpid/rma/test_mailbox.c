/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/mailbox: what goes by mailbox and what does not, and what becomes of an operation
 * that nobody takes.
 */
#include <string.h>
#include "mpid/rma/copybed.h"
#include "mpid/rma/mail.h"
#include "mpid/rma/win_impl.h"
#include "support/suite.h"

/* Looks in vain, one less than what makes it go another way. */
static void look_in_vain(struct bed *bed, int target)
{
    for (int i = 1; i < WDL_MAIL_LOOKS; i++)
        ck_assert_int_eq(bed_flush(bed, target), WDL_AGAIN);
}

static const uint64_t one = 1, five = 5;

/* Nobody's system is called and no message is sent: the target does it. */
START_TEST(every_kind_is_done_by_the_target)
{
    struct bed bed;
    uint64_t back = 0;
    bed_open_mail(&bed);
    const struct wdl_rma_args ops[] = {
        test_put(1, 3, &five, 8), test_get(1, 3, &back, 8),
        test_acc(1, 3, WDL_ROP_SUM, TEST_U64, 1, &one, NULL),
        test_acc(1, 3, WDL_ROP_SUM, TEST_U64, 1, &one, &back),
        test_acc(1, 3, WDL_ROP_NO_OP, TEST_U64, 1, NULL, &back),
        test_cas(1, 3, TEST_U64, &(uint64_t){7}, &five, &back)};
    const uint64_t read[] = {0, 5, 5, 6, 7, 7}, left[] = {5, 5, 6, 7, 7, 5};
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(operate(&bed, ops[i]), WDL_OK);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
        ck_assert_int_eq(wdl_win_rests(bed.win[0]), i < 2 ? 1 : 2);     /* an update takes longer */
        bed_served(&bed, 1);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
        ck_assert_int_eq(wdl_win_rests(bed.win[0]), 0);
        ck_assert_uint_eq(back, read[i]);
        ck_assert_uint_eq(bed_word(&bed, 1, 3), left[i]);
    }
    ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 6);
    ck_assert_int_eq(mover.calls, 0);
    bed_close(&bed);
}
END_TEST

/* While its target has it another one must be there, whom bells are rung for. */
START_TEST(who_has_handed_over_waits)
{
    struct bed bed;
    bed_open_mail(&bed);
    TEST_DONE(&bed.w, wdl_win_unlock_all(bed.win[0], &bed.step));
    TEST_DONE(&bed.w, wdl_win_lock(bed.win[0], 1, 0, 0, &bed.step));
    ck_assert_int_eq(wdl_rma_waits(bed.win[0]->proc), 0);
    ck_assert_int_eq(operate(&bed, test_put(1, 3, &five, 8)), WDL_OK);
    ck_assert_int_eq(bed.win[0]->rma->ntargets, 0);
    ck_assert_int_eq(wdl_rma_waits(bed.win[0]->proc), 1);
    ck_assert_int_eq(wdl_rma_waits(bed.win[1]->proc), 0);
    bed_served(&bed, 1);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    ck_assert_int_eq(wdl_rma_waits(bed.win[0]->proc), 0);
    TEST_DONE(&bed.w, wdl_win_unlock(bed.win[0], 1, &bed.step));
    TEST_DONE(&bed.w, wdl_win_lock_all(bed.win[0], 0, &bed.step));
    bed_close(&bed);
}
END_TEST

/* Several elements, elements without an instruction, no multiple of anything: as by message. */
START_TEST(what_is_not_one_word_is_done_as_well)
{
    struct bed bed;
    const uint32_t add[4] = {1, 2, 3, 4};
    uint32_t sums[4], old[4] = {9, 9, 9, 9};
    const long double half = 0.5L;
    long double sum, before = 1;
    char text[WDL_MAIL_BYTES] = "";
    bed_open_mail(&bed);
    memcpy(bed.w.rank[2].memory + 16, add, sizeof(add));
    const struct wdl_rma_args ops[] = {
        test_acc(2, 2, WDL_ROP_SUM, TEST_U32, 4, add, old),
        test_acc(2, 4, WDL_ROP_SUM, TEST_LD, 1, &half, &before),
        test_put(2, 8, "as many bytes as a cell has room", 32),
        test_get(2, 8, text, 32)};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(operate(&bed, ops[i]), WDL_OK);
        bed_served(&bed, 2);
        ck_assert_int_eq(bed_flush(&bed, 2), WDL_OK);
    }
    memcpy(sums, bed.w.rank[2].memory + 16, sizeof(sums));
    memcpy(&sum, bed.w.rank[2].memory + 32, sizeof(sum));
    for (uint32_t i = 0; i < 4; i++)
        ck_assert(old[i] == i + 1 && sums[i] == 2 * i + 2);
    ck_assert(sum == half && before == 0);
    ck_assert_mem_eq(text, "as many bytes as a cell has room", WDL_MAIL_BYTES);
    ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 4);
    bed_close(&bed);
}
END_TEST

/* What is longer than a cell is in the origin's own area, and both ways at once in its halves. */
START_TEST(longer_ones_have_the_origins_area)
{
    static uint32_t add[WDL_MAIL_AREA / 4], old[WDL_MAIL_AREA / 4], back[WDL_MAIL_AREA / 4];
    struct bed bed;
    bed_open_mail(&bed);
    /* what a message of this network holds */
    const uint32_t most = (uint32_t) bed.win[0]->rma->chunk_bytes;
    ck_assert_uint_gt(most, WDL_MAIL_BYTES);
    for (uint32_t i = 0; i < most / 4; i++)
        add[i] = i + 1;
    const struct wdl_rma_args ops[] = {
        test_put(2, 5, add, most), test_acc(2, 5, WDL_ROP_SUM, TEST_U32, (int) most / 4, add, NULL),
        test_acc(2, 5, WDL_ROP_SUM, TEST_U32, (int) most / 8, add, old),
        test_get(2, 5, back, most)};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(operate(&bed, ops[i]), WDL_OK);
        ck_assert(bed.win[0]->mailbox.mail);
        ck_assert_int_eq(wdl_win_rests(bed.win[0]), i == 3);
        bed_served(&bed, 2);
        ck_assert_int_eq(bed_flush(&bed, 2), WDL_OK);
    }
    for (uint32_t i = 0; i < most / 4; i++) {
        ck_assert_uint_eq(back[i], (i < most / 8 ? 3 : 2) * (i + 1));
        ck_assert_uint_eq(old[i], i < most / 8 ? 2 * (i + 1) : 0);
    }
    ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 4);
    bed_close(&bed);
}
END_TEST

/* A line or two beside a cell are asked for before it says anything, by how the one before was. */
START_TEST(lines_beside_a_cell_are_asked_for)
{
    enum { LINES = WDL_MAIL_AHEAD * 64 };
    static uint64_t mine[LINES / 8 + 1], back[LINES / 8 + 1];
    static const struct {
        enum wdl_rma_kind kind;
        int bytes, lines, operands;
    } cases[] = {
        {WDL_RMA_PUT, WDL_MAIL_BYTES, 0, 0}, {WDL_RMA_PUT, WDL_MAIL_BYTES + 8, 1, 0},
        {WDL_RMA_PUT, 64, 1, 0}, {WDL_RMA_PUT, 72, 2, 0}, {WDL_RMA_PUT, LINES, 2, 0},
        {WDL_RMA_PUT, LINES + 8, 0, 0}, {WDL_RMA_GET, 64, 1, 0}, {WDL_RMA_GET, 8, 0, 0},
        {WDL_RMA_ACC, 64, 1, 0}, {WDL_RMA_GET_ACC, LINES, 2, 2}, {WDL_RMA_CAS, 8, 0, 0}};
    struct bed bed;
    bed_open_mail(&bed);
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        int bytes = cases[k].bytes;
        const struct wdl_rma_args ops[] = {
            [WDL_RMA_PUT] = test_put(1, 0, mine, (size_t) bytes),
            [WDL_RMA_GET] = test_get(1, 0, back, (size_t) bytes),
            [WDL_RMA_ACC] = test_acc(1, 0, WDL_ROP_SUM, TEST_U64, bytes / 8, mine, NULL),
            [WDL_RMA_GET_ACC] = test_acc(1, 0, WDL_ROP_SUM, TEST_U64, bytes / 8, mine, back),
            [WDL_RMA_CAS] = test_cas(1, 0, TEST_U64, mine, mine, back)};
        ck_assert_int_eq(operate(&bed, ops[cases[k].kind]), WDL_OK);
        bed_served(&bed, 1);
        const struct wdl_mail_ahead *ahead = &bed.win[1]->mailbox.ahead[0];
        ck_assert_uint_eq(ahead->lines, (unsigned) cases[k].lines);
        ck_assert_uint_eq(ahead->operands, (unsigned) cases[k].operands);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 0);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    }
    bed_close(&bed);
}
END_TEST

/* Blocks evenly apart at the target, anything at the origin; the types live as long as they are
 * needed. */
START_TEST(blocks_evenly_apart_are_handed_over)
{
    enum { N = 100 };
    struct bed bed;
    uint64_t from[2 * N], back[2 * N];
    bed_open_mail(&bed);
    struct test_host *host = &bed.w.rank[0].host;
    for (int stride = -2; stride <= 3; stride += 5)
        for (int typed = 0; typed < 2; typed++) {
            int64_t at = stride < 0 ? 2 * N : 1000;
            wdl_type there = test_type_vector(host, TEST_U64, N, 1, stride);
            wdl_type here = test_type_vector(host, TEST_U64, N, 1, 2);
            struct wdl_rma_args ops[] = {test_put(1, at, from, 8 * N), test_get(1, at, back, 8 * N),
                                   test_acc(1, at, WDL_ROP_SUM, TEST_U64, N, from, NULL)};
            memset(back, 0, sizeof(back));
            for (uint64_t i = 0; i < 2 * N; i++)
                from[i] = i + 1;
            for (int i = 0; i < 3; i++) {
                ops[i].remote = test_typed(host, NULL, 1, there);
                if (typed)
                    ops[i].origin = test_typed(host, i == 1 ? (void *) back : from, 1, here);
                ck_assert_int_eq(operate(&bed, ops[i]), WDL_OK);
                /* an accumulate's go in ascending order */
                int handed = i < 2 || stride > 0;
                ck_assert_int_eq(bed.win[0]->mailbox.mail != NULL, handed);
                if (handed)
                    bed_served(&bed, 1);
                TEST_DONE(&bed.w, bed_flush(&bed, 1));
            }
            for (int i = 0; i < N; i++) {
                uint64_t put = from[typed ? 2 * i : i];
                ck_assert_uint_eq(back[typed ? 2 * i : i], put);
                ck_assert_uint_eq(bed_word(&bed, 1, at + i * stride), 2 * put);
            }
            memset(bed.w.rank[1].memory, 0, BYTES);
            /* nobody takes it: another way, which may need the user's buffer for a while */
            struct test_request request = {0};
            memset(bed.win[0]->rma->trial, 0, sizeof(bed.win[0]->rma->trial));
            ops[0].request = &request;
            ck_assert_int_eq(operate(&bed, ops[0]), WDL_OK);
            ck_assert(!request.done);
            test_type_end(host, there);
            test_type_end(host, here);
            look_in_vain(&bed, 1);
            TEST_DONE(&bed.w, bed_flush(&bed, 1));
            ck_assert_uint_eq(bed_word(&bed, 1, at + stride), from[typed ? 2 : 1]);
            ck_assert(request.done && request.status == WDL_OK);
            bed.win[0]->mailbox.past[0][1].missed = bed.win[0]->mailbox.past[0][1].pass = 0;
        }
    bed_end(&bed);
}
END_TEST

/* A target that computes: after so many looks the system moves what it was for. */
START_TEST(what_nobody_takes_goes_another_way)
{
    struct bed bed;
    struct test_request request = {0};
    bed_open_mail(&bed);
    ck_assert_int_eq(operate(&bed, test_put(1, 0, &five, 8)), WDL_OK);
    look_in_vain(&bed, 1);
    ck_assert_int_eq(mover.calls, 0);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    ck_assert_int_eq(mover.calls, 1);
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 5);
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 0);
    for (int reads = 0; reads < 2; reads++) {
        uint64_t mine = reads ? 0 : 5;
        struct wdl_rma_args op = reads ? test_get(2, 0, &mine, 8) : test_put(2, 0, &mine, 8);
        op.request = &request;
        request.done = 0;
        bed.win[0]->mailbox.past[0][2].pass = 0;
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[2]), 0);
        ck_assert_int_eq(operate(&bed, op), WDL_OK);
        ck_assert(bed.win[0]->mailbox.mail);
        look_in_vain(&bed, 2);
        ck_assert_int_eq(request.done, !reads); /* a put's buffer is the user's again */
        mine = 0;
        ck_assert_int_ge(wdl_rma_progress(bed.win[0]->rma), 1);
        ck_assert_int_eq(bed_flush(&bed, 2), WDL_OK);
        ck_assert(request.done && request.status == WDL_OK);
        ck_assert_uint_eq(bed_word(&bed, 2, 0), 5);
        ck_assert_uint_eq(mine, reads ? 5 : 0);
        ck_assert_int_eq(mover.calls, 2 + reads);
    }
    /* it has looked since: it is asked again after one that goes the other way at once */
    ck_assert_int_eq(operate(&bed, test_acc(1, 0, WDL_ROP_SUM, TEST_U64, 1, &one, NULL)), WDL_OK);
    ck_assert(!bed.win[0]->mailbox.mail);
    TEST_DONE(&bed.w, bed_flush(&bed, 1));
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 0);
    ck_assert_int_eq(operate(&bed, test_acc(1, 0, WDL_ROP_SUM, TEST_U64, 1, &one, NULL)), WDL_OK);
    ck_assert(bed.win[0]->mailbox.mail);
    look_in_vain(&bed, 1);
    TEST_DONE(&bed.w, bed_flush(&bed, 1));
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 7);
    ck_assert_int_eq(mover.calls, 3 + 2 * 2);
    ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 0);
    bed_close(&bed);
}
END_TEST

/* What is not short goes past a target that is away by the short way, until that has looked. */
START_TEST(longer_ones_go_past_who_is_away_at_once)
{
    enum { N = 2 * WDL_BATCH_SHORT, TIMES = 5 };
    struct bed bed;
    char data[N];
    bed_open_mail(&bed);
    memset(data, 1, N);
    ck_assert_int_eq(operate(&bed, test_put(1, 0, data, N)), WDL_OK);
    ck_assert(bed.win[0]->mailbox.mail);
    ck_assert_int_eq(wdl_rma_again(bed.win[0], WDL_RMA_PUT, 1, 0, data, N), 0);
    look_in_vain(&bed, 1);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    for (int i = 0; i < TIMES; i++) {
        memset(data, 2 + i, N);
        ck_assert_int_eq(wdl_rma_again(bed.win[0], WDL_RMA_PUT, 1, 0, data, N), 1);
        ck_assert_mem_eq(bed.w.rank[1].memory, data, N);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    }
    ck_assert_int_eq(mover.calls, 1 + TIMES);
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 0);
    ck_assert_int_eq(wdl_rma_again(bed.win[0], WDL_RMA_PUT, 1, 0, data, N), 0);
    bed_close(&bed);
}
END_TEST

/* So do those that would follow one another by the ring, if they are too long to wait there. */
START_TEST(longer_ones_in_a_row_go_past_who_is_away_at_once)
{
    enum { N = WDL_MAIL_AREA + 8 };
    const enum wdl_rma_kind put = WDL_RMA_PUT;
    static char data[N];
    struct bed bed;
    bed_open_mail(&bed);
    struct wdl_mailbox *box = &bed.win[0]->mailbox;
    ck_assert_int_eq(operate(&bed, test_put(1, 0, data, N)), WDL_OK);
    while (bed_flush(&bed, 1) == WDL_AGAIN)
        ;
    for (int stream = 0; stream < 2; stream++) {
        box->past[stream][1].missed = 1;
        box->past[stream][1].looks = bed.win[0]->near.control->looks;
    }
    box->row = 2;
    box->row_rank = 1;
    memset(data, 7, N);
    ck_assert(wdl_train_wanted(bed.win[0], 1, bed.win[0]->near.control, put, N));
    ck_assert_int_eq(wdl_rma_again(bed.win[0], WDL_RMA_PUT, 1, 0, data, N - 8), 0);
    ck_assert_int_eq(wdl_rma_again(bed.win[0], WDL_RMA_PUT, 1, 0, data, N), 1);
    ck_assert_mem_eq(bed.w.rank[1].memory, data, N);
    box->past[0][1].missed = 0; /* it may come for a train */
    ck_assert_int_eq(wdl_rma_again(bed.win[0], WDL_RMA_PUT, 1, 0, data, N), 0);
    bed_close(&bed);
}
END_TEST

/* Of n puts, how many went to the cell of a target that takes none; before each of them it looks at
 * its mail, or not. */
static int asked_in_vain(struct bed *bed, int n, int looks)
{
    int asked = 0;
    for (int i = 0; i < n; i++) {
        if (looks)
            ck_assert_int_eq(wdl_mailbox_serve(bed->win[1]), 0);
        ck_assert_int_eq(operate(bed, test_put(1, 0, &five, 8)), WDL_OK);
        asked += bed->win[0]->mailbox.mail != NULL;
        while (bed_flush(bed, 1) == WDL_AGAIN)
            ;
    }
    return asked;
}

/* Who is away is asked once. Each time one that is there now and then does not come, twice as many
 * go another way before it is asked again. */
START_TEST(who_does_not_come_is_asked_less_often)
{
    struct bed bed;
    bed_open_mail(&bed);
    ck_assert_int_eq(asked_in_vain(&bed, 100, 0), 1);
    ck_assert_int_eq(mover.calls, 100);
    /* after 0, 3, 7, 15 others, then every 32nd */
    ck_assert_int_eq(asked_in_vain(&bed, 1024, 1), 4 + (1024 - (3 + 7 + 15 + 4)) / 32);
    ck_assert_int_eq(mover.calls, 1124);
    ck_assert_int_eq(asked_in_vain(&bed, 100, 0), 0);
    /* somebody looks for a program that computes: it is no more there for that */
    wdl_rma_aside(bed.w.rank[1].proc, 1);
    ck_assert_int_eq(asked_in_vain(&bed, 100, 1), 0);
    wdl_rma_aside(bed.w.rank[1].proc, 0);
    do {
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 0);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
        ck_assert_int_eq(operate(&bed, test_put(1, 0, &five, 8)), WDL_OK);
    } while (!bed.win[0]->mailbox.mail);
    bed_served(&bed, 1);
    for (int i = 0; i < 10; i++) {      /* it has come back */
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
        ck_assert_int_eq(operate(&bed, test_put(1, 0, &five, 8)), WDL_OK);
        bed_served(&bed, 1);
    }
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    bed_close(&bed);
}
END_TEST

/* A short one to a target that is away is copied in the call, if it is alone: what follows, and
 * what comes where several came before, waits for company. Once the target looks it is asked. */
START_TEST(a_lone_one_goes_past_who_is_away)
{
    struct bed bed;
    bed_open_mail(&bed);
    struct wdl_win *win = bed.win[0];
    ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 1, 0, (void *) &one, 8), 0);
    ck_assert_int_eq(asked_in_vain(&bed, 2, 0), 1);
    for (int i = 0; i < 3; i++) {
        uint64_t value = 100 + (uint64_t) i, back = 0;
        int before = mover.calls;
        ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 1, 0, &value, 8), 1);
        ck_assert_int_eq(mover.calls, before + 1);
        ck_assert_uint_eq(bed_word(&bed, 1, 0), value);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
        ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_GET, 1, 0, &back, 8), 1);
        ck_assert_uint_eq(back, value);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    }
    ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 1, 0, (void *) &one, 8), 1);
    ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 1, 1, (void *) &one, 8), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(operate(&bed, test_put(1, 1 + i, &five, 8)), WDL_OK);
    int before = mover.calls;
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    ck_assert_int_eq(mover.calls, before + 1);
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 1);
    ck_assert_uint_eq(bed_word(&bed, 1, 4), 5);
    ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 1, 0, (void *) &one, 8), 0);
    ck_assert_int_eq(operate(&bed, test_put(1, 0, &five, 8)), WDL_OK);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    win->params.hints.combine = WDL_COMBINE_ALWAYS;
    ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 1, 0, (void *) &one, 8), 0);
    win->params.hints.combine = WDL_COMBINE_AUTO;
    ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 1, 0, (void *) &one, 8), 1);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 0);
    ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 1, 0, (void *) &one, 8), 0);
    ck_assert_int_eq(operate(&bed, test_put(1, 0, &five, 8)), WDL_OK);
    ck_assert(win->mailbox.mail);
    bed_served(&bed, 1);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 5);
    bed_close(&bed);
}
END_TEST

/* One at a time: the next one calls it back, and both go together, in order. */
START_TEST(what_follows_calls_it_back)
{
    struct bed bed;
    uint64_t old = 0;
    bed_open_mail(&bed);
    ck_assert_int_eq(operate(&bed, test_put(1, 0, &one, 8)), WDL_OK);
    ck_assert(bed.win[0]->mailbox.mail);
    ck_assert_int_eq(operate(&bed, test_put(1, 0, &five, 8)), WDL_OK);
    ck_assert(!bed.win[0]->mailbox.mail);
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 0);
    bed_done_there(&bed, 1);
    ck_assert_int_eq(mover.calls, 0);
    ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 2);
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 5);
    /* where several followed one another the first does not go alone, until one is alone */
    ck_assert_int_eq(operate(&bed, test_put(1, 0, &one, 8)), WDL_OK);
    ck_assert(!bed.win[0]->mailbox.mail);
    bed_done_there(&bed, 1);
    struct wdl_rma_args fetch = test_acc(1, 0, WDL_ROP_SUM, TEST_U64, 1, &one, &old);
    ck_assert_int_eq(operate(&bed, fetch), WDL_OK);
    ck_assert(bed.win[0]->mailbox.mail);
    ck_assert_int_eq(operate(&bed, fetch), WDL_OK);
    TEST_DONE(&bed.w, bed_flush(&bed, 1));
    ck_assert_uint_eq(old, 2);
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 3);
    /* what is taken cannot be called back: the next one waits */
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    ck_assert_int_eq(operate(&bed, test_put(1, 0, &one, 8)), WDL_OK);
    bed_done_there(&bed, 1);
    ck_assert_int_eq(operate(&bed, test_put(1, 0, &one, 8)), WDL_OK);
    bed_cell(&bed, 1)->state = WDL_MAIL_TAKEN;
    ck_assert_int_eq(operate(&bed, test_put(1, 0, &five, 8)), WDL_AGAIN);
    for (int i = 0; i < 2 * WDL_MAIL_LOOKS; i++)
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
    bed_cell(&bed, 1)->state = WDL_MAIL_POSTED;
    bed_served(&bed, 1);
    ck_assert_int_eq(operate(&bed, test_put(1, 0, &five, 8)), WDL_OK);
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 1);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);       /* the one that had begun before it */
    bed_done_there(&bed, 1);
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 5);
    bed_end(&bed);
}
END_TEST

/* In pieces, to oneself, and where something is under way already. */
START_TEST(what_does_not_go_by_mailbox)
{
    static const int blocks_[2] = {2, 2}, displs[2] = {0, 4};
    static char bytes[8];
    struct bed bed;
    bed_open_mail(&bed);
    struct test_host *host = &bed.w.rank[0].host;
    wdl_type type = test_type_indexed(host, TEST_U8, 2, blocks_, displs);
    struct wdl_rma_args typed = test_put(1, 0, bytes, 4);
    typed.remote = test_typed(host, NULL, 1, type);
    const struct wdl_rma_args ops[] = {typed, test_put(0, 0, bytes, 8)};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(operate(&bed, ops[i]), WDL_OK);
        ck_assert_msg(!bed.win[0]->mailbox.mail, "operation %d", i);
        ck_assert_int_eq(bed_flush(&bed, -1), WDL_OK);
    }
    ck_assert_int_eq(operate(&bed, test_put(1, BYTES / UNIT, &one, 8)), WDL_ERR_RANGE);
    test_type_end(host, type);
    bed_close(&bed);
}
END_TEST

/* A node with more ranks than cells: they take turns, and who finds none goes another way. */
START_TEST(ranks_share_the_cells)
{
    enum { MANY = WDL_WIN_MAILS + 2, LAST = MANY - 1, SAME = LAST - WDL_WIN_MAILS };
    struct test_world w;
    struct test_world_params p = {.ranks = MANY, .node = MANY, .own = 1};
    struct wdl_win *win[MANY];
    int steps[MANY] = {0};
    test_world_open(&w, &p);
    for (int i = 0; i < MANY; i++) {
        struct wdl_win_params params = test_win_params(&w.rank[i]);
        params.id = 5;
        params.mail = 1;
        ck_assert_int_eq(wdl_win_create(w.rank[i].proc, &params, &win[i]), WDL_OK);
        TEST_DONE(&w, wdl_win_lock_all(win[i], 0, &steps[i]));
    }
    for (int round = 0; round < 3; round++) {
        struct wdl_rma_args add = test_acc(0, 0, WDL_ROP_SUM, TEST_U64, 1, &one, NULL);
        ck_assert_int_eq(wdl_rma_op(win[SAME], &add), WDL_OK);
        ck_assert(win[SAME]->mailbox.mail);
        ck_assert_int_eq(wdl_rma_op(win[LAST], &add), WDL_OK);
        ck_assert(!win[LAST]->mailbox.mail);
        TEST_DONE(&w, wdl_win_flush(win[LAST], 0, 0, &steps[LAST]));
        TEST_DONE(&w, wdl_win_flush(win[SAME], 0, 0, &steps[SAME]));
        ck_assert_int_eq(wdl_rma_op(win[LAST], &add), WDL_OK);
        ck_assert(win[LAST]->mailbox.mail);
        TEST_DONE(&w, wdl_win_flush(win[LAST], 0, 0, &steps[LAST]));
    }
    uint64_t sum;
    memcpy(&sum, w.rank[0].memory, 8);
    ck_assert_uint_eq(sum, 9);
    /* whose the next one in a cell will be is not known */
    struct wdl_rma_args longer = test_put(0, 0, (uint64_t[8]){1}, 64);
    ck_assert_int_eq(wdl_rma_op(win[SAME], &longer), WDL_OK);
    TEST_DONE(&w, wdl_win_flush(win[SAME], 0, 0, &steps[SAME]));
    ck_assert_uint_gt(win[SAME]->stats.ops_mailed, 3);
    for (int i = 0; i < WDL_WIN_MAILS; i++)
        ck_assert_uint_eq(win[0]->mailbox.ahead[i].lines, 0);
    for (int i = 0; i < MANY; i++)
        TEST_DONE(&w, wdl_win_unlock_all(win[i], &steps[i]));
    for (int i = 0; i < MANY; i++)
        TEST_DONE(&w, wdl_win_free(win[i]));
    test_world_close(&w);
}
END_TEST

/* A few windows have mailboxes; when one goes another may. */
START_TEST(so_many_windows)
{
    struct bed bed;
    struct wdl_win *more[WDL_MAIL_WINDOWS];
    bed_open_mail(&bed);
    for (int i = 0; i < WDL_MAIL_WINDOWS; i++) {
        struct wdl_win_params params = bed.win[0]->params;
        params.id = 10 + (uint32_t) i;
        ck_assert_int_eq(wdl_win_create(bed.w.rank[0].proc, &params, &more[i]), WDL_OK);
        ck_assert_int_eq(more[i]->mailbox.on, i < WDL_MAIL_WINDOWS - 1);
    }
    ck_assert_int_eq(wdl_rma_by_memory(bed.w.rank[0].proc), 1);
    TEST_DONE(&bed.w, wdl_win_free(more[0]));
    struct wdl_win_params params = bed.win[0]->params;
    params.id = 20;
    ck_assert_int_eq(wdl_win_create(bed.w.rank[0].proc, &params, &more[0]), WDL_OK);
    ck_assert_int_eq(more[0]->mailbox.on, 1);
    for (int i = 0; i < WDL_MAIL_WINDOWS; i++)
        TEST_DONE(&bed.w, wdl_win_free(more[i]));
    bed_close(&bed);
}
END_TEST

/* Where processes outnumber processors only a rank that says so is asked; the others are not woken,
 * but now and then. */
START_TEST(who_wants_a_processor_is_not_asked)
{
    enum { SELDOM = 32 };
    const uint64_t one = 1;
    struct bed bed;
    bed_open_as(&bed, (struct bed_kind){.mail = 1, .crowded = 1});
    for (int again = 0; again < 2; again++) {
        int calls = mover.calls;
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(operate(&bed, test_put(1, 0, &one, 8)), WDL_OK);
            ck_assert(!bed.win[0]->mailbox.mail);
            ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
        }
        ck_assert_int_eq(mover.calls, calls + 3);
        wdl_rma_attend(bed.w.rank[1].proc, 1);
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(operate(&bed, test_put(1, 0, &one, 8)), WDL_OK);
            ck_assert(bed.win[0]->mailbox.mail);
            bed_served(&bed, 1);
            ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
        }
        ck_assert_int_eq(mover.calls, calls + 3);
        wdl_rma_attend(bed.w.rank[1].proc, 0);
    }
    (void) wdl_mailbox_visited(bed.win[1]);
    int visited = 0;
    for (int i = 0; i < 2 * SELDOM; i++) {
        ck_assert_int_eq(operate(&bed, test_acc(1, 1, WDL_ROP_SUM, TEST_U64, 1, &one, NULL)),
                         WDL_OK);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
        visited += wdl_mailbox_visited(bed.win[1]);
    }
    ck_assert_int_eq(visited, 2);
    ck_assert_uint_eq(bed_word(&bed, 1, 1), 2 * SELDOM);
    ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 6);
    bed_close(&bed);
}
END_TEST

/* With its own puts, or gets, of such length, where it copies them. */
START_TEST(who_is_handed_something_tries_that)
{
    enum { LONG = 32768 };
    static char data[LONG];
    static const struct {
        enum wdl_rma_kind kind;
        size_t bytes;
        int size;               /* -1: too short to be compared */
    } cases[] = {{WDL_RMA_PUT, 256, -1}, {WDL_RMA_PUT, 512, 1}, {WDL_RMA_GET, 512, 1},
                 {WDL_RMA_PUT, LONG, 7}, {WDL_RMA_GET, LONG, 7}};
    for (int i = 0; i < 2 * (int) (sizeof(cases) / sizeof(cases[0])); i++) {
        struct wdl_trial known = {.every = WDL_TRIAL_SELDOM, .asked = 9000, .next = 16384,
                                  .tried = 7000, .ns = {2000, 1000}, .best = i % 2};
        enum wdl_rma_kind kind = cases[i / 2].kind;
        struct bed bed;
        bed_open_as(&bed, (struct bed_kind){.mail = 1, .bytes = LONG});
        for (int k = 0; k < 2 * WDL_MAIL_SIZES; k++)
            bed.win[1]->rma->trial[0][k % 2][k / 2] = known;
        ck_assert_int_eq(operate(&bed, kind == WDL_RMA_PUT ?
                                 test_put(1, 0, data, cases[i / 2].bytes) :
                                 test_get(1, 0, data, cases[i / 2].bytes)), WDL_OK);
        for (int n = 0; bed_flush(&bed, 1) == WDL_AGAIN; n++) {
            ck_assert_int_lt(n, 100);
            wdl_mailbox_serve(bed.win[1]);
        }
        ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 1);
        for (int k = 0; k < 2 * WDL_MAIL_SIZES; k++) {
            int like = k / 2 == cases[i / 2].size && k % 2 == (int) kind;
            ck_assert_uint_eq(bed.win[1]->rma->trial[0][k % 2][k / 2].next,
                              known.best && like ? known.asked - 1 : known.next);
        }
        bed_close(&bed);
    }
}
END_TEST

/* One element is left, and an operation that nobody has taken is to go another way, which needs it,
 * before the next one, which needs it, too: neither has it made room for in vain. */
START_TEST(what_was_begun_first_gets_the_last_element)
{
    enum { ALL = 4 };
    struct test_world w;
    struct test_world_params p = {.ranks = ALL,.node = 2,.own = 1,
        .rma = {.win_targets = 1,.global_targets = 1}
    };
    struct wdl_win *win[ALL];
    int step = 0, tries = 0;
    test_world_open(&w, &p);
    for (int i = 0; i < ALL; i++) {
        struct wdl_win_params params = test_win_params(&w.rank[i]);
        params.id = 3;
        params.mail = 1;
        params.hints.combine = WDL_COMBINE_NEVER;
        ck_assert_int_eq(wdl_win_create(w.rank[i].proc, &params, &win[i]), WDL_OK);
    }
    struct wdl_rma_args add[ALL];
    for (int i = 0; i < ALL; i++)
        add[i] = test_acc(i, 0, WDL_ROP_SUM, TEST_U64, 1, &one, NULL);
    /* so many are used that all locks are asked for, and held */
    TEST_DONE(&w, wdl_win_lock_all(win[0], 0, &step));
    for (int i = 1; i < ALL; i++)
        TEST_DONE(&w, wdl_rma_op(win[0], &add[i]));
    TEST_DONE(&w, wdl_win_flush(win[0], -1, 0, &step));
    ck_assert_int_eq(win[0]->epoch.access_state, WDL_ACCESS_LOCK_ALL_GRANTED);
    TEST_DONE(&w, wdl_rma_op(win[0], &add[2]));
    TEST_DONE(&w, wdl_rma_op(win[0], &add[1]));
    ck_assert(win[0]->mailbox.mail);
    while (wdl_rma_op(win[0], &add[3]) == WDL_AGAIN) {
        ck_assert_int_lt(tries++, 100);
        if (wdl_mailbox_under_way(win[0]))
            wdl_proc_progress(w.rank[0].proc);  /* its own: rank 1 does not look */
        else
            test_world_turn(&w);        /* an element that is in use is flushed */
    }
    ck_assert(tries > 0 && !win[0]->mailbox.mail);
    TEST_DONE(&w, wdl_win_unlock_all(win[0], &step));
    for (int i = 1; i < ALL; i++)
        ck_assert_uint_eq(*(uint64_t *) (void *) w.rank[i].memory, 2);
    for (int i = 0; i < ALL; i++)
        TEST_DONE(&w, wdl_win_free(win[i]));
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/mailbox", what_was_begun_first_gets_the_last_element,
          every_kind_is_done_by_the_target, who_has_handed_over_waits,
          what_is_not_one_word_is_done_as_well,
          longer_ones_have_the_origins_area, lines_beside_a_cell_are_asked_for,
          blocks_evenly_apart_are_handed_over, what_nobody_takes_goes_another_way,
          longer_ones_go_past_who_is_away_at_once,
          longer_ones_in_a_row_go_past_who_is_away_at_once, who_does_not_come_is_asked_less_often,
          a_lone_one_goes_past_who_is_away, what_follows_calls_it_back,
          what_does_not_go_by_mailbox, ranks_share_the_cells, so_many_windows,
          who_wants_a_processor_is_not_asked, who_is_handed_something_tries_that)
