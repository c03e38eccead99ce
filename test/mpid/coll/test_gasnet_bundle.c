/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of coll/gasnet_bundle: which
 * members of an aggregate go together, and that each gets what it would get alone; what may move
 * ahead goes alone. */
#include <string.h>
#include "mpid/coll/gasnet_ranks.h"
#include "support/suite.h"

enum { MEMBERS = 20, SMALL = 4096, BUNDLE_MAX = 65536 };

static const enum wdl_coll_kind kinds[] = {WDL_COLL_BROADCAST, WDL_COLL_SCATTER, WDL_COLL_GATHER,
                                           WDL_COLL_GATHER_ALL, WDL_COLL_EXCHANGE};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct member {
    enum wdl_coll_kind kind;
    int root;
    size_t bytes;
    size_t at; /* of its blocks in everyone's memory */
};

/* An even seed: no shared memory. */
static void world_of(int ranks, uint64_t seed)
{
    struct wdl_sim_params sim = {
        .seed = seed, .ranks = ranks, .ordered = 1, .delay_ns_max = 1000, .am_bytes_max = 1024};
    gasnet_open(&sim, 1);
}

static void world(void)
{
    world_of(5, 4);
}

static int common = WDL_COLL_MPI; /* flags of all */

static wdl_gas_handle member_start(const struct member *m, int i, int more)
{
    int flags = common | more, lists = flags & WDL_COLL_SINGLE;
    char *from = src[i][0] + m->at, *to = dst[i][0] + m->at;
    size_t root = (size_t) m->root, bytes = m->bytes;
    for (int k = 0; k < r.n; k++) {
        src_list[i][k] = src[k][0] + m->at;
        dst_list[i][k] = dst[k][0] + m->at;
    }
    if (lists && m->kind == WDL_COLL_EXCHANGE)
        return wdl_gas_exchangeM_nb(team[i], dst_list[i], src_list[i], bytes, flags);
    if (lists && m->kind == WDL_COLL_GATHER)
        return wdl_gas_gather_nb(team[i], root, dst[root][0] + m->at, from, bytes, flags);
    switch (m->kind) {
    case WDL_COLL_BROADCAST:
        return wdl_gas_broadcast_nb(team[i], to, root, from, bytes, flags);
    case WDL_COLL_SCATTER:
        return wdl_gas_scatter_nb(team[i], to, root, from, bytes, flags);
    case WDL_COLL_GATHER:
        return wdl_gas_gather_nb(team[i], root, to, from, bytes, flags);
    case WDL_COLL_GATHER_ALL:
        return wdl_gas_gather_all_nb(team[i], to, from, bytes, flags);
    default:
        return wdl_gas_exchange_nb(team[i], to, from, bytes, flags);
    }
}

/* Blocks of rank k's in what rank i gets. */
static const char *block_from(const struct member *m, int i, int k)
{
    int whole = m->kind == WDL_COLL_SCATTER || m->kind == WDL_COLL_EXCHANGE;
    return src[k][0] + m->at + (whole ? (size_t) i * m->bytes : 0);
}

static void member_check(const struct member *m, int i)
{
    const char *got = dst[i][0] + m->at;
    if (m->kind == WDL_COLL_BROADCAST || m->kind == WDL_COLL_SCATTER) {
        ck_assert_mem_eq(got, block_from(m, i, m->root), m->bytes);
        return;
    }
    for (int k = 0; k < r.n && (m->kind != WDL_COLL_GATHER || i == m->root); k++)
        ck_assert_mem_eq(got + (size_t) k * m->bytes, block_from(m, i, k), m->bytes);
}

/* They all begin as one aggregate. How many collectives that is. */
static uint64_t aggregate(const struct member *member, int n)
{
    uint64_t before = wdl_coll_stats(r.one[0].proc)->started;
    for (int i = 0; i < r.n; i++)
        for (size_t k = 0; k < ROOM; k++) {
            src[i][0][k] = (char) (draw(255) + 1);
            dst[i][0][k] = 0;
        }
    for (int i = 0; i < r.n; i++)
        for (int k = 0; k < n; k++)
            handle[i] = member_start(&member[k], i, k < n - 1 ? WDL_GAS_AGGREGATE : 0);
    gasnet_finish();
    for (int i = 0; i < r.n; i++)
        for (int k = 0; k < n; k++)
            member_check(&member[k], i);
    return wdl_coll_stats(r.one[0].proc)->started - before;
}

START_TEST(the_same_way_is_one_collective)
{
    struct member member[MEMBERS];
    world();
    for (int kind = 0; kind < KINDS; kind++)
        for (int n = 1; n <= MEMBERS; n += 6) {
            for (int k = 0; k < n; k++)
                member[k] = (struct member){kinds[kind], 2, 8 + 13 * (size_t) k, (size_t) k * 1300};
            ck_assert_uint_eq(aggregate(member, n), 1);
        }
    gasnet_close();
}
END_TEST

/* Another root, another kind: an exchange for all, among few. */
START_TEST(few_ranks_exchange_what_goes_several_ways)
{
    struct member member[MEMBERS];
    world();
    for (int k = 0; k < MEMBERS; k++)
        member[k] = (struct member){kinds[k % 3], k % 3 && k % 4 < 2, 40, (size_t) k * 300};
    ck_assert_uint_eq(aggregate(member, MEMBERS), 1);
    for (int k = 0; k < MEMBERS; k++)
        member[k] = (struct member){kinds[3 + k % 2], 0, 40, (size_t) k * 300};
    ck_assert_uint_eq(aggregate(member, MEMBERS), 1);
    for (int k = 0; k < MEMBERS; k++)
        member[k] = (struct member){kinds[k % KINDS], k % 3 + 1, 1 + 7 * (size_t) k % 100,
                                    (size_t) k * 500};
    ck_assert_uint_eq(aggregate(member, MEMBERS), 1);
    gasnet_close();
}
END_TEST

/* The lanes' teams open on one rank sooner than on another, while the first aggregates begin: whose
 * lane is not open does not know yet that all share a node. Alone they would be apart, on a node
 * they are one. */
START_TEST(ranks_whose_lanes_are_not_open_yet_bundle_like_the_others)
{
    struct member member[2] = {{WDL_COLL_EXCHANGE, 0, 8, 0}, {WDL_COLL_BROADCAST, 3, 8, 1000}};
    for (uint64_t seed = 1; seed < 200; seed += 4) {
        world_of(12, seed);
        for (int turn = 0; turn < 6; turn++) {
            for (int i = 0; i < r.n; i++) {
                for (size_t steps = draw(20); steps > 0; steps--)
                    ranks_step(&r);
                for (int k = 0; k < 2; k++)
                    handle[i] = member_start(&member[k], i, k ? 0 : WDL_GAS_AGGREGATE);
            }
            gasnet_finish();
            for (int i = 0; i < r.n; i++)
                for (int k = 0; k < 2; k++)
                    member_check(&member[k], i);
        }
        gasnet_close();
    }
}
END_TEST

/* Of two ways trees are over sooner than so many messages from one rank; of eight they are not.
 * From all to all in rounds is fewer messages. */
START_TEST(among_many_two_ways_are_two_collectives)
{
    struct member member[MEMBERS];
    world_of(12, 4);
    for (int k = 0; k < 6; k++)
        member[k] = (struct member){kinds[k % 2], 0, 40, (size_t) k * 600};
    ck_assert_uint_eq(aggregate(member, 6), 2);
    for (int k = 0; k < 8; k++)
        member[k] = (struct member){kinds[k % 3], k, 8, (size_t) k * 600};
    ck_assert_uint_eq(aggregate(member, 8), 1);
    member[8] = (struct member){WDL_COLL_GATHER_ALL, 0, 8, 8 * 600};
    ck_assert_uint_eq(aggregate(member, 9), 2);
    gasnet_close();
}
END_TEST

/* On one node it is a board for each, where that has room. */
START_TEST(on_a_node_what_fits_a_board_is_one_collective)
{
    struct member member[3];
    world_of(5, 5);
    for (size_t bytes = 16; bytes <= 1024; bytes *= 64) {
        for (int k = 0; k < 3; k++)
            member[k] = (struct member){kinds[k], 0, bytes, (size_t) k * 6000};
        ck_assert_uint_eq(aggregate(member, 3), bytes == 16 ? 1 : 3);
    }
    gasnet_close();
}
END_TEST

static uint64_t sent_by_all(void)
{
    uint64_t sent = 0;
    for (int i = 0; i < r.n; i++)
        sent += wdl_coll_stats(r.one[i].proc)->sent;
    return sent;
}

/* A message to each to which any member has something; the least of some rounds is without credit.
 */
START_TEST(what_goes_to_one_is_one_message)
{
    static const struct member from_two[] = {{WDL_COLL_BROADCAST, 0, 8, 0},
                                             {WDL_COLL_SCATTER, 0, 8, 300},
                                             {WDL_COLL_BROADCAST, 2, 8, 600},
                                             {WDL_COLL_SCATTER, 2, 8, 900},
                                             {WDL_COLL_BROADCAST, 0, 8, 1200}};
    uint64_t least = UINT64_MAX;
    world();
    for (int round = 0; round < 8; round++) {
        uint64_t before = sent_by_all();
        (void) aggregate(from_two, 5);
        uint64_t sent = sent_by_all() - before;
        least = sent < least ? sent : least;
    }
    ck_assert_uint_eq(least, 2 * 4);
    gasnet_close();
}
END_TEST

/* Long members go alone; a bundle has its size. */
START_TEST(what_is_long_goes_alone)
{
    struct member member[MEMBERS];
    world();
    member[0] = (struct member){WDL_COLL_BROADCAST, 0, SMALL, 0};
    member[1] = (struct member){WDL_COLL_BROADCAST, 0, SMALL + 1, 10000};
    member[2] = (struct member){WDL_COLL_BROADCAST, 0, 1, 20000};
    ck_assert_uint_eq(aggregate(member, 3), 2);
    for (int k = 0; k < MEMBERS; k++) /* more than a bundle's bytes, if they overlap in memory */
        member[k] = (struct member){WDL_COLL_BROADCAST, 0, SMALL, (size_t) (k % 14) * SMALL};
    ck_assert_int_gt(MEMBERS * SMALL, BUNDLE_MAX);
    ck_assert_uint_eq(aggregate(member, MEMBERS), 2);
    gasnet_close();
}
END_TEST

/* IN_NOSYNC to segments: each alone, straight to its place; else they are one as ever. */
START_TEST(what_goes_ahead_goes_alone)
{
    static const enum wdl_coll_kind ways[] = {WDL_COLL_GATHER, WDL_COLL_EXCHANGE};
    struct member member[3];
    world();
    for (int i = 0; i < r.n; i++)
        while (wdl_gas_segment(team[i], dst[i][0], ROOM) == WDL_AGAIN)
            ranks_step(&r);
    for (int kind = 0; kind < 2; kind++)
        for (int in = WDL_COLL_IN_NOSYNC; in <= WDL_COLL_IN_MYSYNC; in <<= 1) {
            common = in | WDL_COLL_OUT_MYSYNC | WDL_COLL_SINGLE | WDL_GAS_DST_IN_SEGMENT;
            for (int k = 0; k < 3; k++)
                member[k] = (struct member){ways[kind], 2, 300, (size_t) k * 4000};
            ck_assert_uint_eq(aggregate(member, 3), in == WDL_COLL_IN_NOSYNC ? 3 : 1);
        }
    common = WDL_COLL_MPI;
    gasnet_close();
}
END_TEST

WDL_SUITE("mpid/coll/gasnet_bundle", the_same_way_is_one_collective,
          few_ranks_exchange_what_goes_several_ways, among_many_two_ways_are_two_collectives,
          on_a_node_what_fits_a_board_is_one_collective,
          ranks_whose_lanes_are_not_open_yet_bundle_like_the_others,
          what_goes_to_one_is_one_message, what_is_long_goes_alone, what_goes_ahead_goes_alone)
