/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Gather to all: by doubling and round a ring, by the graphs' rules alone; messages and bytes.
 */
#include <string.h>
#include "mpid/coll/graphs.h"
#include "support/must.h"
#include "support/suite.h"

static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17};
static const size_t lengths[] = {0, 4, 64, 65, 1100};
static uint64_t seed;

static void all(void (*build)(struct wdl_build *b), int armed)
{
    for (size_t p = 0; p < sizeof(sizes) / sizeof(sizes[0]); p++)
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
            int n = sizes[p];
            size_t m = lengths[l];
            struct graphs g;
            graphs_open(&g, n, m * (size_t) n, ++seed);
            g.armed = armed;
            graphs_run(&g, build, &(struct wdl_coll_args){.kind = WDL_COLL_GATHER_ALL, .bytes = m});
            for (int i = 0; i < n; i++) {
                for (int j = 0; j < n; j++)
                    must(memcmp(g.one[i].dst + (size_t) j * m, g.one[j].src, m) == 0);
                must_cmp(g.one[i].got_bytes, ==, (size_t) (n - 1) * m);
                if (m > 0)
                    must_cmp(g.one[i].sent, ==,
                             build == wdl_gather_all_bruck ? wdl_log2_up(n) : n - 1);
            }
            graphs_close(&g);
        }
}

START_TEST(by_doubling)
{
    all(wdl_gather_all_bruck, 0);
    all(wdl_gather_all_bruck, 1);
}
END_TEST

START_TEST(round_a_ring)
{
    all(wdl_gather_all_ring, 0);
    all(wdl_gather_all_ring, 1);
}
END_TEST

/* Everywhere elsewhere: the address in one ready flag would not do for all blocks. */
START_TEST(blocks_that_vary)
{
    enum { MOST = 700 };
    for (int n = 1; n <= 9; n++) {
        struct graphs g;
        graphs_open(&g, n, MOST * (size_t) n, ++seed);
        for (int i = 0; i < n; i++) {
            size_t at = 0;
            g.one[i].own = (size_t) (i * 37 % 5) * (MOST / 5);
            for (int k = 0; k < n; k++) {
                int j = (k + i) % n;
                g.one[i].lists[2][j] = (size_t) (j * 37 % 5) * (MOST / 5);
                g.one[i].lists[3][j] = at;
                at += g.one[i].lists[2][j];
            }
        }
        graphs_run(&g, wdl_gather_all_ring,
                   &(struct wdl_coll_args){.kind = WDL_COLL_GATHER_ALL, .variable = 1});
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                must(memcmp(g.one[i].dst + g.one[i].lists[3][j], g.one[j].src, g.one[j].own) == 0);
        graphs_close(&g);
    }
}
END_TEST

WDL_SUITE("coll/gather_all", by_doubling, round_a_ring, blocks_that_vary)
