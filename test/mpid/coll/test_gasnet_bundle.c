/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of coll/gasnet_bundle: which
 * members of an aggregate go together, and that each gets what it would get alone; what may move
 * ahead goes alone. */
#include <string.h>
#include "mpid/coll/gasnet_ranks.h"
#include "support/suite.h"

enum { RANKS = 5, MEMBERS = 20, SMALL = 4096, BUNDLE_MAX = 65536 };

static const enum wdl_coll_kind kinds[] = {WDL_COLL_BROADCAST, WDL_COLL_SCATTER, WDL_COLL_GATHER,
                                           WDL_COLL_GATHER_ALL, WDL_COLL_EXCHANGE};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct member {
    enum wdl_coll_kind kind;
    int root;
    size_t bytes;
    size_t at; /* of its blocks in everyone's memory */
};

static void world(void)
{
    struct wdl_sim_params sim = {
        .seed = 4, .ranks = RANKS, .ordered = 1, .delay_ns_max = 1000, .am_bytes_max = 1024};
    gasnet_open(&sim, 1); /* an even seed: no shared memory */
}

static int common = WDL_COLL_MPI; /* flags of all */

static wdl_gas_handle member_start(const struct member *m, int i, int more)
{
    int flags = common | more, lists = flags & WDL_COLL_SINGLE;
    char *from = src[i][0] + m->at, *to = dst[i][0] + m->at;
    size_t root = (size_t) m->root, bytes = m->bytes;
    for (int k = 0; k < RANKS; k++) {
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
    for (int k = 0; k < RANKS && (m->kind != WDL_COLL_GATHER || i == m->root); k++)
        ck_assert_mem_eq(got + (size_t) k * m->bytes, block_from(m, i, k), m->bytes);
}

/* They all begin as one aggregate. How many collectives that is. */
static uint64_t aggregate(const struct member *member, int n)
{
    uint64_t before = wdl_coll_stats(r.one[0].proc)->started;
    for (int i = 0; i < RANKS; i++)
        for (size_t k = 0; k < ROOM; k++) {
            src[i][0][k] = (char) (draw(255) + 1);
            dst[i][0][k] = 0;
        }
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < n; k++)
            handle[i] = member_start(&member[k], i, k < n - 1 ? WDL_GAS_AGGREGATE : 0);
    gasnet_finish();
    for (int i = 0; i < RANKS; i++)
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

/* Another root, another kind. */
START_TEST(another_way_is_another_collective)
{
    struct member member[MEMBERS];
    world();
    for (int k = 0; k < MEMBERS; k++)
        member[k] = (struct member){kinds[k % 3], k % 3 && k % 4 < 2, 40, (size_t) k * 300};
    /* a kind from one root, two from two each; of more there would be credit */
    ck_assert_uint_eq(aggregate(member, MEMBERS), 5);
    for (int k = 0; k < MEMBERS; k++)
        member[k] = (struct member){kinds[3 + k % 2], 0, 40, (size_t) k * 300};
    ck_assert_uint_eq(aggregate(member, MEMBERS), 2);
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
    for (int i = 0; i < RANKS; i++)
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
          another_way_is_another_collective, what_is_long_goes_alone, what_goes_ahead_goes_alone)
