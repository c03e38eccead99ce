/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Scatter: down a tree and straight, by the graphs' rules alone; blocks that vary; messages and
 * bytes.
 */
#include <string.h>
#include "mpid/coll/graphs.h"
#include "mpid/coll/nodes.h"
#include "support/must.h"
#include "support/suite.h"

enum { MANY = 70 }; /* more ranks than links */
static const int sizes[] = {1, 2, 3, 5, 8, 13, 17, 40, MANY};
static const size_t lengths[] = {0, 4, 64, 65, 1100};
static uint64_t seed;

static void all(void (*build)(struct wdl_build *b), int tree)
{
    for (size_t p = 0; p < sizeof(sizes) / sizeof(sizes[0]); p++)
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
            for (int k = 0; k < 3; k++) {
                int n = sizes[p], root = k * (n - 1) / 2;
                size_t m = lengths[l];
                struct graphs g;
                graphs_open(&g, n, m * (size_t) n, ++seed);
                g.armed = k == 1;
                g.tree = tree;
                must(wdl_span_has_links(&g.one[0].team, tree, 0));
                graphs_run(&g, build,
                           &(struct wdl_coll_args){
                               .kind = WDL_COLL_SCATTER, .root = root, .bytes = m});
                for (int i = 0; i < n; i++)
                    must(memcmp(g.one[i].dst, g.one[root].src + (size_t) i * m, m) == 0);
                must_cmp(g.one[root].sent_bytes, ==, (size_t) (n - 1) * m);
                if (m > 0)
                    must_cmp(graphs_sent(&g), ==, n - 1);
                graphs_close(&g);
            }
}

START_TEST(down_trees)
{
    for (int tree = WDL_SPAN_OPTIMAL; tree < WDL_SPAN_FLAT; tree++)
        all(wdl_scatter_tree, tree);
}
END_TEST

START_TEST(straight)
{
    all(wdl_scatter_direct, WDL_SPAN_OPTIMAL);
}
END_TEST

/* Each rank its own length, some of none, side by side backwards. */
START_TEST(blocks_that_vary)
{
    enum { MOST = 700 };
    for (size_t p = 0; p < sizeof(sizes) / sizeof(sizes[0]); p++) {
        int n = sizes[p], root = n / 2;
        struct graphs g;
        graphs_open(&g, n, MOST * (size_t) n, ++seed);
        struct graphs_rank *r = &g.one[root];
        size_t at = 0, moved = 0, blocks = 0;
        for (int i = n - 1; i >= 0; i--) {
            r->lists[0][i] = (size_t) (i * 37 % 5) * (MOST / 5);
            r->lists[1][i] = at;
            at += r->lists[0][i];
            moved += i == root ? 0 : r->lists[0][i];
            blocks += i != root && r->lists[0][i] > 0;
        }
        for (int i = 0; i < n; i++)
            g.one[i].own = r->lists[0][i];
        graphs_run(&g, wdl_scatter_direct,
                   &(struct wdl_coll_args){.kind = WDL_COLL_SCATTER, .root = root, .variable = 1});
        for (int i = 0; i < n; i++)
            must(memcmp(g.one[i].dst, r->src + r->lists[1][i], r->lists[0][i]) == 0);
        must_cmp(r->sent_bytes, ==, moved);
        must_cmp(graphs_sent(&g), ==, blocks);
        graphs_close(&g);
    }
}
END_TEST

WDL_SUITE("coll/scatter", down_trees, straight, blocks_that_vary)
