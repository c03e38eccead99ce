/* Part of Windlass. See COPYRIGHT in the top-level directory. Which way long data goes within a
 * node, by the times that its readers take. */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/ranks.h"
#include "mpid/coll/rate.h"
#include "support/suite.h"

enum { RANKS = 3, BOARD = 2048, LONG = 64 << 10, RING = 2 * RANKS * LONG };
enum { MANY = 1000 };

static struct ranks r;
static struct wdl_team *teams[RANKS];
static struct wdl_coll_req reqs[RANKS];
static char *src[RANKS], *dst[RANKS];
static size_t ring = RING, long_ring;

/* Of which `each` share a node. */
static void open_nodes(int n, int each)
{
    struct wdl_sim_params sim = {.seed = 3, .ranks = n, .am_bytes_max = 1024};
    struct wdl_team_params params = {.id = 3, .staging_bytes = ring, .board_bytes = BOARD};
    params.staging_long_bytes = long_ring;
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER, .flags = WDL_COLL_MPI};
    ranks_open(&r, &sim);
    ranks_team_nodes(&r, &params, each, 1, teams);
    for (int i = 0; i < n; i++) {
        src[i] = calloc(RANKS, LONG);
        dst[i] = calloc(RANKS, LONG);
        ck_assert_int_eq(wdl_coll_start(teams[i], &barrier, &reqs[i]), WDL_OK);
    }
    ranks_finish(&r, reqs, 1); /* the team is open */
}

static void open_all(int n)
{
    open_nodes(n, n);
}

static void close_all(void)
{
    int n = r.n;
    ranks_drop(&r, teams);
    ranks_close(&r);
    for (int i = 0; i < n; i++) {
        free(src[i]);
        free(dst[i]);
    }
}

/* So often that what was known before counts no more. */
static void take(int rank, enum wdl_rate_way way, size_t bytes, uint64_t ns)
{
    for (int k = 0; k < 40; k++)
        for (int use = 0; use < WDL_RATE_USES; use++)
            wdl_rate_took(teams[rank], (enum wdl_rate_use) use, way, bytes, ns);
}

static void takes(int rank, uint64_t fetched, uint64_t read, uint64_t filled)
{
    take(rank, WDL_RATE_FILLED, LONG, filled);
    take(rank, WDL_RATE_FETCHED, LONG, fetched);
    take(rank, WDL_RATE_READ, LONG, read);
}

/* Of MANY times. */
static int staged_of_many(int rank, enum wdl_rate_use use, int otherwise)
{
    int staged = 0;
    for (int k = 0; k < MANY; k++)
        staged += wdl_rate_stages(teams[rank], use, otherwise);
    return staged;
}

/* Does it stage but for tries? */
static int stages(int rank, enum wdl_rate_use use, int otherwise)
{
    return staged_of_many(rank, use, otherwise) > MANY / 2;
}

START_TEST(the_faster_way_is_gone)
{
    static const struct {
        uint64_t fetched, read, filled;
        int for_all, for_one;
    } cases[] = {
        {7000, 2000, 2000, 1, 1},  {7000, 4000, 4000, 1, 0}, /* copied twice */
        {8000, 6000, 3000, 0, 0}, /* more than a quarter less is wanted */
        {8000, 5900, 3000, 1, 0},  {8000, 3000, 2900, 1, 1},
        {7000, 16000, 4000, 0, 0}, {7000, 4000, 16000, 0, 0}, /* who reads waits for who fills */
    };
    open_all(RANKS);
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
        for (int rank = 0; rank < RANKS; rank++) { /* the one behind it takes the times */
            takes((rank + 1) % RANKS, cases[k].fetched, cases[k].read, cases[k].filled);
            for (int otherwise = 0; otherwise < 2; otherwise++) {
                ck_assert_int_eq(stages(rank, WDL_RATE_FOR_ALL, otherwise), cases[k].for_all);
                ck_assert_int_eq(stages(rank, WDL_RATE_FOR_ONE, otherwise), cases[k].for_one);
            }
        }
    close_all();
}
END_TEST

/* What was found to be better staged is staged while that takes less, and no more than a quarter
 * less is wanted again. For all, always. */
START_TEST(what_is_staged_stays_so)
{
    static const struct {
        uint64_t fetched;
        int for_all, for_one;
    } cases[] = {{7900, 1, 1}, {6000, 1, 1}, {5800, 1, 0}, {7800, 1, 0}, {7900, 1, 1},
                 {3900, 0, 0}, {4100, 1, 0}};
    open_all(RANKS);
    takes(1, 9000, 3000, 2900);
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        take(1, WDL_RATE_FETCHED, LONG, cases[k].fetched);
        ck_assert_int_eq(stages(0, WDL_RATE_FOR_ALL, 0), cases[k].for_all);
        ck_assert_int_eq(stages(0, WDL_RATE_FOR_ONE, 0), cases[k].for_one);
        ck_assert_int_eq(stages(0, WDL_RATE_LONG_FOR_ONE, 0), cases[k].for_one);
    }
    close_all();
}
END_TEST

START_TEST(who_does_not_know_does_as_it_is_told)
{
    open_all(RANKS);
    for (int otherwise = 0; otherwise < 2; otherwise++) {
        ck_assert_int_eq(stages(0, WDL_RATE_FOR_ALL, otherwise), otherwise);
        take(1, WDL_RATE_READ, LONG, 2000); /* faster than what? */
        take(1, WDL_RATE_FILLED, LONG, 2000);
        ck_assert_int_eq(stages(0, WDL_RATE_FOR_ONE, otherwise), otherwise);
        take(2, WDL_RATE_FETCHED, LONG, 2000);
        ck_assert_int_eq(stages(1, WDL_RATE_FOR_ONE, otherwise), otherwise);
    }
    take(1, WDL_RATE_FETCHED, WDL_RATE_LEAST - 1, 7000); /* too short to tell */
    take(1, WDL_RATE_FETCHED, LONG, 0); /* the clock does not tell */
    for (int otherwise = 0; otherwise < 2; otherwise++)
        ck_assert_int_eq(stages(0, WDL_RATE_FOR_ONE, otherwise), otherwise);
    take(1, WDL_RATE_FETCHED, WDL_RATE_LEAST, 3000); /* 12000 for as much as the others */
    ck_assert_int_eq(stages(0, WDL_RATE_FOR_ONE, 0), 1);
    close_all();
}
END_TEST

/* Who never fills takes it that filling is as fast as reading. */
START_TEST(who_never_fills_knows_how_it_reads)
{
    open_all(RANKS);
    take(1, WDL_RATE_FETCHED, LONG, 7000);
    take(1, WDL_RATE_READ, LONG, 4000);
    ck_assert_int_eq(stages(0, WDL_RATE_FOR_ALL, 0), 1);
    ck_assert_int_eq(stages(0, WDL_RATE_FOR_ONE, 1), 0);
    close_all();
}
END_TEST

/* Where some are on another node nobody asks, and nothing is said. */
START_TEST(ranks_of_several_nodes_say_nothing)
{
    open_nodes(RANKS, 2);
    const struct wdl_rate none = {0};
    takes(0, 7000, 2000, 2000);
    ck_assert_mem_eq(&teams[0]->rate, &none, sizeof(none));
    ck_assert_uint_eq(wdl_shm_rate_of(teams[1], 0), 0);
    close_all();
}
END_TEST

START_TEST(the_first_of_a_way_are_not_timed)
{
    open_all(RANKS);
    takes(1, 7000, 2000, 2000);
    for (int k = 0; k < 100; k++) { /* two on end are always the first ones */
        wdl_rate_took(teams[1], WDL_RATE_FOR_ONE, WDL_RATE_FETCHED, LONG, 500);
        wdl_rate_took(teams[1], WDL_RATE_FOR_ONE, WDL_RATE_FETCHED, LONG, 500);
        wdl_rate_took(teams[1], WDL_RATE_FOR_ONE, WDL_RATE_READ, LONG, 50000);
        wdl_rate_took(teams[1], WDL_RATE_FOR_ONE, WDL_RATE_FILLED, LONG, 2000); /* no matter */
        wdl_rate_took(teams[1], WDL_RATE_FOR_ONE, WDL_RATE_READ, LONG, 50000);
    }
    ck_assert_int_eq(stages(0, WDL_RATE_FOR_ONE, 0), 1);
    take(1, WDL_RATE_FETCHED, LONG, 500);
    ck_assert_int_eq(stages(0, WDL_RATE_FOR_ONE, 1), 0);
    close_all();
}
END_TEST

/* The third is, and what was filled is from the first on; one time says no more than a half. */
START_TEST(the_third_of_a_way_is_timed)
{
    const uint32_t *ns;
    open_all(RANKS);
    ns = teams[1]->rate.of[WDL_RATE_FOR_ONE].ns;
    for (int k = 0; k < 3; k++) {
        ck_assert_uint_eq(ns[WDL_RATE_READ], 0);
        wdl_rate_took(teams[1], WDL_RATE_FOR_ONE, WDL_RATE_READ, LONG, 2000);
        wdl_rate_took(teams[1], WDL_RATE_FOR_ONE, WDL_RATE_FILLED, LONG, 1000);
        ck_assert_uint_eq(ns[WDL_RATE_FILLED], 1000);
    }
    ck_assert_uint_eq(ns[WDL_RATE_READ], 2000);
    wdl_rate_took(teams[1], WDL_RATE_FOR_ONE, WDL_RATE_READ, LONG, 3000);
    ck_assert_uint_eq(ns[WDL_RATE_READ], 2500);
    close_all();
}
END_TEST

START_TEST(it_is_tried_soon_until_something_is_known)
{
    enum { ROUND = WDL_RATE_SOON + WDL_RATE_FOUR };
    enum { SOONER = WDL_RATE_SOON - WDL_RATE_SOON_LONG };
    open_all(RANKS);
    for (int k = 0; k < 10 * ROUND; k++) /* of each use by itself */
        for (int use = 0; use < WDL_RATE_USES; use++)
            ck_assert_int_eq(wdl_rate_stages(teams[0], (enum wdl_rate_use) use, 0),
                             (k + (use < WDL_RATE_LONG_FOR_ALL ? 0 : SOONER)) % ROUND >=
                                 WDL_RATE_SOON);
    close_all();
}
END_TEST

/* Times change: what is slower now is looked at again, less and less often, and longer, `row` times
 * on end, where it is seldom. */
static void tries_of(enum wdl_rate_use use, int soon, int seldom, int row)
{
    open_all(RANKS);
    takes(1, 7000, 16000, 16000);
    int at = soon, every = WDL_RATE_SOON;
    for (int k = 0; k < 10 * seldom; k++) {
        int staged = wdl_rate_stages(teams[0], use, 0);
        int tries = every < WDL_RATE_RARE ? WDL_RATE_FOUR : row;
        ck_assert_int_eq(staged, k >= at && k < at + tries);
        if (k == at + tries - 1) {
            every = every < seldom ? 4 * every : every;
            at = k + 1 + every;
        }
    }
    ck_assert_int_eq(every, seldom);
    takes(1, 7000, 2000, 2000); /* the faster one is another now: soon again */
    for (int k = 0; k < soon + WDL_RATE_FOUR; k++)
        ck_assert_int_eq(wdl_rate_stages(teams[0], use, 0), k < soon);
    close_all();
}

START_TEST(the_other_way_is_tried_now_and_then)
{
    tries_of(WDL_RATE_FOR_ONE, WDL_RATE_SOON, WDL_RATE_SELDOM, WDL_RATE_ROW);
    tries_of(WDL_RATE_LONG_FOR_ONE, WDL_RATE_SOON_LONG, WDL_RATE_SELDOM_LONG, 0);
}
END_TEST

static uint64_t fetched(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < r.n; i++)
        sum += wdl_coll_stats(r.one[i].proc)->placed_bytes;
    return sum;
}

static void add(void *ctx, const void *left, void *inout, size_t count)
{
    (void) ctx;
    for (size_t i = 0; i < count; i++)
        ((char *) inout)[i] = (char) (((const char *) left)[i] + ((char *) inout)[i]);
}

/* Bytes that the system has copied for a collective of all. */
static size_t fetched_by(enum wdl_coll_kind kind)
{
    uint64_t before = fetched();
    for (int i = 0; i < r.n; i++) {
        struct wdl_coll_args args = {.kind = kind,
                                     .flags = WDL_COLL_MPI,
                                     .bytes = LONG,
                                     .src = src[i],
                                     .dst = dst[i],
                                     .op = {.fn = add, .elem_bytes = 1, .commutes = 1}};
        ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
    }
    ranks_finish(&r, reqs, 1);
    return fetched() - before;
}

/* All kinds that have the choice, with two ranks, whose own times tell, and more. */
START_TEST(long_data_goes_that_way)
{
    for (int n = 2; n <= RANKS; n++)
        for (int near = 0; near < 2; near++) {
            size_t one = LONG, others = (size_t) n - 1;
            open_all(n);
            for (int i = 0; i < n; i++)
                takes(i, 7000, near ? 2000 : 16000, near ? 2000 : 16000);
            ck_assert_uint_eq(fetched_by(WDL_COLL_BROADCAST), near ? 0 : one * others);
            ck_assert_uint_eq(fetched_by(WDL_COLL_SCATTER), near ? 0 : one * others);
            ck_assert_uint_eq(fetched_by(WDL_COLL_EXCHANGE), near ? 0 : one * others * (size_t) n);
            ck_assert_uint_eq(fetched_by(WDL_COLL_GATHER_ALL),
                              near ? 0 : one * others * (size_t) n);
            /* two fold a part each, for which the root stages nothing; the other's goes to it */
            ck_assert_uint_eq(fetched_by(WDL_COLL_REDUCE),
                              n > 2 ? 0 : near ? one / 3 : one + one / 3);
            close_all();
        }
}
END_TEST

/* What the short ring is too short for: of two ranks what one alone wants is fetched however fast
 * it is staged. */
START_TEST(longer_data_goes_that_way)
{
    ring = LONG;
    long_ring = RING;
    for (int n = 2; n <= RANKS; n++) {
        size_t all = LONG * (size_t) n;
        open_all(n);
        for (int i = 0; i < n; i++)
            takes(i, 7000, 2000, 2000);
        ck_assert_uint_eq(fetched_by(WDL_COLL_BROADCAST), 0);
        ck_assert_uint_eq(fetched_by(WDL_COLL_SCATTER), n == 2 ? LONG : 0);
        ck_assert_uint_eq(fetched_by(WDL_COLL_EXCHANGE), n == 2 ? all : 0);
        ck_assert_uint_eq(fetched_by(WDL_COLL_GATHER_ALL), n == 2 ? all : 0);
        close_all();
    }
    ring = RING;
    long_ring = 0;
}
END_TEST

static uint64_t looks;

static uint64_t ticks(void *ctx)
{
    (void) ctx;
    return 1000 * ++looks;
}

/* By the host's clock: who reads, or fills, says how long it took, each time but for the first
 * ones. */
START_TEST(collectives_take_the_times)
{
    struct wdl_host_ops ops;
    open_all(2);
    ops = *r.one[0].host.host.ops;
    ops.now_ns = ticks;
    for (int i = 0; i < 2; i++) {
        take(i, WDL_RATE_FETCHED, LONG, 7000);
        take(i, WDL_RATE_READ, LONG, 2000);
        r.one[i].proc->host.ops = &ops;
    }
    for (int k = 0; k < 40; k++) /* rank 0 gives */
        fetched_by(WDL_COLL_BROADCAST);
    ck_assert_uint_lt(teams[1]->rate.of[WDL_RATE_FOR_ALL].ns[WDL_RATE_FETCHED], 7000);
    ck_assert_uint_eq(teams[0]->rate.of[WDL_RATE_FOR_ALL].ns[WDL_RATE_FETCHED], 7000);
    ck_assert_uint_eq(teams[1]->rate.of[WDL_RATE_FOR_ALL].ns[WDL_RATE_FILLED], 0);
    ck_assert_uint_eq(teams[0]->rate.of[WDL_RATE_FOR_ALL].ns[WDL_RATE_FILLED], 1000);
    ck_assert_uint_lt(teams[1]->rate.of[WDL_RATE_FOR_ALL].ns[WDL_RATE_READ], 1100);
    ck_assert_uint_eq(teams[0]->rate.of[WDL_RATE_FOR_ALL].ns[WDL_RATE_READ], 2000);
    close_all();
}
END_TEST

/* An exchange of blocks that vary, each of `bytes` in fact. */
static void exchange(size_t bytes)
{
    static size_t at[RANKS], each[RANKS];
    for (int i = 0; i < RANKS; i++) {
        at[i] = (size_t) i * LONG;
        each[i] = bytes;
    }
    for (int i = 0; i < RANKS; i++) {
        struct wdl_coll_args args = {.kind = WDL_COLL_EXCHANGE,
                                     .flags = WDL_COLL_MPI,
                                     .variable = 1,
                                     .src = src[i],
                                     .dst = dst[i],
                                     .src_blocks = {.bytes = each, .at = at},
                                     .dst_blocks = {.bytes = each, .at = at}};
        ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
    }
    ranks_finish(&r, reqs, 1);
}

static uint64_t placed(void)
{
    uint64_t all = 0;
    for (int i = 0; i < RANKS; i++)
        all += wdl_coll_stats(r.one[i].proc)->placed_bytes;
    return all;
}

/* Blocks that vary go the way that others do, and take the times. What no ring takes is fetched,
 * and tells nothing of what one would. */
START_TEST(blocks_that_vary_take_the_times)
{
    struct wdl_host_ops ops;
    ring = 2 * LONG;
    open_all(RANKS);
    ops = *r.one[0].host.host.ops;
    ops.now_ns = ticks;
    for (int i = 0; i < RANKS; i++)
        r.one[i].proc->host.ops = &ops;
    for (int k = 0; k < 8; k++)
        exchange(LONG / 2);
    ck_assert_uint_eq(placed(), 0);
    const uint32_t *ns = teams[1]->rate.of[WDL_RATE_FOR_ONE].ns;
    ck_assert_uint_gt(ns[WDL_RATE_READ], 0);
    ck_assert_uint_gt(ns[WDL_RATE_FILLED], 0);
    ck_assert_uint_eq(ns[WDL_RATE_FETCHED], 0);
    for (int i = 0; i < RANKS; i++)
        takes(i, 1000, 7000, 7000);
    exchange(LONG / 2);
    ck_assert_uint_eq(placed(), RANKS * (RANKS - 1) * LONG / 2);
    for (int i = 0; i < RANKS; i++)
        takes(i, 9000, 1000, 1000);
    exchange(LONG / 2);
    ck_assert_uint_eq(placed(), RANKS * (RANKS - 1) * LONG / 2);
    enum { TOO_LONG = 4 };      /* for the ring, so many times */
    uint32_t asked = teams[1]->rate.of[WDL_RATE_LONG_FOR_ONE].asked;
    for (int k = 0; k < TOO_LONG; k++)
        exchange(LONG);
    ck_assert_uint_eq(placed(), RANKS * (RANKS - 1) * (LONG / 2 + TOO_LONG * LONG));
    ck_assert_uint_eq(teams[1]->rate.of[WDL_RATE_LONG_FOR_ONE].asked, asked);
    for (int use = 0; use < WDL_RATE_USES; use++)
        ck_assert_uint_eq(teams[1]->rate.of[use].ns[WDL_RATE_FETCHED], 9000);
    close_all();
    ring = RING;
}
END_TEST

WDL_SUITE("mpid/coll/rate", the_faster_way_is_gone, what_is_staged_stays_so,
          who_does_not_know_does_as_it_is_told, who_never_fills_knows_how_it_reads,
          ranks_of_several_nodes_say_nothing, the_first_of_a_way_are_not_timed,
          the_third_of_a_way_is_timed, it_is_tried_soon_until_something_is_known,
          the_other_way_is_tried_now_and_then, long_data_goes_that_way, longer_data_goes_that_way,
          collectives_take_the_times, blocks_that_vary_take_the_times)
