/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The express lane: a collective among the ranks of a node whose caller waits for it. It is
 * what select.c's row "node" would run, with the same number on the same boards, but without
 * request, graph and lists: there is one run for it in each team, and the caller steps it.
 */
#include <string.h>
#include "base/copy.h"
#include "base/line.h"
#include "base/relax.h"
#include "mpid/coll/fail.h"
#include "mpid/coll/node.h"
#include "mpid/coll/parts.h"

enum { DATA, ENTRY, EXIT, CARS }; /* of the run */

void wdl_express_make(struct wdl_team *team)
{
    const struct wdl_host *host = &team->coll->host;
    struct wdl_run *run = host->ops->alloc(host->ctx, sizeof(*run) + CARS * sizeof(run->cars[0]));
    team->express = run; /* without memory for it there is no express lane for this rank */
    if (!run)
        return;
    wdl_list_init(&run->link);
    run->team = team;
    run->cars_left = run->users_left = 1;
    run->cars[DATA].run = run;
}

/* Synchronized as MPI's are, or all ranks with all. */
static int has_flags(uint32_t flags)
{
    uint32_t in = flags & WDL_COLL_IN_ALLSYNC ? WDL_COLL_IN_ALLSYNC : WDL_COLL_IN_MYSYNC;
    uint32_t out = flags & WDL_COLL_OUT_ALLSYNC ? WDL_COLL_OUT_ALLSYNC : WDL_COLL_OUT_MYSYNC;
    uint32_t more = WDL_COLL_EXCLUSIVE | WDL_COLL_SRC_GIVEN | WDL_COLL_DST_GIVEN;
    return (flags & ~more) == (in | out | WDL_COLL_LOCAL);
}

static int takes(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    return has_flags(args->flags) && !args->before && !args->after && !args->release &&
           !args->algorithm && !team->coll->preferred[args->kind];
}

/* Between entry and exit; the CARs' states tell where we are. */
static int synced(struct wdl_run *run, struct wdl_car_run *c)
{
    struct wdl_car_run *entry = &run->cars[ENTRY], *exit = &run->cars[EXIT];
    uint32_t flags = run->args.flags;
    if (entry->state != WDL_CAR_COMPLETE) {
        if (flags & WDL_COLL_IN_ALLSYNC && wdl_node_entry(run, entry) == WDL_AGAIN)
            return WDL_AGAIN;
        entry->state = WDL_CAR_COMPLETE;
    }
    if (c->state != WDL_CAR_COMPLETE) {
        int status = wdl_node_watch(run->args.kind)(run, c);
        if (status == WDL_AGAIN)
            return WDL_AGAIN;
        (void) wdl_node_note(run, status);
        c->state = WDL_CAR_COMPLETE;
    }
    return flags & WDL_COLL_OUT_ALLSYNC ? wdl_node_exit(run, exit) : WDL_OK;
}

/* Long folds want memory of their own. They are here only where it helps that their callers wait.
 */
static int has_room(struct wdl_run *run)
{
    if (!wdl_parts_would_fold(run))
        return 0;
    run->tmp = wdl_store_make(&run->team->coll->store, wdl_node_fold_room(&run->args));
    return run->tmp != NULL;
}

/* A barrier has no arguments, and most programs wait for no collective as often. */
static int prepare(struct wdl_run *run, const struct wdl_coll_args *args)
{
    if (args->kind == WDL_COLL_BARRIER) {
        run->args.kind = WDL_COLL_BARRIER;
        run->watch = wdl_node_barrier;
        return 1;
    }
    run->watch = wdl_node_watch(args->kind);
    if (run->watch && (args->flags & (WDL_COLL_IN_ALLSYNC | WDL_COLL_OUT_ALLSYNC)))
        run->watch = synced;
    run->shown = wdl_node_shown(run->team, args);
    run->args = *args;
    if (!run->watch)
        return 0;
    if (run->shown <= run->team->params.board_bytes)
        return 1;
    return run->team->params.shm->peek && (!wdl_coll_reduces(args->kind) || has_room(run));
}

struct wdl_run *wdl_coll_express(struct wdl_team *team, const struct wdl_coll_args *args)
{
    struct wdl_run *run = team->express;
    if (!run || !takes(team, args) || !wdl_team_is_idle(team) || !prepare(run, args))
        return NULL;
    run->seq = team->next++;
    run->stamp = ++team->started;
    wdl_board_open(run);
    run->status = WDL_OK;
    run->doom = NULL;
    run->staged = NULL;
    run->taken = 0;
    run->print =
        wdl_print_with(wdl_print_on_node(args->kind, args->root, args->flags), args->alike);
    team->prints[run->seq & ((uint32_t) team->numbers - 1)] = run->print;
    for (int i = 0; i < CARS; i++) {
        run->cars[i].step = run->cars[i].next = 0;
        run->cars[i].state = WDL_CAR_WAITING;
    }
    wdl_list_push(&team->running, &run->link);
    team->slots[run->seq & ((uint32_t) team->window - 1)] = run;
    team->coll->stats.started++;
    wdl_run_look_doomed(run);
    return run;
}

/* --- at once ---------------------------------------------------------------------------------- */

static size_t shown_by(const struct wdl_team *team, const struct wdl_coll_short *call)
{
    int each = call->kind == WDL_COLL_EXCHANGE || call->kind == WDL_COLL_SCATTER ||
               call->kind == WDL_COLL_REDUCE_SCATTER;
    if (each && call->variable) /* the vector, whose parts lie side by side */
        return call->src_blocks.at[team->size - 1] + call->src_blocks.bytes[team->size - 1];
    return each ? call->bytes * (size_t) team->size : call->bytes;
}

static int has_come(const struct wdl_run *run, int rank, int looks)
{
    while (!wdl_board_is_first(run, rank)) {
        /* where we expect it not, if we have to know */
        if ((looks <= 1 || run->args.variable) && wdl_board_has_come(run, rank))
            return 1;
        if (--looks <= 0)
            return 0;
        wdl_relax();
    }
    return 1;
}

/* ... and shown as much as we mean? */
static int has_shown(const struct wdl_run *run, int rank, size_t bytes, int looks)
{
    return has_come(run, rank, looks) && wdl_board_length(run, rank) == bytes;
}

static int have_shown(const struct wdl_run *run, int looks)
{
    size_t bytes = wdl_board_own_length(run);
    for (int rank = 0; rank < run->team->size; rank++)
        if (rank != run->team->rank && !has_shown(run, rank, bytes, looks))
            return 0;
    return 1;
}

static void show(struct wdl_run *run, const struct wdl_coll_short *call)
{
    size_t bytes = shown_by(run->team, call);
    if (bytes)
        wdl_bypass_copy(&run->team->bypass, wdl_board_sheet(run, run->team->rank), call->src,
                        bytes);
    run->team->coll->stats.copied_bytes += bytes;
    wdl_board_post(run, WDL_BOARD_DATA);
}

/* Where our part of a vector begins. */
static size_t part_at(const struct wdl_run *run, const struct wdl_coll_short *call)
{
    int me = run->team->rank;
    if (call->kind != WDL_COLL_REDUCE_SCATTER)
        return 0;
    return call->variable ? call->src_blocks.at[me] : (size_t) me * call->bytes;
}

/* From the highest rank to the lowest, as all folds go (node_fold.c). own: where our own operand
 * is, or NULL: on its board, too. */
static void fold_boards(const struct wdl_run *run, const struct wdl_coll_short *call,
                        const char *own)
{
    const struct wdl_coll_op *op = call->op;
    int rank = run->team->size - 1, me = run->team->rank;
    size_t at = part_at(run, call);
    if (op->apart && rank == 1) {
        op->apart(op->ctx, own && me == 0 ? own : wdl_board_sheet(run, 0) + at,
                  own && me == 1 ? own : wdl_board_sheet(run, 1) + at, call->dst,
                  call->bytes / op->elem_bytes);
        return;
    }
    wdl_copy(call->dst, own && rank == me ? own : wdl_board_sheet(run, rank) + at, call->bytes);
    while (--rank >= 0)
        op->fn(op->ctx, own && rank == me ? own : wdl_board_sheet(run, rank) + at, call->dst,
               call->bytes / op->elem_bytes);
}

/* A block of each: its only one, or the one for us. Our own comes from where it is. */
static size_t block_at(const struct wdl_run *run, const struct wdl_coll_short *call)
{
    return call->kind == WDL_COLL_EXCHANGE ? (size_t) run->team->rank * call->bytes : 0;
}

static void keep_block(const struct wdl_run *run, const struct wdl_coll_short *call)
{
    const char *from = (const char *) call->src + block_at(run, call);
    char *to = (char *) call->dst + (size_t) run->team->rank * call->bytes;
    if (from != to)
        wdl_copy(to, from, call->bytes);
}

static void take_blocks(const struct wdl_run *run, const struct wdl_coll_short *call)
{
    const struct wdl_team *team = run->team;
    for (int rank = 0; rank < team->size; rank++)
        if (rank != team->rank)
            wdl_copy((char *) call->dst + (size_t) rank * call->bytes,
                     wdl_board_sheet(run, rank) + block_at(run, call), call->bytes);
    team->coll->stats.copied_bytes += call->bytes * (size_t) (team->size - 1);
}

/* What the root has shown, for all or for us. */
static void take_from_root(struct wdl_run *run, const struct wdl_coll_short *call)
{
    size_t at = call->kind == WDL_COLL_SCATTER ? (size_t) run->team->rank * call->bytes : 0;
    wdl_copy(call->dst, wdl_board_sheet(run, call->root) + at, call->bytes);
    run->team->coll->stats.copied_bytes += call->bytes;
}

/* The root has nothing to wait for, or the others have not. */
static int go_rooted(struct wdl_run *run, const struct wdl_coll_short *call, int looks)
{
    int is_root = run->team->rank == call->root;
    int down = call->kind == WDL_COLL_BROADCAST || call->kind == WDL_COLL_SCATTER;
    if (is_root == down) {
        show(run, call);
        if (call->kind == WDL_COLL_SCATTER && call->dst) {
            const char *own = (const char *) call->src + (size_t) call->root * call->bytes;
            if (call->dst != own)
                wdl_copy(call->dst, own, call->bytes);
        }
        return WDL_OK;
    }
    if (down ? !has_shown(run, call->root, call->bytes, looks) : !have_shown(run, looks))
        return WDL_ERR_OP;
    if (down) {
        take_from_root(run, call);
        return WDL_OK;
    }
    if (call->kind == WDL_COLL_GATHER) {
        keep_block(run, call);
        take_blocks(run, call);
        return WDL_OK;
    }
    if (call->dst == call->src) {
        wdl_copy(wdl_board_sheet(run, call->root), call->src, call->bytes);
        run->team->coll->stats.copied_bytes += call->bytes;
    }
    fold_boards(run, call, call->dst == call->src ? NULL : call->src);
    return WDL_OK;
}

/* Where others have not come the data is on the board already when it begins the other way, whose
 * number must be this one. (To look before showing what others wait for makes all wait longer.) */
static int go_all(struct wdl_run *run, const struct wdl_coll_short *call, int looks)
{
    if (!wdl_team_is_idle(run->team))
        return WDL_ERR_OP;
    show(run, call);
    run->team->showed = run->stamp;
    if (!call->op)
        keep_block(run, call);
    if (!have_shown(run, looks))
        return WDL_ERR_OP;
    if (!call->op)
        take_blocks(run, call);
    else if (call->bytes > 0)
        fold_boards(run, call, NULL);
    return WDL_OK;
}

/* As the lane's: nothing but that all have come. */
static int go_barrier(struct wdl_run *run, int looks)
{
    struct wdl_team *team = run->team;
    if (!wdl_team_is_idle(team))
        return WDL_ERR_OP;
    wdl_board_post(run, WDL_BOARD_DATA);
    team->showed = run->stamp;
    for (int rank = 0; rank < team->size; rank++)
        if (rank != team->rank && !has_come(run, rank, looks))
            return WDL_ERR_OP;
    return WDL_OK;
}

/* --- blocks that vary --- */

/* Gathered: as everyone shows its own, and who takes it knows how long it is. */
static int have_shown_blocks(const struct wdl_run *run, const struct wdl_coll_short *call)
{
    const size_t *bytes = call->dst_blocks.bytes;
    for (int rank = 0; rank < run->team->size; rank++)
        if (rank != run->team->rank && bytes[rank] > 0 &&
            !has_shown(run, rank, bytes[rank], call->looks))
            return 0;
    return 1;
}

static int gather_blocks(struct wdl_run *run, const struct wdl_coll_short *call)
{
    const struct wdl_coll_blocks *to = &call->dst_blocks;
    int to_all = call->kind == WDL_COLL_GATHER_ALL, me = run->team->rank, size = run->team->size;
    size_t taken = 0;
    if (to_all && !wdl_team_is_idle(run->team))
        return WDL_ERR_OP;
    if (!to_all && me != call->root) {
        show(run, call);
        return WDL_OK;
    }
    for (int rank = 0; rank < size; rank++)
        if (to->bytes[rank] > run->team->params.board_bytes)
            return WDL_ERR_OP; /* its owner wants to know where it goes, or when it has gone */
    if (to->bytes[me] != call->bytes)
        return WDL_ERR_OP;
    if (to_all) {
        show(run, call);
        run->team->showed = run->stamp;
    }
    if (!have_shown_blocks(run, call))
        return WDL_ERR_OP;
    for (int rank = 0; rank < size; rank++) {
        const char *from = rank == me ? call->src : wdl_board_sheet(run, rank);
        char *here = (char *) call->dst + to->at[rank];
        if (to->bytes[rank] > 0 && from != here)
            wdl_copy(here, from, to->bytes[rank]);
        taken += rank == me ? 0 : to->bytes[rank];
    }
    run->team->coll->stats.copied_bytes += taken;
    return WDL_OK;
}

/* One for each other rank: if they are where their owner need not wait until they are taken. */
static int show_blocks(struct wdl_run *run, const struct wdl_coll_short *call)
{
    run->args.src = call->src;
    return wdl_node_show_blocks(run, &(struct wdl_node_data){.at = call->src});
}

static int has_block(const struct wdl_run *run, int rank, size_t bytes, int looks)
{
    return has_come(run, rank, looks) &&
           wdl_board_means_the_same(run, rank, WDL_BOARD_DATA) &&
           (wdl_board_is_lined(run, rank) || wdl_node_sheet(run, rank)->shown) &&
           wdl_node_block(run, rank).bytes == bytes;
}

static void take_block(struct wdl_run *run, int rank, void *here)
{
    struct wdl_sheet_block block = wdl_node_block(run, rank);
    wdl_copy(here, wdl_board_sheet(run, rank) + block.at, block.bytes);
    run->team->coll->stats.copied_bytes += block.bytes;
}

static int scatter_blocks(struct wdl_run *run, const struct wdl_coll_short *call)
{
    const struct wdl_coll_blocks *from = &call->src_blocks;
    int me = run->team->rank;
    if (me != call->root) { /* of nothing, too: the root may believe otherwise */
        if (call->bytes == 0 || !has_block(run, call->root, call->bytes, call->looks))
            return WDL_ERR_OP;
        take_block(run, call->root, call->dst);
        return WDL_OK;
    }
    const char *own = (const char *) call->src + from->at[me];
    if ((call->dst && from->bytes[me] != call->bytes) || !show_blocks(run, call))
        return WDL_ERR_OP;
    if (call->dst && call->dst != own && call->bytes > 0)
        wdl_copy(call->dst, own, call->bytes);
    return WDL_OK;
}

static int exchange_blocks(struct wdl_run *run, const struct wdl_coll_short *call)
{
    const struct wdl_coll_blocks *from = &call->src_blocks, *to = &call->dst_blocks;
    int me = run->team->rank, size = run->team->size;
    if (!wdl_team_is_idle(run->team) || from->bytes[me] != to->bytes[me] || !show_blocks(run, call))
        return WDL_ERR_OP;
    run->team->showed = run->stamp;
    for (int rank = 0; rank < size; rank++)
        if (rank != me && to->bytes[rank] > 0 &&
            !has_block(run, rank, to->bytes[rank], call->looks))
            return WDL_ERR_OP;
    for (int rank = 0; rank < size; rank++) {
        char *here = (char *) call->dst + to->at[rank];
        if (rank != me && to->bytes[rank] > 0)
            take_block(run, rank, here);
        else if (rank == me && to->bytes[me] > 0)
            wdl_copy(here, (const char *) call->src + from->at[me], to->bytes[me]);
    }
    return WDL_OK;
}

static int go_blocks(struct wdl_run *run, const struct wdl_coll_short *call)
{
    switch (call->kind) {
    case WDL_COLL_SCATTER:
        return scatter_blocks(run, call);
    case WDL_COLL_EXCHANGE:
        return exchange_blocks(run, call);
    default:
        return gather_blocks(run, call);
    }
}

/* --- all kinds --- */

/* Without the system's copies, blocks that vary go another way on all ranks. */
static int is_short(const struct wdl_team *team, const struct wdl_coll_short *call)
{
    if (call->kind == WDL_COLL_BARRIER)
        return 1;
    if (call->variable && !team->coll->site.fetches)
        return 0;
    if (call->variable && !call->op)
        return call->bytes <= team->params.board_bytes;
    size_t bytes = shown_by(team, call);
    return bytes > 0 && bytes <= team->params.board_bytes;
}

/* Of a rooted kind: do we give? */
static int gives(const struct wdl_run *run)
{
    enum wdl_coll_kind kind = run->args.kind;
    int down = kind == WDL_COLL_BROADCAST || kind == WDL_COLL_SCATTER;
    return down == (run->team->rank == run->args.root);
}

/* May we be as far ahead of others as there are lines? */
static int goes_far(const struct wdl_run *run, int gives)
{
    return !gives || wdl_board_is_lined(run, run->team->rank);
}

/* Far processors: to have a line to write takes longer than a call (base/line.h). To ask for those
 * to be read, too, which may not have been written yet, makes both sides wait. (8 bytes of two
 * ranks, far, one behind the other: gather 157 ns, so 46, both ways 51 to 167.) */
static void line_wanted(const struct wdl_run *run)
{
    enum { AHEAD = 4 };
    wdl_line_wanted(wdl_shm_line_of(run->team, run->team->rank, run->stamp + AHEAD));
}

/* On the board that a run would use, so that other ranks may come by any way. */
int wdl_coll_at_once(struct wdl_team *team, const struct wdl_coll_short *call)
{
    struct wdl_run *run = team->express;
    if (!run || !is_short(team, call) || !wdl_team_is_quiet(team) ||
        !wdl_list_empty(&team->dooms) || team->coll->preferred[call->kind])
        return WDL_ERR_OP;
    run->seq = team->next;
    run->stamp = team->started + 1;
    run->print = wdl_print_with(wdl_print_on_node(call->kind, call->root, 0), call->alike);
    run->args.kind = call->kind;
    run->args.root = call->root;
    run->args.bytes = call->bytes;
    run->args.variable = call->variable;
    run->args.src_blocks = call->src_blocks;
    if (call->kind == WDL_COLL_REDUCE_SCATTER)
        run->shown = shown_by(team, call);
    wdl_board_open(run);
    int is_rooted = wdl_coll_is_rooted(call->kind), is_giver = is_rooted && gives(run);
    int most = is_rooted && goes_far(run, is_giver) ? team->numbers : team->window;
    if (!wdl_team_has_room(team, (uint32_t) most))
        return WDL_AGAIN;
    if (is_giver && most == team->numbers)
        line_wanted(run);
    int status = call->kind == WDL_COLL_BARRIER     ? go_barrier(run, call->looks)
                 : call->variable && !call->op    ? go_blocks(run, call)
                 : wdl_coll_is_rooted(call->kind) ? go_rooted(run, call, call->looks)
                                                  : go_all(run, call, call->looks);
    if (status != WDL_OK)
        return status;
    wdl_team_went_by(team, run->print);
    return WDL_OK;
}

int wdl_coll_express_look(struct wdl_run *run)
{
    int status = run->watch(run, &run->cars[DATA]);
    if (status == WDL_AGAIN)
        return WDL_AGAIN;
    wdl_list_remove(&run->link);
    wdl_store_put(&run->team->coll->store, run->tmp);
    run->tmp = NULL;
    run->team->coll->stats.finished++;
    wdl_team_finished(run);
    return status == WDL_OK ? run->status : status;
}
