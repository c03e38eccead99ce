/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Steps on a circulant graph: every block reaches every rank once, from one that has it; what goes
 * out in a step comes in there in the same.
 */
#include <string.h>
#include "mpid/coll/circulant.h"
#include "mpid/coll/graphs.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS_MAX = 70 };

static void walk(struct graphs *g, const struct wdl_coll_args *args)
{
    static char has[RANKS_MAX][WDL_CIRCULANT_BLOCKS_MAX];
    static struct wdl_build b[RANKS_MAX];
    static struct wdl_circulant c[RANKS_MAX];
    memset(has, 0, sizeof(has));
    for (int i = 0; i < g->n; i++) {
        wdl_build_begin(&b[i], &g->one[i].team, args);
        wdl_circulant_find(&b[i], &c[i]);
        must_cmp(c[i].steps, ==, c[0].steps);
        must_cmp(c[i].blocks, ==, c[0].blocks);
        must(c[i].blocks > 0 && c[i].blocks <= WDL_CIRCULANT_BLOCKS_MAX);
        must_cmp(wdl_circulant_at(&b[i], &c[i], 0), ==, 0);
        must_cmp(wdl_circulant_at(&b[i], &c[i], c[i].blocks), ==, args->bytes);
    }
    memset(has[args->root], 1, sizeof(has[0]));
    for (int step = 0; step < c[0].steps; step++) {
        int in = 0, out = 0;
        for (int i = 0; i < g->n; i++) {
            struct wdl_circulant_step s = wdl_circulant_step(&b[i], &c[i], step), there;
            in += s.in >= 0;
            if (s.out < 0)
                continue;
            out++;
            must_cmp(has[i][s.out], ==, 1); /* not 2: in this very step */
            there = wdl_circulant_step(&b[s.to], &c[s.to], step);
            must_cmp(there.in, ==, s.out);
            must_cmp(there.from, ==, i);
            must_cmp(has[s.to][s.out], ==, 0);
            has[s.to][s.out] = 2;
        }
        must_cmp(in, ==, out);
        for (int i = 0; i < g->n; i++)
            for (int k = 0; k < c[0].blocks; k++)
                has[i][k] = has[i][k] ? 1 : 0;
    }
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < c[0].blocks; k++)
            must_cmp(has[i][k], ==, 1);
}

/* The first step of a kind is the first of all that have a block, and none is overlooked. */
static void firsts(struct graphs *g, const struct wdl_coll_args *args)
{
    for (int i = 0; i < g->n; i++) {
        struct wdl_build b;
        struct wdl_circulant c;
        struct wdl_circulant_step s, first;
        wdl_build_begin(&b, &g->one[i].team, args);
        wdl_circulant_find(&b, &c);
        for (int k = 0; k < c.pattern.rounds; k++)
            for (int way = 0; way < 2; way++) {
                int found = 0;
                for (int step = k; step < c.steps && !found; step += c.pattern.rounds) {
                    s = wdl_circulant_step(&b, &c, step);
                    found = (way == WDL_CIRCULANT_IN ? s.in : s.out) >= 0;
                }
                must_cmp(wdl_circulant_first(&b, &c, k, (enum wdl_circulant_way) way, &first), ==,
                         found);
                if (found)
                    must(first.kind == s.kind && first.out == s.out && first.in == s.in);
            }
    }
}

START_TEST(every_block_reaches_every_rank_once)
{
    static const size_t lengths[] = {100, 5000, 100000};
    for (int n = 2; n <= RANKS_MAX; n++)
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
            struct wdl_coll_args args = {
                .kind = WDL_COLL_BROADCAST, .root = n * 2 / 3, .bytes = lengths[l]};
            struct graphs g;
            graphs_open(&g, n, 0, 1);
            walk(&g, &args);
            firsts(&g, &args);
            graphs_close(&g);
        }
}
END_TEST

/* Blocks of a vector are whole elements. */
START_TEST(elements_are_not_cut)
{
    for (int n = 2; n <= 20; n++) {
        struct wdl_coll_args args = {.kind = WDL_COLL_REDUCE, .bytes = 12 * 1001};
        struct wdl_build b;
        struct wdl_circulant c;
        struct graphs g;
        args.op = graphs_sum();
        args.op.elem_bytes = 12;
        graphs_open(&g, n, 0, 1);
        wdl_build_begin(&b, &g.one[0].team, &args);
        wdl_circulant_find(&b, &c);
        for (int k = 0; k <= c.blocks; k++) {
            must_cmp(wdl_circulant_at(&b, &c, k) % 12, ==, 0);
            if (k > 0)
                must_cmp(wdl_circulant_at(&b, &c, k), >, wdl_circulant_at(&b, &c, k - 1));
        }
        graphs_close(&g);
    }
}
END_TEST

WDL_SUITE("coll/circulant", every_block_reaches_every_rank_once, elements_are_not_cut)
