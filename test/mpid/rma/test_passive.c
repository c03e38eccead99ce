/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/passive: lock, unlock,
 * lock_all, unlock_all, flush. */
#include "host/testworld.h"
#include "support/suite.h"

static const struct test_world_params kinds[] = {
    {.node = 1 }, {.node = 1,.delay_ns_max = 3000,.refuse_permille = 500 },
    {.node = 1,.unordered = 1,.delay_ns_max = 30000,.refuse_permille = 200 },
    {.node = 2 }, {.node = TEST_RANKS_MAX }, {.node = TEST_RANKS_MAX,.no_place = 1 },
    {.node = TEST_RANKS_MAX,.own = 1 }
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void open_kind(struct test_world *w, int kind, int ranks)
{
    struct test_world_params p = kinds[kind];
    p.ranks = ranks;
    p.seed = (uint64_t) (ranks + kind);
    test_world_open(w, &p);
}

enum { IDLE, ASKING, READING, FLUSHING, INSIDE, LEAVING };

struct visitor {                /* of rank 0's lock */
    int state, exclusive, left;
    int64_t value;
};

/* One attempt at the visitor's next call; 1 when it succeeded. */
static int visit(struct test_world *w, struct test_rank *r, struct visitor *v)
{
    struct wdl_rma_args get = test_get(0, 0, &v->value, 8);
    switch (v->state) {
        case IDLE:
            v->exclusive = wdl_prng_chance(&w->prng, 500);
            return v->left > 0;
        case ASKING:
            return wdl_win_lock(r->win, 0, v->exclusive, 0, &r->step) == WDL_OK;
        case READING:
            return wdl_rma_op(r->win, &get) == WDL_OK;
        case FLUSHING:          /* a lock by message is held when an answer has come through it */
            return wdl_win_flush(r->win, 0, 0, &r->step) == WDL_OK;
        case INSIDE:
            v->value++;
            if (v->exclusive)
                test_op(w, r->rank, test_put(0, 0, &v->value, 8));
            return 1;
        default:
            return wdl_win_unlock(r->win, 0, &r->step) == WDL_OK;
    }
}

/* Every rank locks rank 0 again and again, exclusively or shared; nobody may be inside with an
 * exclusive one, and a counter that only exclusive ones touch, without atomics, must be right. */
START_TEST(an_exclusive_holder_is_alone)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++) {
        struct visitor visitor[TEST_RANKS_MAX] = { {0} };
        int inside[2] = { 0, 0 }, over = 0;
        int64_t want = 0;
        open_kind(&w, kind, 5);
        for (int i = 0; i < w.n; i++)
            visitor[i].left = 25;
        for (int turns = 0; over < w.n; turns++) {
            int i = (int) wdl_prng_below(&w.prng, (uint64_t) w.n);
            struct visitor *v = &visitor[i];
            wdl_assert_cmp(turns, <, TEST_TURNS_MAX);
            if (visit(&w, &w.rank[i], v)) {
                if (v->state == FLUSHING)
                    inside[v->exclusive]++;
                ck_assert(inside[1] == 0 || (inside[1] == 1 && inside[0] == 0));
                if (v->state == INSIDE) {
                    inside[v->exclusive]--;
                    want += v->exclusive;
                }
                if (v->state == LEAVING)
                    over += --v->left == 0;
                v->state = v->state == LEAVING ? IDLE : v->state + 1;
            }
            test_world_turn(&w);
        }
        ck_assert_int_eq(*(int64_t *) (void *) w.rank[0].memory, want);
        test_world_close(&w);
    }
}
END_TEST

/* Flush: done at the target; local flush: the origin's buffer is free; neither closes the epoch. */
START_TEST(a_flush_completes_at_the_target)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++) {
        open_kind(&w, kind, 3);
        struct test_rank *o = &w.rank[0];
        TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
        for (int i = 1; i < 10; i++)
            for (int t = 1; t < 3; t++) {
                char data[8] = { (char) i, (char) t }, back[8] = "";
                test_op(&w, 0, test_put(t, 0, data, 8));
                if (i % 2) {
                    TEST_DONE(&w, wdl_win_flush(o->win, t, 0, &o->step));
                    ck_assert_mem_eq(w.rank[t].memory, data, 8);
                } else {
                    TEST_DONE(&w, wdl_win_flush(o->win, i % 4 ? t : -1, 1, &o->step));
                    data[0] = 77;       /* it is ours again */
                    TEST_DONE(&w, wdl_win_flush(o->win, -1, 0, &o->step));
                    ck_assert_int_eq(w.rank[t].memory[0], i);
                }
                test_op(&w, 0, test_get(t, 0, back, 8));
                TEST_DONE(&w, wdl_win_flush(o->win, t, 1, &o->step));
                ck_assert_int_eq(back[0], i);
            }
        TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
        test_world_close(&w);
    }
}
END_TEST

START_TEST(a_flush_costs_one_question_where_something_is_unflushed)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 4,.combine = WDL_COMBINE_NEVER };
    char data[8] = "";
    test_world_open(&w, &p);
    struct test_rank *o = &w.rank[0];
    TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
    for (int t = 1; t < 4; t++)
        for (int i = 0; i < 3; i++)
            test_op(&w, 0, test_put(t, 0, data, 8));
    test_world_messages(&w);
    TEST_DONE(&w, wdl_win_flush(o->win, 1, 1, &o->step));
    ck_assert_int_eq(test_world_messages(&w), 0);
    TEST_DONE(&w, wdl_win_flush(o->win, 1, 0, &o->step));
    ck_assert_int_eq(test_world_messages(&w), 2);
    TEST_DONE(&w, wdl_win_flush(o->win, -1, 0, &o->step));
    ck_assert_int_eq(test_world_messages(&w), 4);       /* the other two */
    TEST_DONE(&w, wdl_win_flush(o->win, -1, 0, &o->step));
    ck_assert_int_eq(test_world_messages(&w), 0);
    TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
    test_world_close(&w);
}
END_TEST

START_TEST(calls_out_of_order_are_errors)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++) {
        int step = 0, none = 0;
        char data[8] = "";
        open_kind(&w, kind, 3);
        struct wdl_win *win = w.rank[0].win;
        struct wdl_rma_args put = test_put(2, 0, data, 8);
        /* no epoch */
        ck_assert_int_eq(wdl_win_unlock(win, 1, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_unlock_all(win, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_flush(win, 1, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_flush(win, -1, 1, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_lock(win, -1, 0, 0, &step), WDL_ERR_RANK);
        ck_assert_int_eq(wdl_win_lock(win, 3, 0, 0, &step), WDL_ERR_RANK);
        /* one target */
        TEST_DONE(&w, wdl_win_lock(win, 1, 0, 0, &step));
        ck_assert_int_eq(wdl_win_lock(win, 1, 1, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_unlock(win, 2, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_unlock(win, 3, &step), WDL_ERR_RANK);
        ck_assert_int_eq(wdl_win_unlock(win, -1, &step), WDL_ERR_RANK);
        ck_assert_int_eq(wdl_win_flush(win, 2, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_flush(win, 3, 0, &step), WDL_ERR_RANK);
        ck_assert_int_eq(wdl_rma_op(win, &put), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_lock_all(win, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_unlock_all(win, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_start(win, &none, 0, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_free(win), WDL_ERR_SYNC);
        TEST_DONE(&w, wdl_win_lock(win, 2, 1, 0, &step));       /* a second target is allowed */
        TEST_DONE(&w, wdl_win_unlock(win, 1, &step));
        ck_assert_int_eq(wdl_win_unlock(win, 1, &step), WDL_ERR_SYNC);
        TEST_DONE(&w, wdl_win_unlock(win, 2, &step));
        /* all */
        TEST_DONE(&w, wdl_win_lock_all(win, 0, &step));
        ck_assert_int_eq(wdl_win_lock_all(win, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_lock(win, 1, 0, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_unlock(win, 1, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_start(win, &none, 0, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_free(win), WDL_ERR_SYNC);
        TEST_DONE(&w, wdl_win_unlock_all(win, &step));
        /* a used fence epoch must be closed first */
        TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
        test_op(&w, 0, put);
        ck_assert_int_eq(wdl_win_lock(win, 1, 0, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_lock_all(win, 0, &step), WDL_ERR_SYNC);
        TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
        TEST_DONE(&w, wdl_win_lock_all(win, WDL_MODE_NOCHECK, &step));
        TEST_DONE(&w, wdl_win_unlock_all(win, &step));
        ck_assert_int_eq(step, 0);
        test_world_close(&w);
    }
}
END_TEST

/* One attempt at the next call of who locks ranks 0 and 1, and uses `first` first. */
static int use_both(struct test_rank *r, int call, int first)
{
    static const int64_t value = 1;
    int target = call < 4 ? first : !first;
    struct wdl_rma_args put = test_put(target, 0, &value, 8);
    switch (call) {
        case 0:
        case 1:
            return wdl_win_lock(r->win, call, 1, 0, &r->step);
        case 2:
        case 4:
            return wdl_rma_op(r->win, &put);
        case 3:
        case 5:
            return wdl_win_flush(r->win, target, 0, &r->step);
        default:
            return wdl_win_unlock(r->win, call - 6, &r->step);
    }
}

/* Locks that all take in the same order: nobody waits for another who waits for it, in whatever
 * order they are used. */
START_TEST(locks_in_order_meet_no_circle)
{
    enum { CALLS = 8, ROUNDS = 20 };
    for (int kind = 0; kind < KINDS; kind++) {
        struct test_world w;
        int call[2] = {0, 0};
        open_kind(&w, kind, 4);
        for (int turns = 0; call[0] < ROUNDS * CALLS || call[1] < ROUNDS * CALLS; turns++) {
            ck_assert_int_lt(turns, TEST_TURNS_MAX);
            for (int i = 0; i < 2; i++)
                if (call[i] < ROUNDS * CALLS)
                    call[i] += use_both(&w.rank[2 + i], call[i] % CALLS, i) == WDL_OK;
            test_world_turn(&w);
        }
        ck_assert_int_eq(w.rank[2].win->rma->ncalled, 0);
        test_world_close(&w);
    }
}
END_TEST

static uint64_t caller;

static uint64_t the_caller(void *ctx)
{
    (void) ctx;
    return caller;
}

/* From now on who calls is `caller`, 1 at first; `ops` stays with the window's process. */
static void callers_begin(struct wdl_win *win, struct wdl_host_ops *ops)
{
    *ops = *win->proc->host.ops;
    ops->thread = the_caller;
    win->proc->host.ops = ops;
    caller = 1;
}

/* A lock by message goes with its first operation, or else before the same thread's next lock. */
START_TEST(a_lock_is_granted_before_the_next_one)
{
    enum { ONE, ALL, UNCHECKED, ANOTHERS, NEXT };
    for (int next = 0; next < NEXT; next++) {
        struct test_world w;
        int step = 0;
        open_kind(&w, 0, 4);
        struct wdl_win *win = w.rank[0].win;
        struct wdl_host_ops ops;
        callers_begin(win, &ops);
        test_world_messages(&w);
        ck_assert_int_eq(wdl_win_lock(win, 2, 1, 0, &step), WDL_OK);
        test_world_settle(&w);
        ck_assert_int_eq(test_world_messages(&w), 0);
        caller += next == ANOTHERS;
        int waits = next == ONE;
        if (next == ALL)        /* it is refused, but not by the wait */
            ck_assert_int_eq(wdl_win_lock_all(win, 0, &step), WDL_ERR_SYNC);
        else
            ck_assert_int_eq(wdl_win_lock(win, 3, 1, next == UNCHECKED ? WDL_MODE_NOCHECK : 0,
                                          &step), waits ? WDL_AGAIN : WDL_OK);
        test_world_settle(&w);
        ck_assert_int_eq(test_world_messages(&w), waits ? 2 : 0);       /* LOCK, GRANT */
        if (waits)
            TEST_DONE(&w, wdl_win_lock(win, 3, 1, 0, &step));
        ck_assert_int_eq(test_world_messages(&w), 0);
        TEST_DONE(&w, wdl_win_unlock(win, 2, &step));
        if (next != ALL)
            TEST_DONE(&w, wdl_win_unlock(win, 3, &step));
        ck_assert_int_eq(win->rma->ncalled, 0);
        test_world_close(&w);
    }
}
END_TEST

/* So is a lock_all of messages: then all its ranks are asked, each with its answer. */
START_TEST(a_lock_all_is_granted_before_the_next_lock)
{
    enum { ONE, ALL, UNCHECKED, ANOTHERS, NEXT };
    enum { RANKS = 4 };
    for (int next = 0; next < NEXT; next++) {
        struct test_world w;
        struct wdl_win *other[RANKS];
        int step = 0;
        open_kind(&w, 0, RANKS);
        for (int i = 0; i < RANKS; i++) {
            struct wdl_win_params params = test_win_params(&w.rank[i]);
            params.id = 5;
            ck_assert_int_eq(wdl_win_create(w.rank[i].proc, &params, &other[i]), WDL_OK);
        }
        struct wdl_win *win = w.rank[0].win;
        struct wdl_host_ops ops;
        callers_begin(win, &ops);
        test_world_messages(&w);
        ck_assert_int_eq(wdl_win_lock_all(win, 0, &step), WDL_OK);
        test_op(&w, 0, test_put(2, 0, "x", 1));
        TEST_DONE(&w, wdl_win_flush(win, 2, 0, &step));
        ck_assert_int_eq(test_world_messages(&w), 2);   /* rank 2's comes with its use */
        caller += next == ANOTHERS;
        int waits = next == ONE || next == ALL;
        int assertion = next == UNCHECKED ? WDL_MODE_NOCHECK : 0;
        for (int turn = 0; turn < 1 + waits; turn++) {
            int status = next == ALL ? wdl_win_lock_all(other[0], 0, &step) :
                wdl_win_lock(other[0], 3, 1, assertion, &step);
            ck_assert_int_eq(status, turn < waits ? WDL_AGAIN : WDL_OK);
            test_world_settle(&w);
            ck_assert_int_eq(test_world_messages(&w), turn < waits ? 2 * (RANKS - 1) : 0);
        }
        ck_assert_int_eq(win->epoch.access_state, waits ? WDL_ACCESS_LOCK_ALL_GRANTED :
                         WDL_ACCESS_LOCK_ALL_CALLED);
        TEST_DONE(&w, wdl_win_unlock_all(win, &step));
        TEST_DONE(&w, next == ALL ? wdl_win_unlock_all(other[0], &step) :
                  wdl_win_unlock(other[0], 3, &step));
        ck_assert_int_eq(win->rma->ncalled, 0);
        for (int i = 0; i < RANKS; i++)
            TEST_DONE(&w, wdl_win_free(other[i]));
        test_world_close(&w);
    }
}
END_TEST

/* Lock, put a letter, flush: a lock that is sure to be there. */
static void lock_for(struct test_world *w, uint64_t who, int target, int *step)
{
    caller = who;
    TEST_DONE(w, wdl_win_lock(w->rank[0].win, target, 1, 0, step));
    test_op(w, 0, test_put(target, 0, "a", 1));
    TEST_DONE(w, wdl_win_flush(w->rank[0].win, target, 0, step));
}

/* Threads with one element of each kind: what waits for one thread's lock is in the way of none
 * that has its own, nor of one that takes another. */
START_TEST(what_waits_for_a_lock_delays_no_other_thread)
{
    enum { HELD = 1, AWAITED, FREE };
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        struct test_world_params p = {.ranks = 5,.unordered = unordered,
            .rma = {.win_targets = 1,.global_targets = 1,.win_ops = 1,.global_ops = 1}
        };
        int step[5] = { 0 };
        test_world_open(&w, &p);
        struct wdl_win *win = w.rank[0].win, *other = w.rank[4].win;
        struct wdl_host_ops ops;
        callers_begin(win, &ops);
        struct wdl_target *hoard = wdl_pool_get(&w.rank[0].rma->targets);
        TEST_DONE(&w, wdl_win_lock(other, AWAITED, 1, 0, &step[4]));
        test_op(&w, 4, test_put(AWAITED, 0, "b", 1));
        TEST_DONE(&w, wdl_win_flush(other, AWAITED, 0, &step[4]));
        lock_for(&w, 1, HELD, &step[HELD]);
        caller = 2;
        TEST_DONE(&w, wdl_win_lock(win, AWAITED, 1, 0, &step[AWAITED]));
        struct wdl_rma_args put = test_put(AWAITED, 1, "c", 1), more = test_put(AWAITED, 2, "c", 1);
        TEST_DONE(&w, wdl_rma_op(win, &put));
        ck_assert_int_eq(wdl_rma_op(win, &more), WDL_AGAIN);    /* not the last one */
        test_world_settle(&w);
        caller = 1;
        test_op(&w, 0, test_put(HELD, 1, "d", 1));
        TEST_DONE(&w, wdl_win_flush(win, HELD, 0, &step[HELD]));
        lock_for(&w, 3, FREE, &step[FREE]);
        TEST_DONE(&w, wdl_win_unlock(win, FREE, &step[FREE]));
        caller = 1;
        TEST_DONE(&w, wdl_win_unlock(win, HELD, &step[HELD]));
        ck_assert_mem_eq(w.rank[HELD].memory, "ad", 2);
        ck_assert_mem_eq(w.rank[AWAITED].memory, "b\0", 3);
        TEST_DONE(&w, wdl_win_unlock(other, AWAITED, &step[4]));
        caller = 2;
        TEST_DONE(&w, wdl_rma_op(win, &more));
        TEST_DONE(&w, wdl_win_unlock(win, AWAITED, &step[AWAITED]));
        ck_assert_mem_eq(w.rank[AWAITED].memory, "bcc", 3);
        wdl_pool_put(hoard);
        test_world_close(&w);
    }
}
END_TEST

/* A process waits for one shared lock in its turn; another thread of its own is not kept from
 * asking for a second one. */
START_TEST(a_turn_is_a_threads_own)
{
    struct test_world w;
    int step[4] = { 0 };
    open_kind(&w, 0, 4);
    struct wdl_win *win = w.rank[0].win, *other = w.rank[3].win;
    struct wdl_host_ops ops;
    callers_begin(win, &ops);
    TEST_DONE(&w, wdl_win_lock(other, 1, 1, 0, &step[3]));
    test_op(&w, 3, test_put(1, 0, "b", 1));
    TEST_DONE(&w, wdl_win_flush(other, 1, 0, &step[3]));
    for (int to = 1; to < 3; to++) {
        caller = (uint64_t) to;
        TEST_DONE(&w, wdl_win_lock(win, to, 0, 0, &step[to]));
        test_op(&w, 0, test_put(to, 1, "a", 1));
        if (to == 1)            /* asked for */
            ck_assert_int_eq(wdl_win_flush(win, to, 0, &step[to]), WDL_AGAIN);
        test_world_settle(&w);
    }
    ck_assert_int_eq(wdl_target_find(win, 1)->in_turn, 1);
    TEST_DONE(&w, wdl_win_unlock(win, 2, &step[2]));
    TEST_DONE(&w, wdl_win_unlock(other, 1, &step[3]));
    TEST_DONE(&w, wdl_win_flush(win, 1, 0, &step[1]));
    TEST_DONE(&w, wdl_win_unlock(win, 1, &step[1]));
    test_world_close(&w);
}
END_TEST

/* Locks by the network, and one place for keys: who looks for its turn at one word lets go of the
 * key for another thread that gives back a lock. */
START_TEST(a_turn_that_is_awaited_leaves_the_key_to_others)
{
    enum { HELD = 1, AWAITED };
    struct test_world w;
    struct test_world_params p = {.ranks = 4,.node = 1,.direct = 1,.atomics = 2,
        .rma = {.win_targets = 1}
    };
    int step[4] = { 0 }, status = WDL_AGAIN;
    test_world_open(&w, &p);
    struct wdl_win *win = w.rank[0].win, *other = w.rank[3].win;
    struct wdl_host_ops ops;
    ck_assert_int_eq(win->words, WDL_WORDS_NETWORK);
    callers_begin(win, &ops);
    TEST_DONE(&w, wdl_win_lock(other, AWAITED, 0, 0, &step[3]));
    TEST_DONE(&w, wdl_win_lock(win, HELD, 1, 0, &step[HELD]));
    for (int turns = 0; status == WDL_AGAIN; turns++) {
        caller = 2;
        ck_assert_int_eq(wdl_win_lock(win, AWAITED, 1, 0, &step[AWAITED]), WDL_AGAIN);
        caller = 1;
        status = turns < 100 ? WDL_AGAIN : wdl_win_unlock(win, HELD, &step[HELD]);
        test_world_turn(&w);
        ck_assert_int_lt(turns, 2000);
    }
    ck_assert_int_eq(status, WDL_OK);
    TEST_DONE(&w, wdl_win_unlock(other, AWAITED, &step[3]));
    caller = 2;
    TEST_DONE(&w, wdl_win_lock(win, AWAITED, 1, 0, &step[AWAITED]));
    TEST_DONE(&w, wdl_win_unlock(win, AWAITED, &step[AWAITED]));
    test_world_close(&w);
}
END_TEST

START_TEST(a_window_without_locks_refuses_them)
{
    struct test_world w;
    for (int node = 1; node <= 2; node++) {
        struct test_world_params p = {.ranks = 2,.node = node,.no_locks = 1 };
        int step = 0;
        test_world_open(&w, &p);
        ck_assert_int_eq(wdl_win_lock(w.rank[0].win, 1, 0, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_lock_all(w.rank[0].win, 0, &step), WDL_ERR_SYNC);
        test_world_close(&w);
    }
}
END_TEST

START_TEST(a_failure_at_the_target_is_the_next_calls_error)
{
    struct test_world w;
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world_params p = {.ranks = 2,.unordered = unordered };
        char data[8] = "";
        test_world_open(&w, &p);
        struct test_rank *o = &w.rank[0];
        w.rank[1].win->params.bytes = 4;
        TEST_DONE(&w, wdl_win_lock(o->win, 1, 0, 0, &o->step));
        test_op(&w, 0, test_put(1, 0, data, 8));
        ck_assert_int_eq(TEST_WAIT(&w, wdl_win_flush(o->win, 1, 0, &o->step)), WDL_ERR_RANGE);
        TEST_DONE(&w, wdl_win_flush(o->win, 1, 0, &o->step));
        test_op(&w, 0, test_put(1, 0, data, 8));
        ck_assert_int_eq(TEST_WAIT(&w, wdl_win_unlock(o->win, 1, &o->step)), WDL_ERR_RANGE);
        ck_assert_int_eq(o->win->epoch.access_state, WDL_ACCESS_NONE);  /* closed all the same */
        test_world_close(&w);
    }
}
END_TEST

/* Two threads lock behind a fence that nothing followed: while one waits, the other's epoch is not
 * the fence's any more, and admits the locked rank alone. */
START_TEST(the_fence_epoch_ends_with_the_first_lock)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 4,.node = 4 };
    int first = 0, second = 0;
    char data[8] = "";
    test_world_open(&w, &p);
    struct test_rank *o = &w.rank[0], *other = &w.rank[1];
    TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
    TEST_DONE(&w, wdl_win_lock(other->win, 1, 1, 0, &other->step));
    ck_assert_int_eq(wdl_win_lock(o->win, 1, 0, 0, &first), WDL_AGAIN);
    TEST_DONE(&w, wdl_win_lock(o->win, 2, 0, 0, &second));
    struct wdl_rma_args put = test_put(3, 0, data, 8);
    ck_assert_int_eq(wdl_rma_op(o->win, &put), WDL_ERR_SYNC);
    for (int t = 0; t < 4; t++) /* the short way admits nobody the full path refuses */
        ck_assert(t == 2 || !wdl_quick_admits(wdl_win_quick(o->win), t));
    TEST_DONE(&w, wdl_win_unlock(other->win, 1, &other->step));
    TEST_DONE(&w, wdl_win_lock(o->win, 1, 0, 0, &first));
    TEST_DONE(&w, wdl_win_unlock(o->win, 2, &second));
    TEST_DONE(&w, wdl_win_unlock(o->win, 1, &first));
    test_world_close(&w);
}
END_TEST

/* Who has posted may lock others, for operations of its own, in one epoch or several, and wait
 * before it unlocks; not itself, with whom nobody may meet then, and so not all. */
START_TEST(who_has_posted_locks_others)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++)
        for (int way = 0; way < 8; way++) {
            int exclusive = way & 1, assertion = way & 2 ? WDL_MODE_NOCHECK : 0, inside = way & 4;
            static const int origin = 1, target = 0;
            open_kind(&w, kind, 4);
            struct test_rank *r = &w.rank[target], *o = &w.rank[origin];
            TEST_DONE(&w, wdl_win_post(r->win, &origin, 1, 0, &r->step));
            ck_assert_int_eq(wdl_win_lock_at_once(r->win, target, exclusive, assertion), 0);
            ck_assert_int_eq(wdl_win_lock(r->win, target, exclusive, assertion, &r->step),
                             WDL_ERR_SYNC);
            ck_assert_int_eq(wdl_win_lock_all(r->win, assertion, &r->step), WDL_ERR_SYNC);
            ck_assert(r->step == 0 && r->win->epoch.access_state == WDL_ACCESS_NONE);
            for (int other = 2; other <= 3; other++) {
                TEST_DONE(&w, wdl_win_lock(r->win, other, exclusive, assertion, &r->step));
                test_op(&w, target, test_put(other, 0, "at other", 8));
            }
            ck_assert_int_eq(wdl_win_lock(r->win, target, exclusive, assertion, &r->step),
                             WDL_ERR_SYNC);
            if (!inside)
                for (int other = 2; other <= 3; other++)
                    TEST_DONE(&w, wdl_win_unlock(r->win, other, &r->step));
            TEST_DONE(&w, wdl_win_start(o->win, &target, 1, 0, &o->step));
            test_op(&w, origin, test_put(target, 0, "at post", 8));
            ck_assert_int_eq(wdl_win_wait(r->win, &r->step), WDL_AGAIN);
            TEST_DONE(&w, wdl_win_complete(o->win, &o->step));
            TEST_DONE(&w, wdl_win_wait(r->win, &r->step));
            if (inside)
                for (int other = 2; other <= 3; other++)
                    TEST_DONE(&w, wdl_win_unlock(r->win, other, &r->step));
            ck_assert_str_eq(r->memory, "at post");
            ck_assert_mem_eq(w.rank[2].memory, "at other", 8);
            ck_assert_mem_eq(w.rank[3].memory, "at other", 8);
            ck_assert(r->win->epoch.access_state == WDL_ACCESS_NONE && r->win->locks_held == 0);
            /* and itself again */
            TEST_DONE(&w, wdl_win_lock(r->win, target, exclusive, assertion, &r->step));
            TEST_DONE(&w, wdl_win_unlock(r->win, target, &r->step));
            test_world_close(&w);
        }
}
END_TEST

/* The key of a rank's lock word is not to be had: the lock is not taken, nothing else is wrong. */
START_TEST(a_word_that_cannot_be_had)
{
    struct test_world w;
    char data[8] = "by other";
    test_world_open(&w, &(struct test_world_params){.ranks = 3,.direct = 1,.atomics = 2});
    struct test_rank *o = &w.rank[0];
    struct wdl_pkt none = test_packet(&w, 1, WDL_PKT_KEY_REPLY);
    none.type = WDL_KEYS_WORDS;
    ck_assert_int_eq(wdl_win_lock(o->win, 1, 1, 0, &o->step), WDL_AGAIN);
    none.type = WDL_KEYS_KINDS;
    ck_assert_int_eq(test_deliver(&w, 1, 0, &none, NULL, 0), WDL_ERR_PROTO);
    none.type = WDL_KEYS_WORDS;
    ck_assert_int_eq(test_deliver(&w, 1, 0, &none, NULL, 0), WDL_OK);
    ck_assert_int_eq(TEST_WAIT(&w, wdl_win_lock(o->win, 1, 1, 0, &o->step)), WDL_ERR_OTHER);
    ck_assert_int_eq(o->win->epoch.access_state, WDL_ACCESS_NONE);
    w.malformed++;              /* the true answer, for which nobody waits */
    test_world_settle(&w);
    ck_assert_int_eq(o->win->ntargets, 0);
    ck_assert_uint_eq(w.control[0].gate & 0xffffffff, 0);
    ck_assert_int_eq(o->win->gate_users + o->win->gate_in, 0);
    TEST_DONE(&w, wdl_win_lock(o->win, 2, 0, 0, &o->step));
    test_op(&w, 0, test_put(2, 0, data, 8));
    TEST_DONE(&w, wdl_win_unlock(o->win, 2, &o->step));
    ck_assert_mem_eq(w.rank[2].memory, data, 8);
    test_world_close(&w);
}
END_TEST

/* Within a node the first lock is a word and no element, until an operation needs one, which leaves
 * with the lock; the second lock has one. */
START_TEST(a_lock_within_a_node_needs_no_element)
{
    struct test_world w;
    char data[8] = "windlas";
    test_world_open(&w, &(struct test_world_params){.ranks = 3, .node = 3, .own = 1});
    struct test_rank *o = &w.rank[0];
    for (int order = 0; order < 2; order++) {
        memset(w.rank[1].memory, 0, 8);
        for (int target = 1; target <= 2; target++) {
            TEST_DONE(&w, wdl_win_lock(o->win, target, target == 1, 0, &o->step));
            ck_assert_int_eq(o->win->ntargets, target - 1);
        }
        ck_assert_int_eq(wdl_win_lock(o->win, 1, 1, 0, &o->step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_flush(o->win, 1, 0, &o->step), WDL_OK);
        ck_assert_int_eq(o->win->ntargets, 1);
        test_op(&w, 0, test_put(1, 0, data, 8));
        ck_assert_int_eq(o->win->ntargets, 2);
        for (int i = 0; i < 2; i++) {
            int target = order ? 2 - i : 1 + i;
            if (target == 1)
                wdl_win_fail(o->win, WDL_ERR_RANGE);
            ck_assert_int_eq(TEST_WAIT(&w, wdl_win_unlock(o->win, target, &o->step)),
                             target == 1 ? WDL_ERR_RANGE : WDL_OK);
            ck_assert_int_eq(o->win->ntargets, 1 - i);
            ck_assert_int_eq(wdl_win_unlock(o->win, target, &o->step), WDL_ERR_SYNC);
            if (target == 1)
                ck_assert_mem_eq(w.rank[1].memory, data, 8);
        }
        ck_assert_int_eq(o->win->epoch.access_state, WDL_ACCESS_NONE);
        ck_assert_uint_eq(w.control[1].lock & 0xffffffff, 0);
    }
    test_world_close(&w);
}
END_TEST

/* Within a node a lock that need not be checked is one although another holds it alone; it is no
 * second one, nor one in another epoch, nor where there are no locks. Elsewhere it is an element's
 * matter. */
START_TEST(an_unchecked_lock_asks_nobody)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++) {
        int node = kinds[kind].node == TEST_RANKS_MAX, step = 0;
        char data[8] = "windlas";
        open_kind(&w, kind, 3);
        struct wdl_win *win = w.rank[0].win, *other = w.rank[2].win;
        TEST_DONE(&w, wdl_win_lock(other, 1, 1, 0, &step));
        ck_assert_int_eq(wdl_win_lock_at_once(win, -1, 0, 1), 0);
        ck_assert_int_eq(wdl_win_lock_at_once(win, 3, 0, 1), 0);
        ck_assert_int_eq(wdl_win_lock_at_once(win, 1, 0, 1), node);
        if (node) {
            ck_assert_int_eq(win->epoch.access_state, WDL_ACCESS_PER_TARGET);
            ck_assert_int_eq(wdl_win_lock_at_once(win, 1, 0, 1), 0);
            ck_assert_int_eq(wdl_win_lock_at_once(win, 2, 0, 1), 0);
            test_op(&w, 0, test_put(1, 0, data, 8));
            TEST_DONE(&w, wdl_win_unlock(win, 1, &step));
            ck_assert_mem_eq(w.rank[1].memory, data, 8);
        }
        ck_assert_int_eq(win->epoch.access_state, WDL_ACCESS_NONE);
        TEST_DONE(&w, wdl_win_unlock(other, 1, &step));
        TEST_DONE(&w, wdl_win_lock_all(win, 0, &step));
        ck_assert_int_eq(wdl_win_lock_at_once(win, 1, 0, 1), 0);
        TEST_DONE(&w, wdl_win_unlock_all(win, &step));
        test_world_close(&w);
    }
    test_world_open(&w, &(struct test_world_params){
                            .ranks = 2, .node = TEST_RANKS_MAX, .no_locks = 1});
    ck_assert_int_eq(wdl_win_lock_at_once(w.rank[0].win, 1, 0, 1), 0);
    test_world_close(&w);
}
END_TEST

static uint64_t inside(const struct test_world *w, int rank)
{
    return w->control[rank].lock & 0xffffffff;
}

static int unlock_at_once(struct wdl_win *win, int rank)
{
    return wdl_quick_holds(&win->quick, rank) && wdl_win_unlock_held(win) == WDL_OK;
}

/* The gate is passed since somebody has called lock_all in this window. */
static void call_lock_all(struct test_world *w)
{
    int step = 0;
    ck_assert_int_eq(wdl_win_lock_all(w->rank[2].win, 0, &step), WDL_OK);
    ck_assert_int_eq(wdl_win_unlock_all(w->rank[2].win, &step), WDL_OK);
}

/* Within a node a process's only lock is had in one step where nobody is in the way, and given back
 * in one; where somebody is, nothing has changed, at the gate neither. It is a lock like others. */
START_TEST(one_lock_at_once)
{
    struct test_world w;
    int steps[2] = {0, 0};
    for (int i = 0; i < 4; i++) {
        int exclusive = i % 2, gated = i / 2 * exclusive, alone = (gated ? 1 : 2) << 16;
        test_world_open(&w, &(struct test_world_params){.ranks = 3, .node = TEST_RANKS_MAX});
        if (i / 2)
            call_lock_all(&w);
        struct wdl_win *win = w.rank[0].win, *other = w.rank[2].win;
        ck_assert_int_eq(unlock_at_once(win, 1), 0);
        ck_assert_int_eq(wdl_win_lock_at_once(win, 1, exclusive, 0), 1);
        ck_assert_uint_eq(inside(&w, 1), exclusive ? alone : 1);
        ck_assert_uint_eq(w.control[0].gate & 0xffffffff, gated << 16);
        ck_assert_int_eq(wdl_win_lock_at_once(win, 2, exclusive, 0), 0);        /* a second one */
        /* another's: alone beside it never, shared beside a shared one */
        ck_assert_int_eq(wdl_win_lock_at_once(other, 1, 1, 0), 0);
        ck_assert_uint_eq(w.control[0].gate & 0xffffffff, gated << 16);
        ck_assert(other->gate_users == 0 && other->epoch.access_state == WDL_ACCESS_NONE);
        ck_assert_int_eq(wdl_win_lock_at_once(other, 1, 0, 0), !exclusive);
        ck_assert_int_eq(unlock_at_once(other, 1), !exclusive);
        /* who waits for it is not passed by; beside it an exclusive lock of another rank is had */
        ck_assert_int_eq(wdl_win_lock(other, 1, 1, 0, &steps[1]), WDL_AGAIN);
        ck_assert_int_eq(wdl_win_lock_at_once(w.rank[1].win, 1, 0, 0), 0);
        ck_assert_int_eq(wdl_win_lock_at_once(w.rank[1].win, 0, 1, 0), 1);
        ck_assert_int_eq(unlock_at_once(w.rank[1].win, 0), 1);
        ck_assert_int_eq(unlock_at_once(win, 2), 0);
        ck_assert_int_eq(unlock_at_once(win, 1), 1);
        ck_assert_int_eq(unlock_at_once(win, 1), 0);
        ck_assert_int_eq(wdl_win_lock(other, 1, 1, 0, &steps[1]), WDL_OK);
        ck_assert_int_eq(wdl_win_unlock(other, 1, &steps[1]), WDL_OK);
        for (int rank = 0; rank < 3; rank++)
            ck_assert_uint_eq(inside(&w, rank), 0);
        ck_assert_uint_eq(w.control[0].gate & 0xffffffff, 0);
        ck_assert_int_eq(win->gate_users + (int) win->gate_in, 0);
        test_world_close(&w);
    }
}
END_TEST

/* So are all locks together once that use is minded: by whoever has nothing open, unless somebody
 * holds one alone, or waits; and so they are given back. One by NOCHECK, or of a window whose
 * locks keep nobody out, passes no gate, in whatever order they come. */
START_TEST(all_locks_at_once)
{
    struct test_world w;
    for (int kind = 0; kind < 2; kind++) {
        struct test_world_params p = {.ranks = 3, .node = TEST_RANKS_MAX, .own = kind};
        int step = 0, steps = 0;
        test_world_open(&w, &p);
        call_lock_all(&w);
        struct wdl_win *win = w.rank[0].win, *other = w.rank[2].win;
        for (int i = 0; i < 6; i++) {
            int nocheck = i % 3 == 0, exclusive = i % 2;
            ck_assert_int_eq(wdl_win_lock_all(win, nocheck ? WDL_MODE_NOCHECK : 0, &step), WDL_OK);
            ck_assert_uint_eq(w.control[0].gate & 0xffffffff, !nocheck);
            ck_assert_int_eq(win->epoch.access_state, WDL_ACCESS_LOCK_ALL_GRANTED);
            ck_assert_int_eq(wdl_win_lock_all(win, 0, &step), WDL_ERR_SYNC);
            test_op(&w, 0, test_put(1, 0, "all", 4));
            int waits = exclusive && !nocheck;
            ck_assert_int_eq(wdl_win_lock(other, 1, exclusive, 0, &steps),
                             waits ? WDL_AGAIN : WDL_OK);
            TEST_DONE(&w, wdl_win_unlock_all(win, &step));
            ck_assert_str_eq(w.rank[1].memory, "all");
            ck_assert_int_eq(win->epoch.access_state, WDL_ACCESS_NONE);
            ck_assert_uint_eq(win->quick.count, 0);
            ck_assert_int_eq(wdl_win_unlock_all(win, &step), WDL_ERR_SYNC);
            if (waits)
                ck_assert_int_eq(wdl_win_lock(other, 1, 1, 0, &steps), WDL_OK);
            /* while it is in the way nobody is inside */
            ck_assert_int_eq(wdl_win_lock_all(win, 0, &step), exclusive ? WDL_AGAIN : WDL_OK);
            ck_assert_uint_eq(w.control[0].gate & 0xffff, !exclusive);
            TEST_DONE(&w, wdl_win_unlock(other, 1, &steps));
            if (exclusive)
                TEST_DONE(&w, wdl_win_lock_all(win, 0, &step));
            TEST_DONE(&w, wdl_win_unlock_all(win, &step));
            ck_assert_uint_eq(w.control[0].gate & 0xffffffff, 0);
        }
        test_world_close(&w);
    }
    test_world_open(&w, &(struct test_world_params){
                            .ranks = 3, .node = TEST_RANKS_MAX, .nonoverlapping = 1});
    int step = 0;
    w.control[0].gate_mode = WDL_GATE_MINDED;
    ck_assert_int_eq(wdl_win_lock_all(w.rank[0].win, 0, &step), WDL_OK);
    ck_assert_uint_eq(w.control[0].gate, 0);
    ck_assert_int_eq(w.rank[0].win->quick.sole, 1);
    TEST_DONE(&w, wdl_win_unlock_all(w.rank[0].win, &step));
    test_world_close(&w);
}
END_TEST

/* A window's locks by message that its process has called are granted before another window's are
 * taken, though these are had at once. */
START_TEST(all_locks_at_once_come_behind_those_called)
{
    enum { RANKS = 3 };
    struct test_world w;
    struct wdl_win *far[RANKS];
    int step = 0, steps = 0;
    test_world_open(&w, &(struct test_world_params){.ranks = RANKS, .node = TEST_RANKS_MAX,
                                                    .own = 1});
    for (int i = 0; i < RANKS; i++) {
        struct wdl_win_params params = test_win_params(&w.rank[i]);
        params.id = 5;
        params.node_whole = 0;
        ck_assert_int_eq(wdl_win_create(w.rank[i].proc, &params, &far[i]), WDL_OK);
    }
    call_lock_all(&w);
    struct wdl_win *win = w.rank[0].win;
    ck_assert_int_eq(wdl_win_lock(far[0], 1, 1, 0, &steps), WDL_OK);
    ck_assert_int_eq(wdl_win_lock_all(win, 0, &step), WDL_AGAIN);
    ck_assert_int_eq(win->epoch.access_state, WDL_ACCESS_NONE);
    TEST_DONE(&w, wdl_win_lock_all(win, 0, &step));
    ck_assert_int_eq(win->rma->ncalled, 0);
    TEST_DONE(&w, wdl_win_unlock_all(win, &step));
    TEST_DONE(&w, wdl_win_unlock(far[0], 1, &steps));
    for (int i = 0; i < RANKS; i++)
        TEST_DONE(&w, wdl_win_free(far[i]));
    test_world_close(&w);
}
END_TEST

/* --- several locks at a time ------------------------------------------------------------------ */

enum { OWN_LOCK, OWN_GET, OWN_FLUSH, OTHER_LOCK, OTHER_GET, OTHER_FLUSH, OTHER_UNLOCK, OWN_UNLOCK,
    HELD_OVER };

struct holder {
    int state, own, other, alone;
    int rounds, inner;
    int sessions;               /* of it, ever */
    int64_t value;
};

/* One attempt at the holder's next call. */
static int hold(struct test_rank *r, struct holder *h)
{
    int target = h->state >= OTHER_LOCK && h->state <= OTHER_UNLOCK ? h->other : h->own;
    struct wdl_rma_args get = test_get(target, 0, &h->value, 8);
    switch (h->state) {
        case OWN_LOCK:
        case OTHER_LOCK:
            return wdl_win_lock(r->win, target, h->alone, 0, &r->step);
        case OWN_GET:
        case OTHER_GET:
            return wdl_rma_op(r->win, &get);
        case OWN_FLUSH:
        case OTHER_FLUSH:
            return wdl_win_flush(r->win, target, 0, &r->step);
        default:
            return wdl_win_unlock(r->win, target, &r->step);
    }
}

static void hold_on(struct holder *h)
{
    enum { INNER = 3 };
    int was = h->state++;
    if (was == OWN_FLUSH && h->alone)
        h->state = OWN_UNLOCK;
    if (was == OTHER_UNLOCK && ++h->inner < INNER)
        h->state = OTHER_LOCK;
    if (was == OWN_UNLOCK) {
        h->inner = 0;
        h->sessions++;
        h->state = --h->rounds > 0 ? OWN_LOCK : HELD_OVER;
    }
}

/* Two processes hold a shared lock each, and take the other's again and again; two others want each
 * of these alone. They do not wait for each other in a circle; and nobody who waits sees another
 * begin anew and overtake it again: where a call takes no time at all. */
START_TEST(who_holds_does_not_wait_behind_who_waits)
{
    enum { HOLDERS = 4, ROUNDS = 6 };
    for (int kind = 0; kind < KINDS; kind++) {
        struct test_world w;
        struct holder holder[HOLDERS];
        int left = HOLDERS, seen[HOLDERS][2], at_once = kinds[kind].node > 2;
        open_kind(&w, kind, 6);
        memset(seen, -1, sizeof seen);
        for (int i = 0; i < HOLDERS; i++)
            holder[i] = (struct holder){.own = 4 + i % 2, .other = 5 - i % 2, .alone = i >= 2,
                                        .rounds = ROUNDS};
        for (int turns = 0; left > 0; turns++) {
            int i = (int) wdl_prng_below(&w.prng, HOLDERS);
            struct holder *h = &holder[i];
            ck_assert_int_lt(turns, TEST_TURNS_MAX);
            int was = h->state, status = was == HELD_OVER ? WDL_AGAIN : hold(&w.rank[i], h);
            ck_assert(status == WDL_OK || status == WDL_AGAIN);
            for (int k = 0; k < 2 && i >= 2 && was == OWN_LOCK; k++) {
                if (status == WDL_AGAIN && seen[i][k] < 0)
                    seen[i][k] = holder[k].sessions;
                else if (status == WDL_OK)
                    seen[i][k] = -1;
                if (at_once && seen[i][k] >= 0 && holder[k].state > OTHER_LOCK)
                    ck_assert_int_le(holder[k].sessions - seen[i][k], 1);
            }
            if (status == WDL_OK)
                hold_on(h);
            left -= status == WDL_OK && h->state == HELD_OVER;
            test_world_turn(&w);
        }
        for (int i = 0; i < w.n; i++)
            ck_assert_int_eq(w.rank[i].win->grant.holders, 0);
        test_world_close(&w);
    }
}
END_TEST

/* MEM_SYNC of seed 001 that a rank has done since it was last asked. */
static unsigned syncs(const struct test_rank *r, unsigned *seen)
{
    unsigned before = *seen;
    *seen = r->win->quick.syncs;
    return *seen - before;
}

/* Barriers where seed 001's figures have them: behind what takes a lock, and before what gives it
 * back, where that is not an instruction that is one itself, as those on a node's words are. */
START_TEST(a_lock_orders_memory)
{
    enum { SHARED, EXCLUSIVE };
    static const struct { struct test_world_params p; unsigned lock[2], unlock, served; } rows[] = {
        { {.node = 1 }, {1, 1}, 1, 1 }, { {.node = 1,.unordered = 1 }, {1, 1}, 1, 1 },
        { {.node = 2 }, {0, 0}, 0, 0 },
        /* the network's word; the gate's is in this rank's own memory; then the call */
        { {.node = 1,.direct = 1,.atomics = 1 }, {2, 2}, 1, 0 }
    };
    struct test_world w;
    char data[8] = "stored.";
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int kind = SHARED; kind <= EXCLUSIVE; kind++) {
            struct test_world_params p = rows[i].p;
            unsigned seen[2] = { 0 };
            p.ranks = 2;
            test_world_open(&w, &p);
            struct test_rank *o = &w.rank[0], *t = &w.rank[1];
            (void) syncs(o, &seen[0]);
            (void) syncs(t, &seen[1]);
            TEST_DONE(&w, wdl_win_lock(o->win, 1, kind == EXCLUSIVE, 0, &o->step));
            ck_assert_uint_eq(syncs(o, &seen[0]), rows[i].lock[kind]);
            test_op(&w, 0, test_put(1, 0, data, 8));
            TEST_DONE(&w, wdl_win_flush(o->win, 1, 0, &o->step));
            ck_assert_uint_eq(syncs(o, &seen[0]), 1);
            test_op(&w, 0, test_put(1, 8, data, 8));
            TEST_DONE(&w, wdl_win_unlock(o->win, 1, &o->step));
            unsigned unlock = syncs(o, &seen[0]);       /* once an attempt */
            if (rows[i].unlock)
                ck_assert_uint_ge(unlock, rows[i].unlock);
            else
                ck_assert_uint_eq(unlock, 0);
            test_world_settle(&w);
            ck_assert_uint_eq(syncs(t, &seen[1]), rows[i].served);
            ck_assert_int_eq(wdl_win_sync(o->win), WDL_OK);
            ck_assert_uint_eq(syncs(o, &seen[0]), 1);
            test_world_close(&w);
        }
}
END_TEST

/* Mapped memory: NOCHECK locks, which touch no word, and flushes need one for what was stored, and
 * for nothing else; a lock beside another, whose element is asked, has its own. */
START_TEST(what_was_stored_is_ordered_once)
{
    struct test_world w;
    unsigned seen = 0;
    char data[8] = "stored.";
    test_world_open(&w, &(struct test_world_params) {.ranks = 2,.node = 2 });
    struct test_rank *o = &w.rank[0];
    (void) syncs(o, &seen);
    for (int stores = 0; stores < 2; stores++) {
        TEST_DONE(&w, wdl_win_lock(o->win, 1, 1, WDL_MODE_NOCHECK, &o->step));
        ck_assert_uint_eq(syncs(o, &seen), 0);
        if (stores)
            test_op(&w, 0, test_put(1, 0, data, 8));
        TEST_DONE(&w, wdl_win_unlock(o->win, 1, &o->step));
        ck_assert_uint_eq(syncs(o, &seen), (unsigned) stores);
    }
    TEST_DONE(&w, wdl_win_lock(o->win, 1, 0, 0, &o->step));
    ck_assert_uint_eq(syncs(o, &seen), 0);
    test_op(&w, 0, test_put(1, 0, data, 8));
    for (int stores = 1; stores >= 0; stores--) {
        ck_assert_int_eq(wdl_quick_flush(&o->win->quick, 1), 1);
        ck_assert_uint_eq(syncs(o, &seen), (unsigned) stores);
    }
    TEST_DONE(&w, wdl_win_lock(o->win, 0, 0, 0, &o->step));
    ck_assert_uint_eq(syncs(o, &seen), 1);
    TEST_DONE(&w, wdl_win_unlock(o->win, 0, &o->step));
    TEST_DONE(&w, wdl_win_unlock(o->win, 1, &o->step));
    test_world_close(&w);
}
END_TEST

/* So do several elements at a time, whose region is closed for them and opened again by a store;
 * one is an instruction that is a barrier, and NO_OP stores nothing. */
START_TEST(what_is_updated_is_ordered)
{
    struct test_world w;
    unsigned seen = 0;
    uint64_t data[4] = {1, 2, 3, 4}, old[4];
    test_world_open(&w, &(struct test_world_params) {.ranks = 2,.node = 2 });
    struct test_rank *o = &w.rank[0];
    struct wdl_element el = test_element(TEST_U64);
    TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
    (void) syncs(o, &seen);
    for (int way = 0; way < 5; way++) {
        enum wdl_rop op = way == 2 ? WDL_ROP_NO_OP : WDL_ROP_SUM;
        if (way < 3)
            ck_assert_int_eq(wdl_win_accumulate_short(o->win, 1, 0, way == 0 ? 1 : 4, op, &el,
                                                      data, way == 2 ? old : NULL), WDL_OK);
        else if (way == 3)
            ck_assert_int_eq(wdl_win_replace(o->win, 1, 0, 4, &el, data), WDL_OK);
        else
            test_op(&w, 0, test_acc(1, 0, WDL_ROP_SUM, TEST_U64, 4, data, NULL));
        ck_assert_int_eq(wdl_quick_flush(&o->win->quick, 1), 1);
        ck_assert_uint_eq(syncs(o, &seen), way == 1 || way >= 3);
    }
    TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
    test_world_close(&w);
}
END_TEST

/* lock_all, too: in the call where all locks are there behind it, or else when each is, before
 * mapped memory is accessed. */
START_TEST(lock_all_orders_memory)
{
    static const struct { struct test_world_params p; unsigned lock[2], first; } rows[] = {
        { {.node = 2 }, {0, 1}, 1 }, { {.node = 2,.unordered = 1 }, {0, 1}, 1 },
        { {.node = 4 }, {0, 0}, 0 },
        { {.node = 2,.direct = 1,.atomics = 1 }, {1, 1}, 0 }   /* the network's word */
    };
    struct test_world w;
    char data[8] = "stored.";
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int nocheck = 0; nocheck < 2; nocheck++) {
            struct test_world_params p = rows[i].p;
            unsigned seen = 0;
            p.ranks = 4;
            test_world_open(&w, &p);
            struct test_rank *o = &w.rank[2];
            (void) syncs(o, &seen);
            TEST_DONE(&w, wdl_win_lock_all(o->win, nocheck ? WDL_MODE_NOCHECK : 0, &o->step));
            ck_assert_uint_eq(syncs(o, &seen), rows[i].lock[nocheck]);
            for (int times = 0; times < 2; times++) {
                test_op(&w, 2, test_put(3, 0, data, 8));
                ck_assert_mem_eq(w.rank[3].memory, data, 8);
                ck_assert_uint_eq(syncs(o, &seen), nocheck || times ? 0 : rows[i].first);
            }
            TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
            test_world_close(&w);
        }
}
END_TEST

/* The window protocol of lock_all takes all locks together, and gives them back at once. */
START_TEST(unlock_all_orders_memory)
{
    struct test_world w;
    unsigned seen = 0;
    char data[8] = "stored.";
    test_world_open(&w, &(struct test_world_params) {.ranks = 4,
                    .rma = {.win_targets = 1,.global_targets = 1 } });
    struct test_rank *o = &w.rank[0];
    TEST_DONE(&w, wdl_win_lock_all(o->win, 0, &o->step));
    (void) syncs(o, &seen);
    wdl_lock_all_switch(o->win);
    test_world_settle(&w);
    ck_assert_int_eq(o->win->epoch.access_state, WDL_ACCESS_LOCK_ALL_GRANTED);
    ck_assert_uint_eq(syncs(o, &seen), 1);
    for (int t = 1; t < 4; t++)
        test_op(&w, 0, test_put(t, 0, data, 8));
    ck_assert_uint_eq(syncs(o, &seen), 0);
    TEST_DONE(&w, wdl_win_flush(o->win, -1, 0, &o->step));
    (void) syncs(o, &seen);
    TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
    ck_assert_uint_eq(syncs(o, &seen), 1 + 1);  /* once more as a target, its own */
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/passive", an_exclusive_holder_is_alone, a_flush_completes_at_the_target,
          a_flush_costs_one_question_where_something_is_unflushed, calls_out_of_order_are_errors,
          locks_in_order_meet_no_circle, a_lock_is_granted_before_the_next_one,
          a_lock_all_is_granted_before_the_next_lock,
          what_waits_for_a_lock_delays_no_other_thread, a_turn_is_a_threads_own,
          a_turn_that_is_awaited_leaves_the_key_to_others,
          a_window_without_locks_refuses_them, a_failure_at_the_target_is_the_next_calls_error,
          the_fence_epoch_ends_with_the_first_lock, who_has_posted_locks_others,
          a_word_that_cannot_be_had,
          a_lock_within_a_node_needs_no_element, an_unchecked_lock_asks_nobody, one_lock_at_once,
          all_locks_at_once, all_locks_at_once_come_behind_those_called,
          who_holds_does_not_wait_behind_who_waits,
          a_lock_orders_memory, what_was_stored_is_ordered_once, what_is_updated_is_ordered,
          lock_all_orders_memory, unlock_all_orders_memory)
