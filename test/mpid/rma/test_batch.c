/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/batch: how many calls of the system short puts and gets take, when they are done,
 * and in which order.
 */
#include <string.h>
#include "mpid/rma/copybed.h"
#include "mpid/rma/win_impl.h"
#include "support/suite.h"

static void open(struct bed *bed, int dynamic)
{
    bed_open_as(bed, (struct bed_kind){.dynamic = dynamic});
}

static int put(struct bed *bed, int target, int64_t disp, uint64_t value)
{
    return operate(bed, test_put(target, disp, &value, 8)); /* the buffer is ours again */
}

static int flush(struct bed *bed, int rank, int local)
{
    return wdl_win_flush(bed->win[0], rank, local, &bed->step);
}

static void held(struct bed *bed, int n)
{
    ck_assert_int_eq(bed->win[0]->batched, n);
    ck_assert_uint_eq(bed->win[0]->rma->batched, (unsigned) n);
}

/* 64 puts are one call: with one piece where they lie beside one another, else with 64. */
START_TEST(puts_before_a_flush_are_one_call)
{
    for (int apart = 1; apart <= 2; apart++) {
        struct bed bed;
        struct wdl_win_stats stats;
        open(&bed, 0);
        for (int i = 0; i < 64; i++)
            ck_assert_int_eq(put(&bed, 1, i * apart, (uint64_t) i + 1), WDL_OK);
        ck_assert_int_eq(mover.calls, 0);
        held(&bed, 1);
        ck_assert_int_eq(flush(&bed, 1, 0), WDL_OK);
        ck_assert_int_eq(mover.calls, 1);
        ck_assert_int_eq(mover.pieces, apart == 1 ? 1 : 64);
        held(&bed, 0);
        for (int i = 0; i < 64 * apart; i++)
            ck_assert_uint_eq(bed_word(&bed, 1, i), i % apart ? 0 : (uint64_t) (i / apart) + 1);
        ck_assert_int_eq(flush(&bed, 1, 0), WDL_OK);
        ck_assert_int_eq(mover.calls, 1);
        wdl_win_stats_get(bed.win[0], &stats);
        ck_assert_uint_eq(stats.ops_copied, 64);
        bed_close(&bed);
    }
}
END_TEST

/* A put where the last one was takes its place; one before that stays. */
START_TEST(the_last_put_of_a_place_counts)
{
    struct bed bed;
    open(&bed, 0);
    for (int i = 0; i < 200; i++)
        ck_assert_int_eq(put(&bed, 1, i < 100 ? 3 : 5, (uint64_t) i), WDL_OK);
    ck_assert_int_eq(put(&bed, 1, 3, 7), WDL_OK);
    ck_assert_int_eq(mover.calls, 0);
    ck_assert_int_eq(flush(&bed, 1, 0), WDL_OK);
    ck_assert_int_eq(mover.calls, 1);
    ck_assert_int_eq(mover.pieces, 3);
    ck_assert_uint_eq(bed_word(&bed, 1, 3), 7);
    ck_assert_uint_eq(bed_word(&bed, 1, 5), 199);
    ck_assert_uint_eq(bed_word(&bed, 1, 4), 0);
    bed_close(&bed);
}
END_TEST

START_TEST(gets_before_a_flush_are_one_call)
{
    struct bed bed;
    uint64_t back[128] = {0};
    open(&bed, 0);
    for (uint64_t i = 0; i < 128; i++)
        memcpy(bed.w.rank[2].memory + 8 * i, &(uint64_t){i + 1}, 8);
    for (int i = 0; i < 64; i++)
        ck_assert_int_eq(operate(&bed, test_get(2, 2 * i, &back[127 - 2 * i], 8)), WDL_OK);
    ck_assert_int_eq(mover.calls, 0);
    ck_assert_int_eq(flush(&bed, 2, 1), WDL_OK);
    ck_assert_int_eq(mover.calls, 1);
    for (int i = 0; i < 64; i++)
        ck_assert_uint_eq(back[127 - 2 * i], (uint64_t) (2 * i) + 1);
    bed_close(&bed);
}
END_TEST

/* A batch has room for 64 operations and 16 KiB of puts; what has none waits in the next. */
START_TEST(a_full_batch_is_run)
{
    static char data[2048];
    struct bed bed;
    open(&bed, 0);
    for (int i = 0; i < 64; i++)
        ck_assert_int_eq(put(&bed, 1, 3 * i, 1), WDL_OK);
    ck_assert_int_eq(mover.calls, 0);
    ck_assert_int_eq(put(&bed, 1, 3 * 64, 1), WDL_OK);
    ck_assert_int_eq(mover.calls, 1);
    ck_assert_uint_eq(bed_word(&bed, 1, 3 * 63), 1);
    ck_assert_uint_eq(bed_word(&bed, 1, 3 * 64), 0);
    ck_assert_int_eq(flush(&bed, -1, 0), WDL_OK);
    ck_assert_int_eq(mover.calls, 2);
    ck_assert_uint_eq(bed_word(&bed, 1, 3 * 64), 1);
    for (int i = 0; i < 8; i++) {
        struct test_request request = {0};
        struct wdl_rma_args args = test_put(2, 300 * i, data, sizeof(data));
        args.request = &request;
        ck_assert_int_eq(operate(&bed, args), WDL_OK);
    }
    ck_assert_int_eq(mover.calls, 2);
    ck_assert_int_eq(operate(&bed, test_put(2, 300 * 8, data, 1)), WDL_OK);
    ck_assert_int_eq(mover.calls, 3);
    ck_assert_int_eq(mover.pieces, 8);
    ck_assert_int_eq(flush(&bed, 2, 0), WDL_OK);
    bed_close(&bed);
}
END_TEST

/* Whatever ends an operation ends what is held; progress does, too. */
START_TEST(every_synchronization_runs_what_is_held)
{
    enum { FLUSH, FLUSH_ALL, FLUSH_LOCAL, PROGRESS, UNLOCK_ALL, UNLOCK, FENCE, COMPLETE, WAYS };
    for (int way = 0; way < WAYS; way++) {
        struct bed bed;
        open(&bed, 0);
        struct wdl_win *win = bed.win[0];
        static const int one[1] = {1}, nobody[1] = {0};
        int other = 0;
        if (way >= UNLOCK)
            TEST_DONE(&bed.w, wdl_win_unlock_all(win, &bed.step));
        if (way == UNLOCK)
            TEST_DONE(&bed.w, wdl_win_lock(win, 1, 1, 0, &bed.step));
        if (way == FENCE) {
            int steps[RANKS] = {0}, left = RANKS;
            for (int done[RANKS] = {0}; left > 0;)
                for (int i = 0; i < RANKS; i++)
                    if (!done[i] && wdl_win_fence(bed.win[i], 0, &steps[i]) == WDL_OK) {
                        done[i] = 1;
                        left--;
                    }
        }
        if (way == COMPLETE) {
            TEST_DONE(&bed.w, wdl_win_post(bed.win[1], nobody, 1, 0, &other));
            TEST_DONE(&bed.w, wdl_win_start(win, one, 1, 0, &bed.step));
        }
        ck_assert_int_eq(TEST_WAIT(&bed.w, put(&bed, 1, 5, 55)), WDL_OK);
        ck_assert_uint_eq(bed_word(&bed, 1, 5), 0);
        switch (way) {
            case FLUSH:
                ck_assert_int_eq(flush(&bed, 1, 0), WDL_OK);
                break;
            case FLUSH_ALL:
                ck_assert_int_eq(flush(&bed, -1, 0), WDL_OK);
                break;
            case FLUSH_LOCAL:
                ck_assert_int_eq(flush(&bed, 1, 1), WDL_OK);
                break;
            case PROGRESS:
                ck_assert_int_eq(wdl_rma_progress(win->rma), 1);
                ck_assert_int_eq(wdl_rma_progress(win->rma), 0);
                break;
            case UNLOCK_ALL:
                TEST_DONE(&bed.w, wdl_win_unlock_all(win, &bed.step));
                break;
            case UNLOCK:
                TEST_DONE(&bed.w, wdl_win_unlock(win, 1, &bed.step));
                break;
            case FENCE:
                wdl_win_fence(win, 0, &bed.step);
                break;
            default:
                TEST_DONE(&bed.w, wdl_win_complete(win, &bed.step));
        }
        ck_assert_uint_eq(bed_word(&bed, 1, 5), 55);
        ck_assert_int_eq(mover.calls, 1);
        held(&bed, 0);
        if (way == FENCE) {
            int steps[RANKS] = {bed.step}, left = RANKS;
            for (int done[RANKS] = {0}; left > 0;)
                for (int i = 0; i < RANKS; i++)
                    if (!done[i] &&
                        wdl_win_fence(bed.win[i], WDL_MODE_NOSUCCEED, &steps[i]) == WDL_OK) {
                        done[i] = 1;
                        left--;
                    }
            bed.step = 0;
        }
        if (way == COMPLETE)
            TEST_DONE(&bed.w, wdl_win_wait(bed.win[1], &other));
        if (way >= UNLOCK_ALL)
            TEST_DONE(&bed.w, wdl_win_lock_all(win, 0, &bed.step));
        bed_close(&bed);
    }
}
END_TEST

/* Those behind the first take a short way into the batch, puts with a request too, and are
 * refused there where they would be in another, longer than is held, or out of bounds. */
START_TEST(those_behind_the_first_take_a_short_way)
{
    static char out[WDL_BATCH_LONG + 1], in[16];
    enum { AT = 512 };
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        struct bed bed;
        open(&bed, dynamic);
        struct wdl_win *win = bed.win[0];
        int64_t at = dynamic ? attach(&bed, 1, 0, BYTES) : 0, unit = dynamic ? 8 : 1;
        for (int i = 0; i < (int) sizeof(out); i++)
            out[i] = (char) (i % 100 + 1);
        ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 1, at, out, 8), 0);
        ck_assert_int_eq(wdl_rma_rput_again(win, 1, at, out, 8), 0);
        ck_assert_int_eq(operate(&bed, test_put(1, at, out, 8)), WDL_OK);
        mover.calls = 0;        /* where that looked what is attached */
        ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 1, at + 2 * unit, out + 1, 8), 1);
        ck_assert_int_eq(wdl_rma_rput_again(win, 1, at + 3 * unit, out + 2, 9), 1);
        ck_assert_int_eq(wdl_rma_rput_again(win, 1, at, out, WDL_BATCH_LONG + 1), 0);
        ck_assert_int_eq(wdl_rma_rput_again(win, 1, at + AT * unit, out, WDL_BATCH_LONG), 1);
        ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 1, at, out, WDL_BATCH_SHORT + 1), 0);
        ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 1, at - 8, out, 8), 0);
        ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 2, at, out, 8), 0);
        ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_GET, 1, at, in, 8), 0);
        win->params.hints.combine = WDL_COMBINE_NEVER;
        ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_PUT, 1, at, out, 8), 0);
        win->params.hints.combine = WDL_COMBINE_AUTO;
        ck_assert_int_eq(mover.calls, 0);
        held(&bed, 1);
        ck_assert_uint_eq(bed_stats(&bed).ops_copied, 4);
        ck_assert_int_eq(flush(&bed, 1, 0), WDL_OK);
        ck_assert_int_eq(mover.calls, 1);
        const char *memory = bed.w.rank[1].memory;
        ck_assert_mem_eq(memory, out, 8);
        ck_assert_mem_eq(memory + 16, out + 1, 8);
        ck_assert_mem_eq(memory + 24, out + 2, 9);
        ck_assert_mem_eq(memory + 8 * AT, out, WDL_BATCH_LONG);
        ck_assert_int_eq(memory[8] | memory[33] | memory[8 * AT - 1], 0);
        ck_assert_int_eq(wdl_rma_rput_again(win, 1, at, out, 8), 0);    /* it is empty */
        ck_assert_int_eq(operate(&bed, test_get(1, at, in, 8)), WDL_OK);
        ck_assert_int_eq(wdl_rma_again(win, WDL_RMA_GET, 1, at + 2 * unit, in + 8, 8), 1);
        ck_assert_int_eq(wdl_rma_rput_again(win, 1, at, out, 8), 0);
        ck_assert_int_eq(flush(&bed, 1, 0), WDL_OK);
        ck_assert_int_eq(mover.calls, 2);
        ck_assert_mem_eq(in, out, 8);
        ck_assert_mem_eq(in + 8, out + 1, 8);
        for (int i = 0; i < WDL_BATCH_OPS + 3; i++)     /* no more than it holds */
            ck_assert_int_eq(operate(&bed, test_put(1, at + 2 * i * unit, out + i, 8)), WDL_OK);
        ck_assert_int_eq(mover.calls, 3);
        ck_assert_int_eq(flush(&bed, 1, 0), WDL_OK);
        for (int i = 0; i < WDL_BATCH_OPS + 3; i++)
            ck_assert_mem_eq(memory + 16 * i, out + i, 8);
        bed_close(&bed);
    }
}
END_TEST

/* In an epoch of active targets a request is an error, also behind puts that are held. */
START_TEST(no_request_is_held_in_an_active_epoch)
{
    static char out[16] = "windlas windlas";
    for (int fence = 0; fence < 2; fence++) {
        struct bed bed;
        struct test_request request = {0};
        open(&bed, 0);
        struct wdl_win *win = bed.win[0];
        win->epoch.access_state = fence ? WDL_ACCESS_FENCE_GRANTED : WDL_ACCESS_LOCK_ALL_GRANTED;
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(operate(&bed, test_put(1, i, out, 8)), WDL_OK);
        struct wdl_rma_args put = test_put(1, 5, out, 8);
        put.request = &request;
        ck_assert_int_eq(wdl_rma_rput_again(win, 1, 4, out, 8), !fence);
        ck_assert_int_eq(wdl_copy_again(win, &put), !fence);
        ck_assert_int_eq(request.done, !fence);
        win->epoch.access_state = WDL_ACCESS_LOCK_ALL_GRANTED;
        ck_assert_int_eq(flush(&bed, 1, 0), WDL_OK);
        ck_assert_int_eq(bed_word(&bed, 1, 2) != 0, 1);
        ck_assert_int_eq(bed_word(&bed, 1, 4) != 0, !fence);
        bed_close(&bed);
    }
}
END_TEST

/* Operations on one place are done in the order in which they came, whatever way each takes. */
START_TEST(what_follows_stays_behind)
{
    struct bed bed;
    static char big[300];
    uint64_t back = 0, one = 1;
    struct test_request request = {0};
    open(&bed, 0);
    put(&bed, 1, 4, 1);
    put(&bed, 1, 4, 2);
    ck_assert_int_eq(operate(&bed, test_get(1, 4, &back, 8)), WDL_OK);
    put(&bed, 1, 4, 3);
    ck_assert_int_eq(mover.calls, 2); /* the puts; the get */
    ck_assert_uint_eq(back, 2);
    memset(big, 9, sizeof(big));
    ck_assert_int_eq(operate(&bed, test_put(1, 0, big, 300)), WDL_OK);
    ck_assert_int_eq(mover.calls, 4);
    ck_assert_uint_eq(bed_word(&bed, 1, 4), 0x0909090909090909);
    put(&bed, 1, 4, 5);
    struct wdl_rma_args get = test_get(1, 4, &back, 8);
    get.request = &request;
    ck_assert_int_eq(operate(&bed, get), WDL_OK);
    ck_assert(request.done && back == 5);
    put(&bed, 1, 4, 6);
    ck_assert_int_eq(operate(&bed, test_acc(1, 4, WDL_ROP_SUM, TEST_U64, 1, &one, NULL)), WDL_OK);
    ck_assert_uint_eq(bed_word(&bed, 1, 4), 7);
    put(&bed, 1, 4, 8);
    struct wdl_rma_args by_message = test_acc(1, 4, WDL_ROP_REPLACE, TEST_U64, 1, &one, NULL);
    ck_assert_int_eq(operate(&bed, crooked(by_message)), WDL_OK);
    ck_assert_uint_eq(bed_word(&bed, 1, 4), 8);
    TEST_DONE(&bed.w, flush(&bed, 1, 0));
    ck_assert_mem_eq(bed.w.rank[1].memory + 4 * UNIT + 4, &one, 8);
    bed_end(&bed);
}
END_TEST

START_TEST(what_is_not_short_is_not_held)
{
    static const int blocks_[2] = {2, 2}, displs[2] = {0, 4};
    static char data[300];
    struct bed bed;
    open(&bed, 0);
    struct test_host *host = &bed.w.rank[0].host;
    wdl_type type = test_type_indexed(host, TEST_U8, 2, blocks_, displs);
    ck_assert_int_eq(operate(&bed, test_put(1, 0, data, 257)), WDL_OK);
    ck_assert_int_eq(mover.calls, 1);
    for (int longer = 0; longer < 2; longer++) { /* a request is to be complete soon */
        static char more[WDL_BATCH_LONG + 1] = "more";
        struct test_request request = {0};
        struct wdl_rma_args put = test_put(1, 64 + longer, more, WDL_BATCH_LONG + (size_t) longer);
        put.request = &request;
        ck_assert_int_eq(operate(&bed, put), WDL_OK);
        ck_assert(request.done);
        ck_assert_int_eq(mover.calls, 1 + 2 * longer); /* what was held, too */
        ck_assert_str_eq(bed.w.rank[1].memory + (64 + longer) * UNIT, longer ? "more" : "");
        if (longer)
            ck_assert_str_eq(bed.w.rank[1].memory + 64 * UNIT, "more");
    }
    mover.calls = 1;
    struct wdl_rma_args typed = test_put(1, 0, data, 4);
    typed.remote = test_typed(host, NULL, 1, type);
    ck_assert_int_eq(operate(&bed, typed), WDL_OK);
    ck_assert_int_eq(mover.calls, 2);
    held(&bed, 0);
    ck_assert_int_eq(put(&bed, 1, BYTES / UNIT, 1), WDL_ERR_RANGE);
    ck_assert_int_eq(operate(&bed, test_put(1, 0, data, 256)), WDL_OK);
    held(&bed, 1);
    bed.win[0]->params.hints.combine = WDL_COMBINE_NEVER;
    put(&bed, 1, 0, 1);
    ck_assert_int_eq(mover.calls, 4); /* what was held, too */
    held(&bed, 0);
    test_type_end(host, type);
    bed_close(&bed);
}
END_TEST

/* Each target has its own; a fifth one takes the place of another. */
START_TEST(targets_are_held_apart)
{
    struct bed bed;
    struct wdl_win *more[2];
    int steps[2] = {0};
    open(&bed, 0);
    for (int i = 0; i < 2; i++) {
        struct wdl_win_params params = bed.win[0]->params;
        params.id = 10 + (uint32_t) i;
        ck_assert_int_eq(wdl_win_create(bed.w.rank[0].proc, &params, &more[i]), WDL_OK);
        TEST_DONE(&bed.w, wdl_win_lock_all(more[i], 0, &steps[i]));
    }
    for (int i = 0; i < 4; i++) {
        struct wdl_win *win = i < 2 ? bed.win[0] : more[0];
        struct wdl_rma_args args = test_put(1 + i % 2, i, &(uint64_t){(uint64_t) i + 1}, 8);
        ck_assert_int_eq(wdl_rma_op(win, &args), WDL_OK);
    }
    ck_assert_int_eq(mover.calls, 0);
    ck_assert_int_eq(flush(&bed, 2, 0), WDL_OK);
    ck_assert_int_eq(mover.calls, 1);
    ck_assert_uint_eq(bed_word(&bed, 2, 1), 2);
    ck_assert_uint_eq(bed_word(&bed, 1, 0) + bed_word(&bed, 1, 2) + bed_word(&bed, 2, 3), 0);
    for (int i = 0; i < 2; i++) {
        struct wdl_rma_args args = test_put(1 + i, 8 + i, &(uint64_t){8}, 8);
        ck_assert_int_eq(wdl_rma_op(more[1], &args), WDL_OK);
    }
    ck_assert_int_eq(mover.calls, 2);
    ck_assert_int_eq(bed.win[0]->batched + more[0]->batched + more[1]->batched, 4);
    for (int i = 0; i < 2; i++) {
        TEST_DONE(&bed.w, wdl_win_unlock_all(more[i], &steps[i]));
        TEST_DONE(&bed.w, wdl_win_free(more[i]));
    }
    ck_assert_int_eq(flush(&bed, -1, 0), WDL_OK);
    ck_assert_int_eq(mover.calls, 6);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(bed_word(&bed, 1 + i % 2, i), (uint64_t) i + 1);
    bed_close(&bed);
}
END_TEST

/* One that fails is the only one, and the synchronization says so, once. */
START_TEST(a_failure_is_one_operations_own)
{
    struct bed bed;
    open(&bed, 0);
    mover.broken = bed.w.rank[1].memory + 5 * UNIT;
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(put(&bed, 1, i, 7), WDL_OK);
    ck_assert_int_eq(flush(&bed, 1, 0), WDL_ERR_RANGE);
    for (int i = 0; i < 10; i++)
        ck_assert_uint_eq(bed_word(&bed, 1, i), i == 5 ? 0 : 7);
    ck_assert_int_eq(flush(&bed, 1, 0), WDL_OK);
    held(&bed, 0);
    bed_close(&bed);
}
END_TEST

/* Memory that was detached since is not touched; a list that changes is waited for where it has to
 * be looked at. */
START_TEST(what_went_meanwhile_is_refused)
{
    struct bed bed;
    open(&bed, 1);
    uint64_t *version = &bed.w.control[1].regions_version;
    int64_t kept = attach(&bed, 1, 0, 64), gone = attach(&bed, 1, 1024, 64);
    ck_assert_int_eq(put8(&bed, 1, kept), WDL_OK);
    ck_assert_int_eq(put8(&bed, 1, gone), WDL_OK);
    ck_assert_int_eq(put8(&bed, 1, kept + 8), WDL_OK);
    ck_assert_int_eq(wdl_win_detach(bed.win[1], bed.w.rank[1].memory + 1024), WDL_OK);
    ck_assert_int_eq(flush(&bed, 1, 0), WDL_ERR_RANGE);
    ck_assert_str_eq(bed.w.rank[1].memory, "windlas");
    ck_assert_str_eq(bed.w.rank[1].memory + 8, "windlas");
    ck_assert_int_eq(bed.w.rank[1].memory[1024], 0);
    ck_assert_int_eq(put8(&bed, 1, kept + 16), WDL_OK);
    ++*version;
    bed.w.control[1].regions_gone += WDL_WIN_GONE;
    ck_assert_int_eq(flush(&bed, 1, 0), WDL_AGAIN);
    ck_assert_int_eq(wdl_rma_progress(bed.win[0]->rma), 0);
    ++*version;
    ck_assert_int_eq(flush(&bed, 1, 0), WDL_OK);
    ck_assert_str_eq(bed.w.rank[1].memory + 16, "windlas");
    bed_close(&bed);
}
END_TEST

WDL_SUITE("rma/batch", puts_before_a_flush_are_one_call, the_last_put_of_a_place_counts,
          gets_before_a_flush_are_one_call, a_full_batch_is_run,
          every_synchronization_runs_what_is_held, those_behind_the_first_take_a_short_way,
          no_request_is_held_in_an_active_epoch, what_follows_stays_behind,
          what_is_not_short_is_not_held, targets_are_held_apart, a_failure_is_one_operations_own,
          what_went_meanwhile_is_refused)
