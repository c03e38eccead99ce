/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Gather and scatter in two levels (levels.h): up and down a tree of heads, of which each has its
 * node's blocks from their owners, or shows them to them; a subtree's go as one message, node after
 * node.
 *
 * And what is only near: blocks that vary, whose lengths their two ends alone know, and long ones,
 * which nobody is to copy in between. Between the ranks of a node they go by their memory, as
 * node.c has it; to and from all others straight.
 */
#include <string.h>
#include "base/copy.h"
#include "mpid/coll/levels.h"

/* --- the tree of heads ------------------------------------------------------------------------ */

/* Bytes of the blocks of `count` nodes from `node` on, round the ring. */
static size_t run_bytes(const struct wdl_build *b, int node, int count)
{
    int end = node + count;
    if (end <= b->size)
        return wdl_levels_at(b, end) - wdl_levels_at(b, node);
    return wdl_levels_at(b, b->size) - wdl_levels_at(b, node) + wdl_levels_at(b, end - b->size);
}

/* Do they lie side by side in the root's memory? */
static int is_run(const struct wdl_build *b, int node, int count)
{
    return b->team->nodes->in_order && node + count <= b->size;
}

/* Blocks between their places in the root's memory and where they are side by side: the nodes from
 * `arg` on. */
static void blocks_move(struct wdl_run *run, const struct wdl_car *car, char *user, char *row,
                        int out)
{
    const struct wdl_nodes *nodes = run->team->nodes;
    size_t m = run->args.bytes;
    int i = nodes->first[car->arg];
    for (size_t done = 0; done < car->bytes; done += m, i++) {
        char *place = user + (size_t) nodes->order[i % run->team->size] * m;
        memcpy(out ? row + done : place, out ? place : row + done, m);
    }
}

static int placed(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    blocks_move(run, car, run->args.dst, wdl_run_at(run, car->a), 0);
    return WDL_OK;
}

static int picked(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    blocks_move(run, car, (char *) (uintptr_t) run->args.src, wdl_run_at(run, car->b), 1);
    return WDL_OK;
}

static int move_build(struct wdl_build *b, wdl_watch_fn fn, struct wdl_loc from, struct wdl_loc to,
                      int node, size_t bytes)
{
    int car = wdl_levels_watch(b, fn, from, to);
    if (car != WDL_CAR_NONE) {
        b->cars[car].arg = node;
        b->cars[car].bytes = bytes;
    }
    return car;
}

/* --- gather ----------------------------------------------------------------------------------- */

static void gather_root(struct wdl_build *b, const struct wdl_place *place)
{
    for (int i = 0; i < place->node.children; i++) {
        const struct wdl_tree_child *child = &place->child[i];
        size_t bytes = run_bytes(b, child->rank, child->size);
        if (is_run(b, child->rank, child->size)) {
            wdl_edge_recv(b, WDL_PHASE_DATA, child->rank, 1 + i, 0,
                          wdl_loc_at(b->to, wdl_levels_at(b, child->rank)), bytes);
            continue;
        }
        struct wdl_loc row = wdl_tmp(wdl_build_tmp(b, bytes));
        int recv = wdl_edge_recv(b, WDL_PHASE_DATA, child->rank, 1 + i, 0, row, bytes);
        wdl_build_order(b, recv, move_build(b, placed, row, b->to, child->rank, bytes));
    }
}

/* What the subtree's heads have collected, ours first. */
static void gather_up(struct wdl_build *b, const struct wdl_place *place, struct wdl_loc row,
                      int have)
{
    size_t all = run_bytes(b, b->rank, place->node.size);
    int send = wdl_edge_send(b, WDL_PHASE_DATA, place->node.parent, 1 + place->node.link, 0, row,
                             all);
    wdl_build_order(b, have, send);
    for (int i = 0; i < place->node.children; i++) {
        const struct wdl_tree_child *child = &place->child[i];
        size_t at = run_bytes(b, b->rank, wdl_ring_distance(b, b->rank, child->rank));
        size_t bytes = run_bytes(b, child->rank, child->size);
        int recv = wdl_edge_recv(b, WDL_PHASE_DATA, child->rank, 1 + i, 0, wdl_loc_at(row, at),
                                 bytes);
        wdl_build_stream(b, recv, 0, send, at, bytes);
    }
}

void wdl_levels_gather(struct wdl_build *b)
{
    struct wdl_place place;
    if (!wdl_levels_is_head(b)) {
        (void) wdl_levels_collect(b, wdl_nowhere());
        return;
    }
    wdl_levels_climb(b);
    wdl_place_find(b, b->root, b->rank, 0, &place);
    if (place.node.parent < 0) {
        (void) wdl_levels_collect(b, b->to);
        gather_root(b, &place);
    } else {
        struct wdl_loc row = wdl_tmp(wdl_build_tmp(b, run_bytes(b, b->rank, place.node.size)));
        gather_up(b, &place, row, wdl_levels_collect_apart(b, row));
    }
    wdl_build_flat(b);
}

/* --- scatter ---------------------------------------------------------------------------------- */

/* The block for the i-th rank of the head's node. */
static const char *handed_block(const struct wdl_run *run, const struct wdl_car *car, int i)
{
    int rank = wdl_node_rank(run, i);
    return wdl_run_at(run, car->a) +
           (size_t) (car->a.buf == WDL_BUF_SRC ? rank : i) * run->args.bytes;
}

static int hand_out(struct wdl_run *run, const struct wdl_car *car)
{
    size_t m = run->args.bytes;
    if (wdl_node_size(run) == 1)
        return WDL_OK;
    if (!wdl_node_on_board(run))
        return wdl_node_show_places(run, wdl_run_at(run, car->a), NULL);
    for (int i = 0; i < wdl_node_size(run) && m; i++)
        memcpy(wdl_board_sheet(run, run->team->rank) + (size_t) i * m, handed_block(run, car, i),
               m);
    return wdl_node_post(run, WDL_BOARD_DATA);
}

static int keep_handed(struct wdl_run *run, const struct wdl_car *car)
{
    const char *from = handed_block(run, car, wdl_node_place(run));
    if (run->args.bytes && run->args.dst && run->args.dst != from)
        wdl_copy(run->args.dst, from, run->args.bytes);
    return WDL_OK;
}

/* All lie side by side but in the root's own memory. */
static int take_handed(struct wdl_run *run, int head)
{
    size_t i = (size_t) wdl_node_place(run), m = run->args.bytes;
    int status = wdl_node_agrees(run, head);
    if (!wdl_node_on_board(run) && head == run->args.root)
        i = (size_t) run->team->rank;
    return status == WDL_OK ? wdl_node_take(run, head, i * m, run->args.dst, m) : status;
}

static int handed(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    wdl_levels_begin(run);
    if (!wdl_levels_leads(run, c))
        return wdl_levels_take(run, c, take_handed);
    WDL_NODE_STEP(c, 0, hand_out(run, car));
    WDL_NODE_STEP(c, 1, keep_handed(run, car));
    return wdl_levels_keep(run, c);
}

static void scatter_root(struct wdl_build *b, const struct wdl_place *place)
{
    for (int i = 0; i < place->node.children; i++) {
        const struct wdl_tree_child *child = &place->child[i];
        size_t bytes = run_bytes(b, child->rank, child->size);
        struct wdl_loc row = wdl_loc_at(b->from, wdl_levels_at(b, child->rank));
        int pick = WDL_CAR_NONE;
        if (!is_run(b, child->rank, child->size)) {
            row = wdl_tmp(wdl_build_tmp(b, bytes));
            pick = move_build(b, picked, b->from, row, child->rank, bytes);
        }
        wdl_build_order(b, pick,
                        wdl_edge_send(b, WDL_PHASE_DATA, child->rank, 0, 1 + i, row, bytes));
    }
}

/* Returns what receives the subtree's blocks, of which ours are the first. */
static int scatter_down(struct wdl_build *b, const struct wdl_place *place, struct wdl_loc row)
{
    int recv = wdl_edge_recv(b, WDL_PHASE_DATA, place->node.parent, 0, 1 + place->node.link, row,
                             run_bytes(b, b->rank, place->node.size));
    for (int i = 0; i < place->node.children; i++) {
        const struct wdl_tree_child *child = &place->child[i];
        size_t at = run_bytes(b, b->rank, wdl_ring_distance(b, b->rank, child->rank));
        size_t bytes = run_bytes(b, child->rank, child->size);
        int send = wdl_edge_send(b, WDL_PHASE_DATA, child->rank, 0, 1 + i, wdl_loc_at(row, at),
                                 bytes);
        wdl_build_stream(b, recv, at, send, 0, bytes);
    }
    return recv;
}

void wdl_levels_scatter(struct wdl_build *b)
{
    struct wdl_place place;
    if (!wdl_levels_is_head(b)) {
        (void) wdl_levels_watch(b, handed, wdl_nowhere(), b->to);
        return;
    }
    wdl_levels_climb(b);
    wdl_place_find(b, b->root, b->rank, 0, &place);
    if (place.node.parent < 0) {
        scatter_root(b, &place);
        (void) wdl_levels_watch(b, handed, b->from, b->to);
    } else {
        struct wdl_loc row = wdl_tmp(wdl_build_tmp(b, run_bytes(b, b->rank, place.node.size)));
        int recv = scatter_down(b, &place, row);
        wdl_build_order(b, recv, wdl_levels_watch(b, handed, row, b->to));
    }
    wdl_build_flat(b);
}

/* --- near ------------------------------------------------------------------------------------- */

/* `build` between nodes; within ours what node.c does, if it is concerned, the own block too. */
static void near(struct wdl_build *b, void (*build)(struct wdl_build *b), int concerned)
{
    int first = b->ncars;
    b->far = 1;
    build(b);
    b->far = 0;
    if (wdl_levels_alone(b) || !concerned)
        return;
    for (int i = first; i < b->ncars; i++)
        if (b->cars[i].kind == WDL_CAR_COPY)
            b->cars[i].bytes = 0;
    wdl_all_node(b);
}

static int has_root(const struct wdl_build *b)
{
    const struct wdl_nodes *nodes = b->team->nodes;
    return nodes->node_of[b->args->root] == nodes->mine;
}

void wdl_near_gather(struct wdl_build *b)
{
    near(b, wdl_gather_direct, has_root(b));
}

void wdl_near_scatter(struct wdl_build *b)
{
    near(b, wdl_scatter_direct, has_root(b));
}

void wdl_near_exchange(struct wdl_build *b)
{
    near(b, wdl_exchange_pairwise, 1);
}

/* --- cost ------------------------------------------------------------------------------------- */

static double within(const struct wdl_cost *c)
{
    double others = c->team->nodes->most - 1;
    return wdl_cost_within(others, others * c->m);
}

double wdl_cost_levels_tree(const struct wdl_cost *c)
{
    struct wdl_cost between = wdl_cost_between(c, c->m * c->team->nodes->most);
    return wdl_cost_tree(&between) + within(c);
}

/* As many messages as there are ranks elsewhere. */
static struct wdl_cost beyond(const struct wdl_cost *c)
{
    struct wdl_cost far = *c;
    far.p = c->p - c->team->nodes->most + 1;
    return far;
}

double wdl_cost_near(const struct wdl_cost *c)
{
    struct wdl_cost far = beyond(c);
    return wdl_cost_direct(&far) + within(c);
}

double wdl_cost_near_pairwise(const struct wdl_cost *c)
{
    struct wdl_cost far = beyond(c);
    return wdl_cost_pairwise(&far) + within(c);
}

double wdl_cost_near_entry(const struct wdl_cost *c)
{
    struct wdl_cost far = beyond(c);
    return wdl_cost_pairwise_entry(&far) + within(c);
}
