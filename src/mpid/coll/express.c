/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The express lane: a collective among the ranks of a node whose caller waits for it. It is
 * what select.c's row "node" would run, with the same number on the same boards, but without
 * request, graph and lists: there is one run for it in each team, and the caller steps it.
 */
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
