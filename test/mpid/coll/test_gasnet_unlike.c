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

/* All that will have begun: how many of them hear of it. */
static int mismatches(void)
{
    int left = 0, count = 0;
    for (int i = 0; i < NODES; i++)
        left += handle[i] != NULL;
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

/* --- other calls ------------------------------------------------------------------------------ */

enum way { ALONE, FORGOTTEN, TOGETHER, WAYS }; /* FORGOTTEN: to begin, or to end, an aggregate */

static struct made {
    const struct call *call; /* NULL: split */
    int flags;
    size_t nbytes;
    enum way way;
} most_make, one_makes;

static struct wdl_gas_team *split_off[NODES];

static void make(int i)
{
    const struct made *made = i == who ? &one_makes : &most_make;
    with.nbytes = made->nbytes;
    with.flags = made->flags | (made->way == FORGOTTEN ? WDL_GAS_AGGREGATE : 0);
    if (made->way == TOGETHER)
        must(!wdl_gas_gather_all_nb(team[i], dst[i][1], src[i][1], 8, MINE | WDL_GAS_AGGREGATE));
    if (!made->call) {
        handle[i] = wdl_gas_team_split_nb(team[i], 0, i, WDL_GAS_FINE, &split_off[i]);
        return;
    }
    gasnet_calls_prepare(made->call);
    made->call->start(i);
}

static void splits_end(void)
{
    for (int i = 0; i < NODES; i++) {
        while (split_off[i] && wdl_gas_team_destroy(split_off[i]) == WDL_AGAIN)
            ranks_doubt(&r, ranks_step(&r));
        split_off[i] = NULL;
    }
}

static const char *name_of(const struct made *made)
{
    return made->call ? made->call->name : "split";
}

/* How many hear of it. */
static int unlike(int place, uint64_t seed)
{
    char name[256];
    snprintf(name, sizeof(name), "seed %d, place %d: %s, flags %x, way %d; %s, flags %x, way %d",
             (int) seed, place, name_of(&most_make), (unsigned) most_make.flags,
             (int) most_make.way, name_of(&one_makes), (unsigned) one_makes.flags,
             (int) one_makes.way);
    what = name;
    open_at(place, seed);
    with.root = 0;
    for (int k = 0; k < NODES; k++) {
        int i = (int) ((seed + (uint64_t) k) % NODES);
        make(i);
        if (!handle[i]) /* the aggregate has not ended */
            handle[i] = wdl_gas_gather_all_nb(team[i], dst[i][1], src[i][1], 8, MINE);
        for (int steps = (int) draw(200); steps > 0; steps--)
            ranks_step(&r);
    }
    int count = mismatches();
    what_follows();
    splits_end();
    close_all();
    return count;
}

static const struct call *call_of(const char *name)
{
    for (int k = 0; k < gasnet_call_count; k++)
        if (!strcmp(gasnet_calls[k].name, name))
            return &gasnet_calls[k];
    return NULL;
}

static struct made made_of(const char *name, int scope, enum way way)
{
    return (struct made){call_of(name), (MINE & ~WDL_COLL_LOCAL) | scope, 8, way};
}

/* Those that go to other teams of the engine: the outer one, or a lane. */
START_TEST(calls_that_do_not_meet)
{
    static const struct {
        struct {
            const char *name;
            int scope;
            enum way way;
        } of[2];
    } pairs[] = {
        {{{"gather_allv", WDL_COLL_LOCAL, ALONE}, {"gather_allv", WDL_COLL_SINGLE, ALONE}}},
        {{{"gather_all", WDL_COLL_LOCAL, ALONE}, {"gather_all", WDL_COLL_LOCAL, FORGOTTEN}}},
        {{{"split", WDL_COLL_LOCAL, ALONE}, {"broadcast", WDL_COLL_LOCAL, ALONE}}},
        {{{"broadcast", WDL_COLL_LOCAL, ALONE}, {"sort", WDL_COLL_LOCAL, ALONE}}},
        {{{"gather_allv", WDL_COLL_LOCAL, ALONE}, {"broadcast", WDL_COLL_LOCAL, ALONE}}},
        {{{"gather_all", WDL_COLL_LOCAL, TOGETHER}, {"sort", WDL_COLL_LOCAL, ALONE}}},
        {{{"barrier", WDL_COLL_LOCAL, ALONE}, {"sort", WDL_COLL_LOCAL, ALONE}}},
        {{{"put", WDL_COLL_LOCAL, ALONE}, {"exchangev", WDL_COLL_LOCAL, ALONE}}},
    };
    uint64_t seed = 0;
    for (int place = 0; place < PLACES; place++)
        for (size_t k = 0; k < 2 * sizeof(pairs) / sizeof(pairs[0]); k++)
            for (who = 0; who < NODES; who++) {
                int a = (int) k % 2;
                most_make = made_of(pairs[k / 2].of[a].name, pairs[k / 2].of[a].scope,
                                    pairs[k / 2].of[a].way);
                one_makes = made_of(pairs[k / 2].of[1 - a].name, pairs[k / 2].of[1 - a].scope,
                                    pairs[k / 2].of[1 - a].way);
                must_cmp(unlike(place, ++seed), >, 0);
            }
}
END_TEST

/* One has freed the team, with a call less than the others. */
START_TEST(a_call_left_out)
{
    static size_t sizes[NODES][NODES];
    struct wdl_gas_team *whole[NODES];
    what = "a call left out";
    for (int place = 0; place < PLACES; place++)
        for (who = 0; who < NODES; who++) {
            open_at(place, (uint64_t) (1 + who));
            for (int i = 0; i < NODES; i++)
                handle[i] =
                    wdl_gas_team_split_nb(team[i], 0, i, WDL_GAS_FINE, &split_off[i]);
            must_cmp(mismatches(), ==, 0);
            for (int i = 0; i < NODES; i++) {
                whole[i] = team[i];
                team[i] = split_off[i];
                sizes[i][i] = 8;
                if (i != who)
                    handle[i] = wdl_gas_gather_allv_nb(team[i], dst[i][1], NULL, src[i][1],
                                                       sizes[i], MINE);
            }
            while (wdl_gas_team_destroy(split_off[who]) == WDL_AGAIN)
                ranks_step(&r);
            split_off[who] = NULL;
            must_cmp(mismatches(), ==, NODES - 1);
            for (int i = 0; i < NODES; i++)
                team[i] = whole[i];
            splits_end();
            close_all();
        }
}
END_TEST

static struct made made_any(struct wdl_prng *prng)
{
    int k = (int) wdl_prng_below(prng, (uint64_t) gasnet_call_count + 1);
    struct made made = {.call = k < gasnet_call_count ? &gasnet_calls[k] : NULL};
    int scope = wdl_prng_below(prng, 2) ? WDL_COLL_SINGLE : WDL_COLL_LOCAL;
    if (made.call && made.call->scope)
        scope = made.call->scope;
    made.flags = (int) (WDL_COLL_IN_NOSYNC << wdl_prng_below(prng, 3) |
                        WDL_COLL_OUT_NOSYNC << wdl_prng_below(prng, 3)) |
                 scope;
    made.nbytes = wdl_prng_below(prng, 2) ? 8 : 3000;
    made.way = (enum way) wdl_prng_below(prng, WAYS);
    if (!made.call || made.call->shape == NOTHING) /* they begin none */
        made.way = ALONE;
    return made;
}

START_TEST(any_two_calls)
{
    struct wdl_prng prng;
    wdl_prng_init(&prng, 77);
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        most_make = made_any(&prng);
        one_makes = made_any(&prng);
        who = (int) wdl_prng_below(&prng, NODES);
        (void) unlike((int) wdl_prng_below(&prng, PLACES), seed);
    }
}
END_TEST

WDL_SUITE("coll/gasnet_unlike", sorts_of_other_sizes, sorts_of_other_sizes_in_aggregates,
          calls_that_do_not_meet, a_call_left_out, any_two_calls)
