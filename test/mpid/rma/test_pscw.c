/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/pscw. */
#include "host/testworld.h"
#include "support/suite.h"

static const struct test_world_params kinds[] = {
    {.node = 1 }, {.node = 1,.unordered = 1,.delay_ns_max = 3000,.refuse_permille = 200 },
    {.node = 2 }, {.node = TEST_RANKS_MAX,.own = 1,.delay_ns_max = 3000 },
    {.node = TEST_RANKS_MAX }
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void open_kind(struct test_world *w, int kind, int ranks)
{
    struct test_world_params p = kinds[kind];
    p.ranks = ranks;
    p.seed = (uint64_t) (ranks + kind);
    test_world_open(w, &p);
}

/* The ranks of a window but `me`, in descending order: groups need not be sorted. */
static int others(const struct test_world *w, int me, int *group)
{
    int n = 0;
    for (int i = w->n - 1; i >= 0; i--)
        if (i != me)
            group[n++] = i;
    return n;
}

/* Everyone exposes to everyone and puts to everyone; after wait all of it must be there. */
START_TEST(what_was_put_is_there_after_wait)
{
    struct test_world w;
    int group[TEST_RANKS_MAX][TEST_RANKS_MAX], n = 0;
    int64_t value[TEST_RANKS_MAX];
    for (int kind = 0; kind < KINDS; kind++)
        for (int ranks = 2; ranks <= TEST_RANKS_MAX; ranks++) {
            open_kind(&w, kind, ranks);
            for (int i = 0; i < ranks; i++)
                n = others(&w, i, group[i]);
            for (int epoch = 1; epoch <= 3; epoch++) {
                TEST_ALL(&w, wdl_win_post(r->win, group[r->rank], n, 0, &r->step));
                TEST_ALL(&w, wdl_win_start(r->win, group[r->rank], n, 0, &r->step));
                for (int o = 0; o < ranks; o++) {
                    value[o] = epoch * 100 + o;
                    for (int i = 0; i < n; i++)
                        test_op(&w, o, test_put(group[o][i], 8 * o, &value[o], 8));
                }
                TEST_ALL(&w, wdl_win_complete(r->win, &r->step));
                TEST_ALL(&w, wdl_win_wait(r->win, &r->step));
                for (int t = 0; t < ranks; t++)
                    for (int i = 0; i < n; i++)
                        ck_assert_int_eq(((int64_t *) (void *) w.rank[t].memory)[group[t][i]],
                                         value[group[t][i]]);
            }
            test_world_close(&w);
        }
}
END_TEST

START_TEST(post_and_complete_cost_one_message_a_member_start_and_wait_none)
{
    struct test_world w;
    int group[TEST_RANKS_MAX], origin = 0;
    for (int kind = 0; kind < 2; kind++)
        for (int k = 0; k < TEST_RANKS_MAX; k++) {
            open_kind(&w, kind, TEST_RANKS_MAX);
            struct test_rank *o = &w.rank[0];
            for (int i = 0; i < k; i++)
                group[i] = i + 1;
            int live = o->host.live;
            TEST_DONE(&w, wdl_win_start(o->win, group, k, 0, &o->step));
            ck_assert_int_eq(test_world_messages(&w), 0);
            for (int i = 0; i < k; i++)
                TEST_DONE(&w, wdl_win_post(w.rank[group[i]].win, &origin, 1, 0, &w.rank[i].step));
            ck_assert_int_eq(test_world_messages(&w), k);
            TEST_DONE(&w, wdl_win_complete(o->win, &o->step));
            ck_assert_int_eq(test_world_messages(&w), k);
            for (int i = 0; i < k; i++)
                TEST_DONE(&w, wdl_win_wait(w.rank[group[i]].win, &w.rank[i].step));
            ck_assert_int_eq(test_world_messages(&w), 0);
            ck_assert_int_eq(o->host.live, live + 2);   /* its group's places */
            test_world_close(&w);
        }
    /* on one node nobody sends anything */
    open_kind(&w, KINDS - 1, 2);
    origin = 1;
    TEST_DONE(&w, wdl_win_post(w.rank[0].win, &origin, 1, 0, &w.rank[0].step));
    origin = 0;
    TEST_DONE(&w, wdl_win_start(w.rank[1].win, &origin, 1, 0, &w.rank[1].step));
    TEST_DONE(&w, wdl_win_complete(w.rank[1].win, &w.rank[1].step));
    TEST_DONE(&w, wdl_win_wait(w.rank[0].win, &w.rank[0].step));
    ck_assert_int_eq(test_world_messages(&w), 0);
    test_world_close(&w);
}
END_TEST

/* A group as large as one before asks for no memory, a smaller one neither; the window says what it
 * keeps. */
START_TEST(a_group_like_one_before_asks_for_no_memory)
{
    enum { RANKS_N = 4 };
    struct test_world w;
    int group[RANKS_N], none = 0;
    struct wdl_win_stats before, after;
    open_kind(&w, 0, RANKS_N);
    struct test_rank *o = &w.rank[0];
    wdl_win_stats_get(o->win, &before);
    for (int epoch = 0; epoch < 4; epoch++) {
        int n = epoch == 2 ? 1 : RANKS_N - 1;
        uint64_t asked = o->host.allocations;
        (void) others(&w, 0, group);
        TEST_DONE(&w, wdl_win_start(o->win, group, n, WDL_MODE_NOCHECK, &o->step));
        ck_assert_uint_eq(o->host.allocations - asked, epoch == 0 ? 2 : 0);
        for (int i = 0; i < n; i++)
            TEST_DONE(&w, wdl_win_post(w.rank[group[i]].win, &none, 1, WDL_MODE_NOCHECK,
                                       &w.rank[group[i]].step));
        TEST_DONE(&w, wdl_win_complete(o->win, &o->step));
        for (int i = 0; i < n; i++)
            TEST_DONE(&w, wdl_win_wait(w.rank[group[i]].win, &w.rank[group[i]].step));
    }
    wdl_win_stats_get(o->win, &after);
    ck_assert_uint_eq(after.bytes - before.bytes,
                      RANKS_N * (sizeof(int) + sizeof(struct wdl_posted)));
    test_world_close(&w);
}
END_TEST

/* In its call where it is done in the call; else it is queued. */
START_TEST(an_operation_waits_for_its_own_targets_post)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++) {
        int targets[] = { 1, 2 }, origin = 0, step = 0;
        char data[8] = "waited.", none[8] = "";
        open_kind(&w, kind, 3);
        struct test_rank *o = &w.rank[0];
        struct wdl_rma_args put = test_put(1, 0, data, 8), late = test_put(2, 0, data, 8);
        TEST_DONE(&w, wdl_win_start(o->win, targets, 2, 0, &o->step));
        int node = kinds[kind].node, queued = wdl_rma_op(o->win, &put) == WDL_OK;
        ck_assert_int_eq(queued, node == 1);
        TEST_DONE(&w, wdl_win_post(w.rank[1].win, &origin, 1, 0, &step));
        if (!queued)
            test_op(&w, 0, put);
        int late_queued = wdl_rma_op(o->win, &late) == WDL_OK;
        ck_assert_int_eq(late_queued, node <= 2);
        for (int i = 0; i < 20; i++) {
            if (!late_queued)
                ck_assert_int_eq(wdl_rma_op(o->win, &late), WDL_AGAIN);
            ck_assert_mem_eq(w.rank[2].memory, none, 8);
            ck_assert_int_eq(wdl_win_complete(o->win, &o->step), WDL_AGAIN);
            ck_assert_int_eq(wdl_win_wait(w.rank[1].win, &w.rank[1].step), WDL_AGAIN);
            test_world_turn(&w);
        }
        TEST_DONE(&w, wdl_win_post(w.rank[2].win, &origin, 1, 0, &step));
        if (!late_queued)
            test_op(&w, 0, late);
        TEST_DONE(&w, wdl_win_complete(o->win, &o->step));
        for (int t = 1; t < 3; t++) {
            TEST_DONE(&w, wdl_win_wait(w.rank[t].win, &w.rank[t].step));
            ck_assert_mem_eq(w.rank[t].memory, data, 8);
        }
        test_world_close(&w);
    }
}
END_TEST

/* Once all of a group have posted, operations to it take the short way (quick.h), if its ranks are
 * one behind the other; and nobody else is let in by it. */
START_TEST(who_has_started_takes_the_short_way)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 6, .node = 6};
    for (int i = 0; i < 8; i++) {
        int origin = 0, nocheck = i & 1, apart = i & 2, few = i & 4;
        int targets[] = {3, apart ? 5 : 4, 2}, n = few ? 1 : 3;
        int64_t value = 7;
        char *at;
        test_world_open(&w, &p);
        struct test_rank *o = &w.rank[0];
        for (int k = 0; k < n; k++) {
            struct test_rank *t = &w.rank[targets[k]];
            TEST_DONE(&w, wdl_win_post(t->win, &origin, 1, 0, &t->step));
        }
        TEST_DONE(&w, wdl_win_start(o->win, targets, n, nocheck ? WDL_MODE_NOCHECK : 0, &o->step));
        ck_assert_int_eq(o->win->epoch.access_state,
                         nocheck ? WDL_ACCESS_PSCW_GRANTED : WDL_ACCESS_PSCW_ISSUED);
        test_op(&w, 0, test_put(3, 0, &value, 8));
        ck_assert_int_eq(o->win->epoch.access_state, WDL_ACCESS_PSCW_GRANTED);
        for (int rank = 0; rank < p.ranks; rank++) {
            int member = rank == targets[0] || (!few && (rank == targets[1] || rank == targets[2]));
            struct wdl_rma_args put = test_put(rank, 0, &value, 8);
            ck_assert_int_eq(wdl_quick_reach(&o->win->quick, rank, 0, 8, &at),
                             member && (few || !apart));
            ck_assert_int_eq(wdl_rma_op(o->win, &put), member ? WDL_OK : WDL_ERR_SYNC);
        }
        ck_assert(wdl_win_is_active(o->win) && o->win->quick.fence == (few || !apart));
        TEST_DONE(&w, wdl_win_complete(o->win, &o->step));
        ck_assert_int_eq(wdl_quick_reach(&o->win->quick, 3, 0, 8, &at), 0);
        for (int k = 0; k < n; k++) {
            struct test_rank *t = &w.rank[targets[k]];
            TEST_DONE(&w, wdl_win_wait(t->win, &t->step));
        }
        test_world_close(&w);
    }
}
END_TEST

/* The program's own loads and stores behind it cannot be held back. */
START_TEST(start_waits_where_the_program_may_store)
{
    enum { N = 3 };
    struct test_world w;
    int group[N] = { 1, 2, 0 }, origin = 0, step = 0;
    for (int nocheck = 0; nocheck < 2; nocheck++) {
        int assertion = nocheck ? WDL_MODE_NOCHECK : 0;
        test_world_open(&w, &(struct test_world_params) {.ranks = N,.node = N,.shared = 1 });
        struct test_rank *o = &w.rank[0];
        for (int t = 1; t < N; t++) {
            if (!nocheck)
                for (int i = 0; i < 20; i++) {
                    ck_assert_int_eq(wdl_win_start(o->win, group, N, 0, &o->step), WDL_AGAIN);
                    test_world_turn(&w);
                }
            TEST_DONE(&w, wdl_win_post(w.rank[t].win, &origin, 1, assertion, &step));
        }
        TEST_DONE(&w, wdl_win_start(o->win, group, N, assertion, &o->step));
        /* oneself may post after it */
        TEST_DONE(&w, wdl_win_post(o->win, &origin, 1, assertion, &step));
        TEST_DONE(&w, wdl_win_complete(o->win, &o->step));
        for (int t = 0; t < N; t++)
            TEST_DONE(&w, wdl_win_wait(w.rank[t].win, &step));
        test_world_close(&w);
    }
}
END_TEST

/* Posts that come before their start are kept by rank, and count for that rank's start only. */
START_TEST(early_posts_are_remembered)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++) {
        int origin = 0, step = 0;
        open_kind(&w, kind, TEST_RANKS_MAX);
        struct test_rank *o = &w.rank[0];
        for (int t = 1; t < TEST_RANKS_MAX; t++)
            TEST_DONE(&w, wdl_win_post(w.rank[t].win, &origin, 1, 0, &step));
        test_world_settle(&w);
        for (int t = TEST_RANKS_MAX - 1; t > 0; t--) {
            char data = (char) t;
            TEST_DONE(&w, wdl_win_start(o->win, &t, 1, 0, &o->step));
            test_op(&w, 0, test_put(t, 0, &data, 1));
            TEST_DONE(&w, wdl_win_complete(o->win, &o->step));
            TEST_DONE(&w, wdl_win_wait(w.rank[t].win, &step));
            ck_assert_int_eq(w.rank[t].memory[0], t);
        }
        /* used up: the next start waits */
        int t = 3;
        TEST_DONE(&w, wdl_win_start(o->win, &t, 1, 0, &o->step));
        ck_assert_int_eq(wdl_win_complete(o->win, &o->step), WDL_AGAIN);
        TEST_DONE(&w, wdl_win_post(w.rank[t].win, &origin, 1, 0, &step));
        TEST_DONE(&w, wdl_win_complete(o->win, &o->step));
        TEST_DONE(&w, wdl_win_wait(w.rank[t].win, &step));
        test_world_close(&w);
    }
}
END_TEST

/* Members of one's own node are told in memory, others by message; and so is the end of operations
 * that are messages themselves, though their target is near. */
START_TEST(a_window_of_several_nodes_tells_its_own_in_memory)
{
    enum { NODE = 3, N = 7 };
    for (int own = 0; own < 2; own++) {
        struct test_world w;
        int group[N], origin = 0;
        char data[8] = "nearby.";
        test_world_open(&w, &(struct test_world_params){.ranks = N + 1,.node = NODE,.own = own });
        struct test_rank *o = &w.rank[0];
        for (int i = 0; i < N; i++)
            group[i] = i + 1;
        for (int epoch = 0; epoch < 3; epoch++) {
            TEST_DONE(&w, wdl_win_post(o->win, group, N, 0, &o->step));
            ck_assert_int_eq(test_world_messages(&w), N - (NODE - 1));
            for (int i = 1; i <= N; i++) {
                TEST_DONE(&w, wdl_win_start(w.rank[i].win, &origin, 1, 0, &w.rank[i].step));
                TEST_DONE(&w, wdl_win_complete(w.rank[i].win, &w.rank[i].step));
            }
            TEST_DONE(&w, wdl_win_wait(o->win, &o->step));
            ck_assert_int_eq(test_world_messages(&w), N - (NODE - 1));
            for (int i = 1; i <= N; i++)
                TEST_DONE(&w, wdl_win_post(w.rank[i].win, &origin, 1, 0, &w.rank[i].step));
            TEST_DONE(&w, wdl_win_start(o->win, group, N, 0, &o->step));
            ck_assert_int_eq(test_world_messages(&w), N - (NODE - 1));
            data[0]++;
            for (int i = 1; i <= N; i++)
                test_op(&w, 0, test_put(i, 0, data, 8));
            TEST_DONE(&w, wdl_win_complete(o->win, &o->step));
            for (int i = 1; i <= N; i++)
                TEST_DONE(&w, wdl_win_wait(w.rank[i].win, &w.rank[i].step));
            ck_assert_int_eq(test_world_messages(&w), own ? N : N - (NODE - 1));
            for (int i = 1; i <= N; i++)
                ck_assert_mem_eq(w.rank[i].memory, data, 8);
        }
        test_world_close(&w);
    }
}
END_TEST

/* More posts than the origin's block has places: the rest are messages. */
START_TEST(a_full_block_takes_posts_by_message)
{
    struct test_world w;
    int origin = 0, step = 0, t = 1;
    open_kind(&w, KINDS - 1, 3);
    for (int i = 0; i < WDL_WIN_POSTS; i++)
        w.control[0].posted[i] = 3;     /* of rank 2 */
    TEST_DONE(&w, wdl_win_post(w.rank[1].win, &origin, 1, 0, &step));
    ck_assert_int_eq(test_world_messages(&w), 1);
    TEST_DONE(&w, wdl_win_start(w.rank[0].win, &t, 1, 0, &step));
    TEST_DONE(&w, wdl_win_complete(w.rank[0].win, &step));
    TEST_DONE(&w, wdl_win_wait(w.rank[1].win, &step));
    ck_assert_uint_eq(w.control[0].posted[0], 3);       /* another's is left alone */
    test_world_close(&w);
}
END_TEST

/* A post that was seen is not written over before its target has heard of complete; nor is it seen
 * again, and its place is free when complete returns. */
START_TEST(a_place_is_given_back_by_complete)
{
    struct test_world w;
    int origin = 0, target[2] = {1, 2}, step[3] = {0, 0, 0};
    char data[8] = "places.";
    open_kind(&w, KINDS - 1, 3);
    uint32_t *posted = w.control[0].posted;
    for (int epoch = 0; epoch < 2 * WDL_WIN_POSTS; epoch++) {
        TEST_DONE(&w, wdl_win_post(w.rank[1].win, &origin, 1, 0, &step[1]));
        TEST_DONE(&w, wdl_win_start(w.rank[0].win, target, 2, 0, &step[0]));
        test_op(&w, 0, test_put(1, 0, data, 8));
        ck_assert(posted[0] == (2 | WDL_POSTED_ALONE) && posted[1] == 0);
        ck_assert_int_eq(wdl_win_complete(w.rank[0].win, &step[0]), WDL_AGAIN);
        TEST_DONE(&w, wdl_win_post(w.rank[2].win, &origin, 1, 0, &step[2]));
        ck_assert(posted[0] == (2 | WDL_POSTED_ALONE) && posted[1] == (3 | WDL_POSTED_ALONE));
        TEST_DONE(&w, wdl_win_complete(w.rank[0].win, &step[0]));
        for (int i = 0; i < WDL_WIN_POSTS; i++)
            ck_assert_uint_eq(posted[i], 0);
        TEST_DONE(&w, wdl_win_wait(w.rank[1].win, &step[1]));
        TEST_DONE(&w, wdl_win_wait(w.rank[2].win, &step[2]));
    }
    ck_assert_int_eq(test_world_messages(&w), 0);
    test_world_close(&w);
}
END_TEST

START_TEST(nocheck_sends_no_post)
{
    struct test_world w;
    int origin = 0, t = 1, step = 0;
    char data[8] = "trusted";
    open_kind(&w, 0, 2);
    TEST_DONE(&w, wdl_win_post(w.rank[1].win, &origin, 1, WDL_MODE_NOCHECK, &step));
    TEST_DONE(&w, wdl_win_start(w.rank[0].win, &t, 1, WDL_MODE_NOCHECK, &step));
    test_op(&w, 0, test_put(1, 0, data, 8));
    TEST_DONE(&w, wdl_win_complete(w.rank[0].win, &step));
    TEST_DONE(&w, wdl_win_wait(w.rank[1].win, &step));
    ck_assert_mem_eq(w.rank[1].memory, data, 8);
    ck_assert_int_eq(test_world_messages(&w), 1);       /* put and complete */
    test_world_close(&w);
}
END_TEST

/* What post is told of the own memory spares its owner a barrier of the processor's each: before
 * the epoch nothing was stored there, or in it nothing is put. */
START_TEST(assertions_spare_barriers)
{
    static const struct { int assertion; unsigned post, wait; } rows[] = {
        {WDL_MODE_NOCHECK, 1, 1},
        {WDL_MODE_NOCHECK | WDL_MODE_NOSTORE, 0, 1},
        {WDL_MODE_NOCHECK | WDL_MODE_NOPUT, 1, 0},
        {WDL_MODE_NOCHECK | WDL_MODE_NOSTORE | WDL_MODE_NOPUT, 0, 0}
    };
    for (int k = 0; k < 4; k++) {
        struct test_world w;
        int origin = 0, t = 1, step = 0;
        open_kind(&w, 0, 2);
        for (int i = 0; i < 2; i++) {   /* each is of its own epoch */
            int row = i ? 0 : k;
            struct wdl_win *target = w.rank[1].win;
            unsigned before = target->quick.syncs;
            TEST_DONE(&w, wdl_win_post(target, &origin, 1, rows[row].assertion, &step));
            ck_assert_uint_eq(target->quick.syncs - before, rows[row].post);
            TEST_DONE(&w, wdl_win_start(w.rank[0].win, &t, 1, WDL_MODE_NOCHECK, &step));
            TEST_DONE(&w, wdl_win_complete(w.rank[0].win, &step));
            before = target->quick.syncs;
            TEST_DONE(&w, wdl_win_wait(target, &step));
            ck_assert_uint_eq(target->quick.syncs - before, rows[row].wait);
        }
        test_world_close(&w);
    }
}
END_TEST

START_TEST(calls_out_of_order_are_errors)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind += KINDS - 1) {
        int target = 1, origin = 0, step = 0;
        char data[8] = "";
        open_kind(&w, kind, 3);
        struct wdl_win *win = w.rank[0].win;
        struct wdl_rma_args put = test_put(1, 0, data, 8), outside = test_put(2, 0, data, 8);
        ck_assert_int_eq(wdl_rma_op(win, &put), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_complete(win, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_wait(win, &step), WDL_ERR_SYNC);
        TEST_DONE(&w, wdl_win_start(win, &target, 1, 0, &step));
        ck_assert_int_eq(wdl_win_start(win, &target, 1, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_lock(win, 1, 0, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_lock_all(win, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_flush(win, 1, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_may_free(win), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_free(win), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_rma_op(win, &outside), WDL_ERR_SYNC);
        win = w.rank[1].win;
        TEST_DONE(&w, wdl_win_post(win, &origin, 1, 0, &step));
        ck_assert_int_eq(wdl_win_post(win, &origin, 1, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_lock(win, 1, 0, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_lock_all(win, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_free(win), WDL_ERR_SYNC);
        TEST_DONE(&w, wdl_win_complete(w.rank[0].win, &step));
        TEST_DONE(&w, wdl_win_wait(win, &step));
        ck_assert_int_eq(wdl_win_wait(win, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(step, 0);
        test_world_close(&w);
    }
}
END_TEST

START_TEST(a_fence_epoch_that_was_used_must_be_closed_first)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind += KINDS - 1) {
        int target = 1, step = 0;
        char data[8] = "";
        open_kind(&w, kind, 2);
        struct wdl_win *win = w.rank[0].win;
        TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
        test_op(&w, 0, test_put(1, 0, data, 8));
        ck_assert_int_eq(wdl_win_start(win, &target, 1, 0, &step), WDL_ERR_SYNC);
        ck_assert_int_eq(wdl_win_post(win, &target, 1, 0, &step), WDL_ERR_SYNC);
        TEST_ALL(&w, wdl_win_fence(r->win, 0, &r->step));
        TEST_DONE(&w, wdl_win_start(win, &target, 0, 0, &step));
        TEST_DONE(&w, wdl_win_complete(win, &step));
        test_world_close(&w);
    }
}
END_TEST

START_TEST(memory_that_runs_out_is_an_error_of_start)
{
    struct test_world w;
    int target = 1, step = 0, ranks = WDL_POSTED_FEW + 2;
    test_world_open(&w, &(struct test_world_params) {.ranks = 2,.absent = ranks - 2 });
    struct test_rank *o = &w.rank[0];
    int live = o->host.live;
    for (int left = 1; left <= 2; left++) {
        o->host.fail_after = left;
        ck_assert_int_eq(wdl_win_start(o->win, &target, 1, 0, &step), WDL_ERR_NOMEM);
        ck_assert_int_eq(o->host.live, live);
        ck_assert_int_eq(o->win->epoch.access_state, WDL_ACCESS_NONE);
    }
    /* a few early posts need no memory; one that finds none comes again */
    struct wdl_posted post = {.rank = 1,.parent = 1 };
    for (int i = 0; i < WDL_POSTED_FEW; i++)
        ck_assert_int_eq(wdl_pscw_posted(o->win, &post), WDL_OK);
    ck_assert_int_eq(wdl_pscw_posted(o->win, &post), WDL_AGAIN);
    o->host.fail_after = 0;
    ck_assert_int_eq(wdl_pscw_posted(o->win, &post), WDL_OK);
    ck_assert_int_eq(wdl_pscw_posted(o->win, &post), WDL_OK);
    ck_assert_int_eq(wdl_pscw_posted(o->win, &post), WDL_ERR_PROTO);    /* more than ranks */
    for (int i = 0; i < ranks; i++)
        ck_assert_int_eq(wdl_pscw_completed(o->win, 1), WDL_OK);
    ck_assert_int_eq(wdl_pscw_completed(o->win, 1), WDL_ERR_PROTO);
    test_world_close(&w);
}
END_TEST

/* MEM_SYNC of seed 001 that a rank has done since it was last asked. */
static unsigned syncs(struct test_world *w, int rank, unsigned *seen)
{
    unsigned before = seen[rank];
    seen[rank] = w->rank[rank].win->quick.syncs;
    return seen[rank] - before;
}

/* Barriers where seed 001's figure has them: before what post and complete tell and behind what
 * start (here: as the post comes) and wait hear, but where they tell by an instruction that is a
 * barrier itself, as to a rank of the node. */
START_TEST(each_call_orders_memory)
{
    static const struct {
        struct test_world_params p;
        int assertion;
        unsigned post, start, complete, wait;
    } rows[] = {
        { {.node = 1 }, 0, 1, 1, 1, 1 }, { {.node = 1,.unordered = 1 }, 0, 1, 1, 1, 1 },
        { {.node = 1 }, WDL_MODE_NOCHECK, 1, 0, 1, 1 },
        { {.node = 2 }, 0, 0, 0, 0, 1 }, { {.node = 2 }, WDL_MODE_NOCHECK, 1, 0, 0, 1 },
        /* the program's own stores follow start */
        { {.node = 2,.shared = 1 }, 0, 0, 1, 0, 1 },
    };
    struct test_world w;
    int origin = 0, target = 1;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct test_world_params p = rows[i].p;
        unsigned seen[2] = { 0 };
        p.ranks = 2;
        test_world_open(&w, &p);
        struct test_rank *o = &w.rank[0], *t = &w.rank[1];
        (void) syncs(&w, 0, seen);
        (void) syncs(&w, 1, seen);
        TEST_DONE(&w, wdl_win_post(t->win, &origin, 1, rows[i].assertion, &t->step));
        ck_assert_uint_eq(syncs(&w, 1, seen), rows[i].post);
        TEST_DONE(&w, wdl_win_start(o->win, &target, 1, rows[i].assertion, &o->step));
        test_world_settle(&w);
        ck_assert_uint_eq(syncs(&w, 0, seen), rows[i].start);
        TEST_DONE(&w, wdl_win_complete(o->win, &o->step));
        ck_assert_uint_eq(syncs(&w, 0, seen), rows[i].complete);
        TEST_DONE(&w, wdl_win_wait(t->win, &t->step));
        ck_assert_uint_eq(syncs(&w, 1, seen), rows[i].wait);
        test_world_close(&w);
    }
}
END_TEST

/* What is said behind operations is ordered before the first of them leaves; a post along a tree
 * once for all. */
START_TEST(complete_behind_operations_and_post_by_tree_order_memory)
{
    enum { RANKS_N = 4 };
    struct test_world w;
    unsigned seen[RANKS_N] = { 0 };
    int group[RANKS_N], origin = 0, target = 1, n;
    char data[8] = "behind.";
    test_world_open(&w, &(struct test_world_params) {.ranks = RANKS_N,.unordered = 1,
                                                     .attended = 1,.rma = {.pscw_tree = 2 } });
    TEST_DONE(&w, wdl_win_post(w.rank[1].win, &origin, 1, 0, &w.rank[1].step));
    TEST_DONE(&w, wdl_win_start(w.rank[0].win, &target, 1, 0, &w.rank[0].step));
    test_world_settle(&w);
    test_op(&w, 0, test_put(1, 0, data, 8));
    (void) syncs(&w, 0, seen);
    ck_assert_int_eq(wdl_win_complete(w.rank[0].win, &w.rank[0].step), WDL_AGAIN);
    ck_assert_uint_eq(syncs(&w, 0, seen), 1);
    TEST_DONE(&w, wdl_win_complete(w.rank[0].win, &w.rank[0].step));
    TEST_DONE(&w, wdl_win_wait(w.rank[1].win, &w.rank[1].step));
    n = others(&w, 0, group);
    (void) syncs(&w, 0, seen);
    TEST_DONE(&w, wdl_win_post(w.rank[0].win, group, n, 0, &w.rank[0].step));
    ck_assert_uint_eq(syncs(&w, 0, seen), 1);
    for (int i = 1; i < RANKS_N; i++)
        TEST_DONE(&w, wdl_win_start(w.rank[i].win, &origin, 1, 0, &w.rank[i].step));
    for (int i = 1; i < RANKS_N; i++)
        TEST_DONE(&w, wdl_win_complete(w.rank[i].win, &w.rank[i].step));
    TEST_DONE(&w, wdl_win_wait(w.rank[0].win, &w.rank[0].step));
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/pscw", what_was_put_is_there_after_wait,
          post_and_complete_cost_one_message_a_member_start_and_wait_none,
          a_group_like_one_before_asks_for_no_memory, an_operation_waits_for_its_own_targets_post,
          who_has_started_takes_the_short_way, start_waits_where_the_program_may_store,
          early_posts_are_remembered,
          a_window_of_several_nodes_tells_its_own_in_memory, a_full_block_takes_posts_by_message,
          a_place_is_given_back_by_complete,
          nocheck_sends_no_post, assertions_spare_barriers, calls_out_of_order_are_errors,
          a_fence_epoch_that_was_used_must_be_closed_first,
          memory_that_runs_out_is_an_error_of_start,
          each_call_orders_memory, complete_behind_operations_and_post_by_tree_order_memory)
