/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Gather to all in two levels (levels.h): a head has its node's blocks from their boards, or their
 * owners' memory, and the heads pass them on round a ring, a node's as one message. They are
 * collected node after node: in the destination where they belong there like that, else apart.
 */
#include "base/copy.h"
#include "mpid/coll/levels.h"

static size_t block_bytes(const struct wdl_coll_args *args, int rank)
{
    return wdl_block_bytes(args, &args->dst_blocks, rank);
}

/* Bytes of the blocks [from, to) of those in a row. */
static size_t row_bytes(const struct wdl_nodes *nodes, const struct wdl_coll_args *args, int from,
                        int to)
{
    size_t sum = 0;
    if (!args->variable)
        return (size_t) (to - from) * args->bytes;
    for (int i = from; i < to; i++)
        sum += block_bytes(args, nodes->order[i]);
    return sum;
}

size_t wdl_levels_at(const struct wdl_build *b, int node)
{
    return row_bytes(b->team->nodes, b->args, 0, b->team->nodes->first[node]);
}

/* The destination has all blocks side by side, node after node: no detour. */
static int is_row(const struct wdl_build *b)
{
    const struct wdl_coll_args *args = b->args;
    size_t at = 0;
    if (!b->team->nodes->in_order)
        return 0;
    for (int r = 0; r < b->team->size && args->variable; r++) {
        if (args->dst_blocks.at[r] != at)
            return 0;
        at += args->dst_blocks.bytes[r];
    }
    return 1;
}

static char *collection(const struct wdl_run *run, const struct wdl_car_run *c)
{
    return wdl_run_at(run, wdl_car_of(c)->b);
}

static int agrees(struct wdl_run *run, int rank)
{
    return wdl_board_length(run, rank) == block_bytes(&run->args, rank) ? WDL_OK : WDL_ERR_TRUNCATE;
}

/* The block of the i-th rank of the node comes to its head: to its place, or one behind another.
 * The head's own may be there already. */
static int block_take(struct wdl_run *run, const struct wdl_car *car, int i)
{
    const struct wdl_coll_args *args = &run->args;
    const struct wdl_nodes *nodes = run->team->nodes;
    int first = nodes->first[nodes->mine], rank = wdl_node_rank(run, i);
    char *to = wdl_run_at(run, car->b);
    to += car->b.buf == WDL_BUF_DST ? wdl_block_at(args, &args->dst_blocks, rank)
                                    : row_bytes(nodes, args, first, first + i);
    run->shown = block_bytes(args, rank);
    if (rank != run->team->rank) {
        int status = agrees(run, rank);
        return status == WDL_OK ? wdl_node_take(run, rank, 0, to, run->shown) : status;
    }
    if (run->shown != args->bytes)
        return WDL_ERR_TRUNCATE;
    if (car->a.buf != WDL_BUF_NONE && run->shown && to != args->src)
        wdl_copy(to, args->src, run->shown);
    return WDL_OK;
}

static int collected(struct wdl_run *run, struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    int ends = run->args.kind == WDL_COLL_GATHER; /* and nobody is told of anything later */
    run->shown = run->args.bytes;
    if (!wdl_levels_leads(run, c)) {
        WDL_NODE_STEP(c, 0, wdl_node_show(run, run->args.src, run->args.bytes));
        return ends && !wdl_node_on_board(run) ? wdl_node_one(run, car->peer, WDL_BOARD_DONE, NULL)
                                               : WDL_OK;
    }
    for (; c->next < wdl_node_size(run); c->next++) {
        int rank = wdl_node_rank(run, c->next);
        if (rank != run->team->rank && !wdl_board_seen(run, rank, WDL_BOARD_DATA))
            return WDL_AGAIN;
        (void) wdl_node_note(run, block_take(run, car, c->next));
    }
    return ends && wdl_node_size(run) > 1 ? wdl_node_fetched(run) : WDL_OK;
}

int wdl_levels_collect(struct wdl_build *b, struct wdl_loc to)
{
    return wdl_levels_watch(b, collected, b->from, wdl_levels_is_head(b) ? to : wdl_nowhere());
}

int wdl_levels_collect_apart(struct wdl_build *b, struct wdl_loc row)
{
    const struct wdl_nodes *nodes = b->team->nodes;
    int first = nodes->first[nodes->mine];
    size_t at = row_bytes(nodes, b->args, first, first + nodes->place);
    int own = wdl_build_copy(b, wdl_loc_at(row, at), b->from, b->args->bytes);
    int have = wdl_levels_watch(b, collected, wdl_nowhere(), row);
    wdl_build_order(b, own, have); /* and with it behind the entry's flags */
    return have;
}

/* Blocks that were collected go to their places. */
static void deal(const struct wdl_run *run, const char *all)
{
    const struct wdl_coll_args *args = &run->args;
    for (int i = 0; i < run->team->size; i++) {
        int rank = run->team->nodes->order[i];
        size_t bytes = block_bytes(args, rank);
        if (bytes)
            wdl_copy((char *) args->dst + wdl_block_at(args, &args->dst_blocks, rank), all, bytes);
        all += bytes;
    }
}

/* From the head's board, or its memory by way of ours where the order is not that of ranks. */
static int all_take(struct wdl_run *run, int head, char *apart)
{
    char *to = apart ? apart : run->args.dst;
    int status = wdl_node_agrees(run, head);
    if (status == WDL_OK)
        status = wdl_node_take(run, head, 0, to, run->shown);
    if (status == WDL_OK && apart)
        deal(run, apart);
    return status;
}

static int dealt(struct wdl_run *run, struct wdl_car_run *c)
{
    int head = wdl_car_of(c)->peer, in_row = wdl_car_of(c)->b.buf == WDL_BUF_DST;
    char *all = collection(run, c);
    run->shown = row_bytes(run->team->nodes, &run->args, 0, run->team->size);
    if (!wdl_levels_leads(run, c)) {
        if (!wdl_board_seen(run, head, WDL_BOARD_DATA))
            return WDL_AGAIN;
        (void) wdl_node_note(run, all_take(run, head, in_row ? NULL : all));
        return wdl_node_fetched(run);
    }
    int alone = wdl_node_size(run) == 1; /* and perhaps without a board */
    WDL_NODE_STEP(c, 0, alone ? WDL_OK : wdl_node_show(run, all, run->shown));
    WDL_NODE_STEP(c, 1, in_row ? WDL_OK : (deal(run, all), WDL_OK));
    return wdl_levels_keep(run, c);
}

/* Heads on one node store what is short: there are cells for as many steps as a phase has links. */
static uint32_t step_role(const struct wdl_build *b, int j)
{
    return b->team->nodes->domains && j < b->team->links ? wdl_role(b, WDL_PHASE_DATA, j)
                                                         : wdl_role_bare(b, j);
}

/* In step j the node's head sends what it got in the step before, at first its own node's. */
static int ring(struct wdl_build *b, struct wdl_loc all, int have)
{
    int size = b->size, right = (b->rank + 1) % size, left = (b->rank - 1 + size) % size;
    int join = wdl_build_join(b);
    wdl_ready_send(b, left, wdl_role(b, WDL_PHASE_READY, 0), all, wdl_levels_at(b, size));
    int go = wdl_ready_recv(b, right, wdl_role(b, WDL_PHASE_READY, 0));
    wdl_build_order(b, have, join);
    for (int j = 0; j < size - 1; j++) {
        struct wdl_pattern_step step = wdl_pattern_ring(size, b->rank, j);
        int out = step.send_first, in = step.recv_first;
        size_t at = wdl_levels_at(b, out), bytes = wdl_levels_at(b, out + 1) - at;
        int send = wdl_build_send(b, right, step_role(b, j), wdl_loc_at(all, at), bytes);
        wdl_ready_for(b, go, send, at);
        if (j == 0)
            wdl_build_order(b, have, send);
        else
            wdl_build_stream(b, have, 0, send, 0, bytes);
        at = wdl_levels_at(b, in);
        have = wdl_build_recv(b, left, step_role(b, j), wdl_loc_at(all, at),
                              wdl_levels_at(b, in + 1) - at);
        wdl_build_order(b, have, join);
    }
    return join;
}

void wdl_levels_gather_all(struct wdl_build *b)
{
    const struct wdl_nodes *nodes = b->team->nodes;
    struct wdl_loc all = b->to;
    int in_row = is_row(b);
    if (!in_row)
        all = wdl_tmp(wdl_build_tmp(b, wdl_levels_at(b, nodes->span.size)));
    int have = wdl_levels_collect(b, in_row ? all : wdl_loc_at(all, wdl_levels_at(b, nodes->mine)));
    if (wdl_levels_is_head(b)) {
        wdl_levels_climb(b);
        have = ring(b, all, have);
        wdl_build_flat(b);
    }
    int last = wdl_levels_watch(b, dealt, wdl_nowhere(), all);
    if (last != WDL_CAR_NONE)
        b->cars[last].touches = 2;
    wdl_build_order(b, have, last);
}
