/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/mailbox: a put that is all there is for the only target of an access epoch, or its
 * last one and a stream, and says so itself.
 */
#include <string.h>
#include "mpid/rma/copybed.h"
#include "mpid/rma/mail.h"
#include "mpid/rma/win_impl.h"
#include "support/suite.h"

enum { AT = 3, LONG = 512 };

static const int zero[] = {0}, others[] = {1, 2};
static char from[LONG];
static int post_step, wait_step;

static int complete(struct bed *bed)
{
    return wdl_win_complete(bed->win[0], &bed->step);
}

static int target_waits(struct bed *bed)
{
    return wdl_win_wait(bed->win[1], &wait_step);
}

/* From rank 0 to rank 1 (n: to so many). */
static void begin(struct bed *bed, int n)
{
    for (int i = 0; i < n; i++)
        TEST_DONE(&bed->w, wdl_win_post(bed->win[1 + i], zero, 1, 0, &post_step));
    TEST_DONE(&bed->w, wdl_win_start(bed->win[0], others, n, 0, &bed->step));
}

static void open(struct bed *bed)
{
    bed_open_mail(bed);
    TEST_DONE(&bed->w, wdl_win_unlock_all(bed->win[0], &bed->step));
    begin(bed, 1);
}

/* The origin is somewhere in MPI. */
static void look(struct bed *bed)
{
    (void) wdl_mailboxes_progress(bed->win[0]->rma);
}

/* All epochs are over; no message was sent. */
static void close(struct bed *bed)
{
    look(bed);
    ck_assert(!wdl_mailbox_under_way(bed->win[0]));
    TEST_DONE(&bed->w, wdl_win_lock_all(bed->win[0], 0, &bed->step));
    bed_close(bed);
}

static struct wdl_rma_args put(size_t bytes)
{
    memset(from, 'a', sizeof(from));
    return test_put(1, AT, from, bytes);
}

static int is_there(const struct bed *bed, size_t bytes)
{
    static char wanted[LONG];
    memset(wanted, 'a', sizeof(wanted));
    return memcmp(bed->w.rank[1].memory + AT * UNIT, wanted, bytes) == 0;
}

static const size_t lengths[] = {8, WDL_MAIL_BYTES, WDL_MAIL_BYTES + 8, LONG};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

/* It is posted by complete, which waits for nothing; the target's wait does it and is over, epoch
 * after epoch. */
START_TEST(complete_waits_for_nobody)
{
    struct bed bed;
    open(&bed);
    for (int k = 0; k < LENGTHS; k++) {
        if (k > 0)
            begin(&bed, 1);
        memset(bed.w.rank[1].memory, 0, BYTES);
        ck_assert_int_eq(operate(&bed, put(lengths[k])), WDL_OK);
        ck_assert_int_ne(bed_cell(&bed, 1)->state, WDL_MAIL_POSTED);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 0);
        ck_assert_int_eq(target_waits(&bed), WDL_AGAIN);
        ck_assert_int_eq(complete(&bed), WDL_OK);
        ck_assert_int_eq(bed_cell(&bed, 1)->state, WDL_MAIL_LAST);
        memset(from, 'z', sizeof(from));        /* the user's again */
        ck_assert(!is_there(&bed, 1));
        ck_assert_int_eq(target_waits(&bed), WDL_OK);
        ck_assert(is_there(&bed, lengths[k]));
        ck_assert_int_eq(bed_cell(&bed, 1)->state, WDL_MAIL_DONE);
        ck_assert_uint_eq(bed_stats(&bed).ops_mailed, (unsigned) k);    /* that is seen later */
    }
    ck_assert_uint_eq(bed.w.control[1].completed, LENGTHS);
    ck_assert_int_eq(mover.calls, 0);
    close(&bed);
}
END_TEST

/* Whoever looks in between posts it, and complete waits as ever; so does another operation. */
START_TEST(what_comes_in_between_posts_it)
{
    for (int what = 0; what < 3; what++) {
        struct bed bed;
        uint64_t got = 0;
        open(&bed);
        ck_assert_int_eq(operate(&bed, put(8)), WDL_OK);
        if (what == 0)
            look(&bed);
        else
            while (operate(&bed, what == 1 ? test_put(1, AT + 1, from, 8) :
                           test_get(1, AT, &got, 8)) == WDL_AGAIN)
                wdl_mailbox_serve(bed.win[1]);
        ck_assert_int_ne(bed_cell(&bed, 1)->state, WDL_MAIL_LAST);
        for (int i = 0; complete(&bed) == WDL_AGAIN; i++) {
            ck_assert_int_lt(i, 10);
            ck_assert_int_eq(target_waits(&bed), WDL_AGAIN);
        }
        ck_assert_int_eq(target_waits(&bed), WDL_OK);
        ck_assert(is_there(&bed, what == 1 ? 16 : 8));
        close(&bed);
    }
}
END_TEST

/* One of two targets, a get, an accumulate, blocks, nor where nothing is to be held back: what says
 * nothing itself. */
START_TEST(what_is_none)
{
    for (int what = 0; what < 5; what++) {
        struct bed bed;
        uint64_t one = 1, got;
        bed_open_mail(&bed);
        TEST_DONE(&bed.w, wdl_win_unlock_all(bed.win[0], &bed.step));
        begin(&bed, what == 0 ? 2 : 1);
        struct test_host *host = &bed.w.rank[0].host;
        wdl_type type = test_type_vector(host, TEST_U64, 8, 2, 4);
        struct wdl_rma_args op = what == 1 ? test_get(1, AT, &got, 8) :
            what == 2 ? test_acc(1, AT, WDL_ROP_SUM, TEST_U64, 1, &one, NULL) : put(128);
        if (what == 3)
            op.remote = test_typed(host, NULL, 1, type);
        bed.win[0]->params.hints.combine = what == 4 ? WDL_COMBINE_NEVER : WDL_COMBINE_AUTO;
        ck_assert_int_eq(operate(&bed, op), WDL_OK);
        ck_assert(!bed.win[0]->mailbox.holds);
        ck_assert_int_eq(bed_cell(&bed, 1)->state, WDL_MAIL_POSTED);
        ck_assert_int_eq(complete(&bed), WDL_AGAIN);
        ck_assert_int_eq(target_waits(&bed), WDL_AGAIN);
        ck_assert_int_eq(complete(&bed), WDL_OK);
        ck_assert_int_eq(target_waits(&bed), WDL_OK);
        if (what == 0)
            TEST_DONE(&bed.w, wdl_win_wait(bed.win[2], &wait_step));
        test_type_end(host, type);
        close(&bed);
    }
}
END_TEST

/* The target computes: its origin goes on, and when it has something else to do on the window
 * copies by itself, from what it has kept, and counts. */
START_TEST(who_does_not_come_delays_nobody)
{
    for (int k = 0; k < 2 * LENGTHS; k++) {
        struct bed bed;
        int looks = 0, locks = k >= LENGTHS;
        size_t bytes = lengths[k % LENGTHS];
        open(&bed);
        ck_assert_int_eq(operate(&bed, put(bytes)), WDL_OK);
        ck_assert_int_eq(complete(&bed), WDL_OK);
        memset(from, 'z', sizeof(from));
        bed_cell(&bed, 1)->bytes = BYTES;       /* what others can write is not believed */
        if (locks) {
            uint64_t word = 7;
            TEST_DONE(&bed.w, wdl_win_lock(bed.win[0], 2, 1, 0, &bed.step));
            while (operate(&bed, test_put(2, 0, &word, 8)) == WDL_AGAIN)
                ck_assert_int_lt(++looks, WDL_MAIL_LOOKS + 5);
            ck_assert_int_ge(looks, WDL_MAIL_LOOKS - 1);
        } else {
            for (; wdl_mailbox_under_way(bed.win[0]); look(&bed))
                ck_assert_int_lt(looks++, WDL_MAIL_LOOKS + 5);
        }
        ck_assert(is_there(&bed, bytes));
        ck_assert_int_eq(bed.w.rank[1].memory[AT * UNIT + bytes], 0);
        ck_assert_int_eq(bed_cell(&bed, 1)->state, WDL_MAIL_FREE);
        ck_assert_uint_eq(bed.w.control[1].completed, 1);
        ck_assert_int_eq(mover.calls, 1);
        ck_assert_int_eq(target_waits(&bed), WDL_OK);
        if (locks)
            for (int i = 0; wdl_win_unlock(bed.win[0], 2, &bed.step) == WDL_AGAIN; i++)
                wdl_mailbox_serve(bed.win[2]);
        close(&bed);
    }
}
END_TEST

static int refusals;

static int refuse(void *ctx, int rank, int to_rank, struct wdl_piece *local, int nlocal,
                  struct wdl_piece *remote, int nremote)
{
    (void) ctx, (void) rank, (void) to_rank, (void) local, (void) nlocal, (void) remote;
    (void) nremote;
    refusals++;
    return WDL_ERR_UNSUPPORTED;
}

/* What the system will not copy waits for the target. */
START_TEST(what_the_system_refuses_waits)
{
    struct bed bed;
    open(&bed);
    refusals = 0;
    bed.win[0]->params.copy = refuse;
    ck_assert_int_eq(operate(&bed, put(LONG)), WDL_OK);
    ck_assert_int_eq(complete(&bed), WDL_OK);
    for (int i = 0; i < 5 * WDL_MAIL_LOOKS; i++)
        look(&bed);
    ck_assert_int_eq(refusals, 5);
    ck_assert_int_eq(bed_cell(&bed, 1)->state, WDL_MAIL_LAST);
    ck_assert_uint_eq(bed.w.control[1].completed, 0);
    ck_assert_int_eq(target_waits(&bed), WDL_OK);
    ck_assert(is_there(&bed, LONG));
    ck_assert_uint_eq(bed.w.control[1].completed, 1);
    close(&bed);
}
END_TEST

/* A target that cannot do it, or a system that fails, makes no wait without end: the origin counts,
 * and has the error. */
START_TEST(a_failure_is_counted_too)
{
    for (int by_system = 0; by_system < 2; by_system++) {
        struct bed bed;
        open(&bed);
        ck_assert_int_eq(operate(&bed, put(8)), WDL_OK);
        ck_assert_int_eq(complete(&bed), WDL_OK);
        if (by_system)
            mover.fail_at = 1;
        else
            bed_cell(&bed, 1)->disp = BYTES;
        if (!by_system)
            ck_assert_int_eq(target_waits(&bed), WDL_AGAIN);
        while (wdl_mailbox_under_way(bed.win[0]))
            look(&bed);
        ck_assert(wdl_status_is_error(wdl_win_take_error(bed.win[0])));
        ck_assert_uint_eq(bed.w.control[1].completed, 1);
        ck_assert_int_eq(target_waits(&bed), WDL_OK);
        mover.fail_at = 0;
        close(&bed);
    }
}
END_TEST

/* Nothing is under way when the window goes. */
START_TEST(it_is_seen_before_the_window_goes)
{
    struct bed bed;
    int steps[RANKS] = {0}, done[RANKS] = {0};
    open(&bed);
    ck_assert_int_eq(operate(&bed, put(8)), WDL_OK);
    ck_assert_int_eq(complete(&bed), WDL_OK);
    ck_assert_int_eq(target_waits(&bed), WDL_OK);
    ck_assert(wdl_mailbox_under_way(bed.win[0]));
    for (int left = RANKS, turns = 0; left > 0; turns++) {
        ck_assert_int_lt(turns, 100);
        for (int i = 0; i < RANKS; i++)
            if (!done[i] && wdl_win_barrier(bed.win[i], &steps[i]) == WDL_OK) {
                done[i] = 1;
                left--;
            }
        ck_assert(!wdl_mailbox_under_way(bed.win[0]));
    }
    close(&bed);
}
END_TEST

/* --- a stream --------------------------------------------------------------------------------- */

enum { STREAM = 20000, TWO_STEPS = 100000 };

static char of_stream[TWO_STEPS];

static struct wdl_rma_args put_stream(size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        of_stream[i] = (char) (i * 7 + i / 4096);
    return test_put(1, AT, of_stream, bytes);
}

static void stream_is_there(const struct bed *bed, size_t bytes)
{
    const char *memory = bed->w.rank[1].memory + AT * UNIT;
    for (size_t i = 0; i < bytes; i++)
        ck_assert_int_eq(memory[i], (char) (i * 7 + i / 4096));
    ck_assert_int_eq(memory[-1], 0);
    ck_assert_int_eq(memory[bytes], 0);
}

/* The last of several, one or more steps long, by a target that has begun before it is said, or has
 * not. */
START_TEST(a_stream_in_the_ring_is_waited_for_by_nobody)
{
    for (int what = 0; what < 4; what++) {
        struct bed bed;
        size_t bytes = what & 1 ? TWO_STEPS : STREAM;
        open(&bed);
        if (what & 2) {
            uint64_t word = 5;
            ck_assert_int_eq(operate(&bed, test_put(1, 0, &word, 8)), WDL_OK);
            look(&bed);
            ck_assert_int_eq(target_waits(&bed), WDL_AGAIN);
        }
        ck_assert_int_eq(operate(&bed, put_stream(bytes)), WDL_OK);
        ck_assert_int_eq(bed_cell(&bed, 1)->state, WDL_MAIL_POSTED);
        if (bytes == TWO_STEPS) {       /* the rest is still the user's */
            ck_assert_int_eq(complete(&bed), WDL_AGAIN);
            ck_assert_int_eq(bed_cell(&bed, 1)->state, WDL_MAIL_POSTED);
            ck_assert_int_eq(target_waits(&bed), WDL_AGAIN);
            ck_assert_int_eq(complete(&bed), WDL_AGAIN);
        }
        ck_assert_int_eq(complete(&bed), WDL_OK);
        ck_assert_int_eq(bed_cell(&bed, 1)->state, WDL_MAIL_LAST);
        memset(of_stream, 0, sizeof(of_stream));
        ck_assert_uint_eq(bed.w.control[1].completed, 0);
        ck_assert_int_eq(target_waits(&bed), WDL_OK);
        bed.w.rank[1].memory[0] = 0;
        stream_is_there(&bed, bytes);
        look(&bed);
        ck_assert_uint_eq(bed.w.control[1].completed, 1);
        ck_assert_int_eq(mover.calls, 0);
        close(&bed);
    }
}
END_TEST

static struct bed *meanwhile;
static struct wdl_stream *(*ring_of)(void *ctx, int rank, uint64_t *id);
static int completes, completed;

/* While the target is at it, its origin completes, or would, and that epoch has none. */
static struct wdl_stream *complete_meanwhile(void *ctx, int rank, uint64_t *id)
{
    if (completes-- > 0) {
        ck_assert_int_eq(bed_cell(meanwhile, 1)->state, WDL_MAIL_TAKEN);
        ck_assert_int_eq(complete(meanwhile), completed);
        ck_assert_int_eq(bed_cell(meanwhile, 1)->state,
                         completed == WDL_OK ? WDL_MAIL_TAKEN_LAST : WDL_MAIL_TAKEN);
    }
    return ring_of(ctx, rank, id);
}

/* There complete says so. */
static void open_meanwhile(struct bed *bed, int status)
{
    open(bed);
    meanwhile = bed;
    completes = 1;
    completed = status;
    ring_of = bed->win[1]->params.stream;
    bed->win[1]->params.stream = complete_meanwhile;
}

START_TEST(it_is_said_while_the_target_is_at_it)
{
    struct bed bed;
    open_meanwhile(&bed, WDL_OK);
    ck_assert_int_eq(operate(&bed, put_stream(STREAM)), WDL_OK);
    ck_assert_int_eq(target_waits(&bed), WDL_OK);
    ck_assert_int_eq(bed_cell(&bed, 1)->state, WDL_MAIL_DONE);
    stream_is_there(&bed, STREAM);
    look(&bed);
    ck_assert_uint_eq(bed.w.control[1].completed, 1);
    close(&bed);
}
END_TEST

/* The last one of an epoch says nothing of the next one's. */
START_TEST(another_epoch_says_so_itself)
{
    struct bed bed;
    int other_step = 0;
    open_meanwhile(&bed, WDL_AGAIN);
    ck_assert_int_eq(operate(&bed, put_stream(STREAM)), WDL_OK);
    ck_assert_int_eq(complete(&bed), WDL_OK);
    TEST_DONE(&bed.w, wdl_win_post(bed.win[2], zero, 1, 0, &post_step));
    TEST_DONE(&bed.w, wdl_win_start(bed.win[0], others + 1, 1, 0, &bed.step));
    ck_assert_int_eq(target_waits(&bed), WDL_OK);
    stream_is_there(&bed, STREAM);
    TEST_DONE(&bed.w, complete(&bed));
    ck_assert_uint_eq(bed.w.control[1].completed, 1);
    ck_assert_uint_eq(bed.w.control[2].completed, 1);
    ck_assert_int_eq(wdl_win_wait(bed.win[2], &other_step), WDL_OK);
    close(&bed);
}
END_TEST

/* Has it come to the ring's end, is it timed, is nothing to be held back, or has it been done:
 * complete waits as ever, and counts. */
START_TEST(a_stream_that_is_none)
{
    for (int what = 0; what < 4; what++) {
        struct bed bed;
        open(&bed);
        if (what == 0)
            bed_ring[0].filled = WDL_STREAM_BYTES - STREAM / 2;
        if (what == 2)
            bed.win[0]->params.hints.combine = WDL_COMBINE_NEVER;
        ck_assert_int_eq(operate(&bed, put_stream(STREAM)), WDL_OK);
        if (what == 1)
            bed.win[0]->mailbox.began_ns = 1;
        unsigned syncs = bed.win[0]->quick.syncs;
        if (what == 3)
            ck_assert_int_eq(target_waits(&bed), WDL_AGAIN);
        else
            ck_assert_int_eq(complete(&bed), WDL_AGAIN);
        ck_assert_uint_eq(bed.win[0]->quick.syncs, syncs);      /* it costs no barrier */
        ck_assert_int_eq(bed_cell(&bed, 1)->state, what == 3 ? WDL_MAIL_DONE : WDL_MAIL_POSTED);
        ck_assert_uint_eq(bed.w.control[1].completed, 0);
        for (int i = 0; complete(&bed) == WDL_AGAIN; i++) {
            ck_assert_int_lt(i, 10);
            ck_assert_int_eq(target_waits(&bed), WDL_AGAIN);
        }
        ck_assert_uint_eq(bed.w.control[1].completed, 1);
        ck_assert_int_eq(target_waits(&bed), WDL_OK);
        stream_is_there(&bed, STREAM);
        close(&bed);
    }
}
END_TEST

static struct wdl_stream *no_ring(void *ctx, int rank, uint64_t *id)
{
    (void) ctx, (void) rank, (void) id;
    return NULL;
}

/* The target does not come, or has no way into the ring: copied out of it by the origin, which
 * counts. */
START_TEST(the_origin_copies_what_is_in_its_ring)
{
    for (int refused = 0; refused < 2; refused++) {
        struct bed bed;
        open(&bed);
        bed.win[1]->params.stream = no_ring;
        ck_assert_int_eq(operate(&bed, put_stream(STREAM)), WDL_OK);
        ck_assert_int_eq(complete(&bed), WDL_OK);
        memset(of_stream, 0, sizeof(of_stream));
        if (refused)
            ck_assert_int_eq(target_waits(&bed), WDL_AGAIN);
        for (int i = 0; wdl_mailbox_under_way(bed.win[0]); look(&bed))
            ck_assert_int_lt(i++, 100 * WDL_MAIL_LOOKS);
        stream_is_there(&bed, STREAM);
        ck_assert_int_eq(mover.calls, 1);
        ck_assert_uint_eq(bed.w.control[1].completed, 1);
        ck_assert(!bed.win[0]->rma->streaming);
        ck_assert_int_eq(target_waits(&bed), WDL_OK);
        ck_assert_int_eq(wdl_win_take_error(bed.win[0]), WDL_OK);
        close(&bed);
    }
}
END_TEST

/* Neither side can: an error, and counted. */
START_TEST(a_stream_that_fails_is_counted_too)
{
    for (int by_cell = 0; by_cell < 2; by_cell++) {
        struct bed bed;
        open(&bed);
        bed.win[1]->params.stream = no_ring;
        bed.win[0]->params.copy = refuse;
        ck_assert_int_eq(operate(&bed, put_stream(STREAM)), WDL_OK);
        ck_assert_int_eq(complete(&bed), WDL_OK);
        if (by_cell)            /* out of its memory */
            bed_cell(&bed, 1)->disp += BYTES;
        ck_assert_int_eq(target_waits(&bed), WDL_AGAIN);
        look(&bed);
        ck_assert(!wdl_mailbox_under_way(bed.win[0]));
        ck_assert_int_eq(wdl_win_take_error(bed.win[0]),
                         by_cell ? WDL_ERR_RANGE : WDL_ERR_UNSUPPORTED);
        ck_assert_uint_eq(bed.w.control[1].completed, 1);
        ck_assert_int_eq(target_waits(&bed), WDL_OK);
        close(&bed);
    }
}
END_TEST

/* Where the system is the faster one by little, what could be the last goes through the ring. */
START_TEST(the_last_is_not_left_to_the_system_for_little)
{
    for (int what = 0; what < 4; what++) {
        struct bed bed;
        open(&bed);
        bed_ring[0].filled = 2 * WDL_STREAM_BYTES;
        struct wdl_trial *trial = &bed.win[0]->rma->trial[0][WDL_RMA_PUT][0];
        for (int i = 0; i < WDL_MAIL_SIZES; i++)
            trial[i] = (struct wdl_trial){.asked = what == 2 ? 64 : 65, .next = 1, .every = 32,
                                          .best = WDL_MAIL_SYSTEM,
                                          .ns = {1000, what == 1 ? 700 : 800}};
        if (what == 3)
            bed.win[0]->params.hints.combine = WDL_COMBINE_NEVER;
        ck_assert_int_eq(operate(&bed, put_stream(STREAM)), WDL_OK);
        int handed = bed.win[0]->mailbox.stream != NULL;
        ck_assert_int_eq(handed, what == 0);    /* by far; it is timed; it is not to be held */
        for (int i = 0; complete(&bed) == WDL_AGAIN; i++)
            ck_assert_int_lt(i, 10);
        ck_assert_int_eq(bed_cell(&bed, 1)->state, handed ? WDL_MAIL_LAST : WDL_MAIL_FREE);
        ck_assert_int_eq(target_waits(&bed), WDL_OK);
        stream_is_there(&bed, STREAM);
        close(&bed);
    }
}
END_TEST

WDL_SUITE("rma/last", complete_waits_for_nobody, what_comes_in_between_posts_it, what_is_none,
          who_does_not_come_delays_nobody, what_the_system_refuses_waits,
          a_failure_is_counted_too, it_is_seen_before_the_window_goes,
          a_stream_in_the_ring_is_waited_for_by_nobody, it_is_said_while_the_target_is_at_it,
          another_epoch_says_so_itself,
          a_stream_that_is_none, the_origin_copies_what_is_in_its_ring,
          a_stream_that_fails_is_counted_too, the_last_is_not_left_to_the_system_for_little)
