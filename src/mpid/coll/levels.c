/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Collectives in two levels, for teams of several nodes of which some have several ranks (nodes.h):
 * within a node by boards, as node.c does them, and between one rank of each node, its head, by the
 * algorithms of one level. The head is the node's lowest rank, or the root.
 *
 * A head's graph: a WATCH that hears from its node, what the algorithm builds between heads, a
 * WATCH that shows its node the result; the others' graphs are the other sides of these. A WATCH
 * has its node's head in `peer`, and `a` and `b` as other CARs have.
 */
#include "mpid/coll/cost.h"
#include "mpid/coll/node.h"

/* --- between heads ---------------------------------------------------------------------------- */

static int is_rooted(const struct wdl_build *b)
{
    return b->args && wdl_flow_of(b->args) != WDL_FLOW_ALL;
}

static int head_of(const struct wdl_build *b)
{
    const struct wdl_nodes *nodes = b->team->nodes;
    int root_here = is_rooted(b) && nodes->node_of[b->args->root] == nodes->mine;
    return root_here ? b->args->root : nodes->leader[nodes->mine];
}

/* From here on, until wdl_build_flat, the build is between the heads of the nodes. */
static void climb(struct wdl_build *b)
{
    const struct wdl_nodes *nodes = b->team->nodes;
    b->root = is_rooted(b) ? nodes->node_of[b->args->root] : 0;
    b->head = is_rooted(b) ? b->args->root : nodes->leader[0];
    b->rank = nodes->mine;
    b->size = nodes->span.size;
    b->span = &nodes->span;
    b->leader = nodes->leader;
}

/* Of the CARs `first` .. `last` - 1: those that send or fold go behind `before`; `after` goes
 * behind those that write the result. */
static void embed(struct wdl_build *b, int first, int last, int before, int after)
{
    for (int i = first; i < last; i++) {
        const struct wdl_car *car = &b->cars[i];
        int moves = car->kind == WDL_CAR_COPY || car->kind == WDL_CAR_REDUCE;
        if (moves || (car->kind == WDL_CAR_SEND && !car->offers))
            wdl_build_order(b, before, i);
        if (car->b.buf == b->to.buf && (moves || car->kind == WDL_CAR_RECV))
            wdl_build_order(b, i, after);
    }
}

static int prefers_parts(const struct wdl_build *b)
{
    struct wdl_cost cost = wdl_cost_of(b->team, b->args), between = wdl_cost_between(&cost);
    return wdl_cost_prefers_parts(&between);
}

/* --- a node's part ---------------------------------------------------------------------------- */

static int watch(struct wdl_build *b, wdl_watch_fn fn, struct wdl_loc from, struct wdl_loc to)
{
    int car = wdl_build_watch(b, fn, 0);
    if (car == WDL_CAR_NONE)
        return car;
    b->cars[car].peer = head_of(b);
    b->cars[car].a = from;
    b->cars[car].b = to;
    wdl_build_user(b, car);
    return car;
}

static int is_head(const struct wdl_run *run, const struct wdl_car_run *c)
{
    return wdl_car_of(c)->peer == run->team->rank;
}

static void begin(struct wdl_run *run)
{
    run->shown = wdl_node_shown(run->team, &run->args);
}

/* The head has heard from all; the others have spoken. */
static int gathered(struct wdl_run *run, struct wdl_car_run *c)
{
    begin(run);
    if (!is_head(run, c))
        return wdl_node_post(run, WDL_BOARD_DATA);
    return wdl_node_each(run, c, WDL_BOARD_DATA, NULL);
}

static int released(struct wdl_run *run, struct wdl_car_run *c)
{
    begin(run);
    if (is_head(run, c))
        return wdl_node_post(run, WDL_BOARD_DATA);
    return wdl_node_one(run, wdl_car_of(c)->peer, WDL_BOARD_DATA, NULL);
}

/* What the head has at `a` comes to all. */
static int spread(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    begin(run);
    if (!is_head(run, c)) {
        WDL_NODE_STEP(c, 0, wdl_node_one(run, car->peer, WDL_BOARD_DATA, wdl_node_take_all));
        return wdl_node_fetched(run);
    }
    WDL_NODE_STEP(c, 0, wdl_node_show(run, wdl_run_at(run, car->a), run->args.bytes));
    return wdl_node_on_board(run) ? WDL_OK : wdl_node_each(run, c, WDL_BOARD_DONE, NULL);
}

static int folded(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    begin(run);
    return wdl_node_fold(run, c, car->peer, wdl_run_at(run, car->b));
}

/* The result, which the head has where it was folded. */
static int fetch_result(struct wdl_run *run, int head)
{
    return wdl_board_fetch(run, head, wdl_node_sheet(run, head)->dst, run->args.dst,
                           run->args.bytes);
}

static int shared(struct wdl_run *run, struct wdl_car_run *c)
{
    int head = wdl_car_of(c)->peer;
    if (wdl_node_on_board(run))
        return spread(run, c);
    if (!is_head(run, c)) {
        if (run->status == WDL_OK)
            WDL_NODE_STEP(c, 0, wdl_node_one(run, head, WDL_BOARD_LAST, fetch_result));
        return wdl_node_post(run, WDL_BOARD_LAST);
    }
    WDL_NODE_STEP(c, 0, wdl_node_post(run, WDL_BOARD_LAST));
    /* whose lengths differ may never post */
    return run->status == WDL_OK ? wdl_node_each(run, c, WDL_BOARD_LAST, NULL) : WDL_OK;
}

/* --- the collectives -------------------------------------------------------------------------- */

/* A node without others than its head needs nothing within. */
static int is_alone(const struct wdl_build *b)
{
    return b->team->nodes->size == 1;
}

static int is_head_here(const struct wdl_build *b)
{
    return head_of(b) == b->team->rank;
}

void wdl_levels_barrier(struct wdl_build *b)
{
    int up = is_alone(b) ? WDL_CAR_NONE : watch(b, gathered, wdl_nowhere(), wdl_nowhere());
    if (is_head_here(b)) {
        climb(b);
        up = wdl_sync_all(b, WDL_PHASE_IN, up);
        wdl_build_flat(b);
        wdl_build_user(b, up);
    }
    if (!is_alone(b))
        wdl_build_order(b, up, watch(b, released, wdl_nowhere(), wdl_nowhere()));
}

void wdl_levels_broadcast(struct wdl_build *b)
{
    int show = WDL_CAR_NONE, first, is_root = b->rank == b->args->root;
    if (!is_alone(b))
        show = is_head_here(b) ? watch(b, spread, is_root ? b->from : b->to, wdl_nowhere())
                               : watch(b, spread, wdl_nowhere(), b->to);
    if (!is_head_here(b))
        return;
    climb(b);
    first = b->ncars;
    if (prefers_parts(b))
        wdl_broadcast_scatter_ring(b);
    else
        wdl_broadcast_tree(b);
    embed(b, first, b->ncars, WDL_CAR_NONE, is_root ? WDL_CAR_NONE : show);
    wdl_build_flat(b);
}

/* Parts of long data are folded in memory that the run has first of all. */
static void fold_room(struct wdl_build *b)
{
    if (!is_alone(b) && wdl_node_shown(b->team, b->args) > b->team->params.board_bytes)
        (void) wdl_build_tmp(b, wdl_node_fold_room(b->args));
}

void wdl_levels_reduce(struct wdl_build *b)
{
    int fold = WDL_CAR_NONE, first, is_root = b->rank == b->args->root;
    struct wdl_loc from = b->from;
    fold_room(b);
    if (!is_alone(b)) {
        if (is_head_here(b))
            from = is_root ? b->to : wdl_tmp(wdl_build_tmp(b, b->args->bytes));
        else
            from = wdl_nowhere();
        fold = watch(b, folded, b->from, from);
    }
    if (!is_head_here(b))
        return;
    climb(b);
    b->from = from;
    first = b->ncars;
    wdl_reduce_tree(b);
    embed(b, first, b->ncars, fold, WDL_CAR_NONE);
    wdl_build_flat(b);
}

void wdl_levels_allreduce(struct wdl_build *b)
{
    int fold = WDL_CAR_NONE, share = WDL_CAR_NONE, first;
    fold_room(b);
    if (!is_alone(b)) {
        fold = watch(b, folded, b->from, is_head_here(b) ? b->to : wdl_nowhere());
        share = watch(b, shared, is_head_here(b) ? b->to : wdl_nowhere(), b->to);
        wdl_build_order(b, fold, share);
    }
    if (!is_head_here(b))
        return;
    climb(b);
    if (!is_alone(b))
        b->from = b->to;
    first = b->ncars;
    if (prefers_parts(b))
        wdl_allreduce_halving(b);
    else
        wdl_allreduce_doubling(b);
    embed(b, first, b->ncars, fold, share);
    wdl_build_flat(b);
}
