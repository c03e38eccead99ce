/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What algorithms share: flags up, down and to all, by whom they wait; roles that do not meet;
 * places in the tree.
 */
#include <string.h>
#include "mpid/coll/graphs.h"
#include "support/must.h"
#include "support/suite.h"

static uint64_t seed;
static int root;

static void up(struct wdl_build *b)
{
    wdl_build_user(b, wdl_sync_up(b, WDL_PHASE_IN, root, WDL_CAR_NONE));
}

static void down(struct wdl_build *b)
{
    int come = wdl_sync_down(b, WDL_PHASE_OUT, root, WDL_CAR_NONE);
    wdl_build_user(b, come == WDL_CAR_NONE ? wdl_build_join(b) : come);
}

static void up_and_down(struct wdl_build *b)
{
    int come = wdl_sync_up(b, WDL_PHASE_OUT, root, WDL_CAR_NONE);
    wdl_build_user(b, wdl_sync_down(b, WDL_PHASE_OUT2, root, come));
}

static void to_all(struct wdl_build *b)
{
    wdl_build_user(b, wdl_sync_all(b, WDL_PHASE_IN, WDL_CAR_NONE));
}

static int subtree_has(const struct graphs *g, int head, int rank)
{
    struct wdl_build b;
    struct wdl_place place;
    wdl_build_begin(&b, (struct wdl_team *) &g->one[head].team, NULL);
    wdl_place_find(&b, root, head, 0, &place);
    return wdl_ring_distance(&b, head, rank) < place.node.size;
}

/* With each rank late in its turn: who goes on without it, as `waits` says, and how many flags. */
enum { SUBTREE, ABOVE, ALL };

static void each_late(void (*build)(struct wdl_build *b), int waits)
{
    for (int n = 1; n <= 20; n++)
        for (int late = 0; late < n; late++) {
            struct graphs g;
            root = (late * 7 + n / 3) % n;
            graphs_open(&g, n, 0, ++seed);
            g.late = late;
            graphs_run(&g, build, &(struct wdl_coll_args){.kind = WDL_COLL_BARRIER});
            for (int i = 0; i < n; i++) {
                int stays = i == late || waits == ALL ||
                            (waits == SUBTREE ? subtree_has(&g, i, late)
                                              : subtree_has(&g, late, i));
                must_cmp(g.one[i].done_early, ==, !stays);
            }
            must_cmp(graphs_sent(&g), ==, 0);
            if (build == to_all)
                must_cmp(graphs_flags(&g), ==, n * g.one[0].team.span.spread.steps);
            else
                must_cmp(graphs_flags(&g), ==, (n - 1) * (1 + (build == up_and_down)));
            graphs_close(&g);
        }
}

START_TEST(up_waits_for_the_subtree)
{
    each_late(up, SUBTREE);
}
END_TEST

START_TEST(down_waits_for_those_above)
{
    each_late(down, ABOVE);
}
END_TEST

START_TEST(up_and_down_waits_for_all)
{
    each_late(up_and_down, ALL);
}
END_TEST

START_TEST(to_all_waits_for_all)
{
    each_late(to_all, ALL);
}
END_TEST

/* No two phases, links or bare roles are one; those with a cell are below cell_roles. */
START_TEST(roles_do_not_meet)
{
    for (int n = 2; n <= 80; n += 13) {
        struct graphs g;
        struct wdl_build b;
        graphs_open(&g, n, 0, ++seed);
        struct wdl_team *team = &g.one[0].team;
        char used[4096] = {0};
        wdl_build_begin(&b, team, NULL);
        for (int phase = 0; phase < WDL_PHASE_COUNT; phase++)
            for (int link = 0; link < team->links; link++) {
                uint32_t role = wdl_role(&b, (enum wdl_phase) phase, link);
                must_cmp(role, <, team->cell_roles);
                must_cmp(role < team->data_roles, ==, phase <= WDL_PHASE_DATA2);
                must(!used[role]++);
            }
        for (int index = 0; index < 2 * n; index++)
            must(!used[wdl_role_bare(&b, index)]++);
        for (int d = 1; d < n; d++) {
            uint32_t role = wdl_role_ready(&b, WDL_PHASE_READY, d, d);
            must_cmp(role < team->cell_roles, ==, n < team->links);
            must_cmp(used[role], ==, n < team->links);
            must_cmp(role - team->cell_roles, <,
                     n < team->links ? UINT32_MAX : wdl_roles_bare_max(team));
        }
        graphs_close(&g);
    }
}
END_TEST

WDL_SUITE("coll/sync", up_waits_for_the_subtree, down_waits_for_those_above,
          up_and_down_waits_for_all, to_all_waits_for_all, roles_do_not_meet)
