/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Reduce to all: every algorithm, in place and not, in order where the operator wants it, by the
 * graphs' rules alone; the same bits on all ranks; messages and bytes.
 */
#include <string.h>
#include "mpid/coll/graphs.h"
#include "support/must.h"
#include "support/suite.h"

enum { LONGEST = 1600 };
static const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 17, 19};
static const size_t lengths[] = {4, 64, 100, LONGEST};
static uint64_t seed;

static void one(void (*build)(struct wdl_build *b), struct wdl_coll_op op, int n, size_t bytes,
                struct graphs *g)
{
    char wanted[LONGEST];
    graphs_open(g, n, bytes, ++seed);
    g->armed = seed % 3 == 0;
    g->in_place = seed % 2 == 0;
    graphs_fold(g, &op, 0, n - 1, 0, bytes, wanted);
    graphs_run(g, build,
               &(struct wdl_coll_args){.kind = WDL_COLL_ALLREDUCE, .bytes = bytes, .op = op});
    for (int i = 0; i < n; i++)
        must(memcmp(graphs_result(g, i), wanted, bytes) == 0);
}

/* Messages a rank sends at most: rounds, and what those beyond a power of two need. */
static void all(void (*build)(struct wdl_build *b), struct wdl_coll_op op, int divides)
{
    for (size_t p = 0; p < sizeof(sizes) / sizeof(sizes[0]); p++)
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
            int n = sizes[p], halving = build == wdl_allreduce_halving;
            size_t bytes = lengths[l];
            struct graphs g;
            if (divides && bytes / op.elem_bytes < (size_t) n)
                continue;
            one(build, op, n, bytes, &g);
            for (int i = 0; i < n; i++) {
                if (build == wdl_allreduce_gathered || build == wdl_allreduce_census)
                    must_cmp(g.one[i].sent, ==, wdl_log2_up(n));
                else
                    must_cmp(g.one[i].sent, <=, (1 + halving) * wdl_log2_up(n) + 1);
            }
            if (halving && op.commutes) /* what there is to move, and no more */
                must_cmp(graphs_sent_bytes(&g), ==, 2 * (size_t) (n - 1) * bytes);
            if (build == wdl_allreduce_gathered)
                must_cmp(graphs_sent_bytes(&g), ==, (size_t) n * (size_t) (n - 1) * bytes);
            graphs_close(&g);
        }
}

START_TEST(gathered)
{
    all(wdl_allreduce_gathered, graphs_sum(), 0);
    all(wdl_allreduce_gathered, graphs_compose(), 0);
}
END_TEST

START_TEST(doubling)
{
    all(wdl_allreduce_doubling, graphs_sum(), 0);
    all(wdl_allreduce_doubling, graphs_compose(), 0);
}
END_TEST

START_TEST(census)
{
    all(wdl_allreduce_census, graphs_sum(), 0);
}
END_TEST

START_TEST(halving)
{
    all(wdl_allreduce_halving, graphs_sum(), 1);
    all(wdl_allreduce_halving, graphs_compose(), 1);
}
END_TEST

WDL_SUITE("coll/allreduce", gathered, doubling, census, halving)
