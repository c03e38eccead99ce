/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/region, against a map of
 * every byte. */
#include <string.h>
#include "host/testworld.h"
#include "support/suite.h"

enum { SPACE = 48 };            /* addresses of the map; no memory is behind them */

static void *at(int address)
{
    return (void *) (uintptr_t) address;
}

struct map {
    char owned[SPACE];
    int bytes_at[SPACE];        /* of the region that begins there; -1: none */
};

static int is_owned(const struct map *map, int from, int to)
{
    for (int i = from; i < to; i++)
        if (!map->owned[i])
            return 0;
    return 1;
}

static int overlaps(const struct map *map, int from, int to)
{
    for (int i = from; i < to; i++)
        if (map->owned[i] || (i > from && map->bytes_at[i] == 0))
            return 1;
    return 0;
}

static void compare_all(const struct wdl_win *win, const struct map *map)
{
    for (int from = 0; from < SPACE; from++)
        for (int to = from; to < SPACE; to++) {
            int want = is_owned(map, from, to);
            ck_assert_int_eq(wdl_win_exposes(win, 0, from, to), want);
            ck_assert_int_eq(wdl_win_exposes(win, (uint64_t) to, from - to, 0), want);
        }
}

START_TEST(exactly_what_is_attached_is_exposed)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 1,.dynamic = 1,.seed = 5 };
    struct map map;
    int attached = 0, refused = 0, detached = 0;
    test_world_open(&w, &p);
    struct wdl_win *win = w.rank[0].win;
    memset(map.owned, 0, sizeof(map.owned));
    memset(map.bytes_at, -1, sizeof(map.bytes_at));
    for (int i = 0; i < 3000; i++) {
        int from = (int) wdl_prng_below(&w.prng, SPACE);
        int bytes = (int) wdl_prng_below(&w.prng, (uint64_t) (SPACE - from < 9 ? SPACE - from : 9));
        if (wdl_prng_chance(&w.prng, 500)) {
            int there = map.bytes_at[from] >= 0;
            ck_assert_int_eq(wdl_win_detach(win, at(from)),
                             there || !map.owned[from] ? WDL_OK : WDL_ERR_ARG);
            if (there)
                memset(map.owned + from, 0, (size_t) map.bytes_at[from]);
            map.bytes_at[from] = -1;
            detached += there;
        } else if (map.bytes_at[from] < 0 && !(bytes == 0 && map.owned[from])) {
            /* (two regions of one address, or an empty one inside another, are left to the user) */
            int status = wdl_win_attach(win, at(from), (uint64_t) bytes);
            ck_assert_int_eq(status, overlaps(&map, from, from + bytes) ? WDL_ERR_ATTACH : WDL_OK);
            if (status == WDL_OK) {
                memset(map.owned + from, 1, (size_t) bytes);
                map.bytes_at[from] = bytes;
            }
            attached += status == WDL_OK;
            refused += status != WDL_OK;
        }
        if (i % 10 == 0)
            compare_all(win, &map);
    }
    ck_assert_int_gt(attached, 300);
    ck_assert_int_gt(refused, 300);
    ck_assert_int_gt(detached, 200);
    test_world_close(&w);
}
END_TEST

START_TEST(neighbours_are_one_stretch)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 1,.dynamic = 1 };
    test_world_open(&w, &p);
    struct wdl_win *win = w.rank[0].win;
    ck_assert_int_eq(wdl_win_attach(win, at(100), 100), WDL_OK);
    ck_assert_int_eq(wdl_win_attach(win, at(200), 0), WDL_OK);
    ck_assert_int_eq(wdl_win_attach(win, at(300), 100), WDL_OK);
    ck_assert(!wdl_win_exposes(win, 150, 0, 200));
    ck_assert_int_eq(wdl_win_attach(win, at(200), 100), WDL_OK);
    ck_assert(wdl_win_exposes(win, 150, 0, 200));
    ck_assert(wdl_win_exposes(win, 100, 0, 300));
    ck_assert(!wdl_win_exposes(win, 100, 0, 301));
    ck_assert(!wdl_win_exposes(win, 99, 0, 300));
    test_world_close(&w);
}
END_TEST

/* The window says how much the list takes. */
START_TEST(the_list_is_counted)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 1,.dynamic = 1 };
    struct wdl_win_stats before, now;
    test_world_open(&w, &p);
    struct wdl_win *win = w.rank[0].win;
    wdl_win_stats_get(win, &before);
    size_t bytes = w.rank[0].host.bytes;
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(wdl_win_attach(win, at(16 * i + 16), 8), WDL_OK);
        wdl_win_stats_get(win, &now);
        ck_assert_uint_eq(now.bytes - before.bytes, w.rank[0].host.bytes - bytes);
    }
    ck_assert_uint_ge(now.bytes - before.bytes, 100 * sizeof(struct wdl_region));
    test_world_close(&w);
}
END_TEST

/* Who reads the list is told where every so many-th region begins, and what has gone. */
START_TEST(the_list_has_marks)
{
    enum { REGIONS = 700, TURNS = 3000 };
    struct test_world w;
    struct test_world_params p = {.ranks = 1,.dynamic = 1,.seed = 6 };
    test_world_open(&w, &p);
    struct wdl_win *win = w.rank[0].win;
    const struct wdl_win_control *own = win->quick.own;
    char there[REGIONS] = { 0 };
    uint64_t gone = 0;
    for (int i = 0; i < TURNS; i++) {
        int at_one = (int) wdl_prng_below(&w.prng, i < TURNS / 2 ? REGIONS : 40);
        if (there[at_one])
            ck_assert_int_eq(wdl_win_detach(win, at(8 + 16 * at_one)), WDL_OK);
        else
            ck_assert_int_eq(wdl_win_attach(win, at(8 + 16 * at_one), 8), WDL_OK);
        if (there[at_one])
            ck_assert_uint_eq(own->gone_base[gone++ % WDL_WIN_GONE], 8 + 16 * (uint64_t) at_one);
        there[at_one] = !there[at_one];
        uint64_t step = wdl_marks_step((uint64_t) win->nregions);
        ck_assert_uint_le((uint64_t) win->nregions, step * WDL_WIN_MARKS);
        ck_assert(step == 1 || (uint64_t) win->nregions > step / 2 * WDL_WIN_MARKS);
        for (uint64_t k = 0; k * step < (uint64_t) win->nregions; k++)
            ck_assert_uint_eq(own->regions_mark[k], win->regions[k * step].base);
        ck_assert_uint_eq(own->regions_gone, gone);
        ck_assert_uint_eq(own->regions_count, (uint64_t) win->nregions);
        ck_assert_uint_eq(own->regions_version, 2 * ((uint64_t) i + 1));
    }
    test_world_close(&w);
}
END_TEST

/* Bounds that come from the wire may be anything. */
START_TEST(extreme_bounds_expose_nothing)
{
    struct test_world w;
    const int64_t extremes[] = { INT64_MIN, INT64_MIN + 1, -1, 1, INT64_MAX - 1, INT64_MAX };
    const uint64_t addresses[] = { 0, 1, INT64_MAX, (uint64_t) INT64_MAX + 1, UINT64_MAX };
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        struct test_world_params p = {.ranks = 1,.dynamic = dynamic };
        test_world_open(&w, &p);
        struct test_rank *r = &w.rank[0];
        if (dynamic)
            ck_assert_int_eq(wdl_win_attach(r->win, r->memory, 256), WDL_OK);
        for (int a = 0; a < 5; a++)
            for (int lo = 0; lo < 6; lo++)
                for (int hi = 0; hi < 6; hi++)
                    if (extremes[lo] != extremes[hi])
                        ck_assert(!wdl_win_exposes(r->win, addresses[a], extremes[lo],
                                                   extremes[hi]));
        test_world_close(&w);
    }
}
END_TEST

START_TEST(what_cannot_be_attached)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 1,.dynamic = 1 };
    test_world_open(&w, &p);
    struct test_rank *r = &w.rank[0];
    ck_assert_int_eq(wdl_win_attach(r->win, at(2), UINT64_MAX - 1), WDL_ERR_ATTACH);    /* wraps */
    ck_assert_int_eq(wdl_win_attach(r->win, at(1), UINT64_MAX - 1), WDL_OK);
    ck_assert_int_eq(wdl_win_detach(r->win, at(2)), WDL_ERR_ARG);
    ck_assert_int_eq(wdl_win_detach(r->win, at(1)), WDL_OK);
    /* for all it knows, zero bytes were attached there */
    ck_assert_int_eq(wdl_win_detach(r->win, at(1)), WDL_OK);
    /* memory for the list runs out: nothing has changed */
    int n = 0;
    r->host.fail_after = 2;
    while (wdl_win_attach(r->win, at(10 * n), 10) == WDL_OK)
        n++;
    ck_assert_int_eq(wdl_win_attach(r->win, at(10 * n), 10), WDL_ERR_NOMEM);
    ck_assert_int_gt(n, 4);
    ck_assert(wdl_win_exposes(r->win, 0, 0, 10 * n));
    ck_assert(!wdl_win_exposes(r->win, 0, 0, 10 * n + 1));
    test_world_close(&w);
    /* only dynamic windows attach */
    p.dynamic = 0;
    test_world_open(&w, &p);
    ck_assert_int_eq(wdl_win_attach(w.rank[0].win, at(64), 8), WDL_ERR_ARG);
    test_world_close(&w);
}
END_TEST

START_TEST(a_block_is_exposed_to_the_byte)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 1,.bytes = 64 };
    test_world_open(&w, &p);
    uint64_t base = (uint64_t) (uintptr_t) w.rank[0].memory;
    for (int64_t lo = -3; lo < 67; lo++)
        for (int64_t hi = lo; hi < 70; hi++)
            ck_assert_int_eq(wdl_win_exposes(w.rank[0].win, base, lo, hi),
                             lo == hi || (lo >= 0 && hi <= 64));
    test_world_close(&w);
}
END_TEST

/* A layout whose blocks are attached is exposed, whatever lies between: every stretch of its
 * stream. */
START_TEST(holes_of_a_layout_need_no_memory)
{
    struct test_world w;
    struct test_world_params p = {.ranks = 1,.dynamic = 1 };
    const int blocks[] = { 2, 1, 3 }, displs[] = { 0, 5, 9 };
    const int at_of[] = { 0, 1, 5, 9, 10, 11 }; /* of each element */
    enum { BASE = 16, MISSING = 10, ELEMENTS = 6 };
    test_world_open(&w, &p);
    struct test_rank *r = &w.rank[0];
    wdl_type type = test_type_indexed(&r->host, TEST_I8, 3, blocks, displs);
    for (int i = 0; i < ELEMENTS; i++)
        if (at_of[i] != MISSING)
            ck_assert_int_eq(wdl_win_attach(r->win, at(BASE + at_of[i]), 1), WDL_OK);
    for (int from = 0; from < ELEMENTS; from++)
        for (int to = from; to <= ELEMENTS; to++) {
            int want = 1;
            for (int i = from; i < to; i++)
                want = want && at_of[i] != MISSING;
            ck_assert_int_eq(wdl_win_exposes_stream(r->win, BASE, 1, type, (uint64_t) from,
                                                    (uint64_t) (to - from)), want);
        }
    ck_assert(!wdl_win_exposes(r->win, BASE, 0, 12));
    test_type_end(&r->host, type);
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/region", exactly_what_is_attached_is_exposed, neighbours_are_one_stretch,
          the_list_is_counted, the_list_has_marks, extreme_bounds_expose_nothing,
          what_cannot_be_attached,
          a_block_is_exposed_to_the_byte, holes_of_a_layout_need_no_memory)
