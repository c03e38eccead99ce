/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/help: who copies what of a long put or get, and what becomes of it where one side
 * cannot.
 */
#include <string.h>
#include "mpid/rma/copybed.h"
#include "mpid/rma/win_impl.h"
#include "support/suite.h"

enum { LONG = BYTES - 4096 };   /* of the memory, from byte 8 on: two parts, the second shorter */

static char from[LONG], to[LONG];

static void open(struct bed *bed, int dynamic)
{
    for (size_t i = 0; i < LONG; i++)
        from[i] = (char) (i * 7 + i / 4096);
    bed_open_as(bed, (struct bed_kind){.mail = 1, .dynamic = dynamic});
    mover.bed = bed;
}

static int flush(struct bed *bed)
{
    return wdl_win_flush(bed->win[0], 1, 0, &bed->step);
}

/* The target comes during the first call of the system: it does the second part. */
static void helps(struct bed *bed, int call)
{
    if (call == 1)
        ck_assert_int_eq(wdl_mailbox_serve(bed->win[1]), 1);
}

/* It takes the call, but has not begun when the origin is done. */
static void takes(struct bed *bed, int call)
{
    if (call == 1)
        bed->w.control[1].mail[0].state = WDL_MAIL_TAKEN;
}

/* By byte: what was put is there, what was not is not. */
static void is_there(struct bed *bed)
{
    const char *memory = bed->w.rank[1].memory;
    ck_assert_mem_eq(memory + UNIT, from, LONG);
    for (int i = 0; i < UNIT; i++)
        ck_assert(memory[i] == 0 && memory[UNIT + LONG + i] == 0);
}

START_TEST(nobody_comes)
{
    struct bed bed;
    open(&bed, 0);
    ck_assert_int_eq(operate(&bed, test_put(1, 1, from, LONG)), WDL_OK);
    ck_assert_int_eq(mover.calls, 2);
    ck_assert(!bed.win[0]->mailbox.mail);
    is_there(&bed);
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 0);
    ck_assert_int_eq(operate(&bed, test_get(1, 1, to, LONG)), WDL_OK);
    ck_assert_mem_eq(to, from, LONG);
    ck_assert_int_eq(mover.calls, 3);   /* it was not asked, and is the next time */
    ck_assert_int_eq(operate(&bed, test_get(1, 1, to, LONG)), WDL_OK);
    ck_assert_int_eq(mover.calls, 5);
    ck_assert_int_eq(flush(&bed), WDL_OK);
    bed_close(&bed);
}
END_TEST

START_TEST(both_copy)
{
    struct bed bed;
    struct wdl_win_stats stats;
    open(&bed, 0);
    mover.during = helps;
    ck_assert_int_eq(operate(&bed, test_put(1, 1, from, LONG)), WDL_OK);
    ck_assert_int_eq(mover.calls, 2);
    ck_assert(bed.win[0]->mailbox.mail);
    ck_assert_int_eq(flush(&bed), WDL_OK);
    is_there(&bed);
    struct test_request request = {0};
    struct wdl_rma_args get = test_get(1, 1, to, LONG);
    get.request = &request;
    mover.calls = 0;
    ck_assert_int_eq(operate(&bed, get), WDL_OK);
    ck_assert_int_eq(mover.calls, 2);
    ck_assert(!request.done);
    ck_assert_int_eq(wdl_rma_progress(bed.win[0]->rma), 1);
    ck_assert(request.done && request.status == WDL_OK);
    ck_assert_mem_eq(to, from, LONG);
    wdl_win_stats_get(bed.win[0], &stats);
    ck_assert_uint_eq(stats.ops_copied, 2);
    ck_assert_uint_eq(stats.ops_mailed, 0);
    bed_close(&bed);
}
END_TEST

/* The origin waits for one that has taken the call, however little is left for it. */
START_TEST(one_that_comes_late_is_waited_for)
{
    struct bed bed;
    struct test_request request = {0};
    open(&bed, 0);
    mover.during = takes;
    struct wdl_rma_args put = test_put(1, 1, from, LONG);
    put.request = &request;
    ck_assert_int_eq(operate(&bed, put), WDL_OK);
    ck_assert_int_eq(mover.calls, 2);
    for (int i = 0; i < 2 * WDL_MAIL_LOOKS; i++)
        ck_assert_int_eq(flush(&bed), WDL_AGAIN);
    ck_assert(!request.done);
    bed.w.control[1].mail[0].state = WDL_MAIL_POSTED;
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
    ck_assert_int_eq(flush(&bed), WDL_OK);
    ck_assert_uint_eq(bed.win[0]->mailbox.past[1][1].missed, 1);        /* it was no help */
    ck_assert(request.done && request.status == WDL_OK);
    ck_assert_int_eq(mover.calls, 2);
    is_there(&bed);
    bed_close(&bed);
}
END_TEST

/* Where the helper cannot, the origin does all of it; where the origin cannot, it says so. */
START_TEST(one_side_cannot)
{
    for (int call = 1; call <= 2; call++) {
        struct bed bed;
        open(&bed, 0);
        mover.during = helps;
        mover.fail_at = call + 1;
        if (call == 2) {        /* the helper's is the second call; then everything fails */
            mover.during = NULL;
            mover.fail_at = 1;
        }
        int status = operate(&bed, test_put(1, 1, from, LONG));
        ck_assert_int_eq(status, call == 1 ? WDL_OK : WDL_ERR_RANGE);
        ck_assert_int_eq(flush(&bed), WDL_OK);
        ck_assert_int_eq(mover.calls, call == 1 ? 3 : 1);
        ck_assert(!bed.win[0]->mailbox.mail && !bed.win[0]->mailbox.withdrawn);
        if (call == 1)
            is_there(&bed);
        bed_close(&bed);
    }
}
END_TEST

/* What the target does not expose it does not touch; a short copy is the origin's alone. */
START_TEST(what_is_asked_is_checked)
{
    struct bed bed;
    open(&bed, 1);
    int64_t there = attach(&bed, 1, UNIT, LONG);
    ck_assert_int_eq(operate(&bed, test_put(1, there, from, WDL_MAIL_AREA + 1)), WDL_OK);
    ck_assert_int_eq(bed.w.control[1].mail[0].state, WDL_MAIL_FREE);
    struct wdl_mail *mail = &bed.w.control[1].mail[0];
    for (int what = 0; what < 4; what++) {
        int calls = mover.calls;
        *mail = (struct wdl_mail){.kind = WDL_MAIL_HELP, .rop = 1,
                                  .origin = what == 0 ? RANKS : 0, .disp = there,
                                  .help = {.at = (uint64_t) (uintptr_t) from, .bytes = LONG,
                                           .part = 65536}};
        mail->disp += what == 1;
        mail->help.part = what == 2 ? 0 : mail->help.part;
        mail->help.bytes = what == 3 ? UINT64_MAX : LONG;
        __atomic_store_n(&mail->state, WDL_MAIL_POSTED, __ATOMIC_RELEASE);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert(wdl_status_is_error(mail->status));
        ck_assert_int_eq(mover.calls, calls);
    }
    mover.during = helps;
    mover.calls = 0;            /* the list of what is attached has been read */
    ck_assert_int_eq(operate(&bed, test_put(1, there, from, LONG)), WDL_OK);
    ck_assert_int_eq(flush(&bed), WDL_OK);
    ck_assert_int_eq(mover.calls, 2);
    is_there(&bed);
    bed_close(&bed);
}
END_TEST

WDL_SUITE("rma/help", nobody_comes, both_copy, one_that_comes_late_is_waited_for, one_side_cannot,
          what_is_asked_is_checked)
