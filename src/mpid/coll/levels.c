/* Part of Windlass. See COPYRIGHT in the top-level directory. Barrier, broadcast, reduce and
 * allreduce in two levels (levels.h). */
#include "mpid/coll/levels.h"

/* --- between heads ---------------------------------------------------------------------------- */

static int is_rooted(const struct wdl_build *b)
{
    return b->args && wdl_flow_of(b->args) != WDL_FLOW_ALL;
}

int wdl_levels_head(const struct wdl_build *b)
{
    const struct wdl_nodes *nodes = b->team->nodes;
    int root_here = is_rooted(b) && nodes->node_of[b->args->root] == nodes->mine;
    return root_here ? b->args->root : nodes->leader[nodes->mine];
}

void wdl_levels_climb(struct wdl_build *b)
{
    const struct wdl_nodes *nodes = b->team->nodes;
    b->root = is_rooted(b) ? nodes->node_of[b->args->root] : 0;
    b->head = is_rooted(b) ? b->args->root : nodes->leader[0];
    b->rank = nodes->mine;
    b->size = nodes->span.size;
    b->span = &nodes->span;
    b->leader = nodes->leader;
}

void wdl_levels_embed(struct wdl_build *b, int first, int last, int before, int after)
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

void wdl_levels_place(struct wdl_build *b, int first, struct wdl_loc from, struct wdl_loc to,
                      int before, int after)
{
    for (int i = first, last = b->ncars; i < last; i++) {
        struct wdl_car *car = &b->cars[i];
        if (car->a.buf == WDL_BUF_SRC) {
            car->a = wdl_loc_at(from, car->a.at);
            wdl_build_order(b, before, i);
        } else if (car->a.buf == WDL_BUF_DST) {
            car->a = wdl_loc_at(to, car->a.at);
        }
        if (car->b.buf == WDL_BUF_DST) {
            car->b = wdl_loc_at(to, car->b.at);
            wdl_build_order(b, i, after);
        }
        if (car->offered.buf == WDL_BUF_DST)
            car->offered = wdl_loc_at(to, car->offered.at);
    }
}

static int prefers_parts(const struct wdl_build *b)
{
    struct wdl_cost between = wdl_cost_of_build(b);
    return wdl_cost_prefers_parts(&between);
}

/* --- a node's part ---------------------------------------------------------------------------- */

int wdl_levels_watch(struct wdl_build *b, wdl_watch_fn fn, struct wdl_loc from, struct wdl_loc to)
{
    int car = wdl_build_watch(b, fn, 0);
    if (car == WDL_CAR_NONE)
        return car;
    b->cars[car].peer = wdl_levels_head(b);
    b->cars[car].a = from;
    b->cars[car].b = to;
    /* an operator's context is the caller's again when the request is done */
    if (wdl_coll_reduces(b->args->kind))
        wdl_build_user(b, car);
    return car;
}

size_t wdl_levels_shown(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    size_t most = (size_t) team->nodes->most, all = (size_t) team->size * args->bytes;
    switch (args->kind) {
    case WDL_COLL_SCAN:
        return 2 * wdl_levels_behind(args->bytes);
    case WDL_COLL_SCATTER:
        return most * args->bytes;
    case WDL_COLL_EXCHANGE:
        return (1 + most) * all;
    default:
        return wdl_node_shown(team, args);
    }
}

int wdl_levels_take(struct wdl_run *run, struct wdl_car_run *c,
                    int (*take)(struct wdl_run *run, int head))
{
    WDL_NODE_STEP(c, 0, wdl_node_one(run, wdl_car_of(c)->peer, WDL_BOARD_DATA, take));
    return wdl_node_fetched(run);
}

int wdl_levels_keep(struct wdl_run *run, struct wdl_car_run *c)
{
    return wdl_node_on_board(run) ? WDL_OK : wdl_node_each(run, c, WDL_BOARD_DONE, NULL);
}

/* What the head has at `a` comes to all. */
static int spread(struct wdl_run *run, struct wdl_car_run *c)
{
    wdl_levels_begin(run);
    if (!wdl_levels_leads(run, c))
        return wdl_levels_take(run, c, wdl_node_take_all);
    WDL_NODE_STEP(c, 0, wdl_node_show(run, wdl_run_at(run, wdl_car_of(c)->a), run->args.bytes));
    return wdl_levels_keep(run, c);
}

static int folded(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    wdl_levels_begin(run);
    return wdl_node_fold(run, c, car->peer, wdl_run_at(run, car->b));
}

/* The result, which the head has where it was folded. */
static int fetch_result(struct wdl_run *run, int head)
{
    return wdl_board_fetch_said(run, head, wdl_node_sheet(run, head)->dst, 0, run->args.dst,
                                run->args.bytes);
}

static int shared(struct wdl_run *run, struct wdl_car_run *c)
{
    int head = wdl_car_of(c)->peer;
    if (wdl_node_on_board(run))
        return spread(run, c);
    if (!wdl_levels_leads(run, c)) {
        if (run->status == WDL_OK)
            WDL_NODE_STEP(c, 0, wdl_node_one(run, head, WDL_BOARD_LAST, fetch_result));
        return wdl_node_post(run, WDL_BOARD_LAST);
    }
    WDL_NODE_STEP(c, 0, wdl_node_post(run, WDL_BOARD_LAST));
    /* whose lengths differ may never post */
    return run->status == WDL_OK ? wdl_node_each(run, c, WDL_BOARD_LAST, NULL) : WDL_OK;
}

/* --- flags ------------------------------------------------------------------------------------ */

/* The head has heard from all; the others have spoken. */
static int gathered(struct wdl_run *run, struct wdl_car_run *c)
{
    enum wdl_place_on_board place = (enum wdl_place_on_board) wdl_car_of(c)->arg;
    if (!wdl_levels_leads(run, c))
        return wdl_node_post(run, place);
    return wdl_node_each(run, c, place, NULL);
}

static int released(struct wdl_run *run, struct wdl_car_run *c)
{
    enum wdl_place_on_board place = (enum wdl_place_on_board) wdl_car_of(c)->arg;
    if (wdl_levels_leads(run, c))
        return wdl_node_post(run, place);
    return wdl_node_one(run, wdl_car_of(c)->peer, place, NULL);
}

static int flag_build(struct wdl_build *b, wdl_watch_fn fn, enum wdl_place_on_board place,
                      int after)
{
    int car = wdl_build_watch(b, fn, 0);
    if (car == WDL_CAR_NONE)
        return car;
    b->cars[car].peer = wdl_levels_head(b);
    b->cars[car].arg = (int) place;
    wdl_build_order(b, after, car);
    return car;
}

static int from_node(struct wdl_build *b, enum wdl_place_on_board place, int after)
{
    return wdl_levels_alone(b) ? after : flag_build(b, gathered, place, after);
}

/* Complete at the head when it has told its node, so that it cannot leave before. */
static int to_node(struct wdl_build *b, enum wdl_place_on_board place, int told)
{
    return wdl_levels_alone(b) ? told : flag_build(b, released, place, told);
}

int wdl_levels_up(struct wdl_build *b, enum wdl_phase phase, enum wdl_place_on_board place,
                  int after)
{
    int have = from_node(b, place, after);
    if (!wdl_levels_is_head(b))
        return have;
    wdl_levels_climb(b);
    have = wdl_sync_up(b, phase, b->root, have);
    wdl_build_flat(b);
    return have;
}

int wdl_levels_down(struct wdl_build *b, enum wdl_phase phase, enum wdl_place_on_board place,
                    int after)
{
    int told = WDL_CAR_NONE;
    if (wdl_levels_is_head(b)) {
        wdl_levels_climb(b);
        told = wdl_sync_down(b, phase, b->root, after);
        wdl_build_flat(b);
    }
    return to_node(b, place, told);
}

int wdl_levels_all(struct wdl_build *b, enum wdl_phase phase, enum wdl_place_on_board place,
                   int after)
{
    int told = from_node(b, place, after);
    if (wdl_levels_is_head(b)) {
        wdl_levels_climb(b);
        told = wdl_sync_all(b, phase, told);
        wdl_build_flat(b);
    }
    return to_node(b, place, told);
}

/* --- the collectives -------------------------------------------------------------------------- */

int wdl_levels_is_head(const struct wdl_build *b)
{
    return wdl_levels_head(b) == b->team->rank;
}

void wdl_levels_barrier(struct wdl_build *b)
{
    wdl_build_user(b, wdl_levels_all(b, WDL_PHASE_IN, WDL_BOARD_DATA, WDL_CAR_NONE));
}

void wdl_levels_broadcast(struct wdl_build *b)
{
    int show = WDL_CAR_NONE, first, is_root = b->rank == b->args->root;
    if (!wdl_levels_alone(b))
        show = wdl_levels_is_head(b)
                   ? wdl_levels_watch(b, spread, is_root ? b->from : b->to, wdl_nowhere())
                   : wdl_levels_watch(b, spread, wdl_nowhere(), b->to);
    if (!wdl_levels_is_head(b))
        return;
    wdl_levels_climb(b);
    first = b->ncars;
    if (prefers_parts(b))
        wdl_broadcast_circulant(b);
    else
        wdl_broadcast_tree(b);
    wdl_levels_embed(b, first, b->ncars, WDL_CAR_NONE, is_root ? WDL_CAR_NONE : show);
    wdl_build_flat(b);
}

/* Parts of long data are folded in memory that the run has first of all. */
void wdl_levels_fold_room(struct wdl_build *b)
{
    if (!wdl_levels_alone(b) && wdl_levels_shown(b->team, b->args) > b->team->params.board_bytes)
        (void) wdl_build_tmp(b, wdl_node_fold_room(b->args));
}

int wdl_levels_fold(struct wdl_build *b, struct wdl_loc to)
{
    return wdl_levels_watch(b, folded, b->from, wdl_levels_is_head(b) ? to : wdl_nowhere());
}

void wdl_levels_reduce(struct wdl_build *b)
{
    int fold = WDL_CAR_NONE, first, is_root = b->rank == b->args->root;
    struct wdl_loc from = b->from;
    wdl_levels_fold_room(b);
    if (!wdl_levels_alone(b)) {
        if (wdl_levels_is_head(b))
            from = is_root ? b->to : wdl_tmp(wdl_build_tmp(b, b->args->bytes));
        fold = wdl_levels_fold(b, from);
    }
    if (!wdl_levels_is_head(b))
        return;
    wdl_levels_climb(b);
    b->from = from;
    first = b->ncars;
    if (prefers_parts(b))
        wdl_reduce_circulant(b);
    else
        wdl_reduce_tree(b);
    wdl_levels_embed(b, first, b->ncars, fold, WDL_CAR_NONE);
    wdl_build_flat(b);
}

void wdl_levels_allreduce(struct wdl_build *b)
{
    int fold = WDL_CAR_NONE, share = WDL_CAR_NONE, first;
    wdl_levels_fold_room(b);
    if (!wdl_levels_alone(b)) {
        fold = wdl_levels_fold(b, b->to);
        share = wdl_levels_watch(b, shared, wdl_levels_is_head(b) ? b->to : wdl_nowhere(), b->to);
        wdl_build_order(b, fold, share);
    }
    if (!wdl_levels_is_head(b))
        return;
    wdl_levels_climb(b);
    if (!wdl_levels_alone(b))
        b->from = b->to;
    first = b->ncars;
    if (prefers_parts(b))
        wdl_allreduce_halving(b);
    else
        wdl_allreduce_doubling(b);
    wdl_levels_embed(b, first, b->ncars, fold, share);
    wdl_build_flat(b);
}
