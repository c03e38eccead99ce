/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of coll/gasnet_team: splits
 * against a sort, barriers whose names agree or not, what goes wrong with them on some ranks,
 * aggregates of teams that overlap. */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/gasnet_impl.h"
#include "mpid/coll/gasnet_ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { COLORS = 3, WORLDS = 24 };

static int color[RANKS_MAX], key[RANKS_MAX], agreed[RANKS_MAX], named[RANKS_MAX];
static enum wdl_gas_given given[RANKS_MAX];
static struct wdl_gas_team *half[RANKS_MAX];

static void world(int seed)
{
    struct wdl_sim_params sim = {.seed = (uint64_t) seed, .ranks = 1 + seed % 11,
                                 .ordered = seed / 2 % 2, .delay_ns_max = 3000,
                                 .refuse_permille = seed % 3 ? 0 : 200, .am_bytes_max = 1024};
    gasnet_open(&sim, 0);
}

static void split_start(int i)
{
    handle[i] = wdl_gas_team_split_nb(team[i], color[i], key[i], WDL_GAS_FINE, &half[i]);
}

static int comes_before(int a, int b)
{
    return key[a] != key[b] ? key[a] < key[b] : a < b;
}

/* A rank's number, the size and the images of its new team, and who its members are. */
static void split_check(int i)
{
    size_t units = 0;
    int rank = 0, size = 0;
    for (int k = 0; k < r.n; k++) {
        if (color[k] != color[i])
            continue;
        rank += comes_before(k, i);
        size++;
        units += images[k];
    }
    ck_assert_int_eq(wdl_gas_team_rank(half[i]), rank);
    ck_assert_int_eq(wdl_gas_team_size(half[i]), size);
    ck_assert_uint_eq(wdl_gas_images(half[i]), units);
    for (int k = 0; k < size; k++)
        ck_assert_int_eq(color[wdl_gas_team_peer(half[i], k)], color[i]);
    for (int k = 1; k < size; k++)
        ck_assert(comes_before(wdl_gas_team_peer(half[i], k - 1),
                               wdl_gas_team_peer(half[i], k)));
}

static void halves_close(void)
{
    int left = r.n;
    while (left > 0) {
        left = 0;
        for (int i = 0; i < r.n; i++) {
            if (half[i] && wdl_gas_team_destroy(half[i]) == WDL_OK)
                half[i] = NULL;
            left += half[i] != NULL;
        }
        ranks_step(&r);
    }
}

static void split_over(void)
{
    gasnet_all(split_start);
    for (int i = 0; i < r.n; i++)
        split_check(i);
    halves_close();
}

START_TEST(splits)
{
    for (int seed = 1; seed <= WORLDS; seed++) {
        world(seed);
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < r.n; i++) {
                color[i] = (int) draw(COLORS);
                key[i] = (int) draw(4) - 2;
            }
            split_over();
        }
        gasnet_close();
    }
}
END_TEST

static void agree_start(int i)
{
    handle[i] = wdl_gas_agree_nb(team[i], given[i], named[i], &agreed[i]);
}

/* The ids of those who give one are the same, and nobody knows better. */
START_TEST(named_barriers)
{
    for (int seed = 1; seed <= WORLDS; seed++) {
        world(seed);
        for (int round = 0; round < 8; round++) {
            int want = 1, id = 0, ids = 0, odd = (int) draw((size_t) r.n);
            for (int i = 0; i < r.n; i++) {
                given[i] = (enum wdl_gas_given) (round % 4 == 3 && i == odd ? WDL_GAS_MISMATCH
                                                                            : draw(2));
                named[i] = round % 4 == 2 && i == odd ? -7 : 1000 * round;
                want &= given[i] != WDL_GAS_MISMATCH;
                if (given[i] != WDL_GAS_NAMED)
                    continue;
                want &= ids++ == 0 || named[i] == id;
                id = named[i];
            }
            gasnet_all(agree_start);
            for (int i = 0; i < r.n; i++)
                ck_assert_int_eq(agreed[i] != 0, want);
        }
        gasnet_close();
    }
}
END_TEST

/* On one rank, or on all, the call is wrong: nobody gets a team, and the next split is right. */
static void goes_wrong(int who)
{
    int is_wrong[RANKS_MAX];
    for (int i = 0; i < r.n; i++) {
        enum wdl_gas_error error = i % 2 ? WDL_GAS_ERR_FLAGS : WDL_GAS_ERR_NOMEM;
        is_wrong[i] = i == who || who == r.n;
        handle[i] = wdl_gas_team_split_nb(team[i], 0, i, is_wrong[i] ? error : 0, &half[i]);
    }
    for (int i = 0; i < r.n; i++) {
        enum wdl_gas_error error;
        for (long steps = 0; !wdl_gas_try_sync(handle[i], &error); steps++) {
            must_cmp(steps, <, 2000000);
            ranks_step(&r);
        }
        ck_assert_int_eq(error, !is_wrong[i] ? WDL_GAS_ERR_MISMATCH
                                : i % 2      ? WDL_GAS_ERR_FLAGS
                                             : WDL_GAS_ERR_NOMEM);
        ck_assert_ptr_null(half[i]);
        handle[i] = NULL;
    }
}

START_TEST(a_split_that_is_wrong_somewhere)
{
    for (int seed = 1; seed <= WORLDS; seed++) {
        world(seed);
        for (int who = 0; who <= r.n; who++) {
            goes_wrong(who);
            for (int i = 0; i < r.n; i++)
                color[i] = key[i] = i % 2;
            split_over();
        }
        gasnet_close();
    }
}
END_TEST

/* In the k-th place of a rank's memory, from the team's first rank. */
static wdl_gas_handle broadcast(struct wdl_gas_team *t, int i, int k, int more)
{
    return wdl_gas_broadcast_nb(t, dst[i][0] + k, 0, src[i][0] + k, 1, WDL_COLL_MPI | more);
}

static void broadcasts_check(int from, int to)
{
    for (int i = 0; i < r.n; i++)
        for (int k = from; k < to; k++) {
            int root = k % 2 ? wdl_gas_team_peer(half[i], 0) : 0;
            ck_assert_int_eq(dst[i][0][k], 10 * root + k);
        }
}

/* Those of one team only, whatever is called on another in between, which only some of its ranks
 * may be in: that neither joins one nor ends one, may wait, and waits for none; and another team's
 * may be open at the same time. The last member's caller may wait. */
START_TEST(an_aggregate_is_its_team_s)
{
    for (int seed = 1; seed <= WORLDS; seed++) {
        world(seed);
        for (int i = 0; i < r.n; i++) {
            color[i] = i % COLORS == 0;
            key[i] = i;
            for (int k = 0; k < 7; k++)
                src[i][0][k] = (char) (10 * i + k);
        }
        gasnet_all(split_start);
        for (int i = 0; i < r.n; i++) {
            ck_assert_ptr_null(broadcast(team[i], i, 0, WDL_GAS_AGGREGATE));
            handle[i] = broadcast(half[i], i, 1, WDL_GAS_BLOCKING);
        }
        gasnet_finish(); /* nobody has ended the other one */
        broadcasts_check(1, 2);
        for (int i = 0; i < r.n; i++) {
            ck_assert_ptr_null(broadcast(team[i], i, 2, WDL_GAS_AGGREGATE));
            ck_assert_ptr_null(broadcast(half[i], i, 3, WDL_GAS_AGGREGATE));
            handle[i] = broadcast(team[i], i, 4, seed % 2 ? WDL_GAS_BLOCKING : 0);
        }
        gasnet_finish();
        broadcasts_check(0, 3);
        broadcasts_check(4, 5);
        for (int i = 0; i < r.n; i++)
            handle[i] = broadcast(half[i], i, 5, 0);
        gasnet_finish();
        broadcasts_check(3, 4);
        broadcasts_check(5, 6);
        for (int i = 0; i < r.n; i++) {
            ck_assert(wdl_list_empty(&team[i]->open) && wdl_list_empty(&half[i]->open));
            handle[i] = broadcast(team[i], i, 6, WDL_GAS_BLOCKING);
        }
        gasnet_finish();
        broadcasts_check(6, 7);
        halves_close();
        gasnet_close();
    }
}
END_TEST

WDL_SUITE("mpid/coll/gasnet_team", splits, named_barriers, a_split_that_is_wrong_somewhere,
          an_aggregate_is_its_team_s)
