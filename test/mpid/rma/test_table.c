/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/table: target and
 * operation elements, their pools, who leaves when they are dry. */
#include <string.h>
#include "host/testworld.h"
#include "support/suite.h"

static void open_world(struct test_world *w, int ranks, struct wdl_rma_params rma)
{
    struct test_world_params p = {.ranks = ranks,.rma = rma };
    test_world_open(w, &p);
}

START_TEST(targets_are_found_by_rank_whatever_the_slots)
{
    struct test_world w;
    for (int slots = 1; slots <= 9; slots++) {
        open_world(&w, 8, (struct wdl_rma_params) {.win_slots = slots });
        struct wdl_win *win = w.rank[0].win;
        struct wdl_target *t[8];
        for (int rank = 7; rank >= 0; rank--) {
            ck_assert_ptr_null(wdl_target_find(win, rank));
            t[rank] = wdl_target_get(win, rank);
            ck_assert_ptr_nonnull(t[rank]);
            ck_assert_int_eq(t[rank]->mapped, rank == 0);
            wdl_win_check(win);
        }
        for (int rank = 0; rank < 8; rank++) {
            ck_assert_ptr_eq(wdl_target_find(win, rank), t[rank]);
            ck_assert_ptr_eq(wdl_target_get(win, rank), t[rank]);       /* no second one */
        }
        ck_assert_int_eq(win->ntargets, 8);
        for (int i = 0; i < 8; i++) {
            int rank = i * 5 % 8;
            wdl_target_release(t[rank]);
            ck_assert_ptr_null(wdl_target_find(win, rank));
            wdl_win_check(win);
        }
        ck_assert_int_eq(win->stats.targets_high, 8);
        test_world_close(&w);
    }
}
END_TEST

START_TEST(a_window_takes_its_own_elements_first_and_gives_each_back_where_it_came_from)
{
    struct test_world w;
    open_world(&w, 8, (struct wdl_rma_params) {.win_targets = 2,.global_targets = 3,.win_ops = 2,
               .global_ops = 3});
    struct wdl_win *win = w.rank[0].win;
    struct wdl_rma *rma = w.rank[0].rma;
    struct wdl_target *t[5];
    struct wdl_op *op[5];
    for (int i = 0; i < 5; i++) {
        t[i] = wdl_target_get(win, i + 1);
        ck_assert_ptr_eq(t[i]->node.home, i < 2 ? &win->local_targets : &rma->targets);
    }
    ck_assert_ptr_null(wdl_target_get(win, 6));
    ck_assert_uint_eq(win->stats.pool_waits, 1);
    for (int i = 0; i < 5; i++) {
        op[i] = wdl_op_get(t[0]);
        ck_assert_ptr_eq(op[i]->node.home, i < 2 ? &win->ops : &rma->ops);
        ck_assert_ptr_eq(op[i]->target, t[0]);
    }
    ck_assert_ptr_null(wdl_op_get(t[0]));
    ck_assert_uint_eq(win->stats.pool_waits, 2);
    for (int i = 0; i < 5; i++) {
        op[i]->args = test_put(1, 0, NULL, 0);
        wdl_op_finish(op[i], WDL_OK);
    }
    ck_assert_int_eq(rma->ops.in_use, 0);
    ck_assert_int_eq(win->ops.in_use, 0);
    for (int i = 0; i < 5; i++) {
        t[i]->evict = 0;
        wdl_target_release(t[i]);
    }
    ck_assert_int_eq(rma->targets.in_use, 0);
    ck_assert_int_eq(win->local_targets.in_use, 0);
    test_world_close(&w);
}
END_TEST

/* The name of an operation in packets: it finds that operation, while it lasts, in its window. */
START_TEST(a_reference_finds_its_operation_and_no_other)
{
    struct test_world w;
    struct wdl_win *second;
    open_world(&w, 2, (struct wdl_rma_params) {.win_ops = 2,.global_ops = 2 });
    struct wdl_win *win = w.rank[0].win;
    struct wdl_win_params params = test_win_params(&w.rank[0]);
    params.id = 8;
    ck_assert_int_eq(wdl_win_create(w.rank[0].proc, &params, &second), WDL_OK);
    struct wdl_target *t = wdl_target_get(win, 1);
    struct wdl_op *op[4];
    uint64_t ref[4];
    for (int i = 0; i < 4; i++) {
        op[i] = wdl_op_get(t);
        ref[i] = wdl_op_ref(op[i]);
        for (int k = 0; k < i; k++)
            ck_assert_uint_ne(ref[i], ref[k]);
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_eq(wdl_op_find(win, ref[i]), op[i]);
        ck_assert_ptr_null(wdl_op_find(second, ref[i]));
        ck_assert_ptr_null(wdl_op_find(win, ref[i] + ((uint64_t) 1 << 32)));
        ck_assert_ptr_null(wdl_op_find(win, ref[i] + 64));      /* beyond the pool */
        ck_assert_ptr_null(wdl_op_find(win, ref[i] | 0x7fffffff));
        op[i]->args = test_put(1, 0, NULL, 0);
        wdl_op_finish(op[i], WDL_OK);
        ck_assert_ptr_null(wdl_op_find(win, ref[i]));   /* over */
    }
    op[0] = wdl_op_get(t);
    ck_assert_ptr_null(wdl_op_find(win, ref[0]));       /* the element's next life */
    op[0]->args = test_put(1, 0, NULL, 0);
    wdl_op_finish(op[0], WDL_OK);
    wdl_target_release(t);
    ck_assert_int_eq(wdl_win_free(second), WDL_OK);
    test_world_close(&w);
}
END_TEST

/* Nothing of an element's last life counts in its next one, and what is filled anyway is not erased
 * before. */
START_TEST(an_operation_element_begins_anew)
{
    struct test_world w;
    open_world(&w, 2, (struct wdl_rma_params) {.win_ops = 1,.global_ops = 1 });
    struct wdl_win *win = w.rank[0].win;
    struct wdl_target *t = wdl_target_get(win, 1);
    struct wdl_op *op = wdl_op_get(t);
    size_t head = sizeof(op->node);
    memset((char *) op + head, 0x5a, sizeof(*op) - head);
    wdl_pool_put(op);
    win->stamp = 77;
    ck_assert_ptr_eq(wdl_op_get(t), op);
    ck_assert(op->win == win && op->target == t && !op->told);
    ck_assert(op->total == 0 && op->next == 0 && op->done == 0);
    ck_assert(op->stamp == 77 && op->vouches == 77);
    ck_assert(op->moved == 0 && op->sending == 0 && op->status == WDL_OK);
    ck_assert(wdl_list_empty(&op->node.link));
    ck_assert_mem_eq(&op->args.disp, "\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a", 8);
    wdl_pool_put(op);
    wdl_target_release(t);
    test_world_close(&w);
}
END_TEST

START_TEST(a_failed_operation_tells_its_request_or_its_window)
{
    struct test_world w;
    struct test_request request = { 0 };
    open_world(&w, 2, (struct wdl_rma_params) { 0 });
    struct wdl_win *win = w.rank[0].win;
    struct wdl_target *t = wdl_target_get(win, 1);
    for (int with = 0; with < 2; with++) {
        struct wdl_op *op = wdl_op_get(t);
        op->args = test_put(1, 0, NULL, 0);
        op->args.request = with ? &request : NULL;
        op->status = WDL_ERR_RANGE;
        wdl_op_finish(op, WDL_OK);
        ck_assert_int_eq(wdl_win_take_error(win), with ? WDL_OK : WDL_ERR_RANGE);
    }
    ck_assert(request.done && request.status == WDL_ERR_RANGE);
    wdl_target_release(t);
    test_world_close(&w);
}
END_TEST

/* Of the targets there are the most willing one is chosen, one at a time. */
START_TEST(the_victim_is_who_can_leave_soonest)
{
    static const int states[5] = { WDL_LOCK_CALLED, WDL_LOCK_ISSUED, WDL_LOCK_UNCHECKED,
        WDL_LOCK_GRANTED, WDL_LOCK_GRANTED };   /* the last one clean, the one before not */
    for (int set = 1; set < 32; set++) {
        struct test_world w;
        struct wdl_target *t[5] = { NULL };
        int n = 0, want = -1;
        open_world(&w, 8, (struct wdl_rma_params) {
                   .win_targets = __builtin_popcount((unsigned) set),.global_targets = 1});
        struct wdl_win *win = w.rank[0].win;
        struct wdl_target *hoard = wdl_pool_get(&w.rank[0].rma->targets);
        win->epoch = (struct wdl_epoch) {.access_state = WDL_ACCESS_PER_TARGET };
        for (int i = 0; i < 5; i++)
            if (set >> i & 1) {
                t[i] = wdl_target_get(win, i + 1);
                t[i]->lock = (struct wdl_lock) {.state = states[i] };
                t[i]->dirty = i == 3;
                want = i > want ? i : want;
                n++;
            }
        win->locked_targets = win->locks_held = n;
        ck_assert_ptr_null(wdl_target_get(win, 7));
        ck_assert_ptr_null(wdl_target_get(win, 7));
        for (int i = 0; i < 5; i++)
            if (t[i])
                ck_assert_int_eq(t[i]->evict, i == want);
        if (want == 2)          /* its lock must be real before it goes */
            ck_assert_int_eq(t[2]->lock.state, WDL_LOCK_CALLED);
        for (int i = 0; i < 5; i++)
            if (t[i]) {
                wdl_lock_init(&t[i]->lock);
                t[i]->dirty = 0;
                wdl_target_release(t[i]);
            }
        wdl_pool_put(hoard);
        win->locked_targets = win->locks_held = 0;
        wdl_epoch_init(&win->epoch);
        test_world_close(&w);
    }
}
END_TEST

/* Locks on more targets than there are elements for: each works, each is released once. */
START_TEST(locks_outlive_their_elements)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        struct test_world_params p = {.ranks = 8,.unordered = unordered,
            .rma = {.win_targets = 1,.global_targets = 1,.win_ops = 1,.global_ops = 1}
        };
        char data[8] = "evicted";
        test_world_open(&w, &p);
        struct test_rank *o = &w.rank[0];
        for (int t = 1; t < 8; t++)
            TEST_DONE(&w, wdl_win_lock(o->win, t, t % 2, t % 3 ? 0 : WDL_MODE_NOCHECK, &o->step));
        for (int t = 7; t >= 1; t--)
            for (int i = 0; i < 3; i++)
                test_op(&w, 0, test_put(t, 8 * i, data, 8));
        ck_assert_int_le(o->win->stats.targets_high, 2);
        ck_assert_uint_gt(o->win->stats.pool_waits, 0);
        for (int t = 1; t < 8; t++) {
            TEST_DONE(&w, wdl_win_unlock(o->win, t, &o->step));
            for (int i = 0; i < 3; i++)
                ck_assert_mem_eq(w.rank[t].memory + 8 * i, data, 8);
            ck_assert_int_eq(w.rank[t].win->grant.holders, 0);
        }
        ck_assert_int_eq(o->win->epoch.access_state, WDL_ACCESS_NONE);
        test_world_close(&w);
    }
}
END_TEST

/* Two threads unlock, and there is one element: the one whose unlock has begun keeps it, whoever
 * asks for one before it looks again. */
START_TEST(an_unlock_that_has_begun_keeps_its_element)
{
    struct test_world w;
    int step[3] = { 0 }, over[3] = { 0 };
    open_world(&w, 3, (struct wdl_rma_params) {.win_targets = 1,.global_targets = 1});
    struct wdl_win *win = w.rank[0].win, *other = w.rank[1].win;
    struct wdl_target *hoard = wdl_pool_get(&w.rank[0].rma->targets);
    for (int to = 1; to < 3; to++) {
        TEST_DONE(&w, wdl_win_lock(win, to, 1, 0, &step[to]));
        test_op(&w, 0, test_put(to, 0, "x", 1));
    }
    for (int turns = 0; !over[1] || !over[2]; turns++) {
        for (int to = turns > 0 ? 2 : 1; to > 0; to--) {
            int status = over[to] ? WDL_AGAIN : wdl_win_unlock(win, to, &step[to]);
            ck_assert(status == WDL_OK || status == WDL_AGAIN);
            over[to] |= status == WDL_OK;
            test_world_turn(&w);
            test_world_turn(&w);
        }
        ck_assert_int_lt(turns, TEST_TURNS_MAX);
    }
    for (int to = 1; to < 3; to++) {    /* nobody has them any more */
        TEST_DONE(&w, wdl_win_lock(other, to, 1, 0, &w.rank[1].step));
        test_op(&w, 1, test_put(to, 0, "y", 1));
        TEST_DONE(&w, wdl_win_unlock(other, to, &w.rank[1].step));
    }
    wdl_pool_put(hoard);
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/table", targets_are_found_by_rank_whatever_the_slots,
          a_window_takes_its_own_elements_first_and_gives_each_back_where_it_came_from,
          a_reference_finds_its_operation_and_no_other,
          an_operation_element_begins_anew,
          a_failed_operation_tells_its_request_or_its_window, the_victim_is_who_can_leave_soonest,
          locks_outlive_their_elements, an_unlock_that_has_begun_keeps_its_element)
