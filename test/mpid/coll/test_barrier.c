/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Barrier: nobody goes on before the last has come, whoever it is; flags, exactly.
 */
#include "mpid/coll/graphs.h"
#include "support/must.h"
#include "support/suite.h"

START_TEST(nobody_goes_on_before_the_last)
{
    uint64_t seed = 0;
    for (int n = 1; n <= 33; n++)
        for (int late = 0; late < n; late++) {
            struct graphs g;
            graphs_open(&g, n, 0, ++seed);
            g.late = late;
            graphs_run(&g, wdl_barrier_dissemination,
                       &(struct wdl_coll_args){.kind = WDL_COLL_BARRIER});
            for (int i = 0; i < n; i++) {
                must_cmp(g.one[i].done_early, ==, 0);
                must_cmp(g.one[i].flags, ==, g.one[0].team.span.spread.steps);
                must_cmp(g.one[i].sent, ==, 0);
            }
            graphs_close(&g);
        }
}
END_TEST

WDL_SUITE("coll/barrier", nobody_goes_on_before_the_last)
