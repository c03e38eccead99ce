/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/stream: long puts and gets through a ring, a target that comes late, leaves or
 * never comes, and what either side makes of a ring or a cell full of nonsense.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/prng.h"
#include "mpid/rma/copybed.h"
#include "mpid/rma/win_impl.h"
#include "support/suite.h"

enum { LONG = BYTES - 4096, STEP = 65536, LEAST = WDL_MAIL_AREA + 1 };

static char from[LONG], to[LONG];

static void open(struct bed *bed, int dynamic)
{
    for (size_t i = 0; i < LONG; i++)
        from[i] = (char) (i * 7 + i / 4096);
    memset(to, 0, sizeof(to));
    bed_open_as(bed, (struct bed_kind){.mail = 1, .dynamic = dynamic});
    mover.bed = bed;
}

static int flush(struct bed *bed)
{
    return wdl_win_flush(bed->win[0], 1, 0, &bed->step);
}

static struct wdl_mail *cell(struct bed *bed)
{
    return &bed->w.control[1].mail[0];
}

/* How often the target has to look until the operation is done. */
static int serve_until_done(struct bed *bed)
{
    int served = 0;
    while (flush(bed) == WDL_AGAIN) {
        ck_assert_int_lt(served++, 100);
        ck_assert_int_eq(wdl_mailbox_serve(bed->win[1]), 1);
    }
    return served;
}

/* How many flushes it takes until the operation has gone another way. */
static int flushes_until_done(struct bed *bed)
{
    int n = 1;
    while (flush(bed) == WDL_AGAIN)
        ck_assert_int_lt(n++, 100 * WDL_MAIL_LOOKS);
    return n;
}

static void flushes_until_done_otherwise(struct bed *bed)
{
    for (int i = 0; flush(bed) == WDL_AGAIN; i++) {
        ck_assert_int_lt(i, 100 * WDL_MAIL_LOOKS);
        if (!bed->win[0]->mailbox.mail)
            test_world_turn(&bed->w);
    }
}

/* By byte: what was put is there, what was not is not. */
static void is_there(struct bed *bed)
{
    const char *memory = bed->w.rank[1].memory;
    ck_assert_mem_eq(memory + UNIT, from, LONG);
    for (int i = 0; i < UNIT; i++)
        ck_assert(memory[i] == 0 && memory[UNIT + LONG + i] == 0);
}

/* Nobody's system is called; the ring's end may lie anywhere in them. */
START_TEST(both_ways)
{
    for (uint64_t begin = 0; begin < 3; begin++) {
        struct bed bed;
        struct test_request request = {0};
        struct wdl_win_stats stats;
        open(&bed, 0);
        bed_ring[0].filled = begin * (WDL_STREAM_BYTES - LONG / 2 + 1);
        ck_assert_int_eq(operate(&bed, test_put(1, 1, from, LONG)), WDL_OK);
        ck_assert(bed.win[0]->mailbox.stream == &bed_ring[0]);
        ck_assert_uint_eq(bed_ring[0].filled - bed.win[0]->mailbox.begin, STEP);
        ck_assert_int_eq(serve_until_done(&bed), 2);
        is_there(&bed);
        struct wdl_rma_args get = test_get(1, 1, to, LONG);
        get.request = &request;
        ck_assert_int_eq(operate(&bed, get), WDL_OK);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert_int_eq(cell(&bed)->state, WDL_MAIL_POSTED);
        ck_assert_int_eq(wdl_rma_progress(bed.win[0]->rma), 0);
        ck_assert_mem_eq(to, from, STEP);
        ck_assert(!request.done);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert_int_eq(wdl_rma_progress(bed.win[0]->rma), 1);
        ck_assert(request.done && request.status == WDL_OK);
        ck_assert_mem_eq(to, from, LONG);
        ck_assert_int_eq(mover.calls, 0);
        ck_assert(!bed.win[0]->mailbox.stream && !bed.win[0]->rma->streaming);
        wdl_win_stats_get(bed.win[0], &stats);
        ck_assert_uint_eq(stats.ops_mailed, 2);
        ck_assert_uint_eq(stats.ops_copied, 0);
        bed_close(&bed);
    }
}
END_TEST

/* What is in one piece, but begins elsewhere than its buffer. */
START_TEST(from_within_a_buffer)
{
    enum { IN = 24, BYTES_ = LONG - IN };
    struct bed bed;
    open(&bed, 0);
    struct wdl_rma_args put = test_put(1, 1, from, BYTES_), get = test_get(1, 1, to, BYTES_);
    put.origin.lo = get.origin.lo = IN;
    put.origin.hi = get.origin.hi = LONG;
    put.remote.lo = get.remote.lo = UNIT;
    put.remote.hi = get.remote.hi = UNIT + BYTES_;
    ck_assert_int_eq(operate(&bed, put), WDL_OK);
    ck_assert(bed.win[0]->mailbox.stream);
    serve_until_done(&bed);
    ck_assert_mem_eq(bed.w.rank[1].memory + 2 * UNIT, from + IN, BYTES_);
    ck_assert_int_eq(operate(&bed, get), WDL_OK);
    ck_assert(bed.win[0]->mailbox.stream);
    serve_until_done(&bed);
    ck_assert_mem_eq(to + IN, from + IN, BYTES_);
    ck_assert_int_eq(to[0], 0);
    bed_close(&bed);
}
END_TEST

/* While bytes come out of the ring onto this page more go in. */
enum { PAGE = 4096 };
static struct bed *meanwhile;
static char *page;

static void on_fault(int sig)
{
    (void) sig;
    if (mprotect(page, PAGE, PROT_READ | PROT_WRITE) != 0)
        abort();
    wdl_stream_move(meanwhile->win[0]);
}

static void more_comes_meanwhile(struct bed *bed)
{
    struct sigaction action = {.sa_handler = on_fault};
    uintptr_t at = (uintptr_t) bed->w.rank[1].memory + STEP / 4 * 3; /* some are out */
    page = (char *) (at / PAGE * PAGE);
    meanwhile = bed;
    ck_assert_int_eq(sigaction(SIGSEGV, &action, NULL), 0);
    ck_assert_int_eq(mprotect(page, PAGE, PROT_NONE), 0);
}

/* A target goes on while more comes; one that has bytes of its own to fill in takes what is there
 * and turns to those. Who is taken from fills in all the rest at once. */
START_TEST(two_that_fill_do_it_by_turns)
{
    for (int both = 0; both < 2; both++) {
        struct bed bed;
        int step = 0;
        open(&bed, 0);
        ck_assert_int_eq(wdl_win_lock_all(bed.win[1], WDL_MODE_NOCHECK, &step), WDL_OK);
        ck_assert_int_eq(operate(&bed, test_put(1, 1, from, LONG)), WDL_OK);
        struct wdl_rma_args back = test_put(0, 1, from, LONG);
        if (both)
            ck_assert_int_eq(wdl_rma_op(bed.win[1], &back), WDL_OK);
        ck_assert(!both || bed.win[1]->mailbox.stream == &bed_ring[1]);
        more_comes_meanwhile(&bed);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        uint64_t begin = bed.win[0]->mailbox.begin;
        ck_assert_uint_eq(bed_ring[0].filled - begin, LONG);
        ck_assert_uint_eq(bed_ring[0].emptied - begin, both ? STEP : LONG);
        while (flush(&bed) == WDL_AGAIN)
            wdl_mailbox_serve(bed.win[1]);
        for (int i = 0; both && wdl_win_flush(bed.win[1], 0, 0, &step) == WDL_AGAIN; i++) {
            ck_assert_int_lt(i, 10);
            wdl_mailbox_serve(bed.win[0]);
        }
        is_there(&bed);
        ck_assert(!both || memcmp(bed.w.rank[0].memory + UNIT, from, LONG) == 0);
        ck_assert_int_eq(mover.calls, 0);
        TEST_DONE(&bed.w, wdl_win_unlock_all(bed.win[1], &step));
        bed_close(&bed);
    }
    signal(SIGSEGV, SIG_DFL);
}
END_TEST

/* Once the target has begun all that there is room for goes in. */
START_TEST(all_the_rest_at_once)
{
    enum { ALL = 1 << 19 };
    static char bytes[ALL];
    struct bed bed;
    memset(bytes, 7, ALL);
    bed_open_as(&bed, (struct bed_kind){.mail = 1, .bytes = ALL});
    ck_assert_int_eq(operate(&bed, test_put(1, 0, bytes, ALL)), WDL_OK);
    ck_assert_uint_eq(bed_ring[0].filled - bed.win[0]->mailbox.begin, STEP);
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
    ck_assert_int_eq(flush(&bed), WDL_AGAIN);
    ck_assert_uint_eq(bed_ring[0].filled - bed.win[0]->mailbox.begin, ALL);
    ck_assert_int_eq(serve_until_done(&bed), 1);
    ck_assert_mem_eq(bed.w.rank[1].memory, bytes, ALL);
    bed_close(&bed);
}
END_TEST

/* A target that says it has emptied more than there is gives no results for that. */
START_TEST(results_end_with_their_buffer)
{
    enum { N = LONG / 8, GUARD = 8 };
    static double add[N], old[N + GUARD];
    struct bed bed;
    open(&bed, 0);
    for (int i = 0; i < N + GUARD; i++)
        old[i] = 5;
    ck_assert_int_eq(operate(&bed, test_acc(1, 0, WDL_ROP_SUM, TEST_F64, N, add, old)), WDL_OK);
    ck_assert(bed.win[0]->mailbox.stream);
    bed_ring[0].emptied += LONG + 8 * GUARD;
    wdl_stream_move(bed.win[0]);
    for (int i = 0; i < N + GUARD; i++)
        ck_assert(old[i] == 5);
    bed_ring[0].emptied -= LONG + 8 * GUARD;
    serve_until_done(&bed);
    for (int i = 0; i < N + GUARD; i++)
        ck_assert(old[i] == (i < N ? 0 : 5));
    bed_close(&bed);
}
END_TEST

/* What is not longer than what a cell's rank has room for is none; one byte more is. */
START_TEST(from_how_many_bytes_on)
{
    struct bed bed;
    open(&bed, 0);
    ck_assert_int_eq(operate(&bed, test_put(1, 0, from, LEAST - 1)), WDL_OK);
    ck_assert(!bed.win[0]->mailbox.stream);
    serve_until_done(&bed);
    ck_assert_int_eq(operate(&bed, test_put(1, 0, from, LEAST)), WDL_OK);
    ck_assert(bed.win[0]->mailbox.stream);
    serve_until_done(&bed);
    bed_close(&bed);
}
END_TEST

/* Blocks that are fetched sooner than others: they are unpacked while the next are packed. */
START_TEST(fetched_blocks_from_how_many_bytes_on)
{
    enum { N = WDL_STREAM_BLOCKS / UNIT };
    for (int get = 0; get < 2; get++)
        for (int n = N - 1; n <= N; n++) {
            struct bed bed;
            open(&bed, 0);
            struct test_host *host = &bed.w.rank[0].host;
            wdl_type blocks = test_type_vector(host, TEST_U64, n, 1, 2);
            size_t bytes = (size_t) n * UNIT;
            for (int i = 0; i < n; i++)
                memcpy(bed.w.rank[1].memory + 2 * i * UNIT, from + i * UNIT, UNIT);
            struct wdl_rma_args args =
                get ? test_get(1, 0, to, bytes) : test_put(1, 0, from, bytes);
            args.remote = test_typed(host, NULL, 1, blocks);
            uint64_t before = bed_ring[0].filled;
            ck_assert_int_eq(operate(&bed, args), WDL_OK);
            ck_assert_int_eq(bed.win[0]->mailbox.stream != NULL, get && n == N);
            if (bed.win[0]->mailbox.stream)
                serve_until_done(&bed);
            else
                TEST_DONE(&bed.w, bed_flush(&bed, 1));
            ck_assert_uint_eq(bed_ring[0].filled, get && n == N ? wdl_copy_place(before) + bytes :
                              before);
            if (get)
                ck_assert_mem_eq(to, from, bytes);
            for (int i = 0; i < n; i++)
                ck_assert_mem_eq(bed.w.rank[1].memory + 2 * i * UNIT, from + i * UNIT, UNIT);
            test_type_end(host, blocks);
            bed_end(&bed);
        }
}
END_TEST

/* The target does not come: no more than one step was copied in vain; then it is asked less often,
 * the less the shorter the operation, and only if it has looked. */
START_TEST(nobody_comes)
{
    struct bed bed;
    open(&bed, 0);
    ck_assert_int_eq(operate(&bed, test_put(1, 1, from, LONG)), WDL_OK);
    ck_assert_int_eq(flushes_until_done(&bed), WDL_MAIL_LOOKS + STEP / 256);
    ck_assert_uint_eq(bed_ring[0].filled, wdl_copy_place(0) + STEP);
    ck_assert_int_eq(mover.calls, 1);
    is_there(&bed);
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 0);
    ck_assert_int_eq(operate(&bed, test_get(1, 1, to, LEAST)), WDL_OK);
    ck_assert(!bed.win[0]->mailbox.mail);
    ck_assert_int_eq(mover.calls, 2);
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 0);
    ck_assert_int_eq(operate(&bed, test_get(1, 1, to, LONG)), WDL_OK);
    ck_assert(bed.win[0]->mailbox.stream);
    serve_until_done(&bed);
    ck_assert_mem_eq(to, from, LONG);
    ck_assert_int_eq(mover.calls, 2);
    bed_close(&bed);
}
END_TEST

/* The target leaves MPI in the middle: all of it is done again, past it. */
START_TEST(one_that_leaves)
{
    for (int get = 0; get < 2; get++) {
        struct bed bed;
        open(&bed, 0);
        memcpy(bed.w.rank[1].memory + UNIT, from, get ? LONG : 0);
        ck_assert_int_eq(operate(&bed, get ? test_get(1, 1, to, LONG) :
                                 test_put(1, 1, from, LONG)), WDL_OK);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert_int_eq(flushes_until_done(&bed), 8 * WDL_MAIL_LOOKS);
        ck_assert_int_eq(mover.calls, 1);
        is_there(&bed);
        ck_assert(!get || memcmp(to, from, LONG) == 0);
        ck_assert_int_eq(bed.win[0]->rma->streaming, 0);
        bed_close(&bed);
    }
}
END_TEST

/* While the target has it, however long, it is not withdrawn. */
START_TEST(one_that_is_slow_is_waited_for)
{
    struct bed bed;
    open(&bed, 0);
    ck_assert_int_eq(operate(&bed, test_put(1, 1, from, LONG)), WDL_OK);
    cell(&bed)->state = WDL_MAIL_TAKEN;
    for (int i = 0; i < 20 * WDL_MAIL_LOOKS; i++)
        ck_assert_int_eq(flush(&bed), WDL_AGAIN);
    serve_until_done(&bed);
    ck_assert_int_eq(mover.calls, 0);
    is_there(&bed);
    bed_close(&bed);
}
END_TEST

/* There is one ring: another window's go past the target meanwhile. */
START_TEST(one_at_a_time)
{
    struct bed bed;
    struct wdl_win *other[2];
    int step = 0;
    open(&bed, 0);
    for (int i = 0; i < 2; i++) {
        struct wdl_win_params params = bed.win[i]->params;
        params.id = 9;
        ck_assert_int_eq(wdl_win_create(bed.w.rank[i].proc, &params, &other[i]), WDL_OK);
    }
    ck_assert_int_eq(wdl_win_lock_all(other[0], 0, &step), WDL_OK);
    struct wdl_rma_args put = test_put(1, 1, from, LONG), get = test_get(1, 1, to, STEP - 1);
    ck_assert_int_eq(operate(&bed, put), WDL_OK);
    ck_assert_int_eq(wdl_rma_op(other[0], &get), WDL_OK);
    ck_assert_int_eq(mover.calls, 1);
    serve_until_done(&bed);
    ck_assert_int_eq(wdl_rma_op(other[0], &get), WDL_OK);
    ck_assert_int_eq(mover.calls, 1);
    while (wdl_win_flush(other[0], 1, 0, &step) == WDL_AGAIN)
        wdl_mailbox_serve(other[1]);
    ck_assert_mem_eq(to, from, STEP - 1);
    TEST_DONE(&bed.w, wdl_win_unlock_all(other[0], &step));
    for (int i = 0; i < 2; i++)
        TEST_DONE(&bed.w, wdl_win_free(other[i]));
    bed_close(&bed);
}
END_TEST

/* What goes past a target it hears of, once each time it looks. */
START_TEST(visits_are_seen)
{
    struct bed bed;
    open(&bed, 0);
    bed.win[0]->rma->streaming = 1;     /* as if for another window */
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(operate(&bed, test_put(1, 1, from, LONG)), WDL_OK);
        ck_assert_int_eq(wdl_mailboxes_progress(bed.win[1]->rma), 1);
        ck_assert_int_eq(wdl_mailboxes_progress(bed.win[1]->rma), 0);
        ck_assert_int_eq(wdl_mailboxes_progress(bed.win[2]->rma), 0);
    }
    bed.win[0]->rma->streaming = 0;
    bed_close(&bed);
}
END_TEST

/* What the target does not expose it does not touch, and the origin is told so. */
START_TEST(what_is_detached_meanwhile)
{
    struct bed bed;
    open(&bed, 1);
    int64_t there = attach(&bed, 1, UNIT, LONG);
    ck_assert_int_eq(operate(&bed, test_put(1, there, from, LONG)), WDL_OK);
    ck_assert_int_eq(serve_until_done(&bed), 2);
    is_there(&bed);
    ck_assert_int_eq(operate(&bed, test_get(1, there, to, LONG)), WDL_OK);
    TEST_DONE(&bed.w, wdl_win_detach(bed.win[1], (void *) (uintptr_t) there));
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
    ck_assert_int_eq(cell(&bed)->status, WDL_ERR_RANGE);
    ck_assert_int_eq(flush(&bed), WDL_ERR_RANGE);
    ck_assert_int_eq(flush(&bed), WDL_OK);
    ck_assert_int_eq(to[0], 0);
    bed_close(&bed);
}
END_TEST

/* The target of a cell or a ring that says anything; the origin does it another way. */
START_TEST(nonsense_is_refused)
{
    for (int what = 0; what < 10; what++) {
        struct bed bed;
        open(&bed, 0);
        ck_assert_int_eq(operate(&bed, what == 7 ? test_get(1, 1, to, LONG) :
                                 test_put(1, 1, from, LONG)), WDL_OK);
        struct wdl_mail *mail = cell(&bed);
        mail->origin = what == 0 ? RANKS : what == 1 ? 1 : mail->origin;
        mail->stream.bytes = what == 2 ? UINT64_MAX : mail->stream.bytes;
        mail->stream.id = 1 + mail->origin + (what == 3);
        memcpy(&bed_ring[1], &bed_ring[0], sizeof(bed_ring[1]));
        mail->stream.begin += what == 4 || what == 7;
        mail->disp += what == 5 ? BYTES : 0;
        bed_ring[0].filled += what == 6 ? WDL_STREAM_BYTES : what == 8 ? LONG : 0;
        bed.win[1]->params.stream = what == 9 ? NULL : bed.win[1]->params.stream;
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert_int_eq(mail->state, WDL_MAIL_DONE);
        ck_assert(wdl_status_is_error(mail->status));
        ck_assert_uint_eq(bed_ring[0].emptied, wdl_copy_place(0));
        ck_assert_uint_eq(bed_ring[1].emptied, wdl_copy_place(0));
        ck_assert_int_eq(flush(&bed), WDL_OK);
        ck_assert_int_eq(mover.calls, 1);
        ck_assert(what == 7 || memcmp(bed.w.rank[1].memory + UNIT, from, LONG) == 0);
        bed_close(&bed);
    }
}
END_TEST

/* A target that says it is done, and is not, is not believed. */
START_TEST(done_must_be_true)
{
    struct bed bed;
    open(&bed, 0);
    ck_assert_int_eq(operate(&bed, test_put(1, 1, from, LONG)), WDL_OK);
    cell(&bed)->status = WDL_OK;
    cell(&bed)->state = WDL_MAIL_DONE;
    ck_assert_int_eq(flush(&bed), WDL_OK);
    ck_assert_int_eq(mover.calls, 1);
    is_there(&bed);
    bed_close(&bed);
}
END_TEST

/* A put that fails when a part of it is done is done again, all of it. */
START_TEST(a_put_that_fails_half_way)
{
    struct bed bed;
    open(&bed, 0);
    ck_assert_int_eq(operate(&bed, test_put(1, 1, from, LONG)), WDL_OK);
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
    ck_assert_uint_ne(bed_ring[0].emptied, 0);
    cell(&bed)->stream.id++;
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
    ck_assert_int_eq(flush(&bed), WDL_OK);
    ck_assert_int_eq(mover.calls, 1);
    is_there(&bed);
    bed_close(&bed);
}
END_TEST

/* An accumulate's operands are in the ring as soon as there is room. */
START_TEST(accumulates)
{
    enum { N = LONG / 8 };
    static double add[N], sum[N];
    for (int begin = 0; begin < 2; begin++) {
        struct bed bed;
        struct wdl_win_stats stats;
        open(&bed, 0);
        for (int i = 0; i < N; i++) {
            add[i] = i;
            sum[i] = 3 * i;
        }
        bed_ring[0].filled = begin ? WDL_STREAM_BYTES - LONG / 2 : 3;   /* not a line's begin */
        const struct wdl_rma_args acc = test_acc(1, 1, WDL_ROP_SUM, TEST_F64, N, add, NULL);
        for (int k = 0; k < 2; k++) {
            ck_assert_int_eq(operate(&bed, acc), WDL_OK);
            ck_assert(bed.win[0]->mailbox.stream);
            ck_assert_int_eq(serve_until_done(&bed), 1);
        }
        ck_assert_int_eq(operate(&bed, acc), WDL_OK);
        flushes_until_done_otherwise(&bed);
        ck_assert_mem_eq(bed.w.rank[1].memory + UNIT, sum, sizeof(sum));
        wdl_win_stats_get(bed.win[0], &stats);
        ck_assert_uint_eq(stats.ops_mailed, 2);
        ck_assert_uint_eq(stats.ops_copied, 1);
        bed_end(&bed);
    }
}
END_TEST

/* Where the system's way has been found to be the faster one they go that, in one call to read and
 * one to write for each region; else through the ring, the one that is tried now and then the
 * other way. Nothing is found out before the ring has been used once. */
START_TEST(accumulates_go_the_faster_way)
{
    enum { N = LEAST / 8 + 1 };
    static const double add[N] = {1};
    for (int best = 0; best < 2; best++)
        for (int used = 0; used < 2; used++) {
            struct bed bed;
            struct wdl_trial known = {.every = WDL_TRIAL_SELDOM, .next = 1000, .asked = 1,
                                      .ns = {1, 1}, .best = (uint8_t) best};
            open(&bed, 0);
            for (int i = 0; i < WDL_MAIL_SIZES; i++)
                bed.win[0]->rma->trial[0][WDL_RMA_ACC][i] = known;
            bed_ring[0].filled = used ? WDL_STREAM_BYTES : 0;
            ck_assert_int_eq(operate(&bed, test_acc(1, 0, WDL_ROP_SUM, TEST_F64, N, add, NULL)),
                             WDL_OK);
            ck_assert_int_eq(bed.win[0]->mailbox.stream == NULL, best && used);
            ck_assert_int_eq(mover.calls > 0, best && used);
            serve_until_done(&bed);
            ck_assert_mem_eq(bed.w.rank[1].memory, add, sizeof(add));
            bed_close(&bed);
        }
}
END_TEST

/* With a result, which takes the operands' place; one that only reads has none. */
START_TEST(accumulates_with_results)
{
    enum { N = LONG / 8 };
    static double add[N], old[N];
    struct bed bed;
    open(&bed, 0);
    for (int i = 0; i < N; i++)
        add[i] = i;
    for (int k = 0; k < 3; k++) {
        int reads = k == 2;
        ck_assert_int_eq(operate(&bed, test_acc(1, 1, reads ? WDL_ROP_NO_OP : WDL_ROP_SUM, TEST_F64,
                                                N, reads ? NULL : add, old)), WDL_OK);
        ck_assert(bed.win[0]->mailbox.stream);
        ck_assert_int_eq(serve_until_done(&bed), 1);
        for (int i = 0; i < N; i++)
            ck_assert(old[i] == k * add[i]);
    }
    /* from half of what a cell's rank has room for on */
    for (int longer = 0; longer < 2; longer++) {
        ck_assert_int_eq(operate(&bed, test_acc(1, 1, WDL_ROP_SUM, TEST_F64,
                                                WDL_MAIL_AREA / 16 + longer, add, old)), WDL_OK);
        ck_assert_int_eq(bed.win[0]->mailbox.stream != NULL, longer);
        flushes_until_done_otherwise(&bed);
    }
    bed_end(&bed);
}
END_TEST

/* Longer than the ring: both sides take turns; the ring's end may lie anywhere. */
START_TEST(accumulates_longer_than_the_ring)
{
    enum { N = 2 * WDL_STREAM_BYTES / 8 + 999 };
    static double add[N], old[N];
    for (int way = 0; way < 3; way++) {
        struct bed bed;
        struct wdl_win_stats stats;
        enum wdl_rop op = way == 2 ? WDL_ROP_NO_OP : WDL_ROP_SUM;
        bed_open_as(&bed, (struct bed_kind){.mail = 1, .bytes = 8 * (N + 1)});
        double *memory = (double *) (void *) bed.w.rank[1].memory;
        for (int i = 0; i < N; i++) {
            add[i] = i;
            memory[1 + i] = 2 * i + 1;
        }
        bed_ring[0].filled = (uint64_t) way * (WDL_STREAM_BYTES - 4096 + 8);
        ck_assert_int_eq(operate(&bed, test_acc(1, 1, op, TEST_F64, N, add, way ? old : NULL)),
                         WDL_OK);
        ck_assert(bed.win[0]->mailbox.stream);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert_int_eq(cell(&bed)->state, WDL_MAIL_TAKEN);    /* it cannot be had back */
        for (int i = 0; i < 20 * WDL_MAIL_LOOKS && way == 0; i++)
            ck_assert_int_eq(wdl_mailbox_settle(bed.win[0]), WDL_AGAIN);
        int served = serve_until_done(&bed);
        ck_assert_int_ge(served, 2);
        for (int i = 0; i < N; i++) {
            ck_assert(memory[1 + i] == 2 * i + 1 + (way < 2 ? add[i] : 0));
            ck_assert(way == 0 || old[i] == 2 * i + 1);
        }
        wdl_win_stats_get(bed.win[0], &stats);
        ck_assert_uint_eq(stats.ops_mailed, 1);
        bed_close(&bed);
    }
}
END_TEST

/* Elements that no instruction updates, in one piece or in blocks, are folded under the locks of
 * their stripes, and wait where somebody else has one. */
START_TEST(accumulates_of_wide_elements)
{
    enum { BLOCKS = 4000, EACH = 33, N = BLOCKS * EACH };       /* longer than the ring */
    static long double add[N], old[N];
    for (int way = 0; way < 4; way++) {
        int gets = way & 1, blocks = way & 2;
        struct bed bed;
        struct wdl_win_stats stats;
        bed_open_as(&bed, (struct bed_kind){.mail = 1, .bytes = sizeof(*add) * 2 * N});
        struct test_host *host = &bed.w.rank[0].host;
        wdl_type apart = test_type_vector(host, TEST_LD, BLOCKS, EACH, 2 * EACH);
        long double *memory = (long double *) (void *) bed.w.rank[1].memory;
        for (int i = 0; i < N; i++) {
            add[i] = i;
            memory[blocks ? i / EACH * EACH + i : i] = 2 * i + 1;
        }
        struct wdl_rma_args acc = test_acc(1, 0, WDL_ROP_SUM, TEST_LD, N, add, gets ? old : NULL);
        if (blocks)
            acc.remote = test_typed(host, NULL, 1, apart);
        ck_assert_int_eq(operate(&bed, acc), WDL_OK);
        ck_assert(bed.win[0]->mailbox.stream);
        bed.w.control[1].stripes = UINT64_MAX;
        for (int i = 0; i < 3; i++)
            (void) wdl_mailbox_serve(bed.win[1]);
        ck_assert(memory[0] == 1);
        bed.w.control[1].stripes = 0;
        serve_until_done(&bed);
        for (int i = 0; i < N; i++) {
            long double *at = &memory[blocks ? i / EACH * EACH + i : i];
            ck_assert(*at == 3 * i + 1);
            ck_assert(!gets || old[i] == 2 * i + 1);
            ck_assert(!blocks || at[EACH] == 0);
        }
        ck_assert_uint_eq(bed.w.control[1].stripes, 0);
        wdl_win_stats_get(bed.win[0], &stats);
        ck_assert_uint_eq(stats.ops_mailed, 1);
        test_type_end(host, apart);
        bed_close(&bed);
    }
}
END_TEST

/* Pairs with gaps are packed in the ring: none lies across its end, wherever that is. */
START_TEST(accumulates_of_pairs)
{
    enum { N = 4000 };
    static struct test_double_int in[N], old[N];
    for (int way = 0; way < 4; way++) {
        struct bed bed;
        struct wdl_win_stats stats;
        bed_open_as(&bed, (struct bed_kind){.mail = 1, .bytes = sizeof(in)});
        struct test_host *host = &bed.w.rank[0].host;
        struct test_double_int *there = (struct test_double_int *) (void *) bed.w.rank[1].memory;
        for (int i = 0; i < N; i++) {
            in[i] = (struct test_double_int){i % 7, i};
            there[i] = (struct test_double_int){3, -i};
        }
        struct wdl_rma_args acc = test_acc(1, 0, WDL_ROP_MAXLOC, TEST_DOUBLE_INT, N, in,
                                           way & 1 ? old : NULL);
        acc.origin = test_typed(host, in, N, TEST_DOUBLE_INT);
        acc.remote = test_typed(host, NULL, N, TEST_DOUBLE_INT);
        if (way & 1)
            acc.result = test_typed(host, old, N, TEST_DOUBLE_INT);
        bed_ring[0].filled = (uint64_t) way * (WDL_STREAM_BYTES - 4096 + 4);
        ck_assert_int_eq(operate(&bed, acc), WDL_OK);
        ck_assert(bed.win[0]->mailbox.stream);
        serve_until_done(&bed);
        for (int i = 0; i < N; i++) {
            ck_assert(there[i].value == (i % 7 > 3 ? i % 7 : 3));
            ck_assert_int_eq(there[i].index, i % 7 > 3 ? i : -i);
            ck_assert(!(way & 1) || (old[i].value == 3 && old[i].index == -i));
        }
        wdl_win_stats_get(bed.win[0], &stats);
        ck_assert_uint_eq(stats.ops_mailed, 1);
        bed_close(&bed);
    }
}
END_TEST

/* What has begun is not begun again: the window fails. */
START_TEST(an_accumulate_that_fails_half_way)
{
    enum { N = WDL_STREAM_BYTES / 8 + 1000 };
    static double add[N];
    struct bed bed;
    int status;
    bed_open_as(&bed, (struct bed_kind){.mail = 1, .bytes = 8 * N});
    double *memory = (double *) (void *) bed.w.rank[1].memory;
    for (int i = 0; i < N; i++)
        add[i] = 1;
    ck_assert_int_eq(operate(&bed, test_acc(1, 0, WDL_ROP_SUM, TEST_F64, N, add, NULL)), WDL_OK);
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
    cell(&bed)->host_type = 0xdead;
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
    while ((status = flush(&bed)) == WDL_AGAIN)
        test_world_turn(&bed.w);
    ck_assert(wdl_status_is_error(status));
    for (int i = 0; i < N; i++)
        ck_assert(memory[i] == (i < WDL_STREAM_BYTES / 8));
    bed_close(&bed);
}
END_TEST

/* What the target will not do so, or a cell that says anything: by message. */
START_TEST(accumulates_refused)
{
    static double add[LONG / 8];
    for (int what = 0; what < 11; what++) {
        struct bed bed;
        open(&bed, 0);
        add[0] = 2;
        ck_assert_int_eq(operate(&bed, test_acc(1, 1, WDL_ROP_SUM, TEST_F64, LONG / 8, add,
                                                NULL)), WDL_OK);
        struct wdl_mail *mail = cell(&bed);
        mail->host_type = what == 0 ? 0xdead : what == 7 ? TEST_DOUBLE_INT : mail->host_type;
        mail->rop = what == 1 ? WDL_ROP_COUNT : what == 8 ? WDL_ROP_BOR : mail->rop;
        mail->stream.bytes -= what == 2;
        mail->disp += what == 3;
        mail->stream.begin += what == 4 ? WDL_STREAM_BYTES - 64 : what == 10 ? 4 : 0;
        bed_ring[0].emptied += what == 10 ? 4 : 0;
        mail->disp += what == 5 ? BYTES : 0;
        mail->origin = what == 6 ? RANKS : mail->origin;
        bed.win[1]->params.mapped_any = what == 9;
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        bed.win[1]->params.mapped_any = 0;
        bed_ring[0].emptied -= what == 10 ? 4 : 0;
        ck_assert(wdl_status_is_error(mail->status));
        flushes_until_done_otherwise(&bed);
        double there;
        memcpy(&there, bed.w.rank[1].memory + UNIT, sizeof(there));
        ck_assert(there == 2);
        bed_end(&bed);
    }
}
END_TEST

/* An element of which a part is there waits for the rest; in a ring where one would lie on both
 * sides of the end nothing is folded. */
START_TEST(elements_are_folded_whole)
{
    enum { N = LONG / 8, BEGIN = WDL_STREAM_BYTES - LONG / 128 * 64 };
    static double add[N];
    for (int split = 0; split < 2; split++) {
        struct bed bed;
        open(&bed, 0);
        for (int i = 0; i < N; i++)
            add[i] = 1;
        bed_ring[0].filled = BEGIN;
        ck_assert_int_eq(operate(&bed, test_acc(1, 0, WDL_ROP_SUM, TEST_F64, N, add, NULL)),
                         WDL_OK);
        ck_assert_uint_eq(bed_ring[0].filled, BEGIN + LONG);
        if (split)
            bed_ring[0].emptied = WDL_STREAM_BYTES - 4;
        else
            bed_ring[0].filled -= 4;
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        if (split) {
            ck_assert_int_eq(cell(&bed)->status, WDL_ERR_PROTO);
            ck_assert_int_eq(flush(&bed), WDL_ERR_PROTO);
        } else {
            ck_assert_int_eq(cell(&bed)->state, WDL_MAIL_TAKEN);
            ck_assert_uint_eq(bed_ring[0].emptied, BEGIN + LONG - 8);
            bed_ring[0].filled += 4;
            serve_until_done(&bed);
        }
        const double *memory = (const double *) (void *) bed.w.rank[1].memory;
        for (int i = 0; i < N; i++)
            ck_assert(memory[i] == !split);
        bed_end(&bed);
    }
}
END_TEST

/* More than the ring holds cannot be in it, however long the operation is. */
START_TEST(more_than_the_ring_holds)
{
    enum { N = 3 * WDL_STREAM_BYTES / 8 };
    static double add[N];
    struct bed bed;
    bed_open_as(&bed, (struct bed_kind){.mail = 1, .bytes = 8 * N});
    add[0] = 1;
    ck_assert_int_eq(operate(&bed, test_acc(1, 0, WDL_ROP_SUM, TEST_F64, N, add, NULL)), WDL_OK);
    bed_ring[0].filled += 64;
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
    ck_assert_int_eq(cell(&bed)->status, WDL_ERR_PROTO);
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 0);
    bed_ring[0].filled -= 64;
    flushes_until_done_otherwise(&bed);
    ck_assert_mem_eq(bed.w.rank[1].memory, add, sizeof(add));
    bed_end(&bed);
}
END_TEST

/* The target of a long get fills the ring no further than the origin has emptied it. */
START_TEST(a_get_longer_than_the_ring)
{
    enum { N = 3 * WDL_STREAM_BYTES / 8 };
    static uint64_t got[N];
    struct bed bed;
    bed_open_as(&bed, (struct bed_kind){.mail = 1, .bytes = 8 * N});
    uint64_t *memory = (uint64_t *) (void *) bed.w.rank[1].memory;
    for (uint64_t i = 0; i < N; i++)
        memory[i] = i * 0x9e3779b97f4a7c15 + 1;
    ck_assert_int_eq(operate(&bed, test_get(1, 0, got, 8 * N)), WDL_OK);
    ck_assert(bed.win[0]->mailbox.stream);
    for (int i = 0; i < N; i++) {       /* it looks, the origin does not */
        uint64_t filled = bed_ring[0].filled;
        (void) wdl_mailbox_serve(bed.win[1]);
        if (bed_ring[0].filled == filled)
            break;
    }
    ck_assert_uint_eq(bed_ring[0].filled - bed_ring[0].emptied, WDL_STREAM_BYTES);
    ck_assert_int_gt(serve_until_done(&bed), 1);
    ck_assert_mem_eq(got, memory, sizeof(got));
    ck_assert_int_eq(mover.calls, 0);
    bed_end(&bed);
}
END_TEST

/* Without a ring, a mailbox, or a target that looks there are none; nor accumulates without the
 * system's copy, onto memory that is mapped or that the network updates, with too short a buffer,
 * or behind what waits. */
START_TEST(what_is_none)
{
    enum { NO_RING, NO_MAIL, CLOSED, NO_COPY, MAPPED, NETWORK, SHORT, SHORT_RESULT, BEHIND,
        KINDS };
    static double old[LONG / 8];
    for (int what = 0; what < KINDS; what++)
        for (int puts = 0; puts < 1 + (what <= CLOSED); puts++) {
            struct bed bed;
            struct wdl_win_control *control = NULL;
            open(&bed, 0);
            struct wdl_win_params *params = &bed.win[0]->params;
            const struct wdl_win_params before = *params;
            (void) params->map(params->ctx, 1, &control);
            params->stream = what == NO_RING ? NULL : params->stream;
            params->copy = what == NO_COPY ? NULL : params->copy;
            params->mapped_any = what == MAPPED;
            bed.win[0]->net_sizes = what == NETWORK ? 8 : 0;
            bed.win[0]->mailbox.on = what != NO_MAIL;
            bed.win[0]->batched = what == BEHIND;
            bed.w.control[1].mail_open = what != CLOSED;
            struct wdl_rma_args args = test_acc(1, 0, WDL_ROP_SUM, TEST_F64, LONG / 8, from,
                                                what == SHORT_RESULT ? old : NULL);
            args.origin.bytes -= what == SHORT ? 8 : 0;
            args.result.bytes -= what == SHORT_RESULT ? 8 : 0;
            const struct wdl_rma_args put = test_put(1, 0, from, LONG);
            ck_assert_int_eq(puts ? wdl_stream_op(bed.win[0], &put, control, (uintptr_t)
                                                  bed.w.rank[1].memory) :
                             wdl_stream_fold(bed.win[0], &args, NULL, control),
                             WDL_ERR_UNSUPPORTED);
            *params = before;
            bed.win[0]->net_sizes = 0;
            bed.win[0]->mailbox.on = 1;
            bed.win[0]->batched = 0;
            bed.w.control[1].mail_open = 1;
            bed_close(&bed);
        }
}
END_TEST

/* One of two looks some times for its operation, or at its mailbox: which. */
static int look_at_random(struct bed *bed, struct wdl_prng *dice, int *done, int *step)
{
    int r = (int) wdl_prng_below(dice, 2), looks = 1 + (int) wdl_prng_below(dice, 900);
    int *steps = r ? step : &bed->step;
    for (int j = 0; j < looks && !done[r]; j++)
        done[r] = wdl_win_flush(bed->win[r], !r, 0, steps) == WDL_OK;
    if (wdl_prng_chance(dice, 500))
        wdl_mailbox_serve(bed->win[r]);
    return r;
}

/* Two that put to and get from each other and look when they please: as if one after the other. */
START_TEST(any_order_of_looks)
{
    enum { OPS = 400 };
    struct bed bed;
    struct wdl_prng dice;
    int step = 0, streamed = 0;
    static char mine[2][BYTES];
    open(&bed, 0);
    wdl_prng_init(&dice, 11);
    ck_assert_int_eq(wdl_win_lock_all(bed.win[1], 0, &step), WDL_OK);
    for (int i = 0; i < OPS; i++) {
        int done[2] = {0, 0};
        size_t bytes[2], at[2];
        int get[2];
        for (int r = 0; r < 2; r++) {
            bytes[r] = LEAST + wdl_prng_below(&dice, LONG / 2 - LEAST);
            at[r] = (size_t) r * (BYTES / 2) + wdl_prng_below(&dice, 200) * UNIT;
            get[r] = (int) wdl_prng_below(&dice, 2);
            memset(mine[r], i + r, bytes[r]);
            char *far = bed.w.rank[!r].memory + at[r];
            memset(far, i + r + (get[r] ? 7 : 9), bytes[r]);
            struct wdl_rma_args args = get[r] ?
                test_get(!r, (int64_t) (at[r] / UNIT), mine[r], bytes[r]) :
                test_put(!r, (int64_t) (at[r] / UNIT), mine[r], bytes[r]);
            ck_assert_int_eq(wdl_rma_op(bed.win[r], &args), WDL_OK);
            streamed += bed.win[r]->mailbox.stream != NULL;
        }
        while (!done[0] || !done[1]) {
            look_at_random(&bed, &dice, done, &step);
        }
        for (int r = 0; r < 2; r++) {
            ck_assert_mem_eq(mine[r], bed.w.rank[!r].memory + at[r], bytes[r]);
            ck_assert_int_eq(mine[r][0], (char) (get[r] ? i + r + 7 : i + r));
        }
    }
    ck_assert_int_gt(streamed, OPS / 4);
    ck_assert_int_gt(mover.calls, OPS / 10);
    TEST_DONE(&bed.w, wdl_win_unlock_all(bed.win[1], &step));
    bed_close(&bed);
}
END_TEST

/* The same of accumulates, each folded once, by ring or, withdrawn, from outside. */
START_TEST(accumulates_in_any_order_of_looks)
{
    enum { OPS = 300, N = BYTES / 16 };
    struct bed bed;
    struct wdl_prng dice;
    struct wdl_win_stats stats;
    int step = 0;
    static double add[2][N], old[2][N], want[2][N];
    open(&bed, 0);
    wdl_prng_init(&dice, 12);
    memset(want, 0, sizeof(want));
    ck_assert_int_eq(wdl_win_lock_all(bed.win[1], 0, &step), WDL_OK);
    for (int i = 0; i < OPS; i++) {
        int done[2] = {0, 0}, n[2], gets[2];
        for (int r = 0; r < 2; r++) {
            n[r] = LEAST / 8 + 1 + (int) wdl_prng_below(&dice, N - LEAST / 8 - 1);
            gets[r] = (int) wdl_prng_below(&dice, 2);
            for (int k = 0; k < n[r]; k++)
                add[r][k] = i + k;
            struct wdl_rma_args acc = test_acc(!r, 0, WDL_ROP_SUM, TEST_F64, n[r], add[r],
                                               gets[r] ? old[r] : NULL);
            ck_assert_int_eq(wdl_rma_op(bed.win[r], &acc), WDL_OK);
        }
        while (!done[0] || !done[1]) {
            int r = look_at_random(&bed, &dice, done, &step);
            if (!bed.win[r]->mailbox.mail)
                test_world_turn(&bed.w);
        }
        for (int r = 0; r < 2; r++)
            for (int k = 0; k < n[r]; k++) {
                ck_assert(!gets[r] || old[r][k] == want[!r][k]);
                want[!r][k] += add[r][k];
            }
        for (int r = 0; r < 2; r++)
            ck_assert_mem_eq(bed.w.rank[r].memory, want[r], sizeof(want[r]));
    }
    wdl_win_stats_get(bed.win[0], &stats);
    ck_assert_uint_gt(stats.ops_mailed, OPS / 10);
    ck_assert_uint_gt(stats.ops_copied, OPS / 10);
    TEST_DONE(&bed.w, wdl_win_unlock_all(bed.win[1], &step));
    bed_end(&bed);
}
END_TEST

/* What the system's copies, or the ring, take: on a clock that the test moves. */
static uint64_t copy_takes;

static void time_passes(struct bed *bed, int call)
{
    (void) call;
    bed->w.rank[0].host.now_ns += copy_takes;
}

/* Of so many puts, how many the system copied. */
static int copied_of(struct bed *bed, int puts, size_t bytes, uint64_t ring, uint64_t system)
{
    int before = mover.calls;
    copy_takes = system;
    mover.during = time_passes;
    for (int i = 0; i < puts; i++) {
        ck_assert_int_eq(operate(bed, test_put(1, 1, from, bytes)), WDL_OK);
        bed->w.rank[0].host.now_ns += bed->win[0]->mailbox.mail ? ring : 0;
        serve_until_done(bed);
    }
    mover.during = NULL;
    return mover.calls - before;
}

/* Lengths by themselves; a cell's, too, but not what waits for company. */
START_TEST(the_faster_way)
{
    struct bed bed;
    open(&bed, 0);
    bed_ring[0].filled = WDL_STREAM_BYTES;
    /* all but the first ones, and those of a try of the ring, which goes round once; where the
     * target has not come for its part there are two calls */
    int copied = copied_of(&bed, 200, 65536, 8000, 4500);
    int alone = 200 - WDL_TRIAL_AT - WDL_STREAM_BYTES / 65536;
    ck_assert(copied >= alone && copied <= alone + 2);
    ck_assert_int_gt(copied_of(&bed, 200, 1024, 900, 700), 170);
    ck_assert_int_lt(copied_of(&bed, 200, 16384, 1200, 2000), 10);
    ck_assert_int_gt(copied_of(&bed, 200, 65536, 8000, 4500), 190);
    /* what goes the short way (wdl_rma_op's first) is timed, too */
    int tries = 2 * WDL_STREAM_BYTES / 32768;
    ck_assert_int_eq(copied_of(&bed, 4000, 32768, 8000, 4500), 4000 - WDL_TRIAL_AT - tries);
    ck_assert_int_lt(copied_of(&bed, 1000, 32768, 8000, 20000), 500);
    ck_assert_int_eq(copied_of(&bed, 200, WDL_MAIL_BYTES, 900, 1), 0);
    bed_close(&bed);
}
END_TEST

/* What makes pages is no measure: it is not timed, nor asked about, and what comes after it is the
 * faster way from the first of its times on. Where processors are few none goes there. */
START_TEST(new_places_are_not_timed)
{
    struct bed bed;
    open(&bed, 0);
    int first = WDL_STREAM_BYTES / 65536;
    ck_assert_int_eq(copied_of(&bed, first, 65536, 100000, 6200), 0);
    ck_assert_uint_eq(bed_ring[0].filled, wdl_copy_place(0) + WDL_STREAM_BYTES);
    for (int size = 0; size < WDL_MAIL_SIZES; size++) {
        /* what fits beside a cell, and what goes round by itself, is tried as often as anything */
        int round = size > 5 && size < 13 ? WDL_STREAM_BYTES / (256 << size) : 0;
        const struct wdl_trial none = {.runs[WDL_MAIL_HANDED] = (uint16_t) round};
        ck_assert_mem_eq(&bed.win[0]->rma->trial[0][WDL_RMA_PUT][size], &none, sizeof(none));
    }
    ck_assert_int_lt(copied_of(&bed, 400, 65536, 2800, 6200), 40);
    ck_assert_int_lt(copied_of(&bed, 400, 65536, 2800, 6200), 20);
    bed_close(&bed);
    open(&bed, 0);
    bed.win[0]->params.crowded = 1;
    bed.w.control[1].mail_open = 0;
    ck_assert_int_eq(copied_of(&bed, first, 65536, 2800, 6200), first);
    ck_assert_uint_eq(bed_ring[0].filled, 0);
    bed.w.control[1].mail_open = 1; /* it waits, and has a processor */
    ck_assert_int_eq(copied_of(&bed, first, 65536, 2800, 6200), 0);
    ck_assert_uint_eq(bed_ring[0].filled, wdl_copy_place(0) + WDL_STREAM_BYTES);
    bed_close(&bed);
}
END_TEST

WDL_SUITE("rma/stream", the_faster_way, new_places_are_not_timed, both_ways,
          from_within_a_buffer, two_that_fill_do_it_by_turns, all_the_rest_at_once,
          results_end_with_their_buffer, from_how_many_bytes_on,
          fetched_blocks_from_how_many_bytes_on, nobody_comes, one_that_leaves,
          one_that_is_slow_is_waited_for, one_at_a_time, visits_are_seen,
          what_is_detached_meanwhile, nonsense_is_refused, done_must_be_true,
          a_put_that_fails_half_way, accumulates,
          accumulates_go_the_faster_way, accumulates_with_results, accumulates_longer_than_the_ring,
          an_accumulate_that_fails_half_way, accumulates_of_wide_elements, accumulates_of_pairs,
          accumulates_refused, elements_are_folded_whole, more_than_the_ring_holds,
          a_get_longer_than_the_ring, what_is_none, any_order_of_looks,
          accumulates_in_any_order_of_looks)
