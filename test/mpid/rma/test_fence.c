/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/fence. */
#include <string.h>
#include "host/testworld.h"
#include "support/suite.h"

static const struct test_world_params kinds[] = {
    {.node = 1 }, {.node = 1,.unordered = 1,.delay_ns_max = 3000,.refuse_permille = 200 },
    {.node = 2 }, {.node = TEST_RANKS_MAX }, {.node = TEST_RANKS_MAX,.crowded = 1 },
    {.node = 2,.levels = 1 }, {.node = 3,.levels = 1,.own = 1,.unordered = 1,.delay_ns_max = 3000 }
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void open_kind(struct test_world *w, int kind, int ranks)
{
    struct test_world_params p = kinds[kind];
    p.ranks = ranks;
    p.seed = (uint64_t) ranks;
    test_world_open(w, &p);
}

#define FENCE(w, assertion) TEST_ALL(w, wdl_win_fence(r->win, assertion, &r->step))

static int rounds_of(int size)
{
    int rounds = 0;
    while (1 << rounds < size)
        rounds++;
    return rounds;
}

/* Every rank puts its number into every rank's memory; after the fence all must be there, and what
 * is there may be overwritten at once by its owner. */
START_TEST(what_was_put_is_there_after_the_fence)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++)
        for (int ranks = 1; ranks <= TEST_RANKS_MAX; ranks++) {
            open_kind(&w, kind, ranks);
            FENCE(&w, WDL_MODE_NOPRECEDE);
            for (int epoch = 1; epoch <= 4; epoch++) {
                int64_t value[TEST_RANKS_MAX];
                for (int o = 0; o < ranks; o++) {
                    value[o] = epoch * 100 + o;
                    for (int t = 0; t < ranks; t++)
                        test_op(&w, o, test_put(t, 8 * o, &value[o], 8));
                }
                FENCE(&w, epoch == 4 ? WDL_MODE_NOSUCCEED : 0);
                for (int t = 0; t < ranks; t++)
                    for (int o = 0; o < ranks; o++)
                        ck_assert_int_eq(((int64_t *) (void *) w.rank[t].memory)[o], value[o]);
            }
            test_world_close(&w);
        }
}
END_TEST

START_TEST(a_fence_without_operations_costs_its_barrier)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++)
        for (int ranks = 1; ranks <= TEST_RANKS_MAX; ranks++) {
            int node = kinds[kind].node, nodes = (ranks + node - 1) / node;
            int meet = kinds[kind].levels || nodes == 1 ? nodes : ranks;
            open_kind(&w, kind, ranks);
            int live = w.rank[0].host.live;
            for (int i = 0; i < 3; i++) {
                FENCE(&w, 0);
                ck_assert_int_eq(test_world_messages(&w), meet * rounds_of(meet));
            }
            ck_assert_int_eq(w.rank[0].host.live, live);        /* and no memory */
            test_world_close(&w);
        }
}
END_TEST

/* Ordered: a put, a flush and its answer for each target there are operations to. Unordered: a put
 * and its answer. */
START_TEST(a_fence_costs_one_flush_a_target)
{
    struct test_world w;
    char data[8] = "seven..";
    for (int unordered = 0; unordered < 2; unordered++)
        for (int puts = 1; puts < 5; puts++) {
            struct test_world_params p = {.ranks = 4,.unordered = unordered,
                .combine = WDL_COMBINE_NEVER
            };
            test_world_open(&w, &p);
            FENCE(&w, 0);
            test_world_messages(&w);
            for (int t = 1; t < 3; t++)
                for (int i = 0; i < puts; i++)
                    test_op(&w, 0, test_put(t, 8 * i, data, 8));
            FENCE(&w, 0);
            int want = 4 * 2 + 2 * (unordered ? 2 * puts : puts + 2);
            ck_assert_int_eq(test_world_messages(&w), want);
            ck_assert_int_eq(w.rank[0].win->ntargets, 0);
            test_world_close(&w);
        }
}
END_TEST

/* NOPRECEDE leaves the barrier running where nobody's memory is mapped: operations are queued, as
 * many as there are elements for. */
START_TEST(operations_are_queued_while_a_barrier_is_left_running)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 2,.rma = {.win_ops = 2,.global_ops = 1 } };
    char data[8] = "early..";
    for (int i = 0; i < 12; i++) {
        p.unordered = i % 2;
        p.direct = i % 4 / 2;
        p.combine = (enum wdl_combine) (i / 4);
        test_world_open(&w, &p);
        struct test_rank *r = &w.rank[0];
        test_world_messages(&w);
        ck_assert_int_eq(wdl_win_fence(r->win, WDL_MODE_NOPRECEDE, &r->step), WDL_OK);
        ck_assert_int_eq(r->win->epoch.access_state, WDL_ACCESS_FENCE_ISSUED);
        for (int k = 0; k < 4; k++) {
            struct wdl_rma_args put = test_put(1, 8 * k, data, 8);
            /* what the network can do alone is left to it */
            ck_assert_int_eq(wdl_rma_op(r->win, &put), k < 3 && !p.direct ? WDL_OK : WDL_AGAIN);
        }
        ck_assert_int_eq(test_world_messages(&w), 1);   /* the barrier's */
        ck_assert_int_eq(wdl_win_fence(r->win, 0, &r->step), WDL_AGAIN);
        r = &w.rank[1];
        TEST_DONE(&w, wdl_win_fence(r->win, WDL_MODE_NOPRECEDE, &r->step));
        FENCE(&w, WDL_MODE_NOSUCCEED);
        for (int k = 0; k < 4; k++)
            ck_assert_int_eq(memcmp(w.rank[1].memory + 8 * k, data, 8) == 0, k < 3 && !p.direct);
        test_world_close(&w);
    }
    /* mapped memory: the call itself waits */
    p = (struct test_world_params) {.node = 2 };
    struct test_rank *r;
    for (p.ranks = 2; p.ranks <= 3; p.ranks++) {
        test_world_open(&w, &p);
        r = &w.rank[0];
        for (int i = 0; i < 20; i++) {
            ck_assert_int_eq(wdl_win_fence(r->win, WDL_MODE_NOPRECEDE, &r->step), WDL_AGAIN);
            test_world_turn(&w);
        }
        FENCE(&w, WDL_MODE_NOPRECEDE);
        test_world_close(&w);
    }
}
END_TEST

/* Where the barrier knows nodes, a fence that nothing precedes waits for its own alone; operations
 * there begin at once, others are queued. Windows of mapped and of private memory. */
START_TEST(a_fence_that_nothing_precedes_waits_for_its_node)
{
    struct test_world w;
    char data[8] = "near by", far[8] = "far off";
    for (int own = 0; own < 2; own++)
        for (int unordered = 0; unordered < 2; unordered++) {
            struct test_world_params p = {.ranks = 4,.node = 2,.levels = 1,.own = own,
                                          .unordered = unordered,.combine = WDL_COMBINE_NEVER };
            test_world_open(&w, &p);
            struct test_rank *r = &w.rank[0], *mate = &w.rank[1];
            for (int i = 0; i < 20; i++) {
                ck_assert_int_eq(wdl_win_fence(r->win, WDL_MODE_NOPRECEDE, &r->step), WDL_AGAIN);
                test_world_turn(&w);
            }
            ck_assert_int_eq(wdl_win_fence(mate->win, WDL_MODE_NOPRECEDE, &mate->step), WDL_AGAIN);
            TEST_DONE(&w, wdl_win_fence(r->win, WDL_MODE_NOPRECEDE, &r->step));
            TEST_DONE(&w, wdl_win_fence(mate->win, WDL_MODE_NOPRECEDE, &mate->step));
            test_op(&w, 0, test_put(1, 0, data, 8));
            test_op(&w, 0, test_put(2, 0, far, 8));
            test_world_settle(&w);
            ck_assert_mem_eq(w.rank[1].memory, data, 8);
            ck_assert_int_eq(w.rank[2].memory[0], 0);
            ck_assert_int_eq(r->win->epoch.access_state, WDL_ACCESS_FENCE_ISSUED);
            ck_assert_int_eq(wdl_win_fence(r->win, 0, &r->step), WDL_AGAIN);
            for (int i = 2; i < 4; i++)
                (void) wdl_win_fence(w.rank[i].win, WDL_MODE_NOPRECEDE, &w.rank[i].step);
            for (int i = 2; i < 4; i++)
                TEST_DONE(&w, wdl_win_fence(w.rank[i].win, WDL_MODE_NOPRECEDE, &w.rank[i].step));
            FENCE(&w, WDL_MODE_NOSUCCEED);
            ck_assert_mem_eq(w.rank[2].memory, far, 8);
            /* two barriers of two nodes; the far put, which has the flush with it, and its answer;
             * the near one by message, with a flush of its own on an ordered network */
            int near = own ? (unordered ? 2 : 3) : 0;
            ck_assert_int_eq(test_world_messages(&w), 2 * 2 + 2 + near);
            test_world_close(&w);
        }
}
END_TEST

/* Fences that nothing precedes do not wait for one another. */
START_TEST(barriers_left_running_are_queued)
{
    struct test_world w;
    for (int unordered = 0; unordered < 2; unordered++)
        for (int ranks = 2; ranks <= TEST_RANKS_MAX; ranks++) {
            char data[8] = "behind.";
            test_world_open(&w, &(struct test_world_params) {.ranks = ranks,.unordered = unordered,
                                                             .delay_ns_max = 2000 });
            for (int i = 0; i < 5; i++)
                ck_assert_int_eq(wdl_win_fence(w.rank[0].win, WDL_MODE_NOPRECEDE,
                                               &w.rank[0].step), WDL_OK);
            test_op(&w, 0, test_put(1, 0, data, 8));
            for (int i = 0; i < 5; i++) {
                test_world_settle(&w);
                ck_assert_int_eq(w.rank[1].memory[0], 0);       /* not before the last of them */
                for (int k = 1; k < ranks; k++)
                    ck_assert_int_eq(wdl_win_fence(w.rank[k].win, WDL_MODE_NOPRECEDE,
                                                   &w.rank[k].step), WDL_OK);
            }
            FENCE(&w, WDL_MODE_NOSUCCEED);
            ck_assert_mem_eq(w.rank[1].memory, data, 8);
            ck_assert_int_eq(test_world_messages(&w),
                             6 * ranks * rounds_of(ranks) + 2);
            test_world_close(&w);
        }
}
END_TEST

/* MEM_SYNC of seed 001: one before the barrier and one after it, unless an assertion says that
 * there is nothing to see. */
START_TEST(nostore_and_noput_spare_a_memory_barrier)
{
    enum { SPARE = WDL_MODE_NOSTORE | WDL_MODE_NOPUT };
    static const struct { int opens, stores, closes; unsigned syncs; } rows[] = {
        { 0, 0, 0, 4 }, { WDL_MODE_NOSTORE, 0, 0, 3 }, { 0, 0, WDL_MODE_NOSTORE, 3 },
        { WDL_MODE_NOPUT, 0, 0, 4 }, { WDL_MODE_NOPUT, 0, WDL_MODE_NOSUCCEED, 3 },
        { SPARE, 0, WDL_MODE_NOSUCCEED | SPARE, 1 }, { SPARE, 1, WDL_MODE_NOSUCCEED | SPARE, 2 }
    };
    struct test_world w;
    char data[8] = "stored.";
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int node = 1; node <= 2; node++) {
            test_world_open(&w, &(struct test_world_params) {.ranks = 2,.node = node });
            FENCE(&w, rows[i].opens);
            if (rows[i].stores)
                test_op(&w, 0, test_put(1, 0, data, 8));
            FENCE(&w, rows[i].closes);
            /* by message there is nothing stored */
            ck_assert_uint_eq(w.rank[0].win->quick.syncs,
                              rows[i].syncs - (rows[i].stores && node == 1));
            ck_assert_int_eq(memcmp(w.rank[1].memory, data, 8) == 0, rows[i].stores);
            test_world_close(&w);
        }
}
END_TEST

START_TEST(nosucceed_ends_the_epoch)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 2 };
    char data[8] = "";
    for (p.node = 1; p.node <= 2; p.node++) {
        test_world_open(&w, &p);
        struct wdl_rma_args put = test_put(1, 0, data, 8);
        FENCE(&w, 0);
        test_op(&w, 0, put);
        ck_assert_int_eq(wdl_win_may_free(w.rank[0].win), WDL_ERR_SYNC);
        FENCE(&w, WDL_MODE_NOSUCCEED);
        ck_assert_int_eq(wdl_rma_op(w.rank[0].win, &put), WDL_ERR_SYNC);
        ck_assert_int_eq(w.rank[0].win->epoch.access_state, WDL_ACCESS_NONE);
        ck_assert_int_eq(wdl_win_may_free(w.rank[0].win), WDL_OK);
        test_world_close(&w);
    }
}
END_TEST

/* The rows there are not: a fence inside any other epoch. */
START_TEST(a_fence_in_another_epoch_is_an_error)
{
    struct test_world w;
    int none = 0, other = 1, step = 0;
    for (int node = 1; node <= 2; node++) {
        struct test_world_params p = {.ranks = 2,.node = node };
        test_world_open(&w, &p);
        struct test_rank *r = &w.rank[0];
        TEST_DONE(&w, wdl_win_lock(r->win, 1, 0, 0, &r->step));
        ck_assert_int_eq(wdl_win_fence(r->win, 0, &step), WDL_ERR_SYNC);
        TEST_DONE(&w, wdl_win_unlock(r->win, 1, &r->step));
        TEST_DONE(&w, wdl_win_lock_all(r->win, 0, &r->step));
        ck_assert_int_eq(wdl_win_fence(r->win, 0, &step), WDL_ERR_SYNC);
        TEST_DONE(&w, wdl_win_unlock_all(r->win, &r->step));
        TEST_DONE(&w, wdl_win_start(r->win, &other, 0, 0, &r->step));
        ck_assert_int_eq(wdl_win_fence(r->win, 0, &step), WDL_ERR_SYNC);
        TEST_DONE(&w, wdl_win_complete(r->win, &r->step));
        TEST_DONE(&w, wdl_win_post(r->win, &none, 0, 0, &r->step));
        ck_assert_int_eq(wdl_win_fence(r->win, 0, &step), WDL_ERR_SYNC);
        TEST_DONE(&w, wdl_win_wait(r->win, &r->step));
        ck_assert_int_eq(step, 0);
        FENCE(&w, 0);
        test_world_close(&w);
    }
}
END_TEST

/* An operation that failed at its target is the next fence's error, once. */
START_TEST(a_failure_at_the_target_is_reported_once)
{
    struct test_world w;
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world_params p = {.ranks = 2,.unordered = unordered };
        char data[8] = "";
        test_world_open(&w, &p);
        FENCE(&w, 0);
        test_op(&w, 0, test_put(1, 0, data, 8));
        w.rank[1].win->params.bytes = 4;        /* the target knows better than the origin */
        int status[2] = { WDL_AGAIN, WDL_AGAIN };
        while (status[0] == WDL_AGAIN || status[1] == WDL_AGAIN) {
            for (int i = 0; i < 2; i++)
                if (status[i] == WDL_AGAIN)
                    status[i] = wdl_win_fence(w.rank[i].win, 0, &w.rank[i].step);
            test_world_turn(&w);
        }
        ck_assert_int_eq(status[0], WDL_ERR_RANGE);
        ck_assert_int_eq(status[1], WDL_OK);
        FENCE(&w, 0);
        test_world_close(&w);
    }
}
END_TEST

/* One call of a fence by all who are not done; returns how many are not. */
static int fences(struct test_world *w, int assertion, char *done)
{
    int left = 0;
    test_world_turn(w);
    for (int i = 0; i < w->n; i++) {
        struct test_rank *r = &w->rank[i];
        if (done[i])
            continue;
        int status = wdl_win_fence(r->win, assertion, &r->step);
        ck_assert(status == WDL_OK || status == WDL_AGAIN);
        done[i] = status == WDL_OK;
        left += !done[i];
    }
    return left;
}

/* Rank 0 has a thread that issues without a pause while another one is in the fence: that ends, and
 * nothing of what was issued is lost. */
START_TEST(other_threads_issue_beside_a_fence)
{
    static const int assertions[] = {0, WDL_MODE_NOPUT, WDL_MODE_NOPRECEDE};
    const int64_t one = 1;
    struct test_world w;
    for (int i = 0; i < KINDS * 3; i++)
        for (int ranks = 2; ranks <= TEST_RANKS_MAX; ranks += 3) {
            int64_t number = 0, sums[TEST_RANKS_MAX] = {0};
            open_kind(&w, i / 3, ranks);
            FENCE(&w, 0);
            for (int epoch = 0; epoch < 3; epoch++) {
                char done[TEST_RANKS_MAX] = {0};
                int turns = 0;
                while (fences(&w, assertions[i % 3], done) > 0) {
                    ck_assert_int_lt(++turns, TEST_TURNS_MAX);
                    for (int t = 0; t < ranks; t++) {
                        struct wdl_rma_args sum =
                            test_acc(t, 0, WDL_ROP_SUM, TEST_I64, 1, &one, NULL);
                        int status = wdl_rma_op(w.rank[0].win, &sum);
                        ck_assert(status == WDL_OK || status == WDL_AGAIN);
                        sums[t] += status == WDL_OK;
                        number += status == WDL_OK;
                    }
                }
            }
            FENCE(&w, WDL_MODE_NOSUCCEED);
            ck_assert(number > 0 || assertions[i % 3] == WDL_MODE_NOPRECEDE); /* no waiting */
            for (int t = 0; t < ranks; t++)
                ck_assert_int_eq(*(int64_t *) (void *) w.rank[t].memory, sums[t]);
            test_world_close(&w);
        }
}
END_TEST

/* Even if it was to be the last one, and the operation should not have come. */
START_TEST(an_operation_beside_the_last_fence_opens_no_epoch)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 2, .node = 2, .crowded = 1};
    struct test_rank *r;
    int64_t value = 5;
    test_world_open(&w, &p);
    FENCE(&w, 0);
    r = &w.rank[0];
    ck_assert_int_eq(wdl_win_fence(r->win, WDL_MODE_NOSUCCEED, &r->step), WDL_AGAIN);
    r = &w.rank[1];
    TEST_DONE(&w, wdl_win_fence(r->win, WDL_MODE_NOSUCCEED, &r->step));
    r = &w.rank[0];
    struct wdl_rma_args put = test_put(1, 0, &value, 8);
    ck_assert_int_eq(wdl_rma_op(r->win, &put), WDL_OK);
    TEST_DONE(&w, wdl_win_fence(r->win, WDL_MODE_NOSUCCEED, &r->step));
    ck_assert_int_eq(r->win->epoch.access_state, WDL_ACCESS_NONE);
    ck_assert_int_eq(wdl_rma_op(r->win, &put), WDL_ERR_SYNC);
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/fence", other_threads_issue_beside_a_fence,
          an_operation_beside_the_last_fence_opens_no_epoch, what_was_put_is_there_after_the_fence,
          a_fence_without_operations_costs_its_barrier, a_fence_costs_one_flush_a_target,
          operations_are_queued_while_a_barrier_is_left_running,
          a_fence_that_nothing_precedes_waits_for_its_node, barriers_left_running_are_queued,
          nostore_and_noput_spare_a_memory_barrier, nosucceed_ends_the_epoch,
          a_fence_in_another_epoch_is_an_error, a_failure_at_the_target_is_reported_once)
