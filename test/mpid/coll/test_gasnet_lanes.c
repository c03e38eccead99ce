/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Operations side by side: whom they wait for where one rank is late; and that within a node those
 * of several stages send nothing.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/gasnet_ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { N = 6, LATE = N - 1, SYNC = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_MYSYNC | WDL_COLL_LOCAL };

static void settle(void)
{
    for (int k = 0; k < 300 * r.n; k++)
        ranks_step(&r);
}

static int is_done(wdl_gas_handle *h)
{
    enum wdl_gas_error error;
    if (!*h)
        return 1;
    if (!wdl_gas_try_sync(*h, &error))
        return 0;
    must_cmp(error, ==, WDL_GAS_FINE);
    *h = NULL;
    return 1;
}

static void finish(wdl_gas_handle *h)
{
    enum { STEPS_MAX = 1000000 };
    for (int steps = 0; !is_done(h); steps++) {
        must_cmp(steps, <, STEPS_MAX);
        ranks_step(&r);
    }
}

/* --- a late rank --- */

/* Rank i and i + 1 in a ring; of all ranks, or of all but the late one: bytes 0 to 7, or 8 to 15 of
 * all memory. */
struct end { /* a call's lists, as long as it runs */
    uint32_t up, down;
    void *here, *there;
};

static wdl_gas_handle ring(int i, int without_late, int gets, int many)
{
    static struct end ends[2][N];
    struct end *e = &ends[without_late][i];
    int size = without_late ? N - 1 : N, next = (i + 1) % size, last = (i + size - 1) % size;
    size_t at = without_late ? 8 : 0;
    if (without_late && i == LATE)
        next = last = i; /* by itself */
    struct wdl_gas_put put = {.gets = gets, .many = many, .count = 1, .nbytes = 8};
    *e = (struct end){(uint32_t) next, (uint32_t) last, (gets ? dst[i][0] : src[i][0]) + at,
                      (gets ? src[next][0] : dst[next][0]) + at};
    put.node = e->up;
    put.nodes = &e->up;
    put.partners = &e->down;
    put.partner_count = 1;
    put.dst = gets ? e->here : e->there;
    put.src = gets ? e->there : e->here;
    put.dst_list = gets ? &e->here : &e->there;
    put.src_list = gets ? &e->there : &e->here;
    return wdl_gas_put_nb(team[i], &put, SYNC);
}

/* The second ends while the first waits for the late rank. */
static void one_waits(uint64_t seed, int gets)
{
    struct wdl_sim_params sim = {.seed = seed, .ranks = N, .ordered = 1, .am_bytes_max = 1024};
    wdl_gas_handle waits[N], ends[N];
    gasnet_open(&sim, 1);
    settle();
    for (int i = 0; i < N; i++)
        memset(src[i][0], 10 + i, 16);
    for (int i = 0; i < LATE; i++) {
        waits[i] = ring(i, 0, gets, 1);
        ends[i] = ring(i, 1, gets, 1);
    }
    settle();
    for (int i = 0; i < LATE; i++) {
        must(is_done(&ends[i]));
        must_cmp(dst[i][0][8], ==, 10 + (gets ? (i + 1) % LATE : (i + LATE - 1) % LATE));
        if (i == 0 || (gets && i == LATE - 1)) /* the late one's neighbours */
            must(!is_done(&waits[i]));
    }
    waits[LATE] = ring(LATE, 0, gets, 1);
    ends[LATE] = ring(LATE, 1, gets, 1);
    for (int i = 0; i < N; i++) {
        finish(&waits[i]);
        finish(&ends[i]);
        must_cmp(dst[i][0][0], ==, 10 + (gets ? (i + 1) % N : (i + N - 1) % N));
    }
    gasnet_close();
}

START_TEST(who_waits_holds_up_no_other)
{
    for (uint64_t seed = 1; seed <= 4; seed++) /* by messages; on a node; on several */
        for (int gets = 0; gets < 2; gets++)
            one_waits(seed, gets);
}
END_TEST

/* ... until the window is full: 64 behind the first collective, of which some carry credit. */
START_TEST(who_waits_holds_up_none_of_many)
{
    enum { MANY = 51 };
    static wdl_gas_handle ends[N][MANY];
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct wdl_sim_params sim = {.seed = seed, .ranks = N, .ordered = 1, .am_bytes_max = 1024};
        wdl_gas_handle waits[N];
        gasnet_open(&sim, 1);
        settle();
        for (int i = 0; i < LATE; i++) {
            waits[i] = ring(i, 0, 0, 0);
            for (int k = 0; k < MANY; k++)
                ends[i][k] = ring(i, 1, 0, 0);
        }
        settle();
        for (int i = 0; i < LATE; i++)
            for (int k = 0; k < MANY; k++)
                must(is_done(&ends[i][k]));
        must(!is_done(&waits[0]));
        waits[LATE] = ring(LATE, 0, 0, 0);
        for (int k = 0; k < MANY; k++)
            ends[LATE][k] = ring(LATE, 1, 0, 0);
        for (int i = 0; i < N; i++)
            finish(&waits[i]);
        for (int k = 0; k < MANY; k++)
            finish(&ends[LATE][k]);
        gasnet_close();
    }
}
END_TEST

/* --- on a node --- */

static size_t nbytes, sizes[RANKS_MAX][RANKS_MAX], come[RANKS_MAX][RANKS_MAX];
static uint32_t turn[RANKS_MAX];

static void put_start(int i)
{
    handle[i] = ring(i, 0, 0, 0);
}

static void put_many_start(int i)
{
    handle[i] = ring(i, 0, 0, 1);
}

static void get_start(int i)
{
    handle[i] = ring(i, 0, 1, 0);
}

static void get_many_start(int i)
{
    handle[i] = ring(i, 0, 1, 1);
}

static void permute_start(int i)
{
    turn[i] = (uint32_t) ((i + 1) % r.n);
    handle[i] =
        wdl_gas_permuteM_nb(team[i], dst[i][0], NULL, src[i][0], NULL, &turn[i], nbytes, SYNC);
}

static void gather_allv_start(int i)
{
    come[i][i] = nbytes;
    handle[i] = wdl_gas_gather_allv_nb(team[i], dst[i][0], NULL, src[i][0], come[i], SYNC);
}

static void exchangev_start(int i)
{
    for (int k = 0; k < r.n; k++)
        sizes[i][k] = nbytes;
    handle[i] =
        wdl_gas_exchangev_nb(team[i], dst[i][0], NULL, come[i], src[i][0], NULL, sizes[i], SYNC);
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
    return (x > y) - (x < y);
}

static void sort_start(int i)
{
    struct wdl_gas_array s = {src[i][0], 1, 0}, d = {dst[i][0], 1, 0};
    handle[i] = wdl_gas_sortM_nb(team[i], NULL, d, NULL, s, 4, (size_t) r.n, ascending, SYNC);
}

/* One of one collective, one of stages; synchronized by all. */
static void aggregate_start(int i)
{
    int all = WDL_COLL_IN_ALLSYNC | WDL_COLL_OUT_ALLSYNC | WDL_COLL_LOCAL;
    must(!wdl_gas_broadcast_nb(team[i], dst[i][0], 0, src[i][0], nbytes, all | WDL_GAS_AGGREGATE));
    handle[i] = wdl_gas_gather_allv_nb(team[i], dst[i][1], NULL, src[i][1], come[i], all);
}

START_TEST(on_a_node_no_stage_is_a_message)
{
    static void (*const starts[])(int) = {put_start,       put_many_start, get_start,
                                          get_many_start,  permute_start,  gather_allv_start,
                                          exchangev_start, sort_start,     aggregate_start};
    enum { STARTS = sizeof(starts) / sizeof(starts[0]) };
    for (nbytes = 8; nbytes <= 8000; nbytes *= 1000) {
        struct wdl_sim_params sim = {.seed = 1, .ranks = N, .ordered = 1, .am_bytes_max = 1024};
        gasnet_open(&sim, 1);
        settle();
        uint64_t sent = wdl_sim_counts(r.sim)->sent;
        for (int k = 0; k < STARTS; k++) {
            gasnet_all(starts[k]);
            settle();
            ck_assert_msg(wdl_sim_counts(r.sim)->sent == sent, "call %d of %zu bytes", k, nbytes);
        }
        gasnet_close();
    }
}
END_TEST

/* A team that is split off has memory of its own, in all its lanes; and so has one split from it,
 * of other ranks' numbers. */
START_TEST(so_it_is_in_teams_that_are_split_off)
{
    struct wdl_sim_params sim = {.seed = 1, .ranks = N, .ordered = 1, .am_bytes_max = 1024};
    struct wdl_gas_team *half[N], *pair[N];
    gasnet_open(&sim, 1);
    for (int i = 0; i < N; i++)
        handle[i] = wdl_gas_team_split_nb(team[i], i % 2, -i, WDL_GAS_FINE, &half[i]);
    gasnet_finish();
    for (int i = 0; i < N; i++)
        handle[i] = wdl_gas_team_split_nb(half[i], i / 4, i, WDL_GAS_FINE, &pair[i]);
    gasnet_finish();
    settle();
    uint64_t sent = wdl_sim_counts(r.sim)->sent;
    for (int k = 0; k < 12; k++) {
        for (int i = 0; i < N; i++) {
            struct wdl_gas_team *t = k % 2 ? pair[i] : half[i];
            come[i][wdl_gas_team_rank(t)] = 8;
            memset(src[i][0], 10 * k + i, 8);
            handle[i] = wdl_gas_gather_allv_nb(t, dst[i][0], NULL, src[i][0], come[i], SYNC);
        }
        gasnet_finish();
        for (int i = 0; i < N; i++) {
            struct wdl_gas_team *t = k % 2 ? pair[i] : half[i];
            for (int rank = 0; rank < wdl_gas_team_size(t); rank++)
                must_cmp(dst[i][0][8 * rank], ==, 10 * k + wdl_gas_team_peer(t, rank));
        }
    }
    settle();
    must_cmp(wdl_sim_counts(r.sim)->sent, ==, sent);
    for (int left = 1; left > 0; ranks_step(&r)) {
        left = 0;
        for (int i = 0; i < N; i++) {
            if (pair[i] && wdl_gas_team_destroy(pair[i]) == WDL_OK)
                pair[i] = NULL;
            left += pair[i] != NULL;
            if (!pair[i] && half[i] && wdl_gas_team_destroy(half[i]) == WDL_OK)
                half[i] = NULL;
            left += half[i] != NULL;
        }
    }
    gasnet_close();
}
END_TEST

WDL_SUITE("mpid/coll/gasnet_lanes", who_waits_holds_up_no_other, who_waits_holds_up_none_of_many,
          on_a_node_no_stage_is_a_message, so_it_is_in_teams_that_are_split_off)
