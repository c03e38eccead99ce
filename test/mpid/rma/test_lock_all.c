/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/lock_all: the window
 * protocol, which takes over when target elements run out. */
#include <string.h>
#include "host/testworld.h"
#include "support/suite.h"

enum { DUE_MAX = 16 };          /* requests under way at a time (lock_all.c) */

/* Two target elements a rank. */
static void open_tiny(struct test_world *w, struct test_world_params p)
{
    p.rma.win_targets = p.rma.global_targets = 1;
    test_world_open(w, &p);
}

static int holders(const struct test_world *w, int rank)
{
    return w->rank[rank].win->grant.holders;
}

/* An exclusive or shared lock that has been asked for, and its operation. */
static void ask(struct test_world *w, int o, int t, int exclusive)
{
    static char data[8];
    struct test_rank *r = &w->rank[o];
    TEST_DONE(w, wdl_win_lock(r->win, t, exclusive, 0, &r->step));
    test_op(w, o, test_put(t, 8 * o, data, 8));
    wdl_win_flush(r->win, t, 0, &r->step);
    test_world_settle(w);
}

/* Every rank is asked once and released once, its own included, the first two with their
 * operations; each of the others costs an operation, and one whose element another rank needs a
 * flush and its answer: for the last two of them the answer to UNLOCK is enough. */
START_TEST(each_rank_is_asked_once)
{
    for (int k = 1; k < TEST_RANKS_MAX; k++) {
        struct test_world w;
        char data[8] = "window";
        open_tiny(&w, (struct test_world_params){.ranks = TEST_RANKS_MAX,
                                                 .combine = WDL_COMBINE_NEVER});
        struct test_rank *o = &w.rank[0];
        TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
        for (int t = 1; t <= k; t++)
            test_op(&w, 0, test_put(t, 0, data, 8));
        int window = k > 2, puts = k - 2, flushes = k > 4 ? k - 4 : 0;
        ck_assert_int_eq(o->win->epoch.access_state,
                         window ? WDL_ACCESS_LOCK_ALL_GRANTED : WDL_ACCESS_LOCK_ALL_CALLED);
        for (int t = 0; window && t < TEST_RANKS_MAX; t++)
            ck_assert_int_eq(holders(&w, t), 1);
        TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
        ck_assert_int_eq(test_world_messages(&w),
                         window ? 4 * TEST_RANKS_MAX + puts + 2 * flushes : 4 * k);
        for (int t = 0; t < TEST_RANKS_MAX; t++) {
            ck_assert_int_eq(holders(&w, t), 0);
            ck_assert_int_eq(memcmp(w.rank[t].memory, data, 8) == 0, t >= 1 && t <= k);
        }
        ck_assert_int_le(o->win->stats.targets_high, 2);
        test_world_close(&w);
    }
}
END_TEST

START_TEST(so_many_requests_at_a_time)
{
    enum { RANKS = 40 };
    static struct test_world w;
    int most = 0, turns = 0;
    open_tiny(&w, (struct test_world_params){.ranks = RANKS, .delay_ns_max = 20000, .seed = 2,
                                             .refuse_permille = 300});
    struct test_rank *o = &w.rank[3];
    TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
    wdl_lock_all_switch(o->win);
    for (; o->win->epoch.access_state == WDL_ACCESS_LOCK_ALL_ISSUED; turns++) {
        int due = o->win->all_due;
        ck_assert_int_le(due, DUE_MAX);
        ck_assert_int_le(due, o->win->all_next);
        most = due > most ? due : most;
        ck_assert_int_lt(turns, TEST_TURNS_MAX);
        test_world_turn(&w);
    }
    ck_assert_int_eq(most, DUE_MAX);
    ck_assert_int_eq(o->win->epoch.access_state, WDL_ACCESS_LOCK_ALL_GRANTED);
    for (int t = 0; t < RANKS; t++)
        ck_assert_int_eq(holders(&w, t), 1); /* asked once, however often it was refused */
    ck_assert_int_eq(o->win->all_due, 0);
    TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
    ck_assert_int_eq(test_world_messages(&w), 4 * RANKS);
    test_world_close(&w);
}
END_TEST

/* Until all are granted nothing goes out and the epoch does not close. */
START_TEST(between_the_protocols_the_caller_comes_again)
{
    struct test_world w;
    char data[8] = "later";
    open_tiny(&w, (struct test_world_params){.ranks = 4});
    struct test_rank *o = &w.rank[0], *other = &w.rank[1];
    ask(&w, 1, 2, 1);
    TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
    wdl_lock_all_switch(o->win);
    struct wdl_rma_args put = test_put(3, 0, data, 8);
    ck_assert_int_eq(wdl_rma_op(o->win, &put), WDL_AGAIN);
    test_world_settle(&w);
    ck_assert_int_eq(o->win->epoch.access_state, WDL_ACCESS_LOCK_ALL_ISSUED);
    ck_assert_int_eq(o->win->all_due, 1);
    ck_assert_int_eq(wdl_rma_op(o->win, &put), WDL_AGAIN);
    ck_assert_int_eq(wdl_win_unlock_all(o->win, &o->step), WDL_AGAIN);
    ck_assert_int_eq(wdl_win_flush(o->win, -1, 0, &o->step), WDL_OK); /* there is nothing */
    test_world_messages(&w);
    TEST_DONE(&w, wdl_win_unlock(other->win, 2, &other->step));
    ck_assert_int_eq(test_world_messages(&w), 3); /* release, its answer, the grant */
    ck_assert_int_eq(o->win->epoch.access_state, WDL_ACCESS_LOCK_ALL_GRANTED);
    ck_assert_int_eq(wdl_rma_op(o->win, &put), WDL_OK);
    TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
    ck_assert_mem_eq(w.rank[3].memory, data, 8);
    test_world_close(&w);
}
END_TEST

/* An element has a lock of its own, which is waited for like the others. */
START_TEST(an_elements_lock_is_its_own)
{
    struct test_world w;
    char data[8] = "own lock";
    open_tiny(&w, (struct test_world_params){.ranks = 4});
    struct test_rank *o = &w.rank[0], *other = &w.rank[1];
    ask(&w, 1, 2, 1);
    TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
    test_op(&w, 0, test_put(2, 0, data, 8));
    wdl_lock_all_switch(o->win);
    test_world_settle(&w);
    ck_assert_int_eq(o->win->all_due, 0); /* everybody has answered, but the element's target */
    ck_assert_int_eq(o->win->all_next, 4);
    ck_assert_int_eq(o->win->epoch.access_state, WDL_ACCESS_LOCK_ALL_ISSUED);
    TEST_DONE(&w, wdl_win_unlock(other->win, 2, &other->step));
    test_world_settle(&w);
    ck_assert_int_eq(o->win->epoch.access_state, WDL_ACCESS_LOCK_ALL_GRANTED);
    for (int t = 0; t < 4; t++)
        ck_assert_int_eq(holders(&w, t), 1);
    TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
    ck_assert_mem_eq(w.rank[2].memory, data, 8);
    test_world_close(&w);
}
END_TEST

/* Every request joins the target's shared holders, the first one too: the others may be granted
 * before it. */
START_TEST(every_request_joins)
{
    enum { READER = 1, WRITER = 2 };
    for (int element = 0; element < 2; element++)
        for (int t = 0; t < 4; t += 3) { /* the first and the last to be asked */
            struct test_world w;
            char data[8] = "";
            open_tiny(&w, (struct test_world_params){.ranks = 5});
            struct test_rank *o = &w.rank[4];
            for (int who = READER; who <= WRITER; who++)
                ask(&w, who, t, who == WRITER);
            ck_assert_int_eq(w.rank[t].win->grant.length, 1); /* the writer waits */
            TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
            if (element)
                test_op(&w, 4, test_put(1, 32, data, 8));
            wdl_lock_all_switch(o->win);
            test_world_settle(&w);
            ck_assert_int_eq(o->win->epoch.access_state, WDL_ACCESS_LOCK_ALL_GRANTED);
            for (int who = READER; who <= WRITER; who++) {
                struct test_rank *r = &w.rank[who];
                while (wdl_win_unlock(r->win, t, &r->step) == WDL_AGAIN) {
                    wdl_win_unlock_all(o->win, &o->step);
                    test_world_turn(&w);
                }
            }
            if (o->win->epoch.access_state != WDL_ACCESS_NONE)
                TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
            test_world_close(&w);
        }
}
END_TEST

/* An element may hold nothing but a lock that nobody has asked for yet. */
START_TEST(elements_without_operations_do_not_hold_it_up)
{
    struct test_world w;
    char data[8] = "behind";
    open_tiny(&w, (struct test_world_params){.ranks = 5});
    struct test_rank *o = &w.rank[0];
    TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
    for (int t = 1; t <= 2; t++) {
        struct wdl_rma_args wrong = test_put(t, 256, data, 8);
        ck_assert_int_eq(wdl_rma_op(o->win, &wrong), WDL_ERR_RANGE);
    }
    ck_assert_int_eq(o->win->ntargets, 2);
    test_op(&w, 0, test_put(3, 0, data, 8));
    ck_assert_int_eq(o->win->epoch.access_state, WDL_ACCESS_LOCK_ALL_GRANTED);
    for (int t = 0; t < 5; t++)
        ck_assert_int_eq(holders(&w, t), 1);
    TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
    for (int t = 0; t < 5; t++)
        ck_assert_int_eq(holders(&w, t), 0);
    ck_assert_mem_eq(w.rank[3].memory, data, 8);
    test_world_close(&w);
}
END_TEST

START_TEST(answers_nobody_waits_for_are_malformed)
{
    struct test_world w;
    open_tiny(&w, (struct test_world_params){.ranks = 3});
    struct test_rank *o = &w.rank[0];
    ck_assert_int_eq(wdl_lock_all_answer(o->win), WDL_ERR_PROTO);
    TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
    ck_assert_int_eq(wdl_lock_all_answer(o->win), WDL_ERR_PROTO);
    wdl_lock_all_switch(o->win);
    ck_assert_int_eq(wdl_lock_all_answer(o->win), WDL_ERR_PROTO); /* none has been sent */
    ck_assert_int_eq(wdl_lock_all_progress(o->win), 3);
    ck_assert_int_eq(wdl_lock_all_progress(o->win), 0);
    ck_assert_int_eq(o->win->all_due, 3);
    test_world_settle(&w);
    ck_assert_int_eq(wdl_lock_all_answer(o->win), WDL_ERR_PROTO);
    TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
    test_world_close(&w);
}
END_TEST

/* --- many at once ----------------------------------------------------------------------------- */

enum { ALL_LOCK, ALL_ADD, ALL_UNLOCK, ONE_LOCK, ONE_ADD, ONE_UNLOCK, OVER };

struct visitor {
    int state, target, left;
};

/* One attempt at the visitor's next call. */
static int visit(struct test_rank *r, struct visitor *v, const int64_t *one)
{
    struct wdl_rma_args add = test_acc(v->target, 0, WDL_ROP_SUM, TEST_I64, 1, one, NULL);
    switch (v->state) {
        case ALL_LOCK:
            return wdl_win_lock_all(r->win, 0, &r->step);
        case ALL_ADD:
        case ONE_ADD:
            return wdl_rma_op(r->win, &add);
        case ALL_UNLOCK:
            return wdl_win_unlock_all(r->win, &r->step);
        case ONE_LOCK:
            return wdl_win_lock(r->win, v->target, 1, 0, &r->step);
        default:
            return wdl_win_unlock(r->win, v->target, &r->step);
    }
}

/* Odd ranks hold all locks and add everywhere; even ones lock one rank after the other. */
static void go_on(struct test_world *w, struct visitor *v)
{
    v->state++;
    if (v->state == ALL_UNLOCK && ++v->target < w->n)
        v->state = ALL_ADD;
    if (v->state == ONE_LOCK || v->state == OVER) {
        int all = v->state == ONE_LOCK;
        v->target = all ? 0 : (v->target + 1) % w->n;
        v->left -= all || v->target == 0;
        v->state = v->left == 0 ? OVER : all ? ALL_LOCK : ONE_LOCK;
    }
}

/* Several lock_all at once, and exclusive locks between them: no circle of waiting. */
START_TEST(they_do_not_wait_for_each_other_in_a_circle)
{
    enum { RANKS = 6, VISITS = 3 };
    const int64_t one = 1;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct test_world w;
        struct visitor v[RANKS];
        int left = RANKS, switched = 0;
        open_tiny(&w, (struct test_world_params){.ranks = RANKS, .seed = seed,
                                                 .unordered = seed % 2, .delay_ns_max = 5000,
                                                 .refuse_permille = seed % 3 ? 0 : 400});
        for (int i = 0; i < RANKS; i++)
            v[i] = (struct visitor){i % 2 ? ALL_LOCK : ONE_LOCK, 0, VISITS};
        for (int turns = 0; left > 0; turns++) {
            ck_assert_int_lt(turns, TEST_TURNS_MAX);
            for (int i = 0; i < RANKS; i++) {
                int status = v[i].state == OVER ? WDL_AGAIN : visit(&w.rank[i], &v[i], &one);
                ck_assert(status == WDL_OK || status == WDL_AGAIN);
                if (status == WDL_OK)
                    go_on(&w, &v[i]);
                left -= status == WDL_OK && v[i].state == OVER;
                switched += w.rank[i].win->epoch.access_state == WDL_ACCESS_LOCK_ALL_ISSUED;
            }
            test_world_turn(&w);
        }
        ck_assert_int_gt(switched, 0);
        for (int i = 0; i < RANKS; i++) {
            int64_t sum;
            memcpy(&sum, w.rank[i].memory, sizeof(sum));
            ck_assert_int_eq(sum, RANKS * VISITS);
            ck_assert_int_eq(holders(&w, i), 0);
        }
        test_world_close(&w);
    }
}
END_TEST

WDL_SUITE("rma/lock_all", each_rank_is_asked_once, so_many_requests_at_a_time,
          between_the_protocols_the_caller_comes_again, an_elements_lock_is_its_own,
          every_request_joins,
          elements_without_operations_do_not_hold_it_up, answers_nobody_waits_for_are_malformed,
          they_do_not_wait_for_each_other_in_a_circle)
