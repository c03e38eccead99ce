/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * put and get with partner lists: blocks between any nodes in random worlds; messages between
 * partners alone; whom a late one delays; what is asked wrongly. Seed 000's collectives with a list
 * of blocks a call, as gasnet_coll.h says they are done.
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

/* --- lists of blocks that the call gives, none on some nodes --- */

enum { BROADCAST, SCATTER, GATHER, GATHER_ALL, EXCHANGE, FORMS };
enum { BLOCK = 12, APART = 400, HELD_MAX = 3, BLOCKS_MAX = 33 };

static struct lists {
    int form, root, flags;
    size_t held[RANKS_MAX], first[RANKS_MAX + 1]; /* a node's blocks, from number first[] on */
} lists;
static size_t bytes_of[RANKS_MAX][RANKS_MAX], come[RANKS_MAX][RANKS_MAX], at_of[RANKS_MAX];

static int holder(size_t block)
{
    int node = 0;
    while (lists.first[node + 1] <= block)
        node++;
    return node;
}

/* Where block number `block` is said to be: places of their own, or (v) one behind the other. */
static char *place(char *memory[][IMAGES_MAX], size_t block, size_t each)
{
    int node = holder(block);
    return memory[node][0] + (block - lists.first[node]) * each;
}

static char value(size_t from, size_t to)
{
    return (char) (1 + from * 7 + to * 3);
}

/* What holder(from) has for block `to`, and where `to` gets it; `each`: what a block's memory is
 * apart from the next one's. */
static char *source(size_t from, size_t to, size_t each)
{
    int f = lists.form;
    if (f == BROADCAST || f == SCATTER)
        return src[lists.root][0] + (f == SCATTER ? to * BLOCK : 0);
    return place(src, from, each) + (f == EXCHANGE ? to * BLOCK : 0);
}

static char *target(size_t from, size_t to, size_t each)
{
    int f = lists.form;
    if (f == GATHER)
        return dst[lists.root][0] + from * BLOCK;
    return place(dst, to, each) + (f == GATHER_ALL || f == EXCHANGE ? from * BLOCK : 0);
}

/* One `from` where the root has it all, one `to` where it gets it all. */
static size_t froms(void)
{
    return lists.form == BROADCAST || lists.form == SCATTER ? 1 : lists.first[r.n];
}

static size_t tos(void)
{
    return lists.form == GATHER ? 1 : lists.first[r.n];
}

static int giver(size_t from)
{
    return lists.form == BROADCAST || lists.form == SCATTER ? lists.root : holder(from);
}

static int getter(size_t to)
{
    return lists.form == GATHER ? lists.root : holder(to);
}

static void lists_fill(size_t each)
{
    for (int i = 0; i < r.n; i++)
        memset(dst[i][0], 0, ROOM);
    for (size_t a = 0; a < froms(); a++)
        for (size_t b = 0; b < tos(); b++)
            memset(source(a, b, each), value(a, lists.form % 2 || lists.form == EXCHANGE ? b : 0),
                   BLOCK);
}

static void lists_check(size_t each)
{
    for (size_t a = 0; a < froms(); a++)
        for (size_t b = 0; b < tos(); b++)
            for (size_t k = 0; k < BLOCK; k++)
                must_cmp(target(a, b, each)[k], ==, source(a, b, each)[k]);
}

static void list_put_start(int i)
{
    static uint32_t to_node[RANKS_MAX][BLOCKS_MAX * BLOCKS_MAX];
    static void *to[RANKS_MAX][BLOCKS_MAX * BLOCKS_MAX], *from[RANKS_MAX][BLOCKS_MAX * BLOCKS_MAX];
    struct wdl_gas_put put = {.many = 1, .nodes = to_node[i], .partners = partners[i]};
    put.dst_list = to[i];
    put.src_list = from[i];
    put.nbytes = BLOCK;
    int comes[RANKS_MAX] = {0};
    for (size_t a = 0; a < froms(); a++)
        for (size_t b = 0; b < tos(); b++) {
            if (getter(b) == i && !comes[giver(a)]) {
                comes[giver(a)] = 1;
                partners[i][put.partner_count++] = (uint32_t) giver(a);
            }
            if (giver(a) != i)
                continue;
            to_node[i][put.count] = (uint32_t) getter(b);
            to[i][put.count] = target(a, b, APART);
            from[i][put.count++] = source(a, b, APART);
        }
    handle[i] = wdl_gas_put_nb(team[i], &put, lists.flags);
}

/* What is in one place stays there: an exchange's blocks of one node for another are one. */
static void list_vary_start(int i)
{
    struct wdl_gas_team *t = team[i];
    size_t root = first[lists.root];
    char *s = src[i][0], *d = dst[i][0];
    for (int k = 0; k < r.n; k++) {
        int alone = lists.form == GATHER_ALL && (lists.flags & WDL_COLL_LOCAL) && k != i;
        size_t blocks = lists.form == BROADCAST  ? lists.held[k] > 0
                        : lists.form == EXCHANGE ? lists.held[i] * lists.held[k]
                                                 : lists.held[k];
        bytes_of[i][k] = alone ? 0 : blocks * BLOCK;
        come[i][k] = lists.flags & WDL_COLL_LOCAL ? 0 : bytes_of[i][k];
    }
    switch (lists.form) {
    case BROADCAST: /* all sizes' source is one */
        memset(at_of, 0, sizeof(at_of));
        handle[i] = wdl_gas_scatterv_nb(t, d, root, s, at_of, bytes_of[i], lists.flags);
        break;
    case SCATTER:
        handle[i] = wdl_gas_scatterv_nb(t, d, root, s, NULL, bytes_of[i], lists.flags);
        break;
    case GATHER:
        handle[i] = wdl_gas_gatherv_nb(t, root, d, NULL, s, bytes_of[i], lists.flags);
        break;
    case GATHER_ALL:
        handle[i] = wdl_gas_gather_allv_nb(t, d, NULL, s, bytes_of[i], lists.flags);
        break;
    default:
        handle[i] = wdl_gas_exchangev_nb(t, d, NULL, come[i], s, NULL, bytes_of[i], lists.flags);
    }
}

static void vary_check(void)
{
    size_t all = lists.first[r.n] * BLOCK;
    for (int i = 0; i < r.n; i++) {
        size_t held = lists.held[i] * BLOCK, at = lists.first[i] * BLOCK;
        const char *got = dst[i][0], *root = src[lists.root][0];
        if (lists.form == BROADCAST)
            must(!held || !memcmp(got, root, BLOCK));
        else if (lists.form == SCATTER)
            must(!memcmp(got, root + at, held));
        else if (lists.form == GATHER)
            must(!memcmp(dst[lists.root][0] + at, src[i][0], held));
        for (int k = 0; k < r.n && lists.form == GATHER_ALL; k++)
            must(!memcmp(dst[k][0] + at, src[i][0], held));
        for (int k = 0; k < r.n && lists.form == EXCHANGE; k++) {
            size_t both = held * lists.held[k];
            must(!memcmp(dst[k][0] + at * lists.held[k], src[i][0] + lists.first[k] * held, both));
        }
        size_t mine = lists.form == BROADCAST    ? BLOCK * (held > 0)
                      : lists.form == SCATTER    ? held
                      : lists.form == GATHER_ALL ? all
                      : lists.form == EXCHANGE   ? all * lists.held[i]
                      : i == lists.root          ? all
                                                 : 0;
        must_cmp(got[mine], ==, 0); /* and nothing behind it */
    }
}

static void blocks_of_a_call(void)
{
    for (lists.form = 0; lists.form < FORMS; lists.form++) {
        size_t most = r.n > 10 ? 2 : HELD_MAX;
        lists.root = (int) draw((size_t) r.n);
        for (int i = 0; i < r.n; i++) {
            lists.held[i] = draw(most + 1) % most; /* none are the most frequent */
            lists.first[i + 1] = lists.first[i] + lists.held[i];
        }
        lists.flags = draw_flags(WDL_COLL_LOCAL);
        lists_fill(APART);
        gasnet_all(list_put_start);
        lists_check(APART);
        for (int k = 0; k < 2; k++) {
            lists.flags = draw_flags(k ? WDL_COLL_SINGLE : WDL_COLL_LOCAL);
            for (int i = 0; i < r.n; i++) {
                memset(dst[i][0], 0, ROOM);
                for (size_t b = 0; b < ROOM; b++)
                    src[i][0][b] = (char) (1 + draw(100));
            }
            gasnet_all(list_vary_start);
            vary_check();
        }
    }
}

START_TEST(blocks_that_a_call_lists)
{
    gasnet_few(blocks_of_a_call);
    gasnet_many(blocks_of_a_call);
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
          blocks_that_a_call_lists, what_is_asked_wrongly)
