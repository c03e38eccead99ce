/* Part of Windlass. See COPYRIGHT in the top-level directory. The RMA module and its windows:
 * birth, death, invariants. */
#include <stdio.h>
#include <string.h>
#include "mpid/rma/win_impl.h"

enum { POOL_GLOBAL = 1, POOL_WINDOW = 2, POOL_STASH = 3 };

static int or_default(int value, int standard)
{
    return value > 0 ? value : standard;
}

/* Memory and pool in one step; WDL_OK or ERR_NOMEM. count 0 is a pool that is always dry. */
static int pool_make(const struct wdl_host *host, struct wdl_pool *pool, int id, size_t bytes,
                     int count)
{
    void *memory = host->ops->alloc(host->ctx, bytes * (size_t) (count ? count : 1));
    if (!memory)
        return WDL_ERR_NOMEM;
    wdl_pool_init(pool, id, memory, bytes, count);
    return WDL_OK;
}

static void pool_drop(const struct wdl_host *host, struct wdl_pool *pool)
{
    if (!pool->memory)
        return;
    wdl_pool_fini(pool);
    host->ops->free(host->ctx, pool->memory);
}

static void rma_drop(struct wdl_rma *rma)
{
    const struct wdl_host *host = &rma->proc->host;
    pool_drop(host, &rma->ops);
    pool_drop(host, &rma->targets);
    pool_drop(host, &rma->stashes);
    if (rma->pieces)
        host->ops->free(host->ctx, rma->pieces);
    if (rma->scratch)
        host->ops->free(host->ctx, rma->scratch);
    host->ops->free(host->ctx, rma);
}

int wdl_rma_init(struct wdl_proc *proc, const struct wdl_rma_params *params)
{
    const struct wdl_host *host = &proc->host;
    struct wdl_rma *rma = host->ops->alloc(host->ctx, sizeof(*rma));
    if (!rma)
        return WDL_ERR_NOMEM;
    rma->proc = proc;
    for (int i = 0; i < WDL_RMA_BYPASSES; i++)
        wdl_bypass_init(&rma->bypass[i], proc->host.ops->now_ns, proc->host.ctx);
    wdl_mail_trials_init(rma);
    rma->params.global_ops = or_default(params->global_ops, 4096);
    rma->params.global_targets = or_default(params->global_targets, 1024);
    rma->params.win_ops = or_default(params->win_ops, 256);
    rma->params.win_targets = or_default(params->win_targets, 64);
    rma->params.win_slots = or_default(params->win_slots, 64);
    rma->params.win_types = or_default(params->win_types, 32);
    rma->params.type_bytes_max = or_default(params->type_bytes_max, 64 << 20);
    rma->params.short_bytes = or_default(params->short_bytes, 4096);
    rma->params.stashes = or_default(params->stashes, 32);
    rma->params.pscw_tree = or_default(params->pscw_tree, 32);
    wdl_list_init(&rma->wins);
    wdl_list_init(&rma->active);
    wdl_list_init(&rma->called);
    wdl_list_init(&rma->called_all);
    wdl_list_init(&rma->replies);
    wdl_assert_cmp(proc->am_payload_max, >, sizeof(struct wdl_pkt) + 256);
    rma->chunk_bytes = (proc->am_payload_max - sizeof(struct wdl_pkt)) & ~(size_t) 63;
    rma->pieces = host->ops->alloc(host->ctx, WDL_RMA_PIECES * sizeof(rma->pieces[0]));
    /* a mapped accumulate uses two stretches of WDL_RMA_PIECES bytes */
    size_t scratch_bytes = rma->chunk_bytes + 2 * WDL_RMA_PIECES;
    rma->scratch = host->ops->alloc(host->ctx, scratch_bytes + WDL_RMA_STAGE);
    if (!rma->pieces || !rma->scratch ||
        pool_make(host, &rma->ops, POOL_GLOBAL, sizeof(struct wdl_op), rma->params.global_ops) !=
            WDL_OK ||
        pool_make(host, &rma->targets, POOL_GLOBAL, sizeof(struct wdl_target),
                  rma->params.global_targets) != WDL_OK ||
        pool_make(host, &rma->stashes, POOL_STASH, sizeof(struct wdl_stash),
                  rma->params.stashes) != WDL_OK) {
        rma_drop(rma);
        return WDL_ERR_NOMEM;
    }
    rma->stage = rma->scratch + scratch_bytes;
    proc->rma = rma;
    wdl_step_register(proc, WDL_AM_RMA, wdl_rma_progress, rma);
    wdl_am_register(proc, WDL_AM_RMA, wdl_rma_handle, rma);
    return WDL_OK;
}

void wdl_rma_fini(struct wdl_proc *proc)
{
    struct wdl_rma *rma = proc->rma;
    wdl_assert(wdl_list_empty(&rma->wins));
    wdl_assert(wdl_list_empty(&rma->replies));  /* a window is not freed before they are sent */
    wdl_am_register(proc, WDL_AM_RMA, NULL, NULL);
    wdl_step_register(proc, WDL_AM_RMA, NULL, NULL);
    proc->rma = NULL;
    rma_drop(rma);
}

static void win_drop(struct wdl_win *win)
{
    const struct wdl_host *host = &win->proc->host;
    void *owned[] = { win->slots, win->start_group, win->start_posted, win->regions };
    wdl_types_drop(win);
    wdl_stashes_drop(win);
    wdl_relays_drop(win);
    wdl_keys_drop(win, WDL_KEYS_DATA);
    wdl_lender_drop(win);
    wdl_net_drop(win);
    wdl_grant_fini(&win->grant);
    wdl_array_fini(&win->posted);
    wdl_seen_fini(win);
    pool_drop(host, &win->ops);
    pool_drop(host, &win->local_targets);
    for (unsigned i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        if (owned[i])
            host->ops->free(host->ctx, owned[i]);
    host->ops->free(host->ctx, win);
}

int wdl_win_create(struct wdl_proc *proc, const struct wdl_win_params *params,
                   struct wdl_win **win_out)
{
    const struct wdl_host *host = &proc->host;
    struct wdl_rma *rma = proc->rma;
    struct wdl_win *win = host->ops->alloc(host->ctx, sizeof(*win));
    *win_out = NULL;
    if (!win)
        return WDL_ERR_NOMEM;
    win->proc = proc;
    win->rma = rma;
    win->params = *params;
    win->nslots = rma->params.win_slots < params->size ? rma->params.win_slots : params->size;
    win->quick.size = params->size;
    win->quick.base = params->place_base;
    win->quick.place = params->place;
    win->quick.node = params->node;
    win->quick.own = &params->node[params->node_index];
    win->quick.own_bit = wdl_short_bit(params->node_index);
    win->quick.held = win->held_wanted = -1;
    win->words = params->node_whole ? WDL_WORDS_NODE : WDL_WORDS_NONE;
    win->near.rank = -1;
    wdl_seen_init(win);
    if (!host->ops->heavy_barrier)
        win->quick.own->bulk_mode = WDL_BULK_ALWAYS;
    wdl_epoch_init(&win->epoch);
    wdl_grant_init(&win->grant, host);
    wdl_array_init(&win->posted, host, win->few_posted, WDL_POSTED_FEW,
                   sizeof(win->few_posted[0]));
    wdl_list_init(&win->targets);
    wdl_list_init(&win->told);
    wdl_list_init(&win->rtypes);
    wdl_list_init(&win->relays);
    wdl_list_init(&win->active_link);
    wdl_list_init(&win->all_called.link);
    win->slots = host->ops->alloc(host->ctx, (size_t) win->nslots * sizeof(win->slots[0]));
    int targets = rma->params.win_targets < params->size ? rma->params.win_targets : params->size;
    if (!win->slots ||
        pool_make(host, &win->ops, POOL_WINDOW, sizeof(struct wdl_op), rma->params.win_ops) !=
            WDL_OK ||
        pool_make(host, &win->local_targets, POOL_WINDOW, sizeof(struct wdl_target), targets) !=
            WDL_OK || wdl_keys_init(win) != WDL_OK) {
        win_drop(win);
        return WDL_ERR_NOMEM;
    }
    for (int i = 0; i < win->nslots; i++)
        wdl_list_init(&win->slots[i]);
    wdl_list_push(&rma->wins, &win->link);
    wdl_mailbox_open(win);
    *win_out = win;
    return WDL_OK;
}

struct wdl_win *wdl_win_find(struct wdl_proc *proc, uint32_t id)
{
    const struct wdl_rma *rma = proc->rma;
    struct wdl_list *node;
    wdl_list_for(node, &rma->wins) {
        struct wdl_win *win = wdl_container_of(node, struct wdl_win, link);
        if (win->params.id == id)
            return win;
    }
    return NULL;
}

struct wdl_win *wdl_win_after(struct wdl_proc *proc, const struct wdl_win *win)
{
    struct wdl_rma *rma = proc->rma;
    struct wdl_list *next = win ? win->link.next : rma->wins.next;
    return next == &rma->wins ? NULL : wdl_container_of(next, struct wdl_win, link);
}

void *wdl_win_ctx(const struct wdl_win *win)
{
    return win->params.ctx;
}

/* Free the elements of targets that are clean and not locked. */
static void win_release_idle(struct wdl_win *win)
{
    struct wdl_list *node, *after;
    wdl_list_for_safe(node, after, &win->targets) {
        struct wdl_target *t = wdl_container_of(node, struct wdl_target, link);
        if (wdl_target_clean(t) && t->lock.state == WDL_LOCK_IDLE)
            wdl_target_release(t);
    }
}

uint64_t wdl_win_ops(const struct wdl_win *win)
{
    return win->quick.ops + win->stats.ops_copied + win->stats.ops_mailed +
           win->stats.ops_direct + win->stats.ops_message;
}

int wdl_win_used(const struct wdl_win *win)
{
    return wdl_win_ops(win) != win->ops_at_fence;
}

void wdl_win_quick_set(struct wdl_win *win)
{
    int state = win->quick.place ? win->epoch.access_state : WDL_ACCESS_NONE;
    int fence = state == WDL_ACCESS_FENCE_GRANTED;
    int row = win->start_n > 0 ? win->start_group[win->start_n - 1] - win->start_group[0] + 1 : 0;
    int sole = win->params.hints.nonoverlapping;
    int held_sole = win->quick.held >= 0 && win->quick.sole;
    if (fence || state == WDL_ACCESS_LOCK_ALL_GRANTED)
        wdl_quick_open(&win->quick, 0, win->quick.size, fence, sole);
    else if (state == WDL_ACCESS_PSCW_GRANTED && win->start_n > 0 && row == win->start_n)
        wdl_quick_open(&win->quick, win->start_group[0], row, 1, sole || win->start_shared == 0);
    else if (state == WDL_ACCESS_PER_TARGET && win->quick.held >= 0)
        wdl_quick_open(&win->quick, win->quick.held, 1, 0, sole || held_sole);
    else
        wdl_quick_open(&win->quick, 0, 0, 0, held_sole); /* the full path asks for it, too */
}

void wdl_win_domain(const struct wdl_win *win, int rank, const char *base,
                    struct wdl_win_control *control, struct wdl_domain *out)
{
    const struct wdl_win_params *params = &win->params;
    out->host = &win->proc->host;
    out->rank = rank;
    out->base = base;
    out->control = control;
    out->own = win->quick.own;
    out->node = params->node;
    out->node_count = params->node_count;
    out->alone = !params->mapped_any;
    out->sole = 0;
    out->outside = NULL;
    out->network = win->net_sizes;
    out->granularity = params->hints.acc_granularity;
}

void wdl_win_own_domain(const struct wdl_win *win, struct wdl_domain *out)
{
    const struct wdl_win_params *params = &win->params;
    /* as for those who come from outside: a dynamic window's regions count from address 0 */
    wdl_win_domain(win, params->rank, params->flavor == WDL_WIN_DYNAMIC ? NULL : params->base,
                   win->quick.own, out);
}

int wdl_win_may_free(const struct wdl_win *win)
{
    int state = win->epoch.access_state;
    int fence = state == WDL_ACCESS_FENCE_ISSUED || state == WDL_ACCESS_FENCE_GRANTED;
    if ((state != WDL_ACCESS_NONE && !fence) || (fence && wdl_win_used(win)) ||
        win->epoch.expose_state != WDL_EXPOSE_NONE)
        return WDL_ERR_SYNC;
    return WDL_OK;
}

int wdl_win_free(struct wdl_win *win)
{
    if (wdl_win_may_free(win) != WDL_OK)
        return WDL_ERR_SYNC;
    if (win->barrier.running && wdl_barrier_progress(win) != WDL_OK)
        return WDL_AGAIN;
    wdl_assert_cmp(win->batched, ==, 0);
    wdl_assert(!wdl_mailbox_under_way(win));
    if (wdl_win_drain(win, 0) != WDL_OK || win->recalled > 0)
        return WDL_AGAIN;
    if (wdl_grant_next(&win->grant) || wdl_grant_settled(&win->grant) >= 0 || win->debts > 0 ||
        !wdl_list_empty(&win->relays) || !wdl_list_empty(&win->rma->replies) ||
        wdl_far_busy(&win->word_debts.far))
        return WDL_AGAIN;
    win_release_idle(win);
    wdl_assert_cmp(win->ntargets, ==, 0);
    wdl_mailbox_close(win);
    wdl_list_remove(&win->link);
    wdl_list_remove(&win->active_link);
    win_drop(win);
    return WDL_OK;
}

int wdl_win_sync(struct wdl_win *win)
{
    wdl_mem_sync(&win->quick);
    return WDL_OK;
}

int wdl_win_is_active(const struct wdl_win *win)
{
    return wdl_epoch_is_active(&win->epoch);
}

void wdl_win_epoch_text(const struct wdl_win *win, char *text, size_t bytes)
{
    int exposed = win->epoch.expose_state != WDL_EXPOSE_NONE;
    snprintf(text, bytes, "%s%s", wdl_epoch_access_text(win->epoch.access_state),
             exposed ? "; MPI_Win_post's exposure epoch is open" : "");
}

/* What it has taken since it was created. */
static size_t grown_bytes(const struct wdl_win *win)
{
    const struct wdl_grant *grant = &win->grant;
    const struct wdl_list *node;
    size_t loans = 0;
    if (win->lender.holders) {
        wdl_list_for(node, &win->lender.loans)
            loans += sizeof(struct wdl_loan);
        wdl_list_for(node, &win->lender.recalls)
            loans += sizeof(struct wdl_loan);
    }
    return loans + (size_t) win->regions_room * sizeof(win->regions[0]) +
        wdl_array_memory(&grant->queue) + wdl_array_memory(&grant->debt) +
        (size_t) win->start_room * (sizeof(win->start_group[0]) + sizeof(win->start_posted[0])) +
        wdl_array_memory(&win->posted) + wdl_array_memory(&win->seen.regions);
}

void wdl_win_stats_get(const struct wdl_win *win, struct wdl_win_stats *out)
{
    *out = win->stats;
    out->ops_mapped = win->quick.ops;
    out->locks = (int) win->words;
    out->bytes = sizeof(*win) + (size_t) win->nslots * sizeof(win->slots[0]) +
        (size_t) win->ops.count * sizeof(struct wdl_op) +
        (size_t) win->local_targets.count * sizeof(struct wdl_target) +
        (size_t) (win->keys[WDL_KEYS_DATA].count + win->keys[WDL_KEYS_WORDS].count) *
            sizeof(struct wdl_key) + (win->gate_offer ? sizeof(*win->gate_offer) : 0) +
        (size_t) win->lender.count * sizeof(win->lender.holders[0]) + grown_bytes(win);
}

void wdl_rma_stats_get(const struct wdl_proc *proc, struct wdl_rma_stats *out)
{
    const struct wdl_rma *rma = proc->rma;
    out->ops_high = rma->ops.high;
    out->targets_high = rma->targets.high;
    out->stashes_high = rma->stashes.high;
    out->messages = proc->stats.am_sent;
}

int wdl_win_barrier(struct wdl_win *win, int *step)
{
    /* the last put of an epoch that is over may still be under way */
    if (*step == 0 && wdl_mailbox_under_way(win) && wdl_mailbox_settle(win) != WDL_OK)
        return WDL_AGAIN;
    if (*step == 0)
        wdl_barrier_begin(win, 0, 0);
    *step = 1;
    if (wdl_barrier_progress(win) != WDL_OK)
        return WDL_AGAIN;
    *step = 0;
    return WDL_OK;
}

static void target_check(const struct wdl_win *win, const struct wdl_target *t)
{
    struct wdl_list *node;
    wdl_assert(t->win == win);
    wdl_assert_cmp(t->rank, >=, 0);
    wdl_assert_cmp(t->rank, <, win->params.size);
    wdl_assert(wdl_target_find(win, t->rank) == t);
    wdl_assert_cmp(t->flush_sent - t->flush_acked, <=, 1u << 30);
    wdl_assert_cmp(t->flush_sent - t->flush_mark, <=, t->flush_sent - t->flush_acked);
    wdl_list_for(node, &t->waiting) {
        const struct wdl_op *op = wdl_container_of(node, struct wdl_op, node.link);
        wdl_assert(op->target == t);
        wdl_assert_cmp(op->next, <=, op->total);
        wdl_assert_cmp(op->done, <=, op->next);
    }
    int known = 0;
    wdl_list_for(node, &t->waiting)
        if (++known == t->together.n && t->together.last)
            wdl_assert(t->together.last == node);
    if (t->together.last)
        wdl_assert_cmp(t->together.n, <=, known);
    wdl_list_for(node, &t->issued) {
        const struct wdl_op *op = wdl_container_of(node, struct wdl_op, node.link);
        wdl_assert(op->target == t);
        wdl_assert_cmp(op->done, <=, op->next);
    }
}

void wdl_win_check(const struct wdl_win *win)
{
    int n = 0, locked = 0;
    struct wdl_list *node;
    wdl_list_for(node, &win->targets) {
        const struct wdl_target *t = wdl_container_of(node, struct wdl_target, link);
        target_check(win, t);
        locked += t->lock.state != WDL_LOCK_IDLE && t->lock.state < WDL_LOCK_RELEASING;
        n++;
    }
    wdl_assert_cmp(n, ==, win->ntargets);
    n = (win->mailbox.bag.n > 0) + win->pulls.n;
    for (int i = 0; i < WDL_BATCHES; i++)
        n += win->rma->batch[i].win == win;
    wdl_assert_cmp(n, ==, win->batched);
    wdl_assert(!win->mailbox.train.ring || wdl_mailbox_under_way(win));
    wdl_assert_cmp(locked, <=, win->locked_targets);
    if (win->epoch.access_state == WDL_ACCESS_PER_TARGET)
        wdl_assert_cmp(win->locked_targets, <=, win->locks_held);
    wdl_grant_check(&win->grant);
    wdl_seen_check(win);
    wdl_pool_check(&win->ops);
    wdl_pool_check(&win->local_targets);
}
