/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Exact numbers of messages of an access epoch between start and complete, on windows whose ranks
 * share no memory: both directions, posts not included.
 */
#include "host/testworld.h"
#include "support/suite.h"

enum { KINDS = 5 };

static struct wdl_rma_args operation(int kind, int target, char *data, int64_t *result)
{
    static const int64_t zero;
    switch (kind) {
        case 0: return test_put(target, 0, data, 8);
        case 1: return test_acc(target, 0, WDL_ROP_SUM, TEST_I64, 1, data, NULL);
        case 2: return test_get(target, 0, data, 8);
        case 3: return test_acc(target, 0, WDL_ROP_SUM, TEST_I64, 1, data, result);
        default: return test_cas(target, 0, TEST_I64, &zero, data, result);
    }
}

static int reads(int kind)
{
    return kind >= 2;
}

/* Ranks 1 to n post, rank 0 starts. */
static void begin(struct test_world *w, int n)
{
    int group[TEST_RANKS_MAX], origin = 0;
    for (int t = 1; t <= n; t++) {
        group[t - 1] = t;
        TEST_DONE(w, wdl_win_post(w->rank[t].win, &origin, 1, 0, &w->rank[t].step));
    }
    TEST_DONE(w, wdl_win_start(w->rank[0].win, group, n, 0, &w->rank[0].step));
    test_world_messages(w);
}

/* Complete and wait; the messages since begin. */
static int end(struct test_world *w, int n)
{
    TEST_DONE(w, wdl_win_complete(w->rank[0].win, &w->rank[0].step));
    for (int t = 1; t <= n; t++)
        TEST_DONE(w, wdl_win_wait(w->rank[t].win, &w->rank[t].step));
    return test_world_messages(w);
}

/* What complete says is part of the operation's packet, unless nothing may wait for company. */
START_TEST(a_short_epoch_is_one_message_and_its_answer)
{
    for (int i = 0; i < 2 * 3 * KINDS; i++) {
        struct test_world w;
        char data[8] = "active!";
        int64_t result;
        int unordered = i % 2, kind = i / 6, answer = reads(kind) || unordered;
        enum wdl_combine combine = (enum wdl_combine) (i / 2 % 3);
        test_world_open(&w, &(struct test_world_params){.ranks = 2,.unordered = unordered,
                                                        .combine = combine});
        for (int e = 0; e < 2; e++) {
            begin(&w, 1);
            test_op(&w, 0, operation(kind, 1, data, &result));
            ck_assert_int_eq(end(&w, 1), 1 + answer + (combine == WDL_COMBINE_NEVER));
        }
        test_world_close(&w);
    }
}
END_TEST

START_TEST(each_target_is_told_once)
{
    for (int unordered = 0; unordered < 2; unordered++)
        for (int used = 0; used < TEST_RANKS_MAX; used++) {
            struct test_world w;
            char data[8] = "each";
            enum { TARGETS = TEST_RANKS_MAX - 1 };
            test_world_open(&w, &(struct test_world_params){.ranks = TEST_RANKS_MAX,
                                                            .unordered = unordered});
            begin(&w, TARGETS);
            for (int t = 1; t <= used; t++)
                for (int k = 0; k < 3; k++)
                    test_op(&w, 0, test_put(t, 8 * k, data, 8));
            ck_assert_int_eq(end(&w, TARGETS), TARGETS + (unordered ? used : 0));
            test_world_close(&w);
        }
}
END_TEST

/* One target element and one operation element for seven targets: what has left is told apart. */
START_TEST(few_elements_cost_more_messages_and_nothing_else)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        char data[8] = "few";
        enum { TARGETS = TEST_RANKS_MAX - 1 };
        test_world_open(&w, &(struct test_world_params){
            .ranks = TEST_RANKS_MAX,.unordered = unordered,
            .rma = {.win_ops = 1,.global_ops = 1,.win_targets = 1,.global_targets = 1}});
        for (int e = 0; e < 3; e++) {
            begin(&w, TARGETS);
            for (int t = 1; t <= TARGETS; t++)
                test_op(&w, 0, test_put(t, 0, data, 8));
            ck_assert_int_ge(end(&w, TARGETS), TARGETS + 1);
            for (int t = 1; t <= TARGETS; t++) {
                ck_assert_mem_eq(w.rank[t].memory, data, 8);
                ck_assert_int_eq(w.rank[t].win->completed, 0);
            }
            data[0]++;
        }
        test_world_close(&w);
    }
}
END_TEST

/* What has gone before is followed by a message. */
START_TEST(what_does_not_wait_is_followed_by_complete)
{
    static char data[2000];
    struct test_world w;
    test_world_open(&w, &(struct test_world_params){.ranks = 2,.bytes = 4096});
    begin(&w, 1);
    ck_assert_int_eq(end(&w, 1), 1);
    begin(&w, 1);
    test_op(&w, 0, test_put(1, 0, data, sizeof(data)));
    ck_assert_int_eq(end(&w, 1), 3 + 1);        /* in three packets */
    wdl_type type = test_type_vector(&w.rank[0].host, TEST_U8, 32, 2, 3);
    for (int e = 0; e < 3; e++) {
        struct wdl_rma_args put = test_put(1, 0, data, 64);
        put.remote = test_typed(&w.rank[0].host, NULL, 1, type);
        begin(&w, 1);
        test_op(&w, 0, put);
        ck_assert_int_eq(end(&w, 1), e == 0 ? 3 : 1);   /* the type's description goes ahead */
    }
    test_type_end(&w.rank[0].host, type);
    test_world_close(&w);
}
END_TEST

/* The network is flushed before the target is told. */
START_TEST(the_direct_path_costs_one_message)
{
    static char data[2000];
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        test_world_open(&w, &(struct test_world_params){.ranks = 2,.unordered = unordered,
                                                        .direct = 1,.bytes = 4096});
        for (int e = 0; e < 3; e++) {
            begin(&w, 1);
            test_op(&w, 0, test_put(1, 0, data, e == 0 ? 8 : sizeof(data)));
            /* the key and its question */
            ck_assert_int_eq(end(&w, 1), e == 0 ? 3 + unordered : 1);
        }
        test_world_close(&w);
    }
}
END_TEST

WDL_SUITE("cost/pscw", a_short_epoch_is_one_message_and_its_answer, each_target_is_told_once,
          few_elements_cost_more_messages_and_nothing_else,
          what_does_not_wait_is_followed_by_complete, the_direct_path_costs_one_message)
