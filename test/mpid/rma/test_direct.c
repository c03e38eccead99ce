/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/direct: what goes by the network alone, when it is complete, and that nothing of it
 * asks the target's processor.
 */
#include <string.h>
#include "host/testworld.h"
#include "support/suite.h"

enum { BYTES = 8192 };

static void open_world(struct test_world *w, struct test_world_params p)
{
    p.ranks = p.ranks ? p.ranks : 2;
    p.direct = 1;
    p.bytes = BYTES;
    test_world_open(w, &p);
}

static struct wdl_win_stats stats(struct test_world *w, int rank)
{
    struct wdl_win_stats s;
    wdl_win_stats_get(w->rank[rank].win, &s);
    return s;
}

static void lock_all(struct test_world *w, int o)
{
    TEST_DONE(w, wdl_win_lock_all(w->rank[o].win, 0, &w->rank[o].step));
}

static void unlock_all(struct test_world *w, int o)
{
    TEST_DONE(w, wdl_win_unlock_all(w->rank[o].win, &w->rank[o].step));
}

static void flush(struct test_world *w, int o, int t, int local)
{
    TEST_DONE(w, wdl_win_flush(w->rank[o].win, t, local, &w->rank[o].step));
}

/* In a passive epoch: have the key. */
static void contact(struct test_world *w, int o, int t)
{
    char byte = 0;
    while (w->rank[o].win->keys[WDL_KEYS_DATA].at[t].phase != WDL_KEY_OPEN) {
        test_op(w, o, test_put(t, BYTES - 1, &byte, 1));
        flush(w, o, t, 0);
    }
    test_world_messages(w);
}

START_TEST(puts_and_gets_cost_no_message)
{
    for (int i = 0; i < 4; i++) {
        struct test_world w;
        char data[2000], back[2000];
        open_world(&w, (struct test_world_params){.unordered = i % 2,
                                                  .delay_ns_max = i / 2 ? 3000 : 0});
        memset(data, 'd', sizeof(data));
        lock_all(&w, 0);
        contact(&w, 0, 1);
        test_op(&w, 0, test_put(1, 8, data, 8));
        flush(&w, 0, 1, 0);
        ck_assert_int_eq(test_world_messages(&w), 0);
        ck_assert_mem_eq(w.rank[1].memory + 8, data, 8);
        test_op(&w, 0, test_put(1, 100, data, sizeof(data)));
        flush(&w, 0, -1, 0);
        ck_assert_mem_eq(w.rank[1].memory + 100, data, sizeof(data));
        test_op(&w, 0, test_get(1, 100, back, sizeof(back)));
        flush(&w, 0, 1, 1);
        ck_assert_mem_eq(back, data, sizeof(back));
        ck_assert_int_eq(test_world_messages(&w), 0);
        ck_assert_uint_eq(stats(&w, 0).ops_direct, 3);
        ck_assert_uint_eq(wdl_sim_counts(w.sim)->puts, 2);
        ck_assert_uint_eq(wdl_sim_counts(w.sim)->gets, 1);
        unlock_all(&w, 0);
        test_world_close(&w);
    }
}
END_TEST

/* The lock goes back when the puts have arrived, not before. */
START_TEST(an_unlock_waits_for_the_network)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        int64_t one = 1;
        char data[64];
        open_world(&w, (struct test_world_params){.unordered = unordered,.delay_ns_max = 20000,
                                                  .combine = WDL_COMBINE_ALWAYS});
        for (int i = 0; i < 20; i++) {
            struct test_rank *o = &w.rank[0], *other = &w.rank[1];
            char seen[64];
            memset(data, 'a' + i, sizeof(data));
            TEST_DONE(&w, wdl_win_lock(o->win, 1, 1, 0, &o->step));
            contact(&w, 0, 1);
            test_op(&w, 0, test_put(1, 64, data, 1));   /* with the lock */
            flush(&w, 0, 1, 0);
            test_op(&w, 0, test_put(1, 0, data, sizeof(data)));
            if (i % 2)          /* a message that could have the release with it */
                test_op(&w, 0, test_acc(1, 128, WDL_ROP_SUM, TEST_I64, 1, &one, NULL));
            for (int left = 1, held = 0; !held;) {
                left = left && wdl_win_unlock(o->win, 1, &o->step) == WDL_AGAIN;
                held = wdl_win_lock(other->win, 1, 1, 0, &other->step) == WDL_OK;
                memcpy(seen, other->memory, sizeof(seen));
                test_world_turn(&w);
                if (held && left)
                    TEST_DONE(&w, wdl_win_unlock(o->win, 1, &o->step));
            }
            ck_assert_mem_eq(seen, data, sizeof(data));
            TEST_DONE(&w, wdl_win_unlock(other->win, 1, &other->step));
        }
        ck_assert_uint_gt(stats(&w, 0).ops_direct, 19);
        test_world_close(&w);
    }
}
END_TEST

START_TEST(fences_and_completes_wait_for_the_network)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        open_world(&w, (struct test_world_params){.ranks = 3,.unordered = unordered,
                                                  .delay_ns_max = 20000});
        TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
        for (int i = 0; i < 10; i++) {
            char data[64];
            memset(data, 'a' + i, sizeof(data));
            for (int o = 0; o < 3; o++)
                test_op(&w, o, test_put((o + 1) % 3, 0, data, sizeof(data)));
            TEST_ALL(&w, wdl_win_fence(r->win, i == 9 ? WDL_MODE_NOSUCCEED : 0, &r->step));
            for (int o = 0; o < 3; o++)
                ck_assert_mem_eq(w.rank[o].memory, data, sizeof(data));
        }
        for (int i = 0; i < 10; i++) {
            struct test_rank *o = &w.rank[0], *t = &w.rank[1];
            int to = 1, from = 0;
            char data[64];
            memset(data, 'A' + i, sizeof(data));
            TEST_DONE(&w, wdl_win_post(t->win, &from, 1, 0, &t->step));
            TEST_DONE(&w, wdl_win_start(o->win, &to, 1, 0, &o->step));
            test_op(&w, 0, test_put(1, 0, data, sizeof(data)));
            TEST_DONE(&w, wdl_win_complete(o->win, &o->step));
            TEST_DONE(&w, wdl_win_wait(t->win, &t->step));
            ck_assert_mem_eq(t->memory, data, sizeof(data));
        }
        ck_assert_uint_gt(stats(&w, 0).ops_direct, 15);
        test_world_close(&w);
    }
}
END_TEST

/* Accumulates are the target's work; what is flushed in between keeps its order. */
START_TEST(order_survives_a_change_of_path)
{
    for (int i = 0; i < 8; i++) {
        struct test_world w;
        int64_t one = 1, back = 0;
        open_world(&w, (struct test_world_params){.unordered = i % 2,.delay_ns_max = 5000,
                                                  .refuse_permille = 300,.seed = (uint64_t) i});
        lock_all(&w, 0);
        contact(&w, 0, 1);
        for (int64_t k = 1; k < 30; k++) {
            int64_t ten = 10 * k;
            test_op(&w, 0, test_put(1, 0, &ten, 8));
            flush(&w, 0, 1, 0);
            test_op(&w, 0, test_acc(1, 0, WDL_ROP_SUM, TEST_I64, 1, &one, NULL));
            flush(&w, 0, 1, 0);
            test_op(&w, 0, test_get(1, 0, &back, 8));
            flush(&w, 0, 1, 0);
            ck_assert_int_eq(back, 10 * k + 1);
        }
        ck_assert_uint_eq(stats(&w, 0).ops_direct, 2 * 29);
        unlock_all(&w, 0);
        test_world_close(&w);
    }
}
END_TEST

/* Few blocks: a put each; many: a message. */
START_TEST(few_blocks_go_one_by_one)
{
    static const struct { int blocks, puts; } cases[] = {{3, 3}, {16, 16}, {17, 0}, {40, 0}};
    for (unsigned i = 0; i < 4; i++) {
        struct test_world w;
        int32_t data[40];
        int n = cases[i].blocks;
        open_world(&w, (struct test_world_params){.ops_max = 2,.delay_ns_max = 2000});
        wdl_type strided = test_type_vector(&w.rank[0].host, TEST_I32, n, 1, 3);
        for (int k = 0; k < n; k++)
            data[k] = k + 1;
        lock_all(&w, 0);
        contact(&w, 0, 1);
        struct wdl_rma_args put = test_put(1, 0, data, 4 * (size_t) n);
        put.remote = test_typed(&w.rank[0].host, NULL, 1, strided);
        test_op(&w, 0, put);
        flush(&w, 0, 1, 0);
        for (int k = 0; k < 3 * n - 2; k++)
            ck_assert_int_eq(((int32_t *) (void *) w.rank[1].memory)[k], k % 3 ? 0 : k / 3 + 1);
        ck_assert_uint_eq(wdl_sim_counts(w.sim)->puts, (uint64_t) cases[i].puts);
        unlock_all(&w, 0);
        test_type_end(&w.rank[0].host, strided);
        test_world_close(&w);
    }
}
END_TEST

START_TEST(requests_complete_by_themselves)
{
    struct test_world w;
    struct test_request put = {0}, get = {0};
    char data[300], back[300];
    open_world(&w, (struct test_world_params){.delay_ns_max = 5000,.refuse_permille = 300});
    memset(data, 'r', sizeof(data));
    lock_all(&w, 0);
    contact(&w, 0, 1);
    for (int i = 0; i < 5; i++) {
        struct wdl_rma_args args = test_put(1, 0, data, sizeof(data));
        put = get = (struct test_request){0};
        args.request = &put;
        test_op(&w, 0, args);
        TEST_DONE(&w, put.done ? WDL_OK : WDL_AGAIN);
        memset(data, 's' + i, sizeof(data));    /* the buffer is ours again */
        flush(&w, 0, 1, 0);
        args = test_get(1, 0, back, sizeof(back));
        args.request = &get;
        test_op(&w, 0, args);
        TEST_DONE(&w, get.done ? WDL_OK : WDL_AGAIN);
        ck_assert_int_eq(back[299], 'r' + i);
        ck_assert_int_eq(put.status, WDL_OK);
        ck_assert_int_eq(get.status, WDL_OK);
    }
    ck_assert_uint_eq(stats(&w, 0).ops_direct, 10);
    unlock_all(&w, 0);
    test_world_close(&w);
}
END_TEST

/* One operation element and one target element: the network needs none of the first, and what it
 * does for an evicted target is flushed. */
START_TEST(few_elements_are_enough)
{
    struct test_world w;
    char data[5][700];
    open_world(&w, (struct test_world_params){.ranks = 5,.delay_ns_max = 5000,
               .rma = {.win_ops = 1,.global_ops = 1,.win_targets = 2,.global_targets = 1}});
    TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
    for (int i = 0; i < 6; i++) {
        memset(data, 'a' + i, sizeof(data));
        for (int t = 1; t < 5; t++)
            for (int k = 0; k < 5; k++)
                test_op(&w, 0, test_put(t, 700 * k, data[k], 700));
        TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
        for (int t = 1; t < 5; t++)
            ck_assert_mem_eq(w.rank[t].memory, data, sizeof(data));
    }
    ck_assert_uint_gt(stats(&w, 0).ops_direct, 0);
    TEST_ALL(&w, wdl_win_fence(r->win, WDL_MODE_NOSUCCEED, &r->step));
    test_world_close(&w);
}
END_TEST

/* What is longer than a packet waits for its lock; what is not travels behind the request. */
START_TEST(before_the_lock_short_ones_go_by_message)
{
    struct test_world w;
    static char data[3000];
    open_world(&w, (struct test_world_params){0});
    struct test_rank *o = &w.rank[0];
    lock_all(&w, 0);
    contact(&w, 0, 1);
    unlock_all(&w, 0);
    test_world_messages(&w);
    TEST_DONE(&w, wdl_win_lock(o->win, 1, 1, 0, &o->step));
    test_op(&w, 0, test_put(1, 0, data, 8));
    TEST_DONE(&w, wdl_win_unlock(o->win, 1, &o->step));
    ck_assert_int_eq(test_world_messages(&w), 2);
    TEST_DONE(&w, wdl_win_lock(o->win, 1, 1, 0, &o->step));
    test_op(&w, 0, test_put(1, 0, data, sizeof(data)));
    TEST_DONE(&w, wdl_win_unlock(o->win, 1, &o->step));
    ck_assert_int_eq(test_world_messages(&w), 4);       /* LOCK, GRANT, UNLOCK, UNLOCK_ACK */
    ck_assert_uint_eq(wdl_sim_counts(w.sim)->puts, 1);
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/direct", puts_and_gets_cost_no_message, an_unlock_waits_for_the_network,
          fences_and_completes_wait_for_the_network, order_survives_a_change_of_path,
          few_blocks_go_one_by_one, requests_complete_by_themselves, few_elements_are_enough,
          before_the_lock_short_ones_go_by_message)
