/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Exchange: Bruck's and pairwise, by the graphs' rules alone; blocks that vary; messages and bytes.
 */
#include <string.h>
#include "mpid/coll/graphs.h"
#include "support/must.h"
#include "support/suite.h"

static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 16};
static const size_t lengths[] = {0, 4, 64, 65, 600};
static uint64_t seed;

static void one(void (*build)(struct wdl_build *b), int n, size_t m, int armed)
{
    struct graphs g;
    graphs_open(&g, n, m * (size_t) n, ++seed);
    g.armed = armed;
    graphs_run(&g, build, &(struct wdl_coll_args){.kind = WDL_COLL_EXCHANGE, .bytes = m});
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            must(memcmp(g.one[i].dst + (size_t) j * m, g.one[j].src + (size_t) i * m, m) == 0);
        if (build == wdl_exchange_pairwise)
            must_cmp(g.one[i].got_bytes, ==, (size_t) (n - 1) * m);
        if (m > 0)
            must_cmp(g.one[i].sent, ==, build == wdl_exchange_bruck ? wdl_log2_up(n) : n - 1);
    }
    graphs_close(&g);
}

static void all(void (*build)(struct wdl_build *b))
{
    for (size_t p = 0; p < sizeof(sizes) / sizeof(sizes[0]); p++)
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
            one(build, sizes[p], lengths[l], 0);
            one(build, sizes[p], lengths[l], 1);
        }
}

START_TEST(by_bruck)
{
    all(wdl_exchange_bruck);
}
END_TEST

START_TEST(in_pairs)
{
    all(wdl_exchange_pairwise);
}
END_TEST

/* More ranks than a team has links; a message to each, of which no cell holds any. */
START_TEST(in_pairs_among_many)
{
    one(wdl_exchange_pairwise, 41, 4, 1);
    one(wdl_exchange_pairwise, 41, 600, 1);
}
END_TEST

/* Some of nothing, which nobody sends. */
START_TEST(blocks_that_vary)
{
    enum { MOST = 200 };
    for (int n = 1; n <= 9; n++) {
        struct graphs g;
        uint64_t sent = 0;
        graphs_open(&g, n, MOST * (size_t) n, ++seed);
        for (int i = 0; i < n; i++) {
            size_t from = 0, to = 0;
            for (int j = n - 1; j >= 0; j--) {
                size_t *const *l = g.one[i].lists;
                l[0][j] = (size_t) ((5 * i + 3 * j) % 4) * (MOST / 4);
                l[1][j] = from;
                from += l[0][j];
                sent += i != j && l[0][j] > 0;
            }
            for (int j = 0; j < n; j++) {
                size_t *const *l = g.one[i].lists;
                l[2][j] = (size_t) ((5 * j + 3 * i) % 4) * (MOST / 4);
                l[3][j] = to;
                to += l[2][j];
            }
        }
        graphs_run(&g, wdl_exchange_pairwise,
                   &(struct wdl_coll_args){.kind = WDL_COLL_EXCHANGE, .variable = 1});
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                must(memcmp(g.one[i].dst + g.one[i].lists[3][j],
                            g.one[j].src + g.one[j].lists[1][i], g.one[i].lists[2][j]) == 0);
        must_cmp(graphs_sent(&g), ==, sent);
        graphs_close(&g);
    }
}
END_TEST

WDL_SUITE("coll/exchange", by_bruck, in_pairs, in_pairs_among_many, blocks_that_vary)
