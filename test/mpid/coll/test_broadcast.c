/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Broadcast: down all trees and the other two ways, by the graphs' rules alone; messages and bytes,
 * exactly.
 */
#include <string.h>
#include "mpid/coll/graphs.h"
#include "mpid/coll/nodes.h"
#include "support/must.h"
#include "support/suite.h"

static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 11, 16, 17, 33, 40};
/* In a cell; just longer; in packets. */
static const size_t lengths[] = {0, 4, 64, 65, 512, 3000};
static uint64_t seed;

/* Messages there must be with n ranks; 0: not asked. */
static void all(void (*build)(struct wdl_build *b), int tree, size_t least, int divides,
                int alone)
{
    for (size_t p = 0; p < sizeof(sizes) / sizeof(sizes[0]); p++)
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
            int n = sizes[p];
            size_t bytes = lengths[l];
            if (bytes < least || (divides && bytes < (size_t) n) || (n == 1 && !alone))
                continue;
            for (int k = 0; k < 3; k++) {
                struct graphs g;
                int root = k * (n - 1) / 2;
                graphs_open(&g, n, bytes, ++seed);
                g.armed = k == 1;
                g.tree = tree;
                if (!wdl_span_has_links(&g.one[0].team, tree, 0)) {
                    graphs_close(&g);
                    continue;
                }
                graphs_run(&g, build,
                           &(struct wdl_coll_args){
                               .kind = WDL_COLL_BROADCAST, .root = root, .bytes = bytes});
                for (int i = 0; i < n; i++) {
                    must(memcmp(g.one[i].dst, g.one[root].src, bytes) == 0);
                    must_cmp(g.one[i].got_bytes, ==, i == root ? 0 : bytes);
                }
                if (build == wdl_broadcast_tree)
                    must_cmp(graphs_sent(&g) + graphs_flags(&g), ==,
                             (n - 1) *
                                 (1 + (bytes > (g.armed ? GRAPHS_PACKET : GRAPHS_CELL))));
                graphs_close(&g);
            }
        }
}

START_TEST(down_trees)
{
    for (int tree = 0; tree < WDL_SPAN_TREES; tree++)
        all(wdl_broadcast_tree, tree, 0, 0, 1);
}
END_TEST

START_TEST(scattered_and_gathered_round_a_ring)
{
    all(wdl_broadcast_scatter_ring, WDL_SPAN_OPTIMAL, 1, 1, 1);
}
END_TEST

START_TEST(in_blocks_on_a_circulant_graph)
{
    all(wdl_broadcast_circulant, WDL_SPAN_OPTIMAL, GRAPHS_CELL + 1, 0, 0);
}
END_TEST

WDL_SUITE("coll/broadcast", down_trees, scattered_and_gathered_round_a_ring,
          in_blocks_on_a_circulant_graph)
