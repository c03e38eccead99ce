/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/train: operations of some hundred to some thousand bytes one behind the other, a
 * target that comes, leaves in between or never comes, and nonsense in a cell or in the ring.
 */
#include <string.h>
#include "base/prng.h"
#include "mpid/rma/copybed.h"
#include "mpid/rma/win_impl.h"
#include "support/suite.h"

enum { EACH = 512, WORDS = EACH / UNIT, N = 7, LINE = sizeof(struct wdl_car),
    MEMORY = WDL_TRAIN_PUT + WDL_TRAIN_CAR      /* a rank's */ };

static char from[MEMORY] __attribute__((aligned(8)));
static uint64_t add[WORDS];

static const struct wdl_trial system_is_faster = {.every = WDL_TRIAL_SELDOM, .next = 1000,
                                                  .asked = 1, .ns = {1000, 1}, .best = 1};

static void open(struct bed *bed, int dynamic)
{
    for (size_t i = 0; i < MEMORY; i++)
        from[i] = (char) (i * 7 + i / 4096);
    for (size_t i = 0; i < WORDS; i++)
        add[i] = i + 1;
    bed_open_as(bed, (struct bed_kind){.mail = 1, .dynamic = dynamic, .bytes = MEMORY});
    bed->w.rank[0].host.now_ns = 1;     /* there is a clock */
}

static const struct wdl_train *train(const struct bed *bed)
{
    return &bed->win[0]->mailbox.train;
}

/* Operation number i of a row: each has its place. */
static struct wdl_rma_args put(int i)
{
    return test_put(1, i * WORDS, from + i * EACH, EACH);
}

static struct wdl_rma_args acc(int64_t disp)
{
    return test_acc(1, disp, WDL_ROP_SUM, TEST_U64, WORDS, add, NULL);
}

static void flush_served(struct bed *bed)
{
    for (int i = 0; bed_flush(bed, 1) == WDL_AGAIN; i++) {
        ck_assert_int_lt(i, 10);
        wdl_mailbox_serve(bed->win[1]);
    }
}

/* The window knows that such operations follow one another. */
static void teach(struct bed *bed)
{
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(operate(bed, put(0)), WDL_OK);
        if (i == 0)
            wdl_mailbox_serve(bed->win[1]);
    }
    flush_served(bed);
    memset(bed->w.rank[1].memory, 0, BYTES);
}

/* Whichever way it goes. */
static void done_otherwise(struct bed *bed, struct wdl_rma_args args)
{
    for (int i = 0; operate(bed, args) == WDL_AGAIN; i++) {
        ck_assert_int_lt(i, 1000);
        wdl_mailbox_serve(bed->win[1]);
        test_world_turn(&bed->w);
    }
    for (int i = 0; bed_flush(bed, -1) == WDL_AGAIN; i++) {
        ck_assert_int_lt(i, 1000);
        wdl_mailbox_serve(bed->win[1]);
        wdl_mailbox_serve(bed->win[2]);
        test_world_turn(&bed->w);
    }
}

static int flushes_until_done(struct bed *bed)
{
    int n = 1;
    while (bed_flush(bed, 1) == WDL_AGAIN)
        ck_assert_int_lt(n++, 10 * WDL_MAIL_LOOKS);
    return n;
}

/* The second of a row begins one; after a row the first. The target does what has come, gives the
 * cell back, and the last look finds the end: nobody waits in between, the system is not called. */
START_TEST(a_row_is_one_hand_over)
{
    struct bed bed;
    open(&bed, 0);
    for (int row = 0; row < 3; row++) {
        memset(bed.w.rank[1].memory, 0, BYTES);
        ck_assert_int_eq(operate(&bed, put(0)), WDL_OK);
        ck_assert_int_eq(train(&bed)->ring != NULL, row > 0);
        if (row == 0)
            bed_served(&bed, 1);
        for (int i = 1; i < N; i++)
            ck_assert_int_eq(operate(&bed, put(i)), WDL_OK);
        ck_assert_ptr_eq(train(&bed)->ring, &bed_ring[0]);
        ck_assert_int_eq(bed.win[0]->rma->streaming, 1);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), row == 0 ? N - 1 : N);
        ck_assert_int_eq(bed_cell(&bed, 1)->state, WDL_MAIL_POSTED);
        ck_assert_mem_eq(bed.w.rank[1].memory, from, N * EACH);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 0);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        uint64_t end = train(&bed)->at + sizeof(struct wdl_car);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
        ck_assert_uint_eq(bed_ring[0].filled, end);     /* nothing is used twice */
        ck_assert(!train(&bed)->ring && !bed.win[0]->rma->streaming);
        ck_assert_uint_eq(bed_stats(&bed).ops_mailed, (unsigned) (row + 1) * N);
        ck_assert_int_eq(mover.calls, 0);
    }
    bed_close(&bed);
}
END_TEST

/* Who finds the ring in use, by another window or a stream, goes as if there were none. */
START_TEST(the_ring_has_one_user)
{
    struct bed bed;
    open(&bed, 0);
    bed.win[0]->rma->streaming = 1;
    for (int i = 0; i < N; i++) {
        ck_assert_int_eq(operate(&bed, put(i)), WDL_OK);
        ck_assert_ptr_eq(train(&bed)->ring, NULL);
        wdl_mailbox_serve(bed.win[1]);
    }
    flush_served(&bed);
    ck_assert_mem_eq(bed.w.rank[1].memory, from, N * EACH);
    ck_assert_int_eq(bed.win[0]->rma->streaming, 1);
    bed.win[0]->rma->streaming = 0;
    bed_close(&bed);
}
END_TEST

/* By the short way of MPI_Put, too, also where the system's copy is known to be the faster one. */
START_TEST(the_short_way_leads_there)
{
    struct bed bed;
    open(&bed, 0);
    for (int i = 0; i < WDL_MAIL_SIZES; i++)
        bed.win[0]->rma->trial[0][WDL_RMA_PUT][i] = system_is_faster;
    ck_assert_int_eq(operate(&bed, put(0)), WDL_OK);
    ck_assert_int_eq(mover.calls, 1);
    ck_assert(wdl_rma_again(bed.win[0], WDL_RMA_PUT, 2, WORDS, from + EACH, EACH) == 0);
    ck_assert(wdl_rma_again(bed.win[0], WDL_RMA_PUT, 1, WORDS, from + EACH, EACH) == 0);
    ck_assert_int_eq(operate(&bed, put(1)), WDL_OK);
    ck_assert(train(&bed)->ring);
    for (int i = 2; i < N; i++)
        ck_assert(wdl_rma_again(bed.win[0], WDL_RMA_PUT, 1, i * WORDS, from + i * EACH, EACH));
    ck_assert(!wdl_rma_again(bed.win[0], WDL_RMA_PUT, 2, 0, from, EACH));
    ck_assert(!wdl_rma_again(bed.win[0], WDL_RMA_GET, 1, 0, from, EACH));
    ck_assert(!wdl_rma_again(bed.win[0], WDL_RMA_PUT, 1, MEMORY / UNIT, from, EACH));
    ck_assert(!wdl_rma_again(bed.win[0], WDL_RMA_PUT, 1, 0, from, 0));
    ck_assert(!wdl_rma_again(bed.win[0], WDL_RMA_PUT, 1, 0, from, WDL_TRAIN_PUT + 1));
    flush_served(&bed);
    ck_assert_mem_eq(bed.w.rank[1].memory, from, N * EACH);
    ck_assert_int_eq(mover.calls, 1);
    /* a row of two, its second that way: the next one is known from its first on */
    ck_assert_int_eq(operate(&bed, put(0)), WDL_OK);
    ck_assert(wdl_rma_again(bed.win[0], WDL_RMA_PUT, 1, WORDS, from + EACH, EACH));
    flush_served(&bed);
    ck_assert_int_eq(bed.win[0]->mailbox.row_follows, 1);
    /* but not behind accumulates */
    ck_assert_int_eq(operate(&bed, acc(0)), WDL_OK);
    ck_assert(train(&bed)->ring);
    ck_assert(!wdl_rma_again(bed.win[0], WDL_RMA_PUT, 1, WORDS, from, EACH));
    ck_assert_uint_eq(train(&bed)->n, 1);
    flush_served(&bed);
    bed_close(&bed);
}
END_TEST

static uint64_t copy_takes;

static void time_passes(struct bed *bed, int call)
{
    (void) call;
    bed->w.rank[0].host.now_ns += copy_takes;
}

/* Of 300 rows, how many operations the system copied; what either way takes for one. */
static int copied_of(struct bed *bed, int folds, int words, uint64_t handed, uint64_t system)
{
    static uint64_t in[WDL_TRAIN_FOLD / UNIT] = {1};
    uint64_t before = bed_stats(bed).ops_copied;
    mover.bed = bed;
    mover.during = time_passes;
    copy_takes = folds ? system / 2 : system;   /* it reads and writes */
    for (int op = 0; op < 300 * N; op++) {
        struct wdl_rma_args args = folds ?
            test_acc(1, op % N * words, WDL_ROP_SUM, TEST_U64, words, in, NULL) :
            test_put(1, op % N * words, in, (size_t) words * UNIT);
        while (operate(bed, args) == WDL_AGAIN)
            wdl_mailbox_serve(bed->win[1]);
        bed->w.rank[0].host.now_ns += train(bed)->ring ? handed : 0;
        if (op % N == N - 1)
            flush_served(bed);
    }
    mover.during = NULL;
    return (int) (bed_stats(bed).ops_copied - before);
}

/* The system's copy of one, or a train's part, whatever takes less time; puts and accumulates by
 * themselves, if they are not so short that it is known. What is done is the same. */
START_TEST(the_faster_way)
{
    enum { LONGER = WDL_TRAIN_COMPARED / UNIT + 1 };
    for (int folds = 0; folds < 2; folds++) {
        struct bed bed;
        open(&bed, 0);
        bed.w.rank[0].host.now_ns = 1;
        bed_ring[0].filled = WDL_STREAM_BYTES;
        ck_assert_int_gt(copied_of(&bed, folds, LONGER, 2000, 1000), 250 * N);
        ck_assert_int_lt(copied_of(&bed, folds, 2 * LONGER, 1000, 2000), 20 * N);
        ck_assert_int_eq(copied_of(&bed, folds, WORDS, 2000, 1000), 0);
        ck_assert_int_eq(bed.win[0]->rma->streaming, 0);
        ck_assert_uint_eq(bed_word(&bed, 1, 0), folds ? 900 : 1);
        ck_assert_uint_eq(bed_word(&bed, 1, 6 * 2 * LONGER), folds ? 300 : 1);
        bed_end(&bed);
    }
}
END_TEST

/* One between synchronizations, or to each of two targets by turns, is none; nor is one that is too
 * short or too long, a short one with a request, nor where nothing is to be held back. */
START_TEST(what_is_none)
{
    struct bed bed;
    struct test_request request = {0};
    open(&bed, 0);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(operate(&bed, put(i)), WDL_OK);
        ck_assert(!train(&bed)->ring);
        flush_served(&bed);
    }
    for (int i = 0; i < 4; i++) {
        struct wdl_rma_args args = put(i);
        args.target = 1 + i % 2;
        ck_assert_int_eq(operate(&bed, args), WDL_OK);
        ck_assert(!train(&bed)->ring);
        wdl_mailbox_serve(bed.win[args.target]);
    }
    TEST_DONE(&bed.w, bed_flush(&bed, -1));
    ck_assert_int_eq(bed.win[0]->mailbox.row_follows, 0);
    teach(&bed);
    struct wdl_rma_args asked = test_put(1, 0, from, WDL_BATCH_LONG);
    asked.request = &request;
    const size_t words = WDL_TRAIN_FOLD / UNIT + 1;
    struct wdl_rma_args others[] = {
        test_put(1, 0, from, WDL_BATCH_SHORT), test_put(1, 0, from, WDL_TRAIN_PUT + 1), asked,
        test_acc(1, 0, WDL_ROP_SUM, TEST_U64, words, from, NULL)};
    for (size_t k = 0; k < 4; k++) {
        ck_assert_int_eq(operate(&bed, others[k]), WDL_OK);
        ck_assert(!train(&bed)->ring);
        TEST_DONE(&bed.w, bed_flush(&bed, 1));
        teach(&bed);
    }
    bed_end(&bed);
}
END_TEST

/* What it must have: somewhere to look, a ring, the system's copy and targets that look, be
 * processors as few as they may; and to accumulate, memory that nobody maps and no network updates.
 */
START_TEST(windows_that_have_none)
{
    enum { NEVER, NO_RING, NO_COPY, CLOSED, CROWDED_CLOSED, CROWDED, MAPPED, NETWORK, KINDS };
    for (int what = 0; what < 2 * KINDS; what++) {
        struct bed bed;
        int folds = what >= KINDS, which = what % KINDS;
        open(&bed, 0);
        teach(&bed);
        struct wdl_win_params *params = &bed.win[0]->params;
        const struct wdl_win_params before = *params;
        params->hints.combine = which == NEVER ? WDL_COMBINE_NEVER : params->hints.combine;
        params->crowded = which == CROWDED || which == CROWDED_CLOSED;
        params->stream = which == NO_RING ? NULL : params->stream;
        params->copy = which == NO_COPY ? NULL : params->copy;
        params->mapped_any = which == MAPPED;
        bed.win[0]->net_sizes = which == NETWORK ? 8 : 0;
        bed.w.control[1].mail_open = which != CLOSED && which != CROWDED_CLOSED;
        struct wdl_win_control *control = NULL;
        struct wdl_rma_args args = folds ? acc(0) : put(0);
        (void) params->map(params->ctx, 1, &control);
        int has = which == CROWDED || (!folds && (which == MAPPED || which == NETWORK));
        ck_assert_int_eq(wdl_train_op(bed.win[0], &args, NULL, control, &(struct wdl_win_rank){
            (uint64_t) (uintptr_t) bed.w.rank[1].memory, BYTES, UNIT}),
            has ? WDL_TRAIN_TAKEN : WDL_TRAIN_NONE);
        ck_assert_int_eq(train(&bed)->ring != NULL, has);
        *params = before;
        bed.win[0]->net_sizes = 0;
        bed.w.control[1].mail_open = 1;
        TEST_DONE(&bed.w, bed_flush(&bed, 1));
        bed_close(&bed);
    }
    struct bed bed;
    open(&bed, 0);
    teach(&bed);
    for (int way = 0; way < 8; way++) {
        int on = way & 1, crowded = way >> 1 & 1, open = way >> 2;
        bed.win[0]->mailbox.on = on;
        bed.win[0]->params.crowded = crowded;
        bed.w.control[1].mail_open = (uint64_t) open;
        ck_assert_int_eq(wdl_train_wanted(bed.win[0], 1, &bed.w.control[1], WDL_RMA_PUT, EACH),
                         on && (open || !crowded));
    }
    bed.win[0]->mailbox.on = 1;
    bed.win[0]->params.crowded = 0;
    bed.w.control[1].mail_open = 1;
    bed_close(&bed);
}
END_TEST

/* Short puts, and gets, are no row, however many. */
START_TEST(what_would_be_none_is_not_counted)
{
    static char into[EACH];
    for (int get = 0; get < 2; get++) {
        struct bed bed;
        open(&bed, 0);
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(operate(&bed, get ? test_get(1, 0, into, EACH) :
                                     test_put(1, 0, from, 8)), WDL_OK);
            wdl_mailbox_serve(bed.win[1]);
        }
        flush_served(&bed);
        ck_assert_int_eq(bed.win[0]->mailbox.row_follows, 0);
        bed_close(&bed);
    }
}
END_TEST

/* Layouts, what begins elsewhere, an accumulate with a request, elements without a loop, no
 * operator, and what is wrong are neither the first of one nor taken behind it. */
START_TEST(what_goes_in_no_car)
{
    enum { WIDE = EACH / sizeof(long double), KINDS = 10, WRONG = 8, PUTS = 3 };
    static long double wide[WIDE];
    for (int k = 0; k < KINDS; k++) {
        struct bed bed;
        struct test_request request = {0};
        open(&bed, 0);
        struct test_host *host = &bed.w.rank[0].host;
        wdl_type type = test_type_vector(host, TEST_U64, 2, WORDS / 2, WORDS);
        struct wdl_rma_args op = k < PUTS || k == WRONG ? put(0) : acc(0);
        op.remote = k == 0 || k == 3 ? test_typed(host, NULL, 1, type) : op.remote;
        op.origin = k == 1 || k == 4 ? test_typed(host, from, 1, type) : op.origin;
        op.remote.lo += k == 2 ? UNIT : 0;
        op.remote.hi += k == 2 ? UNIT : 0;
        op.request = k == 5 ? &request : NULL;
        op = k == 6 ? test_acc(1, 0, WDL_ROP_SUM, TEST_LD, WIDE, wide, NULL) : op;
        op.op = k == 7 ? WDL_ROP_NO_OP : op.op;
        op.origin.bytes += k == WRONG ? UNIT : 0;
        op.remote.bytes -= k == WRONG + 1 ? UNIT / 2 : 0;
        teach(&bed);
        int status = operate(&bed, op);
        ck_assert(!train(&bed)->ring && (status == WDL_OK || k >= WRONG));
        done_otherwise(&bed, put(0));
        teach(&bed);
        ck_assert_int_eq(operate(&bed, k < PUTS || k == WRONG ? put(1) : acc(WORDS)), WDL_OK);
        ck_assert(train(&bed)->ring);
        request = (struct test_request){0};
        status = operate(&bed, op);
        ck_assert(status == WDL_AGAIN || (k >= WRONG && status != WDL_OK));
        ck_assert_uint_eq(train(&bed)->n, 1);
        done_otherwise(&bed, k < WRONG ? op : put(0));
        ck_assert(k != 5 || request.done);
        test_type_end(host, type);
        bed_end(&bed);
    }
}
END_TEST

/* From within a buffer, by any operator. */
START_TEST(what_goes_in_a_car)
{
    enum { AT = 1000 };
    struct bed bed;
    open(&bed, 0);
    teach(&bed);
    for (int i = 0; i < 2; i++) {
        struct wdl_rma_args inner = put(i);
        inner.origin.lo += AT;
        inner.origin.hi += AT;
        ck_assert_int_eq(operate(&bed, inner), WDL_OK);
    }
    flush_served(&bed);
    ck_assert_mem_eq(bed.w.rank[1].memory, from + AT, 2 * EACH);
    uint64_t before = bed_word(&bed, 1, 1);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(operate(&bed, test_acc(1, 0, WDL_ROP_BXOR, TEST_U64, WORDS, add, NULL)),
                         WDL_OK);
    ck_assert_uint_eq(train(&bed)->n, 3);
    flush_served(&bed);
    ck_assert_uint_eq(bed_word(&bed, 1, 1), before ^ add[1]);
    ck_assert_int_eq(mover.calls, 0);
    bed_close(&bed);
}
END_TEST

/* Those whose elements lie crooked are none; nor does the target fold what a cell says lies so. */
START_TEST(elements_are_aligned)
{
    struct bed bed;
    open(&bed, 1);
    int64_t at = attach(&bed, 1, 0, BYTES / 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(operate(&bed, test_put(1, at, from, EACH)), WDL_OK);
        if (i == 0)
            bed_served(&bed, 1);
    }
    flush_served(&bed);
    memset(bed.w.rank[1].memory, 0, BYTES);
    ck_assert_int_eq(operate(&bed, acc(at + 4)), WDL_OK);
    ck_assert(!train(&bed)->ring);
    done_otherwise(&bed, acc(at));
    for (int i = 0; i < 2; i++)         /* a row again */
        done_otherwise(&bed, acc(at));
    bed.win[0]->mailbox.row_follows = 1;
    memset(bed.w.rank[1].memory, 0, BYTES);
    ck_assert_int_eq(operate(&bed, acc(at)), WDL_OK);
    ck_assert(train(&bed)->ring);
    ck_assert_int_eq(operate(&bed, acc(at + 4)), WDL_AGAIN);
    ck_assert_uint_eq(train(&bed)->n, 1);
    struct wdl_car *car = (struct wdl_car *) (void *) (bed_ring[0].ring + train(&bed)->begin);
    car->disp = at + 4;
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
    ck_assert(wdl_status_is_error(bed_cell(&bed, 1)->status));
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 0);
    car->disp = at;
    flush_served(&bed);
    for (int w = 0; w < WORDS; w++)
        ck_assert_uint_eq(bed_word(&bed, 1, w), add[w]);
    bed_end(&bed);
}
END_TEST

/* At the next line; accumulates, which lie in one piece, at the ring's begin where little is left.
 */
START_TEST(where_it_begins)
{
    enum { END = WDL_STREAM_BYTES, FOLD = END - WDL_TRAIN_FOLD_BYTES };
    static const int cases[][3] = { {0, 100, 128}, {0, FOLD + 1, FOLD + LINE},
                                   {0, END - LINE, END - LINE}, {0, END - LINE + 1, END},
                                   {1, FOLD - LINE + 1, FOLD}, {1, FOLD + 1, END}};
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct bed bed;
        open(&bed, 0);
        teach(&bed);
        bed_ring[0].filled = (uint64_t) cases[k][1];
        ck_assert_int_eq(operate(&bed, cases[k][0] ? acc(0) : put(0)), WDL_OK);
        ck_assert_uint_eq(train(&bed)->begin, (uint64_t) cases[k][2]);
        flush_served(&bed);
        ck_assert_uint_ne(bed_word(&bed, 1, 1), 0);
        ck_assert_int_eq(mover.calls, 0);
        bed_close(&bed);
    }
}
END_TEST

/* A last one for which there is just room, and one that is a byte, or an element, too long. A put
 * may have to turn. */
START_TEST(it_is_full_to_the_last_line)
{
    enum { SLOT = WDL_TRAIN_FOLD, FULL = WDL_TRAIN_CAR + LINE, PUTS = WDL_STREAM_BYTES - FULL };
    for (int what = 0; what < 4; what++) {
        struct bed bed;
        int folds = what % 2, over = what / 2;
        open(&bed, 0);
        teach(&bed);
        int n = folds ? WDL_TRAIN_FOLD_BYTES / SLOT - 1 : PUTS / FULL - 1;
        for (int i = 0; i < n; i++)
            ck_assert_int_eq(operate(&bed, folds ?
                                     test_acc(1, 0, WDL_ROP_SUM, TEST_U64, (SLOT - LINE) / UNIT,
                                              from, NULL) :
                                     test_put(1, 0, from, WDL_TRAIN_CAR)), WDL_OK);
        size_t left = (size_t) (folds ? WDL_TRAIN_FOLD_BYTES - n * SLOT : PUTS - n * FULL);
        if (!folds)
            ck_assert_int_eq(operate(&bed, test_put(1, 0, from, left - FULL - 2 * LINE +
                                                    (size_t) over)), WDL_OK);
        ck_assert_int_eq(operate(&bed, folds ?
                                 test_acc(1, 0, WDL_ROP_SUM, TEST_U64,
                                          (int) (left - 2 * LINE) / UNIT + over, from, NULL) :
                                 test_put(1, UNIT, from, WDL_TRAIN_CAR)),
                         over ? WDL_AGAIN : WDL_OK);
        ck_assert_uint_eq(train(&bed)->n, (unsigned) (n + !folds + !over));
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
        ck_assert_int_gt(wdl_mailbox_serve(bed.win[1]), 0);
        ck_assert_int_eq(bed_cell(&bed, 1)->state, WDL_MAIL_DONE);
        ck_assert_int_eq(bed_cell(&bed, 1)->status, WDL_OK);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
        ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 2u + (unsigned) (n + !folds + !over));
        ck_assert_int_eq(mover.calls, 0);
        bed_close(&bed);
    }
}
END_TEST

/* One that its target has not taken, and that goes the system's way, is one as before. */
START_TEST(one_withdrawn_is_no_row)
{
    for (int folds = 0; folds < 2; folds++) {
        struct bed bed;
        open(&bed, 0);
        ck_assert_int_eq(operate(&bed, folds ? acc(0) : put(0)), WDL_OK);
        ck_assert_int_eq(bed_cell(&bed, 1)->state, WDL_MAIL_POSTED);
        ck_assert_int_eq(flushes_until_done(&bed), WDL_MAIL_LOOKS);
        ck_assert_uint_eq(bed_stats(&bed).ops_copied, 1);
        ck_assert_int_eq(bed.win[0]->mailbox.row_follows, 0);
        ck_assert_int_eq(operate(&bed, folds ? acc(0) : put(0)), WDL_OK);
        ck_assert(!train(&bed)->ring);
        flushes_until_done(&bed);
        bed_close(&bed);
    }
}
END_TEST

/* Another target, kind, operator or element waits for it; of other lengths they are taken. */
START_TEST(what_is_different_waits_for_it)
{
    static char into[EACH];
    struct wdl_rma_args other = put(0);
    other.target = 2;
    struct wdl_rma_args like = put(0);  /* only the kind tells it from the accumulates before */
    like.op = acc(0).op;
    like.element = acc(0).element;
    const struct wdl_rma_args others[] = {
        acc(0), other, test_get(1, 0, into, EACH), test_get(1, 0, into, 8),
        test_acc(1, 0, WDL_ROP_BOR, TEST_U64, WORDS, add, NULL),
        test_acc(1, 0, WDL_ROP_SUM, TEST_U32, WORDS, add, NULL),
        test_acc(1, 0, WDL_ROP_SUM, TEST_U64, 1, add, &(uint64_t){0}),
        test_acc(1, 0, WDL_ROP_SUM, TEST_U64, WDL_TRAIN_FOLD / UNIT + 1, from, NULL), like};
    for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++) {
        struct bed bed;
        open(&bed, 0);
        teach(&bed);
        ck_assert_int_eq(operate(&bed, k < 4 ? put(0) : acc(0)), WDL_OK);
        ck_assert_int_eq(operate(&bed, k < 4 ? test_put(1, 0, from, 8) :
                                 test_acc(1, 0, WDL_ROP_SUM, TEST_U64, 1, add, NULL)), WDL_OK);
        ck_assert_int_eq(operate(&bed, k < 4 ? test_put(1, 0, from, WDL_TRAIN_CAR) : acc(0)),
                         WDL_OK);
        ck_assert_int_eq(operate(&bed, others[k]), WDL_AGAIN);
        ck_assert(train(&bed)->closed);
        ck_assert_uint_eq(bed_word(&bed, 1, 1), 0);
        ck_assert_int_eq(operate(&bed, put(2)), WDL_AGAIN);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert_uint_ne(bed_word(&bed, 1, 1), 0);
        ck_assert_int_eq(operate(&bed, others[k]), WDL_OK);
        ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 2u + 3 + (train(&bed)->ring != NULL));
        ck_assert_int_eq(mover.calls, 0);
        for (int i = 0; bed_flush(&bed, -1) == WDL_AGAIN; i++)
            wdl_mailbox_serve(bed.win[1 + i % 2]);
        bed_end(&bed);
    }
}
END_TEST

/* From a car's place to the next one's, in a ring that goes round: what does not fit in front of
 * its end turns. */
static uint64_t behind(uint64_t at, uint64_t bytes)
{
    uint64_t length = LINE + (bytes + LINE - 1) / LINE * LINE;
    uint64_t left = WDL_STREAM_BYTES - at % WDL_STREAM_BYTES;
    return at + (length + LINE > left ? left : 0) + length;
}

/* As many as there is room for, wherever in the ring it is; the next one waits, and progress with
 * it, until some are done, and goes behind them. */
START_TEST(it_is_as_long_as_there_is_room)
{
    enum { MOST = WDL_STREAM_BYTES - (LINE + WDL_TRAIN_CAR) - LINE - (LINE + EACH) };
    struct bed bed;
    open(&bed, 0);
    for (int k = 0; k < 10; k++) {
        int n = 0;
        memset(bed.win[0]->rma->train_trial, 0, sizeof(bed.win[0]->rma->train_trial));
        teach(&bed);
        ck_assert_int_eq(operate(&bed, put(0)), WDL_OK);
        uint64_t begin = train(&bed)->begin, at = begin;
        while ((at = behind(at, EACH)) - begin <= MOST)
            ck_assert_int_eq(operate(&bed, put(++n % N)), WDL_OK);
        ck_assert_uint_eq(train(&bed)->at, at);
        ck_assert_int_eq(operate(&bed, put(++n % N)), WDL_AGAIN);
        (void) wdl_mailboxes_progress(bed.win[0]->rma);
        ck_assert(!train(&bed)->closed);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), n);
        ck_assert_int_eq(operate(&bed, put(n % N)), WDL_OK);
        ck_assert_uint_eq(train(&bed)->begin, begin);
        ck_assert_uint_eq(train(&bed)->n, (unsigned) n + 1);
        flush_served(&bed);
        ck_assert_mem_eq(bed.w.rank[1].memory, from, N * EACH);
    }
    ck_assert_int_eq(mover.calls, 0);
    bed_close(&bed);
}
END_TEST

/* Who waits for room waits while the target goes on; where it does not, the train is closed, and
 * what is in it done from outside. Whoever synchronizes meanwhile closes it. */
START_TEST(nobody_waits_for_who_is_away)
{
    for (int flushed = 0; flushed < 2; flushed++) {
        struct bed bed;
        int n = 0, waits = 0, status;
        open(&bed, 0);
        teach(&bed);
        while ((status = operate(&bed, test_put(1, n, from, WDL_TRAIN_CAR))) == WDL_OK)
            n++;
        ck_assert_int_eq(status, WDL_AGAIN);
        ck_assert(train(&bed)->waits && !train(&bed)->closed);
        if (flushed) {
            ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
            ck_assert(train(&bed)->closed && !train(&bed)->waits);
        }
        while (operate(&bed, test_put(1, n, from, WDL_TRAIN_CAR)) == WDL_AGAIN) {
            (void) wdl_mailboxes_progress(bed.win[0]->rma);
            ck_assert_int_lt(++waits, 10 * WDL_MAIL_LOOKS);
        }
        ck_assert_uint_ge(bed_stats(&bed).ops_copied, (unsigned) n);
        for (int i = 0; i <= flushed; i++)      /* the one that has begun is of those before */
            flushes_until_done(&bed);
        for (int i = 0; i <= n; i++)
            ck_assert_mem_eq(bed.w.rank[1].memory + i * UNIT, from, UNIT);
        bed_close(&bed);
    }
}
END_TEST

/* Each look at a target that goes on is the first one. */
START_TEST(who_goes_on_is_waited_for)
{
    enum { MANY = 20 };
    struct bed bed;
    open(&bed, 0);
    teach(&bed);
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(operate(&bed, put(i % N)), WDL_OK);
    struct wdl_mail *mail = bed_cell(&bed, 1);
    for (int i = 1; i < MANY; i++) {
        for (int look = 1; look < WDL_MAIL_LOOKS; look++)
            ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
        ck_assert_int_eq(mail->state, WDL_MAIL_POSTED);
        bed_ring[0].emptied += LINE + EACH; /* one has been done */
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
        ck_assert_int_eq(mail->state, WDL_MAIL_POSTED);
    }
    ck_assert_uint_eq(bed_stats(&bed).ops_copied, 0);
    flushes_until_done(&bed);
    ck_assert_uint_eq(bed_stats(&bed).ops_copied, 1);
    bed_close(&bed);
}
END_TEST

/* Round and round, while the target keeps up, to the train's end; and all around the ring it may
 * leave, and the rest is done from outside. */
START_TEST(it_goes_round)
{
    enum { LONG = 3 * WDL_TRAIN_CAR + 100, LAPS = WDL_TRAIN_BYTES / WDL_STREAM_BYTES,
        REST = WDL_STREAM_BYTES / (LONG + 2 * WDL_TRAIN_CAR) };
    for (int leaves = 0; leaves < 9; leaves++) {
        struct bed bed;
        open(&bed, 0);
        teach(&bed);
        uint64_t begin = 0, turns = 0;
        int n = 0;
        for (;; n++) {
            size_t bytes = n % 3 ? LONG - (size_t) (n % 7) * 1000 : EACH;
            uint64_t before = train(&bed)->ring ? train(&bed)->at : 0;
            if (operate(&bed, test_put(1, n % 50, from + n % 50, bytes)) != WDL_OK)
                break;
            begin = n == 0 ? train(&bed)->begin : begin;
            ck_assert_uint_eq(train(&bed)->begin, begin);
            turns += before / WDL_STREAM_BYTES != train(&bed)->at / WDL_STREAM_BYTES;
            if (n % 4 != 3)
                continue;
            ck_assert_int_gt(wdl_mailbox_serve(bed.win[1]), 0);
            ck_assert_int_eq(bed_cell(&bed, 1)->state, WDL_MAIL_POSTED);
            ck_assert_uint_eq(bed_ring[0].emptied, train(&bed)->at);
            ck_assert_mem_eq(bed.w.rank[1].memory + n % 50 * UNIT, from + n % 50, bytes);
            if (leaves && n > 60 + 8 * leaves)
                break;
        }
        if (leaves) {
            for (int i = 0; i < REST; i++)
                ck_assert_int_eq(operate(&bed, test_put(1, i, from + i, LONG)), WDL_OK);
            ck_assert_uint_lt(train(&bed)->at / WDL_STREAM_BYTES, LAPS);
            flushes_until_done(&bed);
            ck_assert_int_gt(mover.calls, 0);
            ck_assert_uint_eq(bed_stats(&bed).ops_copied, REST);
            ck_assert_mem_eq(bed.w.rank[1].memory + (REST - 1) * UNIT, from + REST - 1, LONG);
        } else {
            ck_assert_uint_ge(turns, LAPS - 1);
            ck_assert_uint_gt(train(&bed)->at - begin, WDL_TRAIN_BYTES - 2 * LONG);
            ck_assert_uint_lt(train(&bed)->at - begin, WDL_TRAIN_BYTES);
            flush_served(&bed);
            ck_assert_int_eq(mover.calls, 0);
        }
        bed_close(&bed);
    }
}
END_TEST

/* The target does the first car of a long one while the others come. */
START_TEST(the_longest_begins_at_once)
{
    struct bed bed;
    open(&bed, 0);
    teach(&bed);
    ck_assert_int_eq(operate(&bed, test_put(1, 0, from, WDL_TRAIN_PUT)), WDL_OK);
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), WDL_TRAIN_PUT / WDL_TRAIN_CAR);
    ck_assert_mem_eq(bed.w.rank[1].memory, from, WDL_TRAIN_PUT);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(operate(&bed, test_put(1, 1, from + i, WDL_TRAIN_PUT)), WDL_OK);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), WDL_TRAIN_PUT / WDL_TRAIN_CAR);
    }
    ck_assert_mem_eq(bed.w.rank[1].memory + UNIT, from + 1, WDL_TRAIN_PUT);
    ck_assert_ptr_eq(train(&bed)->ring, &bed_ring[0]);
    flush_served(&bed);
    ck_assert_int_eq(mover.calls, 0);
    bed_close(&bed);
}
END_TEST

/* A long put is several cars, of which the target does what has come. */
START_TEST(a_long_one_is_several_cars)
{
    enum { LONG = 2 * WDL_TRAIN_CAR + 100, CARS = 3 };
    struct bed bed;
    open(&bed, 0);
    teach(&bed);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(operate(&bed, test_put(1, i, from + i, LONG)), WDL_OK);
        ck_assert_ptr_eq(train(&bed)->ring, &bed_ring[0]);
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), CARS);
        ck_assert_mem_eq(bed.w.rank[1].memory + i * UNIT, from + i, LONG);
    }
    flush_served(&bed);
    ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 2 + 2);
    ck_assert_int_eq(mover.calls, 0);
    bed_close(&bed);
}
END_TEST

/* The target leaves in the middle of a long put: that one stays one handed over, the others are the
 * system's. A long one to a target that is away is not copied twice. */
START_TEST(half_a_long_one_is_done_from_outside)
{
    enum { LONG = 2 * WDL_TRAIN_CAR + 100, AT = LONG / UNIT + 1 };
    struct bed bed;
    open(&bed, 0);
    teach(&bed);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(operate(&bed, test_put(1, i * AT, from + i, LONG)), WDL_OK);
    struct wdl_car *car = (struct wdl_car *) (void *) (bed_ring[0].ring + train(&bed)->begin);
    bed_ring[0].emptied = train(&bed)->begin + WDL_TRAIN_CAR + sizeof(*car);
    memcpy(bed.w.rank[1].memory, from, WDL_TRAIN_CAR);
    flushes_until_done(&bed);
    ck_assert_mem_eq(bed.w.rank[1].memory, from, LONG);
    ck_assert_mem_eq(bed.w.rank[1].memory + AT * UNIT, from + 1, LONG);
    ck_assert_uint_eq(bed_stats(&bed).ops_copied, 1);
    ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 2 + 1);
    ck_assert_int_eq(mover.calls, 1);
    ck_assert(bed.win[0]->mailbox.row_follows);
    ck_assert_int_eq(operate(&bed, test_put(1, 0, from, LONG)), WDL_OK);
    ck_assert(!train(&bed)->ring);
    flushes_until_done(&bed);
    ck_assert_int_eq(mover.calls, 1 + 1);
    bed_close(&bed);
}
END_TEST

/* The request of a long put that goes behind others is complete when its call returns, and its
 * buffer free; a failure is the synchronization's. */
START_TEST(a_request_is_complete_at_once)
{
    enum { LONG = WDL_TRAIN_CAR + 100, AT = 2 * WDL_TRAIN_CAR / UNIT };
    static char mine[LONG];
    struct bed bed;
    open(&bed, 0);
    teach(&bed);
    for (int i = 0; i < 3; i++) {
        struct test_request request = {0};
        struct wdl_rma_args args = test_put(1, AT * i, mine, LONG);
        memset(mine, 'a' + i, LONG);
        args.request = &request;
        ck_assert_int_eq(operate(&bed, args), WDL_OK);
        ck_assert_int_eq(request.done, 1);
        ck_assert_int_eq(request.status, WDL_OK);
        ck_assert_ptr_eq(train(&bed)->ring, &bed_ring[0]);
        ck_assert(!train(&bed)->closed);
    }
    flush_served(&bed);
    for (int i = 0; i < 3; i++) {
        memset(mine, 'a' + i, LONG);
        ck_assert_mem_eq(bed.w.rank[1].memory + AT * i * UNIT, mine, LONG);
    }
    ck_assert_int_eq(mover.calls, 0);
    bed_close(&bed);
}
END_TEST

/* Long puts that the system does in less time are the system's, not a stream's. */
START_TEST(the_system_may_be_faster_for_long_ones)
{
    struct bed bed;
    open(&bed, 0);
    teach(&bed);
    bed_ring[0].filled = WDL_STREAM_BYTES;
    struct wdl_rma *rma = bed.win[0]->rma;
    for (int i = 0; i < WDL_TRAIN_TRIALS; i++)
        rma->train_trial[WDL_TRAIN_PUTS][i] = rma->train_trial[WDL_TRAIN_RPUTS][i] =
            system_is_faster;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(operate(&bed, test_put(1, 0, from, WDL_TRAIN_PUT)), WDL_OK);
        ck_assert_int_eq(mover.calls, i + 2);   /* the first by halves, for nobody came (joint.h) */
        ck_assert(!wdl_mailbox_under_way(bed.win[0]));
    }
    /* asked once for all of them, and again behind a synchronization */
    struct wdl_trial *trial = &rma->train_trial[WDL_TRAIN_PUTS][WDL_TRAIN_TRIALS - 1];
    ck_assert_uint_eq(trial->asked, system_is_faster.asked + 1);
    flush_served(&bed);
    ck_assert_int_eq(operate(&bed, test_put(1, 0, from, WDL_TRAIN_PUT)), WDL_OK);
    ck_assert_uint_eq(trial->asked, system_is_faster.asked + 2);
    /* or when there have been many, where nobody synchronizes */
    for (int i = 0; i < WDL_TRAIN_UNASKED; i++)
        ck_assert_int_eq(operate(&bed, test_put(1, 0, from, WDL_TRAIN_PUT)), WDL_OK);
    ck_assert_uint_eq(trial->asked, system_is_faster.asked + 2);
    ck_assert_int_eq(operate(&bed, test_put(1, 0, from, WDL_TRAIN_PUT)), WDL_OK);
    ck_assert_uint_eq(trial->asked, system_is_faster.asked + 3);
    flush_served(&bed);
    /* and for fewer that are waited for one by one, of whom other times are known */
    trial = &rma->train_trial[WDL_TRAIN_RPUTS][WDL_TRAIN_TRIALS - 1];
    for (int i = 0; i < 2 * WDL_TRAIN_REQUESTS; i++) {
        struct test_request request = {0};
        struct wdl_rma_args rput = test_put(1, 0, from, WDL_TRAIN_PUT);
        rput.request = &request;
        ck_assert_int_eq(operate(&bed, rput), WDL_OK);
        ck_assert(request.done);
        ck_assert_uint_eq(trial->asked,
                          system_is_faster.asked + 1 + (unsigned) i / WDL_TRAIN_REQUESTS);
    }
    /* of accumulates nothing is known yet */
    ck_assert_int_eq(operate(&bed, test_acc(1, 0, WDL_ROP_SUM, TEST_U64,
                                            WDL_TRAIN_COMPARED / UNIT + 1, from, NULL)), WDL_OK);
    ck_assert(train(&bed)->ring);
    flush_served(&bed);
    bed_close(&bed);
}
END_TEST

enum { PUTS = 4000 };
static int since_handed, warm_up;

static void warming_up(struct bed *bed, int call)
{
    (void) call;
    bed->w.rank[0].host.now_ns += since_handed++ < warm_up ? 3 * copy_takes : copy_takes;
}

/* Of PUTS long ones, each waited for by its request, how many were handed over. */
static int handed_of(uint64_t handed, uint64_t system, int warm)
{
    enum { LONG = 65536 };
    struct bed bed;
    open(&bed, 0);
    teach(&bed);
    uint64_t before = bed_stats(&bed).ops_copied;
    bed_ring[0].filled = WDL_STREAM_BYTES;
    mover.bed = &bed;
    mover.during = warming_up;
    copy_takes = system;
    warm_up = warm;
    for (int i = 0; i < PUTS; i++) {
        struct test_request request = {0};
        struct wdl_rma_args args = test_put(1, 0, from, LONG);
        args.request = &request;
        while (operate(&bed, args) == WDL_AGAIN)
            wdl_mailbox_serve(bed.win[1]);
        ck_assert_int_eq(request.done, 1);
        if (!train(&bed)->ring)
            continue;
        since_handed = 0;
        bed.w.rank[0].host.now_ns += handed;
        wdl_mailbox_serve(bed.win[1]);
    }
    flush_served(&bed);
    mover.during = NULL;
    int all = PUTS - (int) (bed_stats(&bed).ops_copied - before);
    bed_close(&bed);
    return all;
}

/* A trial of handing them over is as short as one of the system's copies, of which the last tells:
 * at first the memory is in the cache of whoever had it. */
START_TEST(long_ones_with_requests)
{
    int trial = WDL_TRIAL_RUN * WDL_TRAIN_REQUESTS;
    int handed = WDL_TRIAL_AT * WDL_TRAIN_REQUESTS + 2 * trial;
    ck_assert_int_eq(handed_of(1500, 1000, 0), handed);
    ck_assert_int_eq(handed_of(1500, 1000, WDL_TRAIN_REQUESTS / 2), handed);
    ck_assert_int_eq(handed_of(1000, 1500, 0), PUTS - trial);
}
END_TEST

/* What goes through a new ring says nothing; and what is known is not timed each time. */
START_TEST(not_each_is_timed)
{
    const struct wdl_trial none = {0}, known = {.every = WDL_TRIAL_SELDOM, .next = 1000, .asked = 1,
                                                .ns = {1000, 5000}};
    for (int used = 0; used < 2; used++) {
        struct bed bed;
        open(&bed, 0);
        struct wdl_trial *trial = &bed.win[0]->rma->train_trial[WDL_TRAIN_PUTS][0];
        teach(&bed);
        bed_ring[0].filled = used ? WDL_STREAM_BYTES : 0;
        *trial = used ? known : none;
        ck_assert_int_eq(operate(&bed, test_put(1, 0, from, WDL_TRAIN_COMPARED + 1)), WDL_OK);
        ck_assert(train(&bed)->ring);
        bed.w.rank[0].host.now_ns += 100000;
        flush_served(&bed);
        ck_assert_uint_eq(trial->ns[0], used ? 1000 : 0);
        ck_assert_uint_eq(trial->asked, used ? 2 : 0);
        bed_close(&bed);
    }
}
END_TEST

/* Of 300 trains of n puts, how many were written past the caches; what either way takes for one. */
static int past_of(struct bed *bed, int n, uint64_t plain, uint64_t past)
{
    int count = 0;
    for (int row = 0; row < 300; row++) {
        memset(bed->w.rank[1].memory, 0, BYTES);
        for (int i = 0; i < n; i++) {
            ck_assert_int_eq(operate(bed, put(i)), WDL_OK);
            ck_assert(train(bed)->ring && train(bed)->row);
            bed->w.rank[0].host.now_ns += train(bed)->past ? past : plain;
        }
        count += train(bed)->past;
        flush_served(bed);
        ck_assert_mem_eq(bed->w.rank[1].memory, from, (size_t) n * EACH);
    }
    return count;
}

/* Short ones go past the caches where whole trains take less time so; few on end do not tell. */
START_TEST(short_ones_may_go_past_the_caches)
{
    static const struct {
        uint64_t plain, past;
        int n, least, most;
    } cases[] = {{600, 400, WDL_TRAIN_ROW, 280, 293}, {400, 600, WDL_TRAIN_ROW, 4, 20},
                 {600, 400, WDL_TRAIN_ROW - 1, 40, 40}};
    for (int i = 0; i < (int) (sizeof(cases) / sizeof(cases[0])); i++) {
        struct bed bed;
        open(&bed, 0);
        teach(&bed);
        bed_ring[0].filled = WDL_STREAM_BYTES;
        int past = past_of(&bed, cases[i].n, cases[i].plain, cases[i].past);
        ck_assert_int_ge(past, cases[i].least);
        ck_assert_int_le(past, cases[i].most);
        ck_assert_int_eq(bed.win[0]->rma->row_trial[1][0].ns[1] != 0, cases[i].n == WDL_TRAIN_ROW);
        ck_assert_uint_eq(bed.win[0]->rma->row_trial[1][1].asked, 0);
        bed_ring[0].filled = 0; /* a new one says nothing */
        ck_assert_int_eq(operate(&bed, put(0)), WDL_OK);
        ck_assert(train(&bed)->ring && !train(&bed)->row && !train(&bed)->past);
        flush_served(&bed);
        bed_close(&bed);
    }
}
END_TEST

/* Nobody comes, or some are done and then the target leaves: the rest is done by the system, each
 * once, puts by one call, accumulates by two, or each by two where one lies over another. Then the
 * target is not asked until it has looked: its trains are done at their end without it. */
START_TEST(the_rest_is_done_from_outside)
{
    for (int folds = 0; folds < 2; folds++)
        for (int served = 0; served < 2; served++) {
            struct bed bed;
            open(&bed, 0);
            teach(&bed);
            for (int i = 0; i < N; i++) {
                ck_assert_int_eq(operate(&bed, folds ? acc(1) : put(i)), WDL_OK);
                if (served && i == 2)
                    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 3);
            }
            int looks = WDL_MAIL_LOOKS * (1 + served);  /* it has gone on */
            (void) wdl_mailbox_visited(bed.win[1]);
            ck_assert_int_eq(flushes_until_done(&bed), looks);
            ck_assert_int_eq(wdl_mailbox_visited(bed.win[1]), 1);
            ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 0);
            int rest = N - 3 * served;
            ck_assert_uint_eq(bed_stats(&bed).ops_copied, (unsigned) rest);
            ck_assert_uint_eq(bed_stats(&bed).ops_mailed, 2 + N - (unsigned) rest);
            ck_assert_int_eq(mover.calls, folds ? 2 * rest : 1);
            ck_assert_int_eq(mover.pieces, 1);
            for (int w = 0; w < WORDS && folds; w++)
                ck_assert_uint_eq(bed_word(&bed, 1, 1 + w), N * add[w]);
            ck_assert(folds || memcmp(bed.w.rank[1].memory, from, N * EACH) == 0);
            ck_assert(wdl_mail_is_away(bed.win[0], 1) && !bed.win[0]->rma->streaming);
            memset(bed.w.rank[1].memory, 0, BYTES);
            mover.calls = 0;
            for (int i = 0; i < N; i++)
                ck_assert_int_eq(operate(&bed, folds ? acc(i * WORDS) : put(i)), WDL_OK);
            ck_assert(train(&bed)->ring && !bed.win[0]->mailbox.mail);
            bed.win[0]->quick.stored = 0;
            ck_assert_int_eq(wdl_mailbox_settle(bed.win[0]), WDL_OK);
            ck_assert_int_eq(bed.win[0]->quick.stored, 1);
            ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
            ck_assert_int_eq(mover.calls, folds ? 2 : 1);
            for (int i = 0; i < N; i++)
                ck_assert_uint_eq(bed_word(&bed, 1, i * WORDS + 1), folds ? add[1] :
                                  ((uint64_t *) (void *) from)[i * WORDS + 1]);
            bed_close(&bed);
        }
}
END_TEST

/* A part of the target's memory that cannot be reached fails alone. */
START_TEST(one_that_cannot_be_reached_fails_alone)
{
    for (int folds = 0; folds < 2; folds++) {
        struct bed bed;
        open(&bed, 0);
        teach(&bed);
        for (int i = 0; i < N; i++)
            ck_assert_int_eq(operate(&bed, folds ? acc(i * WORDS) : put(i)), WDL_OK);
        mover.broken = bed.w.rank[1].memory + 3 * EACH + 8;
        int status, n = 0;
        while ((status = bed_flush(&bed, 1)) == WDL_AGAIN)
            ck_assert_int_lt(n++, 2 * WDL_MAIL_LOOKS);
        ck_assert_int_eq(status, WDL_ERR_RANGE);
        for (int i = 0; i < N; i++)
            ck_assert_uint_eq(bed_word(&bed, 1, i * WORDS + 1), i == 3 ? 0 : folds ? add[1] :
                              ((uint64_t *) (void *) from)[i * WORDS + 1]);
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
        /* the next ones go together again */
        mover.broken = NULL;
        mover.calls = 0;
        for (int i = 0; i < N; i++)
            ck_assert_int_eq(operate(&bed, folds ? acc(i * WORDS) : put(i)), WDL_OK);
        flushes_until_done(&bed);
        ck_assert_int_eq(mover.calls, folds ? 2 : 1);
        bed_close(&bed);
    }
}
END_TEST

/* One of which a part is done when it fails: the next one is whole. */
START_TEST(the_one_behind_half_a_one_is_whole)
{
    enum { PER = WDL_REGION_BYTES / UNIT, AT = PER - WORDS / 2 };
    struct bed bed;
    open(&bed, 0);
    teach(&bed);
    ck_assert_int_eq(operate(&bed, acc(AT)), WDL_OK);
    ck_assert_int_eq(operate(&bed, acc(0)), WDL_OK);
    mover.broken = bed.w.rank[1].memory + WDL_REGION_BYTES + 8;
    int status, n = 0;
    while ((status = bed_flush(&bed, 1)) == WDL_AGAIN)
        ck_assert_int_lt(n++, 2 * WDL_MAIL_LOOKS);
    ck_assert_int_eq(status, WDL_ERR_RANGE);
    ck_assert_uint_eq(bed_word(&bed, 1, AT), add[0]);
    for (int w = 0; w < WORDS; w++)
        ck_assert_uint_eq(bed_word(&bed, 1, w), add[w]);
    bed_close(&bed);
}
END_TEST

/* Where operands are put together is neither the train's place nor beyond the ring, wherever it
 * begins. */
START_TEST(a_long_rest_is_folded_from_outside)
{
    enum { OPS = 31, EACH_WORDS = (WDL_TRAIN_FOLD - sizeof(struct wdl_car)) / UNIT,
        PART = WDL_TRAIN_FOLD_BYTES };
    static const int begins[] = {0, PART / 2 + 64, PART - 64, WDL_STREAM_BYTES - 2 * PART - 64,
                                 WDL_STREAM_BYTES - PART};
    static uint64_t in[EACH_WORDS];
    for (size_t k = 0; k < sizeof(begins) / sizeof(begins[0]); k++) {
        struct bed bed;
        open(&bed, 0);
        teach(&bed);
        bed_ring[0].filled = (uint64_t) begins[k];
        for (int i = 0; i < OPS; i++) {
            for (int w = 0; w < EACH_WORDS; w++)
                in[w] = (uint64_t) (i * w + 1);
            ck_assert_int_eq(operate(&bed, test_acc(1, i, WDL_ROP_REPLACE, TEST_U64, EACH_WORDS, in,
                                                    NULL)), WDL_OK);
        }
        ck_assert_uint_eq(train(&bed)->begin, (uint64_t) begins[k]);
        flushes_until_done(&bed);
        for (int w = 0; w < OPS + EACH_WORDS - 1; w++) {
            int i = w < OPS ? w : OPS - 1;
            ck_assert_uint_eq(bed_word(&bed, 1, w), (uint64_t) (i * (w - i) + 1));
        }
        ck_assert_uint_eq(bed_ring[1].filled, 0);
        ck_assert_uint_eq(bed_ring[1].emptied, 0);
        bed_close(&bed);
    }
}
END_TEST

/* A region that somebody has closed: its target goes on where it was, each element once; or, where
 * it has not begun there, its origin. */
START_TEST(it_goes_on_where_it_was)
{
    enum { PER = WDL_REGION_BYTES / UNIT, AT = PER - WORDS / 2 };
    for (int outside = 0; outside < 2; outside++) {
        struct bed bed;
        open(&bed, 0);
        teach(&bed);
        ck_assert_int_eq(operate(&bed, acc(0)), WDL_OK);
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(operate(&bed, acc(AT)), WDL_OK);
        bed.w.control[1].bulk[1] = 1 + 2;
        bed.w.control[1].bulk_mode = WDL_BULK_ALWAYS;
        if (!outside) {
            for (int i = 0; i < 3; i++) {
                ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]) > 0, i == 0);
                ck_assert_int_eq(bed_cell(&bed, 1)->state, WDL_MAIL_TAKEN);
            }
            for (int i = 0; i < 3 * WDL_MAIL_LOOKS; i++)
                ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
        } else {
            for (int i = 0; i < 3 * WDL_MAIL_LOOKS; i++)
                ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
            ck_assert_int_eq(bed_cell(&bed, 1)->state, WDL_MAIL_FREE);
        }
        ck_assert_uint_eq(bed_word(&bed, 1, AT), 1);
        ck_assert_uint_eq(bed_word(&bed, 1, PER), 0);
        bed.w.control[1].bulk[1] = 0;
        flush_served(&bed);
        for (int w = 0; w < WORDS; w++) {
            ck_assert_uint_eq(bed_word(&bed, 1, AT + w), 3 * add[w]);
            ck_assert_uint_eq(bed_word(&bed, 1, w), add[w]);
        }
        bed_close(&bed);
    }
}
END_TEST

/* One whose memory is not attached, or that crosses its end: it alone fails, at the
 * synchronization. */
START_TEST(one_that_fails_is_the_only_one)
{
    struct bed bed;
    open(&bed, 1);
    int64_t at = attach(&bed, 1, 0, 4 * EACH);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(operate(&bed, test_put(1, at, from, EACH)), WDL_OK);
        if (i == 0)
            bed_served(&bed, 1);
    }
    for (int i = 1; i < 4; i++)
        ck_assert_int_eq(operate(&bed, test_put(1, at + (i == 2 ? 4 : i) * EACH - 8 * (i == 2),
                                                from + i * EACH, EACH)), WDL_OK);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_AGAIN);
    ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_ERR_RANGE);
    ck_assert_int_eq(bed_flush(&bed, 1), WDL_OK);
    const char *memory = bed.w.rank[1].memory;
    ck_assert_mem_eq(memory, from, 2 * EACH);
    ck_assert_mem_eq(memory + 3 * EACH, from + 3 * EACH, EACH);
    for (int i = 0; i < EACH; i++)
        ck_assert(memory[2 * EACH + i] == 0 && memory[4 * EACH + i] == 0);
    bed_close(&bed);
}
END_TEST

/* A cell or a ring says anything: nothing is touched, and the origin does it itself. */
START_TEST(nonsense_is_refused)
{
    enum { BEHIND = WDL_STREAM_BYTES - WDL_TRAIN_FOLD_BYTES + 64 };
    for (int what = 0; what < 19; what++) {
        struct bed bed;
        open(&bed, 0);
        teach(&bed);
        for (int i = 0; i < 2; i++)
            ck_assert_int_eq(operate(&bed, acc(0)), WDL_OK);
        uint64_t begin = train(&bed)->begin;
        struct wdl_mail *mail = bed_cell(&bed, 1);
        struct wdl_car *car = (struct wdl_car *) (void *) (bed_ring[0].ring + begin), good = *car;
        mail->origin = what == 0 ? RANKS : what == 1 ? 1 : mail->origin;
        mail->stream.id = 1 + mail->origin + (what == 2);
        memcpy(&bed_ring[1], &bed_ring[0], sizeof(bed_ring[1]));
        memcpy(bed_ring[0].ring + BEHIND, car, sizeof(*car) + EACH);
        mail->stream.begin = what == 2 ? 0 : what == 3 ? begin + 1 : what == 4 ? BEHIND :
            what == 5 ? UINT64_MAX / 64 * 64 : begin;
        mail->host_type = what == 6 ? 0xdead : what == 15 ? TEST_LD : what == 16 ? TEST_F64 :
            mail->host_type;
        mail->rop = what == 7 ? WDL_ROP_COUNT : what == 16 ? WDL_ROP_BOR : what == 17 ?
            WDL_ROP_NO_OP : mail->rop;
        bed.win[1]->params.stream = what == 18 ? NULL : bed.win[1]->params.stream;
        car->bytes = what == 8 ? WDL_TRAIN_CAR + UNIT : what == 9 ? 12 : car->bytes;
        car->offset = what == 14 ? WDL_TRAIN_PUT + UNIT : what == 11 ? UNIT : car->offset;
        car->disp = what == 10 ? INT64_MAX : what == 11 ? -1 : car->disp;
        bed_ring[0].emptied = what == 4 ? BEHIND : what == 12 ? begin + 8 : what == 13 ?
            begin + WDL_TRAIN_FOLD_BYTES : begin;
        ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        ck_assert_int_eq(mail->state, WDL_MAIL_DONE);
        ck_assert(wdl_status_is_error(mail->status));
        ck_assert_uint_eq(bed_word(&bed, 1, 0), 0);
        *car = good;
        bed_ring[0].emptied = begin;
        ck_assert_int_eq(flushes_until_done(&bed), 1);
        for (int w = 0; w < WORDS; w++)
            ck_assert_uint_eq(bed_word(&bed, 1, w), 2 * add[w]);
        bed_close(&bed);
    }
}
END_TEST

/* A target that says it is where the train is not: nobody knows what it has done. */
START_TEST(it_must_be_somewhere)
{
    for (int what = 0; what < 4; what++) {
        struct bed bed;
        open(&bed, 0);
        teach(&bed);
        for (int i = 0; i < N; i++)
            ck_assert_int_eq(operate(&bed, put(i)), WDL_OK);
        uint64_t at = train(&bed)->at;
        bed_ring[0].emptied = what == 0 ? UINT64_MAX : what == 1 ? at + LINE :
            what == 2 ? train(&bed)->begin - LINE : train(&bed)->begin + 1;
        bed_cell(&bed, 1)->status = WDL_OK;
        bed_cell(&bed, 1)->state = WDL_MAIL_DONE;
        ck_assert_int_eq(bed_flush(&bed, 1), WDL_ERR_PROTO);
        ck_assert_int_eq(mover.calls, 0);
        ck_assert(!wdl_mailbox_under_way(bed.win[0]) && !bed.win[0]->rma->streaming);
        bed_close(&bed);
    }
}
END_TEST

/* Puts whose ring says anything, too: one that goes beyond the ring's end; round and round, with
 * nothing: the target looks at others in between, and at last has enough. */
START_TEST(nonsense_in_a_ring_that_goes_round)
{
    for (int what = 0; what < 3; what++) {
        struct bed bed;
        open(&bed, 0);
        teach(&bed);
        for (int i = 0; i < 2; i++)
            ck_assert_int_eq(operate(&bed, put(i)), WDL_OK);
        uint64_t begin = train(&bed)->begin;
        struct wdl_mail *mail = bed_cell(&bed, 1);
        if (what < 2) {
            uint64_t at = WDL_STREAM_BYTES - EACH - LINE;       /* no line is left behind it */
            memcpy(bed_ring[0].ring + at, bed_ring[0].ring + begin, LINE + EACH);
            bed_ring[0].emptied = at;
            mail->stream.begin = what ? 0 : at;
            ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
        } else {
            for (uint64_t at = 0; at < WDL_STREAM_BYTES; at += LINE)
                ((struct wdl_car *) (void *) (bed_ring[0].ring + at))->bytes = WDL_CAR_TURN;
            int n = 0;
            for (; mail->state != WDL_MAIL_DONE; n++)
                wdl_mailbox_serve(bed.win[1]);
            ck_assert_int_gt(n, 1);
            ck_assert_int_le(n, WDL_TRAIN_BYTES / WDL_STREAM_BYTES + 1);
        }
        ck_assert_int_eq(mail->state, WDL_MAIL_DONE);
        ck_assert_int_eq(mail->status, WDL_ERR_PROTO);
        ck_assert_uint_eq(bed_word(&bed, 1, 0), 0);
        bed_ring[0].emptied = begin;
        ck_assert_int_eq(bed_flush(&bed, 1), what < 2 ? WDL_OK : WDL_ERR_PROTO);
        static const char none[2 * EACH];
        ck_assert_mem_eq(bed.w.rank[1].memory, what < 2 ? from : none, 2 * EACH);
        bed_close(&bed);
    }
}
END_TEST

/* A target that says it is done, and is not, is not believed; what somebody has spoilt in our ring
 * fails. */
START_TEST(done_must_be_true)
{
    for (int spoilt = 0; spoilt < 2; spoilt++) {
        struct bed bed;
        open(&bed, 0);
        teach(&bed);
        for (int i = 0; i < N; i++)
            ck_assert_int_eq(operate(&bed, put(i)), WDL_OK);
        struct wdl_car *car =
            (struct wdl_car *) (void *) (bed_ring[0].ring + train(&bed)->begin + EACH + 64);
        car->bytes = spoilt ? WDL_TRAIN_CAR + 1 : car->bytes;
        bed_cell(&bed, 1)->status = WDL_OK;
        bed_cell(&bed, 1)->state = WDL_MAIL_DONE;
        ck_assert_int_eq(bed_flush(&bed, 1), spoilt ? WDL_ERR_PROTO : WDL_OK);
        ck_assert_int_eq(mover.calls, 1);
        ck_assert_mem_eq(bed.w.rank[1].memory, from, (size_t) (spoilt ? 1 : N) * EACH);
        ck_assert(!wdl_mailbox_under_way(bed.win[0]) && !bed.win[0]->rma->streaming);
        bed_close(&bed);
    }
}
END_TEST

/* Any lengths at any places, one over another, in any order of looks: what is there at the end is
 * what the last of them put, byte by byte. */
START_TEST(they_stay_in_order)
{
    enum { LONGEST = 3 * WDL_TRAIN_CAR };
    static char wanted[MEMORY];
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct bed bed;
        struct wdl_prng prng;
        wdl_prng_init(&prng, seed);
        open(&bed, 0);
        bed_ring[0].filled = WDL_STREAM_BYTES - wdl_prng_below(&prng, 1 << 18);
        memset(wanted, 0, sizeof(wanted));
        for (int i = 0; i < 2000; i++) {
            size_t bytes = 1 + wdl_prng_below(&prng, i % 3 ? 1024 : LONGEST + 200);
            size_t at = wdl_prng_below(&prng, 4096) * UNIT, off = wdl_prng_below(&prng, 4096);
            struct wdl_rma_args args = test_put(1, (int64_t) (at / UNIT), from + off, bytes);
            while (operate(&bed, args) == WDL_AGAIN)
                if (wdl_prng_below(&prng, 3) == 0)
                    wdl_mailbox_serve(bed.win[1]);
            memcpy(wanted + at, from + off, bytes);
            if (wdl_prng_below(&prng, 8) == 0)
                wdl_mailbox_serve(bed.win[1]);
            if (wdl_prng_below(&prng, 40) == 0)
                wdl_rma_progress(bed.win[0]->rma);
            if (wdl_prng_below(&prng, 100) > 0)
                continue;
            while (bed_flush(&bed, 1) == WDL_AGAIN)
                if (wdl_prng_below(&prng, 50) == 0)
                    wdl_mailbox_serve(bed.win[1]);
            ck_assert_mem_eq(bed.w.rank[1].memory, wanted, sizeof(wanted));
        }
        while (bed_flush(&bed, 1) == WDL_AGAIN)
            ;
        ck_assert_mem_eq(bed.w.rank[1].memory, wanted, sizeof(wanted));
        bed_close(&bed);
    }
}
END_TEST

/* One that has been begun from outside is none of the train, however like it is. */
START_TEST(what_is_half_done_goes_on)
{
    struct bed bed;
    struct wdl_rma_args args = acc(0);
    open(&bed, 0);
    teach(&bed);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(operate(&bed, acc(0)), WDL_OK);
    ck_assert_ptr_nonnull(train(&bed)->ring);
    args.done = EACH - 8;
    done_otherwise(&bed, args);
    ck_assert_uint_eq(bed_word(&bed, 1, 0), 3);
    ck_assert_uint_eq(bed_word(&bed, 1, WORDS - 1), 4 * WORDS);
    bed_end(&bed);
}
END_TEST

WDL_SUITE("rma/train", a_row_is_one_hand_over, the_ring_has_one_user, the_short_way_leads_there,
          the_faster_way, what_is_none, windows_that_have_none, what_would_be_none_is_not_counted,
          what_goes_in_no_car, what_goes_in_a_car, elements_are_aligned, where_it_begins,
          it_is_full_to_the_last_line, one_withdrawn_is_no_row, what_is_different_waits_for_it,
          it_is_as_long_as_there_is_room, nobody_waits_for_who_is_away, who_goes_on_is_waited_for,
          it_goes_round, the_longest_begins_at_once,
          a_long_one_is_several_cars, half_a_long_one_is_done_from_outside,
          a_request_is_complete_at_once, the_system_may_be_faster_for_long_ones,
          long_ones_with_requests, not_each_is_timed, short_ones_may_go_past_the_caches,
          the_rest_is_done_from_outside,
          one_that_cannot_be_reached_fails_alone, the_one_behind_half_a_one_is_whole,
          a_long_rest_is_folded_from_outside, it_goes_on_where_it_was, what_is_half_done_goes_on,
          one_that_fails_is_the_only_one, nonsense_is_refused, it_must_be_somewhere,
          nonsense_in_a_ring_that_goes_round, done_must_be_true, they_stay_in_order)
