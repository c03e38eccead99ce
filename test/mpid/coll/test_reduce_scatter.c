/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Reduce and scatter, by the graphs' rules alone: in order, blocks that vary, messages and bytes.
 */
#include <string.h>
#include "mpid/coll/graphs.h"
#include "support/must.h"
#include "support/suite.h"

enum { LONGEST = 600, RANKS_MAX = 9 };
static const size_t lengths[] = {0, 4, 64, 68, LONGEST};
static uint64_t seed;

static char wanted[RANKS_MAX][LONGEST]; /* by rank: its block of the fold of all */

static void want(const struct graphs *g, const struct wdl_coll_op *op, int rank, size_t at,
                 size_t bytes)
{
    if (bytes > 0)
        graphs_fold(g, op, 0, g->n - 1, at, bytes, wanted[rank]);
}

static void one(struct wdl_coll_op op, int n, size_t m, int armed, int in_place)
{
    struct graphs g;
    graphs_open(&g, n, m * (size_t) n, ++seed);
    g.armed = armed;
    g.in_place = in_place;
    for (int i = 0; i < n; i++)
        want(&g, &op, i, (size_t) i * m, m);
    graphs_run(&g, wdl_reduce_scatter_pairwise,
               &(struct wdl_coll_args){.kind = WDL_COLL_REDUCE_SCATTER, .bytes = m, .op = op});
    for (int i = 0; i < n; i++) {
        must(memcmp(graphs_result(&g, i), wanted[i], m) == 0);
        must_cmp(g.one[i].got_bytes, ==, (size_t) (n - 1) * m);
        must_cmp(g.one[i].sent, ==, m ? n - 1 : 0);
    }
    graphs_close(&g);
}

START_TEST(equal_blocks)
{
    for (int n = 1; n <= RANKS_MAX; n++)
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
            for (int way = 0; way < 4; way++) {
                one(graphs_sum(), n, lengths[l], way & 1, way >> 1);
                one(graphs_compose(), n, lengths[l], way & 1, way >> 1);
            }
}
END_TEST

START_TEST(blocks_that_vary)
{
    struct wdl_coll_op op = graphs_compose();
    for (int n = 1; n <= RANKS_MAX; n++) {
        struct graphs g;
        uint64_t sent = 0;
        graphs_open(&g, n, LONGEST * (size_t) n, ++seed);
        g.in_place = n % 2;
        for (int i = 0; i < n; i++) {
            size_t at = 0;
            for (int j = 0; j < n; j++) {
                g.one[i].lists[0][j] = (size_t) (j * 37 % 4) * (LONGEST / 4 & ~(size_t) 3);
                g.one[i].lists[1][j] = at;
                at += g.one[i].lists[0][j];
            }
            g.one[i].own = g.one[i].lists[0][i];
            want(&g, &op, i, g.one[i].lists[1][i], g.one[i].own);
            sent += g.one[i].own ? (uint64_t) (n - 1) : 0;
        }
        graphs_run(&g, wdl_reduce_scatter_pairwise,
                   &(struct wdl_coll_args){
                       .kind = WDL_COLL_REDUCE_SCATTER, .variable = 1, .op = op});
        for (int i = 0; i < n; i++)
            must(memcmp(graphs_result(&g, i), wanted[i], g.one[i].own) == 0);
        must_cmp(graphs_sent(&g), ==, sent);
        graphs_close(&g);
    }
}
END_TEST

WDL_SUITE("coll/reduce_scatter", equal_blocks, blocks_that_vary)
