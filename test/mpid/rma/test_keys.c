/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/keys: a key is fetched once, kept in a table that does not grow, and distrusted.
 */
#include <string.h>
#include "host/testworld.h"
#include "support/suite.h"

static void open_world(struct test_world *w, struct test_world_params p)
{
    p.direct = 1;
    p.combine = WDL_COMBINE_ALWAYS;     /* the flush travels with the put */
    test_world_open(w, &p);
    for (int i = 0; i < w->n; i++)
        TEST_DONE(w, wdl_win_lock_all(w->rank[i].win, WDL_MODE_NOCHECK, &w->rank[i].step));
}

static void close_world(struct test_world *w)
{
    for (int i = 0; i < w->n; i++)
        TEST_DONE(w, wdl_win_unlock_all(w->rank[i].win, &w->rank[i].step));
    test_world_close(w);
}

static void put(struct test_world *w, int o, int t)
{
    char data[8] = "the key";
    test_op(w, o, test_put(t, 0, data, 8));
    TEST_DONE(w, wdl_win_flush(w->rank[o].win, t, 0, &w->rank[o].step));
    ck_assert_mem_eq(w->rank[t].memory, data, 8);
    memset(w->rank[t].memory, 0, 8);
}

static uint64_t direct(struct test_world *w, int o)
{
    struct wdl_win_stats s;
    wdl_win_stats_get(w->rank[o].win, &s);
    return s.ops_direct;
}

START_TEST(the_first_contact_costs_a_question)
{
    struct test_world w;
    open_world(&w, (struct test_world_params){.ranks = 2});
    ck_assert_ptr_null(w.rank[1].win->keys[WDL_KEYS_DATA].mem);
    put(&w, 0, 1);
    ck_assert_int_eq(test_world_messages(&w), 4);       /* question, answer; put, flushed */
    ck_assert_ptr_nonnull(w.rank[1].win->keys[WDL_KEYS_DATA].mem);  /* registered when asked */
    ck_assert_uint_eq(direct(&w, 0), 0);
    for (int i = 0; i < 3; i++)
        put(&w, 0, 1);
    ck_assert_int_eq(test_world_messages(&w), 0);
    ck_assert_uint_eq(direct(&w, 0), 3);
    close_world(&w);
}
END_TEST

START_TEST(a_network_that_needs_the_target_is_not_asked_again)
{
    struct test_world w;
    int messages = 0;
    open_world(&w, (struct test_world_params){.ranks = 8,.needs_target = 1});
    for (int t = 1; t < 8; t++)
        put(&w, 0, t);
    messages = test_world_messages(&w);
    ck_assert_int_eq(messages, 7 * 2 + 4 * 2);  /* four ranks were asked */
    ck_assert_uint_eq(direct(&w, 0), 0);
    close_world(&w);
}
END_TEST

/* Two places for seven ranks: a rank used again and again gets its place. */
START_TEST(places_change_hands)
{
    struct test_world w;
    open_world(&w, (struct test_world_params){.ranks = 8,.rma = {.win_targets = 2}});
    ck_assert_int_eq(w.rank[0].win->keys[WDL_KEYS_DATA].count, 2);
    for (int t = 1; t < 8; t++) {
        for (int i = 0; i < 30; i++)
            put(&w, 0, t);
        ck_assert_uint_ge(direct(&w, 0), (uint64_t) (15 * t));
    }
    close_world(&w);
}
END_TEST

/* No memory, none that the network takes, or a window that is not for it: by message. */
START_TEST(where_there_is_no_key)
{
    struct test_world w;
    struct wdl_win *win;
    test_world_open(&w, &(struct test_world_params){.ranks = 2});
    ck_assert_ptr_null(w.rank[0].win->keys[WDL_KEYS_DATA].at);
    struct wdl_pkt pkt = test_packet(&w, 0, WDL_PKT_KEY);
    ck_assert_int_eq(test_deliver(&w, 0, 1, &pkt, NULL, 0), WDL_OK);    /* a liar */
    w.malformed++;              /* its answer comes to somebody who has not asked */
    test_world_close(&w);
    open_world(&w, (struct test_world_params){.ranks = 2});
    struct wdl_win_params empty = test_win_params(&w.rank[0]);
    empty.id = 8;
    empty.bytes = 0;
    ck_assert_int_eq(wdl_win_create(w.rank[0].proc, &empty, &win), WDL_OK);
    pkt.win = 8;
    pkt.origin = 1;
    test_deliver(&w, 1, 0, &pkt, NULL, 0);
    ck_assert_ptr_null(win->keys[WDL_KEYS_DATA].mem);
    test_world_settle(&w);
    w.malformed++;              /* there is no such window at the other */
    ck_assert_int_eq(wdl_win_free(win), WDL_OK);
    close_world(&w);
}
END_TEST

START_TEST(answers_are_checked)
{
    struct test_world w;
    char key[WDL_NM_KEY_BYTES_MAX];
    open_world(&w, (struct test_world_params){.ranks = 2});
    struct wdl_pkt pkt = test_packet(&w, 1, WDL_PKT_KEY_REPLY);
    ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, NULL, 0), WDL_ERR_PROTO);     /* no element */
    struct wdl_rma_args args = test_put(1, 0, key, 8);
    ck_assert_int_eq(wdl_rma_op(w.rank[0].win, &args), WDL_OK);
    memset(key, 'x', sizeof(key));
    pkt.bytes = 9;
    ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, key, 8), WDL_ERR_PROTO);
    pkt.bytes = 40;
    ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, key, 40), WDL_ERR_PROTO);
    ck_assert_int_eq(w.rank[0].win->keys[WDL_KEYS_DATA].at[1].phase, WDL_KEY_USELESS);
    w.malformed++;              /* the true answer, which nobody waits for */
    test_world_settle(&w);
    put(&w, 0, 1);
    ck_assert_uint_eq(direct(&w, 0), 0);
    close_world(&w);
}
END_TEST

START_TEST(memory_runs_out_cleanly)
{
    struct test_world w;
    open_world(&w, (struct test_world_params){.ranks = 2});
    for (int n = 1; n < 40; n++) {
        struct wdl_win *win;
        struct wdl_win_params params = test_win_params(&w.rank[0]);
        params.id = 9;
        w.rank[0].host.fail_after = n;
        int status = wdl_win_create(w.rank[0].proc, &params, &win);
        w.rank[0].host.fail_after = 0;
        if (status == WDL_OK) {
            ck_assert_int_eq(wdl_win_free(win), WDL_OK);
            ck_assert_int_gt(n, 4);
            break;
        }
        ck_assert_int_eq(status, WDL_ERR_NOMEM);
        ck_assert_int_lt(n, 39);
    }
    close_world(&w);
}
END_TEST

WDL_SUITE("rma/keys", the_first_contact_costs_a_question,
          a_network_that_needs_the_target_is_not_asked_again, places_change_hands,
          where_there_is_no_key, answers_are_checked, memory_runs_out_cleanly)
