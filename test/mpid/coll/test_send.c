/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * SENDs: how many packets data takes, what is copied on the way, and a network that refuses.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/coll_impl.h"
#include "mpid/coll/ranks.h"
#include "support/must.h"
#include "support/suite.h"

enum { PACKET = 1024, LONGEST = 40 * PACKET, RANKS_MAX = 11 };

static struct ranks r;
static struct wdl_team *teams[RANKS_MAX];
static struct wdl_coll_req reqs[RANKS_MAX];
static char src[LONGEST], dst[LONGEST];

static void open_all(struct wdl_sim_params sim)
{
    struct wdl_team_params params = {.id = 3};
    sim.ranks = sim.ranks ? sim.ranks : 2;
    sim.am_bytes_max = PACKET;
    ranks_open(&r, &sim);
    ranks_team(&r, &params, teams);
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER};
    for (int i = 0; i < r.n; i++)
        ck_assert_int_eq(wdl_coll_start(teams[i], &barrier, &reqs[i]), WDL_OK);
    ranks_finish(&r, reqs, 1);
    for (size_t i = 0; i < LONGEST; i++)
        src[i] = (char) (i * 7 + i / 251);
}

static void close_all(void)
{
    ranks_drop(&r, teams);
    ranks_close(&r);
}

/* Rank 0's data to rank 1, down the tree of two. */
static void broadcast(size_t bytes)
{
    struct wdl_coll_args args = {.kind = WDL_COLL_BROADCAST,
                                 .flags = WDL_COLL_MPI,
                                 .bytes = bytes,
                                 .algorithm = "tree"};
    memset(dst, 0, sizeof(dst));
    args.src = args.dst = src;
    ck_assert_int_eq(wdl_coll_start(teams[0], &args, &reqs[0]), WDL_OK);
    args.src = args.dst = dst;
    ck_assert_int_eq(wdl_coll_start(teams[1], &args, &reqs[1]), WDL_OK);
    ranks_finish(&r, reqs, 1);
    must(memcmp(src, dst, bytes) == 0);
    for (size_t i = bytes; i < bytes + 64 && i < LONGEST; i++)
        must_cmp(dst[i], ==, 0);
    while (!wdl_sim_quiescent(r.sim))
        ranks_step(&r);
}

static struct wdl_coll_stats stats(int rank)
{
    return *wdl_coll_stats(r.one[rank].proc);
}

START_TEST(packets)
{
    open_all((struct wdl_sim_params){.seed = 3, .ordered = 1});
    size_t chunk = teams[0]->coll->chunk_bytes;
    must(chunk < PACKET && chunk > PACKET / 2);
    for (size_t bytes = 0; bytes <= LONGEST;
         bytes = bytes < 3 * chunk ? bytes + 1 : bytes + 977) {
        struct wdl_coll_stats before[2] = {stats(0), stats(1)};
        broadcast(bytes);
        size_t packets = bytes ? (bytes + chunk - 1) / chunk : 1;
        uint64_t credit = stats(1).sent - before[1].sent; /* and ready flags */
        must_cmp(stats(0).sent_bytes - before[0].sent_bytes, ==, bytes);
        must_cmp(stats(0).sent - before[0].sent, >=, packets);
        must_cmp(stats(0).sent - before[0].sent, <=, packets + credit + 1);
    }
    close_all();
}
END_TEST

/* Refused, delayed, out of order: all of it comes, once. */
START_TEST(a_network_that_refuses)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        open_all((struct wdl_sim_params){.seed = seed,
                                         .ordered = seed % 2 != 0,
                                         .refuse_permille = 300,
                                         .delay_ns_max = 5000});
        for (size_t bytes = 0; bytes < LONGEST; bytes = 2 * bytes + 1 + (size_t) seed) {
            uint64_t before = stats(0).sent_bytes;
            broadcast(bytes);
            must_cmp(stats(0).sent_bytes - before, ==, bytes);
        }
        must_cmp(wdl_sim_counts(r.sim)->refused, >, 0);
        close_all();
    }
}
END_TEST

/* Up a tree a rank sends on what has come, in pieces of its own: of the length its receiver counts
 * by, wherever those that came end. */
START_TEST(what_is_passed_on_is_cut_anew)
{
    for (int n = 3; n <= RANKS_MAX; n++) {
        open_all((struct wdl_sim_params){.seed = (uint64_t) n, .ranks = n, .delay_ns_max = 3000});
        for (size_t bytes = 100; bytes < LONGEST / RANKS_MAX; bytes = bytes * 3 / 2 + 7) {
            struct wdl_coll_args args = {.kind = WDL_COLL_GATHER,
                                         .flags = WDL_COLL_MPI,
                                         .bytes = bytes,
                                         .dst = dst,
                                         .algorithm = "tree"};
            memset(dst, 0, sizeof(dst));
            for (int i = 0; i < n; i++) {
                args.src = src + (size_t) i * bytes;
                ck_assert_int_eq(wdl_coll_start(teams[i], &args, &reqs[i]), WDL_OK);
            }
            ranks_finish(&r, reqs, 1);
            must(memcmp(src, dst, (size_t) n * bytes) == 0);
        }
        close_all();
    }
}
END_TEST

WDL_SUITE("coll/send", packets, a_network_that_refuses, what_is_passed_on_is_cut_anew)
