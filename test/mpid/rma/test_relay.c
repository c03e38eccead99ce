/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/relay. */
#include <string.h>
#include "host/testworld.h"
#include "support/suite.h"

enum { MANY = TEST_RANKS_ROOM };

static int group[MANY][MANY];

/* Every group of more than one goes by tree. */
static void open_trees(struct test_world *w, const struct test_world_params *params)
{
    struct test_world_params p = *params;
    p.attended = 1;
    p.rma.pscw_tree = 1;
    p.seed = (uint64_t) p.ranks;
    test_world_open(w, &p);
}

static int bits(int n)
{
    return n == 0 ? 0 : 1 + bits(n / 2);
}

/* Messages a rank has sent. */
static int sent(const struct test_world *w, int rank)
{
    struct wdl_win_stats stats;
    wdl_win_stats_get(w->rank[rank].win, &stats);
    return (int) stats.messages;
}

/* Ranks 1 to n in `group`, rank 0 in theirs. */
static void one_and_others(int n)
{
    for (int i = 1; i <= n; i++) {
        group[0][i - 1] = i;
        group[i][0] = 0;
    }
}

/* The ranks of a window, in descending order; with or without `me`. */
static int all_for(const struct test_world *w, int me, int with_me)
{
    int n = 0;
    for (int i = w->n - 1; i >= 0; i--)
        if (i != me || with_me)
            group[me][n++] = i;
    return n;
}

static void origins_start(struct test_world *w, int n)
{
    for (int i = 1; i <= n; i++)
        TEST_DONE(w, wdl_win_start(w->rank[i].win, group[i], 1, 0, &w->rank[i].step));
}

static void origins_complete(struct test_world *w, int n)
{
    for (int i = 1; i <= n; i++)
        TEST_DONE(w, wdl_win_complete(w->rank[i].win, &w->rank[i].step));
}

/* n messages down, n up, and the target has log2(n) of either. */
START_TEST(a_post_goes_down_a_tree_and_is_answered_up_it)
{
    for (int unordered = 0; unordered < 2; unordered++)
        for (int n = 1; n < MANY; n++) {
            struct test_world w;
            one_and_others(n);
            open_trees(&w, &(struct test_world_params){.ranks = n + 1,.unordered = unordered});
            struct test_rank *t = &w.rank[0];
            for (int epoch = 0; epoch < 3; epoch++) {
                int before = sent(&w, 0);
                TEST_DONE(&w, wdl_win_post(t->win, group[0], n, 0, &t->step));
                ck_assert_int_eq(test_world_messages(&w), n);
                ck_assert_int_eq(sent(&w, 0) - before, bits(n));
                for (int i = 1; i <= n; i++)
                    ck_assert_int_le(sent(&w, i), 2 * (epoch + 1) * bits(n));
                origins_start(&w, n);
                origins_complete(&w, n);
                TEST_DONE(&w, wdl_win_wait(t->win, &t->step));
                ck_assert_int_eq(test_world_messages(&w), n);
                ck_assert_int_eq(sent(&w, 0) - before, bits(n));
            }
            test_world_close(&w);
        }
}
END_TEST

/* Each child of the target answers once, when all of its part has completed. */
START_TEST(the_target_hears_of_each_part_when_it_is_whole)
{
    struct test_world w;
    enum { N = MANY - 1 };
    one_and_others(N);
    open_trees(&w, &(struct test_world_params){.ranks = N + 1 });
    struct test_rank *t = &w.rank[0];
    TEST_DONE(&w, wdl_win_post(t->win, group[0], N, 0, &t->step));
    origins_start(&w, N);
    int heard = 0, last = 0;
    for (int i = N; i >= 1; i--) {
        TEST_DONE(&w, wdl_win_complete(w.rank[i].win, &w.rank[i].step));
        test_world_settle(&w);
        heard += t->win->completed != last;
        last = t->win->completed;
        ck_assert_int_eq(wdl_win_wait(t->win, &t->step), i > 1 ? WDL_AGAIN : WDL_OK);
    }
    ck_assert_int_le(heard, bits(N));
    test_world_close(&w);
}
END_TEST

START_TEST(complete_goes_down_a_tree)
{
    for (int n = 1; n < MANY; n++) {
        struct test_world w;
        one_and_others(n);
        open_trees(&w, &(struct test_world_params){.ranks = n + 1,.unordered = n % 2});
        struct test_rank *o = &w.rank[0];
        for (int nocheck = 0; nocheck < 2; nocheck++) {
            int assertion = nocheck ? WDL_MODE_NOCHECK : 0;
            for (int i = 1; i <= n; i++)
                TEST_DONE(&w, wdl_win_post(w.rank[i].win, group[i], 1, assertion,
                                           &w.rank[i].step));
            TEST_DONE(&w, wdl_win_start(o->win, group[0], n, assertion, &o->step));
            ck_assert_int_eq(test_world_messages(&w), nocheck ? 0 : n);
            int before = sent(&w, 0);
            TEST_DONE(&w, wdl_win_complete(o->win, &o->step));
            for (int i = 1; i <= n; i++)
                TEST_DONE(&w, wdl_win_wait(w.rank[i].win, &w.rank[i].step));
            ck_assert_int_eq(test_world_messages(&w), n);
            ck_assert_int_eq(sent(&w, 0) - before, bits(n));
        }
        test_world_close(&w);
    }
}
END_TEST

/* Those whose operations' packets have said so are not told again, and the rest by few messages. */
START_TEST(operations_say_that_they_are_the_last)
{
    enum { N = 15, USED = 4 };
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        char data[8] = "packed!";
        one_and_others(N);
        open_trees(&w, &(struct test_world_params){.ranks = N + 1,.unordered = unordered});
        struct test_rank *o = &w.rank[0];
        for (int i = 1; i <= N; i++)
            TEST_DONE(&w, wdl_win_post(w.rank[i].win, group[i], 1, 0, &w.rank[i].step));
        TEST_DONE(&w, wdl_win_start(o->win, group[0], N, 0, &o->step));
        test_world_messages(&w);
        for (int i = 1; i <= USED; i++)
            test_op(&w, 0, test_put(i, 0, data, 8));
        int before = sent(&w, 0);
        TEST_DONE(&w, wdl_win_complete(o->win, &o->step));
        for (int i = 1; i <= N; i++)
            TEST_DONE(&w, wdl_win_wait(w.rank[i].win, &w.rank[i].step));
        ck_assert_int_eq(test_world_messages(&w), N + (unordered ? USED : 0));
        ck_assert_int_eq(sent(&w, 0) - before, USED + bits(N - USED));
        for (int i = 1; i <= N; i++)
            ck_assert_int_eq(memcmp(w.rank[i].memory, data, 8) == 0, i <= USED);
        test_world_close(&w);
    }
}
END_TEST

/* A whole epoch of rank 0's is over while those that passed its post on still wait for reports. */
START_TEST(reports_of_an_epoch_may_come_after_the_next_post)
{
    enum { N = 20 };
    struct test_world w;
    one_and_others(N);
    open_trees(&w, &(struct test_world_params){.ranks = N + 1,.delay_ns_max = 20000 });
    struct test_rank *t = &w.rank[0];
    int late = 0;
    for (int64_t epoch = 1; epoch <= 50; epoch++) {
        for (int i = 1; i <= N; i++) {
            struct wdl_list *node;
            wdl_list_for(node, &w.rank[i].win->relays)
                late += wdl_container_of(node, struct wdl_relay, link)->post.number < epoch;
        }
        TEST_DONE(&w, wdl_win_post(t->win, group[0], N, 0, &t->step));
        origins_start(&w, N);
        for (int i = 1; i <= N; i++)
            test_op(&w, i, test_put(0, 8 * i, &epoch, 8));
        origins_complete(&w, N);
        TEST_DONE(&w, wdl_win_wait(t->win, &t->step));
        for (int i = 1; i <= N; i++)
            ck_assert_mem_eq(t->memory + 8 * i, &epoch, 8);
    }
    ck_assert_int_gt(late, 0);
    test_world_close(&w);
}
END_TEST

/* Everyone exposes to everyone, to oneself, too, every other epoch, and puts to some; orders,
 * refusals, delays, few elements. */
static void everyone(const struct test_world_params *params, int stride)
{
    struct test_world w;
    int64_t value[MANY];
    open_trees(&w, params);
    for (int epoch = 1; epoch <= 4; epoch++) {
        int n = 0;
        for (int i = 0; i < w.n; i++)
            n = all_for(&w, i, epoch % 2);
        TEST_ALL(&w, wdl_win_post(r->win, group[r->rank], n, 0, &r->step));
        TEST_ALL(&w, wdl_win_start(r->win, group[r->rank], n, 0, &r->step));
        for (int o = 0; o < w.n; o++) {
            value[o] = epoch * 100 + o;
            for (int i = epoch % stride; i < n; i += stride)
                test_op(&w, o, test_put(group[o][i], 8 * o, &value[o], 8));
        }
        TEST_ALL(&w, wdl_win_complete(r->win, &r->step));
        TEST_ALL(&w, wdl_win_wait(r->win, &r->step));
        for (int o = 0; o < w.n; o++)
            for (int i = epoch % stride; i < n; i += stride)
                ck_assert_mem_eq(w.rank[group[o][i]].memory + 8 * o, &value[o], 8);
    }
    test_world_close(&w);
}

START_TEST(what_was_put_is_there_after_wait)
{
    for (int i = 0; i < 64; i++)
        everyone(&(struct test_world_params){
                     .ranks = 2 + i % 16,.unordered = i & 1,.node = i & 2 ? 2 : 1,
                     .refuse_permille = i & 4 ? 200 : 0,.delay_ns_max = i & 8 ? 3000 : 0,
                     .direct = (i & 16) != 0,.bounce_count = i & 32 ? 1 : 8,
                     .rma = {.win_ops = i & 1 ? 1 : 16,.win_targets = i & 4 ? 1 : 16 }
                 }, 1 + i % 3);
}
END_TEST

/* Where nobody serves a computing member nothing depends on one. */
START_TEST(members_who_may_compute_pass_nothing_on)
{
    enum { N = 10 };
    for (int attended = 0; attended < 2; attended++) {
        struct test_world w;
        one_and_others(N);
        test_world_open(&w, &(struct test_world_params){
            .ranks = N + 1,.attended = attended,.rma = {.pscw_tree = attended ? N : 1 }
        });
        struct test_rank *t = &w.rank[0];
        TEST_DONE(&w, wdl_win_post(t->win, group[0], N, 0, &t->step));
        ck_assert_int_eq(sent(&w, 0), N);
        origins_start(&w, N);
        origins_complete(&w, N);
        TEST_DONE(&w, wdl_win_wait(t->win, &t->step));
        TEST_DONE(&w, wdl_win_start(t->win, group[0], N, 0, &t->step));
        for (int i = 1; i <= N; i++)
            TEST_DONE(&w, wdl_win_post(w.rank[i].win, group[i], 1, 0, &w.rank[i].step));
        TEST_DONE(&w, wdl_win_complete(t->win, &t->step));
        ck_assert_int_eq(sent(&w, 0), 2 * N);
        for (int i = 1; i <= N; i++)
            TEST_DONE(&w, wdl_win_wait(w.rank[i].win, &w.rank[i].step));
        test_world_close(&w);
    }
}
END_TEST

/* Names of members that do not fit in one packet. */
START_TEST(long_lists_go_in_pieces)
{
    struct test_world w;
    enum { N = MANY - 1 };
    one_and_others(N);
    open_trees(&w, &(struct test_world_params){.ranks = N + 1 });
    for (int i = 0; i < w.n; i++)
        w.rank[i].rma->chunk_bytes = 3 * sizeof(uint32_t);
    struct test_rank *t = &w.rank[0];
    TEST_DONE(&w, wdl_win_post(t->win, group[0], N, 0, &t->step));
    ck_assert_int_eq(test_world_messages(&w), N);
    ck_assert_int_eq(sent(&w, 0), (N - 7) / 4 + bits(7));       /* 39, 35, ... 7, 3, 1 are left */
    origins_start(&w, N);
    origins_complete(&w, N);
    TEST_DONE(&w, wdl_win_wait(t->win, &t->step));
    test_world_close(&w);
}
END_TEST

START_TEST(without_memory_each_is_told_by_oneself)
{
    struct test_world w;
    enum { N = 10 };
    one_and_others(N);
    open_trees(&w, &(struct test_world_params){.ranks = N + 1,
                                                        .absent = WDL_POSTED_FEW });
    struct test_rank *t = &w.rank[0];
    t->host.fail_after = 1;
    TEST_DONE(&w, wdl_win_post(t->win, group[0], N, 0, &t->step));
    t->host.fail_after = 0;
    ck_assert_int_eq(sent(&w, 0), N);
    origins_start(&w, N);
    origins_complete(&w, N);
    TEST_DONE(&w, wdl_win_wait(t->win, &t->step));
    /* one who is to pass it on and cannot is asked again */
    uint32_t next = 2;
    struct wdl_pkt post = test_packet(&w, 0, WDL_PKT_POST);
    post.op = 77;
    for (int left = 1; left <= 2; left++) {
        w.rank[1].host.fail_after = left;
        int live = w.rank[1].host.live;
        ck_assert_int_eq(test_deliver(&w, 0, 1, &post, &next, sizeof(next)), WDL_AGAIN);
        ck_assert_int_eq(w.rank[1].host.live, live);
        w.rank[1].host.fail_after = 0;
        if (left == 1) {        /* room for early posts, of which the next try has to make more */
            struct wdl_posted early = {.rank = 0 };
            while (w.rank[1].win->posted_n < w.rank[1].win->posted.room || early.parent == 0) {
                ck_assert_int_eq(wdl_pscw_posted(w.rank[1].win, &early), WDL_OK);
                early.parent = 1;
            }
        }
    }
    w.rank[1].win->posted_n = 0;
    test_world_close(&w);
}
END_TEST

/* Malformed packets change nothing. */
START_TEST(what_is_malformed_is_refused)
{
    struct test_world w;
    enum { N = 3 };
    one_and_others(N);
    open_trees(&w, &(struct test_world_params){.ranks = N + 1 });
    const uint32_t bad_rank[] = { 2, N + 1 }, many[] = { 1, 2, 3, 0 }, itself[] = { 2, 1 };
    const uint32_t target[] = { 2, 0 };
    int live = w.rank[1].host.live;
    for (int complete = 0; complete < 2; complete++) {
        struct wdl_pkt pkt = test_packet(&w, 0, complete ? WDL_PKT_COMPLETE : WDL_PKT_POST);
        pkt.op = !complete;
        pkt.count = 1;
        ck_assert_int_eq(test_deliver(&w, 0, 1, &pkt, bad_rank, sizeof(bad_rank)), WDL_ERR_PROTO);
        ck_assert_int_eq(test_deliver(&w, 0, 1, &pkt, many, sizeof(many)), WDL_ERR_PROTO);
        ck_assert_int_eq(test_deliver(&w, 0, 1, &pkt, many, 6), WDL_ERR_PROTO);
        ck_assert_int_eq(test_deliver(&w, 0, 1, &pkt, itself, sizeof(itself)), WDL_ERR_PROTO);
    }
    struct wdl_pkt post = test_packet(&w, 0, WDL_PKT_POST);
    ck_assert_int_eq(test_deliver(&w, 0, 1, &post, many, 4), WDL_ERR_PROTO);   /* no number */
    post.op = 1;
    const int64_t posters[] = { -1, N + 1, 1 };
    for (int i = 0; i < 3; i++) {
        post.lo = posters[i];
        ck_assert_int_eq(test_deliver(&w, 0, 1, &post, NULL, 0), WDL_ERR_PROTO);
    }
    post.lo = 0;
    ck_assert_int_eq(test_deliver(&w, 0, 1, &post, target, sizeof(target)), WDL_ERR_PROTO);
    post.op = UINT64_C(1) << 32;
    ck_assert_int_eq(test_deliver(&w, 0, 1, &post, NULL, 0), WDL_ERR_PROTO);
    struct wdl_pkt complete = test_packet(&w, 0, WDL_PKT_COMPLETE);
    const int64_t counts[] = { 0, -1, N + 2, INT64_MAX, 2 };
    for (int i = 0; i < 5; i++) {
        complete.count = counts[i];
        ck_assert_int_eq(test_deliver(&w, 0, 1, &complete, many + 1, i == 4 ? 4 : 0),
                         WDL_ERR_PROTO);
    }
    ck_assert_int_eq(w.rank[1].host.live, live);

    /* reports of a post that was passed on to one: too early, too much, of others, too often */
    struct test_rank *t = &w.rank[0];
    struct wdl_pkt report = test_packet(&w, 2, WDL_PKT_REPORT);
    report.op = 1;
    report.count = 1;
    ck_assert_int_eq(test_deliver(&w, 2, 1, &report, NULL, 0), WDL_ERR_PROTO);
    int pair[] = { 3, 1, 2 };
    TEST_DONE(&w, wdl_win_post(t->win, pair, N, 0, &t->step));
    test_world_settle(&w);
    const struct { int64_t lo, op, count; } wrong[] = {
        { 1, 1, 1 }, { -1, 1, 1 }, { N + 1, 1, 1 }, { 0, 2, 1 }, { 0, INT64_C(1) << 32 | 1, 1 },
        { 0, 1, -1 }, { 0, 1, N + 2 }
    };
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        report.lo = wrong[i].lo;
        report.op = (uint64_t) wrong[i].op;
        report.count = wrong[i].count;
        ck_assert_int_eq(test_deliver(&w, 2, 1, &report, NULL, 0), WDL_ERR_PROTO);
    }
    origins_start(&w, N);
    for (int i = 1; i <= N; i += 2)
        TEST_DONE(&w, wdl_win_complete(w.rank[i].win, &w.rank[i].step));
    test_world_settle(&w);
    report.lo = 0;
    report.op = report.count = 1;
    ck_assert_int_eq(wdl_win_wait(t->win, &t->step), WDL_AGAIN);
    TEST_DONE(&w, wdl_win_complete(w.rank[2].win, &w.rank[2].step));
    TEST_DONE(&w, wdl_win_wait(t->win, &t->step));
    ck_assert_int_eq(test_deliver(&w, 2, 1, &report, NULL, 0), WDL_ERR_PROTO);
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/relay", a_post_goes_down_a_tree_and_is_answered_up_it,
          the_target_hears_of_each_part_when_it_is_whole, complete_goes_down_a_tree,
          operations_say_that_they_are_the_last,
          reports_of_an_epoch_may_come_after_the_next_post, what_was_put_is_there_after_wait,
          members_who_may_compute_pass_nothing_on, long_lists_go_in_pieces,
          without_memory_each_is_told_by_oneself, what_is_malformed_is_refused)
