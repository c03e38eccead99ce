/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/loan: keys of attached memory are given to who asks, and none is left when detach
 * ends.
 */
#include <string.h>
#include "host/testworld.h"
#include "support/suite.h"

enum { HALF = 512 };            /* each rank's memory is attached in two regions of so many bytes */

static char *half(struct test_world *w, int rank, int region)
{
    return w->rank[rank].memory + region * HALF;
}

static int attach(struct test_world *w, int rank, int region)
{
    return wdl_win_attach(w->rank[rank].win, half(w, rank, region), HALF);
}

static int detach(struct test_world *w, int rank, int region)
{
    return wdl_win_detach(w->rank[rank].win, half(w, rank, region));
}

static void open_world(struct test_world *w, struct test_world_params p)
{
    p.ranks = p.ranks ? p.ranks : 2;
    p.dynamic = p.direct = 1;
    p.bytes = 2 * HALF;
    p.combine = WDL_COMBINE_ALWAYS;
    test_world_open(w, &p);
    for (int i = 0; i < w->n; i++) {
        ck_assert_int_eq(attach(w, i, 0), WDL_OK);
        ck_assert_int_eq(attach(w, i, 1), WDL_OK);
        TEST_DONE(w, wdl_win_lock_all(w->rank[i].win, WDL_MODE_NOCHECK, &w->rank[i].step));
    }
}

static void close_world(struct test_world *w)
{
    for (int i = 0; i < w->n; i++)
        TEST_DONE(w, wdl_win_unlock_all(w->rank[i].win, &w->rank[i].step));
    test_world_close(w);
}

static int flush(struct test_world *w, int o, int t)
{
    return TEST_WAIT(w, wdl_win_flush(w->rank[o].win, t, 0, &w->rank[o].step));
}

static int put(struct test_world *w, int o, int t, int region)
{
    char data[8] = "attached";
    int64_t at = (int64_t) (uintptr_t) half(w, t, region);
    memset(half(w, t, region), 0, 8);
    test_op(w, o, test_put(t, at, data, 8));
    int status = flush(w, o, t);
    if (status == WDL_OK)
        ck_assert_mem_eq(half(w, t, region), data, 8);
    return status;
}

static uint64_t direct(struct test_world *w, int o)
{
    struct wdl_win_stats s;
    wdl_win_stats_get(w->rank[o].win, &s);
    return s.ops_direct;
}

/* Twice: the first asks for the key, the second has it. */
static void contact(struct test_world *w, int o, int t, int region)
{
    uint64_t before = direct(w, o);
    for (int i = 0; i < 40 && direct(w, o) == before; i++)
        ck_assert_int_eq(put(w, o, t, region), WDL_OK);
    ck_assert_uint_gt(direct(w, o), before);
}

START_TEST(a_region_nobody_has_a_key_of_is_detached_at_once)
{
    struct test_world w;
    open_world(&w, (struct test_world_params){0});
    contact(&w, 0, 1, 0);
    test_world_messages(&w);
    ck_assert_int_eq(detach(&w, 1, 1), WDL_OK);
    ck_assert_int_eq(detach(&w, 1, 1), WDL_OK);        /* for all it knows, of zero bytes */
    ck_assert_int_eq(attach(&w, 1, 1), WDL_OK);
    ck_assert_int_eq(detach(&w, 0, 0), WDL_OK);
    ck_assert_int_eq(test_world_messages(&w), 0);
    close_world(&w);
}
END_TEST

/* Every holder is asked, and nobody else. */
START_TEST(detach_recalls_every_key)
{
    struct test_world w;
    open_world(&w, (struct test_world_params){.ranks = 5});
    for (int o = 1; o < 4; o++)
        contact(&w, o, 0, 1);
    contact(&w, 4, 0, 0);
    test_world_messages(&w);
    ck_assert_int_eq(detach(&w, 0, 1), WDL_AGAIN);
    TEST_DONE(&w, detach(&w, 0, 1));
    ck_assert_int_eq(test_world_messages(&w), 2 * 3);
    ck_assert_int_eq(put(&w, 1, 0, 1), WDL_ERR_RANGE);
    contact(&w, 4, 0, 0);
    ck_assert_int_eq(attach(&w, 0, 1), WDL_OK);
    for (int o = 1; o < 5; o++)
        contact(&w, o, 0, 1);
    close_world(&w);
}
END_TEST

/* The network refuses memory, or has room for one region: the others go by message. */
START_TEST(memory_the_network_does_not_take)
{
    struct test_world w;
    open_world(&w, (struct test_world_params){.attach_max = 1});
    contact(&w, 0, 1, 0);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(put(&w, 0, 1, 1), WDL_OK);
    ck_assert_uint_eq(direct(&w, 0), 1);
    TEST_DONE(&w, detach(&w, 1, 0));
    /* a refusal is believed for a while, not for ever */
    uint64_t before = direct(&w, 0);
    for (int i = 0; i < 300; i++)
        ck_assert_int_eq(put(&w, 0, 1, 1), WDL_OK);
    ck_assert_uint_gt(direct(&w, 0), before);
    close_world(&w);
}
END_TEST

/* One place for holders: who comes second goes by message, until no key of the first is left. */
START_TEST(few_places_for_holders)
{
    struct test_world w;
    open_world(&w, (struct test_world_params){.ranks = 4,.rma = {.win_targets = 1}});
    ck_assert_int_eq(w.rank[0].win->lender.count, 1);
    contact(&w, 1, 0, 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(put(&w, 2, 0, 0), WDL_OK);
    ck_assert_uint_eq(direct(&w, 2), 0);
    TEST_DONE(&w, detach(&w, 0, 0));
    contact(&w, 3, 0, 1);
    ck_assert_uint_eq(direct(&w, 1), 1);
    close_world(&w);
}
END_TEST

START_TEST(two_ranks_detach_at_a_time)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        struct test_world w;
        open_world(&w, (struct test_world_params){.unordered = unordered,.delay_ns_max = 5000,
                                                  .refuse_permille = 300});
        for (int i = 0; i < 20; i++) {
            contact(&w, 0, 1, 0);
            contact(&w, 1, 0, 0);
            for (int left[2] = {1, 1}; left[0] || left[1]; test_world_turn(&w))
                for (int o = 0; o < 2; o++)
                    left[o] = left[o] && detach(&w, o, 0) == WDL_AGAIN;
            ck_assert_int_eq(attach(&w, 0, 0), WDL_OK);
            ck_assert_int_eq(attach(&w, 1, 0), WDL_OK);
        }
        close_world(&w);
    }
}
END_TEST

START_TEST(what_is_returned_was_recalled)
{
    struct test_world w;
    open_world(&w, (struct test_world_params){.ranks = 3});
    contact(&w, 0, 1, 0);
    struct wdl_pkt pkt = test_packet(&w, 0, WDL_PKT_RETURNED);
    for (pkt.op = 0; pkt.op < 4; pkt.op++)      /* 1 is lent, but not recalled */
        ck_assert_int_eq(test_deliver(&w, 0, 1, &pkt, NULL, 0), WDL_ERR_PROTO);
    ck_assert_int_eq(detach(&w, 1, 0), WDL_AGAIN);
    struct wdl_pkt other = test_packet(&w, 2, WDL_PKT_RETURNED);
    other.op = pkt.op = 1;
    ck_assert_int_eq(test_deliver(&w, 2, 1, &other, NULL, 0), WDL_ERR_PROTO);
    ck_assert_int_eq(test_deliver(&w, 1, 1, &pkt, NULL, 0), WDL_ERR_PROTO);     /* not its rank */
    TEST_DONE(&w, detach(&w, 1, 0));
    ck_assert_int_eq(test_deliver(&w, 0, 1, &pkt, NULL, 0), WDL_ERR_PROTO);
    close_world(&w);
    /* a window that lends nothing */
    test_world_open(&w, &(struct test_world_params){.ranks = 2,.dynamic = 1});
    ck_assert_int_eq(test_deliver(&w, 0, 1, &pkt, NULL, 0), WDL_ERR_PROTO);
    pkt = test_packet(&w, 0, WDL_PKT_KEY);
    pkt.disp = (int64_t) (uintptr_t) w.rank[1].memory;
    ck_assert_int_eq(wdl_win_attach(w.rank[1].win, w.rank[1].memory, 8), WDL_OK);
    ck_assert_int_eq(test_deliver(&w, 0, 1, &pkt, NULL, 0), WDL_OK);
    w.malformed++;              /* its answer comes to somebody who has not asked */
    test_world_close(&w);
}
END_TEST

START_TEST(memory_runs_out_cleanly)
{
    struct test_world w;
    open_world(&w, (struct test_world_params){0});
    w.rank[1].host.fail_after = 1;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(put(&w, 0, 1, 0), WDL_OK);
    w.rank[1].host.fail_after = 0;
    ck_assert_uint_eq(direct(&w, 0), 0);
    contact(&w, 0, 1, 1);
    close_world(&w);
}
END_TEST

WDL_SUITE("rma/loan", a_region_nobody_has_a_key_of_is_detached_at_once, detach_recalls_every_key,
          memory_the_network_does_not_take, few_places_for_holders, two_ranks_detach_at_a_time,
          what_is_returned_was_recalled, memory_runs_out_cleanly)
