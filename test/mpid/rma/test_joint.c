/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/joint: long puts and gets of which the target copies a part, comes late, leaves, is
 * still at it or fails; and what it makes of a cell full of nonsense.
 */
#include <pthread.h>
#include <string.h>
#include "base/prng.h"
#include "mpid/rma/copybed.h"
#include "mpid/rma/joint.h"
#include "mpid/rma/mail.h"
#include "support/must.h"
#include "support/suite.h"

enum { ROOM = 1 << 20, ODD = 300 * 1024 + 123, LONG = 600 * 1024 + 123, PUT = 0, GET = 1 };

static char mine[ROOM];
static const struct wdl_trial system_is_faster =
    {.asked = 100, .next = 1 << 30, .every = 1 << 20, .ns = {9000, 3000}, .best = WDL_MAIL_SYSTEM};

static char byte_of(size_t i)
{
    return (char) (i * 7 + i / 4096);
}

static void open_as(struct bed *bed, int dynamic)
{
    bed_open_as(bed, (struct bed_kind){.mail = 1, .dynamic = dynamic, .bytes = ROOM});
    mover.bed = bed;
    for (int kind = 0; kind < 2; kind++)
        for (int i = 0; i < WDL_MAIL_SIZES; i++)
            bed->win[0]->rma->trial[0][kind][i] = bed->win[0]->rma->trial[2][kind][i] =
                system_is_faster;
    bed_ring[0].filled = WDL_STREAM_BYTES;      /* used before (stream.h) */
}

static void open(struct bed *bed)
{
    open_as(bed, 0);
}

/* Of rank 0 with rank 1, from the second element on; what arrives is not there yet. */
static struct wdl_rma_args op_of(struct bed *bed, int gets, size_t bytes)
{
    char *theirs = bed->w.rank[1].memory;
    memset(mine, 0, ROOM);
    memset(theirs, 0, ROOM);
    char *source = gets ? theirs + UNIT : mine;
    for (size_t i = 0; i < bytes; i++)
        source[i] = byte_of(i);
    source[bytes] = 'x';        /* not part of it */
    return gets ? test_get(1, 1, mine, bytes) : test_put(1, 1, mine, bytes);
}

static void has_arrived(struct bed *bed, int gets, size_t bytes)
{
    const char *at = gets ? mine : bed->w.rank[1].memory + UNIT;
    for (size_t i = 0; i < bytes; i++)
        must_cmp(at[i], ==, byte_of(i));
    must_cmp(at[bytes], ==, 0);
    must(gets || at[-1] == 0);
}

static int serve(struct bed *bed)
{
    return wdl_mailbox_serve(bed->win[1]);
}

/* What happens during the origin's calls: the target serves so often in each. */
static int often, target_calls;

static void target_comes(struct bed *bed, int call)
{
    (void) call;
    mover.during = NULL;        /* not in the target's own calls */
    for (int i = 0; i < often; i++)
        target_calls += serve(bed);
    mover.during = target_comes;
}

/* Each byte is moved once, by whoever takes it; the call ends it. */
START_TEST(both_copy)
{
    for (int gets = PUT; gets <= GET; gets++)
        for (often = 0; often < 12; often++) {
            struct bed bed;
            open(&bed);
            struct wdl_rma_args args = op_of(&bed, gets, ODD);
            mover.during = target_comes;
            target_calls = 0;
            ck_assert_int_eq(operate(&bed, args), WDL_OK);
            mover.during = NULL;
            ck_assert(!wdl_mailbox_under_way(bed.win[0]));
            ck_assert_int_eq(bed_cell(&bed, 1)->kind, WDL_MAIL_JOINT);
            has_arrived(&bed, gets, ODD);
            /* half and half by the origin alone; a target that is there all the while does half */
            ck_assert_int_eq(target_calls > 0, often > 0);
            ck_assert(often > 0 || mover.calls == 2);
            uint64_t theirs = bed_cell(&bed, 1)->joint.taken >> 32, all = (ODD + 4095) / 4096;
            ck_assert(often < 4 ? theirs < all - all / 2 : theirs == all - all / 2);
            ck_assert_uint_eq(bed_stats(&bed).ops_copied, 1);
            ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 0);
            ck_assert_int_eq(serve(&bed), 0);
            ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
            bed_close(&bed);
        }
}
END_TEST

/* The target's parts become shorter, at most half of what is left, so nobody waits for long; and
 * none is longer than it may be away for. */
START_TEST(parts)
{
    struct bed bed;
    struct wdl_mail asked;
    enum { ALL = 200 * WDL_JOINT_PAGE };
    static char source[ALL];
    size_t moved = 0, sum = 0, left = ALL;
    bed_open_as(&bed, (struct bed_kind){.mail = 1, .bytes = ALL});
    struct wdl_mail *mail = bed_cell(&bed, 1);
    for (size_t i = 0; i < ALL; i++)
        source[i] = byte_of(i);
    mail->origin = 0;
    mail->rop = 1;
    mail->disp = (int64_t) (uintptr_t) bed.w.rank[1].memory;
    mail->joint = (struct wdl_mail_joint){.from = (uint64_t) (uintptr_t) source, .bytes = left};
    asked = *mail;
    while (wdl_joint_serve(bed.win[1], mail, &asked, &moved) == WDL_AGAIN) {
        size_t half = left / WDL_JOINT_PAGE / 2 * WDL_JOINT_PAGE;
        size_t part = half > WDL_JOINT_PART ? half : WDL_JOINT_PART;
        part = part < WDL_JOINT_MOST ? part : WDL_JOINT_MOST;
        ck_assert_uint_eq(moved - sum, part < left ? part : left);
        left -= moved - sum;
        sum = moved;
    }
    ck_assert_uint_eq(left, 0);
    ck_assert_int_eq(mover.calls, 7);   /* 64, 64, 36, 18, 9, 8 and 1 pages */
    ck_assert_mem_eq(bed.w.rank[1].memory, source, ALL);
    bed_close(&bed);
}
END_TEST

/* The target has taken the last part, and is at it when the call ends. */
static int pages_left;

static void target_is_at_it(struct bed *bed, int call)
{
    struct wdl_mail *mail = bed_cell(bed, 1);
    (void) call;
    mover.during = NULL;
    must(wdl_mail_swap(mail, WDL_MAIL_POSTED, WDL_MAIL_TAKEN));
    uint64_t all = (ODD + WDL_JOINT_PAGE - 1) / WDL_JOINT_PAGE;
    pages_left = (int) (all - (mail->joint.taken & UINT32_MAX));
    mail->joint.taken += (uint64_t) pages_left << 32;
}

static void target_ends(struct bed *bed, int gets)
{
    char *theirs = bed->w.rank[1].memory + UNIT;
    for (size_t i = 0; i < ODD; i++)
        (gets ? mine : theirs)[i] = byte_of(i);
}

/* It is over when the target says so, or has given the cell back; with its request. What the target
 * could not do is done again. */
START_TEST(what_is_under_way)
{
    enum { DONE, GIVEN_BACK, FAILED, WAYS };
    for (int gets = PUT; gets <= GET; gets++)
        for (int way = 0; way < 2 * WAYS; way++) {
            struct bed bed;
            struct test_request request = {0};
            open(&bed);
            struct wdl_rma_args args = op_of(&bed, gets, ODD);
            struct wdl_mail *mail = bed_cell(&bed, 1);
            args.request = way < WAYS ? NULL : &request;
            mover.during = target_is_at_it;
            ck_assert_int_eq(operate(&bed, args), WDL_OK);
            ck_assert_int_eq(mover.calls, 1);
            ck_assert_int_gt(pages_left, 0);
            ck_assert(wdl_mailbox_under_way(bed.win[0]) && !request.done);
            for (int i = 0; i < 10 * WDL_MAIL_LOOKS; i++) /* nobody gives up */
                ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
            ck_assert_int_eq(mail->state, WDL_MAIL_TAKEN);
            if (way % WAYS != FAILED)
                target_ends(&bed, gets);
            mail->status = way % WAYS == FAILED ? WDL_ERR_PEER : WDL_OK;
            wdl_mail_set(mail, way % WAYS == GIVEN_BACK ? WDL_MAIL_POSTED : WDL_MAIL_DONE);
            ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
            ck_assert_int_eq(mover.calls, way % WAYS == FAILED ? 2 : 1);
            ck_assert(way < WAYS || (request.done && request.status == WDL_OK));
            ck_assert_int_ne(mail->state, WDL_MAIL_POSTED);
            has_arrived(&bed, gets, ODD);
            ck_assert_uint_eq(bed_stats(&bed).ops_copied, 1);
            ck_assert(!wdl_mailbox_under_way(bed.win[0]));
            bed_close(&bed);
        }
}
END_TEST

/* ... and so is what this side could not, once the target has left that memory. */
static void target_is_at_half(struct bed *bed, int call)
{
    target_is_at_it(bed, call);
    bed_cell(bed, 1)->joint.taken -= (uint64_t) (pages_left / 2) << 32;
}

START_TEST(ours_fails_meanwhile)
{
    struct bed bed;
    open(&bed);
    struct wdl_rma_args args = op_of(&bed, PUT, ODD);
    mover.during = target_is_at_half;
    mover.fail_at = 2;
    ck_assert_int_eq(operate(&bed, args), WDL_OK);
    ck_assert_int_eq(mover.calls, 2);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
    bed_cell(&bed, 1)->status = WDL_OK;
    wdl_mail_set(bed_cell(&bed, 1), WDL_MAIL_DONE);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    ck_assert_int_eq(mover.calls, 3);
    has_arrived(&bed, PUT, ODD);
    bed_close(&bed);
}
END_TEST

/* What fails on either side is done again, all of it, and the origin hears what is wrong. */
START_TEST(what_goes_wrong)
{
    for (int fail_at = 1; fail_at <= 4; fail_at++)
        for (often = 0; often < 2; often++) {
            struct bed bed;
            open(&bed);
            struct wdl_rma_args args = op_of(&bed, PUT, ODD);
            mover.fail_at = fail_at;
            mover.during = target_comes;
            ck_assert_int_eq(operate(&bed, args), WDL_OK);
            mover.during = NULL;
            for (int i = 0; bed_flush(&bed, 1) == WDL_AGAIN; i++) {
                ck_assert_int_lt(i, 10);
                serve(&bed);
            }
            has_arrived(&bed, PUT, ODD);
            bed_close(&bed);
        }
}
END_TEST

/* Memory of the target's that the origin cannot touch; of the origin's that the target cannot. */
START_TEST(what_cannot_be_touched)
{
    for (often = 0; often < 2; often++) {
        struct bed bed;
        open(&bed);
        struct wdl_rma_args args = op_of(&bed, PUT, ODD);
        mover.broken = often ? mine + ODD - 1 : bed.w.rank[1].memory + ODD - 1;
        mover.during = target_comes;
        ck_assert_int_eq(operate(&bed, args), often ? WDL_OK : WDL_ERR_RANGE);
        ck_assert(!wdl_mailbox_under_way(bed.win[0]));
        mover.during = NULL;
        if (often)
            has_arrived(&bed, PUT, ODD);
        bed_close(&bed);
    }
}
END_TEST

/* A target that gave the cell back and went on computing has what is left copied. */
static void target_comes_once(struct bed *bed, int call)
{
    (void) call;
    mover.during = NULL;
    must_cmp(serve(bed), ==, 1);
    must_cmp(bed_cell(bed, 1)->state, ==, WDL_MAIL_POSTED);
}

START_TEST(a_target_leaves)
{
    struct bed bed;
    open(&bed);
    struct wdl_rma_args args = op_of(&bed, PUT, ODD);
    mover.during = target_comes_once;
    ck_assert_int_eq(operate(&bed, args), WDL_OK);
    ck_assert(!wdl_mailbox_under_way(bed.win[0]));
    ck_assert_int_eq(bed_cell(&bed, 1)->state, WDL_MAIL_FREE);
    has_arrived(&bed, PUT, ODD);
    bed_close(&bed);
}
END_TEST

static void target_may_not(struct bed *bed, int call)
{
    struct wdl_mail *mail = bed_cell(bed, 1);
    (void) call;
    if (!wdl_mail_swap(mail, WDL_MAIL_POSTED, WDL_MAIL_TAKEN))
        return; /* not asked */
    mail->status = WDL_ERR_PEER;
    wdl_mail_set(mail, WDL_MAIL_DONE);
}

static int asks(struct bed *bed, struct wdl_rma_args args)
{
    struct wdl_mail *mail = bed_cell(bed, args.target);
    mail->kind = WDL_MAIL_KINDS;
    ck_assert_int_eq(operate(bed, args), WDL_OK);
    ck_assert(!wdl_mailbox_under_way(bed->win[0]));
    if (bed->win[0]->epoch.access_state == WDL_ACCESS_LOCK_ALL_GRANTED)
        ck_assert_int_eq(bed_flush(bed, args.target), WDL_OK);  /* not one of several (train.h) */
    return mail->kind == WDL_MAIL_JOINT;
}

/* Puts of so many bytes until one is asked for, of a target that looks between them. */
static int unasked(struct bed *bed, size_t bytes)
{
    int n = 0;
    serve(bed);
    while (!asks(bed, op_of(bed, PUT, bytes))) {
        ck_assert_int_lt(n++, 32);
        serve(bed);
    }
    return n;
}

/* Long ones in one piece on both sides; a target that did not come only when it has looked since;
 * none where one could not copy. */
START_TEST(which_are_asked_for)
{
    struct bed bed;
    open(&bed);
    struct wdl_rma_args args = op_of(&bed, PUT, ODD);
    args.origin.lo = args.remote.lo = UNIT;     /* begins elsewhere than its buffer */
    args.origin.hi = args.remote.hi = ODD + UNIT;
    ck_assert(asks(&bed, args));
    ck_assert_mem_eq(bed.w.rank[1].memory + 2 * UNIT, mine + UNIT, ODD);
    for (int gets = PUT; gets <= GET; gets++) { /* nobody came */
        ck_assert(!asks(&bed, op_of(&bed, gets, ODD)));
        serve(&bed);
        ck_assert(asks(&bed, op_of(&bed, gets, ODD)));
    }
    serve(&bed);
    ck_assert(!asks(&bed, op_of(&bed, PUT, WDL_JOINT_LEAST - 1)));
    int seldom = unasked(&bed, WDL_JOINT_LEAST); /* it has not come several times */
    ck_assert_int_gt(seldom, unasked(&bed, ODD));
    serve(&bed);
    bed.w.control[1].mail_open = 0;
    ck_assert(!asks(&bed, op_of(&bed, PUT, ODD)));
    bed.w.control[1].mail_open = 1;
    unasked(&bed, ODD);
    mover.during = target_may_not;
    unasked(&bed, ODD);
    mover.during = NULL;
    for (int i = 0; i < 32; i++) {
        serve(&bed);
        ck_assert(!asks(&bed, op_of(&bed, PUT, ODD)));
    }
    bed_close(&bed);
}
END_TEST

/* Not where each side is likely to copy for itself: between fences, and while memory is exposed. */
START_TEST(not_where_both_access)
{
    static const int one[1] = {1}, zero[1] = {0};
    for (int exposes = 0; exposes < 3; exposes++) {
        struct bed bed;
        int waits = 0, other = 0;
        open(&bed);
        struct wdl_win *win = bed.win[0];
        TEST_DONE(&bed.w, wdl_win_unlock_all(win, &bed.step));
        if (exposes == 2) {
            TEST_ALL(&bed.w, wdl_win_fence(bed.win[r->rank], 0, &r->step));
            ck_assert(!asks(&bed, op_of(&bed, PUT, ODD)));
            /* nor does what others take by both tell what these take by the system */
            TEST_ALL(&bed.w, wdl_win_fence(bed.win[r->rank], 0, &r->step));
            memset(bed.win[0]->rma->trial[2], 0, sizeof(bed.win[0]->rma->trial[2]));
            ck_assert_int_eq(operate(&bed, op_of(&bed, PUT, ODD)), WDL_OK);
            ck_assert(bed.win[0]->mailbox.stream);
            TEST_ALL(&bed.w, wdl_win_fence(bed.win[r->rank], WDL_MODE_NOSUCCEED, &r->step));
        } else {
            TEST_DONE(&bed.w, wdl_win_post(bed.win[1], zero, 1, 0, &other));
            if (exposes)
                TEST_DONE(&bed.w, wdl_win_post(win, one, 1, 0, &bed.step));
            TEST_DONE(&bed.w, wdl_win_start(win, one, 1, 0, &bed.step));
            ck_assert_int_eq(asks(&bed, op_of(&bed, PUT, ODD)), !exposes);
            TEST_DONE(&bed.w, wdl_win_complete(win, &bed.step));
            TEST_DONE(&bed.w, wdl_win_wait(bed.win[1], &other));
            if (exposes) {
                TEST_DONE(&bed.w, wdl_win_start(bed.win[1], zero, 1, 0, &other));
                TEST_DONE(&bed.w, wdl_win_complete(bed.win[1], &other));
                TEST_DONE(&bed.w, wdl_win_wait(win, &waits));
            }
        }
        TEST_DONE(&bed.w, wdl_win_lock_all(win, 0, &bed.step));
        bed_end(&bed);
    }
}
END_TEST

/* Of attached memory, and not beyond it. */
START_TEST(attached_memory)
{
    struct bed bed;
    open_as(&bed, 1);
    int64_t there = attach(&bed, 1, UNIT, ODD);
    struct wdl_rma_args args = op_of(&bed, PUT, ODD);
    args.disp = there;
    often = 2;
    mover.during = target_comes;
    target_calls = 0;
    ck_assert_int_eq(operate(&bed, args), WDL_OK);
    mover.during = NULL;
    ck_assert_int_gt(target_calls, 0);
    has_arrived(&bed, PUT, ODD);
    bed_close(&bed);
}
END_TEST

/* Where cells are shared each is given back, however it ends; one that is in use is left alone. */
START_TEST(shared_cells)
{
    enum { NOBODY, ALL_THE_WHILE, LATE, IN_USE, WAYS };
    for (int way = 0; way < WAYS; way++) {
        struct bed bed;
        open(&bed);
        struct wdl_mail *mail = bed_cell(&bed, 1);
        struct wdl_rma_args args = op_of(&bed, PUT, ODD);
        for (int i = 0; i < RANKS; i++)
            bed.win[i]->params.node_count = WDL_WIN_MAILS + 1;
        mail->kind = WDL_MAIL_KINDS;
        if (way == IN_USE)
            wdl_mail_set(mail, WDL_MAIL_FILLING);
        often = way == ALL_THE_WHILE ? 12 : 0;
        mover.during = way == LATE ? target_is_at_it : target_comes;
        ck_assert_int_eq(operate(&bed, args), WDL_OK);
        mover.during = NULL;
        ck_assert_int_eq(mail->kind == WDL_MAIL_JOINT, way != IN_USE);
        if (way == LATE) {
            target_ends(&bed, PUT);
            mail->status = WDL_OK;
            wdl_mail_set(mail, WDL_MAIL_DONE);
        }
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
        ck_assert_uint_eq(mail->state, way == IN_USE ? WDL_MAIL_FILLING : WDL_MAIL_FREE);
        has_arrived(&bed, PUT, ODD);
        for (int i = 0; i < RANKS; i++)
            bed.win[i]->params.node_count = RANKS;
        bed_close(&bed);
    }
}
END_TEST

/* --- on mapped memory ------------------------------------------------------------------------- */

static const struct wdl_trial both_are_faster =
    {.asked = 100, .next = 1 << 30, .every = 1 << 20, .ns = {3000, 9000}};

static void open_mapped(struct bed *bed)
{
    bed_open_as(bed, (struct bed_kind){.mapped = 1, .bytes = ROOM});
    for (int gets = PUT; gets <= GET; gets++)
        for (int i = 0; i < WDL_JOINT_SIZES; i++)
            bed->win[0]->rma->mapped_trial[0][gets][i] =
                bed->win[0]->rma->mapped_trial[1][gets][i] = both_are_faster;
}

/* A target that is in MPI, on a processor of its own. */
static struct helper {
    pthread_t thread;
    struct bed *bed;
    int stop, parts;
} helper;

static void *help(void *arg)
{
    (void) arg;
    while (!__atomic_load_n(&helper.stop, __ATOMIC_RELAXED))
        if (wdl_mailbox_serve(helper.bed->win[1]) > 0)
            helper.parts++;
    return NULL;
}

/* Each byte is there when the call ends, whoever has copied it. */
START_TEST(mapped_memory)
{
    for (int gets = PUT; gets <= GET; gets++) {
        struct bed bed;
        uint64_t theirs = 0;
        open_mapped(&bed);
        helper = (struct helper){.bed = &bed};
        pthread_create(&helper.thread, NULL, help, NULL);
        for (int i = 0; i < 50 || (theirs == 0 && i < 100000); i++) {
            struct wdl_rma_args args = op_of(&bed, gets, LONG - i % 50);
            int status = wdl_rma_op(bed.win[0], &args);
            while (status == WDL_AGAIN)
                status = wdl_rma_op(bed.win[0], &args);
            ck_assert_int_eq(status, WDL_OK);
            has_arrived(&bed, gets, LONG - i % 50);
            ck_assert(!bed.win[0]->mailbox.mapped);
            ck_assert_uint_ne(wdl_mail_look(bed_cell(&bed, 1)), WDL_MAIL_POSTED);
            theirs += bed_cell(&bed, 1)->joint.taken >> 32;
        }
        __atomic_store_n(&helper.stop, 1, __ATOMIC_RELAXED);
        pthread_join(helper.thread, NULL);
        ck_assert_uint_gt(theirs, 0);
        ck_assert_int_ge(mover.calls, 1);
        ck_assert_int_ge(helper.parts, mover.calls);
        ck_assert_uint_eq(bed_stats(&bed).ops_copied, 0);
        bed_close(&bed);
    }
}
END_TEST

/* Its part of one that is under way is over when it says so, or has given the cell back; what it
 * could not do is done again, and it is not asked again. */
START_TEST(mapped_is_under_way)
{
    enum { DONE, GIVEN_BACK, FAILED, WAYS };
    for (int gets = PUT; gets <= GET; gets++)
        for (int way = 0; way < WAYS; way++) {
            struct bed bed;
            open_mapped(&bed);
            struct wdl_mail *mail = bed_cell(&bed, 1);
            struct wdl_rma_args args = op_of(&bed, gets, LONG), other = args;
            *mail = (struct wdl_mail){.kind = WDL_MAIL_JOINT, .state = WDL_MAIL_TAKEN};
            bed.win[0]->mailbox.mapped = mail;
            bed.win[0]->mailbox.mapped_ns = 1;
            args.done = 1;
            ck_assert_int_eq(wdl_rma_op(bed.win[0], &args), WDL_AGAIN);
            if (way == GIVEN_BACK) {    /* another thread's finds the cell in use */
                ck_assert_int_eq(wdl_rma_op(bed.win[0], &other), WDL_OK);
                has_arrived(&bed, gets, LONG);
                ck_assert(bed.win[0]->mailbox.mapped == mail);
                op_of(&bed, gets, LONG);
            }
            ck_assert_int_eq(mail->state, WDL_MAIL_TAKEN);
            mail->status = way == FAILED ? WDL_ERR_PEER : WDL_OK;
            wdl_mail_set(mail, way == GIVEN_BACK ? WDL_MAIL_POSTED : WDL_MAIL_DONE);
            uint32_t took = bed.win[0]->rma->mapped_trial[0][!gets][0].ns[0];
            ck_assert_int_eq(wdl_rma_op(bed.win[0], &args), WDL_OK);
            ck_assert_uint_ne(bed.win[0]->rma->mapped_trial[0][!gets][0].ns[0], took);
            ck_assert(!bed.win[0]->mailbox.mapped);
            if (way == FAILED)
                has_arrived(&bed, gets, LONG);   /* copied again */
            else
                must_cmp(gets ? mine[0] : bed.w.rank[1].memory[UNIT], ==, 0);
            ck_assert_int_eq(bed.win[0]->mailbox.joint_refused, way == FAILED);
            ck_assert_uint_ne(mail->state, WDL_MAIL_POSTED);
            bed_close(&bed);
        }
}
END_TEST

/* The target's part of one is that of the window's memory which the origin means. */
static uint64_t comes_meanwhile(void *ctx)
{
    struct bed *bed = ctx;
    for (int i = 0; i < often; i++)
        target_calls += serve(bed);
    return 0;
}

START_TEST(mapped_parts)
{
    for (often = 0; often < 12; often++) {
        struct bed bed;
        open_mapped(&bed);
        struct wdl_bypass *bypass = wdl_bypass_for(bed.win[0], 1);
        bypass->now_ns = comes_meanwhile;
        bypass->ctx = &bed;
        bypass->untimed = WDL_BYPASS_CLOCK;
        target_calls = 0;
        ck_assert_int_eq(operate(&bed, op_of(&bed, PUT, LONG)), WDL_OK);
        has_arrived(&bed, PUT, LONG);
        uint64_t taken = bed_cell(&bed, 1)->joint.taken, all = (LONG + 4095) / 4096;
        ck_assert_uint_eq((taken & UINT32_MAX) + (taken >> 32), all);
        ck_assert_int_eq(taken >> 32 > 0, often > 0);
        ck_assert(often < 5 || taken >> 32 == all - all / 2);
        ck_assert_int_eq(mover.calls > 0, often > 0);
        ck_assert_int_eq(target_calls > 0, often > 0);
        bed_close(&bed);
    }
}
END_TEST

static int asks_mapped(struct bed *bed, struct wdl_rma_args args)
{
    struct wdl_mail *mail = bed_cell(bed, args.target);
    uint8_t visits = mail->visits;
    mail->kind = WDL_MAIL_KINDS;
    serve(bed);
    bed->win[0]->mailbox.past[WDL_MAIL_JOINTS][1].pass = 0;
    ck_assert_int_eq(operate(bed, args), WDL_OK);
    has_arrived(bed, args.kind == WDL_RMA_GET, args.remote.bytes);
    ck_assert_int_eq(mail->state, WDL_MAIL_FREE);
    int alone = args.remote.bytes < WDL_JOINT_MAPPED ||
                bed->win[0]->rma->mapped_trial[0][args.kind == WDL_RMA_PUT][0].best != 0;
    if (mail->kind != WDL_MAIL_JOINT && !alone)
        ck_assert_uint_eq(mail->visits, (uint8_t) (visits + 1));        /* so it does not sleep */
    return mail->kind == WDL_MAIL_JOINT;
}

/* Long ones to others who wait in MPI, unless one alone is faster. */
START_TEST(mapped_that_are_asked_for)
{
    struct bed bed;
    open_mapped(&bed);
    struct wdl_win *win = bed.win[0];
    for (int gets = PUT; gets <= GET; gets++) {
        ck_assert(asks_mapped(&bed, op_of(&bed, gets, LONG)));
        ck_assert(asks_mapped(&bed, op_of(&bed, gets, WDL_JOINT_MAPPED)));
        ck_assert(!asks_mapped(&bed, op_of(&bed, gets, WDL_JOINT_MAPPED - 1)));
        win->rma->mapped_trial[0][!gets][0].best = 1;
        ck_assert(!asks_mapped(&bed, op_of(&bed, gets, LONG)));
        ck_assert(asks_mapped(&bed, op_of(&bed, !gets, LONG)));
        win->rma->mapped_trial[0][!gets][0].best = 0;
    }
    bed.w.control[1].mail_open = 0;
    ck_assert(!asks_mapped(&bed, op_of(&bed, PUT, LONG)));
    bed.w.control[1].mail_open = 1;
    win->mailbox.joint_refused = 1;
    ck_assert(!asks_mapped(&bed, op_of(&bed, PUT, LONG)));
    win->mailbox.joint_refused = 0;
    ck_assert(asks_mapped(&bed, op_of(&bed, PUT, LONG)));
    /* nobody came: not until the target looks again */
    bed_cell(&bed, 1)->kind = WDL_MAIL_KINDS;
    win->mailbox.past[WDL_MAIL_JOINTS][1].pass = 0;
    ck_assert_int_eq(operate(&bed, op_of(&bed, PUT, LONG)), WDL_OK);
    ck_assert_int_eq(bed_cell(&bed, 1)->kind, WDL_MAIL_KINDS);
    /* oneself */
    bed.w.control[0].mail[0].kind = WDL_MAIL_KINDS;
    ck_assert_int_eq(operate(&bed, test_put(0, 0, mine, LONG)), WDL_OK);
    ck_assert_int_eq(bed.w.control[0].mail[0].kind, WDL_MAIL_KINDS);
    ck_assert_mem_eq(bed.w.rank[0].memory, mine, LONG);
    /* what overlaps goes as memmove does it */
    char *theirs = bed.w.rank[1].memory;
    op_of(&bed, GET, LONG);
    serve(&bed);
    win->mailbox.past[WDL_MAIL_JOINTS][1].pass = 0;
    ck_assert_int_eq(operate(&bed, test_put(1, 0, theirs + UNIT, LONG)), WDL_OK);
    ck_assert_int_eq(bed_cell(&bed, 1)->kind, WDL_MAIL_KINDS);
    for (size_t i = 0; i < LONG; i++)
        must_cmp(theirs[i], ==, byte_of(i));
    TEST_DONE(&bed.w, wdl_win_unlock_all(win, &bed.step));
    TEST_ALL(&bed.w, wdl_win_fence(bed.win[r->rank], 0, &r->step));
    ck_assert(!asks_mapped(&bed, op_of(&bed, PUT, LONG)));
    TEST_ALL(&bed.w, wdl_win_fence(bed.win[r->rank], WDL_MODE_NOSUCCEED, &r->step));
    TEST_DONE(&bed.w, wdl_win_lock_all(win, 0, &bed.step));
    bed_close(&bed);
}
END_TEST

/* --- blocks ----------------------------------------------------------------------------------- */

enum { BLOCK = 1500, GAP = 100, BLOCKS = 400 };

/* Forwards, backwards, and close together. */
static struct wdl_rows rows_in(char *memory, int way)
{
    int64_t apart = BLOCK + GAP;
    return way == 0 ? (struct wdl_rows){memory + UNIT, apart, BLOCK, BLOCKS} :
           way == 1 ? (struct wdl_rows){memory + UNIT + (BLOCKS - 1) * apart, -apart, BLOCK,
                                        BLOCKS} :
                      (struct wdl_rows){memory + UNIT, BLOCK, BLOCK, BLOCKS};
}

static void rows_fill(const struct wdl_rows *rows)
{
    for (size_t i = 0; i < rows->bytes * rows->count; i++)
        rows->base[(int64_t) (i / rows->bytes) * rows->stride + (int64_t) (i % rows->bytes)] =
            byte_of(i);
}

/* All of them, and nothing beside them. */
static void rows_have_arrived(const struct wdl_rows *rows, char *memory)
{
    for (size_t i = 0; i < rows->bytes * rows->count; i++) {
        char *at = rows->base + (int64_t) (i / rows->bytes) * rows->stride + i % rows->bytes;
        must_cmp(*at, ==, byte_of(i));
        *at = 0;
    }
    for (size_t i = 0; i < ROOM; i++)
        must_cmp(memory[i], ==, 0);
}

/* What the target finds in its cell, if it does everything. */
static void rows_by_target(struct bed *bed, const struct wdl_joint *joint)
{
    struct wdl_mail *mail = bed_cell(bed, 1);
    size_t moved = 0;
    *mail = (struct wdl_mail){.is_rows = 1, .rop = (uint8_t) joint->put, .bytes = BLOCK};
    mail->kind = WDL_MAIL_JOINT;
    mail->disp = joint->far.base - bed->w.rank[1].memory;
    mail->joint = (struct wdl_mail_joint){.from = (uint64_t) (uintptr_t) joint->near.base,
                                          .bytes = BLOCK * BLOCKS,
                                          .stride = (int32_t) joint->far.stride,
                                          .from_stride = (int32_t) joint->near.stride};
    struct wdl_mail asked = *mail;
    while (wdl_joint_serve(bed->win[1], mail, &asked, &moved) == WDL_AGAIN)
        ;
    must_cmp(moved, ==, BLOCK * BLOCKS);
}

/* By the target, by the origin, by both. */
START_TEST(mapped_blocks)
{
    enum { TARGET, ORIGIN, BOTH, WAYS };
    for (int k = 0; k < 2 * 3 * 3 * WAYS; k++) {
        int put = k % 2, theirs = k / 2 % 3, ours = k / 6 % 3, way = k / 18;
        struct bed bed;
        uint64_t back = 0;
        open_mapped(&bed);
        char *memory = bed.w.rank[1].memory;
        struct wdl_joint joint = {put, 1, rows_in(memory, theirs), rows_in(mine, ours)};
        const struct wdl_rows *from = put ? &joint.near : &joint.far;
        const struct wdl_rows *to = put ? &joint.far : &joint.near;
        helper = (struct helper){.bed = &bed};
        if (way == BOTH)
            pthread_create(&helper.thread, NULL, help, NULL);
        for (int i = 0; i == 0 || (way == BOTH && back == 0 && i < 100000); i++) {
            size_t begun = 0;
            memset(memory, 0, ROOM);
            memset(mine, 0, ROOM);
            rows_fill(from);
            if (way == TARGET)
                rows_by_target(&bed, &joint);
            while (way != TARGET && wdl_joint_blocks(bed.win[0], &joint, &begun) == WDL_AGAIN)
                ;
            rows_have_arrived(to, put ? memory : mine);
            must_cmp(bed_cell(&bed, 1)->is_rows, ==, 1);
            back = bed_cell(&bed, 1)->joint.taken >> 32;
        }
        __atomic_store_n(&helper.stop, 1, __ATOMIC_RELAXED);
        if (way == BOTH)
            pthread_join(helper.thread, NULL);
        must(way == ORIGIN || back > 0);
        bed_cell(&bed, 1)->state = WDL_MAIL_FREE;
        bed_close(&bed);
    }
}
END_TEST

/* Of types that are such blocks, on either side or on both; short blocks are not. */
START_TEST(mapped_types)
{
    for (int k = 0; k < 8; k++) {
        int gets = k % 2, theirs = k / 2 % 2, ours = k / 4;
        struct bed bed;
        open_mapped(&bed);
        struct test_host *host = &bed.w.rank[0].host;
        char *memory = bed.w.rank[1].memory;
        wdl_type type = test_type_vector(host, TEST_U8, BLOCKS, BLOCK, BLOCK + GAP);
        wdl_type shorts = test_type_vector(host, TEST_U8, 600, WDL_JOINT_BLOCK - 1, 1100);
        wdl_type few = test_type_vector(host, TEST_U8, 100, BLOCK, BLOCK + GAP);
        struct wdl_rma_args args = op_of(&bed, gets, BLOCK * BLOCKS);
        struct wdl_rows far = rows_in(memory, theirs ? 0 : 2), near = rows_in(mine, ours ? 0 : 2);
        near.base -= UNIT;
        if (theirs)
            args.remote = test_typed(host, NULL, 1, type);
        if (ours)
            args.origin = test_typed(host, mine, 1, type);
        memset(memory, 0, ROOM);
        memset(mine, 0, ROOM);
        rows_fill(gets ? &far : &near);
        bed_cell(&bed, 1)->kind = WDL_MAIL_KINDS;
        ck_assert_int_eq(operate(&bed, args), WDL_OK);
        ck_assert_int_eq(bed_cell(&bed, 1)->kind, WDL_MAIL_JOINT);
        ck_assert_int_eq(bed_cell(&bed, 1)->is_rows, theirs || ours);
        rows_have_arrived(gets ? &near : &far, gets ? mine : memory);
        /* not in short blocks, nor few, nor where one alone is faster */
        for (int i = 0; theirs && ours && i < 3; i++) {
            bed_cell(&bed, 1)->kind = WDL_MAIL_KINDS;
            serve(&bed);
            bed.win[0]->rma->mapped_trial[1][!gets][0].best = i == 2;
            args.remote = test_typed(host, NULL, 1, i == 0 ? shorts : i == 1 ? few : type);
            args.origin = test_typed(host, mine, 1, i == 0 ? shorts : i == 1 ? few : type);
            bed.win[0]->mailbox.past[WDL_MAIL_JOINTS][1].pass = 0;
            ck_assert_int_eq(operate(&bed, args), WDL_OK);
            ck_assert_int_eq(bed_cell(&bed, 1)->kind, WDL_MAIL_KINDS);
        }
        bed.win[0]->mailbox.past[WDL_MAIL_JOINTS][1].pass = 0;
        if (theirs && ours)
            ck_assert(asks_mapped(&bed, op_of(&bed, gets, LONG)));
        test_type_end(host, type);
        test_type_end(host, few);
        test_type_end(host, shorts);
        bed_close(&bed);
    }
}
END_TEST

/* The target touches no blocks beyond its memory, whatever the cell says. */
START_TEST(nonsense_of_blocks)
{
    struct bed bed;
    struct wdl_prng prng;
    wdl_prng_init(&prng, 7);
    open_mapped(&bed);
    struct wdl_mail *mail = bed_cell(&bed, 1);
    for (int k = 0; k < 4000; k++) {
        uint64_t any = wdl_prng_next(&prng), more = wdl_prng_next(&prng);
        struct wdl_mail bad = {.kind = WDL_MAIL_JOINT, .is_rows = 1, .rop = 1, .bytes = BLOCK};
        int64_t span = (BLOCKS - 1) * (BLOCK + GAP) + BLOCK, backwards = k / 8 % 2;
        bad.joint = (struct wdl_mail_joint){(uint64_t) (uintptr_t) mine, BLOCK * BLOCKS, 0,
                                            backwards ? -(BLOCK + GAP) : BLOCK + GAP, 0};
        bad.disp = backwards ? span - BLOCK : 0;
        int is_good = k % 8 == 0;
        switch (k % 8) {
            case 0:
                bad.disp += (int64_t) (any % (uint64_t) (ROOM - span));
                break;
            case 1:
                bad.disp += backwards ? -1 - (int64_t) (any % ROOM) :
                    ROOM - span + 1 + (int64_t) (any % ROOM);
                break;
            case 2:
                bad.joint.stride = (int32_t) (any | 1 << 20);
                break;
            case 3:
                bad.bytes = 0;
                break;
            case 4:
                bad.bytes = BLOCK * BLOCKS + 1 + (uint32_t) (any % ROOM);
                break;
            case 5:
                bad.joint.bytes = (any >> 1) / BLOCK * BLOCK;
                break;
            case 6:
                bad.joint.bytes += 1 + any % (BLOCK - 1);
                break;
            default:
                bad.joint.stride = INT32_MIN;
                bad.bytes = 1;
                bad.joint.bytes = more >> 1;
                break;
        }
        bad.state = WDL_MAIL_POSTED;
        *mail = bad;
        int before = mover.calls;
        ck_assert_int_eq(serve(&bed), 1);
        ck_assert_int_eq(mover.calls > before, is_good);
        ck_assert(is_good || (mail->state == WDL_MAIL_DONE && mail->status != WDL_OK));
        mail->state = WDL_MAIL_FREE;
    }
    bed_close(&bed);
}
END_TEST

/* A target that waits for the end of its exposure is there, too. */
START_TEST(a_target_in_wait)
{
    static const int one[1] = {1}, zero[1] = {0};
    struct bed bed;
    int other = 0, waits = 0;
    open_mapped(&bed);
    struct wdl_mail *mail = bed_cell(&bed, 1);
    TEST_DONE(&bed.w, wdl_win_unlock_all(bed.win[0], &bed.step));
    TEST_DONE(&bed.w, wdl_win_post(bed.win[1], zero, 1, 0, &other));
    TEST_DONE(&bed.w, wdl_win_start(bed.win[0], one, 1, 0, &bed.step));
    op_of(&bed, PUT, LONG);
    *mail = (struct wdl_mail){.kind = WDL_MAIL_JOINT, .rop = 1, .disp = UNIT};
    mail->joint = (struct wdl_mail_joint){.from = (uint64_t) (uintptr_t) mine, .bytes = LONG};
    wdl_mail_set(mail, WDL_MAIL_POSTED);
    for (int i = 0; mail->state != WDL_MAIL_DONE; i++) {
        ck_assert_int_lt(i, 100);
        ck_assert_int_eq(wdl_win_wait(bed.win[1], &waits), WDL_AGAIN);
    }
    has_arrived(&bed, PUT, LONG);
    TEST_DONE(&bed.w, wdl_win_complete(bed.win[0], &bed.step));
    TEST_DONE(&bed.w, wdl_win_wait(bed.win[1], &waits));
    TEST_DONE(&bed.w, wdl_win_lock_all(bed.win[0], 0, &bed.step));
    bed_close(&bed);
}
END_TEST

/* --- what comes from others ------------------------------------------------------------------- */

/* What a target finds in a cell is somebody else's: it touches nothing that it does not expose, and
 * takes nothing that is not there. */
static void nonsense(int mapped)
{
    struct bed bed;
    struct wdl_prng prng;
    wdl_prng_init(&prng, 7);
    if (mapped)
        open_mapped(&bed);
    else
        open(&bed);
    struct wdl_mail *mail = bed_cell(&bed, 1);
    struct wdl_mail good = {.origin = 0, .rop = 1, .kind = WDL_MAIL_JOINT};
    char *theirs = bed.w.rank[1].memory;
    memset(theirs, 0, ROOM);
    memset(mine, 1, ROOM);
    good.disp = mapped ? 0 : (int64_t) (uintptr_t) theirs;
    good.joint = (struct wdl_mail_joint){.from = (uint64_t) (uintptr_t) mine, .bytes = ROOM};
    for (int k = 0; k < 2000; k++) {
        struct wdl_mail bad = good;
        uint64_t any = wdl_prng_next(&prng);
        int must_fail = k % 5 < 4;
        switch (k % 5) {
            case 0:
                bad.origin = (uint32_t) any | RANKS;
                break;
            case 1:
                bad.origin = 1; /* the target itself */
                break;
            case 2:
                bad.disp += (int64_t) ((k % 2 ? any : any % ROOM) | 1);
                break;
            case 3:
                bad.joint.bytes = k % 2 ? 0 : ROOM + 1 + any % (k % 4 ? ROOM : UINT64_MAX / 2);
                break;
            default:
                bad.joint.taken = any;  /* more than there is, on either side */
                break;
        }
        bad.state = WDL_MAIL_POSTED;
        *mail = bad;
        int before = mover.calls;
        ck_assert_int_eq(serve(&bed), 1);
        ck_assert(!must_fail || (mail->state == WDL_MAIL_DONE && mail->status != WDL_OK));
        ck_assert(!must_fail || mover.calls == before);
        mail->state = WDL_MAIL_FREE;
    }
    bed_close(&bed);
}

START_TEST(nonsense_in_a_cell)
{
    nonsense(0);
    nonsense(1);
}
END_TEST

WDL_SUITE("rma/joint", both_copy, parts, what_is_under_way, ours_fails_meanwhile, what_goes_wrong,
          what_cannot_be_touched, a_target_leaves, which_are_asked_for, not_where_both_access,
          attached_memory, shared_cells, mapped_memory, mapped_is_under_way, mapped_parts,
          mapped_that_are_asked_for, mapped_blocks, mapped_types, nonsense_of_blocks,
          a_target_in_wait, nonsense_in_a_cell)
