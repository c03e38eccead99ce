/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/barrier. */
#include "host/testworld.h"
#include "support/suite.h"

enum { PACKET = sizeof(struct wdl_am_hdr) + sizeof(struct wdl_pkt) };

static const struct test_world_params kinds[] = {
    {.node = 1 }, {.node = 1,.unordered = 1,.delay_ns_max = 3000,.refuse_permille = 200 },
    {.node = TEST_RANKS_MAX }, {.node = TEST_RANKS_MAX,.crowded = 1 },
    {.node = 2,.levels = 1 }, {.node = 3,.levels = 1,.unordered = 1,.delay_ns_max = 3000,
                               .refuse_permille = 200 }, {.node = 2 },
    {.node = 3,.levels = 1,.own = 1 }, {.node = 2,.levels = 1,.dynamic = 1,.unordered = 1 }
};
enum { MANY = WDL_MEET_LOOKS_MAX + 2 };
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void open_kind(struct test_world *w, int kind, int ranks, uint64_t seed)
{
    struct test_world_params p = kinds[kind];
    p.ranks = ranks;
    p.seed = seed;
    test_world_open(w, &p);
}

static int rounds_of(int size)
{
    int rounds = 0;
    while (1 << rounds < size)
        rounds++;
    return rounds;
}

/* Ranks come and go in random order; whoever leaves must have seen all come. */
static void storm(struct test_world *w, int barriers)
{
    int entered[TEST_RANKS_ROOM] = { 0 }, left[TEST_RANKS_ROOM] = { 0 }, over = 0;
    for (int turns = 0; over < w->n; turns++) {
        int i = (int) wdl_prng_below(&w->prng, (uint64_t) w->n);
        struct test_rank *r = &w->rank[i];
        wdl_assert_cmp(turns, <, 200 * TEST_TURNS_MAX);
        if (left[i] < barriers && wdl_prng_chance(&w->prng, 300)) {
            int before = r->step;
            int status = wdl_win_barrier(r->win, &r->step);
            entered[i] += before == 0 && (r->step == 1 || status == WDL_OK);
            if (status == WDL_OK) {
                left[i]++;
                over += left[i] == barriers;
                for (int k = 0; k < w->n; k++) {
                    ck_assert_int_ge(entered[k], left[i]);
                    ck_assert_int_le(entered[k], left[i] + 1);
                }
            } else {
                ck_assert_int_eq(status, WDL_AGAIN);
            }
        }
        wdl_proc_progress(r->proc);
        wdl_sim_advance(w->sim, 100);
    }
}

START_TEST(nobody_leaves_before_all_have_come)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++)
        for (int ranks = 1; ranks <= TEST_RANKS_MAX; ranks++) {
            open_kind(&w, kind, ranks, (uint64_t) (100 * kind + ranks));
            storm(&w, 20);
            test_world_close(&w);
        }
}
END_TEST

START_TEST(many_of_a_node_wait_for_all)
{
    struct test_world w;
    for (int crowded = 0; crowded < 2; crowded++) {
        test_world_open(&w, &(struct test_world_params) {.ranks = MANY,.node = MANY,
                                                         .crowded = crowded,.seed = 3 });
        storm(&w, 4);
        ck_assert_int_eq(test_world_messages(&w), 0);
        test_world_close(&w);
    }
}
END_TEST

START_TEST(the_number_of_messages_is_known)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++)
        for (int ranks = 1; ranks <= TEST_RANKS_MAX; ranks++) {
            open_kind(&w, kind, ranks, 1);
            TEST_ALL(&w, wdl_win_barrier(r->win, &r->step));
            int node = kinds[kind].node, nodes = (ranks + node - 1) / node;
            int levels = kinds[kind].levels || nodes == 1;
            int messages = levels ? nodes * rounds_of(nodes) : ranks * rounds_of(ranks);
            ck_assert_int_eq(test_world_messages(&w), messages);
            ck_assert_int_eq(test_world_bytes(&w), messages * PACKET);
            test_world_close(&w);
        }
}
END_TEST

START_TEST(a_lone_rank_waits_in_every_round)
{
    struct test_world w;
    for (int kind = 0; kind < KINDS; kind++) {
        open_kind(&w, kind, 2, 1);
        struct test_rank *r = &w.rank[0];
        for (int i = 0; i < 50; i++) {
            ck_assert_int_eq(wdl_win_barrier(r->win, &r->step), WDL_AGAIN);
            test_world_turn(&w);
        }
        TEST_ALL(&w, wdl_win_barrier(r->win, &r->step));
        test_world_close(&w);
    }
}
END_TEST

/* Levels: who asks for its own node need not wait for the others; who has not come is waited
 * for. */
START_TEST(a_node_knows_that_its_own_have_come)
{
    struct test_world w;
    for (int late = 0; late < 3; late++)
        for (int levels = 0; levels < 2; levels++) {
            test_world_open(&w, &(struct test_world_params) {.ranks = 7,.node = 3,.own = 1,
                                                             .levels = levels });
            for (int i = 0; i < 3; i++)
                if (i != late)
                    wdl_barrier_begin(w.rank[i].win, 0, 0);
            for (int turn = 0; turn < 20; turn++) {
                for (int i = 0; i < 3; i++)
                    if (i != late)
                        ck_assert_int_eq(wdl_barrier_near(w.rank[i].win), WDL_AGAIN);
                test_world_turn(&w);
            }
            wdl_barrier_begin(w.rank[late].win, 0, 0);
            test_world_settle(&w);
            for (int i = 0; i < 3; i++) {
                ck_assert_int_eq(wdl_barrier_near(w.rank[i].win), levels ? WDL_OK : WDL_AGAIN);
                ck_assert_int_eq(wdl_barrier_progress(w.rank[i].win), WDL_AGAIN);
                /* MEM_SYNC: as it begins, and once more however often it is asked */
                ck_assert_int_eq(wdl_barrier_near(w.rank[i].win), levels ? WDL_OK : WDL_AGAIN);
                ck_assert_uint_eq(w.rank[i].win->quick.syncs, 1 + (unsigned) levels);
            }
            /* one behind it has not begun in fact */
            wdl_barrier_begin(w.rank[0].win, 0, 0);
            ck_assert_int_eq(wdl_barrier_near(w.rank[0].win), WDL_AGAIN);
            for (int i = 1; i < 7; i++)
                wdl_barrier_begin(w.rank[i].win, 0, 0);
            for (int i = 3; i < 7; i++)
                wdl_barrier_begin(w.rank[i].win, 0, 0);
            for (int i = 0; i < 7; i++) {
                TEST_DONE(&w, wdl_barrier_near(w.rank[i].win));
                TEST_DONE(&w, wdl_barrier_progress(w.rank[i].win));
            }
            test_world_close(&w);
        }
}
END_TEST

START_TEST(arrivals_that_cannot_be_are_malformed)
{
    struct test_world w;
    open_kind(&w, 0, 5, 1);     /* three rounds */
    struct wdl_win *win = w.rank[0].win;
    const struct {
        uint64_t sequence;
        int64_t round;
    } bad[] = { {0, 0}, {2, 0}, {UINT64_MAX, 0}, {1, -1}, {1, 3}, {1, 31}, {1, 32}, {1, 63},
        {1, INT64_MAX}, {1, INT64_MIN} };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_int_eq(wdl_barrier_arrive(win, bad[i].sequence, bad[i].round), WDL_ERR_PROTO);
    ck_assert_int_eq(wdl_barrier_arrive(win, 1, 2), WDL_OK);    /* a rank is ahead of us */
    ck_assert_int_eq(wdl_barrier_arrive(win, 1, 2), WDL_ERR_PROTO);     /* twice */
    win->barrier.arrived[1][2] = 0;
    /* none of it has left a mark */
    TEST_ALL(&w, wdl_win_barrier(r->win, &r->step));
    ck_assert_int_eq(wdl_barrier_arrive(win, 1, 0), WDL_ERR_PROTO);     /* it is over */
    TEST_ALL(&w, wdl_win_barrier(r->win, &r->step));
    test_world_close(&w);
    /* levels: three nodes, two rounds, and only a node's first rank gets messages */
    test_world_open(&w, &(struct test_world_params) {.ranks = 5,.node = 2,.levels = 1 });
    ck_assert_int_eq(wdl_barrier_arrive(w.rank[0].win, 1, 2), WDL_ERR_PROTO);
    ck_assert_int_eq(wdl_barrier_arrive(w.rank[1].win, 1, 0), WDL_ERR_PROTO);
    TEST_ALL(&w, wdl_win_barrier(r->win, &r->step));
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/barrier", nobody_leaves_before_all_have_come,
          many_of_a_node_wait_for_all, the_number_of_messages_is_known,
          a_lone_rank_waits_in_every_round, a_node_knows_that_its_own_have_come,
          arrivals_that_cannot_be_are_malformed)
