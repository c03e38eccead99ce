/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The express lane: a collective among the ranks of a node whose caller waits for it. It is
 * what select.c's row "node" would run, with the same number on the same boards, but without
 * request, graph and lists: there is one run for it in each team, and the caller steps it.
 */
#include <string.h>
#include "mpid/coll/fail.h"
#include "mpid/coll/node.h"

void wdl_express_make(struct wdl_team *team)
{
    const struct wdl_host *host = &team->coll->host;
    struct wdl_run *run = host->ops->alloc(host->ctx, sizeof(*run) + sizeof(run->cars[0]));
    team->express = run; /* without memory for it there is no express lane for this rank */
    if (!run)
        return;
    wdl_list_init(&run->link);
    run->team = team;
    run->cars_left = run->users_left = 1;
    run->cars[0].run = run;
}

static int takes(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    return args->flags == (WDL_COLL_MPI | (args->flags & WDL_COLL_EXCLUSIVE)) && !args->before &&
           !args->after && !args->release && !args->algorithm && !team->coll->preferred[args->kind];
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
    run->shown = wdl_node_shown(run->team, args);
    run->args = *args;
    if (!run->watch)
        return 0;
    /* long folds want memory of their own */
    return run->shown <= run->team->params.board_bytes ||
           (run->team->params.shm->peek && !wdl_coll_reduces(args->kind));
}

struct wdl_run *wdl_coll_express(struct wdl_team *team, const struct wdl_coll_args *args)
{
    struct wdl_run *run = team->express;
    if (!run || !takes(team, args) || !wdl_team_is_idle(team) || !prepare(run, args))
        return NULL;
    run->seq = team->next++;
    run->stamp = ++team->started;
    run->status = WDL_OK;
    run->doom = NULL;
    run->staged = NULL;
    run->taken = 0;
    run->print = wdl_print_on_node(args->kind, args->root);
    team->prints[run->seq & ((uint32_t) team->numbers - 1)] = run->print;
    run->cars[0].step = run->cars[0].next = 0;
    wdl_list_push(&team->running, &run->link);
    team->slots[run->seq & ((uint32_t) team->window - 1)] = run;
    team->coll->stats.started++;
    wdl_run_look_doomed(run);
    return run;
}

static int look_for(const struct wdl_run *run, int rank)
{
    enum { LOOKS = 60 };
    for (int looks = LOOKS; looks > 0; looks--)
        if (wdl_board_seen(run, rank, WDL_BOARD_DATA))
            return 1;
    return 0;
}

/* On the board that a run would use, so that other ranks may come by any way. */
int wdl_coll_broadcast_at_once(struct wdl_team *team, int root, void *data, size_t bytes)
{
    struct wdl_run *run = team->express;
    if (!run || bytes > team->params.board_bytes || !wdl_team_is_quiet(team) ||
        !wdl_list_empty(&team->dooms) || team->coll->preferred[WDL_COLL_BROADCAST])
        return WDL_ERR_OP;
    if (!wdl_team_has_room(team, (uint32_t) team->window))
        return WDL_AGAIN;
    run->seq = team->next;
    run->stamp = team->started + 1;
    run->print = wdl_print_on_node(WDL_COLL_BROADCAST, root);
    run->args.kind = WDL_COLL_BROADCAST;
    run->args.bytes = bytes;
    if (team->rank == root) {
        memcpy(wdl_board_sheet(run, root), data, bytes);
        wdl_board_post(run, WDL_BOARD_DATA);
    } else {
        if (!look_for(run, root) || wdl_board_length(run, root) != bytes)
            return WDL_ERR_OP;
        memcpy(data, wdl_board_sheet(run, root), bytes);
    }
    team->coll->stats.copied_bytes += bytes;
    wdl_team_went_by(team, run->print);
    return WDL_OK;
}

int wdl_coll_express_look(struct wdl_run *run)
{
    int status = run->watch(run, &run->cars[0]);
    if (status == WDL_AGAIN)
        return WDL_AGAIN;
    wdl_list_remove(&run->link);
    run->team->coll->stats.finished++;
    wdl_team_finished(run);
    return status == WDL_OK ? run->status : status;
}
