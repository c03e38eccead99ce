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
        static char data[2000] = "few";
        enum { TARGETS = TEST_RANKS_MAX - 1 };
        test_world_open(&w, &(struct test_world_params){
            .ranks = TEST_RANKS_MAX,.unordered = unordered,.bytes = sizeof(data),
            .rma = {.win_ops = 1,.global_ops = 1,.win_targets = 1,.global_targets = 1}});
        for (int e = 0; e < 6; e++) {
            size_t bytes = e < 3 ? 8 : sizeof(data);
            begin(&w, TARGETS);
            for (int t = 1; t <= TARGETS; t++)
                test_op(&w, 0, test_put(t, 0, data, bytes));
            ck_assert_int_ge(end(&w, TARGETS), TARGETS + 1);
            for (int t = 1; t <= TARGETS; t++) {
                ck_assert_mem_eq(w.rank[t].memory, data, bytes);
                ck_assert_int_eq(w.rank[t].win->completed, 0);
            }
            data[0]++;
            data[1999]++;
        }
        test_world_close(&w);
    }
}
END_TEST

static struct wdl_rma_args long_operation(int kind, int target, char *data, char *result,
                                          size_t bytes)
{
    switch (kind) {
        case 0: return test_put(target, 0, data, bytes);
        case 1: return test_acc(target, 0, WDL_ROP_SUM, TEST_U8, (int) bytes, data, NULL);
        case 2: return test_get(target, 0, data, bytes);
        default: return test_acc(target, 0, WDL_ROP_SUM, TEST_U8, (int) bytes, data, result);
    }
}

/* All packets of a long operation but the last leave at once; that one has COMPLETE with it. On an
 * unordered network it would overtake the others: there one packet has, and several are followed by
 * a message. */
START_TEST(a_long_operation_ends_with_complete)
{
    static char data[2000], result[2000];
    for (int i = 0; i < 2 * 3 * 4 * 2; i++) {
        struct test_world w;
        int unordered = i % 2, kind = i / 2 % 4, packets = i / 8 % 2 ? 3 : 1;
        enum wdl_combine combine = (enum wdl_combine) (i / 16);
        int never = combine == WDL_COMBINE_NEVER, whole = !unordered || packets == 1;
        int answers = reads(kind) || unordered ? packets : 0;
        test_world_open(&w, &(struct test_world_params){.ranks = 2,.unordered = unordered,
                                                        .bytes = 4096,.combine = combine});
        for (int e = 0; e < 3; e++) {
            begin(&w, 1);
            test_op(&w, 0, long_operation(kind, 1, data, result, packets == 3 ? 2000 : 600));
            int left = never || !whole ? 0 : 1, early = packets - left;
            ck_assert_int_eq(test_world_messages(&w), early + (answers ? early : 0));
            ck_assert_int_eq(w.rank[1].win->completed, 0);
            ck_assert_int_eq(end(&w, 1), (left ? 1 + (answers > 0) : 1));
            ck_assert_int_eq(w.rank[1].win->completed, 0);
        }
        test_world_close(&w);
    }
}
END_TEST

/* What comes behind the long operation lets it go, and has COMPLETE itself. */
START_TEST(the_last_of_several_ends_with_complete)
{
    static char data[2000];
    for (int last = 0; last < 2; last++) {
        struct test_world w;
        memset(data, 'a' + last, sizeof(data));
        test_world_open(&w, &(struct test_world_params){.ranks = 3,.bytes = 8192});
        w.rank[0].win->rma->params.short_bytes = 256;
        begin(&w, 2);
        test_op(&w, 0, test_put(1, 0, data, 2000));
        test_op(&w, 0, test_put(2, 0, data, 2000));
        ck_assert_int_eq(test_world_messages(&w), 2 + 2);
        test_op(&w, 0, test_put(1, 2000, data, last ? 8 : 600));
        ck_assert_int_eq(test_world_messages(&w), 1);
        test_op(&w, 0, test_put(1, 4000, data, last ? 2000 : 8));
        ck_assert_int_eq(test_world_messages(&w), last ? 1 + 2 : 1);
        ck_assert_int_eq(end(&w, 2), 1 + 1);
        ck_assert_mem_eq(w.rank[1].memory, data, 2000);
        ck_assert_mem_eq(w.rank[2].memory, data, 2000);
        ck_assert_mem_eq(w.rank[1].memory + 4000, data, last ? 2000 : 8);
        test_world_close(&w);
    }
}
END_TEST

/* The description of a type goes ahead, the operation waits. */
START_TEST(the_first_operation_on_a_type_ends_with_complete)
{
    for (int i = 0; i < 4; i++) {
        struct test_world w;
        static char data[64];
        int unordered = i % 2, answer = unordered;
        test_world_open(&w, &(struct test_world_params){.ranks = 2,.unordered = unordered,
            .bytes = 4096,.combine = i / 2 ? WDL_COMBINE_ALWAYS : WDL_COMBINE_AUTO});
        wdl_type type = test_type_vector(&w.rank[0].host, TEST_U8, 32, 2, 3);
        for (int e = 0; e < 3; e++) {
            struct wdl_rma_args put = test_put(1, 0, data, 64);
            put.remote = test_typed(&w.rank[0].host, NULL, 1, type);
            begin(&w, 1);
            test_op(&w, 0, put);
            ck_assert_int_eq(test_world_messages(&w), e == 0 ? 1 + answer : 0);
            ck_assert_int_eq(end(&w, 1), 1 + answer);
        }
        test_type_end(&w.rank[0].host, type);
        test_world_close(&w);
    }
}
END_TEST

/* However slowly they come: all that fits in a message is one. */
START_TEST(short_operations_of_an_epoch_are_one_message)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        static char data[64];
        memset(data, 's', sizeof(data));
        test_world_open(&w, &(struct test_world_params){.ranks = 2,.unordered = unordered});
        begin(&w, 1);
        for (int k = 0; k < 5; k++) {
            test_op(&w, 0, test_put(1, 8 * k, data, 8));
            w.rank[0].host.now_ns += 1000000;
            ck_assert_int_eq(test_world_messages(&w), 0);
        }
        ck_assert_int_eq(end(&w, 1), 1 + unordered);
        ck_assert_mem_eq(w.rank[1].memory, data, 40);
        test_world_close(&w);
    }
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
          few_elements_cost_more_messages_and_nothing_else, a_long_operation_ends_with_complete,
          the_last_of_several_ends_with_complete,
          the_first_operation_on_a_type_ends_with_complete,
          short_operations_of_an_epoch_are_one_message, the_direct_path_costs_one_message)
