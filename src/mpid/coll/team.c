/* Part of Windlass. See COPYRIGHT in the top-level directory. The module, teams, their sequence
 * and credit. */
#include <string.h>
#include "mpid/coll/algo.h"
#include "mpid/coll/contact.h"
#include "mpid/coll/direct.h"
#include "mpid/coll/early.h"
#include "mpid/coll/fail.h"
#include "mpid/coll/nodes.h"
#include "mpid/coll/pattern.h"
#include "mpid/coll/staging.h"

enum {
    WINDOW = 64,
    WINDOW_MIN = 8,
    NUMBERS = 128,
    CELL_BYTES = 256,
    BOARD_BYTES = 2048,
    STAGING_BYTES = 1 << 20,
    PHASES_DATA = 2,
    PHASES_FLAG = 6,
    LINKS_FEW = 16,
    /* limits of a process */
    RUN_BYTES = 128 << 10, /* a window of runs of a few CARs */
    EARLY_PLACES = 256,
    STRAYS = 1 << 16,
    LATE_BYTES = 64 << 20
};

/* The head of coll_impl.h: every how many collectives one must carry credit; and how far before one
 * of another kind all are finished when it starts. Twice that is less than W, and so what comes
 * between may start while the last credit is on its way. */
static uint32_t credit_every(const struct wdl_team *team)
{
    return (uint32_t) team->window * 3 / 8;
}

/* All before the empty collective `done`, if it is one, are finished here. */
static void credit_go(struct wdl_team *team)
{
    struct wdl_run *run = team->slots[team->done & ((uint32_t) team->window - 1)];
    if (run && run->graph && run->graph->syncs == WDL_SYNCS_ALL)
        wdl_run_go(run);
}

int wdl_coll_init(struct wdl_proc *proc)
{
    const struct wdl_host *host = &proc->host;
    struct wdl_coll *coll = host->ops->alloc(host->ctx, sizeof(*coll));
    if (!coll)
        return WDL_ERR_NOMEM;
    coll->proc = proc;
    coll->model = (struct wdl_coll_model){1500, 400, 0.1, 0.25, 0};
    coll->site = (struct wdl_coll_site){.nodes = 1};
    coll->wins = &wdl_coll_wins_measured;
    coll->host = proc->host;
    coll->limits = (struct wdl_coll_limits){RUN_BYTES, EARLY_PLACES, STRAYS, LATE_BYTES};
    wdl_store_init(&coll->store, &coll->host);
    wdl_store_init(&coll->runs, &coll->host);
    wdl_list_init(&coll->dry);
    for (int i = 0; i < WDL_COLL_BUCKETS; i++)
        wdl_list_init(&coll->teams[i]);
    wdl_list_init(&coll->kicks);
    wdl_list_init(&coll->waiting);
    wdl_list_init(&coll->ready);
    wdl_list_init(&coll->stalled);
    wdl_list_init(&coll->polled);
    wdl_list_init(&coll->questions);
    wdl_list_init(&coll->unlent);
    wdl_list_init(&coll->strays);
    wdl_list_init(&coll->late);
    wdl_list_init(&coll->own_cars);
    wdl_list_init(&coll->own_ends);
    wdl_list_init(&coll->regions);
    for (int i = 0; i < WDL_COLL_BUCKETS; i++)
        wdl_list_init(&coll->keys[i]);
    wdl_list_init(&coll->sends_free);
    for (int i = 0; i < WDL_COLL_SENDS; i++)
        wdl_list_push(&coll->sends_free, &coll->sends[i].link);
    wdl_list_init(&coll->flags_free);
    for (int i = 0; i < WDL_COLL_FLAGS; i++)
        wdl_list_push(&coll->flags_free, &coll->flags[i].link);
    wdl_list_init(&coll->slabs);
    wdl_list_init(&coll->shares);
    wdl_assert_cmp(proc->am_payload_max, >, sizeof(struct wdl_coll_pkt) + 256);
    coll->chunk_bytes = (proc->am_payload_max - sizeof(struct wdl_coll_pkt)) & ~(size_t) 63;
    proc->coll = coll;
    wdl_am_register(proc, WDL_AM_COLL, wdl_coll_handle, coll);
    wdl_step_register(proc, WDL_AM_COLL, wdl_coll_step, coll);
    return WDL_OK;
}

void wdl_coll_host(struct wdl_proc *proc, const struct wdl_host *host)
{
    ((struct wdl_coll *) proc->coll)->host = *host;
}

void wdl_coll_limit(struct wdl_proc *proc, const struct wdl_coll_limits *limits)
{
    ((struct wdl_coll *) proc->coll)->limits = *limits;
}

void wdl_coll_fini(struct wdl_proc *proc)
{
    struct wdl_coll *coll = proc->coll;
    const struct wdl_host *host = &proc->host;
    struct wdl_list *node;
    int sends = 0, flags = 0;
    for (int i = 0; i < WDL_COLL_BUCKETS; i++)
        wdl_assert(wdl_list_empty(&coll->teams[i]));
    wdl_assert(wdl_list_empty(&coll->ready) && wdl_list_empty(&coll->stalled));
    wdl_assert(wdl_list_empty(&coll->polled) && wdl_list_empty(&coll->own_cars));
    wdl_list_for (node, &coll->sends_free)
        sends++;
    wdl_assert_cmp(sends, ==, WDL_COLL_SENDS);
    wdl_list_for (node, &coll->flags_free)
        flags++;
    wdl_assert_cmp(flags, ==, WDL_COLL_FLAGS);
    /* flags for a team that was never made here: malformed, or another rank's mistake */
    while ((node = wdl_list_pop(&coll->strays)) != NULL)
        wdl_store_put(&coll->store, wdl_container_of(node, struct wdl_coll_stray, link));
    while ((node = wdl_list_pop(&coll->late)) != NULL) /* nobody has asked for it since */
        coll->host.ops->free(coll->host.ctx, wdl_container_of(node, struct wdl_coll_stray, link));
    wdl_contact_fini(coll);
    wdl_direct_fini(coll);
    wdl_early_pool_free(coll);
    wdl_store_fini(&coll->store);
    wdl_store_fini(&coll->runs);
    wdl_am_register(proc, WDL_AM_COLL, NULL, NULL);
    wdl_step_register(proc, WDL_AM_COLL, NULL, NULL);
    proc->coll = NULL;
    host->ops->free(host->ctx, coll);
}

const struct wdl_coll_stats *wdl_coll_stats(struct wdl_proc *proc)
{
    struct wdl_coll *coll = proc->coll;
    coll->stats.memory = coll->store.held + coll->runs.held;
    coll->stats.memory_used = coll->store.used + coll->runs.used;
    coll->stats.memory_high = coll->store.high + coll->runs.high;
    return &coll->stats;
}

static void team_drop(struct wdl_team *team)
{
    const struct wdl_host *host = &team->coll->host;
    while (!wdl_list_empty(&team->graphs))
        wdl_graph_free(team, wdl_container_of(team->graphs.next, struct wdl_graph, link));
    if (team->cells)
        wdl_cells_free(team);
    host->ops->free(host->ctx, team->cards);
    host->ops->free(host->ctx, team->express);
    wdl_staging_free(team);
    wdl_contacts_free(team);
    host->ops->free(host->ctx, team->node);
    host->ops->free(host->ctx, team->nodes);
    host->ops->free(host->ctx, team->slots);
    host->ops->free(host->ctx, team->finished);
    host->ops->free(host->ctx, team->prints);
    wdl_team_dooms_free(team);
    wdl_list_remove(&team->link);
    wdl_list_remove(&team->kick);
    wdl_list_remove(&team->wait);
    wdl_list_remove(&team->dry);
    host->ops->free(host->ctx, team);
}

/* Enough roles a phase for dissemination in any time, for the tree, and for each other where there
 * are few. */
static int links_for(int size, int children, int steps)
{
    int links = wdl_pattern_rounds(size, 2) + 1;
    if (links < children + 1)
        links = children + 1;
    if (links < steps)
        links = steps;
    return links > LINKS_FEW ? links : size < LINKS_FEW ? size + 1 : LINKS_FEW;
}

/* What follows from coll and params alone. */
void wdl_team_shape(struct wdl_team *team)
{
    size_t chunk = team->coll->chunk_bytes;
    if (!team->params.cell_bytes)
        team->params.cell_bytes = CELL_BYTES;
    if (!team->params.board_bytes)
        team->params.board_bytes = BOARD_BYTES;
    if (!team->params.staging_bytes)
        team->params.staging_bytes = STAGING_BYTES;
    if (team->params.cell_bytes > chunk)
        team->params.cell_bytes = chunk;
    team->rank = team->params.rank;
    team->size = team->params.size;
    team->window = team->params.window ? team->params.window : WINDOW;
    wdl_assert_cmp(team->window, >=, WINDOW_MIN);
    wdl_assert_cmp(team->window & (team->window - 1), ==, 0);
    team->numbers = team->window > NUMBERS ? team->window : NUMBERS;
    if (team->params.model.latency <= 0)
        team->params.model = team->coll->model;
    wdl_span_make(team, team->size, 0, &team->span);
    team->links = links_for(team->size, team->span.tree[WDL_SPAN_OPTIMAL].children,
                            team->span.spread.steps);
    team->data_roles = (uint32_t) (PHASES_DATA * team->links);
    team->cell_roles = team->data_roles + (uint32_t) (PHASES_FLAG * team->links);
    team->board_at = wdl_shm_board_at(team);
    team->slot_bytes = wdl_shm_slot_bytes(team);
    team->lines_at = wdl_shm_lines_at(team);
}

static int team_begin(struct wdl_team *team)
{
    struct wdl_graph *g = wdl_select_credit(team, 1);
    if (!g)
        return WDL_ERR_NOMEM;
    wdl_coll_strays_give(team);
    team->sync = team->next++;
    return wdl_run_start(team, g, NULL, team->sync);
}

static uint64_t stamp_add(uint64_t stamp, uint64_t word)
{
    stamp = (stamp ^ word) * 0x9e3779b97f4a7c15u;
    return stamp ^ stamp >> 29;
}

/* The same on all ranks, and never 0. Of another team of this id that any of them has been in, the
 * cards differ where the ranks do not. */
static uint64_t stamp_of(const struct wdl_team *team)
{
    uint64_t stamp = stamp_add(team->params.id, (uint64_t) team->size);
    for (int r = 0; r < team->size && team->size > 1; r++) { /* nobody asks who is alone */
        stamp = stamp_add(stamp, (uint64_t) team->params.peer_of(team->params.ctx, r));
        stamp = stamp_add(stamp, team->cards ? team->cards[r] : 0);
    }
    return stamp | 1;
}

/* Above what its host says: how many teams this process has made. */
static uint64_t card_of(struct wdl_coll *coll, uint64_t card)
{
    wdl_assert(card >> WDL_CARD_BITS == 0);
    return card | coll->made << WDL_CARD_BITS;
}

int wdl_team_create(struct wdl_proc *proc, const struct wdl_team_params *params,
                    struct wdl_team **team_out)
{
    struct wdl_coll *coll = proc->coll;
    const struct wdl_host *host = &coll->host;
    struct wdl_team *team = host->ops->alloc(host->ctx, sizeof(*team));
    *team_out = NULL;
    if (!team)
        return WDL_ERR_NOMEM;
    team->coll = coll;
    wdl_bypass_init(&team->bypass, proc->host.ops->now_ns, proc->host.ctx); /* coll's is memory */
    team->params = *params;
    team->params.card = card_of(coll, params->card);
    coll->made++;
    wdl_team_shape(team);
    team->next = team->done = team->low = params->first_seq;
    wdl_list_init(&team->kick);
    wdl_list_init(&team->wait);
    wdl_list_init(&team->dry);
    wdl_list_init(&team->queue);
    wdl_list_init(&team->graphs);
    wdl_list_init(&team->running);
    wdl_list_init(&team->dooms);
    wdl_list_init(&team->link);
    team->slots = host->ops->alloc(host->ctx, (size_t) team->window * sizeof(team->slots[0]));
    team->finished = host->ops->alloc(host->ctx, (size_t) team->window);
    team->prints = host->ops->alloc(host->ctx, (size_t) team->numbers * sizeof(team->prints[0]));
    if (!params->opened)
        team->stamp = stamp_of(team);
    else
        team->cards = host->ops->alloc(host->ctx, (size_t) team->size * sizeof(team->cards[0]));
    if (params->shm)
        team->node = host->ops->alloc(host->ctx, (size_t) team->size * sizeof(team->node[0]));
    if (!team->slots || !team->finished || !team->prints || (params->opened && !team->cards) ||
        (params->shm && !team->node) || wdl_cells_make(team) != WDL_OK ||
        team_begin(team) != WDL_OK) {
        team_drop(team);
        return WDL_ERR_NOMEM;
    }
    wdl_list_push(&coll->teams[team->params.id % WDL_COLL_BUCKETS], &team->link);
    if (!coll->busy)
        (void) wdl_coll_step(coll);
    *team_out = team;
    return WDL_OK;
}

int wdl_team_destroy(struct wdl_team *team)
{
    if (!wdl_list_empty(&team->queue) || !wdl_list_empty(&team->running))
        return WDL_AGAIN;
    if (!wdl_list_empty(&team->dooms)) { /* who failed where we had not begun waits for us */
        if (team->status == WDL_OK)
            wdl_team_close(team, WDL_ERR_TRUNCATE);
        return WDL_AGAIN;
    }
    if (wdl_contacts_settle(team) == WDL_AGAIN)
        return WDL_AGAIN;
    wdl_team_check(team);
    wdl_team_ended(team);
    team_drop(team);
    return WDL_OK;
}

void wdl_team_check(const struct wdl_team *team)
{
    int running = 0, slots = 0;
    struct wdl_list *node;
    wdl_list_for (node, &team->running) {
        const struct wdl_run *run = wdl_container_of(node, struct wdl_run, link);
        wdl_assert(team->slots[run->seq % (uint32_t) team->window] == run);
        wdl_assert_cmp(run->seq - team->done, <, (uint32_t) team->window);
        wdl_assert_cmp(run->cars_left, >, 0);
        wdl_assert(run->users_left > 0 || !run->req);
        running++;
    }
    for (int i = 0; i < team->window; i++) {
        slots += team->slots[i] != NULL;
        wdl_assert(!(team->slots[i] && team->finished[i]));
    }
    wdl_assert_cmp(running, ==, slots);
    wdl_assert_cmp(team->done - team->low, <=, (uint32_t) team->numbers);
    wdl_assert_cmp(team->next - team->low, <=, (uint32_t) team->numbers);
    wdl_assert_cmp(team->next - team->done, <=, (uint32_t) team->window);
}

void wdl_team_kick(struct wdl_team *team)
{
    if (wdl_list_empty(&team->kick))
        wdl_list_push(&team->coll->kicks, &team->kick);
}

struct wdl_coll_args wdl_team_cards_args(const struct wdl_team *team)
{
    struct wdl_coll_args args = {.kind = WDL_COLL_GATHER_ALL, .flags = WDL_COLL_MPI};
    if (team->cards) {
        args.bytes = sizeof(team->cards[0]);
        args.src = &team->params.card;
        args.dst = team->cards;
    }
    return args;
}

/* The first collective is finished: all ranks have made the team. */
static void team_opened(struct wdl_team *team, struct wdl_graph *first)
{
    const struct wdl_host *host = &team->coll->host;
    team->open = 1;
    wdl_select_once(team, first);
    if (team->cards) {
        team->stamp = stamp_of(team);
        for (int r = 0; r < team->size; r++)
            team->cards[r] &= ((uint64_t) 1 << WDL_CARD_BITS) - 1;
        team->params.opened(team->params.opened_ctx, team->cards);
    }
    host->ops->free(host->ctx, team->cards);
    team->cards = NULL;
    team->on_node = team->node && team->size > 1 && team->size <= WDL_NODE_RANKS_MAX;
    for (int r = 0; r < team->size && team->node; r++) {
        team->node[r] = team->params.shm->segment(team->params.shm->ctx, r);
        team->on_node &= team->node[r] != NULL;
    }
    if (wdl_nodes_make(team, &team->nodes) != WDL_OK)
        wdl_team_close(team, WDL_ERR_NOMEM); /* the others go on without us */
    else if (team->on_node && !team->nodes)
        wdl_express_make(team);
}

/* By what each says of itself (shm.c). */
int wdl_team_look_low(struct wdl_team *team)
{
    uint32_t low = team->params.first_seq + wdl_shm_finished(team);
    if (low == team->low)
        return 0;
    team->low = low;
    return 1;
}

int wdl_team_has_room(struct wdl_team *team, uint32_t all)
{
    if (team->next - team->low < all)
        return 1;
    if (team->next - (team->params.first_seq + wdl_shm_finished(team)) > all / 2)
        return 0;
    return wdl_team_look_low(team);
}

/* By what this one has carried; where it has failed, others may have meant one of another kind. */
static void low_known(const struct wdl_run *run)
{
    struct wdl_team *team = run->team;
    int all = run->graph->syncs == WDL_SYNCS_ALL && run->status == WDL_OK;
    uint32_t low = run->seq - (all ? 0 : credit_every(team));
    if ((int32_t) (low - team->low) > 0)
        team->low = low;
}

void wdl_team_finished(struct wdl_run *run)
{
    struct wdl_team *team = run->team;
    uint32_t mask = (uint32_t) team->window - 1;
    wdl_assert(team->slots[run->seq & mask] == run);
    team->slots[run->seq & mask] = NULL;
    team->finished[run->seq & mask] = 1;
    while (team->done != team->next && team->finished[team->done & mask]) {
        team->finished[team->done & mask] = 0;
        team->done++;
        credit_go(team);
    }
    if (!team->open)
        team_opened(team, run->graph);
    if (team->on_node)
        wdl_shm_say_finished(team, team->done - team->params.first_seq);
    else if (run->graph->syncs)
        low_known(run);
    if (!wdl_list_empty(&team->queue))
        wdl_team_kick(team);
}

/* May the next number start, with or without credit to carry? (head of coll_impl.h) */
static int may_start(const struct wdl_team *team, int syncs)
{
    uint32_t seq = team->next, lag = credit_every(team);
    if (!team->open)
        return 0;
    if (seq - team->low >= (uint32_t) team->window)
        return 0;
    return !syncs || team->on_node || (int32_t) (seq - lag - team->done) <= 0;
}

static int can_start(struct wdl_team *team, int syncs)
{
    return may_start(team, syncs) ||
           (team->on_node && wdl_team_look_low(team) && may_start(team, syncs));
}

int wdl_team_is_quiet(const struct wdl_team *team)
{
    return team->status == WDL_OK && team->next == team->done && !team->coll->busy &&
           wdl_list_empty(&team->queue);
}

int wdl_team_is_idle(struct wdl_team *team)
{
    return wdl_team_is_quiet(team) && can_start(team, 0);
}

void wdl_team_went_by(struct wdl_team *team, uint32_t print)
{
    team->prints[team->next & ((uint32_t) team->numbers - 1)] = print;
    team->started++;
    team->done = ++team->next;
    team->coll->stats.started++;
    team->coll->stats.finished++;
    wdl_shm_say_finished(team, team->done - team->params.first_seq);
}

int wdl_teams_look(struct wdl_coll *coll)
{
    struct wdl_list *node, *after;
    int n = 0;
    wdl_list_for_safe (node, after, &coll->waiting) {
        struct wdl_team *team = wdl_container_of(node, struct wdl_team, wait);
        if (wdl_team_fails(team) && wdl_team_fail_step(team)) { /* callers may have ended teams */
            n++;
            after = coll->waiting.next;
            continue;
        }
        if (wdl_team_fails(team) ||
            (team->on_node && !wdl_list_empty(&team->queue) && !wdl_team_look_low(team)))
            continue;
        wdl_list_remove(node);
        wdl_team_kick(team);
        n++;
    }
    return n;
}

/* What has not begun, and never will. */
static void req_end(struct wdl_team *team, struct wdl_coll_req *req, int status)
{
    struct wdl_coll_args args = req->args;
    wdl_req_end(team->coll, req, status);
    if (args.release)
        args.release(args.local);
}

/* Start a graph as the next number. */
static int start_next(struct wdl_team *team, struct wdl_graph *g, struct wdl_coll_req *req)
{
    uint32_t seq = team->next;
    if (!g)
        return WDL_ERR_NOMEM;
    int syncs = g->syncs;
    team->next++;
    int status = wdl_run_start(team, g, req, seq);
    if (status == WDL_OK && syncs) /* the graph may be gone */
        team->sync = seq;
    if (status == WDL_OK && team->done == seq)
        credit_go(team);
    if (status != WDL_OK)
        team->next--;
    if (status == WDL_ERR_NOMEM && !g->kept)
        wdl_graph_free(team, g);
    return status;
}

/* All runs are in use: the first that ends kicks us. */
static void wait_for_run(struct wdl_team *team)
{
    wdl_assert(!wdl_list_empty(&team->running));
    team->coll->stats.run_waits++;
    if (wdl_list_empty(&team->dry))
        wdl_list_push(&team->coll->dry, &team->dry);
}

/* The first in the queue, if all that it waits for is that the team opens. */
static int is_opening(const struct wdl_coll_req *req)
{
    return req->args.kind == WDL_COLL_KIND_COUNT;
}

void wdl_team_start_queued(struct wdl_team *team)
{
    team->coll->busy++;
    while (!wdl_list_empty(&team->queue)) {
        struct wdl_coll_req *req = wdl_container_of(team->queue.next, struct wdl_coll_req, link);
        if (is_opening(req)) {
            if (!team->open && team->status == WDL_OK)
                break;
            wdl_list_remove(&req->link);
            req_end(team, req, team->status);
            continue;
        }
        if (team->open)
            wdl_select_place(team, &req->args);
        int status = team->status,
            row = status == WDL_OK ? wdl_select_row(team, &req->args, &status) : -1;
        if (row >= 0) {
            int syncs = wdl_select_syncs(row, &req->args);
            int credit = !syncs && !team->on_node && team->next - team->sync >= credit_every(team);
            if (!can_start(team, syncs)) {
                if (team->on_node && wdl_list_empty(&team->wait))
                    wdl_list_push(&team->coll->waiting, &team->wait);
                break;
            }
            if (credit) {
                status = start_next(team, wdl_select_credit(team, 0), NULL);
                if (status == WDL_OK)
                    continue;
            } else {
                wdl_list_remove(&req->link);
                status = start_next(team, wdl_select_graph(team, &req->args, row), req);
                if (status == WDL_OK)
                    continue;
                wdl_list_push_front(&team->queue, &req->link);
            }
            if (status == WDL_AGAIN) {
                wait_for_run(team);
                break;
            }
        }
        /* out of memory: the others go on without us; nothing after this one can be right here */
        wdl_assert_cmp(status, !=, WDL_OK);
        wdl_team_close(team, status);
        wdl_list_remove(&req->link);
        req_end(team, req, status);
    }
    team->coll->busy--;
}

static void queue_push(struct wdl_team *team, const struct wdl_coll_args *args,
                       struct wdl_coll_req *req)
{
    req->done = 0;
    req->status = WDL_OK;
    req->args = *args;
    wdl_list_push(&team->queue, &req->link);
    wdl_coll_live_add(team->coll, 1);
}

int wdl_team_await(struct wdl_team *team, struct wdl_coll_req *req)
{
    struct wdl_coll_args nothing = {.kind = WDL_COLL_KIND_COUNT};
    wdl_assert(!team->open);
    if (team->status != WDL_OK)
        return team->status;
    queue_push(team, &nothing, req);
    return WDL_OK;
}

int wdl_coll_start(struct wdl_team *team, const struct wdl_coll_args *args,
                   struct wdl_coll_req *req)
{
    struct wdl_coll *coll = team->coll;
    int status = team->status;
    if (status != WDL_OK)
        return status;
    if (wdl_select_row(team, args, &status) < 0)
        return status;
    queue_push(team, args, req);
    if (coll->busy) {
        wdl_team_kick(team);
        return WDL_OK;
    }
    wdl_team_start_queued(team);
    (void) wdl_coll_step(coll);
    return WDL_OK;
}
