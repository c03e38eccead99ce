/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/borrow: keys of others' attached memory are kept while they are true, used by puts
 * and gets alone, and returned when nothing is under way with them.
 */
#include <string.h>
#include "host/testworld.h"
#include "support/suite.h"

enum { REGIONS = 8, PART = 1024 };      /* each rank's memory is attached in so many regions */

static char *region(struct test_world *w, int rank, int r)
{
    return w->rank[rank].memory + r * PART;
}

static int64_t address(struct test_world *w, int rank, int r)
{
    return (int64_t) (uintptr_t) region(w, rank, r);
}

static void open_world(struct test_world *w, struct test_world_params p)
{
    p.ranks = p.ranks ? p.ranks : 2;
    p.dynamic = p.direct = 1;
    p.bytes = REGIONS * PART;
    test_world_open(w, &p);
    for (int i = 0; i < w->n; i++)
        for (int r = 0; r < REGIONS; r++)
            ck_assert_int_eq(wdl_win_attach(w->rank[i].win, region(w, i, r), PART), WDL_OK);
}

static void lock_all(struct test_world *w, int o)
{
    TEST_DONE(w, wdl_win_lock_all(w->rank[o].win, 0, &w->rank[o].step));
}

static void unlock_all(struct test_world *w, int o)
{
    TEST_DONE(w, wdl_win_unlock_all(w->rank[o].win, &w->rank[o].step));
}

static int flush(struct test_world *w, int o, int t)
{
    return TEST_WAIT(w, wdl_win_flush(w->rank[o].win, t, 0, &w->rank[o].step));
}

static uint64_t direct(struct test_world *w, int o)
{
    struct wdl_win_stats s;
    wdl_win_stats_get(w->rank[o].win, &s);
    return s.ops_direct;
}

static void contact(struct test_world *w, int o, int t, int r)
{
    char byte = 0;
    uint64_t before = direct(w, o);
    for (int i = 0; i < 40 && direct(w, o) == before; i++) {
        test_op(w, o, test_put(t, address(w, t, r) + PART - 1, &byte, 1));
        ck_assert_int_eq(flush(w, o, t), WDL_OK);
    }
    ck_assert_uint_gt(direct(w, o), before);
    test_world_messages(w);
}

static struct wdl_key *key_of(struct test_world *w, int o)
{
    return &w->rank[o].win->keys[WDL_KEYS_DATA].at[0];
}

START_TEST(a_region_is_asked_for_once)
{
    for (int i = 0; i < 4; i++) {
        struct test_world w;
        char data[600], back[600];
        open_world(&w, (struct test_world_params){.unordered = i % 2,
                                                  .delay_ns_max = i / 2 ? 3000 : 0});
        for (int e = 0; e < 3; e++) {   /* keys outlive epochs */
            lock_all(&w, 0);
            for (int r = 0; r < REGIONS && e == 0; r++)
                contact(&w, 0, 1, r);
            test_world_messages(&w);
            for (int r = 0; r < REGIONS && e > 0; r++) {
                memset(data, 'a' + r, sizeof(data));
                uint64_t before = direct(&w, 0);
                test_op(&w, 0, test_put(1, address(&w, 1, r), data, sizeof(data)));
                ck_assert_int_eq(flush(&w, 0, 1), WDL_OK);
                test_op(&w, 0, test_get(1, address(&w, 1, r), back, sizeof(back)));
                ck_assert_int_eq(flush(&w, 0, 1), WDL_OK);
                ck_assert_mem_eq(region(&w, 1, r), data, sizeof(data));
                ck_assert_mem_eq(back, data, sizeof(data));
                /* the epoch's lock comes with the first, by message */
                ck_assert_uint_ge(direct(&w, 0), before + 1 + (r > 0));
                ck_assert(r == 0 || test_world_messages(&w) == 0);
                test_world_messages(&w);
            }
            unlock_all(&w, 0);
        }
        test_world_close(&w);
    }
}
END_TEST

/* Each piece has the key of its region; what goes on in a neighbour goes by message. */
START_TEST(pieces_in_several_regions)
{
    static const int blocks[3] = {8, 8, 8}, displs[3] = {0, PART, 3 * PART + 8};
    struct test_world w;
    char data[24];
    open_world(&w, (struct test_world_params){0});
    struct test_host *host = &w.rank[0].host;
    wdl_type type = test_type_indexed(host, TEST_U8, 3, blocks, displs);
    lock_all(&w, 0);
    contact(&w, 0, 1, 0);
    contact(&w, 0, 1, 1);
    for (int i = 0; i < 2; i++) {
        uint64_t puts = wdl_sim_counts(w.sim)->puts;
        memset(data, 'p' + i, sizeof(data));
        struct wdl_rma_args put = test_put(1, address(&w, 1, 0), data, sizeof(data));
        put.remote = test_typed(host, NULL, 1, type);
        test_op(&w, 0, put);    /* the first asks for the third region */
        ck_assert_int_eq(flush(&w, 0, 1), WDL_OK);
        ck_assert_uint_eq(wdl_sim_counts(w.sim)->puts, puts + (i ? 3 : 0));
        for (int k = 0; k < 3; k++)
            ck_assert_mem_eq(w.rank[1].memory + displs[k], data, 8);
    }
    uint64_t before = direct(&w, 0);
    test_op(&w, 0, test_put(1, address(&w, 1, 1) - 12, data, 24));
    ck_assert_int_eq(flush(&w, 0, 1), WDL_OK);
    ck_assert_mem_eq(region(&w, 1, 1) - 12, data, 24);
    ck_assert_uint_eq(direct(&w, 0), before);
    unlock_all(&w, 0);
    test_type_end(host, type);
    test_world_close(&w);
}
END_TEST

/* What was begun with a key has happened when detach ends, whatever comes after it. The memory is
 * then somebody else's, and attached again it is reached anew. */
START_TEST(a_detached_region_is_never_written)
{
    for (int i = 0; i < 40; i++) {
        struct test_world w;
        struct test_request request = {0};
        char data[4][PART], want[PART];
        open_world(&w, (struct test_world_params){.unordered = i % 2,.delay_ns_max = 20000,
                                                  .refuse_permille = i / 2 % 2 * 300,
                                                  .ops_max = i / 4 % 2 * 3,
                                                  .seed = (uint64_t) i});
        struct test_rank *t = &w.rank[1];
        lock_all(&w, 0);
        contact(&w, 0, 1, 0);
        contact(&w, 0, 1, 1);
        for (int k = 0; k < 4; k++) {
            memset(data[k], 'a' + k, PART);
            struct wdl_rma_args put = test_put(1, address(&w, 1, 0), data[k], PART);
            put.request = k == 2 ? &request : NULL;
            test_op(&w, 0, put);
            if (i % 3 == 0)
                test_world_turn(&w);
        }
        int left = 1;
        for (int turns = 0; left; turns++) {
            left = wdl_win_detach(t->win, region(&w, 1, 0)) == WDL_AGAIN;
            ck_assert(left || turns > 0);
            if (left && turns < 50)     /* others go on with other memory */
                test_op(&w, 0, test_put(1, address(&w, 1, 1), data[0], 8));
            test_world_turn(&w);
        }
        ck_assert(region(&w, 1, 0)[0] >= 'a' && region(&w, 1, 0)[0] <= 'd');
        memset(want, '#', PART);
        memset(region(&w, 1, 0), '#', PART);
        ck_assert_int_eq(flush(&w, 0, 1), WDL_OK);
        ck_assert(request.done && request.status == WDL_OK);
        ck_assert_mem_eq(region(&w, 1, 0), want, PART);
        test_op(&w, 0, test_put(1, address(&w, 1, 0), data[0], 8));
        ck_assert_int_eq(flush(&w, 0, 1), WDL_ERR_RANGE);
        ck_assert_mem_eq(region(&w, 1, 0), want, PART);
        ck_assert_int_eq(wdl_win_attach(t->win, region(&w, 1, 0), PART / 2), WDL_OK);
        contact(&w, 0, 1, 1);
        test_op(&w, 0, test_put(1, address(&w, 1, 0), data[0], PART / 2));
        ck_assert_int_eq(flush(&w, 0, 1), WDL_OK);
        test_op(&w, 0, test_put(1, address(&w, 1, 0) + PART / 2, data[0], 8));
        ck_assert_int_eq(flush(&w, 0, 1), WDL_ERR_RANGE);
        ck_assert_int_eq(region(&w, 1, 0)[PART / 2 - 1], 'a');
        ck_assert_int_eq(region(&w, 1, 0)[PART / 2], '#');
        unlock_all(&w, 0);
        test_world_close(&w);
    }
}
END_TEST

/* Operations and detach at once, without any synchronization: at the origin they succeed or are out
 * of range, at the target nothing is touched that is not attached. */
START_TEST(races_with_detach_are_errors_at_the_origin)
{
    int late = 0, spoiled = 0;
    for (int i = 0; i < 60; i++) {
        struct test_world w;
        char data[8] = "racing!";
        open_world(&w, (struct test_world_params){.unordered = i % 2,.delay_ns_max = 8000,
                                                  .seed = (uint64_t) i,.rma = {.win_targets =
                                                  1 + i / 2 % 3}});
        struct test_rank *o = &w.rank[0], *t = &w.rank[1];
        lock_all(&w, 0);
        for (int k = 0; k < 30; k++) {
            int r = (int) wdl_prng_below(&w.prng, 3), left = 1;
            for (int n = (int) wdl_prng_below(&w.prng, 6); n > 0; n--) {
                test_op(&w, 0, test_put(1, address(&w, 1, r), data, 8));
                test_world_turn(&w);
            }
            while (left) {
                left = wdl_win_detach(t->win, region(&w, 1, r)) == WDL_AGAIN;
                for (int p = 0; p < o->win->keys[WDL_KEYS_DATA].count; p++)
                    spoiled += key_of(&w, 0)[p].phase == WDL_KEY_ASKED && key_of(&w, 0)[p].spoiled;
                test_world_turn(&w);
            }
            memset(region(&w, 1, r), '#', PART);
            for (int n = (int) wdl_prng_below(&w.prng, 4); n > 0; n--)
                test_world_turn(&w);
            ck_assert_int_eq(region(&w, 1, r)[0], '#');
            int status = flush(&w, 0, 1);
            ck_assert(status == WDL_OK || status == WDL_ERR_RANGE);
            late += status == WDL_ERR_RANGE;
            ck_assert_int_eq(region(&w, 1, r)[0], '#');
            ck_assert_int_eq(wdl_win_attach(t->win, region(&w, 1, r), PART), WDL_OK);
        }
        unlock_all(&w, 0);
        test_world_close(&w);
    }
    ck_assert_int_gt(late, 20);
    ck_assert_int_gt(spoiled, 0);       /* a recall has overtaken its key */
}
END_TEST

/* One place: the region used again and again gets it, and what left it may be recalled. */
START_TEST(places_change_hands)
{
    struct test_world w;
    char data[8] = "places";
    open_world(&w, (struct test_world_params){.ranks = 3,.rma = {.win_targets = 1}});
    ck_assert_int_eq(w.rank[0].win->keys[WDL_KEYS_DATA].count, 1);
    lock_all(&w, 0);
    for (int i = 0; i < 6; i++) {
        int t = 1 + i % 2, r = i / 2;
        uint64_t before = direct(&w, 0);
        for (int k = 0; k < 30; k++) {
            test_op(&w, 0, test_put(t, address(&w, t, r), data, 8));
            ck_assert_int_eq(flush(&w, 0, t), WDL_OK);
        }
        ck_assert_uint_ge(direct(&w, 0), before + 15);
    }
    for (int t = 1; t < 3; t++)
        for (int r = 0; r < 3; r++)
            TEST_DONE(&w, wdl_win_detach(w.rank[t].win, region(&w, t, r)));
    ck_assert_int_eq(key_of(&w, 0)->phase, WDL_KEY_EMPTY);
    unlock_all(&w, 0);
    test_world_close(&w);
}
END_TEST

/* The network has the targets' processors do it: after a few keys in vain nobody asks. */
START_TEST(a_network_that_needs_the_target_is_not_asked_again)
{
    struct test_world w;
    char data[8] = "in vain";
    open_world(&w, (struct test_world_params){.needs_target = 1,.combine = WDL_COMBINE_ALWAYS});
    TEST_DONE(&w, wdl_win_lock_all(w.rank[0].win, WDL_MODE_NOCHECK, &w.rank[0].step));
    for (int i = 0; i < 3 * REGIONS; i++) {
        test_op(&w, 0, test_put(1, address(&w, 1, i % REGIONS), data, 8));
        ck_assert_int_eq(flush(&w, 0, 1), WDL_OK);
    }
    ck_assert_int_eq(test_world_messages(&w), 3 * REGIONS * 2 + 4 * 2);
    ck_assert_uint_eq(direct(&w, 0), 0);
    for (int r = 0; r < REGIONS; r++)
        TEST_DONE(&w, wdl_win_detach(w.rank[1].win, region(&w, 1, r)));
    ck_assert_int_eq(test_world_messages(&w), 4 * 2);
    unlock_all(&w, 0);
    test_world_close(&w);
}
END_TEST

/* Accumulates are the target's work; what is flushed in between keeps its order. */
START_TEST(order_survives_a_change_of_path)
{
    for (int i = 0; i < 8; i++) {
        struct test_world w;
        int64_t one = 1, back = 0;
        open_world(&w, (struct test_world_params){.unordered = i % 2,.delay_ns_max = 5000,
                                                  .atomics = 1,.refuse_permille = 300,
                                                  .seed = (uint64_t) i});
        int64_t at = address(&w, 1, 2);
        lock_all(&w, 0);
        contact(&w, 0, 1, 2);
        uint64_t before = direct(&w, 0);
        for (int64_t k = 1; k < 30; k++) {
            int64_t ten = 10 * k;
            test_op(&w, 0, test_put(1, at, &ten, 8));
            ck_assert_int_eq(flush(&w, 0, 1), WDL_OK);
            test_op(&w, 0, test_acc(1, at, WDL_ROP_SUM, TEST_I64, 1, &one, NULL));
            ck_assert_int_eq(flush(&w, 0, 1), WDL_OK);
            test_op(&w, 0, test_get(1, at, &back, 8));
            ck_assert_int_eq(flush(&w, 0, 1), WDL_OK);
            ck_assert_int_eq(back, 10 * k + 1);
        }
        ck_assert_uint_eq(direct(&w, 0), before + 2 * 29);
        unlock_all(&w, 0);
        test_world_close(&w);
    }
}
END_TEST

START_TEST(packets_are_checked)
{
    struct test_world w;
    char key[WDL_NM_KEY_BYTES_MAX];
    open_world(&w, (struct test_world_params){.ranks = 3});
    lock_all(&w, 0);
    struct wdl_pkt recall = test_packet(&w, 1, WDL_PKT_RECALL);
    ck_assert_int_eq(test_deliver(&w, 1, 0, &recall, NULL, 0), WDL_ERR_PROTO);  /* no number */
    /* an answer about other memory than was asked for, a false key, a key of nothing */
    memset(key, 'x', sizeof(key));
    for (int i = 0; i < 3; i++) {
        struct wdl_pkt pkt = test_packet(&w, 1, WDL_PKT_KEY_REPLY);
        struct wdl_rma_args put = test_put(1, address(&w, 1, 0), key, 8);
        ck_assert_int_eq(wdl_rma_op(w.rank[0].win, &put), WDL_OK);
        ck_assert_int_eq(key_of(&w, 0)->phase, WDL_KEY_ASKED);
        pkt.offset = (uint64_t) address(&w, 1, i == 0);
        pkt.total = i < 2 ? PART : 0;
        pkt.bytes = 40;
        ck_assert_int_eq(test_deliver(&w, 1, 0, &pkt, key, 40), WDL_ERR_PROTO);
        ck_assert_int_eq(key_of(&w, 0)->phase, WDL_KEY_EMPTY);
        w.malformed++;          /* the true answer, which nobody waits for */
        test_world_settle(&w);
        ck_assert_int_eq(flush(&w, 0, 1), WDL_OK);
    }
    contact(&w, 0, 1, 0);
    recall.op = key_of(&w, 0)->serial;
    struct wdl_pkt other = test_packet(&w, 2, WDL_PKT_RECALL);
    other.op = recall.op;
    ck_assert_int_eq(test_deliver(&w, 2, 0, &other, NULL, 0), WDL_OK);  /* not its key: returned */
    ck_assert_int_eq(key_of(&w, 0)->phase, WDL_KEY_OPEN);
    ck_assert_int_eq(test_deliver(&w, 1, 0, &recall, NULL, 0), WDL_OK);
    ck_assert_int_eq(key_of(&w, 0)->phase, WDL_KEY_RECALLED);
    ck_assert_int_eq(test_deliver(&w, 1, 0, &recall, NULL, 0), WDL_ERR_PROTO);
    test_world_settle(&w);
    w.malformed += 2;           /* ranks 1 and 2 have recalled nothing */
    unlock_all(&w, 0);
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/borrow", a_region_is_asked_for_once, pieces_in_several_regions,
          a_detached_region_is_never_written, races_with_detach_are_errors_at_the_origin,
          places_change_hands, a_network_that_needs_the_target_is_not_asked_again,
          order_survives_a_change_of_path, packets_are_checked)
