/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/outside. */
#include <string.h>
#include "mpid/rma/copybed.h"
#include "mpid/rma/win_impl.h"
#include "support/suite.h"

static struct wdl_rma_args add_u64(int target, int64_t disp, const uint64_t *value, uint64_t *old)
{
    return test_acc(target, disp, WDL_ROP_SUM, TEST_U64, 1, value, old);
}

static const uint64_t one = 1, five = 5;

/* In the call; nobody looks, and no message is sent. A request is complete. */
START_TEST(every_kind_is_done_in_the_call)
{
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        struct bed bed;
        uint64_t back = 9;
        bed_open(&bed, dynamic);
        int64_t place = dynamic ? attach(&bed, 2, 24, 8) : 3;
        const struct wdl_rma_args ops[] = {
            add_u64(2, place, &five, NULL), add_u64(2, place, &one, &back),
            test_acc(2, place, WDL_ROP_NO_OP, TEST_U64, 1, NULL, &back),
            test_cas(2, place, TEST_U64, &(uint64_t){6}, &five, &back),
            test_cas(2, place, TEST_U64, &(uint64_t){7}, &one, &back),
            test_acc(2, place, WDL_ROP_REPLACE, TEST_U64, 1, &one, NULL)};
        const uint64_t read[] = {9, 5, 6, 6, 5, 5}, left[] = {5, 6, 6, 5, 5, 1};
        const int calls[] = {2, 2, 1, 2, 1, 1};
        for (int i = 0; i < 6; i++) {
            struct test_request request = {0};
            struct wdl_rma_args op = ops[i];
            op.request = i == 4 ? NULL : &request; /* there is no MPI_Rcompare_and_swap */
            int known = mover.calls;
            ck_assert_int_eq(operate(&bed, op), WDL_OK);
            ck_assert(i == 4 || (request.done && request.status == WDL_OK));
            ck_assert_uint_eq(back, read[i]);
            ck_assert_uint_eq(bed_word(&bed, 2, 3), left[i]);
            if (!dynamic || i > 0) /* else the list of regions is read, too */
                ck_assert_int_eq(mover.calls - known, calls[i]);
            ck_assert_int_eq(bed_flush(&bed, 2), WDL_OK);
        }
        ck_assert_uint_eq(bed_stats(&bed).ops_copied, 6);
        bed_close(&bed);
    }
}
END_TEST

/* Layouts of operands and results may have holes; the target's may not, and its elements are
 * aligned: all else is a message, of elements that have an instruction. */
START_TEST(what_is_for_it)
{
    enum { N = 6 };
    static const int lengths[2] = {2, 4}, displs[2] = {0, 3};
    struct bed bed;
    const uint32_t add[8] = {1, 2, 0, 3, 4, 5, 6, 0};
    uint32_t old[8] = {0}, packed[N] = {0};
    bed_open(&bed, 0);
    struct test_host *host = &bed.w.rank[0].host;
    wdl_type type = test_type_indexed(host, TEST_U32, 2, lengths, displs);
    for (int i = 0; i < 2; i++) {
        struct wdl_rma_args args = test_acc(1, 1, WDL_ROP_SUM, TEST_U32, N, packed, packed);
        args.origin = test_typed(host, (void *) (uintptr_t) add, 1, type);
        args.result = test_typed(host, old, 1, type);
        ck_assert_int_eq(operate(&bed, args), WDL_OK);
    }
    memcpy(packed, bed.w.rank[1].memory + UNIT, sizeof(packed));
    for (uint32_t i = 0; i < N; i++) {
        ck_assert_uint_eq(packed[i], 2 * (i + 1));
        ck_assert_uint_eq(old[i < 2 ? i : i + 1], i + 1);
    }
    ck_assert_uint_eq(bed_stats(&bed).ops_copied, 2);
    struct wdl_rma_args others[2] = {crooked(add_u64(1, 16, &one, NULL)),
                                     test_acc(1, 24, WDL_ROP_SUM, TEST_U32, N, add, NULL)};
    others[1].remote = test_typed(host, NULL, 1, type);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(operate(&bed, others[i]), WDL_OK);
        TEST_DONE(&bed.w, bed_flush(&bed, 1));
        ck_assert_uint_eq(bed_stats(&bed).ops_message, (uint64_t) i + 1);
    }
    ck_assert_uint_eq(bed_stats(&bed).ops_copied, 2);
    test_type_end(host, type);
    bed_end(&bed);
}
END_TEST

/* Long doubles, and pairs of which the target's layout has gaps; a flush sends nothing. On a
 * dynamic window a layout may have gaps where nothing is attached: by message. */
START_TEST(elements_without_an_instruction)
{
    struct { double value; int index; } pairs[3] = {{1, 4}, {9, 5}, {3, 6}}, left[3];
    static const int lengths[2] = {1, 1}, displs[2] = {0, 2};
    char stream[36], old[36];
    long double sum[2], before[2] = {9, 9}, add[2] = {0.5L, 0.25L};
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        struct bed bed;
        bed_open(&bed, dynamic);
        int64_t place = dynamic ? attach(&bed, 1, 0, 80) : 0, unit = dynamic ? 1 : UNIT;
        char *there = bed.w.rank[1].memory;
        struct test_host *host = &bed.w.rank[0].host;
        struct wdl_rma_args twice = test_acc(1, place, WDL_ROP_SUM, TEST_LD, 2, add, before);
        for (int i = 0; i < 2; i++)
            ck_assert_int_eq(operate(&bed, twice), WDL_OK);
        memcpy(sum, there, sizeof(sum));
        ck_assert(sum[0] == 1 && sum[1] == 0.5L && before[0] == 0.5L && before[1] == 0.25L);
        for (int i = 0; i < 3; i++) {
            memcpy(stream + 12 * i, &pairs[i], 12);
            memcpy(there + 32 + 16 * i, &(int64_t){0}, 8);
        }
        struct wdl_rma_args max = test_acc(1, place + 32 / unit, WDL_ROP_MAXLOC, TEST_DOUBLE_INT, 3,
                                           stream, NULL);
        max.remote = test_typed(host, NULL, 3, TEST_DOUBLE_INT);
        ck_assert_int_eq(operate(&bed, max), WDL_OK);
        memcpy(left, there + 32, sizeof(left));
        for (int i = 0; i < 3; i++)
            ck_assert(left[i].value == pairs[i].value && left[i].index == pairs[i].index);
        struct wdl_rma_args read = test_acc(1, place + 32 / unit, WDL_ROP_NO_OP, TEST_DOUBLE_INT, 3,
                                            NULL, old);
        read.remote = max.remote;
        ck_assert_int_eq(operate(&bed, read), WDL_OK);
        ck_assert_mem_eq(old, stream, sizeof(old));
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
        ck_assert_uint_eq(bed_stats(&bed).ops_copied, 4);
        ck_assert_uint_eq(bed_stats(&bed).ops_message, 0);
        if (dynamic) {
            (void) attach(&bed, 1, 88, 32);
            wdl_type apart = test_type_indexed(host, TEST_LD, 2, lengths, displs);
            struct wdl_rma_args args = test_acc(1, place + 64, WDL_ROP_SUM, TEST_LD, 2, add, NULL);
            args.remote = test_typed(host, NULL, 1, apart);
            ck_assert_int_eq(operate(&bed, args), WDL_OK);
            ck_assert_uint_eq(bed_stats(&bed).ops_message, 1);
            TEST_DONE(&bed.w, bed_flush(&bed, 1));
            memcpy(sum, there + 96, sizeof(sum[0]));
            ck_assert(sum[0] == 0.25L);
            test_type_end(host, apart);
        }
        bed_end(&bed);
    }
}
END_TEST

/* What went by message is done first; after a flush it is from outside again. */
START_TEST(behind_a_message_by_message)
{
    struct bed bed;
    uint64_t old = 9;
    struct wdl_rma_args by_message = test_acc(1, 0, WDL_ROP_REPLACE, TEST_U64, 1, &five, NULL);
    bed_open(&bed, 0);
    ck_assert_int_eq(operate(&bed, crooked(by_message)), WDL_OK);
    ck_assert_int_eq(operate(&bed, add_u64(1, 0, &one, &old)), WDL_OK);
    ck_assert_int_eq(operate(&bed, add_u64(2, 0, &one, NULL)), WDL_OK); /* another target */
    ck_assert_uint_eq(bed_word(&bed, 2, 0), 1);
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 0);
    TEST_DONE(&bed.w, bed_flush(&bed, 1));
    ck_assert_mem_eq((char *) &old + 4, &five, 4);
    ck_assert_uint_eq(bed_word(&bed, 1, 0), old + 1);
    ck_assert_uint_eq(bed_stats(&bed).ops_message, 2);
    ck_assert_int_eq(operate(&bed, add_u64(1, 0, &one, NULL)), WDL_OK);
    ck_assert_uint_eq(bed_word(&bed, 1, 0), old + 2);
    ck_assert_uint_eq(bed_stats(&bed).ops_message, 2);
    bed_end(&bed);
}
END_TEST

/* Where operations follow one another, to a target that may come, a message takes them together;
 * on a crowded node each is done at once. */
START_TEST(many_together_are_a_message)
{
    for (int crowded = 0; crowded < 2; crowded++) {
        struct bed bed;
        uint64_t old;
        bed_open_as(&bed, (struct bed_kind){.mail = 1});
        bed.win[0]->params.crowded = crowded;
        bed.w.control[1].mail_open = !crowded;
        for (int i = 0; i < 10; i++)
            ck_assert_int_eq(operate(&bed, add_u64(1, 0, &one, &old)), WDL_OK);
        TEST_DONE(&bed.w, bed_flush(&bed, 1));
        ck_assert_uint_eq(bed_word(&bed, 1, 0), 10);
        ck_assert_uint_eq(bed_stats(&bed).ops_message, crowded ? 0 : 10);
        ck_assert_uint_eq(bed_stats(&bed).ops_copied, crowded ? 10 : 0);
        bed_end(&bed);
    }
}
END_TEST

/* A target that lets a message wait is spared the next ones, until they are many; one that comes to
 * its mailbox again gets them together again. */
START_TEST(who_is_away_gets_no_messages)
{
    enum { BURSTS = 100, MANY = 40, BACK = 60, FEW = 3, MORE = 10 };
    struct bed bed;
    uint64_t n = 0, before = 0, old;
    int together = 0;           /* bursts that were messages since it is back */
    bed_open_as(&bed, (struct bed_kind){.mail = 1});
    for (int burst = 0; burst < BURSTS; burst++) {
        uint64_t ops = burst == MANY ? WDL_MAIL_RUN - 1 + MORE : FEW;
        if (burst >= BACK)
            wdl_mailbox_serve(bed.win[1]);
        for (uint64_t i = 0; i < ops; n++, i++)
            while (operate(&bed, add_u64(1, 0, &one, &old)) == WDL_AGAIN)
                if (burst >= BACK)
                    wdl_mailbox_serve(bed.win[1]);
        for (int looks = 0; bed_flush(&bed, 1) == WDL_AGAIN; looks++)
            if (looks > WDL_MAIL_WAITS || burst >= BACK)
                test_world_turn(&bed.w);
        ck_assert_uint_eq(bed_word(&bed, 1, 0), n);
        uint64_t messages = bed_stats(&bed).ops_message - before;
        before += messages;
        if (burst < BACK)
            ck_assert_uint_eq(messages, burst == 0 ? FEW : burst == MANY ? MORE : 0);
        together += burst >= BACK && messages == FEW;
    }
    ck_assert(!wdl_mail_is_away(bed.win[0], 1));
    /* asked at every 32nd burst at least; the one after it is the first to know */
    ck_assert_int_ge(together, BURSTS - BACK - 34);
    bed_end(&bed);
}
END_TEST

/* A long one stops before a region that its process, or another, is in, and goes on from there,
 * though messages have gone meanwhile. */
START_TEST(goes_on_where_it_stopped)
{
    enum { N = (WDL_REGION_BYTES + 4096) / 8 };
    static uint64_t add[N], old[N];
    struct bed bed;
    bed_open(&bed, 0);
    for (uint64_t i = 0; i < N; i++)
        add[i] = i + 1;
    struct wdl_rma_args args = test_acc(1, 0, WDL_ROP_SUM, TEST_U64, N, add, old);
    ck_assert_int_eq(operate(&bed, args), WDL_OK);
    struct wdl_win_control *there = &bed.w.control[1];
    for (int who = 0; who < 2; who++) {
        args = test_acc(1, 0, WDL_ROP_SUM, TEST_U64, N, add, old);
        if (who == 0)
            ck_assert_int_eq(wdl_short_begin(there, wdl_short_bit(1), there, 1, 1), WDL_OK);
        else
            there->bulk[1] = 1;
        ck_assert_int_eq(wdl_rma_op(bed.win[0], &args), WDL_AGAIN);
        ck_assert_uint_eq(args.done, WDL_REGION_BYTES);
        ck_assert_int_eq(wdl_rma_op(bed.win[0], &args), WDL_AGAIN);
        ck_assert_int_eq(operate(&bed, crooked(add_u64(1, N + 8, &one, NULL))), WDL_OK);
        wdl_short_end(there);
        there->bulk[1] = 0;
        ck_assert_int_eq(wdl_rma_op(bed.win[0], &args), WDL_OK);
        for (uint64_t i = 0; i < N; i++) {
            ck_assert_uint_eq(bed_word(&bed, 1, (int64_t) i), ((uint64_t) who + 2) * (i + 1));
            ck_assert_uint_eq(old[i], ((uint64_t) who + 1) * (i + 1));
        }
        TEST_DONE(&bed.w, bed_flush(&bed, 1));
    }
    bed_end(&bed);
}
END_TEST

/* The operation's own, and the window stays as it was. */
START_TEST(failures)
{
    struct bed bed;
    uint64_t back = 9;
    bed_open(&bed, 0);
    for (int call = 1; call <= 2; call++) {
        mover.calls = 0;
        mover.fail_at = call;
        ck_assert_int_eq(operate(&bed, add_u64(1, 3, &one, NULL)), WDL_ERR_RANGE);
        mover.calls = 0;
        ck_assert_int_eq(operate(&bed, test_cas(1, 3, TEST_U64, &(uint64_t){0}, &five, &back)),
                         WDL_ERR_RANGE);
        ck_assert_uint_eq(back, 9);
        ck_assert_uint_eq(bed_word(&bed, 1, 3), 0);
    }
    mover.fail_at = 0;
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    ck_assert_int_eq(operate(&bed, add_u64(1, 3, &one, NULL)), WDL_OK);
    ck_assert_uint_eq(bed_word(&bed, 1, 3), 1);
    ck_assert_uint_eq(bed_stats(&bed).ops_copied, 1);
    bed_close(&bed);

    bed_open(&bed, 1);
    int64_t place = attach(&bed, 1, 64, 8);
    ck_assert_int_eq(operate(&bed, add_u64(1, place + 8, &one, NULL)), WDL_ERR_RANGE);
    ck_assert_int_eq(operate(&bed, test_acc(1, place, WDL_ROP_SUM, TEST_U64, 2,
                                            (uint64_t[2]){1, 1}, NULL)), WDL_ERR_RANGE);
    ck_assert_uint_eq(bed_word(&bed, 1, 8), 0);
    ck_assert_int_eq(operate(&bed, add_u64(1, place, &one, NULL)), WDL_OK);
    ck_assert_uint_eq(bed_word(&bed, 1, 8), 1);
    bed_close(&bed);
}
END_TEST

/* The target's own updates wait for those from outside: none comes between reading and writing. */
static void own_update(struct bed *bed, int call)
{
    struct wdl_rma_args args = add_u64(1, 3, &five, NULL);
    int step = 0;
    if (call != 2) /* what it has read is about to be written */
        return;
    ck_assert_int_eq(wdl_win_lock_all(bed->win[1], 0, &step), WDL_OK);
    ck_assert_int_eq(wdl_rma_op(bed->win[1], &args), WDL_AGAIN);
    ck_assert_uint_eq(bed_word(bed, 1, 3), 0);
}

START_TEST(its_process_does_not_come_between)
{
    struct bed bed;
    struct wdl_rma_args args = add_u64(1, 3, &five, NULL);
    int step = 0;
    bed_open(&bed, 0);
    mover.bed = &bed;
    mover.during = own_update;
    ck_assert_int_eq(operate(&bed, add_u64(1, 3, &one, NULL)), WDL_OK);
    ck_assert_int_eq(mover.calls, 2);
    ck_assert_uint_eq(bed_word(&bed, 1, 3), 1);
    ck_assert_int_eq(wdl_rma_op(bed.win[1], &args), WDL_OK);
    ck_assert_uint_eq(bed_word(&bed, 1, 3), 6);
    TEST_DONE(&bed.w, wdl_win_unlock_all(bed.win[1], &step));
    bed_close(&bed);
}
END_TEST

WDL_SUITE("rma/outside", every_kind_is_done_in_the_call, what_is_for_it,
          elements_without_an_instruction,
          behind_a_message_by_message, many_together_are_a_message,
          who_is_away_gets_no_messages, goes_on_where_it_stopped,
          failures, its_process_does_not_come_between)
