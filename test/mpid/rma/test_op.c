/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/op: the door of every
 * operation. */
#include <string.h>
#include "host/testworld.h"
#include "support/suite.h"

#define FENCE(w) TEST_ALL(w, wdl_win_fence(r->win, 0, &r->step))

START_TEST(wrong_arguments_are_refused_and_change_nothing)
{
    struct test_world w;
    for (int node = 1; node <= 2; node++) {
        struct test_world_params p = {.ranks = 3,.node = node == 2 ? 3 : 1 };
        int32_t value = 5;
        test_world_open(&w, &p);
        struct wdl_win *win = w.rank[0].win;
        FENCE(&w);
        test_world_messages(&w);
        const int ranks[] = { -1, INT32_MIN, 3, INT32_MAX };
        for (int i = 0; i < 4; i++) {
            struct wdl_rma_args put = test_put(ranks[i], 0, &value, 4);
            ck_assert_int_eq(wdl_rma_op(win, &put), WDL_ERR_RANK);
        }
        struct wdl_rma_args acc = test_acc(1, 0, WDL_ROP_MAXLOC, TEST_I32, 1, &value, NULL);
        ck_assert_int_eq(wdl_rma_op(win, &acc), WDL_ERR_OP);
        acc = test_acc(1, 0, WDL_ROP_BAND, TEST_F64, 1, &value, NULL);
        ck_assert_int_eq(wdl_rma_op(win, &acc), WDL_ERR_OP);
        acc = test_acc(1, 0, WDL_ROP_SUM, TEST_I32, 1, &value, NULL);
        acc.element.packed_bytes = 0;
        ck_assert_int_eq(wdl_rma_op(win, &acc), WDL_ERR_TYPE);
        ck_assert_int_eq(test_world_messages(&w), 0);
        ck_assert(!wdl_win_used(win));
        test_world_close(&w);
    }
}
END_TEST

/* Against arithmetic that cannot overflow. */
START_TEST(bounds_are_exact)
{
    struct test_world w;
    static char data[300];
    const int64_t disps[] = { INT64_MIN, -1, 0, 1, 7, 8, 31, 32, 33, 255, 256, 257, 1 << 30,
        INT64_MAX / 8, INT64_MAX / 8 + 1, INT64_MAX };
    const int64_t lows[] = { INT64_MIN, -9, -8, 0, 1, 8, 248, INT64_MAX - 400, INT64_MAX - 8 };
    const size_t sizes[] = { 1, 8, 255, 256, 257 };
    for (int node = 1; node <= 2; node++)
        for (int64_t unit = 1; unit <= 8; unit *= 8) {
            struct test_world_params p = {.ranks = 2,.node = node,.disp_unit = unit };
            test_world_open(&w, &p);
            FENCE(&w);
            for (int d = 0; d < 16; d++)
                for (int l = 0; l < 9; l++)
                    for (int s = 0; s < 5; s++) {
                        struct wdl_rma_args put = test_put(1, disps[d], data, sizes[s]);
                        if (__builtin_add_overflow(lows[l], (int64_t) sizes[s], &put.remote.hi))
                            continue;
                        put.remote.lo = lows[l];
                        __int128 from = (__int128) disps[d] * unit + lows[l];
                        __int128 to = from + (__int128) sizes[s];
                        int want = disps[d] < 0 ? WDL_ERR_DISP :
                            from >= 0 && to <= 256 && from - lows[l] <= INT64_MAX ? WDL_OK :
                            WDL_ERR_RANGE;
                        ck_assert_int_eq(TEST_WAIT(&w, wdl_rma_op(w.rank[0].win, &put)), want);
                    }
            FENCE(&w);
            test_world_close(&w);
        }
}
END_TEST

START_TEST(an_operation_of_nothing_is_done_at_once)
{
    struct test_world w;
    for (int node = 1; node <= 2; node++) {
        struct test_world_params p = {.ranks = 2,.node = node };
        struct test_request request = { 0 };
        test_world_open(&w, &p);
        FENCE(&w);
        test_world_messages(&w);
        struct wdl_rma_args put = test_put(1, 0, NULL, 0);
        put.request = &request;
        ck_assert_int_eq(wdl_rma_op(w.rank[0].win, &put), WDL_OK);
        ck_assert(request.done && request.status == WDL_OK);
        ck_assert(wdl_win_used(w.rank[0].win)); /* it was an operation all the same */
        ck_assert_int_eq(test_world_messages(&w), 0);
        FENCE(&w);
        test_world_close(&w);
    }
}
END_TEST

START_TEST(memory_within_reach_takes_no_message)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 4,.node = 2,.combine = WDL_COMBINE_NEVER };
    struct wdl_win_stats stats;
    char data[8] = "near";
    test_world_open(&w, &p);
    FENCE(&w);
    test_world_messages(&w);
    for (int t = 0; t < 2; t++)
        test_op(&w, 0, test_put(t, 0, data, 8));
    ck_assert_int_eq(test_world_messages(&w), 0);
    ck_assert_int_eq(w.rank[0].win->ntargets, 0);
    for (int t = 2; t < 4; t++)
        test_op(&w, 0, test_put(t, 0, data, 8));
    ck_assert_int_eq(test_world_messages(&w), 2);
    wdl_win_stats_get(w.rank[0].win, &stats);
    ck_assert_uint_eq(stats.ops_mapped, 2);
    ck_assert_uint_eq(stats.ops_message, 2);
    FENCE(&w);
    for (int t = 0; t < 4; t++)
        ck_assert_mem_eq(w.rank[t].memory, data, 8);
    test_world_close(&w);
}
END_TEST

START_TEST(requests_complete_once_with_their_status)
{
    struct test_world w;
    for (int unordered = 0; unordered < 2; unordered++)
        for (int node = 1; node <= 2; node++) {
            struct test_world_params p = {.ranks = 2,.node = node,.unordered = unordered };
            struct test_request request[3] = { {0} };
            char data[3][8] = { "first", "", "wrong" };
            test_world_open(&w, &p);
            struct test_rank *o = &w.rank[0];
            TEST_DONE(&w, wdl_win_lock(o->win, 1, 0, 0, &o->step));
            struct wdl_rma_args args[3] = { test_put(1, 0, data[0], 8), test_get(1, 0, data[1], 8),
                test_get(1, 200, data[2], 8) };
            if (node == 1)
                w.rank[1].win->params.bytes = 100;      /* the target knows of less */
            for (int i = 0; i < (node == 1 ? 3 : 2); i++) {
                args[i].request = &request[i];
                test_op(&w, 0, args[i]);
                ck_assert_int_eq(TEST_WAIT(&w, request[i].done ? WDL_OK : WDL_AGAIN), WDL_OK);
                ck_assert_int_eq(request[i].status, i < 2 ? WDL_OK : WDL_ERR_RANGE);
            }
            ck_assert_mem_eq(data[1], "first\0\0\0", 8);
            ck_assert_mem_eq(data[2], "wrong\0\0\0", 8);
            /* the request had the error: the unlock has none */
            TEST_DONE(&w, wdl_win_unlock(o->win, 1, &o->step));
            test_world_close(&w);
        }
}
END_TEST

/* No element: nothing has happened, and the same call is taken later. */
START_TEST(a_dry_pool_says_again)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 2,.rma = {
            .global_ops = 1, .global_targets = 1, .win_ops = 1, .win_targets = 1, .win_slots = 1
        }
    };
    char back[8][8], want[8][8];
    test_world_open(&w, &p);
    for (int i = 0; i < 64; i++)
        w.rank[1].memory[i] = (char) (i + 1);
    memcpy(want, w.rank[1].memory, 64);
    struct wdl_win *win = w.rank[0].win;
    FENCE(&w);
    int again = 0;
    for (int i = 0; i < 8; i++) {
        struct wdl_rma_args get = test_get(1, 8 * i, back[i], 8);
        uint64_t before = win->stats.ops_message;
        while (wdl_rma_op(win, &get) == WDL_AGAIN) {
            ck_assert_uint_eq(win->stats.ops_message, before);
            again++;
            test_world_turn(&w);
        }
        ck_assert_uint_eq(win->stats.ops_message, before + 1);
    }
    ck_assert_int_gt(again, 0);
    ck_assert_uint_eq(win->stats.pool_waits, (uint64_t) again);
    FENCE(&w);
    ck_assert_mem_eq(back, want, 64);
    test_world_close(&w);
}
END_TEST

/* A dynamic window's own memory is known here, another's there. */
START_TEST(a_dynamic_window_is_checked_by_its_owner)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 2,.dynamic = 1 };
    char data[8] = "dynamic";
    test_world_open(&w, &p);
    struct test_rank *o = &w.rank[0];
    for (int t = 0; t < 2; t++)
        ck_assert_int_eq(wdl_win_attach(w.rank[t].win, w.rank[t].memory, 64), WDL_OK);
    TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
    for (int t = 0; t < 2; t++) {
        int64_t base = (int64_t) (uintptr_t) w.rank[t].memory;
        test_op(&w, 0, test_put(t, base + 56, data, 8));
        TEST_DONE(&w, wdl_win_flush(o->win, t, 0, &o->step));
        ck_assert_mem_eq(w.rank[t].memory + 56, data, 8);
        struct wdl_rma_args put = test_put(t, base + 57, data, 8);
        int status = TEST_WAIT(&w, wdl_rma_op(o->win, &put));
        ck_assert_int_eq(status, t == 0 ? WDL_ERR_RANGE : WDL_OK);
        status = TEST_WAIT(&w, wdl_win_flush(o->win, t, 0, &o->step));
        ck_assert_int_eq(status, t == 0 ? WDL_OK : WDL_ERR_RANGE);
    }
    TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
    for (int t = 0; t < 2; t++)
        ck_assert_int_eq(wdl_win_detach(w.rank[t].win, w.rank[t].memory), WDL_OK);
    test_world_close(&w);
}
END_TEST

/* What is said to meet no update is read like any other memory: in order if it is mapped, without
 * the target's processor where the network can, whatever the type. */
START_TEST(reads_without_updates_are_gets)
{
    struct test_world w;
    for (int mapped = 0; mapped < 2; mapped++)
        for (int hint = 0; hint < 4; hint++) {
            struct test_world_params p = {.ranks = 2, .node = 1 + mapped, .direct = 1};
            struct wdl_win_hints hints = {.acc_same = hint & 1, .acc_reads = hint >> 1};
            struct wdl_win_stats before, stats;
            double back[9] = {0}, one[9];
            struct test_request request = {0};
            test_world_open(&w, &p);
            struct test_rank *o = &w.rank[0];
            int get = mapped ? hint > 0 : hint > 1;
            wdl_win_hints_set(o->win, &hints);
            for (int i = 0; i < 9; i++)
                one[i] = i;
            memcpy(w.rank[1].memory, one, sizeof one);
            TEST_DONE(&w, wdl_win_lock(o->win, 1, 0, 0, &o->step));
            test_op(&w, 0, test_get(1, 0, back, 8));    /* brings the key */
            TEST_DONE(&w, wdl_win_flush(o->win, 1, 0, &o->step));
            wdl_win_stats_get(o->win, &before);
            struct wdl_rma_args read = test_acc(1, 0, WDL_ROP_NO_OP, TEST_F64, 9, NULL, back);
            read.request = &request;
            test_op(&w, 0, read);
            TEST_DONE(&w, wdl_win_flush(o->win, 1, 0, &o->step));
            ck_assert_mem_eq(back, one, sizeof one);
            ck_assert(request.done && request.status == WDL_OK);
            wdl_win_stats_get(o->win, &stats);
            ck_assert_uint_eq(stats.ops_message - before.ops_message, !mapped && !get);
            ck_assert_uint_eq(stats.ops_direct - before.ops_direct, !mapped && get);
            w.control[1].bulk[0] = 1;   /* somebody's update of something else */
            read.request = NULL;
            if (mapped)
                ck_assert_int_eq(wdl_rma_op(o->win, &read), get ? WDL_OK : WDL_AGAIN);
            w.control[1].bulk[0] = 0;
            /* other accumulates are what they were */
            test_op(&w, 0, test_acc(1, 0, WDL_ROP_SUM, TEST_F64, 9, one, back));
            TEST_DONE(&w, wdl_win_unlock(o->win, 1, &o->step));
            ck_assert_mem_eq(back, one, sizeof one);
            for (int i = 0; i < 9; i++)
                ck_assert(((double *) (void *) w.rank[1].memory)[i] == 2 * one[i]);
            test_world_close(&w);
        }
}
END_TEST

/* n words in a row, or `apart` words from each other. */
static struct wdl_buf words(struct test_host *host, void *addr, int n, int apart, wdl_type type)
{
    return apart > 1 ? test_typed(host, addr, 1, type) : test_bytes(addr, 8 * (size_t) n);
}

enum { WORDS = 1200 };

/* `n` words here, `apart[0]`, and `m` of the target's, `apart[1]`. */
static void two_lengths(struct test_world *w, enum wdl_rma_kind kind, int n, int m,
                        const int apart[2])
{
    static int64_t here[WORDS], result[WORDS];
    struct test_rank *o = &w->rank[0];
    int64_t *there = (int64_t *) (void *) w->rank[1].memory;
    int most = kind == WDL_RMA_GET || n > m ? m : n;    /* what is moved, if anything */
    int want = kind == WDL_RMA_GET ? (n < m ? WDL_ERR_TRUNCATE : WDL_OK) :
        n > m ? WDL_ERR_TRUNCATE : n < m && kind == WDL_RMA_GET_ACC ? WDL_ERR_TYPE : WDL_OK;
    wdl_type type[2];
    for (int i = 0; i < WORDS; i++) {
        here[i] = 1000 + i;
        there[i] = i;
        result[i] = -1;
    }
    for (int i = 0; i < 2; i++)
        type[i] = test_type_vector(&o->host, TEST_I64, i ? m : n, 1, apart[i]);
    struct wdl_rma_args args = test_acc(1, 0, WDL_ROP_SUM, TEST_I64, m, here, result);
    args.kind = kind;
    args.origin = words(&o->host, here, n, apart[0], type[0]);
    args.result = words(&o->host, result, kind == WDL_RMA_GET_ACC ? m : n, 1, 0);
    args.remote = words(&o->host, NULL, m, apart[1], type[1]);
    TEST_DONE(w, wdl_win_lock(o->win, 1, 0, 0, &o->step));
    ck_assert_int_eq(TEST_WAIT(w, wdl_rma_op(o->win, &args)), want);
    TEST_DONE(w, wdl_win_unlock(o->win, 1, &o->step));
    for (int i = 0; i < 2; i++)
        test_type_end(&o->host, type[i]);
    int local = apart[0], remote = apart[1], moved = want == WDL_OK ? most : 0;
    for (int i = 0; i < WORDS; i++) {
        int at = i % remote == 0 && i / remote < moved ? 1000 + i / remote * local : -1;
        int from = i % local == 0 && i / local < moved ? i / local * remote : -1;
        ck_assert_int_eq(there[i], kind == WDL_RMA_GET || at < 0 ? i :
                         kind == WDL_RMA_PUT ? at : i + at);
        ck_assert_int_eq(here[i], kind != WDL_RMA_GET || from < 0 ? 1000 + i : from);
        ck_assert_int_eq(result[i], kind == WDL_RMA_GET_ACC && i < moved ? i * remote : -1);
    }
}

/* A side may have more room than comes, as a receive may; nothing is written, or read, behind one
 * that has less. */
START_TEST(sides_may_differ_in_length_as_in_messages)
{
    const int lengths[] = { 1, 3, 4, 8, 150, 300 };
    for (int node = 1; node <= 2; node++)
        for (int direct = 0; direct < 2; direct++) {
            struct test_world w;
            struct test_world_params p = {.ranks = 2,.node = node,.direct = direct,
                .bytes = 8 * WORDS
            };
            test_world_open(&w, &p);
            for (int i = 0; i < 6 * 6 * 4 * 4; i++) {
                const int apart[2] = { i % 2 ? 2 : 1, i / 2 % 2 ? 3 : 1 };
                two_lengths(&w, (enum wdl_rma_kind) (i / 4 % 4), lengths[i / 16 % 6],
                            lengths[i / 96], apart);
            }
            test_world_close(&w);
        }
}
END_TEST

START_TEST(no_length_is_more_than_there_can_be)
{
    static char data[8];
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        struct test_world w;
        struct test_world_params p = {.ranks = 2,.dynamic = dynamic };
        test_world_open(&w, &p);
        struct test_rank *o = &w.rank[0];
        TEST_DONE(&w, wdl_win_lock(o->win, 1, 0, 0, &o->step));
        struct wdl_rma_args put = test_put(1, 0, data, SIZE_MAX);
        struct wdl_rma_args get = test_get(1, 0, data, SIZE_MAX);
        put.remote.hi = get.remote.hi = INT64_MAX;
        ck_assert_int_eq(wdl_rma_op(o->win, &put), WDL_ERR_RANGE);
        ck_assert_int_eq(wdl_rma_op(o->win, &get), WDL_ERR_RANGE);
        put.remote = test_bytes(NULL, 8);       /* the origin alone */
        ck_assert_int_eq(wdl_rma_op(o->win, &put), WDL_ERR_TRUNCATE);
        TEST_DONE(&w, wdl_win_unlock(o->win, 1, &o->step));
        test_world_close(&w);
    }
}
END_TEST

WDL_SUITE("rma/op", wrong_arguments_are_refused_and_change_nothing, bounds_are_exact,
          an_operation_of_nothing_is_done_at_once, memory_within_reach_takes_no_message,
          requests_complete_once_with_their_status, a_dry_pool_says_again,
          a_dynamic_window_is_checked_by_its_owner, reads_without_updates_are_gets,
          sides_may_differ_in_length_as_in_messages, no_length_is_more_than_there_can_be)
