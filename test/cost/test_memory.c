/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The memory a process spends on a window does not depend on the number of ranks (seed 001, Goals):
 * what a process of 64 ranks has allocated, one of 4,096 has to the byte, after creation, in the
 * middle of an epoch and after every kind of use. What all ranks may leave at one of them at a time
 * is kept only so long.
 *
 * A team's grows with the logarithm of the number of ranks and with its window, not with the number
 * of ranks.
 */
#include <stdlib.h>
#include <string.h>
#include "host/testworld.h"
#include "mpid/coll/ranks.h"
#include "support/suite.h"

enum { CONTACTS = 12, POINTS = 5 };

struct course {
    size_t bytes[POINTS], window;       /* allocated at rank 0, by point; at creation */
    uint64_t direct;
};

static void look(const struct test_world *w, struct course *c, int point)
{
    c->bytes[point] = w->rank[0].host.bytes;
}

static void use(struct test_world *w)
{
    static char data[600];
    static int64_t one = 1, got; /* until the next flush */
    for (int t = 1; t < CONTACTS; t++) {
        test_op(w, 0, test_put(t, 0, data, 8));
        TEST_DONE(w, wdl_win_flush(w->rank[0].win, t, 0, &w->rank[0].step));
        test_op(w, 0, test_put(t, 0, data, sizeof(data)));
        test_op(w, 0, test_acc(t, 0, WDL_ROP_SUM, TEST_I64, 1, &one, &got));
        test_op(w, 0, test_get(t, 0, data, sizeof(data)));
    }
}

static struct course run(int ranks, int direct, int unordered)
{
    struct test_world w;
    struct course c = {.window = 0};
    struct wdl_win_stats stats;
    int group[CONTACTS], to = 0;
    struct test_world_params p = {.ranks = CONTACTS,.absent = ranks - CONTACTS,.direct = direct,
        .atomics = direct,
        .unordered = unordered,.bytes = 1024,
        .rma = {.win_targets = 8,.global_targets = 8,.win_ops = 4,.global_ops = 4}
    };
    test_world_open(&w, &p);
    struct test_rank *o = &w.rank[0];
    look(&w, &c, 0);
    wdl_win_stats_get(o->win, &stats);
    struct wdl_win_params another = test_win_params(o);
    struct wdl_win *win;
    another.id = 8;
    ck_assert_int_eq(wdl_win_create(o->proc, &another, &win), WDL_OK);
    struct wdl_net_offer offer;
    wdl_win_net_offer(win, &offer);
    c.window = o->host.bytes - c.bytes[0];
    ck_assert_uint_eq(c.window, stats.bytes);   /* as the window says */
    ck_assert_int_eq(wdl_win_free(win), WDL_OK);
    /* more targets than elements would make lock_all ask every rank: not here */
    for (int i = 0; i < CONTACTS; i++) {
        TEST_DONE(&w, wdl_win_lock(o->win, i, 0, 0, &o->step));
        group[i] = i;
    }
    use(&w);
    look(&w, &c, 1);
    for (int i = 0; i < CONTACTS; i++)
        TEST_DONE(&w, wdl_win_unlock(o->win, i, &o->step));
    look(&w, &c, 2);
    TEST_DONE(&w, wdl_win_lock_all(o->win, WDL_MODE_NOCHECK, &o->step));
    use(&w);
    TEST_DONE(&w, wdl_win_unlock_all(o->win, &o->step));
    look(&w, &c, 3);
    for (int i = 1; i < CONTACTS; i++)
        TEST_DONE(&w, wdl_win_post(w.rank[i].win, &to, 1, 0, &w.rank[i].step));
    TEST_DONE(&w, wdl_win_start(o->win, group + 1, CONTACTS - 1, 0, &o->step));
    TEST_DONE(&w, wdl_win_complete(o->win, &o->step));
    for (int i = 1; i < CONTACTS; i++)
        TEST_DONE(&w, wdl_win_wait(w.rank[i].win, &w.rank[i].step));
    look(&w, &c, 4);
    wdl_win_stats_get(o->win, &stats);
    c.direct = stats.ops_direct;
    test_world_close(&w);
    return c;
}

START_TEST(memory_does_not_grow_with_the_number_of_ranks)
{
    for (int i = 0; i < 4; i++) {
        struct course few = run(64, i % 2, i / 2), many = run(4096, i % 2, i / 2);
        ck_assert_uint_gt(few.window, 0);
        ck_assert_uint_eq(few.window, many.window);
        for (int point = 0; point < POINTS; point++)
            ck_assert_uint_eq(few.bytes[point], many.bytes[point]);
        ck_assert_int_eq(few.direct > 0, i % 2);
    }
}
END_TEST

/* Everyone else asks for rank 0's lock, which it has: each who waits is remembered there, and
 * nowhere else. */
static void wait_for_lock(struct test_world *w)
{
    static char data[8];
    struct test_rank *t = &w->rank[0];
    TEST_DONE(w, wdl_win_lock(t->win, 0, 1, 0, &t->step));
    for (int i = 1; i < w->n; i++) {
        struct test_rank *o = &w->rank[i];
        TEST_DONE(w, wdl_win_lock(o->win, 0, 1, 0, &o->step));
        test_op(w, i, test_put(0, 0, data, 8));
        ck_assert_int_eq(wdl_win_unlock(o->win, 0, &o->step), WDL_AGAIN);
    }
    test_world_settle(w);
    ck_assert_int_eq(t->win->grant.length, w->n - 1);
}

static void everyone_unlocks(struct test_world *w)
{
    int left[TEST_RANKS_ROOM], over = 0;
    memset(left, 1, sizeof(left));
    for (int turns = 0; over < w->n; turns++) {
        ck_assert_int_lt(turns, TEST_TURNS_MAX);
        for (int i = 0; i < w->n; i++)
            if (left[i] && wdl_win_unlock(w->rank[i].win, 0, &w->rank[i].step) == WDL_OK) {
                left[i] = 0;
                over++;
            }
        test_world_turn(w);
    }
}

/* The one thing that grows with what all ranks do at a time: a few who wait for a lock, or have
 * posted before the start, cost nothing, more of them a fixed number of bytes each, until they are
 * served. */
START_TEST(who_waits_is_remembered_while_it_waits)
{
    static const int waiting[] = { 1, WDL_GRANT_FEW, WDL_GRANT_FEW + 1, TEST_RANKS_ROOM - 1 };
    for (unsigned i = 0; i < sizeof(waiting) / sizeof(waiting[0]); i++) {
        struct test_world w;
        struct wdl_win_stats idle, stats;
        int n = waiting[i], target = 0, group[TEST_RANKS_ROOM];
        test_world_open(&w, &(struct test_world_params) {.ranks = 1 + n,
                                                         .combine = WDL_COMBINE_NEVER });
        struct test_rank *t = &w.rank[0];
        const struct test_host *host = &t->host;
        for (int round = 0; round < 3; round++) {
            size_t before = host->bytes;
            uint64_t asked = host->allocations;
            wait_for_lock(&w);
            if (n <= WDL_GRANT_FEW)
                ck_assert_uint_eq(host->allocations, asked);
            else
                ck_assert_uint_gt(host->bytes, before);
            ck_assert_uint_le(host->bytes - before, 4 * 32 * (size_t) n);
            everyone_unlocks(&w);
            test_world_settle(&w);
            ck_assert_uint_eq(host->bytes, before);
        }
        wdl_win_stats_get(t->win, &idle);
        for (int k = 1; k <= n; k++) {
            group[k - 1] = k;
            TEST_DONE(&w, wdl_win_post(w.rank[k].win, &target, 1, 0, &w.rank[k].step));
        }
        test_world_settle(&w);
        wdl_win_stats_get(t->win, &stats);
        ck_assert_int_eq(stats.bytes > idle.bytes, n > WDL_POSTED_FEW);
        ck_assert_uint_le(stats.bytes - idle.bytes, 4 * 12 * (size_t) n);
        TEST_DONE(&w, wdl_win_start(t->win, group, n, 0, &t->step));
        wdl_win_stats_get(t->win, &stats);      /* the group, which the program has, too */
        ck_assert_uint_eq(stats.bytes - idle.bytes,
                          (size_t) (n + 1) * (sizeof(int) + sizeof(struct wdl_posted)));
        TEST_DONE(&w, wdl_win_complete(t->win, &t->step));
        for (int k = 1; k <= n; k++)
            TEST_DONE(&w, wdl_win_wait(w.rank[k].win, &w.rank[k].step));
        test_world_close(&w);
    }
}
END_TEST

/* Of the pools that all teams of a process share what is in use. */
static size_t bytes_of(struct ranks_one *one)
{
    const struct wdl_coll_stats *stats = wdl_coll_stats(one->proc);
    return one->host.bytes - stats->memory + stats->memory_used;
}

/* What the rank of most has allocated for a team that is open, and has had so many barriers, beside
 * another one. */
static size_t team_bytes(int ranks, int window, int barriers, int puts)
{
    struct ranks r;
    struct wdl_sim_params sim = {.seed = 1, .ranks = ranks, .ordered = 1, .am_bytes_max = 1024,
                                 .no_rma = !puts};
    struct wdl_team_params params = {.id = 1, .window = window}, other = {.id = 2, .window = 8};
    struct wdl_team **teams = calloc((size_t) ranks, sizeof(teams[0]));
    struct wdl_team **others = calloc((size_t) ranks, sizeof(others[0]));
    size_t *before = calloc((size_t) ranks, sizeof(before[0])), most = 0;
    struct wdl_coll_req *reqs = calloc((size_t) ranks, sizeof(reqs[0]));
    struct wdl_coll_args args = {.kind = WDL_COLL_BARRIER, .flags = WDL_COLL_MPI};
    ck_assert(teams && others && before && reqs);
    ranks_open(&r, &sim);
    ranks_team(&r, &other, others);
    while (!wdl_sim_quiescent(r.sim))
        ranks_step(&r);
    for (int i = 0; i < ranks; i++)
        before[i] = bytes_of(&r.one[i]);
    ranks_team(&r, &params, teams);
    for (int k = 0; k < barriers; k++) {
        for (int i = 0; i < ranks; i++)
            ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
        (void) ranks_finish(&r, reqs, 1);
    }
    ck_assert(barriers == 0 || (ranks_stats(&r).put > 0) == puts);
    while (!wdl_sim_quiescent(r.sim))
        ranks_step(&r);
    for (int i = 0; i < ranks; i++) {
        size_t bytes = bytes_of(&r.one[i]) - before[i];
        most = bytes > most ? bytes : most;
    }
    ranks_drop(&r, teams);
    ranks_drop(&r, others);
    ranks_close(&r);
    free(reqs);
    free(before);
    free(others);
    free(teams);
    return most;
}

static size_t log2_up(int p)
{
    size_t log = 0;
    while (1 << log < p)
        log++;
    return log;
}

/* O((log P + degree) W). Twice the window tells what each of its numbers takes from what is there
 * once; either is 1 KiB at most for each neighbour a rank may have: two cells of 256 bytes
 * and the heads of eight. 4 bytes a rank, or 8 a rank and number, are more at 4,096 ranks. */
START_TEST(a_team_grows_with_the_logarithm_of_the_number_of_ranks)
{
    enum { WINDOW = 8, EACH = 1024 };
    for (int p = 8; p <= 4096; p *= 8) {
        size_t neighbours = log2_up(p) + 1 + (size_t) ranks_spread_steps(p);
        size_t bytes = team_bytes(p, WINDOW, 0, 1), twice = team_bytes(p, 2 * WINDOW, 0, 1);
        ck_assert_uint_gt(twice, bytes);
        ck_assert_uint_le(twice - bytes, WINDOW * neighbours * EACH);
        ck_assert_uint_le(2 * bytes - twice, neighbours * EACH);
    }
}
END_TEST

/* What flags that are put take besides: words, of each number at most 160 bytes for each neighbour;
 * who knows them and whose it knows, of each neighbour its key and a contact, or two; and a bit a
 * rank of those who have the key. */
START_TEST(words_grow_with_the_logarithm_of_the_number_of_ranks)
{
    enum { WINDOW = 8, EACH = 160, CONTACT = 512, ONCE = 1024, BARRIERS = 3 };
    for (int p = 8; p <= 512; p *= 8) {
        size_t neighbours = log2_up(p) + 1 + (size_t) ranks_spread_steps(p), more[2];
        for (int i = 0; i < 2; i++)
            more[i] = team_bytes(p, WINDOW << i, BARRIERS, 1) -
                      team_bytes(p, WINDOW << i, BARRIERS, 0);
        ck_assert_uint_gt(more[1], more[0]);
        ck_assert_uint_le(more[1] - more[0], WINDOW * neighbours * EACH);
        ck_assert_uint_le(2 * more[0] - more[1], ONCE + neighbours * CONTACT + (size_t) p / 8);
    }
}
END_TEST

WDL_SUITE("cost/memory", memory_does_not_grow_with_the_number_of_ranks,
          who_waits_is_remembered_while_it_waits,
          a_team_grows_with_the_logarithm_of_the_number_of_ranks,
          words_grow_with_the_logarithm_of_the_number_of_ranks)
