/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A node that calls something else than the others, or the same with other sizes, where they do not
 * meet in one collective of the engine: that is the program's mistake. By messages, on a node, in
 * domains of one, on nodes, all handles end, well or with MISMATCH, which at least one says, and so
 * do those of the calls behind them.
 */
#include <stdio.h>
#include "mpid/coll/gasnet_calls.h"
#include "support/must.h"
#include "support/suite.h"

enum { NODES = 3, STEPS_MAX = 1000000, PLACES = AT_LEVELS + 1 };
enum { MINE = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_MYSYNC | WDL_COLL_LOCAL };

static int who; /* is unlike */
static const char *what;

static void open_at(int place, uint64_t seed)
{
    struct wdl_sim_params sim = {.seed = seed,
                                 .ranks = NODES,
                                 .ordered = seed % 3 != 0,
                                 .delay_ns_max = seed % 2 * 2000,
                                 .am_bytes_max = 1024};
    gasnet_open_place(&sim, 1, (enum gasnet_place) place);
}

static void close_all(void)
{
    for (int k = 0; k < 3000; k++)
        ranks_step(&r);
    for (int i = 0; i < NODES; i++)
        r.one[i].proc->stats.malformed = 0; /* what came for who had finished */
    gasnet_close();
}

/* All have begun: how many of them hear of it. */
static int mismatches(void)
{
    int left = NODES, count = 0;
    for (long steps = 0; left > 0; steps++) {
        enum wdl_gas_error error;
        if (steps == STEPS_MAX)
            ck_abort_msg("%s, node %d: no end", what, who);
        int i = ranks_step(&r);
        ranks_doubt(&r, i);
        if (!handle[i] || !wdl_gas_try_sync(handle[i], &error))
            continue;
        if (error && error != WDL_GAS_ERR_MISMATCH)
            ck_abort_msg("%s, node %d: error %d on %d", what, who, (int) error, i);
        handle[i] = NULL;
        count += error != WDL_GAS_FINE;
        left--;
    }
    return count;
}

/* Each kind of lane, and the outer team. */
static void what_follows(void)
{
    static size_t sizes[NODES][NODES];
    for (int k = 0; k < 6; k++) {
        for (int i = 0; i < NODES; i++) {
            sizes[i][i] = 8;
            handle[i] = k == 3 ? wdl_gas_broadcast_nb(team[i], dst[i][1], 0, src[i][1], 8, MINE)
                               : wdl_gas_gather_allv_nb(team[i], dst[i][1], NULL, src[i][1],
                                                        sizes[i], MINE);
        }
        (void) mismatches();
    }
}

/* --- sort: other numbers of elements, other blocks ------------------------------------------- */

static struct sorted {
    size_t count, from, to; /* elements; in a block */
} usual, odd;

static int ascending(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort_start(int i)
{
    const struct sorted *s = i == who ? &odd : &usual;
    handle[i] = wdl_gas_sortM_nb(team[i], NULL, (struct wdl_gas_array){dst[i][0], s->to, 0}, NULL,
                                 (struct wdl_gas_array){src[i][0], s->from, 0}, 4, s->count,
                                 ascending, MINE);
}

START_TEST(sorts_of_other_sizes)
{
    static const struct sorted pairs[][2] = {
        {{12, 0, 0}, {13, 0, 0}},           {{3000, 1000, 1000}, {3001, 1000, 1000}},
        {{12, 3, 3}, {12, 4, 3}},           {{12, 3, 3}, {12, 3, 4}},
        {{3000, 1000, 1000}, {12, 4, 4}},   {{12, 4, 4}, {3000, 1000, 1000}},
        {{3000, 1000, 1000}, {3000, 7, 1}}, {{1, 1, 1}, {300, 100, 100}},
    };
    enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]) };
    for (int place = 0; place < PLACES; place++)
        for (int k = 0; k < PAIRS; k++)
            for (who = 0; who < NODES; who++) {
                char name[64];
                snprintf(name, sizeof(name), "sort %d at place %d", k, place);
                what = name;
                usual = pairs[k][0];
                odd = pairs[k][1];
                open_at(place, (uint64_t) (k * NODES + who));
                for (int i = 0; i < NODES; i++)
                    sort_start(i);
                must_cmp(mismatches(), >, 0);
                what_follows();
                close_all();
            }
}
END_TEST

/* One of an aggregate, whose other members the nodes mean alike. */
START_TEST(sorts_of_other_sizes_in_aggregates)
{
    for (int place = 0; place < PLACES; place++)
        for (who = 0; who < NODES; who++) {
            what = "aggregate with a sort";
            usual = (struct sorted){12, 4, 4};
            odd = (struct sorted){3000, 1000, 1000};
            open_at(place, (uint64_t) (who + place));
            for (int i = 0; i < NODES; i++) {
                must(!wdl_gas_broadcast_nb(team[i], dst[i][1], 0, src[i][1], 8,
                                           MINE | WDL_GAS_AGGREGATE));
                sort_start(i);
            }
            must_cmp(mismatches(), >, 0);
            what_follows();
            close_all();
        }
}
END_TEST

WDL_SUITE("coll/gasnet_unlike", sorts_of_other_sizes, sorts_of_other_sizes_in_aggregates)
