/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of coll/gasnet_team: splits
 * against a sort, barriers whose names agree or not. */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/gasnet_ranks.h"
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
    handle[i] = wdl_gas_team_split_nb(team[i], color[i], key[i], &half[i]);
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

START_TEST(splits)
{
    for (int seed = 1; seed <= WORLDS; seed++) {
        world(seed);
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < r.n; i++) {
                color[i] = (int) draw(COLORS);
                key[i] = (int) draw(4) - 2;
            }
            gasnet_all(split_start);
            for (int i = 0; i < r.n; i++)
                split_check(i);
            halves_close();
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

WDL_SUITE("mpid/coll/gasnet_team", splits, named_barriers)
