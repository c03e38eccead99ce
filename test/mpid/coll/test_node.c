/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Collectives of one node that move data: on boards, staged, and fetched; blocks that vary; whom a
 * late rank delays; no message, ever. (Reductions: test_node_fold; scans: test_node_scan.)
 */
#include <string.h>
#include "mpid/coll/board.h"
#include "mpid/coll/onenode.h"
#include "support/must.h"
#include "support/suite.h"

static const size_t lengths[] = {0, 1, 8, 64, ONENODE_BOARD, ONENODE_BOARD + 1, ONENODE_LONG};
static struct onenode o;

/* fn(kind's arguments) with every way of sharing memory, number of ranks, length and root. */
static void everywhere(enum wdl_coll_kind kind, void (*look)(int root, size_t m), int rooted,
                       int blocks_shown)
{
    for (int way = 0; way < 3; way++)
        for (int n = 2; n <= ONENODE_MAX; n += way ? 3 : 1) {
            onenode_open(&o, n, way > 0, way > 1 ? 65536 : 0);
            for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
                for (int root = 0; root < (rooted ? n : 1); root++) {
                    size_t shown = lengths[l] * (size_t) (blocks_shown ? n : 1);
                    if (!way && shown > ONENODE_BOARD)
                        continue;
                    onenode_fill(&o);
                    onenode_all(&o, &(struct wdl_coll_args){
                                        .kind = kind, .root = root, .bytes = lengths[l]});
                    look(root, lengths[l]);
                }
            onenode_close(&o);
        }
}

static void broadcast_look(int root, size_t m)
{
    for (int i = 0; i < o.r.n; i++)
        must(memcmp(o.dst[i], o.kept[root], m) == 0);
}

static void scatter_look(int root, size_t m)
{
    for (int i = 0; i < o.r.n; i++)
        must(memcmp(o.dst[i], o.kept[root] + (size_t) i * m, m) == 0);
}

static void gather_look(int root, size_t m)
{
    for (int i = 0; i < o.r.n; i++)
        must(memcmp(o.dst[root] + (size_t) i * m, o.kept[i], m) == 0);
}

static void gather_all_look(int root, size_t m)
{
    for (root = 0; root < o.r.n; root++)
        gather_look(root, m);
}

static void exchange_look(int root, size_t m)
{
    (void) root;
    for (int i = 0; i < o.r.n; i++)
        for (int j = 0; j < o.r.n; j++)
            must(memcmp(o.dst[i] + (size_t) j * m, o.kept[j] + (size_t) i * m, m) == 0);
}

START_TEST(broadcast)
{
    everywhere(WDL_COLL_BROADCAST, broadcast_look, 1, 0);
}
END_TEST

START_TEST(scatter)
{
    everywhere(WDL_COLL_SCATTER, scatter_look, 1, 1);
}
END_TEST

START_TEST(gather)
{
    everywhere(WDL_COLL_GATHER, gather_look, 1, 0);
}
END_TEST

START_TEST(gather_all)
{
    everywhere(WDL_COLL_GATHER_ALL, gather_all_look, 0, 0);
}
END_TEST

START_TEST(exchange)
{
    everywhere(WDL_COLL_EXCHANGE, exchange_look, 0, 1);
}
END_TEST

/* Block lists of their own on every rank, some of nothing, the last first. */
static size_t length_of(int from, int to)
{
    static const size_t some[] = {0, 24, 700, ONENODE_LONG / 2, 4};
    return some[(3 * from + 5 * to) % 5];
}

static void vary(enum wdl_coll_kind kind)
{
    for (int i = 0; i < o.r.n; i++) {
        size_t from = 0, to = 0;
        for (int j = o.r.n - 1; j >= 0; j--) {
            size_t(*l)[ONENODE_MAX] = o.lists[i];
            int out = kind == WDL_COLL_SCATTER ? 0 : i, in = kind == WDL_COLL_SCATTER ? 0 : j;
            int out_to = kind == WDL_COLL_GATHER_ALL || kind == WDL_COLL_GATHER ? 0 : j;
            int in_to = kind == WDL_COLL_GATHER_ALL || kind == WDL_COLL_GATHER ? 0 : i;
            l[0][j] = length_of(out, out_to);
            l[1][j] = from;
            l[2][j] = length_of(in, in_to);
            l[3][j] = to;
            from += l[0][j];
            to += l[2][j];
        }
    }
}

START_TEST(blocks_that_vary)
{
    for (int n = 2; n <= ONENODE_MAX; n++) {
        onenode_open(&o, n, 1, n % 2 ? 65536 : 0);
        vary(WDL_COLL_EXCHANGE);
        onenode_fill(&o);
        onenode_all(&o, &(struct wdl_coll_args){.kind = WDL_COLL_EXCHANGE, .variable = 1});
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                must(memcmp(o.dst[i] + o.lists[i][3][j], o.kept[j] + o.lists[j][1][i],
                            length_of(j, i)) == 0);
        vary(WDL_COLL_GATHER_ALL);
        onenode_fill(&o);
        onenode_all(&o, &(struct wdl_coll_args){.kind = WDL_COLL_GATHER_ALL, .variable = 1});
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                must(memcmp(o.dst[i] + o.lists[i][3][j], o.kept[j], length_of(j, 0)) == 0);
        vary(WDL_COLL_GATHER);
        onenode_fill(&o);
        onenode_all(&o,
                    &(struct wdl_coll_args){.kind = WDL_COLL_GATHER, .root = n - 1, .variable = 1});
        for (int j = 0; j < n; j++)
            must(memcmp(o.dst[n - 1] + o.lists[n - 1][3][j], o.kept[j], length_of(j, 0)) == 0);
        vary(WDL_COLL_SCATTER);
        for (int i = 0; i < n; i++)
            o.lists[i][2][i] = length_of(0, i);
        onenode_fill(&o);
        onenode_all(
            &o, &(struct wdl_coll_args){.kind = WDL_COLL_SCATTER, .root = n / 2, .variable = 1});
        for (int i = 0; i < n; i++)
            must(memcmp(o.dst[i], o.kept[n / 2] + o.lists[n / 2][1][i], length_of(0, i)) == 0);
        onenode_close(&o);
    }
}
END_TEST

/* Of blocks that vary, those of a rank whose blocks fit a board behind the sheet are fetched by
 * nobody, and it waits for nobody. */
static void shown_blocks(size_t own, size_t others, uint64_t placed)
{
    enum { RANKS = 4 };
    onenode_open(&o, RANKS, 1, 0);
    for (int i = 0; i < RANKS; i++)
        for (int j = 0; j < RANKS; j++) {
            size_t out = i ? others : own, in = j ? others : own;
            o.lists[i][0][j] = out;
            o.lists[i][1][j] = (size_t) j * out;
            o.lists[i][2][j] = in;
            o.lists[i][3][j] = (size_t) (j > 0) * own + (size_t) (j > 0 ? j - 1 : 0) * others;
        }
    onenode_fill(&o);
    uint64_t before = ranks_stats(&o.r).placed_bytes;
    onenode_all(&o, &(struct wdl_coll_args){.kind = WDL_COLL_EXCHANGE, .variable = 1});
    must_cmp(ranks_stats(&o.r).placed_bytes - before, ==, placed);
    for (int i = 0; i < RANKS; i++)
        for (int j = 0; j < RANKS; j++)
            must(memcmp(o.dst[i] + o.lists[i][3][j], o.kept[j] + o.lists[j][1][i],
                        o.lists[j][0][i]) == 0);
    onenode_close(&o);
}

START_TEST(short_blocks_that_vary_are_shown)
{
    size_t room = ONENODE_BOARD - sizeof(struct wdl_sheet) - 4 * sizeof(struct wdl_sheet_block);
    shown_blocks(8, 24, 0);
    shown_blocks(room / 3, 0, 0);
    shown_blocks(room / 3 + 1, 24, 3 * (room / 3 + 1));
}
END_TEST

/* One has not come: who is done all the same. Of little data only who wants the late one's waits.
 */
START_TEST(whom_a_late_rank_delays)
{
    enum { N = 5, ROOT = 2 };
    static const enum wdl_coll_kind kinds[] = {WDL_COLL_BARRIER, WDL_COLL_BROADCAST,
                                               WDL_COLL_SCATTER, WDL_COLL_GATHER,
                                               WDL_COLL_GATHER_ALL};
    onenode_open(&o, N, 1, 65536);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (int late = 0; late < N; late++) {
            struct wdl_coll_args args = {.kind = kinds[k], .root = ROOT, .bytes = 8};
            onenode_fill(&o);
            for (int i = 0; i < N; i++)
                if (i != late)
                    onenode_begin(&o, i, &args);
            o.reqs[late].done = 0;
            onenode_settle(&o);
            for (int i = 0; i < N; i++) {
                int down = args.kind == WDL_COLL_BROADCAST || args.kind == WDL_COLL_SCATTER;
                int waits = args.kind == WDL_COLL_GATHER ? i == ROOT : !down || late == ROOT;
                must_cmp(o.reqs[i].done, ==, i != late && !waits);
            }
            onenode_begin(&o, late, &args);
            ranks_finish(&o.r, o.reqs, 1);
        }
    onenode_close(&o);
}
END_TEST

/* With OUT_NOSYNC who only gives is done at once, though what it gives fits nowhere and has not
 * been fetched; its number is taken until it has been. */
START_TEST(who_gives_waits_for_nobody)
{
    static const enum wdl_coll_kind kinds[] = {WDL_COLL_BROADCAST, WDL_COLL_SCATTER,
                                               WDL_COLL_GATHER, WDL_COLL_GATHER_ALL,
                                               WDL_COLL_EXCHANGE};
    static void (*const looks[])(int root, size_t m) = {broadcast_look, scatter_look, gather_look,
                                                        gather_all_look, exchange_look};
    for (int n = 2; n <= 4; n++)
        for (int late = 0; late < n; late++)
            for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
                struct wdl_coll_args args = {.kind = kinds[k],
                                             .flags = WDL_COLL_OUT_NOSYNC,
                                             .root = 1,
                                             .bytes = ONENODE_LONG};
                onenode_open(&o, n, 1, 0);
                onenode_fill(&o);
                for (int i = 0; i < n; i++)
                    if (i != late)
                        onenode_begin(&o, i, &args);
                o.reqs[late].done = 0;
                onenode_settle(&o);
                int from_root = args.kind <= WDL_COLL_SCATTER, to_root = args.kind == kinds[2];
                for (int i = 0; i < n; i++) {
                    int waits = from_root ? late == 1 : !to_root || i == 1;
                    must_cmp(o.reqs[i].done, ==, i != late && !waits);
                    if (!waits && late == (from_root ? 0 : 1) && i != late)
                        must_cmp(wdl_coll_stats(o.r.one[i].proc)->running, ==, to_root || i == 1);
                }
                uint64_t sent = ranks_sent(&o.r);
                onenode_begin(&o, late, &args);
                ranks_finish(&o.r, o.reqs, 1);
                looks[k](1, args.bytes);
                onenode_settle(&o);
                must_cmp(ranks_sent(&o.r), ==, sent);
                for (int i = 0; i < n; i++)
                    must_cmp(wdl_coll_stats(o.r.one[i].proc)->running, ==, 0);
                onenode_close(&o);
            }
}
END_TEST

/* Without leave to look at others' memory, what no board holds goes another way. */
START_TEST(where_it_does_not_apply)
{
    onenode_open(&o, 3, 0, 0);
    struct wdl_coll_args args = {.kind = WDL_COLL_BROADCAST,
                                 .flags = WDL_COLL_MPI,
                                 .src = o.src[0],
                                 .dst = o.dst[0],
                                 .bytes = ONENODE_BOARD + 1,
                                 .algorithm = "node"};
    must_cmp(wdl_coll_start(o.teams[0], &args, &o.reqs[0]), ==, WDL_ERR_ARG);
    onenode_close(&o);
}
END_TEST

WDL_SUITE("coll/node", broadcast, scatter, gather, gather_all, exchange, blocks_that_vary,
          short_blocks_that_vary_are_shown, whom_a_late_rank_delays,
          who_gives_waits_for_nobody, where_it_does_not_apply)
