/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * put and get with partner lists: blocks between any nodes in random worlds; messages between
 * partners alone; whom a late one delays; what is asked wrongly.
 */
#include <string.h>
#include "mpid/coll/gasnet_ranks.h"
#include "support/must.h"
#include "support/suite.h"

static struct call {
    int flags, gets;
    size_t bytes;
} call;

/* count[i][j]: blocks between i, who asks, and j, whose memory is named. */
static unsigned count[RANKS_MAX][RANKS_MAX];
static uint32_t nodes[RANKS_MAX][4 * RANKS_MAX], partners[RANKS_MAX][RANKS_MAX];
static void *here[RANKS_MAX][4 * RANKS_MAX], *there[RANKS_MAX][4 * RANKS_MAX];

static void put_start(int i)
{
    struct wdl_gas_put put = {.gets = call.gets, .many = 1, .nodes = nodes[i]};
    for (int j = 0; j < r.n; j++) {
        put.count += count[i][j];
        if (count[j][i])
            partners[i][put.partner_count++] = (uint32_t) j;
    }
    put.dst_list = call.gets ? here[i] : there[i];
    put.src_list = call.gets ? there[i] : here[i];
    put.partners = partners[i];
    put.nbytes = call.bytes;
    handle[i] = wdl_gas_put_nb(team[i], &put, call.flags);
}

enum { LONG = 20000 }; /* three fit where a rank's are */

static void counts_draw(void)
{
    memset(count, 0, sizeof(count));
    for (int i = 0; i < r.n; i++)
        for (int j = 0; j < r.n && call.bytes < LONG; j++)
            count[i][j] = draw(8) ? 0 : (unsigned) draw(4);
    for (int i = 0; i < r.n && call.bytes == LONG; i++) {
        count[i][(i + 1) % r.n] += (unsigned) draw(3);
        count[i][(i + 2) % r.n] += (unsigned) draw(2);
    }
}

static void put(void)
{
    static const size_t bytes[] = {4, 200, LONG};
    size_t remote[RANKS_MAX] = {0};
    call.flags = draw_flags(WDL_COLL_LOCAL);
    call.gets = (int) draw(2);
    call.bytes = bytes[draw(3)];
    counts_draw();
    for (int i = 0; i < r.n; i++) {
        size_t own = 0;
        for (int j = 0; j < r.n; j++) {
            for (unsigned k = 0; k < count[i][j]; k++, own++) {
                char *mine = (call.gets ? dst : src)[i][0] + own * call.bytes;
                char *yours = (call.gets ? src : dst)[j][0] + remote[j]++ * call.bytes;
                nodes[i][own] = (uint32_t) j;
                here[i][own] = mine;
                there[i][own] = yours;
                memset(call.gets ? yours : mine, (int) (i * 5 + (int) own), call.bytes);
            }
        }
    }
    gasnet_all(put_start);
    for (int i = 0; i < r.n; i++) {
        size_t own = 0;
        for (int j = 0; j < r.n; j++)
            for (unsigned k = 0; k < count[i][j]; k++, own++)
                for (size_t b = 0; b < call.bytes; b++)
                    must_cmp(((char *) (call.gets ? here : there)[i][own])[b], ==,
                             (char) (i * 5 + (int) own));
    }
}

START_TEST(few_ranks)
{
    gasnet_few(put);
}
END_TEST

START_TEST(more_ranks_than_links)
{
    gasnet_many(put);
}
END_TEST

/* The basic forms: rank i with rank i + 1. */
static int gets;
static size_t nbytes = 40;

static void basic_start(int i)
{
    int up = (i + 1) % r.n, down = (i + r.n - 1) % r.n;
    uint32_t from = (uint32_t) down;
    struct wdl_gas_put one = {.gets = gets,
                              .node = (uint32_t) up,
                              .dst = gets ? dst[i][0] : dst[up][0],
                              .src = gets ? src[up][0] : src[i][0],
                              .partners = &from,
                              .partner_count = 1,
                              .nbytes = nbytes};
    handle[i] =
        wdl_gas_put_nb(team[i], &one, WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_MYSYNC | WDL_COLL_LOCAL);
}

static uint64_t settled(void)
{
    while (!wdl_sim_quiescent(r.sim))
        ranks_step(&r);
    for (int k = 0; k < 30 * r.n; k++)
        ranks_step(&r);
    return ranks_stats(&r).sent;
}

/* A put is one message, which takes its address along; a get is two. (Credit, up and down a tree,
 * comes now and then, and is counted by what is left.) */
START_TEST(a_put_is_one_message)
{
    enum { N = 6, ROUNDS = 20 };
    struct wdl_sim_params sim = {.seed = 2, .ranks = N, .ordered = 1, .am_bytes_max = 1024};
    for (gets = 0; gets < 2; gets++) {
        gasnet_open(&sim, 1);
        uint64_t sent = 0, least = UINT64_MAX;
        for (int round = 0; round < ROUNDS; round++) {
            uint64_t before = settled();
            for (int i = 0; i < N; i++)
                memset(src[i][0], round * 8 + i, 40);
            gasnet_all(basic_start);
            for (int i = 0; i < N; i++) {
                int from = gets ? (i + 1) % N : (i + N - 1) % N;
                must(memcmp(dst[i][0], src[from][0], 40) == 0);
            }
            sent = settled() - before;
            least = sent < least ? sent : least;
        }
        must_cmp(least, ==, N * (1 + gets));
        gasnet_close();
    }
}
END_TEST

/* Bytes copied through memory in between; moved from their places to their places. */
static uint64_t copied, placed;

static void moved_look(void)
{
    copied = placed = 0;
    for (int i = 0; i < r.n; i++) {
        const struct wdl_coll_stats *stats = wdl_coll_stats(r.one[i].proc);
        copied += stats->copied_bytes;
        placed += stats->placed_bytes;
    }
}

/* Long blocks: into a segment by the network's puts; within a node from memory to memory. */
START_TEST(what_is_long_goes_from_its_place_to_its_place)
{
    enum { N = 5, ADDRESS = 8, HEAD = 24 + 2 * ADDRESS };
    nbytes = LONG;
    for (uint64_t seed = 1; seed <= 2; seed++)
        for (gets = 0; gets < 2; gets++) {
            struct wdl_sim_params sim = {
                .seed = seed, .ranks = N, .no_map = 1, .am_bytes_max = 1024};
            gasnet_open(&sim, 1);
            for (int i = 0; i < N; i++) {
                while (seed == 2 && wdl_gas_segment(team[i], dst[i][0], LONG) == WDL_AGAIN)
                    ranks_step(&r);
                for (size_t b = 0; b < LONG; b++)
                    src[i][0][b] = (char) draw(256);
            }
            moved_look();
            uint64_t copied_before = copied, placed_before = placed;
            gasnet_all(basic_start);
            moved_look();
            for (int i = 0; i < N; i++) {
                int from = gets ? (i + 1) % N : (i + N - 1) % N;
                must(memcmp(dst[i][0], src[from][0], LONG) == 0);
            }
            must_cmp(placed - placed_before, >=, N * LONG); /* ... and addresses within a node */
            must_cmp(placed - placed_before, <=, N * (LONG + ADDRESS));
            must_cmp(copied - copied_before, <=, 2 * N * HEAD); /* in and out of a cell */
            gasnet_close();
        }
    nbytes = 40;
}
END_TEST

/* One has not begun: its partners wait, no other does. */
START_TEST(a_late_rank_delays_its_partners)
{
    enum { N = 8 };
    struct wdl_sim_params sim = {.seed = 2, .ranks = N, .ordered = 1, .am_bytes_max = 1024};
    for (gets = 0; gets < 2; gets++)
        for (int late = 0; late < N; late++) {
            enum wdl_gas_error error;
            gasnet_open(&sim, 1);
            for (int i = 0; i < N; i++)
                if (i != late)
                    basic_start(i);
            settled();
            for (int i = 0; i < N; i++) {
                int above = i == (late + 1) % N, below = i == (late + N - 1) % N;
                if (i == late)
                    continue;
                int done = wdl_gas_try_sync(handle[i], &error);
                must_cmp(done, ==, gets ? !above && !below : !above);
                if (done)
                    handle[i] = NULL;
            }
            basic_start(late);
            for (int i = 0; i < N; i++)
                while (handle[i] && !wdl_gas_try_sync(handle[i], &error))
                    ranks_step(&r);
            gasnet_close();
        }
}
END_TEST

START_TEST(what_is_asked_wrongly)
{
    struct wdl_sim_params sim = {.seed = 2, .ranks = 2, .am_bytes_max = 1024};
    uint32_t twice[] = {1, 1}, beyond[] = {2};
    struct wdl_gas_put good = {.node = 1, .dst = NULL, .src = NULL, .nbytes = 8}, calls[6];
    static const enum wdl_gas_error wanted[6] = {WDL_GAS_ERR_SIZE,  WDL_GAS_ERR_NODES,
                                                 WDL_GAS_ERR_NODES, WDL_GAS_ERR_NODES,
                                                 WDL_GAS_ERR_NODES, WDL_GAS_ERR_ADDRESSES};
    enum wdl_gas_error error;
    for (int k = 0; k < 6; k++)
        calls[k] = good;
    calls[0].nbytes = 0;
    calls[1].node = 2;
    calls[2].partners = twice;
    calls[2].partner_count = 2;
    calls[3].partners = beyond;
    calls[3].partner_count = 1;
    calls[4].partner_count = 1; /* no list: all, or none */
    for (int k = 0; k < 6; k++) {
        int sync = WDL_COLL_IN_MYSYNC | WDL_COLL_OUT_MYSYNC;
        gasnet_open(&sim, 1);
        for (int i = 0; i < 2; i++)
            handle[i] = wdl_gas_put_nb(team[i], &calls[k],
                                       sync | (k == 5 ? WDL_COLL_SINGLE : WDL_COLL_LOCAL));
        for (int i = 0; i < 2; i++) {
            while (!wdl_gas_try_sync(handle[i], &error))
                ranks_step(&r);
            must_cmp(error, ==, wanted[k]);
        }
        gasnet_close();
    }
}
END_TEST

WDL_SUITE("coll/gasnet_put", few_ranks, more_ranks_than_links, a_put_is_one_message,
          what_is_long_goes_from_its_place_to_its_place, a_late_rank_delays_its_partners,
          what_is_asked_wrongly)
