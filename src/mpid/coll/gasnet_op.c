/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * GASNet's operations: their memory, handles, stages, aggregates.
 *
 * An aggregate becomes a head, which synchronizes the entry and runs all members of one collective
 * at a time; the members of several stages; and a tail, which synchronizes the exit and has the
 * handle. They stand one behind the other in the queue of a lane.
 */
#include <string.h>
#include "mpid/coll/algo.h"
#include "mpid/coll/gasnet_impl.h"

enum { USES = 8 }; /* told apart by a handle: the low bits of an operation's address */

struct wdl_gas_op *wdl_gas_op_alloc(struct wdl_gas_team *team)
{
    const struct wdl_host *host = wdl_gas_host(team);
    struct wdl_list *node = wdl_list_pop(&team->idle);
    struct wdl_gas_op *op;
    unsigned uses = 0;
    if (node) {
        op = wdl_container_of(node, struct wdl_gas_op, link);
        uses = op->uses + 1;
        wdl_list_remove(&op->known);
    } else {
        op = host->ops->alloc(host->ctx, sizeof(*op));
        if (!op)
            return NULL;
    }
    memset(op, 0, sizeof(*op));
    op->uses = uses;
    op->team = team;
    op->state = WDL_GAS_RUNNING;
    op->args.local = op;
    wdl_list_init(&op->link);
    wdl_list_init(&op->members);
    wdl_list_push(&team->all, &op->known);
    return op;
}

static enum wdl_gas_error flags_error(int flags, int more)
{
    int in = flags & WDL_COLL_IN, out = flags & WDL_COLL_OUT;
    int scope = flags & (WDL_COLL_SINGLE | WDL_COLL_LOCAL);
    int known = WDL_COLL_IN | WDL_COLL_OUT | WDL_COLL_SINGLE | WDL_COLL_LOCAL | WDL_GAS_AGGREGATE |
                WDL_GAS_DST_IN_SEGMENT | WDL_GAS_SRC_IN_SEGMENT | WDL_GAS_BLOCKING;
    if (flags & ~(known | more))
        return WDL_GAS_ERR_FLAGS;
    if (!in || !out || (in & (in - 1)) || (out & (out - 1)))
        return WDL_GAS_ERR_SYNC;
    if (!scope || (scope & (scope - 1)))
        return WDL_GAS_ERR_ADDRESSES;
    return (flags & WDL_GAS_AGGREGATE) && (flags & WDL_GAS_BLOCKING) ? WDL_GAS_ERR_AGGREGATE
                                                                     : WDL_GAS_FINE;
}

struct wdl_gas_op *wdl_gas_op_new(struct wdl_gas_team *team, int flags, int more, int staged,
                                  wdl_gas_handle *handle_out)
{
    struct wdl_gas_op *op = wdl_gas_op_alloc(team);
    enum wdl_gas_error error = flags_error(flags, more);
    if (!op) {
        *handle_out = wdl_gas_handle_of(team->nomem);
        return NULL;
    }
    op->staged = staged;
    op->aggregated = (flags & WDL_GAS_AGGREGATE) != 0;
    if (error) {
        *handle_out = wdl_gas_op_fail(op, error);
        return NULL;
    }
    op->args.flags =
        (uint32_t) flags & (WDL_COLL_IN | WDL_COLL_OUT | WDL_COLL_SINGLE | WDL_COLL_LOCAL);
    if ((flags & WDL_COLL_SINGLE) &&
        (flags & WDL_GAS_DST_IN_SEGMENT)) /* on all nodes, or on none */
        op->args.flags |= WDL_COLL_PLACED;
    return op;
}

struct piece { /* in front of a piece of memory */
    struct piece *next;
    uint64_t pad; /* what follows is aligned for anything */
};

static struct wdl_store *store_of(const struct wdl_gas_op *op)
{
    return &((struct wdl_coll *) op->team->gas->proc->coll)->store;
}

void *wdl_gas_op_memory(struct wdl_gas_op *op, size_t bytes)
{
    struct piece *piece =
        bytes > PTRDIFF_MAX ? NULL : wdl_store_zeroed(store_of(op), sizeof(*piece) + bytes);
    if (!piece)
        return NULL;
    piece->next = op->memory;
    op->memory = piece;
    return piece + 1;
}

void wdl_gas_op_memory_free(struct wdl_gas_op *op)
{
    struct piece *piece;
    while ((piece = op->memory) != NULL) {
        op->memory = piece->next;
        wdl_store_put(store_of(op), piece);
    }
}

void *const *wdl_gas_by_node(struct wdl_gas_op *op, void *const *list, enum wdl_gas_which which)
{
    const struct wdl_gas_team *team = op->team;
    void **kept = wdl_gas_op_memory(op, (size_t) team->size * sizeof(kept[0]));
    for (int i = 0; i < team->size && kept; i++)
        if (which == WDL_GAS_FIRST_IMAGE || wdl_gas_images_of(team, i) == 1)
            kept[i] = list[team->first[i]];
    return kept;
}

/* Is a node ever to look for another's memory? Not where all that any shows is on boards, whichever
 * way it goes (levels.c). The same on all of a node of the machine. */
static int may_look(const struct wdl_gas_op *op)
{
    const struct wdl_team_params *params = &op->team->outer.team->params;
    size_t size = (size_t) params->size;
    int peeks = op->aggregated || (params->shm && params->shm->peek); /* lanes: perhaps */
    return peeks &&
           (op->args.variable || op->args.bytes > params->board_bytes / (size * (size + 1)));
}

int wdl_gas_give(struct wdl_gas_op *op, void *const *srclist, void *const *dstlist,
                 enum wdl_gas_which which, uint32_t given)
{
    struct wdl_coll_args *args = &op->args;
    int looks = !(srclist || dstlist) || may_look(op);
    if (looks)
        args->flags |= given;
    if (looks && srclist && !args->src_of && !(args->src_of = wdl_gas_by_node(op, srclist, which)))
        return WDL_ERR_NOMEM;
    if (looks && dstlist && !args->dst_of && !(args->dst_of = wdl_gas_by_node(op, dstlist, which)))
        return WDL_ERR_NOMEM;
    return WDL_OK;
}

void wdl_gas_alike(struct wdl_gas_op *op, void *const *list, const void *at)
{
    const struct wdl_team_params *params = &op->team->params;
    struct wdl_coll_args *args = &op->args;
    if (!(args->flags & WDL_COLL_SINGLE))
        return;
    for (size_t i = 0; list && i < wdl_gas_images(op->team); i++)
        args->alike = wdl_alike_add(args->alike, wdl_stands_for(params, list[i]));
    if (!list)
        args->alike = wdl_alike_add(args->alike, wdl_stands_for(params, at));
}

static void op_recycle(struct wdl_gas_op *op)
{
    wdl_assert(wdl_list_empty(&op->link));
    wdl_gas_op_memory_free(op);
    wdl_list_push_front(&op->team->idle, &op->link);
}

void wdl_gas_op_free(struct wdl_gas_op *op)
{
    struct wdl_list *node;
    while ((node = wdl_list_pop(&op->members)) != NULL)
        wdl_gas_op_free(wdl_container_of(node, struct wdl_gas_op, link));
    op->state = WDL_GAS_IDLE;
    if (op->holds == 0)
        op_recycle(op);
}

static void op_release(void *local)
{
    struct wdl_gas_op *op = local;
    if (--op->holds == 0 && op->state == WDL_GAS_IDLE)
        op_recycle(op);
}

/* Start a collective that may use the operation args->local after it is done. */
static int op_engine(struct wdl_team *team, const struct wdl_coll_args *args,
                     struct wdl_coll_req *req)
{
    struct wdl_gas_op *op = args->local;
    struct wdl_coll_args held = *args;
    if (!op)
        return wdl_coll_start(team, args, req);
    held.release = op_release;
    op->holds++;
    int status = wdl_coll_start(team, &held, req);
    if (status != WDL_OK)
        op->holds--;
    return status;
}

enum wdl_gas_error wdl_gas_error_of(int status)
{
    return status == WDL_OK             ? WDL_GAS_FINE
           : status == WDL_ERR_NOMEM    ? WDL_GAS_ERR_NOMEM
           : status == WDL_ERR_TRUNCATE ? WDL_GAS_ERR_MISMATCH
                                        : WDL_GAS_ERR_NETWORK;
}

static void op_done(struct wdl_gas_op *op)
{
    op->state = WDL_GAS_DONE;
    if (op->all && op->error)
        op->all->error = op->error;
    if (op->vacant)
        wdl_gas_op_free(op);
}

static wdl_gas_handle op_failed(struct wdl_gas_op *op, enum wdl_gas_error error)
{
    op->error = error;
    op_done(op);
    return wdl_gas_handle_of(op);
}

/* --- stages --- */

static int tail_next(struct wdl_gas_op *tail);

/* It goes no further here. Others may, and wait there; their numbers in the lane are not ours any
 * more, and who asks hears that. */
static void stage_give_up(const struct wdl_gas_op *op)
{
    struct wdl_team *team = op->lane->engine.team;
    if (!op->all_begun && team->status == WDL_OK)
        wdl_team_close(team, WDL_ERR_TRUNCATE);
}

static void stage_begin(struct wdl_gas_op *op)
{
    op->left++; /* held while the stage is begun: it may be done in the call */
    int goes_on = !op->error || (op->next == tail_next && op->stage == 0); /* others wait there */
    int more = goes_on ? op->next(op) : WDL_GAS_END;
    op->left--;
    if (!goes_on)
        stage_give_up(op);
    op->stage++;
    op->ending = more == WDL_GAS_END || more == WDL_GAS_LAST;
    if (!op->ending && more != WDL_OK)
        op->error = wdl_gas_error_of(more);
}

/* The first in the queue goes to its next stage once all of the one before is done. It leaves when
 * it has begun its last; a part of an aggregate when that is done: what follows stands on it. */
static void lane_run(struct wdl_gas_lane *lane)
{
    while (!wdl_list_empty(&lane->queue)) {
        struct wdl_gas_op *op = wdl_container_of(lane->queue.next, struct wdl_gas_op, link);
        if (op->left > 0 && (!op->ending || op->all))
            return;
        if (!op->ending) {
            stage_begin(op);
            continue;
        }
        wdl_list_remove(&op->link);
        if (op->all)
            wdl_list_push(&op->all->members, &op->link);
        if (op->left == 0)
            op_done(op);
    }
}

static void stage_done(struct wdl_coll_req *req)
{
    struct wdl_gas_op *op = req->ctx;
    if (req->status != WDL_OK && !op->error)
        op->error = wdl_gas_error_of(req->status);
    op->left--;
    if (op->left == 0 && op->ending && !op->all)
        op_done(op);
    else
        lane_run(op->lane);
}

int wdl_gas_stage_start(struct wdl_gas_op *op, const struct wdl_coll_args *args,
                        struct wdl_coll_req *req)
{
    struct wdl_coll_args held = *args;
    if (!held.local)
        held.local = op; /* what it moves may be the operation's own */
    held.own |= op->args.own; /* what follows a stage is called when that is done */
    held.call = op->args.call;
    held.alike = held.alike ? held.alike : op->args.alike;
    op->left++;
    req->fn = stage_done;
    req->ctx = op;
    int status = op_engine(op->lane->engine.team, &held, req);
    if (status != WDL_OK)
        op->left--;
    return status;
}

int wdl_gas_stage_last(struct wdl_gas_op *op, const struct wdl_coll_args *args)
{
    int status = wdl_gas_stage_start(op, args, &op->req);
    return status == WDL_OK ? WDL_GAS_LAST : status;
}

int wdl_gas_stage_fail(struct wdl_gas_op *op, enum wdl_gas_error error)
{
    struct wdl_coll_args empty = {.kind = WDL_COLL_BARRIER, .wrong = WDL_COLL_WRONG};
    op->error = error;
    return wdl_gas_stage_last(op, &empty);
}

uint32_t wdl_gas_stage_flags(const struct wdl_gas_op *op, int first, int last)
{
    uint32_t flags = op->args.flags & (WDL_COLL_SINGLE | WDL_COLL_LOCAL);
    flags |= first ? op->args.flags & WDL_COLL_IN : WDL_COLL_IN_MYSYNC;
    return flags | (last ? op->args.flags & WDL_COLL_OUT : WDL_COLL_OUT_MYSYNC);
}

static struct wdl_gas_lane *lane_next(struct wdl_gas_team *team)
{
    return &team->lanes[team->turn++ % WDL_GAS_LANES];
}

static void queue_push(struct wdl_gas_lane *lane, struct wdl_gas_op *op)
{
    op->lane = lane;
    op->args.call = op->team->calls;
    wdl_list_push(&lane->queue, &op->link);
    if (lane->queue.next == &op->link)
        lane_run(lane);
}

/* --- aggregates --- */

static void add_nothing(void *ctx, const void *left, void *inout, size_t count)
{
    (void) ctx;
    (void) left;
    (void) inout;
    (void) count;
}

/* What an aggregate's beginning has to ask, where a member has gone wrong here. */
struct roll {
    uint32_t words[2];
    char vacant[]; /* the members */
};

/* Is the member vacant on all nodes, or on none? As long as that says, where lengths differ the
 * ranks do not mean the same; and of a kind that no member is. */
static int roll_call(struct wdl_gas_op *head)
{
    struct roll *roll = head->own;
    size_t bytes = roll->vacant[head->stage] ? sizeof(roll->words) : sizeof(roll->words[0]);
    struct wdl_coll_args args = {.kind = WDL_COLL_ALLREDUCE,
                                 .flags = WDL_COLL_MPI,
                                 .src = roll->words,
                                 .dst = roll->words,
                                 .bytes = bytes,
                                 .op = {add_nothing, NULL, sizeof(roll->words[0]), WDL_COLL_EXACT,
                                        NULL}};
    return wdl_gas_stage_start(head, &args, &head->req);
}

/* What goes together depends on whether the ranks share a node, which each of them knows once the
 * lane's team is open there. */
static int await_lane(struct wdl_gas_op *head)
{
    head->awaited = 1;
    head->left++;
    head->req.fn = stage_done;
    head->req.ctx = head;
    int status = wdl_team_await(head->lane->engine.team, &head->req);
    if (status != WDL_OK)
        head->left--;
    return status;
}

static int head_next(struct wdl_gas_op *head)
{
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER};
    int stage = head->stage - head->called - head->awaited;
    if (stage < 0)
        return roll_call(head);
    if (stage == 0)
        return head->args.flags & WDL_COLL_IN_ALLSYNC
                   ? wdl_gas_stage_start(head, &barrier, &head->req)
                   : WDL_OK;
    if (stage > 1)
        return WDL_GAS_END;
    if (!head->lane->engine.team->open)
        return await_lane(head);
    int status = wdl_gas_bundles_start(head, &head->members);
    head->all_begun = status == WDL_OK;
    return status;
}

/* Where all has gone to one root that one knows when all has moved. */
static int tail_next(struct wdl_gas_op *tail)
{
    struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER};
    struct wdl_coll_args over = {.kind = WDL_COLL_BROADCAST, /* of no bytes */
                                 .flags = WDL_COLL_MPI,
                                 .root = tail->args.root,
                                 .src = tail,
                                 .dst = tail};
    if (!(tail->args.flags & WDL_COLL_OUT_ALLSYNC))
        return WDL_GAS_END;
    return wdl_gas_stage_last(tail, tail->args.root < 0 ? &barrier : &over);
}

/* Where a member has gone wrong, has the same one on all nodes? Their aggregates have other stages
 * otherwise. Nobody is asked where none has. WDL_OK or ERR_NOMEM. */
static int roll_make(struct wdl_gas_op *head, const struct wdl_list *members)
{
    int count = 0, vacant = 0;
    struct wdl_list *node;
    wdl_list_for (node, members) {
        vacant |= wdl_container_of(node, struct wdl_gas_op, link)->vacant;
        count++;
    }
    if (!vacant)
        return WDL_OK;
    struct roll *roll = head->own = wdl_gas_op_memory(head, sizeof(*roll) + (size_t) count);
    if (!roll)
        return WDL_ERR_NOMEM;
    char *at = roll->vacant;
    head->called = count;
    wdl_list_for (node, members)
        *at++ = (char) wdl_container_of(node, struct wdl_gas_op, link)->vacant;
    return WDL_OK;
}

/* A member synchronizes nothing that the head or the tail does for all, and nothing that none of
 * them asks for. */
static void member_weaken(struct wdl_gas_op *member, uint32_t all)
{
    uint32_t in = WDL_COLL_IN_MYSYNC | WDL_COLL_IN_ALLSYNC;
    uint32_t out = WDL_COLL_OUT_MYSYNC | WDL_COLL_OUT_ALLSYNC;
    member->args.flags = (member->args.flags & ~(WDL_COLL_IN | WDL_COLL_OUT)) |
                         (all & in ? WDL_COLL_IN_MYSYNC : WDL_COLL_IN_NOSYNC) |
                         (all & out ? WDL_COLL_OUT_MYSYNC : WDL_COLL_OUT_NOSYNC);
}

/* The root of all members, if all are collectives to one; or -1. */
static int root_of(const struct wdl_list *members)
{
    int root = -1;
    struct wdl_list *node;
    wdl_list_for (node, members) {
        const struct wdl_gas_op *member = wdl_container_of(node, struct wdl_gas_op, link);
        int goes_up = !member->next && wdl_flow_of(&member->args) == WDL_FLOW_UP;
        if (!goes_up || (root >= 0 && root != member->args.root))
            return -1;
        root = member->args.root;
    }
    return root;
}

/* vacant: its last member has gone wrong; nobody has the handle. */
static wdl_gas_handle aggregate_close(struct wdl_gas_team *team, int vacant)
{
    struct wdl_gas_op *head = wdl_gas_op_alloc(team), *tail = wdl_gas_op_alloc(team);
    struct wdl_list *node, *after, staged;
    uint32_t all = 0;
    if (!head || !tail || roll_make(head, &team->open) != WDL_OK)
        return wdl_gas_handle_of(team->nomem);
    tail->vacant = vacant;
    wdl_list_init(&staged);
    wdl_list_for (node, &team->open)
        all |= wdl_container_of(node, struct wdl_gas_op, link)->args.flags;
    head->args.flags = tail->args.flags = all;
    tail->args.root = root_of(&team->open);
    head->next = head_next;
    tail->next = tail_next;
    head->all = tail;
    wdl_list_for_safe (node, after, &team->open) {
        struct wdl_gas_op *member = wdl_container_of(node, struct wdl_gas_op, link);
        wdl_list_remove(node);
        member_weaken(member, all);
        member->all = tail;
        wdl_list_push(member->next ? &staged : &head->members, node);
    }
    struct wdl_gas_lane *lane = lane_next(team);
    team->calls++;
    queue_push(lane, head);
    while ((node = wdl_list_pop(&staged)) != NULL)
        queue_push(lane, wdl_container_of(node, struct wdl_gas_op, link));
    queue_push(lane, tail);
    return wdl_gas_handle_of(tail);
}

static void single_done(struct wdl_coll_req *req)
{
    struct wdl_gas_op *op = wdl_container_of(req, struct wdl_gas_op, req);
    if (req->status != WDL_OK && !op->error)
        op->error = wdl_gas_error_of(req->status);
    op_done(op);
}

/* Into the open aggregate, if there is one or this begins one: 1 and its handle. */
static int aggregated(struct wdl_gas_op *op, int flags, wdl_gas_handle *handle_out)
{
    struct wdl_gas_team *team = op->team;
    if (!(flags & WDL_GAS_AGGREGATE) && wdl_list_empty(&team->open))
        return 0;
    wdl_list_push(&team->open, &op->link);
    *handle_out = flags & WDL_GAS_AGGREGATE ? NULL : aggregate_close(team, 0);
    return 1;
}

wdl_gas_handle wdl_gas_op_begin(struct wdl_gas_op *op)
{
    op->req.fn = single_done;
    op->args.call = ++op->team->calls;
    int status = op_engine(op->team->outer.team, &op->args, &op->req);
    return status == WDL_OK ? wdl_gas_handle_of(op) : op_failed(op, wdl_gas_error_of(status));
}

static int vacant_next(struct wdl_gas_op *op)
{
    return wdl_gas_stage_last(op, &op->args);
}

/* The place of one that has gone wrong: other nodes wait for something there. */
static void vacant_start(struct wdl_gas_team *team, int staged, int aggregated)
{
    struct wdl_gas_op *vacant = wdl_gas_op_alloc(team);
    if (!vacant)
        return;
    vacant->vacant = 1;
    vacant->args.kind = WDL_COLL_BARRIER;
    vacant->args.wrong = staged ? WDL_COLL_WRONG_SEQUENCE : WDL_COLL_WRONG;
    if (aggregated || !wdl_list_empty(&team->open)) {
        wdl_list_push(&team->open, &vacant->link);
        if (!aggregated)
            (void) aggregate_close(team, 1);
    } else if (staged) {
        (void) wdl_gas_op_stages(vacant, 0, vacant_next);
    } else {
        (void) wdl_gas_op_begin(vacant);
    }
}

/* What does not belong into an aggregate does not begin one. */
wdl_gas_handle wdl_gas_op_fail(struct wdl_gas_op *op, enum wdl_gas_error error)
{
    struct wdl_gas_team *team = op->team;
    if (error != WDL_GAS_ERR_AGGREGATE || !wdl_list_empty(&team->open))
        vacant_start(team, op->staged, op->aggregated);
    return op_failed(op, error);
}

wdl_gas_handle wdl_gas_op_start(struct wdl_gas_op *op, int flags)
{
    wdl_gas_handle handle;
    return aggregated(op, flags, &handle) ? handle : wdl_gas_op_begin(op);
}

wdl_gas_handle wdl_gas_op_stages(struct wdl_gas_op *op, int flags,
                                 int (*next)(struct wdl_gas_op *op))
{
    wdl_gas_handle handle;
    op->next = next;
    if (aggregated(op, flags, &handle))
        return handle;
    op->team->calls++;
    queue_push(lane_next(op->team), op);
    return wdl_gas_handle_of(op);
}

/* --- handles --- */

wdl_gas_handle wdl_gas_handle_of(struct wdl_gas_op *op)
{
    wdl_static_assert(_Alignof(struct wdl_gas_op) >= USES);
    return (wdl_gas_handle) (void *) ((char *) op + op->uses % USES);
}

/* NULL: it is dead. */
static struct wdl_gas_op *op_of(wdl_gas_handle handle)
{
    uintptr_t word = (uintptr_t) handle;
    struct wdl_gas_op *op = (struct wdl_gas_op *) (word & ~(uintptr_t) (USES - 1));
    return op->state != WDL_GAS_IDLE && op->uses % USES == word % USES ? op : NULL;
}

int wdl_gas_try_sync(wdl_gas_handle handle, enum wdl_gas_error *error_out)
{
    *error_out = WDL_GAS_FINE;
    if (!handle)
        return 1;
    struct wdl_gas_op *op = op_of(handle);
    if (!op) {
        *error_out = WDL_GAS_ERR_HANDLE;
        return 1;
    }
    if (op->state != WDL_GAS_DONE)
        return 0;
    *error_out = op->error;
    if (op != op->team->nomem)
        wdl_gas_op_free(op);
    return 1;
}

enum wdl_gas_error wdl_gas_early(wdl_gas_handle handle)
{
    struct wdl_gas_op *op = handle ? op_of(handle) : NULL;
    return op && op->state == WDL_GAS_DONE ? op->error : WDL_GAS_FINE;
}

void **wdl_gas_client(wdl_gas_handle handle)
{
    struct wdl_gas_op *op = handle ? op_of(handle) : NULL;
    return op ? op->client : NULL;
}
