/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Scan, and reduce and scatter, in two levels (levels.h), where the ranks of every node are
 * consecutive. Scan: the heads scan what their nodes' ranks give together, and each rank puts what
 * its head has from the nodes below in front of what it has folded itself in the meantime. Reduce
 * and scatter: the heads fold for each node the part of its ranks, who take their blocks from it.
 */
#include <string.h>
#include "base/copy.h"
#include "mpid/coll/levels.h"

size_t wdl_levels_behind(size_t bytes)
{
    return (bytes + 63) & ~(size_t) 63;
}

/* --- scan ------------------------------------------------------------------------------------- */

/* The node's sum is passed on; the others' fold goes on meanwhile. */
double wdl_cost_levels_scan(const struct wdl_cost *c)
{
    struct wdl_cost between = wdl_cost_between(c, c->m);
    double others = c->team->nodes->most - 1, folds = (others + 1) * c->m;
    return wdl_cost_within(others + 1, folds) + folds * c->reduce + wdl_cost_vector(&between);
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
    const char *sum = wdl_board_said(run, head, wdl_node_sheet(run, head)->dst);
    return sum ? wdl_node_put_before(run, head, sum + wdl_levels_behind(run->args.bytes))
               : WDL_ERR_TRUNCATE;
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

/* --- reduce and scatter ----------------------------------------------------------------------- */

/* The own block in the part of the node. */
static size_t place_in_part(const struct wdl_run *run)
{
    const struct wdl_coll_blocks *blocks = &run->args.src_blocks;
    return wdl_block_at(&run->args, blocks, run->team->rank) -
           wdl_block_at(&run->args, blocks, wdl_node_rank(run, 0));
}

/* On the head's board, or in its memory behind the fold of its node. */
static int block_take(struct wdl_run *run, int head)
{
    size_t at = place_in_part(run), bytes = run->args.bytes;
    int status = wdl_node_agrees(run, head);
    if (status != WDL_OK || run->status != WDL_OK)
        return status;
    if (wdl_node_on_board(run))
        return wdl_node_take(run, head, at, run->args.dst, bytes);
    return wdl_board_fetch_said(run, head, wdl_node_sheet(run, head)->dst,
                                wdl_levels_behind(run->shown) + at, run->args.dst, bytes);
}

static int part_show(struct wdl_run *run, const struct wdl_car *car)
{
    const char *part = wdl_run_at(run, car->a);
    if (run->args.bytes)
        wdl_copy(run->args.dst, part + place_in_part(run), run->args.bytes);
    return wdl_node_on_board(run) ? wdl_node_show(run, part, car->bytes)
                                  : wdl_node_post(run, WDL_BOARD_LAST);
}

static int dealt(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    wdl_levels_begin(run);
    enum wdl_place_on_board place = wdl_node_on_board(run) ? WDL_BOARD_DATA : WDL_BOARD_LAST;
    if (!wdl_levels_leads(run, c)) {
        WDL_NODE_STEP(c, 0, wdl_node_one(run, car->peer, place, block_take));
        return wdl_node_on_board(run) ? WDL_OK : wdl_node_post(run, WDL_BOARD_LAST);
    }
    WDL_NODE_STEP(c, 0, part_show(run, car));
    if (wdl_node_on_board(run) || run->status != WDL_OK) /* whose lengths differ may never post */
        return WDL_OK;
    return wdl_node_each(run, c, WDL_BOARD_LAST, NULL);
}

/* The vector in the nodes' parts. */
static void parts_find(const struct wdl_build *b, size_t *bytes, size_t *at)
{
    const struct wdl_nodes *nodes = b->team->nodes;
    const struct wdl_coll_blocks *blocks = &b->args->src_blocks;
    for (int node = 0; node < nodes->span.size; node++) {
        int last = nodes->first[node + 1] - 1; /* ranks are in order */
        at[node] = wdl_block_at(b->args, blocks, nodes->first[node]);
        bytes[node] = wdl_block_at(b->args, blocks, last) +
                      wdl_block_bytes(b->args, blocks, last) - at[node];
    }
}

/* Blocks of different sizes, one a node. */
static void scatter_between(struct wdl_build *b, const size_t *bytes, const size_t *at)
{
    const struct wdl_coll_args *args = b->args;
    struct wdl_coll_args parts = *args;
    parts.variable = 1;
    parts.src_blocks = (struct wdl_coll_blocks){bytes, at};
    parts.bytes = bytes[b->team->nodes->mine];
    wdl_levels_climb(b);
    b->args = &parts;
    wdl_reduce_scatter_pairwise(b);
    b->args = args;
    wdl_build_flat(b);
}

static void head_reduce_scatter(struct wdl_build *b, const size_t *bytes, const size_t *at)
{
    size_t all = wdl_levels_shown(b->team, b->args), behind = wdl_levels_behind(all);
    if (wdl_levels_alone(b)) {
        scatter_between(b, bytes, at);
        return;
    }
    struct wdl_loc sum = wdl_tmp(wdl_build_tmp(b, 2 * behind)), part = wdl_loc_at(sum, behind);
    int fold = wdl_levels_fold(b, sum), deal = wdl_levels_watch(b, dealt, part, b->to);
    if (deal != WDL_CAR_NONE)
        b->cars[deal].bytes = bytes[b->team->nodes->mine];
    wdl_build_order(b, fold, deal);
    int first = b->ncars;
    scatter_between(b, bytes, at);
    wdl_levels_place(b, first, sum, part, fold, deal);
}

void wdl_levels_reduce_scatter(struct wdl_build *b)
{
    struct wdl_store *store = &b->team->coll->store;
    size_t count = (size_t) b->team->nodes->span.size;
    wdl_levels_fold_room(b);
    if (!wdl_levels_is_head(b)) {
        int fold = wdl_levels_fold(b, wdl_nowhere());
        wdl_build_order(b, fold, wdl_levels_watch(b, dealt, wdl_nowhere(), b->to));
        return;
    }
    size_t *lists = wdl_store_make(store, 2 * count * sizeof(lists[0]));
    if (!lists) {
        b->status = WDL_ERR_NOMEM;
        return;
    }
    parts_find(b, lists, lists + count);
    head_reduce_scatter(b, lists, lists + count);
    wdl_store_put(store, lists);
}

double wdl_cost_levels_reduce_scatter(const struct wdl_cost *c)
{
    double most = c->team->nodes->most, folds = (most - 1) * c->m * c->p;
    struct wdl_cost between = wdl_cost_between(c, c->m * most);
    if (c->m * c->p > (double) c->team->params.board_bytes)
        folds /= most; /* all ranks of the node do a part */
    return wdl_cost_within(most, folds + c->m) + folds * c->reduce + wdl_cost_pairwise(&between);
}
