/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Reduce: up all trees, in order where the operator wants it, and in blocks, by the graphs' rules
 * alone; messages and bytes.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/graphs.h"
#include "mpid/coll/nodes.h"
#include "support/must.h"
#include "support/suite.h"

enum { LONGEST = 3000 };
static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 13, 17, 33, 40};
static const size_t lengths[] = {4, 64, 68, 600, LONGEST};
static uint64_t seed;

static void one(void (*build)(struct wdl_build *b), int tree, struct wdl_coll_op op, int n,
                int root, size_t bytes)
{
    char wanted[LONGEST];
    struct graphs g;
    graphs_open(&g, n, bytes, ++seed);
    g.tree = tree;
    if (!wdl_span_has_links(&g.one[0].team, tree, !op.commutes)) {
        graphs_close(&g);
        return;
    }
    g.armed = seed % 3 == 0;
    g.in_place = seed % 2 == 0;
    graphs_fold(&g, &op, 0, n - 1, 0, bytes, wanted);
    char *kept = memcpy(malloc(bytes), g.one[root].src, bytes);
    graphs_run(&g, build,
               &(struct wdl_coll_args){
                   .kind = WDL_COLL_REDUCE, .root = root, .bytes = bytes, .op = op});
    must(memcmp(graphs_result(&g, root), wanted, bytes) == 0);
    must(g.in_place || memcmp(g.one[root].src, kept, bytes) == 0);
    free(kept);
    must_cmp(graphs_sent_bytes(&g), ==, (size_t) (n - 1) * bytes);
    if (build == wdl_reduce_tree)
        must_cmp(graphs_sent(&g), ==, n - 1);
    graphs_close(&g);
}

static void all(void (*build)(struct wdl_build *b), int tree, struct wdl_coll_op op, size_t least)
{
    for (size_t p = 0; p < sizeof(sizes) / sizeof(sizes[0]); p++)
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
            for (int k = 0; k < 3; k++)
                if (lengths[l] >= least && (sizes[p] > 1 || !least))
                    one(build, tree, op, sizes[p], k * (sizes[p] - 1) / 2, lengths[l]);
}

START_TEST(up_trees)
{
    for (int tree = 0; tree < WDL_SPAN_TREES; tree++)
        all(wdl_reduce_tree, tree, graphs_sum(), 0);
}
END_TEST

START_TEST(up_trees_in_order)
{
    for (int tree = 0; tree < WDL_SPAN_TREES; tree++)
        all(wdl_reduce_tree, tree, graphs_compose(), 0);
}
END_TEST

START_TEST(in_blocks_on_a_circulant_graph)
{
    all(wdl_reduce_circulant, WDL_SPAN_OPTIMAL, graphs_sum(), GRAPHS_PACKET / 2);
}
END_TEST

WDL_SUITE("coll/reduce", up_trees, up_trees_in_order, in_blocks_on_a_circulant_graph)
