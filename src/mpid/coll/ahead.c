/* Part of Windlass. See COPYRIGHT in the top-level directory. Data that moves ahead (ahead.h). */
#include "mpid/coll/ahead.h"
#include "base/copy.h"
#include "mpid/coll/levels.h"
#include "mpid/coll/node.h"

static int moves(const struct wdl_coll_args *args)
{
    return args->kind >= WDL_COLL_BROADCAST && args->kind <= WDL_COLL_EXCHANGE &&
           (args->flags & WDL_COLL_IN_NOSYNC) && !args->variable && !args->before && !args->after;
}

/* Little data is on boards, where nobody waits for who gets it. A board is read without a call of
 * the system, so only who has nothing else to wait for looks past it. What all want is fetched by
 * all at once. */
enum wdl_ahead_way wdl_ahead_way(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    int known = args->flags & WDL_COLL_DST_KNOWN, all_want = args->kind == WDL_COLL_BROADCAST;
    if (!moves(args) || !team->params.shm || !team->params.shm->peek)
        return WDL_AHEAD_NOT;
    int is_long = wdl_node_shown(team, args) > team->params.board_bytes;
    if (team->on_node && (args->flags & WDL_COLL_SRC_KNOWN) &&
        ((args->flags & WDL_COLL_OUT_NOSYNC) || (is_long && (!known || all_want))))
        return WDL_AHEAD_GET;
    return known && is_long ? WDL_AHEAD_PUT : WDL_AHEAD_NOT;
}

int wdl_ahead_by_message(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    return moves(args) && (args->flags & WDL_COLL_DST_KNOWN) && !team->on_node &&
           team->size < team->links;
}

/* --- who gives what to whom ------------------------------------------------------------------- */

int wdl_ahead_gives(const struct wdl_coll_args *args, int from, int to)
{
    switch (wdl_flow_of(args)) {
    case WDL_FLOW_DOWN:
        return from == args->root;
    case WDL_FLOW_UP:
        return to == args->root;
    default:
        return 1;
    }
}

struct wdl_ahead_part wdl_ahead_part(const struct wdl_coll_args *args, int from, int to)
{
    enum wdl_coll_kind kind = args->kind;
    int each = kind == WDL_COLL_SCATTER || kind == WDL_COLL_EXCHANGE;
    int side = wdl_flow_of(args) != WDL_FLOW_DOWN; /* one for each that gives */
    return (struct wdl_ahead_part){each ? (size_t) to * args->bytes : 0,
                                   side ? (size_t) from * args->bytes : 0};
}

char *wdl_ahead_dst(const struct wdl_coll_args *args, int rank)
{
    return args->dst_of ? args->dst_of[rank] : args->dst;
}

const char *wdl_ahead_src(const struct wdl_coll_args *args, int rank)
{
    return args->src_of ? args->src_of[rank] : args->src;
}

struct wdl_stretch wdl_ahead_wanted(const struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    const char *there = wdl_ahead_dst(&c->run->args, car->peer) + car->ahead_at;
    return (struct wdl_stretch){(uint64_t) (uintptr_t) there, car->bytes};
}

void wdl_ahead_keep(const struct wdl_coll_args *args, int rank)
{
    struct wdl_ahead_part part = wdl_ahead_part(args, rank, rank);
    if (!wdl_ahead_gives(args, rank, rank) || !args->dst || !args->bytes)
        return;
    const char *from = (const char *) args->src + part.from;
    char *to = (char *) args->dst + part.to;
    if (from != to)
        wdl_copy(to, from, args->bytes);
}

/* --- on a node -------------------------------------------------------------------------------- */

/* Of the other ranks of the node. */
static int gives_any(const struct wdl_run *run)
{
    int gives = 0;
    for (int i = 0; i < wdl_node_size(run); i++)
        gives |= i != wdl_node_place(run) &&
                 wdl_ahead_gives(&run->args, run->team->rank, wdl_node_rank(run, i));
    return gives;
}

/* Where there is no memory its owner has named another place. */
static int differs(int status)
{
    return status == WDL_ERR_RANGE ? WDL_ERR_TRUNCATE : status;
}

static int put_to(struct wdl_run *run, int rank)
{
    const struct wdl_coll_args *a = &run->args;
    struct wdl_ahead_part part = wdl_ahead_part(a, run->team->rank, rank);
    return differs(wdl_board_give(run, rank, (const char *) a->src + part.from,
                                  wdl_ahead_dst(a, rank) + part.to, a->bytes));
}

/* From its board, where it has shown it there; nobody waits for that. */
static int get_from(struct wdl_run *run, int rank)
{
    const struct wdl_coll_args *a = &run->args;
    struct wdl_ahead_part part = wdl_ahead_part(a, rank, run->team->rank);
    char *here = (char *) a->dst + part.to;
    if (wdl_node_on_board(run) && wdl_board_seen(run, rank, WDL_BOARD_DATA))
        return wdl_node_agrees(run, rank) == WDL_OK
                   ? wdl_node_take(run, rank, part.from, here, a->bytes)
                   : WDL_ERR_TRUNCATE;
    return differs(
        wdl_board_fetch(run, rank, wdl_ahead_src(a, rank) + part.from, here, a->bytes));
}

/* Every other rank that gives us something (`gets`), or gets something; the next one first. */
static void each(struct wdl_run *run, int gets, int (*fn)(struct wdl_run *run, int rank))
{
    int size = wdl_node_size(run), me = run->team->rank;
    for (int k = 1; k < size; k++) {
        int rank = wdl_node_rank(run, (wdl_node_place(run) + k) % size);
        if (wdl_ahead_gives(&run->args, gets ? rank : me, gets ? me : rank))
            (void) wdl_node_note(run, fn(run, rank));
    }
}

/* Until they have all posted there, and meant as much as we do. */
static int each_posts(struct wdl_run *run, struct wdl_car_run *c, int gets,
                      enum wdl_place_on_board place)
{
    int size = wdl_node_size(run), me = run->team->rank;
    for (; c->next < size - 1; c->next++) {
        int rank = wdl_node_rank(run, (wdl_node_place(run) + 1 + c->next) % size);
        if (!wdl_ahead_gives(&run->args, gets ? rank : me, gets ? me : rank))
            continue;
        if (!wdl_board_seen(run, rank, place))
            return WDL_AGAIN;
        if (wdl_board_length_at(run, rank, place) != wdl_board_own_length(run))
            (void) wdl_node_note(run, WDL_ERR_TRUNCATE);
    }
    return WDL_OK;
}

static int put_all(struct wdl_run *run)
{
    each(run, 0, put_to);
    wdl_ahead_keep(&run->args, run->team->rank);
    return gives_any(run) ? wdl_node_post(run, WDL_BOARD_DATA) : WDL_OK;
}

static int get_all(struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    int status = WDL_OK;
    if (wdl_node_on_board(run) && gives_any(run))
        status = wdl_node_show(run, a->src, run->shown);
    each(run, 1, get_from);
    wdl_ahead_keep(&run->args, run->team->rank);
    return a->flags & WDL_COLL_OUT_MYSYNC ? wdl_node_post(run, WDL_BOARD_DONE) : status;
}

int wdl_ahead_watch(struct wdl_run *run, struct wdl_car_run *c)
{
    if (wdl_ahead_way(run->team, &run->args) == WDL_AHEAD_PUT) {
        WDL_NODE_STEP(c, 0, put_all(run));
        return each_posts(run, c, 1, WDL_BOARD_DATA);
    }
    WDL_NODE_STEP(c, 0, get_all(run));
    return run->args.flags & WDL_COLL_OUT_MYSYNC ? each_posts(run, c, 0, WDL_BOARD_DONE) : WDL_OK;
}

/* --- between ranks that send messages --------------------------------------------------------- */

static void send_build(struct wdl_build *b, int up, int d)
{
    size_t bytes = b->args->bytes;
    struct wdl_ahead_part part = wdl_ahead_part(b->args, b->rank, up);
    int send = wdl_build_send(b, up, wdl_role(b, WDL_PHASE_DATA, d), wdl_src(part.from), bytes);
    if (send == WDL_CAR_NONE || !wdl_ready_wanted(b, bytes))
        return;
    int ready = wdl_ready_recv(b, up, wdl_role(b, WDL_PHASE_READY, d));
    if (ready == WDL_CAR_NONE)
        return;
    wdl_build_wake(b, ready, send);
    b->cars[send].ready = ready + 1;
    b->cars[send].ahead = 1;
    b->cars[send].ahead_at = part.to;
}

static void recv_build(struct wdl_build *b, int down, int d)
{
    struct wdl_ahead_part part = wdl_ahead_part(b->args, down, b->rank);
    int recv = wdl_edge_recv(b, WDL_PHASE_DATA, down, d, d, wdl_dst(part.to), b->args->bytes);
    if (recv != WDL_CAR_NONE && wdl_ready_wanted(b, b->args->bytes))
        b->cars[recv].ahead = 1;
}

/* Does anything go from one to another of our node? */
static int moves_within(const struct wdl_build *b)
{
    const struct wdl_nodes *nodes = b->team->nodes;
    if (!nodes || wdl_levels_alone(b))
        return 0;
    return wdl_flow_of(b->args) == WDL_FLOW_ALL || nodes->node_of[b->args->root] == nodes->mine;
}

void wdl_ahead_build(struct wdl_build *b)
{
    const struct wdl_coll_args *args = b->args;
    b->far = b->team->nodes != NULL;
    for (int d = 1; d < b->size; d++) {
        struct wdl_pattern_step step = wdl_pattern_pairwise(b->size, b->rank, d - 1);
        int up = step.to, down = step.from;
        if (wdl_ahead_gives(args, b->rank, up))
            send_build(b, up, d);
        if (wdl_ahead_gives(args, down, b->rank))
            recv_build(b, down, d);
    }
    b->far = 0;
    if (moves_within(b)) {
        wdl_all_node(b);
    } else if (wdl_ahead_gives(args, b->rank, b->rank)) {
        struct wdl_ahead_part part = wdl_ahead_part(args, b->rank, b->rank);
        wdl_build_copy(b, wdl_dst(part.to), wdl_src(part.from), args->bytes);
    }
}
