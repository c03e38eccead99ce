/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * GASNet's operations: what aggregates cost, whom a late rank delays, dead handles, teams of teams,
 * segments.
 */
#include <string.h>
#include "mpid/coll/gasnet_ranks.h"
#include "support/suite.h"

static int flags;

/* --- aggregates --- */

static uint64_t quiet(void)
{
    while (!wdl_sim_quiescent(r.sim))
        ranks_step(&r);
    for (int k = 0; k < 30 * r.n; k++)
        ranks_step(&r);
    return ranks_stats(&r).sent;
}

static uint64_t broadcasts(int n, int together)
{
    int sync = WDL_COLL_IN_ALLSYNC | WDL_COLL_OUT_ALLSYNC | WDL_COLL_LOCAL;
    wdl_gas_handle all[RANKS_MAX][8];
    uint64_t before = quiet();
    enum wdl_gas_error error;
    for (int i = 0; i < r.n; i++)
        for (int k = 0; k < n; k++) {
            src[0][0][k] = (char) (k + 1);
            all[i][k] =
                wdl_gas_broadcast_nb(team[i], dst[i][0] + k, 0, src[0][0] + k, 1,
                                     sync | (together && k < n - 1 ? WDL_GAS_AGGREGATE : 0));
            ck_assert(!together || k == n - 1 || !all[i][k]);
        }
    for (int i = 0; i < r.n; i++)
        for (int k = 0; k < n; k++)
            while (!wdl_gas_try_sync(all[i][k], &error))
                ranks_step(&r);
    for (int i = 0; i < r.n; i++)
        for (int k = 0; k < n; k++)
            ck_assert_int_eq(dst[i][0][k], k + 1);
    return quiet() - before;
}

/* k broadcasts that synchronize all: 4 messages a rank but one each (up, down, up, down); as an
 * aggregate, two barriers and one broadcast whatever k is. */
START_TEST(an_aggregate_synchronizes_once)
{
    struct wdl_sim_params sim = {.seed = 2, .ranks = 8, .ordered = 1, .am_bytes_max = 1024};
    gasnet_open(&sim, 1);
    (void) broadcasts(1, 0);
    (void) broadcasts(8, 1);
    ck_assert_uint_eq(broadcasts(8, 0), 8 * 4 * 7);
    ck_assert_uint_eq(broadcasts(8, 1), 2 * 8 * 3 + 7);
    gasnet_close();
}
END_TEST

/* Members to one root, which has some of it in a form of its own. */
static uint64_t gathers_once(int n, size_t root)
{
    int sync = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_ALLSYNC | WDL_COLL_LOCAL;
    uint64_t before = quiet();
    for (int i = 0; i < r.n; i++)
        for (int k = 0; k < n; k++) {
            struct wdl_gas_array s = {src[i][0], 0, 0};
            int more = k < n - 1 ? WDL_GAS_AGGREGATE : WDL_GAS_ELEMENTWISE;
            memset(src[i][0], i + 1, 8);
            handle[i] = k < n - 1 ? wdl_gas_gather_nb(team[i], k ? root : 0, dst[i][0] + 64 * k,
                                                      src[i][0], 8, sync | more)
                                  : wdl_gas_reduceM_nb(team[i], 0, dst[i][0] + 64 * k, NULL, s, 4,
                                                       2, SUM, SUM, sync | more);
        }
    gasnet_finish();
    for (int k = 0; k < n - 1; k++)
        for (int i = 0; i < r.n; i++)
            ck_assert_int_eq(dst[k ? root : 0][0][64 * k + 8 * i], i + 1);
    ck_assert_int_eq(dst[0][0][64 * (n - 1)], r.n * (r.n + 1) / 2);
    return quiet() - before;
}

/* ... without credit among them. */
static uint64_t gathers(int n, size_t root)
{
    uint64_t least = UINT64_MAX;
    for (int round = 0; round < 8; round++) {
        uint64_t sent = gathers_once(n, root);
        least = sent < least ? sent : least;
    }
    return least;
}

/* Its root alone says that all is over: what is less than a barrier. */
START_TEST(an_aggregate_to_one_root_ends_without_a_barrier)
{
    struct wdl_sim_params sim = {.seed = 2, .ranks = 8, .ordered = 1, .am_bytes_max = 1024};
    gasnet_open(&sim, 1);
    ck_assert_uint_eq(gathers(3, 0), 2 * 7 + 7); /* a bundle, a fold; from the root */
    ck_assert_uint_eq(gathers(3, 1), 3 * 7 + 8 * 3);
    gasnet_close();
}
END_TEST

/* --- whom a late rank delays --- */

static int done_without(int late, void (*start)(int i))
{
    int done = 0;
    enum wdl_gas_error error;
    for (int i = 0; i < r.n; i++)
        if (i != late)
            start(i);
    for (int k = 0; k < 400 * r.n; k++)
        ranks_step(&r);
    for (int i = 0; i < r.n; i++)
        if (i != late && wdl_gas_try_sync(handle[i], &error)) {
            handle[i] = NULL;
            done++;
        }
    start(late);
    for (int i = 0; i < r.n; i++)
        while (handle[i] && !wdl_gas_try_sync(handle[i], &error))
            ranks_step(&r);
    memset(handle, 0, sizeof(handle));
    return done;
}

/* An element a rank, to rank 0 */
static void reduce_start(int i)
{
    struct wdl_gas_array s = {src[i][0], 1, 0};
    handle[i] =
        wdl_gas_reduceM_nb(team[i], 0, dst[i][0], NULL, s, 4, (size_t) r.n, SUM, SUM, flags);
}

static void neighbour_start(int i)
{
    uint32_t partner = (uint32_t) ((i + r.n - 1) % r.n);
    struct wdl_gas_put put = {.node = (uint32_t) ((i + 1) % r.n),
                              .dst = dst[(i + 1) % r.n][0],
                              .src = src[i][0],
                              .partners = &partner,
                              .partner_count = 1,
                              .nbytes = 4};
    handle[i] = wdl_gas_put_nb(team[i], &put, flags);
}

START_TEST(a_late_rank_delays_whom_it_must)
{
    struct wdl_sim_params sim = {.seed = 4, .ranks = 8, .ordered = 1, .am_bytes_max = 1024};
    int late = 7, weak = WDL_COLL_IN_NOSYNC | WDL_COLL_OUT_NOSYNC | WDL_COLL_LOCAL;
    int mine = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_MYSYNC | WDL_COLL_LOCAL;
    gasnet_open(&sim, 1);
    (void) broadcasts(1, 0);
    flags = weak;
    ck_assert_int_eq(done_without(late, reduce_start), 6); /* all but the root */
    flags = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_ALLSYNC | WDL_COLL_LOCAL;
    ck_assert_int_eq(done_without(late, reduce_start), 0);
    flags = WDL_COLL_IN_ALLSYNC | WDL_COLL_OUT_MYSYNC | WDL_COLL_LOCAL;
    ck_assert_int_eq(done_without(late, reduce_start), 0);
    flags = mine; /* rank 0 waits for what rank 7 puts there */
    ck_assert_int_eq(done_without(late, neighbour_start), 6);
    gasnet_close();
}
END_TEST

/* --- handles, teams --- */

START_TEST(dead_handles_are_told)
{
    struct wdl_sim_params sim = {.seed = 4, .ranks = 1, .ordered = 1, .am_bytes_max = 1024};
    enum wdl_gas_error error;
    gasnet_open(&sim, 1);
    wdl_gas_handle h = wdl_gas_barrier_nb(team[0]);
    while (!wdl_gas_try_sync(h, &error))
        ranks_step(&r);
    ck_assert_int_eq(error, WDL_GAS_FINE);
    ck_assert_int_eq(wdl_gas_try_sync(h, &error), 1);
    ck_assert_int_eq(error, WDL_GAS_ERR_HANDLE);
    wdl_gas_handle other = wdl_gas_barrier_nb(team[0]); /* in the same memory */
    ck_assert_int_eq(wdl_gas_try_sync(h, &error), 1);
    ck_assert_int_eq(error, WDL_GAS_ERR_HANDLE);
    while (!wdl_gas_try_sync(other, &error))
        ranks_step(&r);
    ck_assert_int_eq(wdl_gas_try_sync(NULL, &error), 1);
    gasnet_close();
}
END_TEST

START_TEST(teams_of_teams)
{
    struct wdl_sim_params sim = {.seed = 8, .ranks = 9, .delay_ns_max = 3000, .am_bytes_max = 1024};
    struct wdl_gas_team *part[RANKS_MAX];
    gasnet_open(&sim, 0);
    for (int i = 0; i < r.n; i++)
        handle[i] = wdl_gas_team_split_nb(team[i], i % 3, r.n - i, WDL_GAS_FINE, &part[i]);
    gasnet_finish();
    for (int i = 0; i < r.n; i++) {
        ck_assert_int_eq(wdl_gas_team_size(part[i]), 3);
        ck_assert_int_eq(wdl_gas_team_rank(part[i]), 2 - i / 3);
        ck_assert_int_eq(wdl_gas_team_peer(part[i], 0), 6 + i % 3);
        memset(src[i][0], i, 8);
        handle[i] = wdl_gas_gather_all_nb(part[i], dst[i][0], src[i][0], 8, WDL_COLL_MPI);
    }
    gasnet_finish();
    for (int i = 0; i < r.n; i++)
        for (int k = 0; k < 3; k++)
            ck_assert_int_eq(dst[i][0][8 * k], wdl_gas_team_peer(part[i], k));
    for (int i = 0; i < r.n; i++)
        while (wdl_gas_team_destroy(part[i]) == WDL_AGAIN)
            ranks_step(&r);
    gasnet_close();
}
END_TEST

static enum wdl_gas_error ends(wdl_gas_handle h)
{
    enum { STEPS_MAX = 2000000 };
    enum wdl_gas_error error;
    for (int steps = 0; !wdl_gas_try_sync(h, &error); steps++) {
        ranks_doubt(&r, ranks_step(&r));
        ck_assert_int_lt(steps, STEPS_MAX);
    }
    return error;
}

/* --- segments --- */

enum { LARGE = 6000 };

/* Bytes copied through memory in between; moved from their places to their places. */
struct moved {
    uint64_t copied, placed;
};

static struct moved moved(void)
{
    struct moved sum = {0, 0};
    for (int i = 0; i < r.n; i++) {
        const struct wdl_coll_stats *stats = wdl_coll_stats(r.one[i].proc);
        sum.copied += stats->copied_bytes;
        sum.placed += stats->placed_bytes;
    }
    return sum;
}

static void segments(size_t bytes)
{
    for (int i = 0; i < r.n; i++)
        while (wdl_gas_segment(team[i], dst[i][0], bytes) == WDL_AGAIN)
            ranks_step(&r);
}

static void gather_start(int i)
{
    handle[i] = wdl_gas_gather_allM_nb(team[i], dst_list[i], src_list[i], LARGE, flags);
}

static void exchange_start(int i)
{
    handle[i] = wdl_gas_exchange_nb(team[i], dst[i][0], src[i][0], LARGE, flags);
}

/* Both for a gather of all and an exchange, which bring what they must: all by copies or none. */
static void blocks_move(int copied)
{
    struct moved before = moved(), after;
    uint64_t all = (uint64_t) (2 * r.n * (r.n - 1)) * LARGE;
    gasnet_lists(1, flags);
    for (int i = 0; i < r.n; i++)
        for (int k = 0; k < r.n; k++)
            memset(src[i][0] + k * LARGE, 10 * i + k, LARGE);
    gasnet_all(gather_start);
    for (int i = 0; i < r.n * r.n; i++)
        ck_assert_int_eq(dst[i / r.n][0][(i % r.n + 1) * LARGE - 1], 10 * (i % r.n));
    gasnet_all(exchange_start);
    for (int i = 0; i < r.n * r.n; i++)
        ck_assert_int_eq(dst[i / r.n][0][(i % r.n + 1) * LARGE - 1], 10 * (i % r.n) + i / r.n);
    after = moved();
    ck_assert_uint_eq(after.copied - before.copied, copied ? all : 0);
    ck_assert_uint_eq(after.placed - before.placed, copied ? 0 : all);
}

START_TEST(what_goes_to_the_segment_is_not_copied)
{
    struct wdl_sim_params sim = {.seed = 10, .ranks = 5, .no_map = 1, .am_bytes_max = 1024};
    size_t all = 5 * LARGE;
    gasnet_open(&sim, 1);
    for (int in = WDL_COLL_IN_NOSYNC; in <= WDL_COLL_IN_ALLSYNC; in <<= 1) {
        flags = in | WDL_COLL_OUT_MYSYNC | WDL_COLL_SINGLE;
        segments(0);
        blocks_move(1);
        flags |= WDL_GAS_DST_IN_SEGMENT;
        segments(all);
        blocks_move(0);
        segments(all); /* anew */
        blocks_move(0);
    }
    gasnet_close();
}
END_TEST

/* Among the ranks of a node nothing that is long is copied twice, attached or not. */
START_TEST(on_a_node_nothing_long_goes_through_boards)
{
    struct wdl_sim_params sim = {.seed = 9, .ranks = 5, .am_bytes_max = 1024};
    gasnet_open(&sim, 1);
    flags = WDL_COLL_MPI & ~WDL_COLL_LOCAL;
    flags |= WDL_COLL_SINGLE;
    blocks_move(0);
    flags |= WDL_GAS_DST_IN_SEGMENT;
    segments(5 * LARGE);
    blocks_move(0);
    gasnet_close();
}
END_TEST

static void outside(wdl_gas_handle h)
{
    enum wdl_gas_error error;
    ck_assert_int_eq(wdl_gas_try_sync(h, &error), 1);
    ck_assert_int_eq(error, WDL_GAS_ERR_SEGMENT);
}

/* Each call's own memory, in lists too. */
START_TEST(what_is_outside_of_the_segment_is_told)
{
    struct wdl_sim_params sim = {.seed = 9, .ranks = 1, .am_bytes_max = 1024};
    uint32_t perm[] = {0, 1}, node = 0;
    gasnet_open(&sim, 2);
    flags = WDL_COLL_MPI | WDL_GAS_DST_IN_SEGMENT;
    gasnet_lists(1, flags);
    segments(8);
    void **to = dst_list[0], **from = src_list[0], *s = src[0][0], *d = dst[0][0];
    outside(wdl_gas_broadcastM_nb(team[0], to, 0, s, 8, flags)); /* the second image's */
    outside(wdl_gas_scatterM_nb(team[0], to, 0, s, 8, flags));
    outside(wdl_gas_gatherM_nb(team[0], 0, d, from, 8, flags));
    outside(wdl_gas_gather_allM_nb(team[0], to, from, 4, flags));
    outside(wdl_gas_exchangeM_nb(team[0], to, from, 4, flags));
    outside(wdl_gas_permuteM_nb(team[0], NULL, to, NULL, from, perm, 4, flags));
    struct wdl_gas_put get = {.gets = 1, .many = 1, .nodes = &node, .count = 1, .nbytes = 9};
    get.dst_list = to;
    get.src_list = from;
    outside(wdl_gas_put_nb(team[0], &get, flags));
    flags = WDL_COLL_MPI | WDL_GAS_SRC_IN_SEGMENT;
    get.gets = 0;
    outside(wdl_gas_put_nb(team[0], &get, flags));
    outside(wdl_gas_scatterM_nb(team[0], to, 0, s, 8, flags));
    outside(wdl_gas_broadcastM_nb(team[0], to, 0, s, 8, flags));
    gasnet_close();
}
END_TEST

/* LOCAL: what a node gives it knows at once, where it belongs that others give when it has heard
 * how much that is. */
static size_t give[RANKS_MAX][RANKS_MAX], get[RANKS_MAX][RANKS_MAX], at[RANKS_MAX][RANKS_MAX];
static int all_to_all, from_outside[RANKS_MAX], to_outside[RANKS_MAX];

static void vary_start(int i)
{
    char *segment = dst[i][0], *to = segment, *from = segment + ROOM / 2;
    for (int k = 0; k < r.n; k++) {
        give[i][k] = 8 + (size_t) i;
        get[i][k] = k == i || all_to_all ? give[i][k] : 777;
        at[i][k] = 100 * (size_t) k;
    }
    if (to_outside[i]) /* the last one's block ends a byte behind */
        to = segment + ROOM - at[i][r.n - 1] - (size_t) (8 + r.n - 1) + 1;
    if (from_outside[i])
        from = segment + ROOM - at[i][r.n - 1] - give[i][0] + 1;
    if (!all_to_all)
        from += at[i][r.n - 1];
    handle[i] = all_to_all ? wdl_gas_exchangev_nb(team[i], to, at[i], get[i], from, at[i], give[i],
                                                  flags)
                           : wdl_gas_gather_allv_nb(team[i], to, at[i], from, get[i], flags);
}

/* On one rank, on all (who: r.n) or on none (-1), which it is told; the others end, too. */
static void varies(int who, int *outside_of)
{
    for (int i = 0; i < r.n; i++) {
        outside_of[i] = i == who || who == r.n;
        vary_start(i);
        if (from_outside[i])
            ck_assert_int_eq(wdl_gas_early(handle[i]), WDL_GAS_ERR_SEGMENT);
    }
    for (int i = 0; i < r.n; i++) {
        enum wdl_gas_error error = ends(handle[i]);
        if (who < 0)
            ck_assert_int_eq(error, WDL_GAS_FINE);
        else if (outside_of[i])
            ck_assert_int_eq(error, WDL_GAS_ERR_SEGMENT);
        else
            ck_assert(error == WDL_GAS_FINE || error == WDL_GAS_ERR_MISMATCH);
        outside_of[i] = 0;
        handle[i] = NULL;
    }
}

/* The ranks and the order of the network are the world's. */
static void open_world(int world, int ranks_most)
{
    struct wdl_sim_params sim = {.seed = (uint64_t) world,
                                 .ranks = 1 + world % ranks_most,
                                 .ordered = world / 2 % 2,
                                 .delay_ns_max = 2000,
                                 .am_bytes_max = 1024};
    gasnet_open(&sim, 1);
}

START_TEST(what_varies_is_in_the_segment_too)
{
    for (int world = 1; world < 24; world++) {
        open_world(world, 6);
        segments(ROOM);
        flags = WDL_COLL_MPI | WDL_GAS_DST_IN_SEGMENT | WDL_GAS_SRC_IN_SEGMENT;
        for (all_to_all = 0; all_to_all < 2; all_to_all++) {
            varies(-1, to_outside);
            varies(r.n, from_outside);
            varies(r.n, to_outside);
            varies(-1, to_outside);
        }
        all_to_all = world % 2;
        varies(world % r.n, world / 2 % 2 ? to_outside : from_outside);
        for (int i = 0; i < r.n; i++)
            r.one[i].proc->stats.malformed = 0; /* what came for who had finished */
        gasnet_close();
    }
}
END_TEST

/* Nothing is in a segment of no bytes; without one nothing is looked at. */
START_TEST(an_empty_segment_and_none)
{
    struct wdl_sim_params sim = {.seed = 9, .ranks = 1, .am_bytes_max = 1024};
    enum wdl_gas_error error;
    gasnet_open(&sim, 1);
    flags = WDL_COLL_MPI | WDL_GAS_DST_IN_SEGMENT;
    segments(0);
    outside(wdl_gas_gather_all_nb(team[0], dst[0][0], src[0][0], 1, flags));
    ck_assert_int_eq(wdl_gas_segment(team[0], NULL, 0), WDL_OK);
    ck_assert_ptr_null(wdl_gas_segment_base(team[0]));
    wdl_gas_handle h = wdl_gas_gather_all_nb(team[0], dst[0][0], src[0][0], 1, flags);
    while (!wdl_gas_try_sync(h, &error))
        ranks_step(&r);
    ck_assert_int_eq(error, WDL_GAS_FINE);
    gasnet_close();
}
END_TEST

/* --- a call that goes wrong on one node --- */

enum { KINDS = 10, PAIRS = 3 };

/* Where results go: what nobody has a handle of may still move. */
enum { DOUBTFUL, CLEAN };
static int area;

static wdl_gas_handle kind_start(int kind, int i, int f);

/* Two that belong together, of which the first, the second or, in pair 2, a stage between two
 * right ones is as f says. */
static wdl_gas_handle pair_start(int pair, int i, int f, wdl_gas_handle *first)
{
    int with = WDL_COLL_MPI | WDL_GAS_AGGREGATE;
    int wrong = f & ~WDL_COLL_MPI;
    *first = NULL;
    if (pair == 0) {
        *first = kind_start(1, i, f | WDL_GAS_AGGREGATE);
        return kind_start(2, i, WDL_COLL_MPI);
    }
    if (pair == 1) {
        ck_assert_ptr_null(kind_start(2, i, with));
        return kind_start(0, i, f);
    }
    ck_assert_ptr_null(kind_start(2, i, with));
    *first = kind_start(5, i, with | wrong);
    return kind_start(6, i, WDL_COLL_MPI);
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
    return (x > y) - (x < y);
}

static wdl_gas_handle kind_start(int kind, int i, int f)
{
    static uint32_t back[RANKS_MAX];
    static size_t sizes[RANKS_MAX];
    char *to = dst[i][area];
    struct wdl_gas_array s = {src[i][0], 1, 0}, d = {to, 1, 0};
    struct wdl_gas_put put = {
        .node = (uint32_t) ((i + 1) % r.n), .dst = to, .src = src[i][0], .nbytes = 8};
    for (int k = 0; k < r.n; k++) {
        back[k] = (uint32_t) (r.n - 1 - k);
        sizes[k] = 8;
    }
    switch (kind) {
    case 0:
        return wdl_gas_broadcast_nb(team[i], to, 0, src[i][0], 8, f);
    case 1:
        return wdl_gas_gather_nb(team[i], (size_t) r.n - 1, to, src[i][0], 8, f);
    case 2:
        return wdl_gas_exchange_nb(team[i], to, src[i][0], 8, f);
    case 3:
        return wdl_gas_reduceM_nb(team[i], 0, to, NULL, s, 4, (size_t) r.n, SUM, SUM, f);
    case 4:
        return wdl_gas_scanM_nb(team[i], NULL, d, NULL, s, 4, (size_t) r.n, SUM, SUM, f);
    case 5:
        return wdl_gas_put_nb(team[i], &put, f);
    case 6:
        return wdl_gas_permuteM_nb(team[i], to, NULL, src[i][0], NULL, back + i, 8, f);
    case 7:
        return wdl_gas_scatterv_nb(team[i], to, 0, src[i][0], NULL, sizes, f);
    case 8:
        return wdl_gas_sortM_nb(team[i], NULL, d, NULL, s, 4, (size_t) r.n, ascending, f);
    default:
        return wdl_gas_gather_allv_nb(team[i], to, NULL, src[i][0], sizes, f);
    }
}

/* The others end, too; and so does what follows, well if all went wrong: else the team may be
 * closed. */
static void goes_wrong(int kind, int who)
{
    enum wdl_gas_error error;
    int unknown = 1 << 20, pair = kind - KINDS;
    area = DOUBTFUL;
    for (int i = 0; i < r.n; i++) {
        int wrong = i == who || who == r.n; /* or all */
        int f = WDL_COLL_MPI | (wrong ? unknown : 0);
        wdl_gas_handle first = NULL;
        handle[i] = pair < 0 ? kind_start(kind, i, f) : pair_start(pair, i, f, &first);
        error = wdl_gas_early(first ? first : handle[i]);
        ck_assert(wrong ? error == WDL_GAS_ERR_FLAGS : !error || error == WDL_GAS_ERR_MISMATCH);
        if (first)
            ck_assert_int_eq(ends(first), WDL_GAS_ERR_FLAGS);
    }
    for (int i = 0; i < r.n; i++) {
        int wrong = i == who || who == r.n, itself = wrong && (pair < 0 || pair == 1);
        error = ends(handle[i]);
        if (itself)
            ck_assert_int_eq(error, WDL_GAS_ERR_FLAGS);
        else if (who == r.n) /* the rest of an aggregate */
            ck_assert_int_eq(error, WDL_GAS_FINE);
        else
            ck_assert(error == WDL_GAS_FINE || error == WDL_GAS_ERR_MISMATCH);
    }
    area = CLEAN;
    for (int staged = 0; staged < 2; staged++) {
        for (int i = 0; i < r.n; i++) {
            memset(src[i][0], 8 * kind + i + staged, 8 * (size_t) r.n);
            handle[i] = kind_start(staged ? 6 : 2, i, WDL_COLL_MPI);
        }
        for (int i = 0; i < r.n; i++) {
            error = ends(handle[i]);
            if (who == r.n)
                ck_assert_int_eq(error, WDL_GAS_FINE);
            if (error == WDL_GAS_FINE)
                ck_assert_int_eq(dst[i][CLEAN][0], 8 * kind + staged + (staged ? r.n - 1 - i : 0));
            else
                ck_assert_int_eq(error, WDL_GAS_ERR_MISMATCH);
        }
    }
}

START_TEST(a_call_that_goes_wrong_on_one_node_is_over_on_all)
{
    for (int world = 0; world < 8 * (KINDS + PAIRS); world++) {
        open_world(world, 8);
        for (int kind = 0; kind < KINDS + PAIRS; kind++)
            goes_wrong(kind, r.n);
        for (int k = 0; k < 3; k++)
            goes_wrong((world + k) % (KINDS + PAIRS), (world / 3 + k) % r.n);
        if (world % 3 == 0) /* others have done with the team */
            ck_assert_int_eq(ends(kind_start(world % KINDS, 0, 1 << 20)), WDL_GAS_ERR_FLAGS);
        for (int k = 0; k < 2000 && world % 2; k++) /* they hear of it before, or not */
            ranks_step(&r);
        for (int i = 0; i < r.n; i++)
            r.one[i].proc->stats.malformed = 0; /* what came for who had finished */
        gasnet_close();
    }
}
END_TEST

WDL_SUITE("mpid/coll/gasnet_op", an_aggregate_synchronizes_once,
          an_aggregate_to_one_root_ends_without_a_barrier, a_late_rank_delays_whom_it_must,
          dead_handles_are_told, teams_of_teams, what_goes_to_the_segment_is_not_copied,
          on_a_node_nothing_long_goes_through_boards, what_is_outside_of_the_segment_is_told,
          what_varies_is_in_the_segment_too, an_empty_segment_and_none,
          a_call_that_goes_wrong_on_one_node_is_over_on_all)
