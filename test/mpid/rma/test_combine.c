/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/combine: what waits for
 * company, and for how long. */
#include "host/testworld.h"
#include "support/suite.h"

static struct wdl_target *locked(struct test_world *w, enum wdl_combine combine)
{
    struct test_world_params p = {.ranks = 2,.combine = combine,.bytes = 4096 };
    static char data[8];
    test_world_open(w, &p);
    struct test_rank *o = &w->rank[0];
    o->win->rma->params.short_bytes = 256;
    TEST_DONE(w, wdl_win_lock(o->win, 1, 0, 0, &o->step));
    test_op(w, 0, test_put(1, 0, data, 8));
    TEST_DONE(w, wdl_win_flush(o->win, 1, 0, &o->step));
    test_world_messages(w);
    return wdl_target_find(o->win, 1);
}

static void done(struct test_world *w)
{
    TEST_DONE(w, wdl_win_unlock(w->rank[0].win, 1, &w->rank[0].step));
    test_world_close(w);
}

START_TEST(always_and_never)
{
    for (int never = 0; never < 2; never++) {
        struct test_world w;
        char data[8] = "";
        struct wdl_target *t = locked(&w, never ? WDL_COMBINE_NEVER : WDL_COMBINE_ALWAYS);
        for (int i = 0; i < 5; i++) {
            test_op(&w, 0, test_put(1, 8 * i, data, 8));
            ck_assert_int_eq(wdl_combine_count(t), never ? 0 : i + 1);
        }
        w.rank[0].host.now_ns += 1000000;
        ck_assert_int_eq(test_world_messages(&w), never ? 5 : 0);
        done(&w);
    }
}
END_TEST

/* The first one is sent; when the second follows at once, it and those behind it wait, but not for
 * long; after a pause they are sent one by one again. */
START_TEST(automatic_mode_follows_the_pace)
{
    struct test_world w;
    char data[8] = "";
    struct wdl_target *t = locked(&w, WDL_COMBINE_AUTO);
    uint64_t *now = &w.rank[0].host.now_ns;
    *now += 1000000;
    for (int i = 0; i < 3; i++, *now += 100000) {
        test_op(&w, 0, test_put(1, 0, data, 8));
        if (i > 0)
            ck_assert_int_eq(test_world_messages(&w), 1);
    }
    test_world_messages(&w);
    test_op(&w, 0, test_put(1, 0, data, 8));
    for (int i = 0; i < 4; i++, *now += 100)
        test_op(&w, 0, test_put(1, 0, data, 8));
    ck_assert_int_eq(wdl_combine_count(t), 4);
    ck_assert_int_eq(test_world_messages(&w), 1);
    *now += 100000;
    ck_assert_int_eq(test_world_messages(&w), 1);
    ck_assert_int_eq(wdl_combine_count(t), 0);
    done(&w);
}
END_TEST

/* An operation that a flush follows at once waits for it the next time. */
START_TEST(an_operation_waits_for_the_flush_that_follows_it)
{
    struct test_world w;
    char data[8] = "";
    locked(&w, WDL_COMBINE_AUTO);
    struct test_rank *o = &w.rank[0];
    uint64_t *now = &o->host.now_ns;
    for (int i = 0; i < 6; i++) {
        int late = i == 3;
        *now += 1000000;
        test_op(&w, 0, test_put(1, 0, data, 8));
        *now += late ? 1000000 : 100;
        TEST_DONE(&w, wdl_win_flush(o->win, 1, 0, &o->step));
        ck_assert_int_eq(test_world_messages(&w), i == 4 ? 3 : 2);
    }
    done(&w);
}
END_TEST

START_TEST(what_does_not_wait)
{
    struct test_world w;
    struct test_request request = { 0 };
    static char data[600];
    struct wdl_target *t = locked(&w, WDL_COMBINE_ALWAYS);
    struct wdl_rma_args put = test_put(1, 0, data, 8);
    put.request = &request;
    test_op(&w, 0, put);
    ck_assert_int_eq(wdl_combine_count(t), 0);
    test_op(&w, 0, test_put(1, 0, data, 8));
    ck_assert_int_eq(wdl_combine_count(t), 1);
    test_op(&w, 0, test_put(1, 0, data, 600));
    ck_assert(wdl_list_empty(&t->waiting));
    ck_assert_int_eq(test_world_messages(&w), 3);
    /* what does not fit in a message goes, the rest waits */
    for (int i = 0; i < 10; i++)
        test_op(&w, 0, test_put(1, 0, data, 8));
    ck_assert_int_eq(test_world_messages(&w), 1);
    ck_assert(request.done);
    done(&w);
}
END_TEST

/* An active target epoch holds back what is short, and the end of what is long; not what somebody
 * waits for. */
START_TEST(an_active_epoch_holds_the_last_packet)
{
    static char data[2000];
    for (int bytes = 8; bytes <= 2000; bytes += 1992)
        for (int requested = 0; requested < 2; requested++) {
            struct test_world w;
            struct test_request request = { 0 };
            test_world_open(&w, &(struct test_world_params){.ranks = 2,.bytes = 4096});
            TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
            test_world_messages(&w);
            struct wdl_rma_args put = test_put(1, 0, data, (size_t) bytes);
            put.request = requested ? &request : NULL;
            test_op(&w, 0, put);
            w.rank[0].host.now_ns += 1000000;
            int packets = bytes == 8 ? 1 : 3;
            ck_assert_int_eq(test_world_messages(&w), packets - !requested);
            ck_assert_int_eq(request.done, requested);
            wdl_rma_push(w.rank[0].rma);        /* elements are short */
            ck_assert_int_eq(test_world_messages(&w), !requested);
            TEST_ALL(&w, wdl_win_fence(r->win, WDL_MODE_NOSUCCEED, &r->step));
            test_world_close(&w);
        }
}
END_TEST

/* One element: the second operation sends the first on its way, though nobody closes the epoch. */
START_TEST(nothing_is_held_back_when_elements_run_short)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 3,.combine = WDL_COMBINE_ALWAYS,
        .rma = {.win_ops = 1,.global_ops = 1}
    };
    char data[8] = "element";
    test_world_open(&w, &p);
    struct test_rank *o = &w.rank[0];
    TEST_DONE(&w, wdl_win_lock(o->win, 1, 0, 0, &o->step));
    TEST_DONE(&w, wdl_win_lock(o->win, 2, 0, 0, &o->step));
    for (int i = 0; i < 12; i++) {
        struct wdl_rma_args put = test_put(1 + i % 2, 8 * i, data, 8);
        TEST_DONE(&w, wdl_rma_op(o->win, &put));
    }
    TEST_DONE(&w, wdl_win_unlock(o->win, 2, &o->step));
    TEST_DONE(&w, wdl_win_unlock(o->win, 1, &o->step));
    for (int i = 0; i < 12; i++)
        ck_assert_mem_eq(w.rank[1 + i % 2].memory + 8 * i, data, 8);
    test_world_close(&w);
}
END_TEST

/* Twice an accumulate on every second element, and on the one behind the first. How much of it goes
 * with others, once the type is known? */
static void accumulate_apart(struct test_world *w, int n, int64_t *old)
{
    static int64_t data[2100];
    struct test_rank *o = &w->rank[0];
    wdl_type type = test_type_vector(&o->host, TEST_I64, n, 1, 2);
    struct wdl_rma_args acc = test_acc(1, 0, WDL_ROP_SUM, TEST_I64, n, data, old);
    size_t room = o->rma->chunk_bytes - 2 * sizeof(struct wdl_pkt) - 8;
    int fits = 8 * (size_t) n <= room;
    for (int i = 0; i < n; i++)
        data[i] = i + 1;
    acc.remote = test_typed(&o->host, NULL, 1, type);
    TEST_DONE(w, wdl_win_lock(o->win, 1, 0, 0, &o->step));
    for (int i = 0; i < 2; i++) {
        test_op(w, 0, acc);
        test_op(w, 0, test_acc(1, 8, WDL_ROP_SUM, TEST_I64, 1, data, NULL));
        if (i == 1)
            ck_assert_int_eq(wdl_combine_count(wdl_target_find(o->win, 1)) == 2, fits);
        TEST_DONE(w, wdl_win_flush(o->win, 1, 0, &o->step));
    }
    TEST_DONE(w, wdl_win_unlock(o->win, 1, &o->step));
    const int64_t *there = (const int64_t *) (const void *) w->rank[1].memory;
    for (int i = 0; i < 2 * n; i++)
        ck_assert_int_eq(there[i], i % 2 == 0 ? i + 2 : i == 1 ? 2 : 0);
    for (int i = 0; old && i < n; i++)
        ck_assert_int_eq(old[i], i + 1);
    test_type_end(&o->host, type);
}

/* However long the user calls short: what a packet does not carry, or no target takes in one, goes
 * in several, though another follows while a part of it is on its way. */
START_TEST(what_takes_several_packets_is_not_short)
{
    static const int counts[] = { 50, 127, 511, 512, 513, 714, 2100 };
    static int64_t old[2100];
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 7; k++) {
            struct test_world w;
            struct test_world_params p = {.ranks = 2,.unordered = i & 1,.bytes = 16 * 2100,
                .pending_permille = i & 2 ? 900 : 0,.am_bytes_max = i & 4 ? 16384 : 1024,
                .combine = WDL_COMBINE_ALWAYS,.rma = {.short_bytes = 1 << 20}
            };
            test_world_open(&w, &p);
            accumulate_apart(&w, counts[k], i & 8 ? old : NULL);
            test_world_close(&w);
        }
}
END_TEST

/* ... and so does what the window wants in pieces, or comes to want while it waits. */
START_TEST(what_is_wanted_in_pieces_is_not_short)
{
    static const char data[200] = "in pieces", after[8] = "behind";
    for (int i = 0; i < 8; i++) {
        struct test_world w;
        int late = i & 4;
        struct test_world_params p = {.ranks = 2,.unordered = i & 1,
            .pending_permille = i & 2 ? 900 : 0,.combine = WDL_COMBINE_ALWAYS
        };
        struct wdl_win_hints hints = {.combine = WDL_COMBINE_ALWAYS,.piece_bytes = 64 };
        struct test_request request = { 0 };
        struct wdl_rma_args put = test_put(1, 0, data, 200);
        put.request = late ? NULL : &request;
        test_world_open(&w, &p);
        struct test_rank *o = &w.rank[0];
        TEST_DONE(&w, wdl_win_lock(o->win, 1, 0, WDL_MODE_NOCHECK, &o->step));
        if (!late)
            wdl_win_hints_set(o->win, &hints);
        test_op(&w, 0, put);
        if (late)
            wdl_win_hints_set(o->win, &hints);
        wdl_rma_push(o->rma);
        wdl_win_progress(o->win);
        test_op(&w, 0, test_put(1, 208, after, 8));
        TEST_DONE(&w, wdl_win_unlock(o->win, 1, &o->step));
        ck_assert_mem_eq(w.rank[1].memory, data, 200);
        ck_assert_mem_eq(w.rank[1].memory + 208, after, 8);
        test_world_close(&w);
    }
}
END_TEST

WDL_SUITE("rma/combine", always_and_never, automatic_mode_follows_the_pace,
          an_operation_waits_for_the_flush_that_follows_it, what_does_not_wait,
          an_active_epoch_holds_the_last_packet, nothing_is_held_back_when_elements_run_short,
          what_takes_several_packets_is_not_short, what_is_wanted_in_pieces_is_not_short)
