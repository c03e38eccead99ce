/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Gather: up a tree and straight, by the graphs' rules alone; blocks that vary; messages and bytes.
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
                               .kind = WDL_COLL_GATHER, .root = root, .bytes = m});
                for (int i = 0; i < n; i++)
                    must(memcmp(g.one[root].dst + (size_t) i * m, g.one[i].src, m) == 0);
                must_cmp(g.one[root].got_bytes, ==, (size_t) (n - 1) * m);
                if (m > 0)
                    must_cmp(graphs_sent(&g), ==, n - 1);
                graphs_close(&g);
            }
}

START_TEST(up_trees)
{
    for (int tree = WDL_SPAN_OPTIMAL; tree < WDL_SPAN_FLAT; tree++)
        all(wdl_gather_tree, tree);
}
END_TEST

START_TEST(straight)
{
    all(wdl_gather_direct, WDL_SPAN_OPTIMAL);
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
            r->lists[2][i] = (size_t) (i * 37 % 5) * (MOST / 5);
            r->lists[3][i] = at;
            at += r->lists[2][i];
            moved += i == root ? 0 : r->lists[2][i];
            blocks += i != root && r->lists[2][i] > 0;
        }
        for (int i = 0; i < n; i++)
            g.one[i].own = r->lists[2][i];
        graphs_run(&g, wdl_gather_direct,
                   &(struct wdl_coll_args){.kind = WDL_COLL_GATHER, .root = root, .variable = 1});
        for (int i = 0; i < n; i++)
            must(memcmp(r->dst + r->lists[3][i], g.one[i].src, r->lists[2][i]) == 0);
        must_cmp(r->got_bytes, ==, moved);
        must_cmp(graphs_sent(&g), ==, blocks);
        graphs_close(&g);
    }
}
END_TEST

WDL_SUITE("coll/gather", up_trees, straight, blocks_that_vary)
