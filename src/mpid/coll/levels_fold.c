/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Scan in two levels (levels.h), where the ranks of every node are consecutive: the heads scan what
 * their nodes' ranks give together, and each rank puts what its head has from the nodes below in
 * front of what it has folded itself in the meantime.
 */
#include <string.h>
#include "mpid/coll/levels.h"

/* Between the ranks of a node: until one sees what another has stored; a byte. */
static const double NEAR = 100, NEAR_BYTE = 0.1;

size_t wdl_levels_behind(size_t bytes)
{
    return (bytes + 63) & ~(size_t) 63;
}

/* The node's sum is passed on; the others' fold goes on meanwhile. */
double wdl_cost_levels_scan(const struct wdl_cost *c)
{
    struct wdl_cost between = wdl_cost_between(c);
    double others = c->team->nodes->most - 1, fold = c->m * (NEAR_BYTE + c->reduce);
    return others * (NEAR + fold) + wdl_cost_vector(&between) + NEAR + fold;
}

static int prefixed(struct wdl_run *run, struct wdl_car_run *c)
{
    wdl_levels_begin(run);
    return wdl_node_prefix(run, c);
}

/* The sum of the nodes below, on the head's board or in its memory. */
static int before_take(struct wdl_run *run, int head)
{
    const char *board = wdl_board_sheet(run, head) + wdl_levels_behind(run->args.bytes);
    if (run->status != WDL_OK)
        return run->status;
    if (wdl_node_on_board(run))
        return wdl_node_put_before(run, head, board);
    return wdl_node_put_before(
        run, head, wdl_node_sheet(run, head)->dst + wdl_levels_behind(run->args.bytes));
}

static int before_show(struct wdl_run *run, const char *before)
{
    size_t bytes = run->args.bytes, at = wdl_levels_behind(bytes);
    if (wdl_node_on_board(run) && bytes)
        memcpy(wdl_board_sheet(run, run->team->rank) + at, before, bytes);
    return wdl_node_post(run, WDL_BOARD_LAST);
}

/* The head's own result; where it leaves its own data out there is nothing but `before`. */
static int head_join(struct wdl_run *run, const char *before)
{
    const struct wdl_coll_args *a = &run->args;
    if (run->team->nodes->mine == 0 || run->status != WDL_OK)
        return wdl_node_apart_end(run);
    if (!(a->flags & WDL_COLL_EXCLUSIVE))
        (void) wdl_node_put_before(run, run->team->rank, before);
    else if (a->bytes)
        memcpy(a->dst, before, a->bytes);
    return wdl_node_apart_end(run);
}

/* Nobody's source is overwritten, and no head's memory given back, while others read it. */
static int joined(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    const char *before = wdl_run_at(run, car->a);
    int leads = wdl_levels_leads(run, c), below = run->team->nodes->mine > 0;
    wdl_levels_begin(run);
    if (leads && below)
        WDL_NODE_STEP(c, 0, before_show(run, before));
    if (!leads && below)
        WDL_NODE_STEP(c, 0, wdl_node_one(run, car->peer, WDL_BOARD_LAST, before_take));
    if (!leads && !wdl_node_on_board(run) && c->step < 2) {
        (void) wdl_node_post(run, WDL_BOARD_LAST);
        c->step = 2;
    }
    if (!wdl_node_on_board(run) && run->status == WDL_OK &&
        wdl_node_above(run, c, WDL_BOARD_LAST) == WDL_AGAIN)
        return WDL_AGAIN;
    return leads ? head_join(run, before) : wdl_node_apart_end(run);
}

/* Whatever the ranks want of their own, heads want what is below theirs. */
static void scan_between(struct wdl_build *b, struct wdl_loc total, struct wdl_loc before, int fold,
                         int join)
{
    const struct wdl_coll_args *args = b->args;
    struct wdl_coll_args below = *args;
    below.flags |= WDL_COLL_EXCLUSIVE;
    int first = b->ncars;
    wdl_levels_climb(b);
    b->args = &below;
    wdl_scan_doubling(b);
    b->args = args;
    wdl_levels_place(b, first, total, before, fold, join);
    wdl_build_flat(b);
}

void wdl_levels_scan(struct wdl_build *b)
{
    size_t behind = wdl_levels_behind(b->args->bytes);
    if (wdl_levels_alone(b)) {
        wdl_levels_climb(b);
        wdl_scan_doubling(b);
        wdl_build_flat(b);
        return;
    }
    wdl_levels_fold_room(b);
    struct wdl_loc total = wdl_nowhere(), before = wdl_nowhere();
    if (wdl_levels_is_head(b)) {
        total = wdl_tmp(wdl_build_tmp(b, 2 * behind));
        before = wdl_loc_at(total, behind);
    }
    int fold = wdl_levels_fold(b, total), prefix = wdl_levels_watch(b, prefixed, b->from, b->to);
    int join = wdl_levels_watch(b, joined, before, b->to);
    wdl_build_order(b, fold, prefix);
    wdl_build_order(b, prefix, join);
    if (wdl_levels_is_head(b))
        scan_between(b, total, before, fold, join);
}
