/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Exchange in two levels (levels.h), of blocks so short that boards hold them: a head collects what
 * its node's ranks have for those of another, and sends it as one message. What comes is shown on
 * the head's board, behind its own blocks.
 *
 * A message has the blocks for one rank side by side, in the order of those who give them.
 */
#include <string.h>
#include "mpid/coll/levels.h"

/* What the own node has for, or gets from, another begins so far into all that it has, or gets. */
static size_t parcel_at(const struct wdl_nodes *nodes, size_t m, int node)
{
    return (size_t) nodes->first[node] * (size_t) nodes->size * m;
}

/* The blocks of the i-th rank of the node for the other nodes. */
static void pack(const struct wdl_run *run, int i, const char *blocks, char *out)
{
    const struct wdl_nodes *nodes = run->team->nodes;
    size_t m = run->args.bytes, here = (size_t) nodes->size;
    for (size_t k = 0; k < (size_t) run->team->size && m; k++)
        memcpy(out + (k * here + (size_t) i) * m, blocks + (size_t) nodes->order[k] * m, m);
}

/* The blocks for the rank at our place, of what has come to the node. */
static void unpack(const struct wdl_run *run, const char *in)
{
    const struct wdl_nodes *nodes = run->team->nodes;
    size_t m = run->args.bytes;
    for (int node = 0; node < nodes->span.size && m; node++) {
        size_t count = (size_t) (nodes->first[node + 1] - nodes->first[node]);
        const char *from = in + parcel_at(nodes, m, node) + (size_t) nodes->place * count * m;
        for (size_t i = 0; i < count && node != nodes->mine; i++)
            memcpy((char *) run->args.dst + (size_t) nodes->order[nodes->first[node] + (int) i] * m,
                   from + i * m, m);
    }
}

static int take_near(struct wdl_run *run, int rank)
{
    size_t m = run->args.bytes;
    int status = wdl_node_agrees(run, rank);
    return status == WDL_OK ? wdl_node_take(run, rank, (size_t) run->team->rank * m,
                                            (char *) run->args.dst + (size_t) rank * m, m)
                            : status;
}

static int take_far(struct wdl_run *run, int head)
{
    int status = wdl_node_agrees(run, head);
    if (status == WDL_OK)
        unpack(run, wdl_board_sheet(run, head) + (size_t) run->team->size * run->args.bytes);
    return status;
}

static int keep_own(struct wdl_run *run)
{
    size_t m = run->args.bytes, at = (size_t) run->team->rank * m;
    if (m)
        memcpy((char *) run->args.dst + at, (const char *) run->args.src + at, m);
    return WDL_OK;
}

static int show_own(struct wdl_run *run)
{
    if (run->team->nodes->size == 1)
        return WDL_OK;
    return wdl_node_show(run, run->args.src, run->args.bytes * (size_t) run->team->size);
}

/* The others show what they have, take what is near, and wait for the head. */
static int exchanged(struct wdl_run *run, struct wdl_car_run *c)
{
    wdl_levels_begin(run);
    WDL_NODE_STEP(c, 0, show_own(run));
    WDL_NODE_STEP(c, 1, keep_own(run));
    WDL_NODE_STEP(c, 2, wdl_node_each(run, c, WDL_BOARD_DATA, take_near));
    return wdl_node_one(run, wdl_car_of(c)->peer, WDL_BOARD_LAST, take_far);
}

static int packed(struct wdl_run *run, struct wdl_car_run *c)
{
    char *out = wdl_run_at(run, wdl_car_of(c)->b);
    wdl_levels_begin(run);
    WDL_NODE_STEP(c, 0, show_own(run));
    for (; c->next < wdl_node_size(run); c->next++) {
        int rank = wdl_node_rank(run, c->next), own = rank == run->team->rank;
        if (!own && !wdl_board_seen(run, rank, WDL_BOARD_DATA))
            return WDL_AGAIN;
        if (!own && wdl_node_agrees(run, rank) != WDL_OK)
            run->status = WDL_ERR_TRUNCATE;
        else
            pack(run, c->next, own ? run->args.src : wdl_board_sheet(run, rank), out);
    }
    return WDL_OK;
}

static int come(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_nodes *nodes = run->team->nodes;
    const char *in = wdl_run_at(run, wdl_car_of(c)->a);
    size_t all = parcel_at(nodes, run->args.bytes, nodes->span.size);
    wdl_levels_begin(run);
    unpack(run, in);
    (void) keep_own(run);
    if (nodes->size == 1)
        return WDL_OK;
    if (all)
        memcpy(wdl_board_sheet(run, run->team->rank) + (size_t) run->team->size * run->args.bytes,
               in, all);
    (void) wdl_node_post(run, WDL_BOARD_LAST);
    return wdl_node_each(run, c, WDL_BOARD_DATA, take_near);
}

static size_t parcel_bytes(const struct wdl_nodes *nodes, size_t m, int node)
{
    return parcel_at(nodes, m, node + 1) - parcel_at(nodes, m, node);
}

void wdl_levels_exchange(struct wdl_build *b)
{
    const struct wdl_nodes *nodes = b->team->nodes;
    size_t m = b->args->bytes, all = parcel_at(nodes, m, nodes->span.size);
    if (!wdl_levels_is_head(b)) {
        (void) wdl_levels_watch(b, exchanged, b->from, b->to);
        return;
    }
    struct wdl_loc out = wdl_tmp(wdl_build_tmp(b, all)), in = wdl_tmp(wdl_build_tmp(b, all));
    int have = wdl_levels_watch(b, packed, b->from, out);
    int last = wdl_levels_watch(b, come, in, b->to);
    wdl_build_order(b, have, last);
    wdl_levels_climb(b);
    for (int d = 1; d < b->size; d++) {
        struct wdl_pattern_step step = wdl_pattern_pairwise(b->size, b->rank, d - 1);
        int up = step.to, down = step.from;
        int send = wdl_pair_send(b, up, d, wdl_loc_at(out, parcel_at(nodes, m, up)),
                                 parcel_bytes(nodes, m, up));
        int recv = wdl_pair_recv(b, down, d, wdl_loc_at(in, parcel_at(nodes, m, down)),
                                 parcel_bytes(nodes, m, down));
        wdl_build_order(b, have, send);
        wdl_build_order(b, recv, last);
    }
    wdl_build_flat(b);
}

/* The head moves every block of its node twice. */
double wdl_cost_levels_exchange(const struct wdl_cost *c)
{
    double most = c->team->nodes->most;
    struct wdl_cost between = wdl_cost_between(c, c->m * most * most);
    return wdl_cost_pairwise(&between) + wdl_cost_within(most, 2 * most * c->m * c->p);
}
